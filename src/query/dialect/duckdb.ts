/**
 * A plan → one DuckDB statement, as a careful analyst would write it.
 *
 * One CTE a dataset, a spine of the groups that exist, left joins on the conformed keys, division last. Sums are HUGEINT
 * and quotients are rounded half away from zero in integers: no DOUBLE takes part. Out: one row a group of the page,
 * each with the totals over all groups; a page beyond the end is one row without a position.
 */
import { STATES } from '../../model/codelists.ts'
import {
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  PLACE_DIMENSIONS,
} from '../../model/dimensions.ts'
import type { Condition, Measure } from '../../model/metrics.ts'
import { EMPTY, ident, join, type Sql, sql, table } from '../../sql.ts'
import type { AggregatePlan, DatasetPlan, MetricPlan } from '../aggregate.ts'
import type { QueryFilter } from '../request.ts'

/** The member of each grouped dimension that a cell belongs to; null is the member without a code. */
export type GroupKey = Readonly<Partial<Record<DimensionCode, string | number | null>>>

/** Unrounded order of quotients: two fractions with denominators to 2×10^8 differ by more than this resolves. */
const RANK_SCALE = 10n ** 18n
export const TEXT = (text: string): Sql => ({ parts: [{ kind: 'text', text }] })
const key = (code: DimensionCode): Sql => ident(dimensionOf(code).column)
const keyList = (codes: readonly DimensionCode[]): Sql => join(codes.map(key), ', ')

/** @param only key of the one group that is wanted; all of them without it */
export function printAggregate(plan: AggregatePlan, only: GroupKey | null = null): Sql {
  const ctes = plan.datasets
    .filter(hasRows)
    .map((dataset) => sql`${ident(dataset.dataset)} AS (\n${datasetCte(dataset, plan)}\n)`)
  const groups = plan.query.group_by
  const value = (index: number): Sql => ident(`value_${index}`)
  const line = join(
    [
      ...groups.map((code) => sql`coalesce(${shownCode(code)}, '')`),
      ...plan.metrics.map((_, index) => sql`coalesce(CAST(${value(index)} AS VARCHAR), '')`),
    ],
    ' || chr(9) || ',
  )
  const missing = plan.metrics.map(
    (_, index) =>
      sql`count(*) FILTER (${value(index)} IS NULL AND ${ident(`numerator_${index}`)} IS NOT NULL) AS ${ident(`missing_${index}`)}`,
  )
  return sql`WITH ${join(
    [
      ...ctes,
      sql`spine AS (\n${spineCte(plan)}\n)`,
      sql`joined AS (\n${joinedCte(plan)}\n)`,
      sql`valued AS (\n${valuedCte(plan)}\n)`,
      sql`summary AS (
  SELECT count(*) AS total_rows, sha256(coalesce(string_agg(${line}, chr(10) ORDER BY ${line}), '')) AS rows_sha256, ${join(missing, ', ')}
  FROM valued
)`,
      sql`page AS (\n${pageCte(plan, only)}\n)`,
    ],
    ',\n',
  )}
SELECT summary.*, page.*
FROM summary LEFT JOIN page ON true
ORDER BY page.position`
}

/** How many rows the whole answer has, without computing any of them: one row, total_rows. */
export function printRowCount(plan: AggregatePlan): Sql {
  const keysOnly = { ...plan, datasets: plan.datasets.map((dataset) => ({ ...dataset, measures: [] })) }
  const ctes = keysOnly.datasets
    .filter((dataset) => hasRows(dataset) && dataset.keys.length > 0)
    .map((dataset) => sql`${ident(dataset.dataset)} AS (\n${datasetCte(dataset, keysOnly)}\n)`)
  return sql`WITH ${join([...ctes, sql`spine AS (\n${spineCte(keysOnly)}\n)`], ',\n')}
SELECT count(*) AS total_rows FROM spine`
}

/** A code as an answer shows it. */
const shownCode = (code: DimensionCode): Sql =>
  code === 'reference_period'
    ? TEXT("strftime(strptime(CAST(reference_period AS VARCHAR), '%Y%m'), '%Y-%m')")
    : sql`CAST(${key(code)} AS VARCHAR)`

const hasRows = (dataset: DatasetPlan): boolean =>
  dataset.dataset === 'population' || dataset.periods.length > 0

