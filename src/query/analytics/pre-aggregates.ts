/**
 * Chooses the smallest pre-aggregate that has all months, dimensions and measures of each dataset's plan. Pure.
 *
 * Datasets without a suitable pre-aggregate are read from the facts. The rows are the same.
 */
import { type DimensionCode, dimensionOf } from '../../model/dimensions.ts'
import { isTime } from '../../model/periods.ts'
import {
  countsFacilitiesOnce,
  PRE_AGGREGATE_NAMES,
  type PreAggregateName,
  preAggregateOf,
  sourceOf,
} from '../../model/pre-aggregates.ts'
import type { ReleaseView } from '../../release/view.ts'
import { dimensionsOfOneValue } from './dimensions-used.ts'
import type { AggregatePlan, DatasetPlan } from './plan.ts'
import { mapPlans } from './query-plan.ts'
import { type FewFacilities, listFewFacilities } from './resident-relations.ts'

export const choosePreAggregates = (plan: AggregatePlan, view: ReleaseView): AggregatePlan =>
  mapPlans(plan, (level) => ({
    ...level,
    datasets: level.datasets.map((dataset) => ({ ...dataset, source: chooseSource(dataset, view) })),
    fewFacilities: chooseFewFacilities(level, view),
  }))

/** Naming only the thousands of hospitals with admissions or beds is faster than searching all facilities of the country. */
function chooseFewFacilities({ datasets, base }: AggregatePlan, view: ReleaseView): FewFacilities | null {
  const grouped = datasets.filter(({ keys }) => keys.includes('facility'))
  // Groups of the comparison month may include other facilities.
  if (grouped.length === 0 || base !== null) return null
  const coversGroups = ({ source, periods, bedPeriods }: FewFacilities): boolean =>
    grouped.every((dataset) => {
      const namedPeriods =
        dataset.dataset === preAggregateOf(source).dataset
          ? periods
          : dataset.dataset === 'bed_capacity'
            ? bedPeriods
            : []
      return dataset.periods.every((period) => namedPeriods.includes(period))
    })
  return listFewFacilities(view).find(coversGroups) ?? null
}

function chooseSource(plan: DatasetPlan, view: ReleaseView): PreAggregateName | null {
  const [smallest] = PRE_AGGREGATE_NAMES.filter((name) => covers(name, plan, view)).sort(
    (left, right) => rowsOf(left, view) - rowsOf(right, view) || (left < right ? -1 : 1),
  )
  return smallest ?? null
}

const rowsOf = (name: PreAggregateName, view: ReleaseView): number => view.analytics.datasets[name]?.rows ?? 0

export function covers(name: PreAggregateName, plan: DatasetPlan, view: ReleaseView): boolean {
  const preAggregate = preAggregateOf(name)
  const stored = view.analytics.datasets[name]
  if (stored === undefined || preAggregate.dataset !== plan.dataset) return false
  if (!plan.periods.every((period) => stored.periods.includes(period))) return false
  // Dimensions derived from the state or municipality are available where that column is.
  const hasColumn = (code: DimensionCode): boolean =>
    isTime(code) || preAggregate.keys.includes(dimensionOf(code).derivedFrom ?? code)
  if (!plan.keys.every(hasColumn) || !plan.filters.every(({ dimension }) => hasColumn(dimension)))
    return false
  const fixed = new Set(dimensionsOfOneValue(plan))
  const columns = new Set(stored.fields.map((field) => field.name))
  return plan.measures.every((measure) => {
    const source = sourceOf(measure, preAggregate)
    if (source === null || (source.countsFacilities && !countsFacilitiesOnce(preAggregate, fixed)))
      return false
    return columns.has(source.stored.column) && (source.minus === null || columns.has(source.minus.column))
  })
}
