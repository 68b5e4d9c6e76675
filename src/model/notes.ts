/**
 * Declares every note that a response can carry besides its numbers. Each has parameters for programs and a sentence in both
 * languages. Values and pure functions only; query/ and http/ decide when a note applies. A sentence names metrics,
 * dimensions and datasets through `name`: the API passes codes, the explorer labels.
 */
import { STANDARD_POPULATIONS } from './demography/standard-populations.ts'
import { NOTES as TRANSFERS } from './financing/notes.ts'
import { declare, type Namer, type ParamsOf } from './note-lists/declare.ts'
import { isAll, listFiles, listMonths, listPeriods, NAMED_MAX, othersOf } from './note-lists/lists.ts'
import { NULL_REASONS } from './note-lists/null-reasons.ts'
import { PRICES } from './note-lists/prices.ts'
import { NOTES as DEATHS } from './sim/notes.ts'
import { NOTES as BIRTHS } from './sinasc/notes.ts'

export type { Kind, Namer } from './note-lists/declare.ts'

/** The effect of missing data on a response. */
const EFFECTS = ['null_metrics', 'incomplete_list', 'null_totals'] as const
export type NoteEffect = (typeof EFFECTS)[number]

interface Affected {
  readonly effect: NoteEffect
  readonly metrics: readonly string[]
}
function effectInPortuguese({ effect, metrics }: Affected, name: Namer, needed = 'disso'): string {
  if (effect === 'incomplete_list') return 'a lista não está completa, e o seu total fica sem dado.'
  if (effect === 'null_totals') return 'os totais ficam sem dado.'
  return `sem dado onde a resposta precisa ${needed}: ${metrics.map(name).join(', ')}.`
}
function effectInEnglish({ effect, metrics }: Affected, name: Namer, needed = 'it'): string {
  if (effect === 'incomplete_list') return 'the list is not complete, and its total is null.'
  if (effect === 'null_totals') return 'totals are null.'
  return `${metrics.map(name).join(', ')} ${metrics.length === 1 ? 'is' : 'are'} null where an answer needs ${needed}.`
}