/** The measures of one dataset over its own rows, grouped by the dimensions it carries. */
function datasetCte(plan: DatasetPlan, { query }: AggregatePlan): Sql {
  const where = [
    ...(plan.dataset === 'population' ? [] : [TEXT('is_active')]),
    ...plan.filters.map((filter) => filterCondition(filterColumn(filter.dimension, plan.dataset), filter)),
  ]
  const whereSql = where.length === 0 ? EMPTY : sql`\n  WHERE ${join(where, '\n    AND ')}`
  const keys = plan.keys.map((code) =>
    plan.dataset === 'population' && code === 'municipality'
      ? sql`CAST(municipality_code AS INTEGER) AS ${key(code)}`
      : key(code),
  )
  const measures = plan.measures.map(
    (measure, index) => sql`${measureSql(measure, plan)} AS ${ident(`measure_${index}`)}`,
  )
  if (plan.over === null) {
    const grouping =
      plan.keys.length === 0
        ? EMPTY
        : sql`\n  GROUP BY ${join(
            plan.keys.map((_, index) => TEXT(String(index + 1))),
            ', ',
          )}`
    return sql`  SELECT ${join([...keys, ...measures], ', ')}
  FROM ${sourceSql(plan)}${whereSql}${grouping}`
  }
  const how = plan.over === 'max' ? TEXT('max') : TEXT('sum')
  const outer = plan.measures.map(
    (_, index) => sql`${how}(${ident(`measure_${index}`)}) AS ${ident(`measure_${index}`)}`,
  )
  const byPeriod = [...keys, TEXT('reference_period')]
  void query
  return sql`  SELECT ${join([...plan.keys.map(key), ...outer], ', ')}
  FROM (
    SELECT ${join([...byPeriod, ...measures], ', ')}
    FROM ${sourceSql(plan)}${whereSql}
    GROUP BY ${join(
      byPeriod.map((_, index) => TEXT(String(index + 1))),
      ', ',
    )}
  )${plan.keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${keyList(plan.keys)}`}`
}

/** Only the partitions of the periods asked for. */
export function sourceSql({ dataset, periods }: DatasetPlan): Sql {
  if (dataset === 'population') return table('population')
  if (periods.length === 1) return table(dataset, periods[0] ?? null)
  return sql`(${join(
    periods.map((period) => sql`SELECT * FROM ${table(dataset, period)}`),
    ' UNION ALL BY NAME ',
  )})`
}

export const filterColumn = (dimension: DimensionCode, dataset: FactDataset): Sql =>
  dimension === 'municipality' && dataset === 'population'
    ? TEXT('CAST(municipality_code AS INTEGER)')
    : key(dimension)

/** Members without a code are outside EQ and IN, inside NEQ and NOT_IN. */
export function filterCondition(column: Sql, { operator, values }: QueryFilter): Sql {
  const list = values as readonly string[] | readonly number[]
  const first = values[0] ?? null
  switch (operator) {
    case 'EQ':
      return sql`${column} = ${first}`
    case 'IN':
      return sql`${column} IN (SELECT unnest(${list}))`
    case 'NEQ':
      return sql`${column} IS DISTINCT FROM ${first}`
    case 'NOT_IN':
      return sql`(${column} NOT IN (SELECT unnest(${list})) OR ${column} IS NULL)`
    default:
      throw new TypeError(`${operator} selects periods, not rows`)
  }
}

/** Facts that count, by member: those of active facilities in some months under filters. Rows: code, facts. */
export function printMemberCounts(
  dimension: DimensionCode,
  codes: readonly (string | number)[],
  dataset: Exclude<FactDataset, 'population'>,
  periods: readonly number[],
  filters: readonly QueryFilter[],
): Sql {
  const source = join(
    periods.map((period) => sql`SELECT * FROM ${table(dataset, period)}`),
    ' UNION ALL BY NAME ',
  )
  const where = [
    TEXT('is_active'),
    filterCondition(key(dimension), { dimension, operator: 'IN', values: codes }),
    ...filters.map((filter) => filterCondition(key(filter.dimension), filter)),
  ]
  return sql`SELECT ${key(dimension)} AS code, count(*) AS facts
