/** What is said of a plan beside its numbers: sources, months, and the places that it is of. In: what a plan is made of. Out: notes. Pure. */
import { RESIDENCE_DIMENSIONS } from '../model/dimensions.ts'
import type { Table } from '../model/needs.ts'
import { ALL_STATES, onlyState, statesCollected } from '../release/collected.ts'
import { formatPeriod, type ReleaseView } from '../release/view.ts'
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
  query: AnalyticsQuery,
  metrics: readonly MetricNeeds[],
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