const COVERAGE = {
  not_collected: declare({
    when: 'A dataset was not collected for the listed states (all 27: for no state) in the listed months (none: in no month).',
    params: { dataset: 'code', states: 'codes', periods: 'months', effect: EFFECTS, metrics: 'codes' },
    pt: ({ dataset, states, periods, ...affected }, name) => {
      const isMost = !isAll(states) && states.length > NAMED_MAX
      const where = isAll(states)
        ? 'não coletado em nenhum estado'
        : isMost
          ? `não coletado fora de ${othersOf(states)}`
          : `não coletado em ${states.join(', ')}`
      return `${name(dataset)}, ${listMonths(periods, 'pt')}: ${where}; ${effectInPortuguese(affected, name, isMost ? 'do resto' : 'disso')}`
    },
    en: ({ dataset, states, periods, ...affected }, name) => {
      const where = isAll(states)
        ? 'not collected for any state'
        : states.length > NAMED_MAX
          ? `not collected for states other than ${othersOf(states)}`
          : `not collected for ${states.join(', ')}`
      return `${name(dataset)} ${listMonths(periods, 'en')}: ${where}; ${effectInEnglish(affected, name, states.length === 1 ? 'it' : 'them')}`
    },
  }),
  not_carried: declare({
    when: 'The files of the listed states and months do not carry a dimension that the request uses.',
    params: {
      dataset: 'code',
      dimension: 'code',
      states: 'codes',
      periods: 'months',
      effect: EFFECTS,
      metrics: 'codes',
    },
    pt: ({ dataset, dimension, states, periods, ...affected }, name) =>
      `${name(dataset)}, ${listMonths(periods, 'pt')}: os arquivos${listFiles(states, 'pt')} não trazem ${name(dimension)}; ${effectInPortuguese(affected, name)}`,
    en: ({ dataset, dimension, states, periods, ...affected }, name) =>
      `${name(dataset)} ${listMonths(periods, 'en')}: the files${listFiles(states, 'en')} do not carry ${name(dimension)}; ${effectInEnglish(affected, name)}`,
  }),
  sus_link_not_published: declare({
    when: 'The files of the listed states and months do not publish the link of a facility to SUS.',
    params: { states: 'codes', periods: 'months', effect: EFFECTS, metrics: 'codes' },
    pt: ({ states: _states, periods, ...affected }, name) =>
      `${name('facilities')}, ${listMonths(periods, 'pt')}: os arquivos não publicam o vínculo com o SUS; ${effectInPortuguese(affected, name)}`,
    en: ({ states: _states, periods, ...affected }, name) =>
      `${name('facilities')} ${listMonths(periods, 'en')}: the files do not publish the registry's link to SUS; ${effectInEnglish(affected, name)}`,
  }),
  dataset_not_imported: declare({
    when: 'The release has no files of the dataset that a list shows.',
    params: { dataset: 'code' },
    pt: ({ dataset }, name) =>
      `${name(dataset)}: não coletado; a lista não está completa, e o seu total fica sem dado.`,
    en: ({ dataset }, name) =>
      `${name(dataset)}: not collected; the list is not complete, and its total is null.`,
  }),
  population_type_not_imported: declare({
    when: 'The release has no population of the types that a list shows.',
    params: { population_types: 'codes' },
    pt: ({ population_types }, name) =>
      `${name('population')}, ${population_types.join(', ')}: não coletado; a lista não está completa, e o seu total fica sem dado.`,
    en: ({ population_types }, name) =>
      `${name('population')} ${population_types.join(', ')}: not collected; the list is not complete, and its total is null.`,
  }),
  totals_of_all_periods: declare({
    when: 'The records of a facility are of all periods: stocks are not added over months, so its totals are null.',
    params: {},
    pt: () =>
      'Estoques não se somam entre meses, por isso os totais ficam sem dado. Peça um mês em reference_period.',
    en: () => 'Stocks are not added over months, so totals are null. Request one month in reference_period.',
  }),
  empty_file: declare({
    when: 'The published file of the listed states (all 27: of the country) and months has no rows, and counts as 0.',
    params: { dataset: 'code', states: 'codes', periods: 'months' },
    pt: ({ dataset, states, periods }, name) =>
      `${name(dataset)}, ${periods.join(', ')}: o arquivo publicado de ${isAll(states) ? 'todo o país' : states.join(', ')} está vazio; conta como 0.`,
    en: ({ dataset, states, periods }, name) =>
      `${name(dataset)} ${periods.join(', ')}: the published file of ${isAll(states) ? 'the country' : states.join(', ')} is empty; it counts as 0.`,
  }),
  partial_residence: declare({
    when: 'A query is by residence, and not every state was collected.',
    params: {},
    pt: () =>
      'Por residência: um estado fica sem dado onde os seus próprios hospitais não foram coletados; internações dos seus residentes em hospitais de estados não coletados não entram nos números.',
    en: () =>
      'by residence: a state is null where its own hospitals were not collected; admissions of its residents in hospitals of states that were not collected are not in its numbers.',
  }),
  partial_occurrence: declare({
    when: 'A query is of deaths by place of occurrence, and not every state was collected.',
    params: {},
    pt: () =>
      'Por local de ocorrência: os arquivos são por estado de residência; óbitos de moradores de estados que não foram coletados não entram nos números.',
    en: () =>
      'by place of occurrence: files are by state of residence; deaths of residents of states that were not collected are not in the numbers.',
  }),
  single_state_release: declare({
    when: 'The release is of one state, so totals without a filter by place are of that state. An empty list stands for all metrics.',
    params: { state: 'code', metrics: 'codes' },
    pt: ({ state, metrics }, name) =>
      `Esta versão dos dados é só de ${state}: os totais${metrics.length === 0 ? '' : ` de ${metrics.map(name).join(', ')}`} são de ${state}.`,
    en: ({ state, metrics }, name) =>
      `The release is of ${state} alone: totals${metrics.length === 0 ? '' : ` of ${metrics.map(name).join(', ')}`} are of ${state}.`,
  }),
} as const

