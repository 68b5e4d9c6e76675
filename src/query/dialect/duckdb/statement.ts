/**
 * A plan → one DuckDB statement, as a careful analyst would write it.
 *
 * One CTE a dataset (facts.ts), a spine of the groups that exist with left joins on the full keys (groups.ts), division last
 * (page.ts). Sums are HUGEINT and quotients are rounded half away from zero in integers: no DOUBLE takes part. Out: one row
 * a group of the page, in order, each with the totals over all groups; where the page is empty, one row in which in_page is
 * null.
 */
import { type DimensionCode, type FactDataset, isPopulation } from '../../../model/dimensions.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT } from '../../../sql.ts'
import type { AggregatePlan, DatasetPlan } from '../../aggregate.ts'
import { datasetCte, hasRows, key } from './facts.ts'
import { decimalsOf, joinedCte, onlyFacts, spineCte } from './groups.ts'
import { chosenCte, type GroupKey, orderBy, orderOf, pageCte, valuedCte } from './page.ts'
import { valueText } from './quotients.ts'

/** Columns of a result that say something of all its rows, and are the same in each. */
export const summaryColumns = ({ metrics }: AggregatePlan): ReadonlySet<string> =>
  new Set(['total_rows', 'rows_sha256', ...metrics.map((_, index) => `missing_${index}`)])

/** @param only key of the one group that is wanted; all of them without it */
export function printAggregate(plan: AggregatePlan, only: GroupKey | null = null): Sql {
  const value = (index: number): Sql => ident(`value_${index}`)
  const cells = [
    ...plan.query.group_by.map((code) => sql`coalesce(${shownCode(code)}, '')`),
    ...plan.metrics.map((metric, index) => valueText(value(index), decimalsOf(metric, plan))),
  ]
  const order = orderOf(plan)
  const orders = order.map((_, index) => ident(`order_${index}`))
  const withoutOrder = order.length === 0 ? EMPTY : sql` EXCLUDE (${join(orders, ', ')})`
  const missing = plan.metrics.map((metric, index) => {
    // A rate without its denominator, a population without its place; no facts of a month is said by the plan's notes.
    const isMissing =
      metric.denominator === null && readsPopulation(plan, metric.numerator.dataset)
        ? sql`${value(index)} IS NULL`
        : sql`${value(index)} IS NULL AND ${ident(`numerator_${index}`)} IS NOT NULL`
    return sql`count(*) FILTER (${isMissing}) AS ${ident(`missing_${index}`)}`
  })
  return sql`WITH ${join(
    [
      ...plan.datasets.filter(hasRows).map(namedCte),
      ...(onlyFacts(plan) === null ? [sql`spine AS (\n${spineCte(plan)}\n)`] : []),
      sql`joined AS (\n${joinedCte(plan)}\n)`,
      sql`valued AS (\n${valuedCte(plan)}\n)`,
      sql`summary AS (
  SELECT count(*) AS total_rows, sha256(coalesce(string_agg(line, chr(10) ORDER BY line), '')) AS rows_sha256, ${join(missing, ', ')}
  FROM (SELECT *, concat_ws(chr(9), ${join(cells, ', ')}) AS line FROM valued)
)`,
      sql`chosen AS (\n${chosenCte(plan, only)}\n)`,
      sql`page AS (\n${pageCte(plan)}\n)`,
    ],
    ',\n',
  )}
SELECT summary.*, page.*${withoutOrder}
FROM summary LEFT JOIN page ON true${orderBy(order)}`
}

/** Is it a population, and does the release hold it? */
const readsPopulation = ({ datasets }: AggregatePlan, name: FactDataset): boolean =>
  isPopulation(name) && datasets.some((dataset) => dataset.dataset === name && hasRows(dataset))

const namedCte = (plan: DatasetPlan): Sql => sql`${ident(plan.dataset)} AS (\n${datasetCte(plan)}\n)`

/** How many rows the whole answer has, without computing any of them: one row, total_rows. */
export function printRowCount(plan: AggregatePlan): Sql {
  const keysOnly = { ...plan, datasets: plan.datasets.map((dataset) => ({ ...dataset, measures: [] })) }
  const grouped = keysOnly.datasets.filter((dataset) => hasRows(dataset) && dataset.keys.length > 0)
  return sql`WITH ${join([...grouped.map(namedCte), sql`spine AS (\n${spineCte(keysOnly)}\n)`], ',\n')}
SELECT count(*) AS total_rows FROM spine`
}

/** A code as an answer shows it. */
const shownCode = (code: DimensionCode): Sql =>
  code === 'reference_period'
    ? TEXT("strftime(strptime(CAST(reference_period AS VARCHAR), '%Y%m'), '%Y-%m')")
    : sql`CAST(${key(code)} AS VARCHAR)`
