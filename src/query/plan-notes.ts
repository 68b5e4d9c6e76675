/** What is said of a plan beside its numbers: sources, months, and the places that it is of. In: what a plan is made of. Out: notes. Pure. */
import { RESIDENCE_DIMENSIONS } from '../model/dimensions.ts'
import type { Table } from '../model/needs.ts'
import { ALL_STATES, onlyState, statesCollected } from '../release/collected.ts'
import { collectedPeriods, formatPeriod, type ReleaseView } from '../release/view.ts'
import type { MetricNeeds } from './coverage.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import { allPeriods } from './periods.ts'
import type { AnalyticsQuery } from './request.ts'

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

/** A release of one state answers for it where no place is asked for. */
export function scopeNotes(
  metrics: readonly MetricNeeds[],
  view: ReleaseView,
  tables: readonly Table[],
): string[] {
  const only = onlyState(view, tables)
  const own = metrics.filter(({ states }) => only !== null && states.size === 1 && states.has(only))
  return own.length === 0 ? [] : [`The release is of ${only} alone: totals are of ${only}.`]
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
