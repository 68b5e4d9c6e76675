/**
 * A plan → one DuckDB statement, as a careful analyst would write it.
 *
 * One CTE a dataset, a spine of the groups that exist, left joins on the conformed keys, division last. Sums are HUGEINT
 * and quotients are rounded half away from zero in integers: no DOUBLE takes part. Out: one row a group of the page,
 * in order, each with the totals over all groups; where the page is empty, one row in which in_page is null. Of questions
 * whose groups are few, each join and sort is a millisecond of the answer's ten: what can do without does.
 */
import { STATES } from '../../model/codelists.ts'
import {
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  PLACE_DIMENSIONS,
} from '../../model/dimensions.ts'
import type { Condition, Measure } from '../../model/metrics.ts'
import { type PreAggregateName, preAggregateOf, sourceOf } from '../../model/pre-aggregates.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT, whole } from '../../sql.ts'
import type { AggregatePlan, DatasetPlan, MetricPlan } from '../aggregate.ts'
import type { QueryFilter } from '../request.ts'
import {
  factsAsStored,
  factsOf,
  membersOf,
  POPULATION_COLUMNS,
  type PopulationYears,
  peopleOf,
  preAggregateRows,
  standingOf,
} from '../resident-relations.ts'
import { quotientSql, rankSql, valueText } from './quotients.ts'

/** The member of each grouped dimension that a cell belongs to; null is the member without a code. */
export type GroupKey = Readonly<Partial<Record<DimensionCode, string | number | null>>>

const key = (code: DimensionCode): Sql => ident(dimensionOf(code).column)
const wholes = (values: readonly number[]): Sql => sql`[${join(values.map(whole), ', ')}]`
const keyList = (codes: readonly DimensionCode[]): Sql => join(codes.map(key), ', ')

/** @param only key of the one group that is wanted; all of them without it */
export function printAggregate(plan: AggregatePlan, only: GroupKey | null = null): Sql {
  const ctes = plan.datasets
    .filter(hasRows)
    .map((dataset) => sql`${ident(dataset.dataset)} AS (\n${datasetCte(dataset)}\n)`)
  const groups = plan.query.group_by
  const value = (index: number): Sql => ident(`value_${index}`)
  const line = sql`concat_ws(chr(9), ${join(
    [
      ...groups.map((code) => sql`coalesce(${shownCode(code)}, '')`),
      ...plan.metrics.map((metric, index) => valueText(value(index), decimalsOf(metric, plan))),
    ],
    ', ',
  )})`
  const order = orderOf(plan)
  const withoutOrder =
    order.length === 0
      ? EMPTY
      : sql` EXCLUDE (${join(
          order.map((_, index) => ident(`order_${index}`)),
          ', ',
        )})`
  const missing = plan.metrics.map(
    (_, index) =>
      sql`count(*) FILTER (${value(index)} IS NULL AND ${ident(`numerator_${index}`)} IS NOT NULL) AS ${ident(`missing_${index}`)}`,
  )
  return sql`WITH ${join(
    [
      ...ctes,
      ...(onlyFacts(plan) === null ? [sql`spine AS (\n${spineCte(plan)}\n)`] : []),
      sql`joined AS (\n${joinedCte(plan)}\n)`,
      sql`valued AS (\n${valuedCte(plan)}\n)`,
      sql`summary AS (
  SELECT count(*) AS total_rows, sha256(coalesce(string_agg(line, chr(10) ORDER BY line), '')) AS rows_sha256, ${join(missing, ', ')}
  FROM (SELECT *, ${line} AS line FROM valued)
)`,
      sql`chosen AS (\n${chosenCte(plan, only)}\n)`,
      sql`page AS (\n${pageCte(plan)}\n)`,
    ],
    ',\n',
  )}
SELECT summary.*, page.*${withoutOrder}
FROM summary LEFT JOIN page ON true${orderBy(order)}`
}

