/** What is said of a plan beside its numbers: sources, months, and the places that it is of. In: what a plan is made of. Out: notes. Pure. */
import { RESIDENCE_DIMENSIONS } from '../model/dimensions.ts'
import { type Table, tablesAmong } from '../model/needs.ts'
import { ALL_STATES, onlyState, statesCollected, statesEmpty } from '../release/collected.ts'
import { isOfYears, publishedMonths } from '../release/published-months.ts'
import { collectedPeriods, formatPeriod, type ReleaseView } from '../release/view.ts'
import type { MetricNeeds } from './coverage.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import { allPeriods, rangeOf } from './periods.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** Population by age is a source of its own, which the other populations are not to be mixed with. */
export const noteOfAges = (year: number | null): string =>
  year === null
    ? 'population_by_age: null, because the release holds none; import POPSBR, the population by municipality, sex and age of DATASUS.'
    : `population_by_age: estimates of the Ministry of Health for 1 July ${year} (POPSBR), another source than the census and the estimates of IBGE: their totals differ.`

/** Each metric has its own newest month: said where they differ. */
export function periodNotes(metrics: readonly MetricNeeds[]): string[] {
  const newest = new Map<string, string[]>()
  for (const { code, needs, asked } of metrics) {
    if (needs.length === 0) continue
    const month = asked[0] === undefined ? 'none' : formatPeriod(asked[0])
    newest.set(month, [...(newest.get(month) ?? []), code])
  }
  return newest.size <= 1
    ? []
    : [
        `The newest periods of what is asked for differ: ${[...newest].map(([month, codes]) => `${codes.join(', ')} ${month}`).join('; ')}.`,
      ]
}

/** A range is read to the newest month here, and from the publisher's first: said where one of its ends is outside. */
export function rangeNotes(
  filters: readonly QueryFilter[],
  tables: readonly Table[],
  view: ReleaseView,
): string[] {
  const range = rangeOf(filters.filter(({ dimension }) => dimension === 'reference_period'))
  if (range === null) return []
  const months = publishedMonths(view, tables, range)
  const [first] = months
  const last = months.at(-1)
  if (first === undefined || last === undefined)
    return ["reference_period: the range has no month between the publisher's first and the newest here."]
  const isInside = (range.first ?? first) >= first && (range.last ?? last) <= last
  return isInside || isOfYears(tables)
    ? []
    : [
        `reference_period: of the range, ${formatPeriod(first)} to ${formatPeriod(last)} are read, from the publisher's first month to the newest here.`,
      ]
}

/** Residents are admitted in other states, too: what was not collected there is not in their numbers. */
export function residenceNotes(
  query: Pick<AnalyticsQuery, 'group_by' | 'filters'>,
  metrics: readonly Pick<MetricNeeds, 'asked'>[],
  view: ReleaseView,
): string[] {
  if (!dimensionsUsed(query).some((code) => RESIDENCE_DIMENSIONS.has(code))) return []
  const months = allPeriods(metrics.map(({ asked }) => asked))
  const isWhole = months.every(
    (period) => statesCollected(view, 'hospital_admissions_by_residence', period) === ALL_STATES,
  )
  return isWhole
    ? []
    : [
        'by residence: a state is null where its own hospitals were not collected; admissions of its residents in hospitals of states that were not collected are not in its numbers.',
      ]
}

/** An empty file was published: what it says is 0, which a reader may not expect. */
export function emptyNotes(
  metrics: readonly Pick<MetricNeeds, 'needs' | 'asked' | 'states'>[],
  view: ReleaseView,
): string[] {
  const months = new Map<string, number[]>()
  for (const { needs, asked, states } of metrics)
    for (const table of tablesAmong(needs))
      for (const period of asked) {
        const empty = statesEmpty(view, table, period)
        const inScope = [...empty].filter((uf) => states.has(uf)).sort()
        if (inScope.length === 0) continue
        const of = inScope.length === ALL_STATES.size ? 'the country' : inScope.join(', ')
        const name = `${table} ${of}`
        months.set(name, allPeriods([months.get(name) ?? [], [period]]))
      }
  return [...months].map(([name, periods]) => {
    const [table = '', ...of] = name.split(' ')
    return `${table} ${periods.map(formatPeriod).join(', ')}: the published file of ${of.join(' ')} is empty; it counts as 0.`
  })
}

/** A release of one state answers for it where no place is asked for. */
export function scopeNotes(
  metrics: readonly MetricNeeds[],
  view: ReleaseView,
  tables: readonly Table[],
): string[] {
  const only = onlyState(view, tables)
  // Residents are those of the whole country, whatever files of the registry there are.
  const own = metrics.filter(
    ({ needs, states }) => needs.length > 0 && only !== null && states.size === 1 && states.has(only),
  )
  if (own.length === 0) return []
  const whose = own.length === metrics.length ? '' : ` of ${own.map(({ code }) => code).join(', ')}`
  return [`The release is of ${only} alone: totals${whose} are of ${only}.`]
}

const TRANSFERS = 'federal_health_transfers'
const DECEMBER = 12

/** Transfers are of years, some of them under way, and of places that the published file has. */
export function transferNotes(metrics: readonly MetricNeeds[], view: ReleaseView): string[] {
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
      ? [
          `${TRANSFERS}: is of years, each the period of its last month: ${years.map(formatPeriod).join(', ')}.`,
        ]
      : []),
    ...read
      .filter((period) => period % 100 !== DECEMBER)
      .map(
        (period) =>
          `${TRANSFERS}: ${formatPeriod(period)} is the year ${Math.floor(period / 100)} up to its last published transfer.`,
      ),
    ...lacking.map(
      ({ uf, period, count }) =>
        `${TRANSFERS} ${formatPeriod(period)}: the published file has no row of ${count} funds of ${uf}; what needs one of them is null.`,
    ),
    ...read.flatMap((period) => {
      const without = manifest.counts[`municipalities_without_transfers_${period}`] ?? 0
      return without === 0
        ? []
        : [
            `${TRANSFERS} ${formatPeriod(period)}: the published file has no row of ${without} municipalities; they are null, and in no sum.`,
          ]
    }),
  ]
}
