/** Attributes of a facility's record and the rules that make them, in Portuguese. What is not here is shown as the API writes it. */

/** Names of attributes, by the API's. */
export const ATTRIBUTES: Readonly<Record<string, string>> = {
  unit_code: 'Código da unidade',
  reference_year: 'Ano',
  sex: 'Sexo',
  age: 'Idade',
  age_group: 'Faixa etária',
  cnes_code: 'Código CNES',
  municipality_ibge_code: 'Município (código IBGE)',
  municipality_name: 'Município',
  administrative_region_code: 'Região administrativa (código)',
  administrative_region_name: 'Região administrativa',
  uf: 'UF',
  procedure_code: 'Procedimento (código)',
  care_character_code: 'Caráter da internação (código)',
  complexity_code: 'Complexidade (código)',
  financing_code: 'Financiamento (código)',
  processing_uf: 'UF do processamento',
  care_period: 'Mês de atendimento',
  instrument_code: 'Instrumento de registro (código)',
  file_part: 'Parte do arquivo do mês',
  entity_code: 'Fundo (código IBGE)',
  residence_municipality_code: 'Município de residência (código IBGE)',
  diagnosis_chapter_code: 'Capítulo da CID-10 (código)',
  diagnosis_category_code: 'Categoria da CID-10 (código)',
  state_name: 'Estado',
  legal_name: 'Razão social',
  trade_name: 'Nome fantasia',
  deactivation_reason_code: 'Motivo da desativação (código)',
  deactivation_reason_name: 'Motivo da desativação',
  facility_type_code: 'Tipo de estabelecimento (código)',
  facility_type_name: 'Tipo de estabelecimento',
  management_type: 'Gestão (código)',
  management_type_name: 'Gestão',
  legal_nature_code: 'Natureza jurídica (código)',
  legal_nature_name: 'Natureza jurídica',
  person_type: 'Pessoa física ou jurídica',
  cnpj: 'CNPJ',
  maintainer_cnpj: 'CNPJ da mantenedora',
  maintainer_name: 'Mantenedora',
  'address.street': 'Logradouro',
  'address.number': 'Número',
  'address.complement': 'Complemento',
  'address.district': 'Bairro',
  'address.postal_code': 'CEP',
  phone: 'Telefone',
  latitude: 'Latitude',
  longitude: 'Longitude',
  coordinates_suspect: 'Coordenadas fora do município',
  opening_hours_code: 'Turno de atendimento (código)',
  opening_hours_name: 'Turno de atendimento',
  is_always_open: 'Sempre aberto',
  activity_code: 'Atividade de ensino (código)',
  activity_name: 'Atividade de ensino',
  activity_level: 'Nível de atividade',
  client_flow_code: 'Fluxo de clientela (código)',
  client_flow_name: 'Fluxo de clientela',
  registry_health_region_code: 'Região de saúde do cadastro',
  establishment_type_code: 'Classificação do estabelecimento (código)',
  establishment_type_name: 'Classificação do estabelecimento',
  main_activity_code: 'Atividade principal (código)',
  main_activity_name: 'Atividade principal',
  coverage_type_code: 'Abrangência (código)',
  coverage_type_name: 'Abrangência',
  has_internet: 'Tem internet',
  has_formal_contract: 'Tem contrato formal',
  is_coworking: 'Consultório compartilhado',
  source_updated_on: 'Atualizado na fonte em',
  is_active: 'Ativo',
  is_linked_sus: 'Vinculado ao SUS',
  has_beds: 'Tem leitos',
  has_equipment: 'Tem equipamentos',
  has_services: 'Tem serviços especializados',
  offers_any_sus: 'Atende ao SUS',
  bed_type_code: 'Tipo de leito (código)',
  bed_type_name: 'Tipo de leito',
  bed_category_code: 'Categoria de leito (código)',
  bed_category_name: 'Categoria de leito',
  beds_existing: 'Leitos existentes',
  beds_sus: 'Leitos SUS',
  beds_non_sus: 'Leitos não SUS',
  category_code: 'Categoria (código)',
  category_name: 'Categoria',
  equipment_code: 'Equipamento (código)',
  equipment_name: 'Equipamento',
  quantity_existing: 'Equipamentos existentes',
  quantity_in_use: 'Equipamentos em uso',
  quantity_sus: 'Equipamentos ao SUS',
  quantity_sus_basis: 'Origem da quantidade ao SUS',
  sus_availability: 'Disponível ao SUS',
  service_code: 'Serviço (código)',
  service_name: 'Serviço',
  classification_code: 'Classificação (código)',
  classification_name: 'Classificação',
  characteristic_code: 'Característica',
  provider_kind: 'Tipo de prestador',
  has_ambulatory: 'Ambulatorial',
  has_ambulatory_sus: 'Ambulatorial ao SUS',
  has_hospital: 'Hospitalar',
  has_hospital_sus: 'Hospitalar ao SUS',
}