function listNewest(newest: Readonly<Record<string, string | null>>, name: Namer, none: string): string {
  const months = new Map<string, string[]>()
  for (const [metric, month] of Object.entries(newest))
    months.set(month ?? none, [...(months.get(month ?? none) ?? []), name(metric)])
  return [...months].map(([month, metrics]) => `${metrics.join(', ')} ${month}`).join('; ')
}

const PERIODS = {
  newest_periods_differ: declare({
    when: 'No month was requested, and the newest months of the metrics differ.',
    params: { newest: 'month_by_metric' },
    pt: ({ newest }, name) =>
      `Os meses mais novos do que se pergunta são diferentes: ${listNewest(newest, name, 'nenhum')}.`,
    en: ({ newest }, name) =>
      `The newest periods of what is asked for differ: ${listNewest(newest, name, 'none')}.`,
  }),
  range_without_months: declare({
    when: 'A range of months has none between the first month of the publisher and the newest month of the release.',
    params: {},
    pt: (_params, name) =>
      `${name('reference_period')}: o intervalo não tem mês entre o primeiro da fonte e o mais novo desta versão dos dados.`,
    en: (_params, name) =>
      `${name('reference_period')}: the range has no month between the publisher's first and the newest here.`,
  }),
  range_narrowed: declare({
    when: 'A range of months reaches beyond the first month of the publisher or the newest month of the release.',
    params: { first: 'month', last: 'month' },
    pt: ({ first, last }, name) =>
      `${name('reference_period')}: do intervalo são lidos ${first} a ${last}, do primeiro mês da fonte ao mais novo desta versão dos dados.`,
    en: ({ first, last }, name) =>
      `${name('reference_period')}: of the range, ${first} to ${last} are read, from the publisher's first month to the newest here.`,
  }),
  incomplete_period: declare({
    when: 'Some months of a year, quarter, quadrimester or window were not collected for all states of the query: the metrics are null there (`incomplete`), or cover the other months (`partial`).',
    params: {
      incomplete_periods: 'codes',
      status: ['incomplete', 'partial'],
      periods: 'months',
      metrics: 'codes',
    },
    pt: ({ incomplete_periods, status, periods, metrics }, name) =>
      `${listPeriods(incomplete_periods, 'pt')}: sem coleta de ${listMonths(periods, 'pt')} em todos os estados da consulta; ${metrics.map(name).join(', ')} ${status === 'incomplete' ? 'sem dado onde esses meses fazem falta' : 'só dos meses coletados'}.`,
    en: ({ incomplete_periods, status, periods, metrics }, name) =>
      `${listPeriods(incomplete_periods, 'en')}: ${listMonths(periods, 'en')} not collected for all states of the query; ${metrics.map(name).join(', ')} ${status === 'incomplete' ? 'null where these months are needed' : 'of the collected months only'}.`,
  }),
  months_covered: declare({
    when: 'A rate is of a period that is not a year, and is not annualized: the number of months that it covers.',
    params: { metrics: 'codes', months: 'count' },
    pt: ({ metrics, months }, name) =>
      `${metrics.map(name).join(', ')}: de ${months} ${months === 1 ? 'mês' : 'meses'}, sem anualização.`,
    en: ({ metrics, months }, name) =>
      `${metrics.map(name).join(', ')}: of ${months} ${months === 1 ? 'month' : 'months'}, not annualized.`,
  }),
  change_not_collected: declare({
    when: 'A dataset was not collected for the month `base_period` that the listed months are compared with. An empty list of states stands for all of the query.',
    params: { dataset: 'code', base_period: 'month', periods: 'months', states: 'codes' },
    pt: ({ dataset, base_period, periods, states }, name) =>
      `Variação: ${name(dataset)} não coletado em ${base_period}; a variação de ${periods.join(', ')} fica sem dado${states.length === 0 ? '' : ` em ${states.join(', ')}`}.`,
    en: ({ dataset, base_period, periods, states }, name) =>
      `change: ${name(dataset)} was not collected for ${base_period}; the change of ${periods.join(', ')} is null${states.length === 0 ? '' : ` in ${states.join(', ')}`}.`,
  }),
  no_change_without_period: declare({
    when: 'A change was requested of a metric that has no reference period.',
    params: { metric: 'code' },
    pt: ({ metric }, name) => `${name(metric)}: não tem mês, então não tem variação.`,
    en: ({ metric }, name) => `${name(metric)}: has no reference period, so there is no change.`,
  }),
} as const

