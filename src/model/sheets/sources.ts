/**
 * Declares, for each dataset that metrics read, who publishes it, how late it comes, how it is revised, and what it leaves out.
 * Values only. A new dataset does not compile without its entry.
 */
import { both } from '../declare.ts'
import type { FactDataset } from '../dimensions.ts'
import type { Text } from '../types.ts'

export interface SourceFacts {
  readonly publisher: Text
  /** Name of the published table or file family. */
  readonly table: string
  readonly delay: Text
  readonly revisions: Text
  /** Age in months from which the publisher usually no longer changes a period; 0 where it stands still from the beginning. */
  readonly revision_months: number
  readonly limitations: readonly Text[]
  /** Heading of docs/analytics.md that explains its metrics, as an anchor. */
  readonly heading: string
}

const MINISTRY = both('Ministério da Saúde (DATASUS)', 'Ministry of Health (DATASUS)')
const PROCESSED = both(
  'O mês é o do processamento: o atendimento pode ter sido antes.',
  'The month is that of processing: the care may have been earlier.',
)
const ONLY_SUS = both(
  'Só o que o SUS aprovou; não há atendimento privado.',
  'Only what SUS approved; no private care.',
)

const registry = (table: string, heading: string, limitation: Text): SourceFacts => ({
  publisher: MINISTRY,
  table: `CNES, ${table}`,
  delay: both('sai entre o dia 13 e o 27 do mês seguinte', 'appears on day 13 to 27 of the next month'),
  revisions: both(
    'depois fica parado; um mês pode ser refeito anos mais tarde',
    'then it stands still; a month may be redone years later',
  ),
  revision_months: 0,
  limitations: [
    both(
      'É o que os estabelecimentos e gestores declaram ao cadastro, que pode estar atrasado.',
      'It is what facilities and managers declare to the registry, which may be behind.',
    ),
    limitation,
  ],
  heading,
})

const ADMISSIONS: SourceFacts = {
  publisher: MINISTRY,
  table: 'SIH/SUS, RD',
  delay: both('sai dois meses depois, do dia 5 ao 12', 'appears two months later, on day 5 to 12'),
  revisions: both('muda todo mês até ter 13 meses', 'changes every month until it is 13 months old'),
  revision_months: 13,
  limitations: [
    ONLY_SUS,
    PROCESSED,
    both(
      'Internações não são pessoas: a mesma pessoa pode ser internada várias vezes.',
      'Admissions are not persons: one person may be admitted several times.',
    ),
  ],
  heading: 'hospital-admissions',
}

const DEATHS: SourceFacts = {
  publisher: MINISTRY,
  table: 'SIM, DO',
  delay: both(
    'o ano final sai perto do fim do ano seguinte; antes dele, arquivos preliminares',
    'the final year appears near the end of the next year; before that, preliminary files',
  ),
  revisions: both(
    'um ano final fica quase sempre parado, mas anos antigos já foram substituídos',
    'a final year mostly stands still, but old years have been replaced',
  ),
  revision_months: 24,
  limitations: [
    both(
      'Só óbitos registrados; o sub-registro e as causas mal definidas variam entre lugares e anos.',
      'Only registered deaths; under-registration and ill-defined causes vary among places and years.',
    ),
    both(
      'Óbitos fetais não contam; os de mês desconhecido contam só no seu ano.',
      'Fetal deaths do not count; those of unknown month count in their year alone.',
    ),
  ],
  heading: 'deaths',
}

const FETAL_DEATHS: SourceFacts = {
  ...DEATHS,
  table: 'SIM, DOFET',
  limitations: [
    both(
      'Só óbitos fetais declarados. O sub-registro é maior que o dos demais óbitos, e varia entre lugares e com a duração da gestação.',
      'Only declared fetal deaths. More of them than of other deaths are not registered, and how many varies among places and with the length of gestation.',
    ),
    both(
      'Perdas antes de 22 semanas não são óbitos fetais pela definição oficial, e só parte delas é declarada.',
      'Losses before 22 weeks are no fetal deaths by the official definition, and only part of them is declared.',
    ),
  ],
}

