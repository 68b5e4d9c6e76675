/**
 * States what a number of each metric includes and leaves out, in both languages, for readers who have a table without its
 * documentation. Values only. The metrics declare formulas and units; docs/analytics.md explains them at length.
 */
import type { MetricCode } from './metrics.ts'

const PROCESSED = [
  'O mês é o do processamento, que é o da alta ou um posterior; arquivos são republicados por mais de um ano.',
  'The month is that of processing, which is that of the discharge or a later one; files are published again for more than a year.',
] as const
const OF_PRODUCTION = [
  'O mês é o do processamento (PA_MVM); o do atendimento é a dimensão care_period, completa só com processamentos posteriores.',
  'The month is that of processing (PA_MVM); that of care is the dimension care_period, complete only with later months of processing.',
] as const
const both = (
  pt: string,
  en: string,
  more: readonly [string, string] | null = null,
): { readonly pt: string; readonly en: string } => ({
  pt: more === null ? pt : `${pt} ${more[0]}`,
  en: more === null ? en : `${en} ${more[1]}`,
})

const OF_DEATHS = [
  'A cobertura do registro varia entre lugares e anos, a CID mudou em 1996, e anos são republicados, às vezes muito depois.',
  'Coverage of the register differs between places and years, CID changed in 1996, and years are published again, at times much later.',
] as const

const COMPONENTS = both(
  'Óbitos sem dias nem meses contam só na taxa infantil, que por isso passa da soma das partes. Onde o registro de óbitos ou de nascidos é incompleto, a taxa engana; a raça/cor difere entre os dois registros.',
  'Deaths of unknown days and months count in the infant rate alone, which thus exceeds the sum of its parts. The rate misleads where the register of deaths or births is incomplete; race differs between the two registers.',
)