FROM (${source})
WHERE ${join(where, '\n  AND ')}
GROUP BY code
ORDER BY code`
}

function measureSql(measure: Measure, plan: DatasetPlan): Sql {
  const conditions = (measure.where ?? []).map((condition) => conditionSql(condition, plan))
  const filter = conditions.length === 0 ? EMPTY : sql` FILTER (${join(conditions, ' AND ')})`
  if (measure.kind === 'count') return sql`count(*)${filter}`
  const field = ident(measure.field ?? '')
  if (measure.kind === 'distinct') return sql`count(DISTINCT ${field})${filter}`
  const total = sql`sum(CAST(${field} AS HUGEINT))${filter}`
  return measure.minus === undefined
    ? total
    : sql`(${total} - sum(CAST(${ident(measure.minus)} AS HUGEINT))${filter})`
}

export function conditionSql(condition: Condition, { years }: DatasetPlan): Sql {
  if ('above' in condition) return sql`${ident(condition.field)} > ${condition.above}`
  if ('equals' in condition) return sql`${ident(condition.field)} = ${condition.equals}`
  if ('flag' in condition) return ident(condition.flag)
  if ('anyFlag' in condition) return sql`(${ident(condition.anyFlag[0])} OR ${ident(condition.anyFlag[1])})`
  if ('outsourced' in condition)
    return TEXT("len(list_filter(declarations, lambda d: d.characteristic_code IN ('2', '3'))) > 0")
  return sql`population_type = ${condition.populationType} AND reference_year = ${years?.[condition.populationType] ?? 0}`
}

/** The groups that exist: members of places and periods, or the keys that have facts. */
function spineCte(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  if (plan.spine === 'one') return TEXT('  SELECT 1 AS whole_scope')
  const facts = plan.datasets.filter((dataset) => hasRows(dataset) && dataset.dataset !== 'population')
  if (plan.spine === 'facts') {
    if (facts.length === 0)
      return sql`  SELECT ${join(
        groups.map((code) => sql`NULL AS ${key(code)}`),
        ', ',
      )} WHERE false`
    return join(
      facts.map(({ dataset }) => sql`  SELECT ${keyList(groups)} FROM ${ident(dataset)}`),
      '\n  UNION\n',
    )
  }
  const periods = groups.includes('reference_period')
    ? sql`(SELECT CAST(unnest(${plan.spinePeriods.length === 0 ? [0] : plan.spinePeriods}) AS INTEGER) AS reference_period)`
    : null
  if (!groups.some((code) => PLACE_DIMENSIONS.has(code)))
    return sql`  SELECT reference_period FROM ${periods ?? EMPTY}${plan.spinePeriods.length === 0 ? TEXT(' WHERE false') : EMPTY}`
  const across = periods === null ? EMPTY : sql` CROSS JOIN ${periods} AS periods`
  const place = (filter: QueryFilter): Sql =>
    filterCondition(filter.dimension === 'state' ? ident('uf') : ident('ibge_code'), filter)
  const inScope = plan.placeFilters.map(place)
  if (groups.includes('municipality')) {
    // The ignored municipality of a state is a row where an active facility stands in it, whatever is asked: a metric
    // alone has the rows it has beside others.
    const months =
      plan.spinePeriods.length > 0
        ? plan.spinePeriods
        : plan.facilityPeriod === null
          ? []
          : [plan.facilityPeriod]
    const standing = months.map(
      (period) =>
        sql`(territorial_type = 'IGNORED' AND ibge_code IN (SELECT municipality_ibge_code FROM ${table('facilities', period)} WHERE is_active))`,
    )
    const exists = sql`(${join([TEXT("territorial_type = 'MUNICIPALITY'"), ...standing], ' OR ')})`
    const columns = groups.map((code) =>
      code === 'municipality' ? TEXT('ibge_code AS "municipality_ibge_code"') : key(code),
    )
    return sql`  SELECT ${join(columns, ', ')}
  FROM ${table('municipalities')}${across}
  WHERE ${join([exists, ...inScope], '\n    AND ')}`
  }
  const scope =
    plan.placeFilters.length === 0
      ? EMPTY
      : sql`\n  WHERE uf IN (SELECT uf FROM ${table('municipalities')} WHERE territorial_type = 'MUNICIPALITY' AND ${join(inScope, ' AND ')})`
  return sql`  SELECT ${keyList(groups)}
  FROM ${table('states')}${across}${scope}`
}

/** Numerators and denominators side by side, one row a group; joins are on full keys, so no row is repeated. */
function joinedCte(plan: AggregatePlan): Sql {
  const columns = plan.metrics.flatMap((metric, index) => {
    const numerator = scaledNumerator(metric, plan)
    return [
      sql`${numerator} AS ${ident(`numerator_${index}`)}`,
      sql`${scaledDenominator(metric, plan)} AS ${ident(`denominator_${index}`)}`,
    ]
  })
  const joins = plan.datasets.filter(hasRows).map(({ dataset, keys }) => {
    const on =
      keys.length === 0
        ? TEXT('true')
        : join(
            keys.map((code) => sql`${ident(dataset)}.${key(code)} IS NOT DISTINCT FROM spine.${key(code)}`),
            ' AND ',
          )
    return sql`\n  LEFT JOIN ${ident(dataset)} ON ${on}`
  })
  const keys = plan.query.group_by.map((code) => sql`spine.${key(code)}`)
  return sql`  SELECT ${join([...keys, ...columns], ',\n    ')}
  FROM spine${join(joins, '')}`
}

const planOf = (plan: AggregatePlan, dataset: FactDataset): DatasetPlan => {
  const found = plan.datasets.find((candidate) => candidate.dataset === dataset)
  if (found === undefined) throw new TypeError(`the plan lacks ${dataset}`)
  return found
}

/** Months an average divides by. */
const divisor = (plan: DatasetPlan): number => (plan.over === 'avg' ? plan.periods.length : 1)

function measureValue(plan: AggregatePlan, place: { dataset: FactDataset; measure: number }): Sql {
  const dataset = planOf(plan, place.dataset)
  if (!hasRows(dataset)) return TEXT('CAST(NULL AS HUGEINT)')
  const column = sql`CAST(${ident(dataset.dataset)}.${ident(`measure_${place.measure}`)} AS HUGEINT)`
  // No population is unknown; no facts is none, where facts were collected.
  if (dataset.dataset === 'population') return column
  const covered = coveredSql(dataset, plan)
  return covered === null
    ? sql`coalesce(${column}, 0)`
    : sql`CASE WHEN ${covered} THEN coalesce(${column}, 0) END`
}

/** Was the dataset collected for this group's state and period? null: for every group. */
function coveredSql(dataset: DatasetPlan, plan: AggregatePlan): Sql | null {
  const groups = plan.query.group_by
  const byPeriod = groups.includes('reference_period')
  const stateCode = groups.includes('state')
    ? sql`spine."uf"`
    : groups.includes('municipality')
      ? sql`CAST(spine."municipality_ibge_code" // 100000 AS VARCHAR)`
      : null
  const { covered } = dataset
  if (covered === 'all' || stateCode === null)
    return byPeriod ? sql`spine."reference_period" IN (SELECT unnest(${dataset.periods}))` : null
  const codesOf = (states: readonly string[] | 'all'): string[] =>
    STATES.filter(({ uf }) => states === 'all' || states.includes(uf)).map(({ uf, ibge_code }) =>
      groups.includes('state') ? uf : String(ibge_code),
    )
  if (byPeriod) {
    const pairs = covered.flatMap(({ period, states }) => codesOf(states).map((code) => `${period} ${code}`))
    return sql`CAST(spine."reference_period" AS VARCHAR) || ' ' || ${stateCode} IN (SELECT unnest(${pairs}))`
  }
  const everywhere = covered
    .map(({ states }) => codesOf(states))
    .reduce((left, right) => left.filter((code) => right.includes(code)))
  return sql`${stateCode} IN (SELECT unnest(${everywhere}))`
}

