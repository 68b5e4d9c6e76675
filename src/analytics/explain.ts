/**
 * Explains a query without running it.
 *
 * In: a query's body and a release. Out: its canonical form, its statement, what it reads, an upper bound of its
 * rows, and the engine that sums them. Row counts come from the manifests and are exact for what is read. Only
 * lookups of codes in the lists read the release.
 */
import type { Explanation } from '../answers/analytics.ts'
import type { QueryMeta } from '../answers/meta.ts'
import type { EngineChoice } from '../engine/types.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { writeNotes } from '../model/note-sentences.ts'
import { printAggregate } from '../query/analytics/dialect/duckdb/statement.ts'
import { type DatasetRead, describeRead, estimateAnswer } from '../query/analytics/estimate.ts'
import { allPeriods } from '../query/analytics/periods.ts'
import type { AggregatePlan, DatasetPlan } from '../query/analytics/plan.ts'
import { parseQuery } from '../query/analytics/request.ts'
import type { ReleaseView } from '../release/view.ts'
import { print } from '../sql.ts'
import { type AnswerParts, componentsOf, prepareQuery, printQuery } from './query.ts'

const ONLY_ENGINE: EngineChoice = { name: 'duckdb', because: 'only_engine', rows: null, min_rows: null }

/** @throws AppError as the query itself would */
export async function explainQuery(
  body: unknown,
  parts: AnswerParts,
): Promise<{ data: Explanation; meta: QueryMeta }> {
  const { view } = parts
  const prepared = await prepareQuery(parseQuery(body), parts)
  const { plan, normalised } = prepared
  const engine = parts.engine.distributed?.choose(printQuery(prepared, view), view) ?? ONLY_ENGINE
  // Relations of the statement may have a dataset's name, so tables are printed with a schema.
  const { text, values } = print(printAggregate(plan), (dataset, period) =>
    period === null ? `release."${dataset}"` : `release."${dataset}__${period}"`,
  )
  const reads = listReads(plan, view)
  return {
    data: {
      query: normalised,
      sql: text,
      parameters: values.map((value) => (typeof value === 'bigint' ? String(value) : value)),
      reads,
      rows_read: reads.reduce((sum, { rows }) => sum + rows, 0),
      estimated_rows: estimateAnswer(plan, view),
      engine: { ...engine },
    },
    meta: {
      reference_period: plan.referencePeriod,
      catalog_version: CATALOG_VERSION,
      components: componentsOf(view),
      notes: writeNotes(plan.notes, parts.language),
    },
  }
}

/** Lists each dataset read once. Levels that are summed from others read nothing. */
function listReads(plan: AggregatePlan, view: ReleaseView): DatasetRead[] {
  const plans = [
    plan,
    ...plan.totals,
    ...(plan.shareBase === null ? [] : [plan.shareBase]),
    ...(plan.comparator === null ? [] : [plan.comparator.plan]),
  ]
  const bases = plans.flatMap(({ base }) => (base === null ? [] : [base.plan]))
  const datasetsRead = new Map<string, DatasetPlan>()
  for (const dataset of [...plans, ...bases].flatMap(({ datasets }) => datasets)) {
    const merged = datasetsRead.get(dataset.dataset) ?? dataset
    if (dataset.addedUpFrom === null || !datasetsRead.has(dataset.dataset))
      datasetsRead.set(dataset.dataset, { ...merged, periods: allPeriods([merged.periods, dataset.periods]) })
  }
  return [...datasetsRead.values()].map((dataset) => describeRead(dataset, view))
}
