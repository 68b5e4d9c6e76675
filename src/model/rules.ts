/**
 * The named rules that turn one published cell into one value, with their texts. Values only. The importer builds its SQL
 * from this table (import/rules.ts has the expression of each rule), and provenance responses show the texts. So an auditor
 * reads exactly what was applied.
 */
import { both } from './declare.ts'

export const RULES = {
  text: both('sem espaços nas pontas; vazio é sem dado', 'blanks trimmed; empty is null'),
  name: both(
    'sem espaços nas pontas; vazio é sem dado; sequências de onze dígitos (CPF) retiradas',
    'blanks trimmed; empty is null; sequences of eleven digits (CPF) removed',
  ),
  cadger_name: both(
    'prefixo “CNPJ …-” retirado; depois, como um nome',
    'prefix "CNPJ …-" removed; then as a name',
  ),
  code1: both(
    'sem espaços nas pontas, completado com zeros até 1 dígito; vazio é sem dado',
    'blanks trimmed, padded with zeros to 1 digit; empty is null',
  ),
  code2: both(
    'sem espaços nas pontas, completado com zeros até 2 dígitos; vazio é sem dado',
    'blanks trimmed, padded with zeros to 2 digits; empty is null',
  ),
  code3: both(
    'sem espaços nas pontas, completado com zeros até 3 dígitos; vazio é sem dado',
    'blanks trimmed, padded with zeros to 3 digits; empty is null',
  ),
  code4: both(
    'sem espaços nas pontas, completado com zeros até 4 dígitos; vazio é sem dado',
    'blanks trimmed, padded with zeros to 4 digits; empty is null',
  ),
  code7: both(
    'sem espaços nas pontas, completado com zeros até 7 dígitos; vazio é sem dado',
    'blanks trimmed, padded with zeros to 7 digits; empty is null',
  ),
  cnpj: both(
    'catorze dígitos que não são todos zero nem um CPF, ou letras e dígitos com dígitos verificadores certos (emitidos desde julho de 2026), em maiúsculas; o resto é sem dado',
    'fourteen digits that are not all zeros and not a CPF, or letters and digits with right check digits (issued since July 2026), in upper case; anything else is null',
  ),
  postal_code: both('oito dígitos; o resto é sem dado', 'eight digits; anything else is null'),
  phone: both(
    'fica quando tem ao menos oito dígitos; o resto é sem dado',
    'kept when it holds at least eight digits; anything else is null',
  ),
  house_number: both('sem espaços nas pontas; vazio é sem dado', 'blanks trimmed; empty is null'),
  quantity: both('número inteiro, zero ou mais', 'whole number, zero or more'),
  quantity_optional: both(
    'número inteiro, zero ou mais; vazio é sem dado',
    'whole number, zero or more; empty is null',
  ),
  yes_no: both('S é sim, N é não; o resto é sem dado', 'S is true, N is false; anything else is null'),
  yes_no_1_0: both('1 é sim, 0 é não; o resto é sem dado', '1 is true, 0 is false; anything else is null'),
  flag_1_2: both('1 é sim, o resto é não', '1 is true, anything else is false'),
  flag_1_0: both('1 é sim, o resto é não', '1 is true, anything else is false'),
  tp_sus: both('1, 2, 0 ou 9; vazio e o resto são 0', '1, 2, 0 or 9; empty and anything else is 0'),
  ind_sus: both('1 é 1 (sim), o resto é 2 (não)', '1 is 1 (yes), anything else is 2 (no)'),
  characteristic: both('1, 2 ou 3; o resto é sem dado', '1, 2 or 3; anything else is null'),
  management: both('M, E, D ou S; Z é S; o resto é sem dado', 'M, E, D or S; Z is S; anything else is null'),
  coordinate_latitude: both(
    'graus decimais entre −34 e 6, com vírgula ou ponto; o resto é sem dado',
    'decimal degrees between −34 and 6, comma or point; anything else is null',
  ),
  coordinate_longitude: both(
    'graus decimais entre −74 e −28, com vírgula ou ponto; o resto é sem dado',
    'decimal degrees between −74 and −28, comma or point; anything else is null',
  ),
  date_dmy: both(
    'DD/MM/AAAA desde 1900; o resto é sem dado',
    'DD/MM/YYYY from 1900 on; anything else is null',
  ),
  date_ym: both(
    'AAAAMM: primeiro dia do mês; o resto é sem dado',
    'YYYYMM: first day of the month; anything else is null',
  ),
  municipality: both(
    'seis dígitos → os sete da lista do IBGE; 53xxxx é Brasília; um código antigo é aquele sob o qual br_municip.cnv o põe, onde essa tabela foi importada; outro que nomeia um estado é o município ignorado desse estado; onde não há código (vazio, 000000, 999999, qualquer outro), o estado é o gestor, senão o do código da unidade, e nos arquivos por estado o do arquivo',
    'six digits → the seven of the IBGE list; 53xxxx is Brasília; an old code is what br_municip.cnv puts it under, where that table was imported; another one that names a state is the ignored municipality of that state; where there is no code (blank, 000000, 999999, anything else), the state is the managing one, else that of the unit code, and in files by state that of the file',
  ),
  managing_state: both(
    'lido onde o código do município não nomeia estado: o município ignorado do estado gestor, senão o dos dois primeiros dígitos do código da unidade (do Distrito Federal: Brasília)',
    'read where the municipality code names no state: the ignored municipality of the managing state, else of the first two digits of the unit code (of the Federal District: Brasília)',
  ),
  federal_district_region: both(
    'seis dígitos de uma região do Distrito Federal (53xxxx menos 530000 e 530010), com um zero a mais; o resto é sem dado',
    'six digits of a region of the Federal District (53xxxx but 530000 and 530010), a zero added; anything else is null',
  ),
  deactivated: both('ativo quando vazio', 'active when empty'),
  provider: both(
    'código CNES, CNPJ (dígitos, ou letras e dígitos, com dígitos verificadores certos) ou preenchimento; um CPF nunca fica',
    'CNES code, CNPJ (digits, or letters and digits, with right check digits), or a filler; a CPF is never kept',
  ),
} as const

export type RuleName = keyof typeof RULES

/** Rules for columns whose published cell may hold a CPF. The raw cell is stored only when the rule produced a value. */
export const GUARDED_RULES: ReadonlySet<RuleName> = new Set([
  'cnpj',
  'provider',
  'name',
  'house_number',
  'cadger_name',
])