function scaledNumerator(metric: MetricPlan, plan: AggregatePlan): Sql {
  if (metric.isUndefined) return TEXT('CAST(NULL AS HUGEINT)')
  const value = measureValue(plan, metric.numerator)
  const difference = metric.less === null ? value : sql`(${value} - ${measureValue(plan, metric.less)})`
  const factor =
    metric.denominator === null ? 1 : metric.scale * divisor(planOf(plan, metric.denominator.dataset))
  return factor === 1 ? difference : sql`${difference} * ${factor}`
}

function scaledDenominator(metric: MetricPlan, plan: AggregatePlan): Sql {
  const months = divisor(planOf(plan, metric.numerator.dataset))
  if (metric.denominator === null) return TEXT(`CAST(${months} AS HUGEINT)`)
  const value = measureValue(plan, metric.denominator)
  return months === 1 ? value : sql`${value} * ${months}`
}

/** Decimals a metric is shown with; an average of whole numbers has two. */
export const decimalsOf = (metric: MetricPlan, plan: AggregatePlan): number =>
  metric.decimals > 0 ? metric.decimals : divisor(planOf(plan, metric.numerator.dataset)) > 1 ? 2 : 0

/** value_i: what is shown, exact; rank_i: what is ordered by, not rounded. */
function valuedCte(plan: AggregatePlan): Sql {
  const columns = plan.metrics.flatMap((metric, index) => {
    const numerator = ident(`numerator_${index}`)
    const denominator = ident(`denominator_${index}`)
    const decimals = decimalsOf(metric, plan)
    const isWhole = decimals === 0
    const power = 10 ** decimals
    const rounded = sql`(CASE WHEN ${numerator} < 0 THEN -1 ELSE 1 END) * ((2 * abs(${numerator}) * ${power} + ${denominator}) // (2 * ${denominator}))`
    const value = isWhole
      ? numerator
      : sql`CASE WHEN ${denominator} > 0 THEN CAST(${rounded} AS DECIMAL(30, 0)) * ${TEXT(`CAST(1 AS DECIMAL(1, 0)) * CAST(0.${'0'.repeat(decimals - 1)}1 AS DECIMAL(${decimals + 1}, ${decimals}))`)} END`
    const rank = isWhole
      ? numerator
      : sql`CASE WHEN ${denominator} > 0 THEN ${numerator} * CAST(${TEXT(String(RANK_SCALE))} AS HUGEINT) // ${denominator} END`
    return [sql`${value} AS ${ident(`value_${index}`)}`, sql`${rank} AS ${ident(`rank_${index}`)}`, numerator]
  })
  return sql`  SELECT ${join([...plan.query.group_by.map(key), ...columns], ',\n    ')}
  FROM joined`
}