const BIRTHS: SourceFacts = {
  ...DEATHS,
  table: 'SINASC, DN',
  limitations: [
    both(
      'Só nascidos vivos declarados; a cobertura do registro varia entre lugares e anos.',
      'Only declared live births; the coverage of the register varies among places and years.',
    ),
    both(
      'Nascidos de mês desconhecido contam só no seu ano; classes desconhecidas ficam fora das proporções.',
      'Births of unknown month count in their year alone; unknown classes are left out of the shares.',
    ),
  ],
  heading: 'births',
}

export const SOURCES: Readonly<Record<FactDataset, SourceFacts>> = {
  facilities: registry(
    'ST',
    'metrics',
    both(
      'Conta estabelecimentos ativos, qualquer que seja o seu tamanho.',
      'It counts active facilities, whatever their size.',
    ),
  ),
  bed_capacity: registry(
    'LT',
    'inpatient-and-intensive-care-beds',
    both(
      'Conta leitos cadastrados, ocupados ou não, em funcionamento ou não.',
      'It counts registered beds, occupied or not, in operation or not.',
    ),
  ),
  equipment_inventory: registry(
    'EQ',
    'metrics',
    both(
      'Conta aparelhos cadastrados, sem a sua idade nem a sua capacidade.',
      'It counts registered devices, without their age or capacity.',
    ),
  ),
  specialized_services: registry(
    'SR',
    'metrics',
    both(
      'Conta serviços oferecidos, não o que foi atendido.',
      'It counts services on offer, not the care that was given.',
    ),
  ),
  population: {
    publisher: both('IBGE', 'IBGE'),
    table: 'SIDRA 9514, 6579',
    delay: both(
      'estimativas uma vez por ano, em agosto; censo a cada dez anos',
      'estimates once a year, in August; a census every ten years',
    ),
    revisions: both(
      'estimativas de anos passados não são refeitas depois de um censo',
      'estimates of past years are not made again after a census',
    ),
    revision_months: 0,
    limitations: [
      both(
        'Municípios mais novos que o censo não têm população nele.',
        'Municipalities younger than the census have no population in it.',
      ),
    ],
    heading: 'which-population',
  },
  population_by_age: {
    publisher: MINISTRY,
    table: 'POPSBR',
    delay: both('uma edição nova por ano, mais ou menos', 'a new edition about once a year'),
    revisions: both(
      'todos os anos de uma edição substituem os anteriores juntos',
      'all years of an edition replace the earlier ones together',
    ),
    revision_months: 0,
    limitations: [
      both(
        'É outra fonte que o censo e as estimativas do IBGE: os totais diferem.',
        'It is another source than the census and the estimates of IBGE: totals differ.',
      ),
    ],
    heading: 'population-by-sex-and-age',
  },
  hospital_admissions: ADMISSIONS,
  hospital_admissions_by_residence: ADMISSIONS,
  hospital_admission_flows: ADMISSIONS,
  deaths: DEATHS,
  deaths_by_occurrence: DEATHS,
  fetal_deaths: FETAL_DEATHS,
  births: BIRTHS,
  outpatient_production: {
    publisher: MINISTRY,
    table: 'SIA/SUS, PA',
    delay: both('sai dois meses depois', 'appears two months later'),
    revisions: both(
      'arquivos e letras das partes mudam até terem 13 meses',
      'files and the letters of parts change until they are 13 months old',
    ),
    revision_months: 13,
    limitations: [
      ONLY_SUS,
      PROCESSED,
      both(
        'Quantidades têm a unidade de cada procedimento: não são pessoas nem atendimentos.',
        'Quantities have the unit of each procedure: they are neither persons nor visits.',
      ),
    ],
    heading: 'outpatient-production',
  },
  federal_health_transfers: {
    publisher: both('Fundo Nacional de Saúde (FNS)', 'National health fund (FNS)'),
    table: 'Repasses fundo a fundo',
    delay: both('o ano que corre, várias vezes', 'the running year, several times'),
    revisions: both('anos passados mudam pouco', 'older years change seldom'),
    revision_months: 12,
    limitations: [
      both(
        'É o que o FNS transferiu, não o que foi gasto; não se soma a SICONFI nem a SIOPS.',
        'It is what FNS transferred, not what was spent; it may not be added to SICONFI or SIOPS.',
      ),
    ],
    heading: 'health-financing',
  },
}