/** Metric → its caveats. Metrics of the registry and the population have only their description. */
export const MEANINGS: Readonly<Partial<Record<MetricCode, { readonly pt: string; readonly en: string }>>> = {
  deaths: both(
    'Óbitos não fetais de residentes, pelo mês do óbito. Os de mês ignorado contam no seu ano e em nenhum mês.',
    'Deaths of residents that are not fetal, by month of death. Those of unknown month count in their year and in no month.',
    OF_DEATHS,
  ),
  deaths_by_occurrence: both(
    'Óbitos onde ocorreram: cidades com hospitais de referência recebem os de moradores de outras. Não é a mortalidade de quem mora no lugar, e não se divide pela sua população. Faltam os de moradores de estados cujos arquivos não foram importados.',
    'Deaths where they happened: towns with reference hospitals have those of residents of others. It is not the mortality of those who live in the place, and is not divided by its population. Deaths of residents of states whose files were not imported are missing.',
    OF_DEATHS,
  ),
  fetal_deaths: both(
    'Óbitos fetais declarados, de qualquer duração da gestação: para a definição oficial, filtre a duração da gestação a partir de 22 semanas. Muitos não são declarados, e de outros não se conhece a duração.',
    'Declared fetal deaths of any length of gestation: filter the length of gestation from 22 weeks on for the official definition. Many are not declared, and of others the length is not known.',
    OF_DEATHS,
  ),
  deaths_per_100k: both(
    'Taxa bruta: não compara lugares de idades diferentes.',
    'Crude rate: it does not compare places of different ages.',
    OF_DEATHS,
  ),
  deaths_per_100k_standardized: both(
    'Compara lugares como se tivessem a mesma composição por idade. Óbitos de idade ignorada ficam de fora.',
    'Compares places as if their ages were alike. Deaths of unknown age are left out.',
    OF_DEATHS,
  ),
  maternal_deaths: both(
    'Pela causa básica declarada, sem correção de sub-registro. Sem dado nos anos da CID-9.',
    'By the underlying cause as declared, not corrected for under-registration. Null in years of CID-9.',
    OF_DEATHS,
  ),
  premature_ncd_deaths: both(
    'Causas mal definidas não são redistribuídas entre as crônicas. Sem dado nos anos da CID-9.',
    'Ill-defined causes are not redistributed to chronic ones. Null in years of CID-9.',
    OF_DEATHS,
  ),
  premature_ncd_deaths_per_100k: both(
    'Por residentes de 30 a 69 anos, não por todos; não é padronizada dentro deles. O ano dos residentes é o mais novo importado.',
    'Per residents of 30 to 69 years, not per all of them, and not standardized among them. The year of the residents is the newest imported.',
    OF_DEATHS,
  ),
  ...Object.fromEntries(
    (
      [
        [
          'infant',
          'Óbitos de menores de 1 ano, também os de dias e meses desconhecidos,',
          'Deaths under one year, those of unknown days and months included',
        ],
        ['neonatal', 'Óbitos de 0 a 27 dias', 'Deaths at 0 to 27 days'],
        ['early_neonatal', 'Óbitos de 0 a 6 dias', 'Deaths at 0 to 6 days'],
        ['late_neonatal', 'Óbitos de 7 a 27 dias', 'Deaths at 7 to 27 days'],
        ['post_neonatal', 'Óbitos de 28 dias a 11 meses', 'Deaths at 28 days to 11 months'],
      ] as const
    ).map(([component, pt, en]) => [
      `${component}_mortality_rate`,
      both(
        `${pt} por mil nascidos vivos dos mesmos meses, sem os fetais. ${COMPONENTS.pt}`,
        `${en} per 1,000 live births of the same months, without fetal deaths. ${COMPONENTS.en}`,
        OF_DEATHS,
      ),
    ]),
  ),
  life_expectancy_at_birth: both(
    'Resume a mortalidade dos meses pedidos; não prevê quanto viverá quem nasce hoje. Óbitos de idade desconhecida ficam de fora, e os não registrados a aumentam. Difere da tábua do IBGE, que corrige o sub-registro e tem outra população. Os residentes são os do ano mais novo importado, em qualquer ano dos óbitos.',
    'It sums up the mortality of the requested months, and does not foretell how long those live who are born today. Deaths of unknown age are left out, and those that nobody registered raise it. It differs from the tables of IBGE, which correct for under-registration and use another population. Residents are those of the newest imported year, whatever the year of the deaths.',
    OF_DEATHS,
  ),
  maternal_mortality_ratio: both(
    'Óbitos maternos pela regra oficial (sem os tardios, O96, e as sequelas, O97) por 100 mil nascidos vivos. Óbitos maternos sob outra causa não aparecem, e nenhum fator os corrige. Sem dado nos anos da CID-9.',
    'Maternal deaths by the official rule (without late ones, O96, and sequelae, O97) per 100,000 live births. Maternal deaths under another cause are not seen, and no factor corrects for them. Null in years of CID-9.',
    OF_DEATHS,
  ),
  external_cause_deaths: both(
    'Acidentes, violências e intenção indeterminada juntos. Sem dado nos anos da CID-9.',
    'Accidents, violence and undetermined intent together. Null in years of CID-9.',
    OF_DEATHS,
  ),
  external_cause_deaths_per_100k: both(
    'Taxa bruta. Acidentes, violências e intenção indeterminada juntos.',
    'Crude rate. Accidents, violence and undetermined intent together.',
    OF_DEATHS,
  ),
  ill_defined_deaths: both(
    'Óbitos sem causa conhecida (R00–R99). Muitos deles escondem outras causas nas demais contagens.',
    'Deaths without a known cause (R00–R99). They hide deaths of other causes from the other counts.',
    OF_DEATHS,
  ),
  ill_defined_deaths_share: both(
    'Mede a qualidade da declaração da causa. Acima de 10 % não compare causas entre lugares.',
    'Measures how well causes are declared. Above 10 % do not compare causes between places.',
    OF_DEATHS,
  ),
  admissions: both(
    'Internações aprovadas do SUS (AIH de IDENT 1). Não são pessoas: transferências e reinternações contam de novo. Só o SUS.',
    'Admissions that SUS approved (AIH with IDENT 1). They are not persons: transfers and readmissions count again. SUS alone.',
    PROCESSED,
  ),
  admission_records: both(
    'Registros aprovados (AIH), com as continuações mensais de internações longas (IDENT 5). Não são internações nem pessoas.',
    'Approved records (AIH), monthly continuations of long stays (IDENT 5) included. They are neither admissions nor persons.',
    PROCESSED,
  ),
  days_of_stay: both(
    'Dias de permanência de todos os registros; de uma continuação, só os do seu mês. Não são as diárias pagas.',
    'Days of stay of all records; of a continuation those of its month alone. They are not the days that were paid.',
    PROCESSED,
  ),
  average_stay_days: both(
    'Dias de todos os registros por internação. Onde há internações longas, suas continuações somam dias sem somar internações.',
    'Days of all records over admissions. The continuations of long stays add days and no admissions.',
  ),
  hospital_deaths: both(
    'Registros encerrados por óbito do paciente internado. Não são os óbitos da população, e os de recém-nascidos e fetos (cobrança 61 a 64) não contam.',
    'Records that ended with the death of the patient. They are not the deaths of a population, and those of newborns and fetuses (reasons 61 to 64) do not count.',
  ),
  hospital_mortality_share: both(
    'Óbitos por internação, sem ajuste por gravidade, idade ou diagnóstico: não compara a qualidade de hospitais.',
    'Deaths over admissions, not adjusted for severity, age or diagnosis: it does not compare the quality of hospitals.',
  ),
  admissions_value: both(
    'Valor aprovado (VAL_TOT) em reais da época. Aprovado não é pago, não é o custo, e não há correção pela inflação.',
    'Approved value (VAL_TOT) in reais of the time. Approved is not paid, it is not the cost, and nothing is corrected for inflation.',
  ),
  average_admission_value: both(
    'Valor aprovado de todos os registros por internação, em reais da época. Não é o custo de uma internação.',
    'Approved value of all records over admissions, in reais of the time. It is not what an admission costs.',
  ),
  icu_days: both(
    'Diárias de UTI dos registros no mês (UTI_MES_TO). Não são leitos nem pacientes.',
    'Days in intensive care of the records in the month (UTI_MES_TO). They are neither beds nor patients.',
  ),
  admissions_per_10k: both(
    'Internações de quem mora no lugar, onde quer que tenha sido internado, por 10 mil habitantes do censo. Faltam as de estados cujos arquivos não foram importados.',
    'Admissions of those who live in the place, wherever they were admitted, per 10,000 inhabitants of the census. Those of states whose files were not imported are missing.',
  ),
  admissions_per_10k_standardized: both(
    'A taxa que o lugar teria com as idades do Brasil de 2010: serve para comparar lugares, não diz quantas internações houve.',
    'The rate that the place would have with the ages of Brazil in 2010: it compares places, and does not say how many admissions there were.',
  ),
  icsap_universe_admissions: both(
    'O denominador das proporções sensíveis à atenção primária: sem partos e sem longa permanência. Outras publicações excluem outras internações. Sem dado antes de 2008, quando os procedimentos eram de outra tabela.',
    'The denominator of shares sensitive to primary care: without deliveries and long stays. Other publications leave out other admissions. Null before 2008, when procedures were those of another table.',
    PROCESSED,
  ),
  icsap_admissions: both(
    'Pelo diagnóstico principal de quatro caracteres da lista brasileira (Portaria SAS/MS 221/2008). Não diz que aquela internação era evitável.',
    'By the main diagnosis of four characters of the Brazilian list (Portaria SAS/MS 221/2008). It does not say that this very admission was avoidable.',
    PROCESSED,
  ),
  icsap_share: both(
    'Cai também quando crescem as outras internações: compare com a taxa por habitantes. Sem partos e sem longa permanência nos dois lados. Sem dado antes de 2008.',
    'It also falls when other admissions grow: compare it with the rate by inhabitants. Without deliveries and long stays on both sides. Null before 2008.',
  ),
  icsap_per_10k: both(
    'Internações sensíveis de quem mora no lugar por 10 mil habitantes do censo, só do SUS. Não é padronizada por idade.',
    'Sensitive admissions of those who live in the place per 10,000 inhabitants of the census, SUS alone. It is not standardized by age.',
  ),
  ...Object.fromEntries(
    (['municipality', 'health_region', 'state'] as const).flatMap((level) => [
      [
        `admissions_outside_${level}`,
        both(
          'Internações em que se conhecem os dois lugares e eles diferem. Por residência, quem sai; por lugar do hospital, quem vem de fora.',
          'Admissions of which both places are known and differ. By residence those who leave, by place of the hospital those who come.',
          PROCESSED,
        ),
      ],
      [
        `admissions_of_known_${level}`,
        both(
          'Internações em que se conhecem os dois lugares: o denominador da proporção. O município ignorado de um estado não é conhecido.',
          'Admissions of which both places are known: the denominator of the share. The ignored municipality of a state is not known.',
          PROCESSED,
        ),
      ],
      [
        `admissions_outside_${level}_share`,
        both(
          'Sobre as internações cujos dois lugares são conhecidos. Por residência, é quem sai; por lugar do hospital, é quem vem de fora. Sair pode ser o caminho planejado da rede.',
          'Over the admissions of which both places are known. By residence it is who leaves, by place of the hospital who comes. Leaving may be how the network is planned.',
        ),
      ],
    ]),
  ),
  admissions_with_distance: both(
    'O denominador da distância média. Sem contornos dos municípios na versão de dados, nenhuma distância é conhecida.',
    'The denominator of the average distance. Without outlines of the municipalities in the release, no distance is known.',
    PROCESSED,
  ),
  distance_km_total: both(
    'Soma de distâncias em linha reta entre centroides, uma por internação: não é o que se viajou.',
    'A sum of great-circle distances between centroids, one for each admission: it is not what was travelled.',
    PROCESSED,
  ),
  admissions_received_share: both(
    'Parte das internações nos hospitais do lugar que é de quem mora em outro município.',
    'Share of the admissions in the hospitals of the place that are of people who live in another municipality.',
  ),
  average_distance_km: both(
    'Aproximação: linha reta entre os centroides dos contornos dos municípios, 0 dentro do mesmo município. Não é caminho nem tempo.',
    'An approximation: great circle between the centroids of the outlines of the municipalities, 0 within one. It is neither a way nor a time.',
  ),
  sus_bed_days: both(
    'Leitos SUS do cadastro em cada mês vezes os dias do mês. Não são dias de leitos em funcionamento.',
    'SUS beds of the registry in each month times its days. They are not days of beds in operation.',
  ),
  bed_occupancy_share: both(
    'Dias de permanência sobre leitos-dia SUS. Passa de 100 % onde o cadastro está atrasado ou a alta foi processada depois; nulo onde um dos lados não foi coletado.',
    'Days of stay over SUS bed-days. Above 100 % where the registry is behind, or discharges were processed later; null where either side was not collected.',
    PROCESSED,
  ),
  outpatient_quantity_approved: both(
    'Quantidade aprovada. Cada procedimento tem a sua unidade (consulta, exame, comprimido): não são atendimentos nem pessoas, e a soma de procedimentos diferentes não mede cuidado.',
    'Approved quantity. Each procedure has its own unit (a consultation, an examination, a pill): they are neither visits nor persons, and a sum over different procedures does not measure care.',
    OF_PRODUCTION,
  ),
  outpatient_quantity_presented: both(
    'Quantidade que os estabelecimentos apresentaram, aprovada ou não, na unidade de cada procedimento.',
    'Quantity that facilities presented, approved or not, in the unit of each procedure.',
    OF_PRODUCTION,
  ),
  outpatient_approval_share: both(
    'Quantidade aprovada sobre a apresentada. Entre procedimentos de unidades diferentes decide o que tem mais peças.',
    'Approved over presented quantity. Over procedures of different units the one with the most pieces decides.',
  ),
  outpatient_value_approved: both(
    'Valor aprovado (PA_VALAPR) em reais da época, com complementos locais: não é pago, não é só federal, e um terço dos registros não tem valor. Valor não é volume.',
    'Approved value (PA_VALAPR) in reais of the time, local complements included: it is not paid, not federal alone, and a third of the records has none. Value is not volume.',
    OF_PRODUCTION,
  ),
  outpatient_value_per_capita: both(
    'Valor aprovado dos estabelecimentos do lugar por habitante do lugar. Quem atende vizinhos tem valor alto: não é o que se gastou com os moradores.',
    'Approved value of the facilities of a place over its inhabitants. It is high where neighbours are treated: it is not what was spent on the residents.',
  ),
  births: both(
    'Nascidos vivos declarados, pela residência da mãe e pelo mês de nascimento. Não são gestações nem partos; faltam os não declarados, e os de mês desconhecido contam no seu ano e em nenhum mês.',
    'Declared live births, by residence of the mother and month of birth. They are neither pregnancies nor deliveries; births that were not declared are missing, and those of unknown month count in their year and in no month.',
  ),
  births_per_1000: both(
    'Nascidos vivos por mil habitantes do censo: depende das idades da população, e de um mês não é a taxa do ano.',
    'Live births per 1,000 inhabitants of the census: it depends on the ages of the population, and that of a month is not the rate of the year.',
  ),
  low_birth_weight_share: both(
    'Com menos de 2.500 g entre os de peso conhecido. Peso em branco, 0 ou 9999 é desconhecido.',
    'Under 2,500 g among births of known weight. A weight that is blank, 0 or 9999 is unknown.',
  ),
  preterm_share: both(
    'Com menos de 37 semanas entre os de gestação conhecida. A série quebra em 2011, quando as semanas passaram a ser contadas: não compare anos de antes e depois.',
    'Under 37 weeks among births of known gestation. The series breaks in 2011, when weeks began to be counted: do not compare years before with years after.',
  ),
  caesarean_share: both(
    'Cesáreas entre os nascidos de tipo de parto conhecido. Conta nascidos, não partos: gêmeos contam dois.',
    'Caesareans among births of known delivery. It counts births, not deliveries: twins count twice.',
  ),
  prenatal_7plus_share: both(
    'Com 7 ou mais consultas entre os de consultas conhecidas. Nada diz de quando o pré-natal começou; os arquivos de 1994 e 1995 não têm códigos conhecidos.',
    'With 7 or more visits among births of known visits. It does not say when prenatal care began; files of 1994 and 1995 have no known codes.',
  ),
  adolescent_mothers_share: both(
    'Nascidos de mães de 10 a 19 anos entre os de idade da mãe conhecida. Não é a fecundidade das adolescentes.',
    'Births of mothers of 10 to 19 years among births whose mother’s age is known. It is not the fertility of adolescents.',
  ),
  federal_health_transfers: both(
    'O que o Fundo Nacional de Saúde transferiu no ano, bruto, em reais da época. Não é o que foi gasto, e não se soma a SICONFI nem a SIOPS.',
    'Amount that the national health fund transferred in the year, gross, in reais of the time. It is not what was spent, and may not be added to SICONFI or SIOPS.',
  ),
  federal_health_transfers_per_capita: both(
    'Transferências federais do ano por habitante. Não é o gasto em saúde por habitante, que tem também recursos do município e do estado.',
    'Federal transfers of the year per inhabitant. It is not health expense per inhabitant, which has money of the municipality and the state, too.',
  ),
}
