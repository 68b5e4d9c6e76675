/** Notes of a plan on its sources, months and places. In: the parts of a plan. Out: notes. Pure. */
import { RESIDENCE_DIMENSIONS } from '../../model/dimensions.ts'
import type { Note } from '../../model/notes.ts'
import { type Table, tablesAmong } from '../../model/required-tables.ts'
import { ALL_STATES, onlyState, statesCollected, statesEmpty } from '../../release/coverage.ts'
import { isOfYears, publishedMonths } from '../../release/published-months.ts'
import { collectedPeriods, formatPeriod, type ReleaseView } from '../../release/view.ts'
import type { MetricNeeds } from './coverage.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import { allPeriods, rangeOf } from './periods.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** Population by age is a source of its own, which the other populations are not to be mixed with. */
export const noteOfAges = (year: number | null): Note =>
  year === null ? { code: 'population_by_age_not_imported' } : { code: 'population_by_age_source', year }

/** Each metric has its own newest month: said where they differ. */
export function periodNotes(metrics: readonly MetricNeeds[]): Note[] {
  const newest = metrics
    .filter(({ needs }) => needs.length > 0)
    .map(({ code, asked: [month] }) => [code, month === undefined ? null : formatPeriod(month)] as const)
  return new Set(newest.map(([, month]) => month)).size <= 1
    ? []
    : [{ code: 'newest_periods_differ', newest: Object.fromEntries(newest) }]
}

/** A range is read to the newest month here, and from the publisher's first: said where one of its ends is outside. */
export function rangeNotes(
  filters: readonly QueryFilter[],
  tables: readonly Table[],
  view: ReleaseView,
): Note[] {
  const range = rangeOf(filters.filter(({ dimension }) => dimension === 'reference_period'))
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

/** Residents are admitted in other states, too: what was not collected there is not in their numbers. */
export function residenceNotes(
  query: Pick<AnalyticsQuery, 'group_by' | 'filters'>,
  metrics: readonly Pick<MetricNeeds, 'asked'>[],
  view: ReleaseView,
): Note[] {
  if (!dimensionsUsed(query).some((code) => RESIDENCE_DIMENSIONS.has(code))) return []
  const months = allPeriods(metrics.map(({ asked }) => asked))
  const isWhole = months.every(
    (period) => statesCollected(view, 'hospital_admissions_by_residence', period) === ALL_STATES,
  )
  return isWhole ? [] : [{ code: 'partial_residence' }]
}

/** An empty file was published: what it says is 0, which a reader may not expect. */
export function emptyNotes(
  metrics: readonly Pick<MetricNeeds, 'needs' | 'asked' | 'states'>[],
  view: ReleaseView,
): Note[] {
  const found = new Map<string, { readonly dataset: string; readonly states: string[]; periods: number[] }>()
  for (const { needs, asked, states } of metrics)
    for (const table of tablesAmong(needs))
      for (const period of asked) {
        const empty = statesEmpty(view, table, period)
        const inScope = [...empty].filter((uf) => states.has(uf)).sort()
        if (inScope.length === 0) continue
        const key = `${table} ${inScope.join()}`
        const periods = allPeriods([found.get(key)?.periods ?? [], [period]])
        found.set(key, { dataset: table, states: inScope, periods })
      }
  return [...found.values()].map(({ dataset, states, periods }) => ({
    code: 'empty_file',
    dataset,
    states,
    periods: periods.map(formatPeriod),
  }))
}

/** A release of one state answers for it where no place is asked for. */
export function scopeNotes(
  metrics: readonly MetricNeeds[],
  view: ReleaseView,
  tables: readonly Table[],
): Note[] {
  const only = onlyState(view, tables)
  // Residents are those of the whole country, whatever files of the registry there are.
  const own = metrics.filter(
    ({ needs, states }) => needs.length > 0 && only !== null && states.size === 1 && states.has(only),
  )
  if (own.length === 0 || only === null) return []
  const isOfAll = own.length === metrics.length
  return [{ code: 'single_state_release', state: only, metrics: isOfAll ? [] : own.map(({ code }) => code) }]
}

const TRANSFERS = 'federal_health_transfers'
const DECEMBER = 12

/** Transfers are of years, some of them under way, and of places that the published file has. */
export function transferNotes(metrics: readonly MetricNeeds[], view: ReleaseView): Note[] {
  const own = metrics.filter(({ needs }) => needs.includes(TRANSFERS))
  const manifest = view.components.financing
  if (own.length === 0 || manifest === null) return []
  const years = collectedPeriods(view, TRANSFERS)
  const asked = allPeriods(own.map((metric) => metric.asked))
  const states = new Set(own.flatMap((metric) => [...metric.states]))
  const read = asked.filter((period) => years.includes(period))
  const lacking = Object.entries(manifest.counts).flatMap(([name, count]) => {
    const [, uf = '', period = ''] = /^funds_without_transfers_([A-Z]{2})_(\d{6})$/.exec(name) ?? []
    return states.has(uf) && read.includes(Number(period)) ? [{ uf, period: Number(period), count }] : []
  })
  return [
    ...(asked.some((period) => !years.includes(period))
      ? [{ code: 'transfers_by_year', periods: years.map(formatPeriod) } as const]
      : []),
    ...read
      .filter((period) => period % 100 !== DECEMBER)
      .map((period): Note => {
        const year = Math.floor(period / 100)
        return { code: 'transfers_year_to_date', period: formatPeriod(period), year }
      }),
    ...lacking.map(({ uf, period, count }): Note => {
      return { code: 'transfers_missing_funds', period: formatPeriod(period), state: uf, funds: count }
    }),
    ...read.flatMap((period): Note[] => {
      const municipalities = manifest.counts[`municipalities_without_transfers_${period}`] ?? 0
      return municipalities === 0
        ? []
        : [{ code: 'transfers_missing_municipalities', period: formatPeriod(period), municipalities }]
    }),
  ]
}
