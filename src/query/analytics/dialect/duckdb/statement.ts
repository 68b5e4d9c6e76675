/**
 * Prints a plan as one DuckDB statement.
 *
 * It has one CTE per dataset (facts.ts), a spine of groups with left joins on full keys (groups.ts), and division last
 * (page.ts). Sums are HUGEINT and quotients are rounded half away from zero in integers, never in DOUBLE. Out: one row per
 * group of the page, in order, each with totals over all groups. An empty page is one row whose in_page is null.
 */
import { type DimensionCode, hasUnknowns, isPopulation } from '../../../../model/dimensions.ts'
import { finestTime } from '../../../../model/periods.ts'
import { EMPTY, ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { MetricPlan } from '../../datasets/metric-plan.ts'
import { hasPeers } from '../../options/comparators.ts'
import { isTextKind } from '../../options/value-kinds.ts'
import type { AggregatePlan } from '../../plan.ts'
import { totalLabel } from '../../query-plan.ts'
import { datasetCte, hasRows, key } from './facts.ts'
import { isOneRow, joinedCte } from './groups.ts'
import { isMeasured, measuredCte, shownValues } from './measured.ts'
import { chosenCte, type GroupKey, orderBy, orderOf, orderTerms, pageCte, valuedCte } from './page.ts'
import { valueText } from './quotients.ts'
import { baseSpineCte, onlyFacts, relation, spineCte } from './spine.ts'

export const summaryColumns = ({ metrics }: AggregatePlan): ReadonlySet<string> =>
  new Set(['total_rows', 'table_rows', 'rows_sha256', ...metrics.map((_, index) => `missing_${index}`)])

/** @param only key of the single wanted group; null for all groups */
export function printAggregate(plan: AggregatePlan, only: GroupKey | null = null): Sql {
  const { totals } = plan
  const ctes = [
    ...groupCtes(plan),
    sql`summary AS (\n${summaryCte(plan)}\n)`,
    ...[plan, ...totals].flatMap((level) => [
      printCte(level, 'chosen', chosenCte(level, level === plan ? only : null, level === plan)),
      printCte(level, 'page', pageCte(level)),
    ]),
  ]
  const orders = orderOf(plan).map((_, index) => ident(`order_${index}`))
  const rows =
    totals.length === 0
      ? sql`SELECT summary.*, page.*${excludeClause(orders)}
FROM summary LEFT JOIN page ON true${orderBy(orderOf(plan))}`
      : levelsOf(plan)
  return sql`WITH ${join(ctes, ',\n')}
${rows}`
}

function levelsOf(plan: AggregatePlan): Sql {
  const levels = [plan, ...plan.totals]
  const orders: Sql[] = []
  const terms: Sql[] = [TEXT('level')]
  const selects = levels.map((levelPlan, level) => {
    const order = orderOf(levelPlan)
    const renamed = order.map((_, index) => ident(`order_${level}_${index}`))
    orders.push(...renamed)
    terms.push(...orderTerms(order, `order_${level}_`))
    const columns = order.map((_, index) => sql`, ${ident(`order_${index}`)} AS ${renamed[index] ?? EMPTY}`)
    const names = order.map((_, index) => ident(`order_${index}`))
    return sql`  SELECT ${integerLiteral(level)} AS level, *${excludeClause(names)}${join(columns, '')}
  FROM ${relation(levelPlan, 'page')}`
  })
  return sql`SELECT summary.*, rows.*${excludeClause(orders)}
FROM summary LEFT JOIN (
${join(selects, '\n  UNION ALL BY NAME\n')}
) AS rows ON true
  ORDER BY ${join(terms, ', ')}`
}

const excludeClause = (columns: readonly Sql[]): Sql =>
  columns.length === 0 ? EMPTY : sql` EXCLUDE (${join(columns, ', ')})`

const printCte = (plan: AggregatePlan, name: string, cte: Sql): Sql =>
  plan.name === '' ? sql`${TEXT(name)} AS (\n${cte}\n)` : sql`${relation(plan, name)} AS (\n${cte}\n)`

function groupCtes(plan: AggregatePlan): Sql[] {
  const { totals, shareBase, comparator } = plan
  const isSeparate = shareBase !== null && !totals.some(({ name }) => name === shareBase.name)
  const summedPlans = [...totals, ...(isSeparate ? [shareBase] : [])]
  const shared = new Set(
    summedPlans.flatMap(({ datasets }) => datasets.map(({ addedUpFrom }) => addedUpFrom)),
  )
  return [
    ...joinedCtes(plan, shared),
    ...(isSeparate ? joinedCtes(shareBase) : []),
    ...(comparator === null ? [] : joinedCtes(comparator.plan)),
    ...totals.flatMap((total) => joinedCtes(total)),
    ...[plan, ...totals].flatMap((level) => [
      ...(isMeasured(level) ? [printCte(level, 'measured', measuredCte(level))] : []),
      printCte(level, 'valued', valuedCte(level)),
    ]),
  ]
}

/** @param shared relations that others are summed from */
function joinedCtes(plan: AggregatePlan, shared: ReadonlySet<string | null> = new Set()): Sql[] {
  const { base } = plan
  const printSums = (level: AggregatePlan): Sql[] =>
    level.datasets.filter(hasRows).map((dataset) => {
      const name = relation(level, dataset.name)
      const isShared = shared.has(`${level.name}${dataset.name}`)
      return sql`${name} AS ${TEXT(isShared ? 'MATERIALIZED ' : '')}(\n${datasetCte(dataset, `${level.name}${dataset.name}`)}\n)`
    })
  return [
    ...printSums(plan),
    ...(base === null ? [] : printSums(base.plan)),
    ...(onlyFacts(plan) === null && !isOneRow(plan) ? [printCte(plan, 'spine', spineCte(plan))] : []),
    printCte(plan, 'joined', joinedCte(plan)),
    ...(base === null
      ? []
      : [
          printCte(base.plan, 'spine', baseSpineCte(plan, base)),
          printCte(
            base.plan,
            'joined',
            joinedCte(base.plan, finestTime(plan.query.group_by) === null ? [] : ['compared_period']),
          ),
        ]),
  ]
}

/** Facts about all rows: their number, their digest and how many lack a denominator. */
function summaryCte(plan: AggregatePlan): Sql {
  const isMissing = (index: number): Sql => {
    const metric = plan.metrics[index]
    const isNull = sql`${ident(`value_${index}`)} IS NULL`
    // Counts rates without a denominator, and places outside the source. The plan's notes report months without facts.
    return metric !== undefined && hasOtherNulls(plan, metric)
      ? isNull
      : sql`${isNull} AND ${ident(`numerator_${index}`)} IS NOT NULL`
  }
  const countMissing = (condition: (index: number) => Sql): Sql =>
    join(
      plan.metrics.map(
        (_, index) => sql`count(*) FILTER (WHERE ${condition(index)}) AS ${ident(`missing_${index}`)}`,
      ),
      ', ',
    )
  const digest = TEXT("sha256(coalesce(string_agg(line, chr(10) ORDER BY line), '')) AS rows_sha256")
  if (plan.totals.length === 0)
    return sql`  SELECT count(*) AS total_rows, count(*) AS table_rows, ${digest}, ${countMissing(isMissing)}
  FROM (SELECT *, ${lineSql(plan, plan)} AS line FROM valued)`
  const levels = [plan, ...plan.totals].map((levelPlan, level) => {
    const flags = plan.metrics.map(
      (_, index) => sql`${level === 0 ? isMissing(index) : TEXT('false')} AS ${ident(`missing_${index}`)}`,
    )
    return sql`    SELECT ${integerLiteral(level)} AS level, ${lineSql(levelPlan, plan)} AS line, ${join(flags, ', ')} FROM ${relation(levelPlan, 'valued')}`
  })
  return sql`  SELECT count(*) FILTER (WHERE level = 0) AS total_rows, count(*) AS table_rows, ${digest}, ${countMissing((index) => ident(`missing_${index}`))}
  FROM (
${join(levels, '\n    UNION ALL\n')}
  )`
}

/** Notes of a plan about nulls of metrics whose sources omit some places. */
const NULL_NOTES: ReadonlySet<string> = new Set([
  'not_collected',
  'incomplete_period',
  'transfers_by_year',
  'transfers_missing_funds',
  'transfers_missing_municipalities',
])

/** @returns whether a numerator can be null although no note of the plan says so */
function hasOtherNulls({ datasets, notes }: AggregatePlan, { code, sides, numerator }: MetricPlan): boolean {
  const dataset = datasets[numerator.plan]
  if (sides !== null || dataset === undefined || !hasRows(dataset)) return false
  if (isPopulation(dataset.dataset)) return true
  const isNoted = notes.some(
    (note) => NULL_NOTES.has(note.code) && (!('metrics' in note) || note.metrics.includes(code)),
  )
  return hasUnknowns(dataset.dataset) && !isNoted
}

/** A row as a line of rows_sha256. @param plan plan of the row @param rows plan of the query, which decides the columns */
function lineSql(plan: AggregatePlan, rows: AggregatePlan): Sql {
  const groups = plan.query.group_by
  const cells = [
    ...(rows.totals.length === 0 ? [] : [TEXT(`'${totalLabel(plan, rows)}'`)]),
    ...rows.query.group_by.map((code) =>
      groups.includes(code) ? sql`coalesce(${shownCode(code)}, '')` : TEXT("''"),
    ),
    ...shownValues(rows).map(({ code, decimals }) => {
      const shown = shownValues(plan).find((candidate) => candidate.code === code)
      if (shown === undefined) return TEXT("''")
      const value = ident(shown.column)
      return isTextKind(shown.kind) ? value : valueText(value, decimals)
    }),
    ...(rows.query.rank ? [plan.query.rank ? TEXT("coalesce(CAST(rank AS VARCHAR), '')") : TEXT("''")] : []),
    ...(hasPeers(rows.query)
      ? [hasPeers(plan.query) ? TEXT("coalesce(CAST(peers AS VARCHAR), '')") : TEXT("''")]
      : []),
  ]
  return sql`concat_ws(chr(9), ${join(cells, ', ')})`
}

/** @returns a statement with one row, total_rows, which computes no values */
export function printRowCount(plan: AggregatePlan): Sql {
  const planOfKeys: AggregatePlan = {
    ...plan,
    base: null,
    datasets: plan.datasets.map((dataset) => ({ ...dataset, measures: [], addedUpFrom: null })),
  }
  const datasetsWithKeys = planOfKeys.datasets.filter(
    (dataset) => hasRows(dataset) && dataset.keys.length > 0,
  )
  const ctes = datasetsWithKeys.map(
    (dataset) =>
      sql`${relation(plan, dataset.name)} AS (\n${datasetCte(dataset, `${plan.name}${dataset.name}`)}\n)`,
  )
  return sql`WITH ${join([...ctes, sql`spine AS (\n${spineCte(planOfKeys)}\n)`], ',\n')}
SELECT count(*) AS total_rows FROM spine`
}

const shownCode = (code: DimensionCode): Sql => {
  if (code === 'reference_period')
    return TEXT("strftime(strptime(CAST(reference_period AS VARCHAR), '%Y%m'), '%Y-%m')")
  if (code === 'reference_quarter') return sql`format('{}-Q{}', ${key(code)} // 10, ${key(code)} % 10)`
  if (code === 'reference_quadrimester') return sql`format('{}-C{}', ${key(code)} // 10, ${key(code)} % 10)`
  return sql`CAST(${key(code)} AS VARCHAR)`
}
