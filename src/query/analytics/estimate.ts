/**
 * Estimates the cost of a query before it runs, from plans and manifests: exact rows read, an upper bound of rows answered,
 * and whether a statement is light or heavy.
 */
import type { Explanation } from '../../answers/analytics.ts'
import type { RunOptions } from '../../engine/types.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type DimensionCode, dimensionOf, isByResidence, isPopulation } from '../../model/dimensions.ts'
import { finestTime, isTime } from '../../model/periods.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Manifest } from '../../release/manifest.ts'
import { componentManifests, formatPeriod, type ReleaseView, rowsRead } from '../../release/view.ts'
import type { Sql } from '../../sql.ts'
import { readsOf } from './dialect/trino.ts'
import type { AggregatePlan, DatasetPlan } from './plan.ts'

/**
 * Largest number of rows, read and answered together, of a light statement: some ten milliseconds of one core. At national
 * size, one month read from a pre-aggregate is light; equipment by municipality and type is heavy.
 */
export const LIGHT_ROWS = 100_000

/** @param answerRows rows of the answer over all pages; relevant when they may outnumber the rows read */
export function weightOf(
  statement: Sql,
  view: ReleaseView,
  answerRows = 0,
): NonNullable<RunOptions['weight']> {
  let rows = answerRows
  for (const { dataset, periods } of readsOf(statement)) rows += rowsRead(view, dataset, periods)
  return rows <= LIGHT_ROWS ? 'light' : 'heavy'
}

export const estimateAnswer = (plan: AggregatePlan, view: ReleaseView): number =>
  [plan, ...plan.totals].reduce((sum, level) => sum + estimateRows(level, view), 0)

export type DatasetRead = Explanation['reads'][number]

export function describeRead({ dataset, periods }: DatasetPlan, view: ReleaseView): DatasetRead {
  const manifest = view.components[datasetOf(dataset).area]
  const files = filesOf(manifest, dataset, isPopulation(dataset) ? null : periods)
  return {
    dataset,
    release_id: manifest?.release_id ?? null,
    periods: periods.map(formatPeriod),
    partitions: files.map(({ path, rows, bytes }) => ({ path, rows, bytes })),
    rows: files.reduce((sum, { rows }) => sum + rows, 0),
  }
}

const filesOf = (
  manifest: Manifest | null,
  dataset: DatasetName,
  periods: readonly number[] | null,
): Manifest['files'] =>
  (manifest?.files ?? []).filter(
    ({ path }) =>
      path.startsWith(`${dataset}/`) &&
      (periods === null ||
        periods.some((period) => path.startsWith(`${dataset}/reference_period=${period}/`))),
  )

/** Upper bound of the rows of one level: all combinations of places and periods; otherwise at most the number of facts. */
export function estimateRows(plan: AggregatePlan, view: ReleaseView): number {
  if (plan.spine === 'one') return 1
  const members = plan.query.group_by.map((code) => membersOf(code, plan, view))
  const combinations = members.reduce((product, count) => Math.min(product * count, 2 ** 53 - 1), 1)
  if (plan.spine === 'members' || isByResidence(plan.query.group_by)) return combinations
  const facts = plan.datasets
    .filter(({ dataset }) => dataset !== 'population')
    .reduce((sum, dataset) => sum + describeRead(dataset, view).rows, 0)
  return Math.min(combinations, facts)
}

/** Members of a dimension that the filters leave, plus one for facts without a code. */
function membersOf(code: DimensionCode, plan: AggregatePlan, view: ReleaseView): number {
  const grouping = plan.query.groupings.find((candidate) => candidate.code === code)
  if (grouping !== undefined) return grouping.groups.length + 1
  if (isTime(code)) return code === finestTime(plan.query.group_by) ? plan.codes.length : 1
  const filteredCounts = plan.query.filters
    .filter(({ dimension, operator }) => dimension === code && (operator === 'EQ' || operator === 'IN'))
    .map(({ values }) => values.length)
  if (code === 'state') return Math.min(STATES.length, ...filteredCounts)
  const { member } = dimensionOf(code)
  if (member === null) return Math.min(10, ...filteredCounts)
  const periods = member.dataset === 'facilities' ? [plan.facilityPeriod ?? 0] : null
  const files = componentManifests(view).flatMap((manifest) => filesOf(manifest, member.dataset, periods))
  return Math.min(files.reduce((sum, { rows }) => sum + rows, 0) + 1, ...filteredCounts)
}