/** How many rows the whole answer has, without computing any of them: one row, total_rows. */
export function printRowCount(plan: AggregatePlan): Sql {
  const keysOnly = { ...plan, datasets: plan.datasets.map((dataset) => ({ ...dataset, measures: [] })) }
  const ctes = keysOnly.datasets
    .filter((dataset) => hasRows(dataset) && dataset.keys.length > 0)
    .map((dataset) => sql`${ident(dataset.dataset)} AS (\n${datasetCte(dataset)}\n)`)
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
function datasetCte(plan: DatasetPlan): Sql {
  const where = plan.filters.map((filter) => filterCondition(key(filter.dimension), filter))
  const whereSql = where.length === 0 ? EMPTY : sql`\n  WHERE ${join(where, '\n    AND ')}`
  const isUnique = hasUniqueKeys(plan)
  const measures = plan.measures.map(
    (measure, index) => sql`${measureSql(measure, plan, isUnique)} AS ${ident(`measure_${index}`)}`,
  )
  const keys = plan.keys.map(shownKey)
  const grouping = (codes: readonly DimensionCode[]): Sql =>
    codes.length === 0 || isUnique ? EMPTY : sql`\n  GROUP BY ${join(codes.map(factKey), ', ')}`
  if (plan.over === null)
    return sql`  SELECT ${join([...keys, ...measures], ', ')}
  FROM ${factsSource(plan)} AS facts${whereSql}${grouping(plan.keys)}`
  const how = plan.over === 'max' ? TEXT('max') : TEXT('sum')
  const outer = plan.measures.map(
    (_, index) => sql`${how}(${ident(`measure_${index}`)}) AS ${ident(`measure_${index}`)}`,
  )
  return sql`  SELECT ${join([...plan.keys.map(key), ...outer], ', ')}
  FROM (
    SELECT ${join([...keys, TEXT('facts.reference_period'), ...measures], ', ')}
    FROM ${factsSource(plan)} AS facts${whereSql}${grouping([...plan.keys, 'reference_period'])}
  )${plan.keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${keyList(plan.keys)}`}`
}

const factKey = (code: DimensionCode): Sql => sql`facts.${key(code)}`
/** A code as text, whatever type the facts keep it in. */
const shownKey = (code: DimensionCode): Sql =>
  dimensionOf(code).integer === true ? factKey(code) : sql`CAST(${factKey(code)} AS VARCHAR) AS ${key(code)}`

/** The facts of active facilities that a plan adds up, or what was added up of them before. */
function factsSource(plan: DatasetPlan): Sql {
  const { dataset, source } = plan
  if (dataset === 'population') return peopleOf(yearsOf(plan))
  if (source !== null) return unionOf(plan.periods.map((period) => preAggregateRows(source, period)))
  const isByFacility = [...plan.keys, ...plan.filters.map(({ dimension }) => dimension)].includes('facility')
  return unionOf(plan.periods.map((period) => (isByFacility ? factsAsStored : factsOf)(dataset, period)))
}

const yearsOf = ({ years }: DatasetPlan): PopulationYears =>
  years ?? { CENSUS_POPULATION: null, ESTIMATED_POPULATION: null }

export function unionOf(relations: readonly Sql[]): Sql {
  if (relations.length === 1 && relations[0] !== undefined) return relations[0]
  return sql`(${join(
    relations.map((relation) => sql`SELECT * FROM ${relation}`),
    ' UNION ALL BY NAME ',
  )})`
}

/** Is each group one row of what is read, so that nothing is left to add up? */
function hasUniqueKeys({ dataset, source, keys, periods }: DatasetPlan): boolean {
  if (dataset === 'population') return keys.includes('municipality')
  if (source === null || (periods.length > 1 && !keys.includes('reference_period'))) return false
  // A municipality lies in one state.
  return preAggregateOf(source).keys.every(
    (code) => keys.includes(code) || (code === 'state' && keys.includes('municipality')),
  )
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
  const isByFacility = [dimension, ...filters.map((filter) => filter.dimension)].includes('facility')
  const where = [
    filterCondition(key(dimension), { dimension, operator: 'IN', values: codes }),
    ...filters.map((filter) => filterCondition(key(filter.dimension), filter)),
  ]
  const code =
    dimensionOf(dimension).integer === true ? factKey(dimension) : sql`CAST(${factKey(dimension)} AS VARCHAR)`
  return sql`SELECT ${code} AS code, count(*) AS facts
FROM ${unionOf(periods.map((period) => (isByFacility ? factsAsStored : factsOf)(dataset, period)))} AS facts
WHERE ${join(where, '\n  AND ')}
GROUP BY ${factKey(dimension)}
ORDER BY code`
}

/** @param isUnique a group is one row: its value stands there */
function measureSql(measure: Measure, plan: DatasetPlan, isUnique: boolean): Sql {
  if (plan.source !== null) return storedSql(measure, plan.source, isUnique)
  if (plan.dataset === 'population') {
    const [condition] = measure.where ?? []
    if (condition === undefined || !('populationType' in condition))
      throw new TypeError('people are of a census or an estimate')
    const column = sql`facts.${ident(POPULATION_COLUMNS[condition.populationType])}`
    return isUnique ? column : sql`sum(${column})`
  }
  const conditions = (measure.where ?? []).map((condition) =>
    'outsourced' in condition ? TEXT('is_outsourced') : conditionSql(condition),
  )
  const filter = conditions.length === 0 ? EMPTY : sql` FILTER (${join(conditions, ' AND ')})`
  if (measure.kind === 'count') return sql`count(*)${filter}`
  const field = sql`facts.${ident(measure.field ?? '')}`
  if (measure.kind === 'distinct') return sql`count(DISTINCT ${field})${filter}`
  // The sum of INTEGER is HUGEINT: it cannot overflow.
  const total = sql`sum(${field})${filter}`
  return measure.minus === undefined ? total : sql`(${total} - sum(facts.${ident(measure.minus)})${filter})`
}

/** A measure from a pre-aggregate: sums of sums, sums of counts, keys that are there. */
function storedSql(measure: Measure, name: PreAggregateName, isUnique: boolean): Sql {
  const source = sourceOf(measure, preAggregateOf(name))
  if (source === null) throw new TypeError(`${name} lacks a measure`)
  const stored = (column: string): Sql => sql`facts.${ident(column)}`
  const conditions = source.where.map(conditionSql)
  const value =
    source.minus === null
      ? stored(source.stored.column)
      : sql`${stored(source.stored.column)} - ${stored(source.minus.column)}`
  if (source.distinctKey === null) {
    if (conditions.length === 0) return isUnique ? value : sql`sum(${value})`
    const met = join(conditions, ' AND ')
    return isUnique ? sql`CASE WHEN ${met} THEN ${value} END` : sql`sum(${value}) FILTER (${met})`
  }
  const met = join([...conditions, sql`${stored(source.stored.column)} > 0`], ' AND ')
  return isUnique
    ? sql`CASE WHEN ${met} THEN 1 ELSE 0 END`
    : sql`count(DISTINCT ${stored(source.distinctKey)}) FILTER (${met})`
}

/** A code of the model as text: it is part of what the metric is, not of a request. */
export function codeText(code: string): Sql {
  if (!/^\w{1,20}$/.test(code)) throw new TypeError(`not a code: ${code}`)
  return TEXT(`'${code}'`)
}

/** What a measure asks of a row, where one column of the row says it. */
export function conditionSql(condition: Condition): Sql {
  if ('above' in condition) return sql`${ident(condition.field)} > ${whole(condition.above)}`
  if ('equals' in condition) return sql`${ident(condition.field)} = ${codeText(condition.equals)}`
  if ('flag' in condition) return ident(condition.flag)
  if ('anyFlag' in condition) return sql`(${ident(condition.anyFlag[0])} OR ${ident(condition.anyFlag[1])})`
  throw new TypeError('no column says it')
}

interface Carried {
  readonly column: string
  /** Of the members' relation. */
  readonly from: string
}

/** What the spine says of its members beside their key, where it is made of them: it need not be looked up again. */
function carriedOf(plan: AggregatePlan): readonly Carried[] {
  const carrier = carrierOf(plan)
  if (carrier === null) return []
  return [
    { column: `name_of_${carrier}`, from: 'name' },
    { column: `rank_of_${carrier}`, from: 'name_rank' },
    carrier === 'municipality'
      ? { column: 'municipality_uf', from: 'uf' }
      : { column: 'state_ibge_code', from: 'ibge_code' },
  ]
}

/** The dimension whose members the spine is made of. */
function carrierOf({ spine, query: { group_by } }: AggregatePlan): 'municipality' | 'state' | null {
  if (spine !== 'members') return null
  if (group_by.includes('municipality')) return 'municipality'
  return group_by.includes('state') ? 'state' : null
}

/** The dataset whose groups are all there are, where it is one. */
function onlyFacts(plan: AggregatePlan): FactDataset | null {
  if (plan.spine !== 'facts') return null
  const [only = null, ...others] = plan.datasets.filter(
    (dataset) => hasRows(dataset) && dataset.dataset !== 'population',
  )
  return only === null || others.length > 0 ? null : only.dataset
}

/** What the measures of a dataset stand under. */
const aliasOf = (plan: AggregatePlan, dataset: FactDataset): Sql =>
  ident(dataset === onlyFacts(plan) ? 'spine' : dataset)

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
    ? sql`(SELECT CAST(unnest(${wholes(plan.spinePeriods.length === 0 ? [0] : plan.spinePeriods)}) AS INTEGER) AS reference_period)`
    : null
  if (!groups.some((code) => PLACE_DIMENSIONS.has(code)))
    return sql`  SELECT reference_period FROM ${periods ?? EMPTY}${plan.spinePeriods.length === 0 ? TEXT(' WHERE false') : EMPTY}`
  const across = periods === null ? EMPTY : sql` CROSS JOIN ${periods} AS periods`
  const place = (filter: QueryFilter): Sql =>
    filterCondition(filter.dimension === 'state' ? ident('uf') : ident('code'), filter)
  const inScope = plan.placeFilters.map(place)
  const carried = carriedOf(plan).map(({ column, from }) => sql`members.${ident(from)} AS ${ident(column)}`)
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
        sql`(territorial_type = 'IGNORED' AND code IN (SELECT municipality_ibge_code FROM ${standingOf(period)} AS standing))`,
    )
    const exists = sql`(${join([TEXT("territorial_type = 'MUNICIPALITY'"), ...standing], ' OR ')})`
    const columns = groups.map((code) =>
      code === 'municipality' ? TEXT('code AS "municipality_ibge_code"') : key(code),
    )
    return sql`  SELECT ${join([...columns, ...carried], ', ')}
  FROM ${membersOf('municipality')} AS members${across}
  WHERE ${join([exists, ...inScope], '\n    AND ')}`
  }
  const scope =
    plan.placeFilters.length === 0
      ? EMPTY
      : sql`\n  WHERE code IN (SELECT uf FROM ${membersOf('municipality')} AS inside WHERE territorial_type = 'MUNICIPALITY' AND ${join(inScope, ' AND ')})`
  const columns = groups.map((code) => (code === 'state' ? TEXT('code AS "uf"') : key(code)))
  return sql`  SELECT ${join([...columns, ...carried], ', ')}
  FROM ${membersOf('state')} AS members${across}${scope}`
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
  const only = onlyFacts(plan)
  const joined = plan.datasets.filter((dataset) => hasRows(dataset) && dataset.dataset !== only)
  const joins = joined.map(({ dataset, keys }) => {
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
  const carried = carriedOf(plan).map(({ column }) => sql`spine.${ident(column)}`)
  const from = only === null ? TEXT('spine') : sql`${ident(only)} AS spine`
  return sql`  SELECT ${join([...keys, ...carried, ...columns], ',\n    ')}
  FROM ${from}${join(joins, '')}`
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
  const column = sql`CAST(${aliasOf(plan, dataset.dataset)}.${ident(`measure_${place.measure}`)} AS HUGEINT)`
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
    return byPeriod ? sql`spine."reference_period" IN (${join(dataset.periods.map(whole), ', ')})` : null
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
  return factor === 1 ? difference : sql`${difference} * ${whole(factor)}`
}

function scaledDenominator(metric: MetricPlan, plan: AggregatePlan): Sql {
  const months = divisor(planOf(plan, metric.numerator.dataset))
  if (metric.denominator === null) return TEXT(`CAST(${months} AS HUGEINT)`)
  const value = measureValue(plan, metric.denominator)
  return months === 1 ? value : sql`${value} * ${whole(months)}`
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
    const value = isWhole
      ? numerator
      : sql`CASE WHEN ${denominator} > 0 THEN CAST(${quotientSql(numerator, denominator, decimals)} AS DECIMAL(30, 0)) * ${TEXT(`CAST(1 AS DECIMAL(1, 0)) * CAST(0.${'0'.repeat(decimals - 1)}1 AS DECIMAL(${decimals + 1}, ${decimals}))`)} END`
    const isOrdered = plan.query.order_by.some(({ field }) => field === metric.code)
    const rank = isWhole
      ? numerator
      : sql`CASE WHEN ${denominator} > 0 THEN ${rankSql(numerator, denominator)} END`
    return [
      sql`${value} AS ${ident(`value_${index}`)}`,
      ...(isOrdered ? [sql`${rank} AS ${ident(`rank_${index}`)}`] : []),
      numerator,
    ]
  })
  const carried = carriedOf(plan).map(({ column }) => ident(column))
  return sql`  SELECT ${join([...plan.query.group_by.map(key), ...carried, ...columns], ',\n    ')}
  FROM joined`
}

/** Groups of the page in order, and what they are ordered by; ties are broken by the whole key. */
function chosenCte(plan: AggregatePlan, only: GroupKey | null): Sql {
  const groups = plan.query.group_by
  const order = orderOf(plan)
  const carrier = carrierOf(plan)
  const byName = groups.filter((code) => isOrderedByName(code) && code !== carrier)
  const joins = byName.map((code) => memberJoin(code, plan, 'valued'))
  const { limit, offset } = plan.query
  const wanted =
    only === null || groups.length === 0
      ? EMPTY
      : sql`\n  WHERE ${join(
          groups.map((code) => sql`valued.${key(code)} IS NOT DISTINCT FROM ${only[code] ?? null}`),
          ' AND ',
        )}`
  const columns = [
    ...groups.map((code) => sql`valued.${key(code)}`),
    ...byName.map((code) => sql`${ident(`named_${code}`)}.name AS ${ident(`name_of_${code}`)}`),
    ...(byName.includes('municipality') ? [TEXT('named_municipality.uf AS municipality_uf')] : []),
    ...(byName.includes('state') ? [TEXT('named_state.ibge_code AS state_ibge_code')] : []),
    ...carriedOf(plan).map(({ column }) => sql`valued.${ident(column)}`),
    ...plan.metrics.map((_, index) => ident(`value_${index}`)),
    ...order.map(({ value }, index) => sql`${value} AS ${ident(`order_${index}`)}`),
  ]
  return sql`  SELECT ${join(columns, ', ')}
  FROM valued${join(joins, '')}${wanted}${orderBy(order)}
  LIMIT ${whole(limit)} OFFSET ${whole(offset)}`
}

/** The page with the names of its groups, and what it is ordered by. */
function pageCte(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  const names = groups.map((code, index) => sql`${memberName(code)} AS ${ident(`name_${index}`)}`)
  const joins = groups
    .filter((code) => !isOrderedByName(code))
    .map((code) => memberJoin(code, plan, 'chosen'))
  const places = groups.includes('municipality') ? [ident('municipality_uf')] : []
  const states = groups.includes('state') ? [ident('state_ibge_code')] : []
  const columns = [
    ...groups.map((code) => sql`chosen.${key(code)}`),
    ...names,
    ...places,
    ...states,
    ...plan.metrics.map((_, index) => ident(`value_${index}`)),
    ...orderOf(plan).map((_, index) => ident(`order_${index}`)),
  ]
  return sql`  SELECT true AS in_page, ${join(columns, ', ')}
  FROM chosen${join(joins, '')}`
}

interface OrderTerm {
  readonly value: Sql
  readonly way: 'ASC' | 'DESC'
  /** Ordered as text of a Portuguese reader. */
  readonly isText: boolean
}

const orderBy = (order: readonly OrderTerm[]): Sql =>
  order.length === 0
    ? EMPTY
    : sql`\n  ORDER BY ${join(
        order.map(
          ({ way, isText }, index) =>
            sql`${ident(`order_${index}`)}${TEXT(`${isText ? ' COLLATE pt' : ''} ${way} NULLS LAST`)}`,
        ),
        ', ',
      )}`

/** What was asked for, then the dimensions' own order: a term that stands there already says nothing new. */
function orderOf(plan: AggregatePlan): OrderTerm[] {
  const requested = plan.query.order_by.flatMap(({ field, direction }): OrderTerm[] => {
    const way = direction === 'desc' ? 'DESC' : 'ASC'
    const metric = plan.metrics.findIndex(({ code }) => code === field)
    if (metric >= 0) return [{ value: ident(`rank_${metric}`), way, isText: false }]
    return memberOrder(field as DimensionCode, way, plan)
  })
  return [...requested, ...plan.query.group_by.flatMap((code) => memberOrder(code, 'ASC', plan))]
}

/** Places and facilities as a Portuguese reader sorts names; codes by their bytes; members without a code last. */
function memberOrder(code: DimensionCode, way: 'ASC' | 'DESC', plan: AggregatePlan): OrderTerm[] {
  const byCode: OrderTerm = { value: sql`valued.${key(code)}`, way, isText: false }
  if (!isOrderedByName(code)) return [byCode]
  const isText = code === 'facility'
  const value =
    code === carrierOf(plan)
      ? sql`valued.${ident(`rank_of_${code}`)}`
      : sql`${ident(`named_${code}`)}.${ident(isText ? 'name' : 'name_rank')}`
  return [{ value, way, isText }, byCode]
}

/** Names that decide the order are joined before the page is cut, the others to the page alone. */
const isOrderedByName = (code: DimensionCode): boolean => dimensionOf(code).order === 'name'

function memberName(code: DimensionCode): Sql {
  if (isOrderedByName(code)) return ident(`name_of_${code}`)
  return dimensionOf(code).member === null ? sql`CAST(NULL AS VARCHAR)` : sql`${ident(`named_${code}`)}.name`
}

function memberJoin(code: DimensionCode, plan: AggregatePlan, to: 'valued' | 'chosen'): Sql {
  const { member, column } = dimensionOf(code)
  if (member === null) return EMPTY
  const members = membersOf(code, member.dataset === 'facilities' ? plan.facilityPeriod : null)
  const alias = ident(`named_${code}`)
  return sql`\n  LEFT JOIN ${members} AS ${alias} ON ${alias}.code = ${ident(to)}.${ident(column)}`
}
