/**
 * What an answer shows: the value of each metric, the order of the groups, the page that is cut from them, and the names of
 * its members. In: a plan. Out: the CTEs valued, chosen and page. Division is here, and is the last arithmetic there is.
 */
import { type DimensionCode, dimensionOf } from '../../../model/dimensions.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT, whole } from '../../../sql.ts'
import type { AggregatePlan } from '../../aggregate.ts'
import { membersOf } from '../../resident-relations.ts'
import { key } from './facts.ts'
import { carriedOf, carrierOf, decimalsOf } from './groups.ts'
import { quotientSql, rankSql } from './quotients.ts'

/** The member of each grouped dimension that a cell belongs to; null is the member without a code. */
export type GroupKey = Readonly<Partial<Record<DimensionCode, string | number | null>>>

/** value_i: what is shown, exact; rank_i: what is ordered by, not rounded. */
export function valuedCte(plan: AggregatePlan): Sql {
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
export function chosenCte(plan: AggregatePlan, only: GroupKey | null): Sql {
  const groups = plan.query.group_by
  const order = orderOf(plan)
  const carrier = carrierOf(plan)
  const byName = groups.filter((code) => isOrderedByName(code) && code !== carrier)
  const joins = byName.map((code) => memberJoin(code, plan, 'valued'))
  const { limit, offset } = plan.query
  const isWanted =
    only === null
      ? []
      : groups.map((code) => sql`valued.${key(code)} IS NOT DISTINCT FROM ${only[code] ?? null}`)
  const wanted = isWanted.length === 0 ? EMPTY : sql`\n  WHERE ${join(isWanted, ' AND ')}`
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
export function pageCte(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  const joined = groups.filter((code) => !isOrderedByName(code))
  const joins = joined.map((code) => memberJoin(code, plan, 'chosen'))
  const columns = [
    ...groups.map((code) => sql`chosen.${key(code)}`),
    ...groups.map((code, index) => sql`${memberName(code)} AS ${ident(`name_${index}`)}`),
    ...(groups.includes('municipality') ? [ident('municipality_uf')] : []),
    ...(groups.includes('state') ? [ident('state_ibge_code')] : []),
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

export function orderBy(order: readonly OrderTerm[]): Sql {
  const terms = order.map(({ way, isText }, index) =>
    TEXT(`"order_${index}"${isText ? ' COLLATE pt' : ''} ${way} NULLS LAST`),
  )
  return terms.length === 0 ? EMPTY : sql`\n  ORDER BY ${join(terms, ', ')}`
}

/** The requested order, then the dimensions' own order, so that it is total. */
export function orderOf(plan: AggregatePlan): OrderTerm[] {
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