const POPULATION = {
  population_by_age_source: declare({
    when: 'A query reads the population by sex and age.',
    params: { year: 'year' },
    pt: ({ year }, name) =>
      `${name('population_by_age')}: estimativas do Ministério da Saúde para 1º de julho de ${year} (POPSBR), outra fonte que o censo e as estimativas do IBGE: os totais diferem.`,
    en: ({ year }, name) =>
      `${name('population_by_age')}: estimates of the Ministry of Health for 1 July ${year} (POPSBR), another source than the census and the estimates of IBGE: their totals differ.`,
  }),
  population_by_age_not_imported: declare({
    when: 'A query reads the population by sex and age, which the release does not hold.',
    params: {},
    pt: (_params, name) =>
      `${name('population_by_age')}: sem dado, porque esta versão dos dados não a tem; importe POPSBR, a população por município, sexo e idade do DATASUS.`,
    en: (_params, name) =>
      `${name('population_by_age')}: null, because the release holds none; import POPSBR, the population by municipality, sex and age of DATASUS.`,
  }),
  no_estimate: declare({
    when: 'Rates are divided by the estimate of the year, and there is none of that year or before.',
    params: { metric: 'code', year: 'year' },
    pt: ({ metric, year }, name) =>
      `${name(metric)}: não há estimativa de ${year} ou antes; as taxas ficam sem dado.`,
    en: ({ metric, year }, name) =>
      `${name(metric)}: there is no estimate of ${year} or before; its rates are null.`,
  }),
  earlier_estimate: declare({
    when: 'Rates are divided by the estimate of the year, and the nearest earlier one (`used`) stands in for it.',
    params: { metric: 'code', year: 'year', used: 'year' },
    pt: ({ metric, year, used }, name) =>
      `${name(metric)}: não há estimativa de ${year}; seus meses são divididos pela de ${used}.`,
    en: ({ metric, year, used }, name) =>
      `${name(metric)}: there is no estimate of ${year}; its months are divided by the estimate of ${used}.`,
  }),
  far_denominator: declare({
    when: 'The months from `first` to `last` lie more than `years` years from the year of the population that divides them.',
    params: {
      metric: 'code',
      first: 'month',
      last: 'month',
      years: 'count',
      basis: ['census', 'estimate'],
      year: 'year',
    },
    pt: ({ metric, first, last, years, basis, year }, name) =>
      `${name(metric)}: ${first === last ? first : `${first} a ${last}`} a mais de ${years} anos do denominador, ${basis === 'census' ? 'o censo' : 'a estimativa'} de ${year}.`,
    en: ({ metric, first, last, years, basis, year }, name) =>
      `${name(metric)}: ${first === last ? `the period ${first} lies` : `the periods from ${first} to ${last} lie`} more than ${years} years from the denominator, the ${basis} of ${year}.`,
  }),
  standardized: declare({
    when: 'A rate is standardized by age to a standard population.',
    params: { metric: 'code', standard: ['brazil_2010'], age_groups: 'count' },
    pt: ({ metric, standard, age_groups }, name) =>
      `${name(metric)}: padronização direta por ${age_groups} faixas etárias pela população do ${STANDARD_POPULATIONS[standard].title.pt}; eventos de idade não informada ficam de fora.`,
    en: ({ metric, standard, age_groups }, name) =>
      `${name(metric)}: standardized directly by ${age_groups} age groups to the population of ${STANDARD_POPULATIONS[standard].title.en}; events of unknown age are left out.`,
  }),
  territory_edition: declare({
    when: 'A query is by places that the territorial base defines, of which one edition holds for all months.',
    params: { dimensions: 'codes', edition: 'code' },
    pt: ({ dimensions, edition }, name) =>
      `${dimensions.map(name).join(', ')}: municípios segundo a edição “${edition}” da base territorial, em todos os meses.`,
    en: ({ dimensions, edition }, name) =>
      `${dimensions.map(name).join(', ')}: membership of municipalities by the edition “${edition}” of the territorial base, for all periods.`,
  }),
} as const

