/** Writes a plan's notes on its sources, months and places. Pure. */
import type { Area } from '../../model/areas.ts'
import { dimensionOf, isPlace, RESIDENCE_DIMENSIONS } from '../../model/dimensions.ts'
import {
  isFlowMetric,
  isLifeExpectancy,
  isOfResidents,
  type MetricCode,
  measuresOf,
} from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import { finestTime, isTime, lengthOf, periodOf, showPeriod, TIME_DIMENSIONS } from '../../model/periods.ts'
import { type Table, tablesAmong } from '../../model/required-tables.ts'
import { WEEKS_COUNTED_FROM } from '../../model/sinasc/notes.ts'
import type { Condition } from '../../model/types.ts'
import { ALL_STATES, onlyState, statesCollected, statesEmpty } from '../../release/coverage.ts'
import { isOfYears, publishedMonths } from '../../release/published-months.ts'
import { collectedPeriods, formatPeriod, type ReleaseView } from '../../release/view.ts'
import type { MetricNeeds, QueryMetricNeeds } from './coverage.ts'
import { excludesStateFunds } from './datasets/funds.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { QueryFilter } from './filters.ts'
import type { PeriodCell } from './period-cells.ts'
import { allPeriods, rangeOf } from './periods.ts'
import type { AggregatePlan, DatasetPlan } from './plan.ts'
import type { AnalyticsQuery } from './request.ts'

/** Population by age comes from a separate source and must not be mixed with the other populations. */
export const noteOfAges = (year: number | null): Note =>
  year === null ? { code: 'population_by_age_not_imported' } : { code: 'population_by_age_source', year }

/** Notes when metrics use different newest months. */
export function periodNotes(metrics: readonly MetricNeeds[]): Note[] {
  const newest = metrics
    .filter(({ needs }) => needs.length > 0)
    .map(({ code, requested }) => {
      const month = requested.at(-1)
      return [code, month === undefined ? null : formatPeriod(month)] as const
    })
  return new Set(newest.map(([, month]) => month)).size <= 1
    ? []
    : [{ code: 'newest_periods_differ', newest: Object.fromEntries(newest) }]
}

/** Notes when a range extends beyond the published or imported months. */
export function rangeNotes(
  filters: readonly QueryFilter[],
  tables: readonly Table[],
  view: ReleaseView,
): Note[] {
  const range = rangeOf(filters.filter(({ dimension }) => isTime(dimension)))
  if (range === null) return []
  const months = publishedMonths(view, tables, range)
  const [first] = months
  const last = months.at(-1)
  if (first === undefined || last === undefined) return [{ code: 'range_without_months' }]
  const isInside = (range.first ?? first) >= first && (range.last ?? last) <= last
  return isInside || isOfYears(tables)
    ? []
    : [{ code: 'range_narrowed', first: formatPeriod(first), last: formatPeriod(last) }]
}

/** @returns one cell for months that a flow is summed over without a period; none for a single month */
const cellOfMonths = (metric: MetricCode, months: readonly number[]): readonly PeriodCell[] =>
  isFlowMetric(metric) && months.length > 1 ? [{ code: 0, needed: months, read: months, missing: [] }] : []

