/**
 * Prints what an answer shows: the CTEs valued, chosen and page, with values, order, the page's rows and member names.
 * Division happens here, after all other arithmetic.
 */
import { type DimensionCode, dimensionOf, isMunicipality, isPlace } from '../../../../model/dimensions.ts'
import { EMPTY, ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { isCollectedEverywhere } from '../../datasets/metric-plan.ts'
import { hasPeers } from '../../options/comparators.ts'
import type { AggregatePlan } from '../../plan.ts'
import { fewFacilityMembers, membersOf } from '../../resident-relations.ts'
import { key } from './facts.ts'
import { indexOf, isMeasured, keptConditions, orderSql, shownValues, valueSql } from './measured.ts'
import { quotientSql } from './quotients.ts'
import { carriedOf, carrierOf, relation, relationAs } from './spine.ts'

/** Codes of a cell's group. null is the member without a code. */
export type GroupKey = Readonly<Partial<Record<DimensionCode, string | number | null>>>

/** Columns: value_i is exact; order_of_… is not rounded. Rows that fail a condition on values are dropped. */
export function valuedCte(plan: AggregatePlan): Sql {
  const shown = shownValues(plan).filter(({ kind }) => kind !== 'percentile')
  const values = shown.map((value) => sql`${valueSql(value, plan)} AS ${ident(value.column)}`)
  const orders = shown
    .filter(
      ({ code, kind }) =>
        plan.query.order_by.some(({ field }) => field === code) ||
        (plan.query.percentile && kind === 'value'),
    )
    .map((value) => sql`${orderSql(value, plan)} AS ${ident(`order_of_${value.column}`)}`)
  const carried = carriedOf(plan).map(({ column }) => ident(column))
  const peers = hasPeers(plan.query) ? [ident('peers')] : []
  const numerators = plan.metrics.map((_, index) => ident(`numerator_${index}`))
  const computed = sql`  SELECT ${join([...plan.query.group_by.map(key), ...carried, ...values, ...peers, ...orders, ...numerators], ',\n    ')}
  FROM ${relation(plan, isMeasured(plan) ? 'measured' : 'joined')}`
  const conditions = [...keptConditions(plan), ...withoutIgnored(plan)]
  if (conditions.length === 0 && !plan.query.rank && !plan.query.percentile) return computed
  const where = conditions.length === 0 ? EMPTY : sql`\n  WHERE ${join(conditions, ' AND ')}`
  return sql`  SELECT *${plan.query.rank ? rankColumn(plan) : EMPTY}${join(percentileColumns(plan), '')}
  FROM (
${computed}
  ) AS computed${where}`
}

/** Equal values share a rank, and the following ranks are skipped. */
function rankColumn(plan: AggregatePlan): Sql {
  const [first] = plan.query.order_by
  const shown = shownValues(plan).find(({ code }) => code === first?.field)
  if (shown === undefined) throw new TypeError('a rank is by a value')
  const order = ident(`order_of_${shown.column}`)
  const way = TEXT(first?.direction === 'desc' ? 'DESC' : 'ASC')
  return sql`, CASE WHEN ${order} IS NOT NULL THEN rank() OVER (ORDER BY ${order} ${way} NULLS LAST) END AS rank`
}

/** Rows below a row in percent of the other rows; equal values share it. Rows without a value have none and are not counted. */
const percentileColumns = (plan: AggregatePlan): Sql[] =>
  shownValues(plan).flatMap((shown) => {
    if (shown.kind !== 'percentile') return []
    const value = ident(`order_of_value_${indexOf(plan, shown)}`)
    const below = sql`CAST(rank() OVER (ORDER BY ${value} NULLS LAST) - 1 AS HUGEINT)`
    const others = sql`CAST(greatest(count(${value}) OVER () - 1, 1) AS HUGEINT)`
    const hundredths = quotientSql(sql`100 * ${below}`, others, shown.decimals)
    return [
      sql`, CASE WHEN ${value} IS NOT NULL THEN CAST(${hundredths} AS DECIMAL(30, 0)) * CAST(0.01 AS DECIMAL(3, 2)) END AS ${ident(shown.column)}`,
    ]
  })

/**
 * Residents without a municipality live in an ignored one or abroad; transfers without one went to a state. Such residents have
 * no health region either, and a region that is not known is no place among the others.
 */
function withoutIgnored({ query: { include_ignored, group_by } }: AggregatePlan): Sql[] {
  if (include_ignored) return []
  return group_by.filter(isPlace).map((code) => {
    if (!isMunicipality(code)) return sql`${key(code)} IS NOT NULL`
    const isListed = sql`${key(code)} NOT IN (SELECT code FROM ${membersOf('municipality')} AS ignored WHERE territorial_type = 'IGNORED')`
    return code === 'municipality'
      ? sql`(${key(code)} IS NULL OR ${isListed})`
      : sql`(${key(code)} IS NOT NULL AND ${isListed})`
  })
}

/**
 * Selects the groups of the page in order. The full key breaks ties.
 * @param isCut false for levels of totals, which show all rows and need no order here
 */
export function chosenCte(plan: AggregatePlan, onlyKey: GroupKey | null, isCut = true): Sql {
  const groups = plan.query.group_by
  const order = orderOf(plan)
  const carrier = carrierOf(plan)
  const byName = groups.filter((code) => isOrderedByName(code) && code !== carrier)
  const joins = byName.map((code) => memberJoin(code, plan, 'valued'))
  const { limit, offset } = plan.query
  const keyConditions =
    onlyKey === null
      ? []
      : groups.map((code) => sql`valued.${key(code)} IS NOT DISTINCT FROM ${onlyKey[code] ?? null}`)
  const where = keyConditions.length === 0 ? EMPTY : sql`\n  WHERE ${join(keyConditions, ' AND ')}`
  const columns = [
    ...groups.map((code) => sql`valued.${key(code)}`),
    ...byName.map((code) => sql`${ident(`named_${code}`)}.name AS ${ident(`name_of_${code}`)}`),
    ...carriedOf(plan).map(({ column }) => sql`valued.${ident(column)}`),
    ...shownColumns(plan),
    ...unknownColumns(plan).map(
      (index) => sql`${ident(`numerator_${index}`)} IS NULL AS ${ident(`unknown_${index}`)}`,
    ),
    ...order.map(({ value }, index) => sql`${value} AS ${ident(`order_${index}`)}`),
  ]
  return sql`  SELECT ${join(columns, ', ')}
  FROM ${relationAs(plan, 'valued')}${join(joins, '')}${where}${isCut ? orderBy(order) : EMPTY}
  LIMIT ${integerLiteral(limit)} OFFSET ${integerLiteral(offset)}`
}

export function pageCte(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  const joined = groups.filter((code) => !isOrderedByName(code))
  const joins = joined.map((code) => memberJoin(code, plan, 'chosen'))
  const columns = [
    ...groups.map((code) => sql`chosen.${key(code)}`),
    ...groups.map((code, index) => sql`${memberName(code)} AS ${ident(`name_${index}`)}`),
    ...shownColumns(plan),
    ...unknownColumns(plan).map((index) => ident(`unknown_${index}`)),
    ...orderOf(plan).map((_, index) => ident(`order_${index}`)),
  ]
  return sql`  SELECT true AS in_page, ${join(columns, ', ')}
  FROM ${relationAs(plan, 'chosen')}${join(joins, '')}`
}

export const shownColumns = (plan: AggregatePlan): Sql[] => [
  ...shownValues(plan).map(({ column }) => ident(column)),
  ...(plan.query.rank ? [ident('rank')] : []),
  ...(hasPeers(plan.query) ? [ident('peers')] : []),
]

/** Metrics that also need unknown_i, which is true when their data was not collected. */
const unknownColumns = ({ metrics }: AggregatePlan): number[] =>
  metrics.flatMap((metric, index) => (isCollectedEverywhere(metric) ? [] : [index]))

interface OrderTerm {
  readonly value: Sql
  readonly way: 'ASC' | 'DESC'
  /** Uses Portuguese collation. */
  readonly isText: boolean
}

export const orderTerms = (order: readonly OrderTerm[], prefix = 'order_'): Sql[] =>
  order.map(({ way, isText }, index) =>
    TEXT(`"${prefix}${index}"${isText ? ' COLLATE pt' : ''} ${way} NULLS LAST`),
  )

export function orderBy(order: readonly OrderTerm[]): Sql {
  const terms = orderTerms(order)
  return terms.length === 0 ? EMPTY : sql`\n  ORDER BY ${join(terms, ', ')}`
}

/** The requested order, then the default order of the dimensions, so that the order is total. */
export function orderOf(plan: AggregatePlan): OrderTerm[] {
  const requested = plan.query.order_by.flatMap(({ field, direction }): OrderTerm[] => {
    const way = direction === 'desc' ? 'DESC' : 'ASC'
    const shown = shownValues(plan).find(({ code }) => code === field)
    if (shown !== undefined) return [{ value: ident(`order_of_${shown.column}`), way, isText: false }]
    return memberOrder(field as DimensionCode, way, plan)
  })
  return [...requested, ...plan.query.group_by.flatMap((code) => memberOrder(code, 'ASC', plan))]
}

/** Places and facilities sort by name in Portuguese, others by code. Members without a code come last. */
function memberOrder(code: DimensionCode, way: 'ASC' | 'DESC', plan: AggregatePlan): OrderTerm[] {
  const byCode: OrderTerm = { value: sql`valued.${key(code)}`, way, isText: false }
  if (!isOrderedByName(code)) return [byCode]
  const isText = code === 'facility' && plan.fewFacilities === null
  const value =
    code === carrierOf(plan)
      ? sql`valued.${ident(`rank_of_${code}`)}`
      : sql`${ident(`named_${code}`)}.${ident(isText ? 'name' : 'name_rank')}`
  return [{ value, way, isText }, byCode]
}

/** Names that decide the order are joined before the page is cut; other names only to the page. */
const isOrderedByName = (code: DimensionCode): boolean => dimensionOf(code).order === 'name'

function memberName(code: DimensionCode): Sql {
  if (isOrderedByName(code)) return ident(`name_of_${code}`)
  return dimensionOf(code).member === null ? sql`CAST(NULL AS VARCHAR)` : sql`${ident(`named_${code}`)}.name`
}

function memberJoin(code: DimensionCode, plan: AggregatePlan, to: 'valued' | 'chosen'): Sql {
  const { member, column } = dimensionOf(code)
  if (member === null) return EMPTY
  const members = member.dataset === 'facilities' ? facilityMembers(plan) : membersOf(code)
  const alias = ident(`named_${code}`)
  return sql`\n  LEFT JOIN ${members} AS ${alias} ON ${alias}.code = ${ident(to)}.${ident(column)}`
}

/** A release of admissions alone has no names of facilities. */
function facilityMembers({ facilityPeriod, fewFacilities }: AggregatePlan): Sql {
  if (facilityPeriod === null)
    return TEXT(
      '(SELECT CAST(NULL AS VARCHAR) AS code, CAST(NULL AS VARCHAR) AS name, CAST(NULL AS BIGINT) AS name_rank WHERE false)',
    )
  return fewFacilities === null
    ? membersOf('facility', facilityPeriod)
    : fewFacilityMembers(fewFacilities, facilityPeriod)
}
