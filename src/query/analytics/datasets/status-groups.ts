/**
 * Decides, for the statuses of a metric, which groups have begun to be collected, are final, or cover only a part of their period. Pure.
 *
 * Groups are those of coverage.ts: a group counts when all states that it needs do.
 */
import { finestTime, monthsOfPeriod, periodOf } from '../../../model/periods.ts'
import { tablesAmong } from '../../../model/required-tables.ts'
import { ALL_STATES, statesCollectedOf } from '../../../release/coverage.ts'
import { isOfYears } from '../../../release/published-months.ts'
import type { ReleaseView } from '../../../release/view.ts'
import { coveredGroups, type GroupSet, groupsOfStates, type QueryMetricNeeds } from '../coverage.ts'
import { allPeriods } from '../periods.ts'
import { statesFinal } from './finality.ts'
import type { MetricPlan } from './metric-plan.ts'

export interface StatusGroups {
  /** Groups of which some month was collected. */
  readonly begun: GroupSet
  /** Groups whose months the publisher no longer revises. */
  readonly final: GroupSet
  /** Codes of the periods whose values leave out months; 0 when no period is grouped. */
  readonly partial: readonly number[]
  /** Months that may still be revised, YYYYMM. */
  readonly preliminary: readonly number[]
}

export function findStatusGroups(
  { needs, states, requested, cells, query }: QueryMetricNeeds,
  view: ReleaseView,
): StatusGroups {
  if (needs.length === 0) return { begun: 'all', final: 'all', partial: [], preliminary: [] }
  const tables = tablesAmong(needs)
  const final = (month: number): ReadonlySet<string> =>
    commonTo(tables.map((table) => statesFinal(view, table, month)))
  // A year that runs on has the last month of its data, and not the December that the year needs.
  const monthsLike = (month: number): readonly number[] =>
    cells !== undefined && isOfYears(tables)
      ? monthsOfPeriod('reference_year', periodOf('reference_year', month))
      : [month]
  const periods =
    cells?.map(({ code, needed, missing, read }) => ({ code, all: allPeriods([needed, missing]), read })) ??
    (finestTime(query.group_by) === null
      ? [{ code: 0, all: requested, read: requested }]
      : requested.map((month) => ({ code: month, all: [month], read: [month] })))
  const groupsOf = (statesOf: (period: (typeof periods)[number]) => ReadonlySet<string>): GroupSet =>
    groupsOfStates(
      periods.map((period) => ({ period: period.code, collected: statesOf(period) })),
      states,
      coveredGroups(query),
    )
  return {
    begun: groupsOf(
      ({ all }) =>
        new Set(all.flatMap(monthsLike).flatMap((month) => [...statesCollectedOf(view, needs, month)])),
    ),
    final: groupsOf(({ read }) => commonTo(read.map(final))),
    partial: (cells ?? [])
      .filter(({ needed, missing }) => missing.some((month) => !needed.includes(month)))
      .map(({ code }) => code),
    preliminary: allPeriods([periods.flatMap(({ read }) => read)]).filter((month) => {
      const collected = statesCollectedOf(view, needs, month)
      return [...states].some((uf) => collected.has(uf) && !final(month).has(uf))
    }),
  }
}

/** @returns states that are in each of the sets; all states when there is no set */
function commonTo(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first = ALL_STATES, ...others] = sets
  return others.every((other) => other === first)
    ? first
    : new Set([...first].filter((uf) => others.every((other) => other.has(uf))))
}

/** Marks the metrics of a level without months, which are partial where the months of the rows are. */
export const withPartialMonths = (
  metrics: readonly MetricPlan[],
  rows: readonly MetricPlan[],
): MetricPlan[] =>
  metrics.map((metric, index) => {
    const row = rows[index]
    const { status, sides } = metric
    if (sides !== null && row?.sides) {
      const [numerator = sides[0], denominator = sides[1]] = withPartialMonths(sides, row.sides)
      return { ...metric, sides: [numerator, denominator] }
    }
    if (status === null || (row?.status?.partial ?? []).length === 0) return metric
    return { ...metric, status: { ...status, partial: [0] } }
  })