/** Notes the months that are missing from a period, and how many months a rate covers when they are not a year. */
export function cellNotes(query: AnalyticsQuery, metrics: readonly QueryMetricNeeds[]): Note[] {
  const finest = finestTime(query.group_by)
  const isFiltered = (code: string): boolean => query.filters.some(({ dimension }) => dimension === code)
  const unit =
    TIME_DIMENSIONS.find((code) => code !== 'reference_period' && isFiltered(code)) ?? 'reference_year'
  const nameOf = (code: number, months: readonly number[]): string =>
    finest === null
      ? allPeriods([months.map((month) => periodOf(unit, month))])
          .map((period) => showPeriod(unit, period))
          .join(', ')
      : String(showPeriod(finest, code))
  const incomplete = new Map<string, { metrics: string[]; groups: string[]; months: number[] }>()
  const lengths = new Map<number, string[]>()
  for (const { code: name, metric, needs, requested, cells = cellOfMonths(metric, requested) } of metrics) {
    const gaps = cells.filter(({ missing }) => missing.length > 0)
    const groups = gaps.map(({ code, needed, missing }) => nameOf(code, [...needed, ...missing]))
    const months = allPeriods(gaps.map(({ missing }) => missing))
    const key = `${groups.join()} ${months.join()}`
    const entry = incomplete.get(key) ?? { metrics: [], groups, months }
    if (gaps.length > 0) incomplete.set(key, { ...entry, metrics: [...entry.metrics, name] })
    // Life expectancy counts deaths per year, however many months they are of.
    if (!isOfResidents(metric) || isLifeExpectancy(metric) || isOfYears(tablesAmong(needs))) continue
    for (const { needed } of cells)
      if (needed.length !== lengthOf('reference_year'))
        lengths.set(needed.length, [...new Set([...(lengths.get(needed.length) ?? []), name])])
  }
  const status = query.incomplete === 'allow' ? 'partial' : 'incomplete'
  return [
    ...[...incomplete.values()].map(
      ({ groups, months, ...entry }): Note => ({
        code: 'incomplete_period',
        incomplete_periods: groups,
        status,
        periods: months.map(formatPeriod),
        metrics: entry.metrics,
      }),
    ),
    ...[...lengths].map(([months, codes]): Note => ({ code: 'months_covered', metrics: codes, months })),
  ]
}

const BY_OCCURRENCE = 'deaths_by_occurrence'

/** Notes that records of a place are missing, because they lie in files of states that were not collected. */
export function otherStatesNotes(
  query: Pick<AnalyticsQuery, 'group_by' | 'filters'>,
  metrics: readonly Pick<MetricNeeds, 'needs' | 'requested'>[],
  view: ReleaseView,
): Note[] {
  const isPartial = (table: Table): boolean =>
    allPeriods(metrics.filter(({ needs }) => needs.includes(table)).map(({ requested }) => requested)).some(
      (period) => statesCollected(view, table, period) !== ALL_STATES,
    )
  // Files of admissions are by hospital. Those of deaths and births are by residence, so only deaths by occurrence lie in others.
  const isByResidence = dimensionsUsed(query).some((code) => RESIDENCE_DIMENSIONS.has(code))
  return [
    ...(isByResidence && isPartial('hospital_admissions_by_residence')
      ? [{ code: 'partial_residence' } as const]
      : []),
    ...(isPartial(BY_OCCURRENCE) ? [{ code: 'partial_occurrence' } as const] : []),
  ]
}

/** Notes published but empty files, whose values are 0. */
export function emptyNotes(
  metrics: readonly Pick<MetricNeeds, 'needs' | 'requested' | 'states'>[],
  view: ReleaseView,
): Note[] {
  const notesByKey = new Map<
    string,
    { readonly dataset: string; readonly states: string[]; periods: number[] }
  >()
  for (const { needs, requested, states } of metrics)
    for (const table of tablesAmong(needs))
      for (const period of requested) {
        const empty = statesEmpty(view, table, period)
        const inScope = [...empty].filter((uf) => states.has(uf)).sort()
        if (inScope.length === 0) continue
        const key = `${table} ${inScope.join()}`
        const periods = allPeriods([notesByKey.get(key)?.periods ?? [], [period]])
        notesByKey.set(key, { dataset: table, states: inScope, periods })
      }
  return [...notesByKey.values()].map(({ dataset, states, periods }) => ({
    code: 'empty_file',
    dataset,
    states,
    periods: periods.map(formatPeriod),
  }))
}

/** Notes that a release of one state answers for that state when no place is requested. */
export function scopeNotes(
  metrics: readonly MetricNeeds[],
  view: ReleaseView,
  tables: readonly Table[],
): Note[] {
  const releaseState = onlyState(view, tables)
  // Metrics without needs use the population of the whole country.
  const stateMetrics = metrics.filter(
    ({ needs, states }) =>
      needs.length > 0 && releaseState !== null && states.size === 1 && states.has(releaseState),
  )
  if (stateMetrics.length === 0 || releaseState === null) return []
  const areAllMetrics = stateMetrics.length === metrics.length
  return [
    {
      code: 'single_state_release',
      state: releaseState,
      metrics: areAllMetrics ? [] : stateMetrics.map(({ code }) => code),
    },
  ]
}

