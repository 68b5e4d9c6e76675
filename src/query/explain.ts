/**
 * What a query would do, without running it: its canonical form, its statement, what it reads, how many rows at most, which
 * engine adds them up. Pure but for the municipality codes of six digits, which the release widens.
 *
 * In: a query's body and a release. Out: JSON. Row counts come from the manifests: exact for what is read, an upper bound
 * for what is answered.
 */
import type { EngineChoice, JsonValue } from '../engine/types.ts'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import { type DimensionCode, dimensionOf, isByResidence, isPopulation } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { STATES } from '../model/territory/states.ts'
import type { Manifest } from '../release/manifest.ts'
import { componentManifests, formatPeriod, type ReleaseView } from '../release/view.ts'
import { print } from '../sql.ts'
import type { AggregatePlan, DatasetPlan } from './aggregate.ts'
import { printAggregate } from './dialect/duckdb/statement.ts'
import { allPeriods } from './periods.ts'
import { parseQuery } from './request.ts'
import { type AnswerParts, componentsOf, type PagedAnswer, prepareQuery, printQuery } from './result.ts'

const ONLY_ENGINE: EngineChoice = { name: 'duckdb', because: 'only_engine', rows: null, min_rows: null }

/** @throws AppError as the query itself would */
export async function explainQuery(
  body: unknown,
  parts: AnswerParts,
): Promise<{ data: JsonValue; meta: PagedAnswer['meta'] }> {
  const { view } = parts
  const prepared = await prepareQuery(parseQuery(body), parts)
  const { plan, normalised } = prepared
  const engine = parts.engine.distributed?.choose(printQuery(prepared, view), view) ?? ONLY_ENGINE
  const { text, values } = print(printAggregate(plan), (dataset, period) =>
    period === null ? `"${dataset}"` : `"${dataset}__${period}"`,
  )
  const reads = readsOf(plan, view)
  return {
    data: {
      query: normalised,
      sql: text,
      parameters: values.map((value) => (typeof value === 'bigint' ? String(value) : value)),
      reads,
      rows_read: reads.reduce((sum, { rows }) => sum + rows, 0),
      estimated_rows: [plan, ...plan.totals].reduce((sum, own) => sum + estimateRows(own, view), 0),
      engine: { ...engine },
    },
    meta: {
      reference_period: plan.referencePeriod,
      catalog_version: CATALOG_VERSION,
      components: componentsOf(view),
      notes: plan.notes,
    },
  }
}

/** What the rows, the totals and what is beside them read, each dataset once; a level that is added up reads nothing. */
function readsOf(plan: AggregatePlan, view: ReleaseView): Read[] {
  const plans = [plan, ...plan.totals, ...(plan.whole === null ? [] : [plan.whole])]
  const bases = plans.flatMap(({ base }) => (base === null ? [] : [base.plan]))
  const read = new Map<string, DatasetPlan>()
  for (const dataset of [...plans, ...bases].flatMap(({ datasets }) => datasets)) {
    const known = read.get(dataset.dataset) ?? dataset
    if (dataset.addedUpFrom === null || !read.has(dataset.dataset))
      read.set(dataset.dataset, { ...known, periods: allPeriods([known.periods, dataset.periods]) })
  }
  return [...read.values()].map((dataset) => describeRead(dataset, view))
}

interface Read {
  readonly [name: string]: JsonValue
  readonly rows: number
}

function describeRead({ dataset, periods }: DatasetPlan, view: ReleaseView): Read {
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
