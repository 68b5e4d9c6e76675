/**
 * What a query would do, without running it: its canonical form, its statement, what it reads, how many rows at most, which
 * engine adds them up. Pure but for the municipality codes of six digits, which the release widens.
 *
 * In: a query's body and a release. Out: JSON. Row counts come from the manifests: exact for what is read, an upper bound
 * for what is answered.
 */
import type { EngineChoice, JsonValue } from '../engine/types.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { writeNotes } from '../model/note-sentences.ts'
import { printAggregate } from '../query/analytics/dialect/duckdb/statement.ts'
import { describeRead, estimateAnswer, type Read } from '../query/analytics/estimate.ts'
import { allPeriods } from '../query/analytics/periods.ts'
import type { AggregatePlan, DatasetPlan } from '../query/analytics/plan.ts'
import { parseQuery } from '../query/analytics/request.ts'
import type { ReleaseView } from '../release/view.ts'
import { print } from '../sql.ts'
import { type AnswerParts, componentsOf, type PagedAnswer, prepareQuery, printQuery } from './query.ts'

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
  // Relations of the statement may have a dataset's name, so its tables need a schema.
  const { text, values } = print(printAggregate(plan), (dataset, period) =>
    period === null ? `release."${dataset}"` : `release."${dataset}__${period}"`,
  )
  const reads = readsOf(plan, view)
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