/** Areas whose files hold records without a month, and the names of the manifest's counts that say how many. */
const WITHOUT_MONTH = [
  {
    datasets: ['deaths', BY_OCCURRENCE],
    area: 'sim',
    name: /^deaths_without_month_([A-Z]{2})_(\d{4})$/,
    noteOf: (year, states, deaths) => ({ code: 'deaths_without_month', year, states, deaths }),
  },
  {
    datasets: ['fetal_deaths'],
    area: 'sim',
    name: /^fetal_deaths_without_month_(BR)_(\d{4})$/,
    noteOf: (year, _files, fetal_deaths) => ({ code: 'fetal_deaths_without_month', year, fetal_deaths }),
  },
  {
    datasets: ['births'],
    area: 'sinasc',
    name: /^births_without_month_([A-Z]{2})_(\d{4})$/,
    noteOf: (year, states, births) => ({ code: 'births_without_month', year, states, births }),
  },
] as const satisfies readonly {
  readonly datasets: readonly Table[]
  readonly area: Area
  readonly name: RegExp
  readonly noteOf: (year: number, files: readonly string[], count: number) => Note
}[]

/** Files that are of no state: of the country, of residents abroad, and of residents of an unknown state. */
const FILES_OF_NO_STATE = ['BR', 'EX', 'IG']

/** @returns states and other files whose rows a metric reads */
const filesRead = ({ needs, states, query }: QueryMetricNeeds): readonly string[] =>
  // Deaths at a place come from the files of all residences.
  needs.includes(BY_OCCURRENCE)
    ? [...ALL_STATES, ...FILES_OF_NO_STATE]
    : query.filters.some(({ dimension }) => isPlace(dimension))
      ? // A file of the country has rows of each state.
        [...states, 'BR']
      : [...states, ...FILES_OF_NO_STATE]

/** Notes the deaths and births of the requested years and states that have no month, and the break of the length of gestation. */
export function vitalNotes(metrics: readonly QueryMetricNeeds[], view: ReleaseView): Note[] {
  const withoutMonth = WITHOUT_MONTH.flatMap(({ datasets, area, name, noteOf }) => {
    const readers = metrics.filter(({ needs }) => datasets.some((dataset) => needs.includes(dataset)))
    const years = new Set(
      allPeriods(readers.map(({ requested }) => requested)).map((period) =>
        periodOf('reference_year', period),
      ),
    )
    const files = new Set(readers.flatMap(filesRead))
    const counts = Object.entries(view.components[area]?.counts ?? {}).flatMap(([count, records]) => {
      const [, file = '', year = ''] = name.exec(count) ?? []
      return files.has(file) ? [{ file, year: Number(year), records }] : []
    })
    return [...years].flatMap((year): Note[] => {
      const ofYear = counts.filter((count) => count.year === year)
      const states = ofYear.map(({ file }) => file).sort()
      const sum = ofYear.reduce((total, { records }) => total + records, 0)
      return sum === 0 ? [] : [noteOf(year, states, sum)]
    })
  })
  const compared = metrics.filter(
    ({ metric, query, requested }) =>
      requested.some((period) => period < WEEKS_COUNTED_FROM) &&
      requested.some((period) => period >= WEEKS_COUNTED_FROM) &&
      (dimensionsUsed(query).includes('gestation') || readsGestation(metric)),
  )
  return compared.length === 0
    ? withoutMonth
    : [...withoutMonth, { code: 'gestation_break', metrics: compared.map(({ code }) => code) }]
}

const readsGestation = (metric: MetricCode): boolean =>
  Object.values(measuresOf(metric)).some((measure) =>
    (measure?.where ?? []).some(
      (condition: Condition) => 'field' in condition && condition.field === dimensionOf('gestation').column,
    ),
  )

const TRANSFERS = 'federal_health_transfers'
const DECEMBER = 12

