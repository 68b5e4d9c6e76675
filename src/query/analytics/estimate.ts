/**
 * What a query reads and how many rows it has, before it is run. In: plans, statements, manifests. Out: rows, exact for what is read and
 * an upper bound for what is answered, and whether a statement is light or heavy.
 */
import type { JsonValue, RunOptions } from '../../engine/types.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type DimensionCode, dimensionOf, isByResidence, isPopulation } from '../../model/dimensions.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Manifest } from '../../release/manifest.ts'
import { componentManifests, formatPeriod, type ReleaseView, rowsRead } from '../../release/view.ts'
import type { Sql } from '../../sql.ts'
import { readsOf } from './dialect/trino.ts'
import type { AggregatePlan, DatasetPlan } from './plan.ts'

/**
 * A statement is light up to this many rows read and answered together: some ten milliseconds of a core. Queries of one month that a
 * pre-aggregate answers are light at national size; equipment by municipality and type is not.
 */
export const LIGHT_ROWS = 100_000

/** @param answerRows rows of the answer over all pages, where more may be answered than is read */
export function weightOf(
  statement: Sql,
  view: ReleaseView,
  answerRows = 0,
): NonNullable<RunOptions['weight']> {
  let rows = answerRows
  for (const { dataset, periods } of readsOf(statement)) rows += rowsRead(view, dataset, periods)
  return rows <= LIGHT_ROWS ? 'light' : 'heavy'
}

/** Rows of a plan's answer and of its totals over all pages, at most. */
export const estimateAnswer = (plan: AggregatePlan, view: ReleaseView): number =>
  [plan, ...plan.totals].reduce((sum, level) => sum + estimateRows(level, view), 0)

export interface Read {
  readonly [name: string]: JsonValue
  readonly rows: number
}

export function describeRead({ dataset, periods }: DatasetPlan, view: ReleaseView): Read {
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

/** @param periods null: all */
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

/** Rows of the answer over all pages, at most: of places and periods all there are, else no more than there are facts. */
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

/** Members of a dimension the filters leave, one more for facts without a code. */
function membersOf(code: DimensionCode, plan: AggregatePlan, view: ReleaseView): number {
  if (code === 'reference_period') return plan.spinePeriods.length
  const wanted = plan.query.filters
    .filter(({ dimension, operator }) => dimension === code && (operator === 'EQ' || operator === 'IN'))
    .map(({ values }) => values.length)
  if (code === 'state') return Math.min(STATES.length, ...wanted)
  const { member } = dimensionOf(code)
  if (member === null) return Math.min(10, ...wanted)
  const periods = member.dataset === 'facilities' ? [plan.facilityPeriod ?? 0] : null
  const files = componentManifests(view).flatMap((manifest) => filesOf(manifest, member.dataset, periods))
  return Math.min(files.reduce((sum, { rows }) => sum + rows, 0) + 1, ...wanted)
}
