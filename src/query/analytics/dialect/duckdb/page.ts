/**
 * What an answer shows: the value of each metric, the order of the groups, the page that is cut from them, and the names of
 * its members. In: a plan. Out: the CTEs valued, chosen and page. Division is here, and is the last arithmetic there is.
 */
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT, whole } from '../../../../sql.ts'
import { type AggregatePlan, isKnownEverywhere } from '../../plan.ts'
import { fewFacilityMembers, membersOf } from '../../resident-relations.ts'
import { key } from './facts.ts'
import { carriedOf, carrierOf, relation, relationAs } from './groups.ts'
import { indexOf, isMeasured, keptConditions, orderSql, shownValues, valueSql } from './measured.ts'

/** The member of each grouped dimension that a cell belongs to; null is the member without a code. */
export type GroupKey = Readonly<Partial<Record<DimensionCode, string | number | null>>>

/** value_i: what is shown, exact; order_of_…: what is ordered by, not rounded; rows that conditions leave out are gone. */
export function valuedCte(plan: AggregatePlan): Sql {
  const shown = shownValues(plan)
  const values = shown.map((own) => sql`${valueSql(own, indexOf(plan, own))} AS ${ident(own.column)}`)
  const orders = shown
    .filter(({ code }) => plan.query.order_by.some(({ field }) => field === code))
    .map((own) => sql`${orderSql(own, indexOf(plan, own))} AS ${ident(`order_of_${own.column}`)}`)
  const carried = carriedOf(plan).map(({ column }) => ident(column))
  const numerators = plan.metrics.map((_, index) => ident(`numerator_${index}`))
  const computed = sql`  SELECT ${join([...plan.query.group_by.map(key), ...carried, ...values, ...orders, ...numerators], ',\n    ')}
  FROM ${relation(plan, isMeasured(plan) ? 'measured' : 'joined')}`
  const conditions = [...keptConditions(plan), ...withoutIgnored(plan)]
  if (conditions.length === 0 && !plan.query.rank) return computed
  const where = conditions.length === 0 ? EMPTY : sql`\n  WHERE ${join(conditions, ' AND ')}`
  return sql`  SELECT *${plan.query.rank ? rankColumn(plan) : EMPTY}
  FROM (
${computed}
  ) AS computed${where}`
}

/** Equal values have one place, and the next one is as many places further. */
function rankColumn(plan: AggregatePlan): Sql {
  const [first] = plan.query.order_by
  const shown = shownValues(plan).find(({ code }) => code === first?.field)
  if (shown === undefined) throw new TypeError('a rank is by a value')
  const order = ident(`order_of_${shown.column}`)
  const way = TEXT(first?.direction === 'desc' ? 'DESC' : 'ASC')
  return sql`, CASE WHEN ${order} IS NOT NULL THEN rank() OVER (ORDER BY ${order} ${way} NULLS LAST) END AS rank`
}

function withoutIgnored({ query: { include_ignored, group_by } }: AggregatePlan): Sql[] {
  if (include_ignored || !group_by.includes('municipality')) return []
  return [
    sql`(${key('municipality')} IS NULL OR ${key('municipality')} NOT IN (SELECT code FROM ${membersOf('municipality')} AS ignored WHERE territorial_type = 'IGNORED'))`,
  ]
}

/**
 * Groups of the page in order, and what they are ordered by; ties are broken by the whole key.
 * @param isCut false: of a level, all rows of which are shown: there is nothing to order before that
 */
export function chosenCte(plan: AggregatePlan, only: GroupKey | null, isCut = true): Sql {
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
    ...carriedOf(plan).map(({ column }) => sql`valued.${ident(column)}`),
    ...shownColumns(plan),
    ...unknownColumns(plan).map(
      (index) => sql`${ident(`numerator_${index}`)} IS NULL AS ${ident(`unknown_${index}`)}`,
    ),
    ...order.map(({ value }, index) => sql`${value} AS ${ident(`order_${index}`)}`),
  ]
  return sql`  SELECT ${join(columns, ', ')}
  FROM ${relationAs(plan, 'valued')}${join(joins, '')}${wanted}${isCut ? orderBy(order) : EMPTY}
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
    ...shownColumns(plan),
    ...unknownColumns(plan).map((index) => ident(`unknown_${index}`)),
    ...orderOf(plan).map((_, index) => ident(`order_${index}`)),
  ]
  return sql`  SELECT true AS in_page, ${join(columns, ', ')}
  FROM ${relationAs(plan, 'chosen')}${join(joins, '')}`
}

/** Columns of a row's numbers. */
export const shownColumns = (plan: AggregatePlan): Sql[] => [
  ...shownValues(plan).map(({ column }) => ident(column)),
  ...(plan.query.rank ? [ident('rank')] : []),
]

/** Metrics whose rows also say whether what they need was collected: unknown_i. */
const unknownColumns = ({ metrics }: AggregatePlan): number[] =>
  metrics.flatMap((metric, index) => (isKnownEverywhere(metric) ? [] : [index]))

interface OrderTerm {
  readonly value: Sql
  readonly way: 'ASC' | 'DESC'
  /** Ordered as text of a Portuguese reader. */
  readonly isText: boolean
}

/** @param prefix of the columns that hold what is ordered by */
export const orderTerms = (order: readonly OrderTerm[], prefix = 'order_'): Sql[] =>
  order.map(({ way, isText }, index) =>
    TEXT(`"${prefix}${index}"${isText ? ' COLLATE pt' : ''} ${way} NULLS LAST`),
  )

export function orderBy(order: readonly OrderTerm[]): Sql {
  const terms = orderTerms(order)
  return terms.length === 0 ? EMPTY : sql`\n  ORDER BY ${join(terms, ', ')}`
}

/** The requested order, then the dimensions' own order, so that it is total. */
export function orderOf(plan: AggregatePlan): OrderTerm[] {
  const requested = plan.query.order_by.flatMap(({ field, direction }): OrderTerm[] => {
    const way = direction === 'desc' ? 'DESC' : 'ASC'
    const shown = shownValues(plan).find(({ code }) => code === field)
    if (shown !== undefined) return [{ value: ident(`order_of_${shown.column}`), way, isText: false }]
    return memberOrder(field as DimensionCode, way, plan)
  })
  return [...requested, ...plan.query.group_by.flatMap((code) => memberOrder(code, 'ASC', plan))]
}

/** Places and facilities as a Portuguese reader sorts names; codes by their bytes; members without a code last. */
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

/** Names that decide the order are joined before the page is cut, the others to the page alone. */
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

/** Names of facilities; a release of admissions alone has none. */
function facilityMembers({ facilityPeriod, fewFacilities }: AggregatePlan): Sql {
  if (facilityPeriod === null)
    return TEXT(
      '(SELECT CAST(NULL AS VARCHAR) AS code, CAST(NULL AS VARCHAR) AS name, CAST(NULL AS BIGINT) AS name_rank WHERE false)',
    )
  return fewFacilities === null
    ? membersOf('facility', facilityPeriod)
    : fewFacilityMembers(fewFacilities, facilityPeriod)
}