/** Notes on transfers: they are yearly, the current year is incomplete, and some funds are missing from the published file. */
export function transferNotes(metrics: readonly MetricNeeds[], view: ReleaseView): Note[] {
  const transferMetrics = metrics.filter(({ needs }) => needs.includes(TRANSFERS))
  const manifest = view.components.financing
  if (transferMetrics.length === 0 || manifest === null) return []
  const years = collectedPeriods(view, TRANSFERS)
  const requested = allPeriods(transferMetrics.map((metric) => metric.requested))
  const states = new Set(transferMetrics.flatMap((metric) => [...metric.states]))
  const collected = requested.filter((period) => years.includes(period))
  const missingFunds = Object.entries(manifest.counts).flatMap(([name, count]) => {
    const [, uf = '', period = ''] = /^funds_without_transfers_([A-Z]{2})_(\d{6})$/.exec(name) ?? []
    return states.has(uf) && collected.includes(Number(period)) ? [{ uf, period: Number(period), count }] : []
  })
  return [
    ...(requested.some((period) => !years.includes(period))
      ? [{ code: 'transfers_by_year', periods: years.map(formatPeriod) } as const]
      : []),
    ...collected
      .filter((period) => period % 100 !== DECEMBER)
      .map((period): Note => {
        const year = Math.floor(period / 100)
        return { code: 'transfers_year_to_date', period: formatPeriod(period), year }
      }),
    ...missingFunds.map(({ uf, period, count }): Note => {
      return { code: 'transfers_missing_funds', period: formatPeriod(period), state: uf, funds: count }
    }),
    ...collected.flatMap((period): Note[] => {
      const municipalities = manifest.counts[`municipalities_without_transfers_${period}`] ?? 0
      return municipalities === 0
        ? []
        : [{ code: 'transfers_missing_municipalities', period: formatPeriod(period), municipalities }]
    }),
  ]
}

/** Notes that totals, a share or a comparator count funds of states, which the rows do not. @param larger levels beside the rows; null: none */
export function noteFunds(rows: AggregatePlan, larger: readonly (AggregatePlan | null)[]): Note[] {
  const isOfAll = (dataset: DatasetPlan): boolean =>
    dataset.dataset === TRANSFERS && !excludesStateFunds(dataset)
  return rows.datasets.some(excludesStateFunds) && larger.some((level) => level?.datasets.some(isOfAll))
    ? [{ code: 'transfers_of_all_funds' }]
    : []
}

export const noteMissingShares = ({ query, metrics }: AggregatePlan): Note[] =>
  query.share_of === null
    ? []
    : metrics.flatMap((metric) => (metric.isAdditive ? [] : [{ code: 'no_share', metric: metric.code }]))

/** Notes the months whose values may still change, by the metrics that share them. */
export function notePreliminary({ metrics }: AggregatePlan): Note[] {
  const found = new Map<string, { readonly metrics: string[]; readonly periods: string[] }>()
  for (const { code, status } of metrics) {
    const periods = (status?.preliminary ?? []).map(formatPeriod)
    if (periods.length === 0) continue
    const entry = found.get(periods.join()) ?? { metrics: [], periods }
    found.set(periods.join(), { ...entry, metrics: [...entry.metrics, code] })
  }
  return [...found.values()].map((entry) => ({ code: 'preliminary', ...entry }))
}

/** Notes metrics without limits, and limits of admissions, which are not independent events. */
export function noteLimits({ query, metrics }: AggregatePlan): Note[] {
  if (query.limits === null) return []
  const without = metrics.filter(({ limits }) => limits.method === 'none').map(({ code }) => code)
  const repeated = metrics
    .filter(
      ({ limits, catalog }) =>
        limits.method !== 'none' &&
        catalog.some((code) =>
          ['admissions', 'icsap_admissions'].includes(measuresOf(code).numerator.field ?? ''),
        ),
    )
    .map(({ code }) => code)
  return [
    ...(without.length === 0 ? [] : [{ code: 'no_limits', metrics: without } as const]),
    ...(repeated.length === 0 ? [] : [{ code: 'repeated_events', metrics: repeated } as const]),
  ]
}