const CODE = /^blanks trimmed, padded with zeros to (\d) digits?; empty is null$/

/** Rules, by the API's text. */
export const RULES: Readonly<Record<string, string>> = {
  'blanks trimmed; empty is null': 'sem espaços nas pontas; vazio é sem dado',
  'blanks trimmed; empty is null; sequences of eleven digits (CPF) removed':
    'sem espaços nas pontas; vazio é sem dado; sequências de onze dígitos (CPF) retiradas',
  'prefix "CNPJ …-" removed; then as a name': 'prefixo “CNPJ …-” retirado; depois, como um nome',
  'fourteen digits that are not all zeros and not a CPF, or letters and digits with right check digits (issued since July 2026), in upper case; anything else is null':
    'catorze dígitos que não são todos zero nem um CPF, ou letras e dígitos com dígitos verificadores certos (emitidos desde julho de 2026), em maiúsculas; o resto é sem dado',
  'eight digits; anything else is null': 'oito dígitos; o resto é sem dado',
  'kept when it holds at least eight digits; anything else is null':
    'fica quando tem ao menos oito dígitos; o resto é sem dado',
  'whole number, zero or more': 'número inteiro, zero ou mais',
  'whole number, zero or more; empty is null': 'número inteiro, zero ou mais; vazio é sem dado',
  'S is true, N is false; anything else is null': 'S é sim, N é não; o resto é sem dado',
  '1 is true, 0 is false; anything else is null': '1 é sim, 0 é não; o resto é sem dado',
  '1 is true, anything else is false': '1 é sim, o resto é não',
  '1, 2, 0 or 9; empty and anything else is 0': '1, 2, 0 ou 9; vazio e o resto são 0',
  '1 is 1 (yes), anything else is 2 (no)': '1 é 1 (sim), o resto é 2 (não)',
  '1, 2 or 3; anything else is null': '1, 2 ou 3; o resto é sem dado',
  'M, E, D or S; Z is S; anything else is null': 'M, E, D ou S; Z é S; o resto é sem dado',
  'decimal degrees between −34 and 6, comma or point; anything else is null':
    'graus decimais entre −34 e 6, com vírgula ou ponto; o resto é sem dado',
  'decimal degrees between −74 and −28, comma or point; anything else is null':
    'graus decimais entre −74 e −28, com vírgula ou ponto; o resto é sem dado',
  'DD/MM/YYYY from 1900 on; anything else is null': 'DD/MM/AAAA desde 1900; o resto é sem dado',
  'YYYYMM: first day of the month; anything else is null': 'AAAAMM: primeiro dia do mês; o resto é sem dado',
  'six digits → the seven of the IBGE list; 53xxxx is Brasília; an old code is what br_municip.cnv puts it under, where that table was imported; another one that names a state is the ignored municipality of that state; where there is no code (blank, 000000, 999999, anything else), the state is the managing one, else that of the unit code, and in files by state that of the file':
    'seis dígitos → os sete da lista do IBGE; 53xxxx é Brasília; um código antigo é aquele sob o qual br_municip.cnv o põe, onde essa tabela foi importada; outro que nomeia um estado é o município ignorado desse estado; onde não há código (vazio, 000000, 999999, qualquer outro), o estado é o gestor, senão o do código da unidade, e nos arquivos por estado o do arquivo',
  'read where the municipality code names no state: the ignored municipality of the managing state, else of the first two digits of the unit code (of the Federal District: Brasília)':
    'lido onde o código do município não nomeia estado: o município ignorado do estado gestor, senão o dos dois primeiros dígitos do código da unidade (do Distrito Federal: Brasília)',
  'six digits of a region of the Federal District (53xxxx but 530000 and 530010), a zero added; anything else is null':
    'seis dígitos de uma região do Distrito Federal (53xxxx menos 530000 e 530010), com um zero a mais; o resto é sem dado',
  'active when empty': 'ativo quando vazio',
  'CNES code, CNPJ (digits, or letters and digits, with right check digits), or a filler; a CPF is never kept':
    'código CNES, CNPJ (dígitos, ou letras e dígitos, com dígitos verificadores certos) ou preenchimento; um CPF nunca fica',
  'not in the published file': 'não está no arquivo publicado',
  'text of the code in the published list': 'texto do código na lista publicada',
  'text of the code in the project’s own list': 'texto do código na lista do próprio projeto',
  'the month in the name of the file': 'o mês no nome do arquivo',
  'year and month': 'ano e mês',
  'true when the registry carries no reason of closing':
    'sim quando o cadastro não traz motivo de desativação',
  'true: files by state hold the facilities that are open':
    'sim: os arquivos por estado têm os estabelecimentos abertos',
  'state of the municipality': 'estado do município',
  'the municipality of the facility': 'o município do estabelecimento',
  'the code of the facility that the unit code names':
    'o código do estabelecimento que o código da unidade nomeia',
  'trade name of the facility, else its legal name': 'nome fantasia do estabelecimento, senão a razão social',
  'the type of the facility': 'o tipo do estabelecimento',
  'a bed quantity above 0 among the facility’s beds of the month':
    'alguma quantidade acima de 0 entre os leitos do estabelecimento no mês',
  'a quantity above 0 among the facility’s equipment of the month':
    'alguma quantidade acima de 0 entre os equipamentos do estabelecimento no mês',
  'a declaration among the facility’s services of the month':
    'alguma declaração entre os serviços do estabelecimento no mês',
  'an SUS quantity or SUS flag among the facility’s beds, equipment and services of the month':
    'alguma quantidade ou marca do SUS entre leitos, equipamentos e serviços do estabelecimento no mês',
  'true outside of the box around the municipality’s outline, 0.2 degrees to each side; null without coordinates or outline':
    'sim fora do retângulo em volta do contorno do município, com 0,2 grau para cada lado; sem dado onde não há coordenadas ou contorno',
  'beds_existing − beds_sus': 'leitos existentes − leitos SUS',
  'quantity_existing where tp_sus_code is 1, else 0':
    'a quantidade existente onde a marca do SUS é 1, senão 0',
  'published where the publisher gives the quantity, else flag':
    '“published” onde a fonte dá a quantidade, senão “flag”',
  'flag: the publisher gives no quantity': '“flag”: a fonte não dá a quantidade',
  'category_code:equipment_code': 'código da categoria e do equipamento',
  'service_code:classification_code': 'código do serviço e da classificação',
  'what the published code of the provider is': 'o que o código publicado do prestador é',
  'either SUS flag': 'qualquer das marcas do SUS',
}

/** What is said of a record that several published rows make, after the rule's own text. */
const ENDS: readonly (readonly [RegExp, string])[] = [
  [/; the record adds up its (\d+) published rows$/, '; o registro soma as suas $1 linhas publicadas'],
  [/; the record has that of its first row$/, '; o registro tem o da primeira linha'],
  [
    /; the record has 1 where a row has it, else 2, else 9$/,
    '; o registro tem 1 onde alguma linha o tem, senão 2, senão 9',
  ],
]

/** @returns the rule in Portuguese, or null where it is not known */
export function ruleText(rule: string): string | null {
  for (const [end, words] of ENDS) {
    const found = end.exec(rule)
    const own = found === null ? null : ruleText(rule.slice(0, found.index))
    if (found !== null && own !== null) return own + found[0].replace(end, words)
  }
  const [, digits] = CODE.exec(rule) ?? []
  if (digits !== undefined)
    return `sem espaços nas pontas, completado com zeros até ${digits} dígito${digits === '1' ? '' : 's'}; vazio é sem dado`
  return RULES[rule] ?? null
}
