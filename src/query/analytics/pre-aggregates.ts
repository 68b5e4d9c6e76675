/**
 * The planner's last step: which pre-aggregate of the release is read for a dataset: the smallest that has all months,
 * dimensions and measures of the plan. In: a plan and a release. Out: the same plan, each dataset with its source. Pure; knows no engine.
 *
 * A release without pre-aggregates, and a query that none of them covers, are answered from the facts; the rows are the same.
 */
import { type DimensionCode, dimensionOf } from '../../model/dimensions.ts'
import {
  countsFacilitiesOnce,
  PRE_AGGREGATE_NAMES,
  type PreAggregateName,
  preAggregateOf,
  sourceOf,
} from '../../model/pre-aggregates.ts'
import type { ReleaseView } from '../../release/view.ts'
import { dimensionsOfOneValue } from './dimensions-used.ts'
import type { AggregatePlan, DatasetPlan, FewFacilities } from './plan.ts'
import { mapPlans } from './query-plan.ts'
import { listFewFacilities } from './resident-relations.ts'

/** @returns the plan with the smallest source of each dataset */
export const choosePreAggregates = (plan: AggregatePlan, view: ReleaseView): AggregatePlan =>
  mapPlans(plan, (own) => ({
    ...own,
    datasets: own.datasets.map((dataset) => ({ ...dataset, source: smallestSource(dataset, view) })),
    fewFacilities: fewFacilitiesOf(own, view),
  }))

/** Admissions and beds are of some thousands of hospitals: to name those takes less than to look among all facilities of the country. */
function fewFacilitiesOf({ datasets, base }: AggregatePlan, view: ReleaseView): FewFacilities | null {
  const grouped = datasets.filter(({ keys }) => keys.includes('facility'))
  // Groups of the month that is compared with are groups, too.
  if (grouped.length === 0 || base !== null) return null
  const holds = ({ source, periods, bedPeriods }: FewFacilities): boolean =>
    grouped.every((own) => {
      const known =
        own.dataset === preAggregateOf(source).dataset
          ? periods
          : own.dataset === 'bed_capacity'
            ? bedPeriods
            : []
      return own.periods.every((period) => known.includes(period))
    })
  return listFewFacilities(view).find(holds) ?? null
}

function smallestSource(plan: DatasetPlan, view: ReleaseView): PreAggregateName | null {
  const [smallest] = PRE_AGGREGATE_NAMES.filter((name) => covers(name, plan, view)).sort(
    (left, right) => rowsOf(left, view) - rowsOf(right, view) || (left < right ? -1 : 1),
  )
  return smallest ?? null
}

const rowsOf = (name: PreAggregateName, view: ReleaseView): number => view.analytics.datasets[name]?.rows ?? 0

/** Has the pre-aggregate every month, dimension and measure of the plan? */
export function covers(name: PreAggregateName, plan: DatasetPlan, view: ReleaseView): boolean {
  const preAggregate = preAggregateOf(name)
  const stored = view.analytics.datasets[name]
  if (stored === undefined || preAggregate.dataset !== plan.dataset) return false
  if (!plan.periods.every((period) => stored.periods.includes(period))) return false
  // What follows from the state or the municipality is there where that is.
  const has = (code: DimensionCode): boolean =>
    code === 'reference_period' || preAggregate.keys.includes(dimensionOf(code).derivedFrom ?? code)
  if (!plan.keys.every(has) || !plan.filters.every(({ dimension }) => has(dimension))) return false
  const fixed = new Set(dimensionsOfOneValue(plan))
  const columns = new Set(stored.fields.map((field) => field.name))
  return plan.measures.every((measure) => {
    const source = sourceOf(measure, preAggregate)
    if (source === null || (source.countsFacilities && !countsFacilitiesOnce(preAggregate, fixed)))
      return false
    return columns.has(source.stored.column) && (source.minus === null || columns.has(source.minus.column))
  })
}