/** Names of the groups and the order of the page; ties are broken by the whole key. */
function pageCte(plan: AggregatePlan, only: GroupKey | null): Sql {
  const groups = plan.query.group_by
  const names = groups.map((code, index) => sql`${memberName(code, index)} AS ${ident(`name_${index}`)}`)
  const joins = groups.flatMap((code, index) => memberJoin(code, index, plan))
  const places = groups.includes('municipality') ? [sql`place.uf AS municipality_uf`] : []
  const placeJoin = groups.includes('municipality')
    ? sql`\n  LEFT JOIN ${table('municipalities')} AS place ON place.ibge_code = valued."municipality_ibge_code"`
    : EMPTY
  const stateCode = groups.includes('state') ? [sql`state_of.ibge_code AS state_ibge_code`] : []
  const stateJoin = groups.includes('state')
    ? sql`\n  LEFT JOIN ${table('states')} AS state_of ON state_of.uf = valued."uf"`
    : EMPTY
  const order = [...requestedOrder(plan), ...groups.flatMap((code, index) => memberOrder(code, index, 'ASC'))]
  const { limit, offset } = plan.query
  const wanted =
    only === null || groups.length === 0
      ? EMPTY
      : sql`\n  WHERE ${join(
          groups.map((code) => sql`valued.${key(code)} IS NOT DISTINCT FROM ${only[code] ?? null}`),
          ' AND ',
        )}`
  return sql`  SELECT row_number() OVER (${order.length === 0 ? EMPTY : sql`ORDER BY ${join(order, ', ')}`}) AS position, ${join([...groups.map((code) => sql`valued.${key(code)}`), ...names, ...places, ...stateCode, ...plan.metrics.map((_, index) => ident(`value_${index}`))], ', ')}
  FROM valued${join(joins, '')}${placeJoin}${stateJoin}${wanted}
  QUALIFY position > ${offset} AND position <= ${offset + limit}`
}

function requestedOrder(plan: AggregatePlan): Sql[] {
  return plan.query.order_by.flatMap(({ field, direction }) => {
    const way = direction === 'desc' ? 'DESC' : 'ASC'
    const metric = plan.metrics.findIndex(({ code }) => code === field)
    if (metric >= 0) return [sql`${ident(`rank_${metric}`)} ${TEXT(way)} NULLS LAST`]
    return memberOrder(field as DimensionCode, plan.query.group_by.indexOf(field as DimensionCode), way)
  })
}

/** Places and facilities as a Portuguese reader sorts names; codes by their bytes; members without a code last. */
function memberOrder(code: DimensionCode, index: number, way: 'ASC' | 'DESC'): Sql[] {
  const byCode = sql`valued.${key(code)} ${TEXT(way)} NULLS LAST`
  return dimensionOf(code).order === 'name'
    ? [sql`${memberName(code, index)} COLLATE pt ${TEXT(way)} NULLS LAST`, byCode]
    : [byCode]
}

function memberName(code: DimensionCode, index: number): Sql {
  const { member } = dimensionOf(code)
  return member === null ? sql`CAST(NULL AS VARCHAR)` : ident(`member_${index}`)
}

function memberJoin(code: DimensionCode, index: number, plan: AggregatePlan): Sql[] {
  const { member, column } = dimensionOf(code)
  if (member === null) return []
  const period = member.dataset === 'facilities' ? plan.facilityPeriod : null
  const alias = ident(`named_${index}`)
  return [
    sql`\n  LEFT JOIN (SELECT ${ident(member.key)} AS ${ident(`key_${index}`)}, ${TEXT(member.name)} AS ${ident(`member_${index}`)} FROM ${table(member.dataset, period)}) AS ${alias} ON ${ident(`key_${index}`)} = valued.${ident(column)}`,
  ]
}