const VALUES = {
  null_rows: declare({
    when: 'A metric is null in some rows: their places are not in the source of the population or in the published files, or they have no denominator, or too few people or deaths for a life table.',
    params: {
      metric: 'code',
      rows: 'count',
      total_rows: 'count',
      reason: ['no_population', 'not_published', 'no_denominator', 'no_life_table'],
    },
    pt: ({ metric, rows, total_rows, reason }, name) =>
      `${name(metric)}: sem dado em ${rows} de ${total_rows} linhas, que ${NULL_REASONS[reason].pt[rows === 1 ? 0 : 1]}.`,
    en: ({ metric, rows, total_rows, reason }, name) =>
      `${name(metric)}: null in ${rows} of ${total_rows} rows, which ${NULL_REASONS[reason].en[rows === 1 ? 0 : 1]}.`,
  }),
  no_share: declare({
    when: 'A share was requested of a metric whose groups do not add up.',
    params: { metric: 'code' },
    pt: ({ metric }, name) => `${name(metric)}: seus grupos não se somam, então não tem participação.`,
    en: ({ metric }, name) => `${name(metric)}: its groups do not add up, so it has no share.`,
  }),
  no_limits: declare({
    when: 'Limits were requested of metrics that have no method for them; the catalog says why.',
    params: { metrics: 'codes' },
    pt: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: sem limites de confiança, porque não são contagens, taxas nem proporções de eventos.`,
    en: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: no confidence limits, because they are no counts, rates or proportions of events.`,
  }),
  comparator_not_collected: declare({
    when: 'Rows are compared with larger places or peers, of which some were not collected in full; their values are null.',
    params: {
      comparator: ['country', 'region', 'state', 'health_macroregion', 'health_region', 'peers'],
    },
    pt: ({ comparator }, name) =>
      `Comparação (${name(comparator)}): o que não foi coletado por completo fica sem dado.`,
    en: ({ comparator }, name) =>
      `${name('compare_to')} ${name(comparator)}: what was not collected in full is null.`,
  }),
  peers: declare({
    when: 'Municipalities are compared with their peers.',
    params: { year: 'year' },
    pt: ({ year }, name) =>
      `Comparação (${name('peers')}): municípios da mesma grande região e da mesma faixa de população do Censo ${year}, tomados juntos, com o da linha; sem população nesse censo, não há pares.`,
    en: ({ year }, name) =>
      `${name('compare_to')} ${name('peers')}: municipalities of the same major region and the same band of the population of the ${year} census, taken together, with that of the row; without population in that census there are no peers.`,
  }),
  preliminary: declare({
    when: 'Statuses were requested of metrics whose source usually still revises some of the months.',
    params: { metrics: 'codes', periods: 'months' },
    pt: ({ metrics, periods }, name) =>
      `${metrics.map(name).join(', ')}: a fonte ainda costuma rever ${listMonths(periods, 'pt')}.`,
    en: ({ metrics, periods }, name) =>
      `${metrics.map(name).join(', ')}: the source usually still revises ${listMonths(periods, 'en')}.`,
  }),
  repeated_events: declare({
    when: 'Limits were requested of admissions, which are not independent: one person may be admitted several times.',
    params: { metrics: 'codes' },
    pt: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: a mesma pessoa pode ser internada várias vezes; os limites supõem eventos independentes e são estreitos demais.`,
    en: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: one person may be admitted several times; the limits assume independent events and are too narrow.`,
  }),
  causes_left_out: declare({
    when: 'The key may not read the records of a dataset that a comparison of releases divides by.',
    params: { dataset: 'code', capability: 'code' },
    pt: ({ dataset, capability }, name) =>
      `${name(dataset)}: causas deixadas de fora, porque a chave não tem a permissão ${capability}.`,
    en: ({ dataset, capability }, name) =>
      `${name(dataset)}: causes left out, because the key lacks the capability ${capability}.`,
  }),
  codes_not_listed: declare({
    when: 'A filter has codes that the release does not list, `more` besides those named. They select nothing.',
    params: { dimension: 'code', codes: 'codes', more: 'count' },
    pt: ({ dimension, codes, more }, name) =>
      `${name(dimension)}: códigos que a versão não lista e que nada selecionam: ${codes.join(', ')}${more === 0 ? '' : ` (e mais ${more})`}; confira o filtro.`,
    en: ({ dimension, codes, more }, name) =>
      `${name(dimension)}: codes that the release does not list and that select nothing: ${codes.join(', ')}${more === 0 ? '' : ` (and ${more} more)`}; check the filter.`,
  }),
  totals_ignore_having: declare({
    when: 'A query has conditions on values and totals.',
    params: {},
    pt: () => 'Totais: de todo o escopo, com as linhas que having deixa de fora.',
    en: () => 'totals: of the whole scope, with the rows that having leaves out.',
  }),
  mixed_sus_quantities: declare({
    when: 'Quantities of equipment for SUS that the source publishes stand beside quantities that follow from its flag.',
    params: {},
    pt: (_params, name) =>
      `${name('equipment_sus')}: quantidades publicadas pela fonte e quantidades tomadas da sua marca estão lado a lado (quantity_sus_basis).`,
    en: (_params, name) =>
      `${name('equipment_sus')}: quantities published by the source and quantities taken from its flag are side by side (quantity_sus_basis).`,
  }),
  negative_beds: declare({
    when: 'The publisher registers more SUS beds than beds in some records of the release, whatever the filters.',
    params: { period: 'month', records: 'count' },
    pt: ({ period, records }, name) =>
      `${name('beds_non_sus')}: em ${records} registros de ${period} a fonte registra mais leitos SUS do que leitos; contam como negativos.`,
    en: ({ period, records }, name) =>
      `${name('beds_non_sus')}: in ${records} records of ${period} the publisher registers more SUS beds than beds; they count as negative.`,
  }),
} as const

export const NOTES = {
  ...COVERAGE,
  ...PERIODS,
  ...POPULATION,
  ...VALUES,
  ...PRICES,
  ...DEATHS,
  ...BIRTHS,
  ...TRANSFERS,
} as const

export type NoteCode = keyof typeof NOTES
export const NOTE_CODES = Object.keys(NOTES) as NoteCode[]

/** A note without its sentence: the code with its parameters. */
export type Note = {
  [Code in NoteCode]: {
    readonly code: Code /** True when the note is about the months that values are compared with. */
    readonly of_base?: true
  } & ParamsOf<(typeof NOTES)[Code]['params']>
}[NoteCode]
