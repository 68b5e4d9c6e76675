/**
 * What a row shows beside the value of a metric: its base, its change, its share. In: a plan. Out: the CTE measured, which
 * puts the numerators and denominators of all of them side by side, and each as an exact expression over it. Quotients are
 * of whole numbers, so that division is the last step of a change, too.
 */
import { isPopulation } from '../../../../model/dimensions.ts'
import { factDatasetsOf } from '../../../../model/metrics.ts'
import { ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { type Part, partsOf, valueCode } from '../../options.ts'
import type { AggregatePlan, MetricPlan } from '../../plan.ts'
import { key } from './facts.ts'
import { decimalsOf, relation } from './groups.ts'
import { longRankSql, quotientSql, rankSql } from './quotients.ts'

/** One number that a row shows. */
export interface ShownValue {
  /** Its name in an answer: beds, beds__change. */
  readonly code: string
  readonly metric: MetricPlan
  readonly part: Part
  /** Column of the statement's result. */
  readonly column: string
  readonly decimals: number
}

/** By plan: rows of an answer are written one by one, and each asks. */
const SHOWN = new WeakMap<AggregatePlan, readonly ShownValue[]>()

/** @returns the numbers of a row in order: each metric with what stands beside it */
export function shownValues(plan: AggregatePlan): readonly ShownValue[] {
  const known = SHOWN.get(plan)
  if (known !== undefined) return known
  const shown = plan.metrics.flatMap((metric, index) =>
    partsOf(metric.code, plan.query).map((part) => ({
      code: valueCode(metric.code, part),
      metric,
      part,
      column: `${part}_${index}`,
      decimals: part === 'change_percent' || part === 'share' ? 2 : decimalsOf(metric, plan),
    })),
  )
  SHOWN.set(plan, shown)
  return shown
}

/** Is there anything beside the values themselves? */
export const isMeasured = ({ base, whole }: AggregatePlan): boolean => base !== null || whole !== null

/** Numerators and denominators of a row, of its base and of its whole; joins are on full keys, so no row is repeated. */
export function measuredCte(plan: AggregatePlan): Sql {
  const { base, whole } = plan
  const groups = plan.query.group_by
  const columns: Sql[] = []
  const joins: Sql[] = []
  const joinOn = (name: string, from: Sql, same: readonly Sql[]): Sql =>
    sql`\n  LEFT JOIN ${from} AS ${ident(name)} ON ${same.length === 0 ? TEXT('true') : join(same, ' AND ')}`
  if (base !== null) {
    const same = groups.map((code) =>
      code === 'reference_period'
        ? TEXT('based.compared_period = joined.reference_period')
        : sql`based.${key(code)} IS NOT DISTINCT FROM joined.${key(code)}`,
    )
    joins.push(joinOn('based', relation(base.plan, 'joined'), same))
    plan.metrics.forEach(({ code }, index) => {
      // The population has no months: what it was in another one is not known.
      const isTimeless = factDatasetsOf(code).some(isPopulation)
      for (const side of ['numerator', 'denominator'])
        columns.push(
          sql`${isTimeless ? TEXT('CAST(NULL AS HUGEINT)') : sql`based.${ident(`${side}_${index}`)}`} AS ${ident(`base_${side}_${index}`)}`,
        )
    })
  }
  if (whole !== null) {
    const same = whole.query.group_by.map(
      (code) => sql`total.${key(code)} IS NOT DISTINCT FROM joined.${key(code)}`,
    )
    joins.push(joinOn('total', relation(whole, 'joined'), same))
    plan.metrics.forEach((_, index) => {
      columns.push(sql`total.${ident(`numerator_${index}`)} AS ${ident(`whole_${index}`)}`)
    })
  }
  const fractions = shownValues(plan).flatMap((shown) => {
    const index = indexOf(plan, shown)
    const { top, bottom } = derivedFraction(shown, index) ?? { top: null, bottom: null }
    return [
      ...(top === null ? [] : [sql`${top} AS ${ident(`top_${shown.part}_${index}`)}`]),
      ...(bottom === null ? [] : [sql`${bottom} AS ${ident(`bottom_${shown.part}_${index}`)}`]),
    ]
  })
  return sql`  SELECT ${join([TEXT('*'), ...fractions], ',\n    ')}
  FROM (
    SELECT ${join([TEXT('joined.*'), ...columns], ', ')}
    FROM ${relation(plan, 'joined')} AS joined${join(joins, '')}
  ) AS sides`
}

/** A quotient: both sides whole numbers; nothing where the divisor is not above 0. */
interface Fraction {
  readonly top: Sql
  readonly bottom: Sql | null
}

/** What is beside a value and its base, from the sides of both; null for those, which are sides themselves. */
function derivedFraction({ part, decimals }: ShownValue, index: number): Fraction | null {
  const column = (name: string): Sql => ident(`${name}_${index}`)
  const [n, d, was, of] = [
    column('numerator'),
    column('denominator'),
    column('base_numerator'),
    column('base_denominator'),
  ]
  switch (part) {
    case 'value':
    case 'base':
      return null
    case 'change':
      return decimals === 0
        ? { top: sql`(${n} - ${was})`, bottom: null }
        : { top: crossDifference(n, d, was, of), bottom: sql`${positive(d)} * ${positive(of)}` }
    case 'change_percent':
      return {
        top: sql`sign(${was}) * 100 * ${crossDifference(n, d, was, of)}`,
        bottom: sql`abs(${was}) * ${positive(d)}`,
      }
    case 'share': {
      const all = column('whole')
      return { top: sql`sign(${all}) * 100 * ${n}`, bottom: sql`abs(${all})` }
    }
  }
}

/** The number as a fraction over the columns of measured (or joined); of whole numbers without a divisor. */
function fractionOf({ part, decimals }: ShownValue, index: number): Fraction {
  const isWhole = decimals === 0
  if (part === 'value' || part === 'base') {
    const side = part === 'value' ? '' : 'base_'
    return {
      top: ident(`${side}numerator_${index}`),
      bottom: isWhole ? null : ident(`${side}denominator_${index}`),
    }
  }
  return {
    top: ident(`top_${part}_${index}`),
    bottom: isWhole ? null : ident(`bottom_${part}_${index}`),
  }
}

const positive = (value: Sql): Sql => sql`CASE WHEN ${value} > 0 THEN ${value} END`
/** Numerator of the difference of two quotients. */
const crossDifference = (n: Sql, d: Sql, was: Sql, of: Sql): Sql => sql`(${n} * ${of} - ${was} * ${d})`

/** The number as it is shown, exact. @param index of its metric */
export function valueSql(shown: ShownValue, index: number): Sql {
  const { top, bottom } = fractionOf(shown, index)
  if (bottom === null) return top
  const { decimals } = shown
  const unit = TEXT(
    `CAST(1 AS DECIMAL(1, 0)) * CAST(0.${'0'.repeat(decimals - 1)}1 AS DECIMAL(${decimals + 1}, ${decimals}))`,
  )
  return sql`CASE WHEN ${bottom} > 0 THEN CAST(${quotientSql(top, bottom, decimals)} AS DECIMAL(30, 0)) * ${unit} END`
}

/** The number as rows are ordered by it: not rounded. @param index of its metric */
export function orderSql(shown: ShownValue, index: number): Sql {
  const { top, bottom } = fractionOf(shown, index)
  if (bottom === null) return top
  const rank = shown.part === 'value' || shown.part === 'share' ? rankSql : longRankSql
  return sql`CASE WHEN ${bottom} > 0 THEN ${rank(top, bottom)} END`
}

/** Place of a metric in the plan, which the names of its columns end with. */
export const indexOf = (plan: AggregatePlan, { metric }: ShownValue): number => plan.metrics.indexOf(metric)

/** Rows that conditions on values leave, and that are asked for. */
export function keptConditions(plan: AggregatePlan): Sql[] {
  const shown = shownValues(plan)
  return plan.query.having.map(({ metric, operator, values }) => {
    const found = shown.find(({ code }) => code === metric)
    if (found === undefined) throw new TypeError(`the plan lacks ${metric}`)
    const value = sql`CAST(${ident(found.column)} AS DECIMAL(38, 6))`
    const [low = TEXT('NULL'), high = TEXT('NULL')] = values.map(exactNumber)
    const sign = { GT: '>', GTE: '>=', LT: '<', LTE: '<=', EQ: '=' }
    return operator === 'BETWEEN'
      ? sql`(${value} >= ${low} AND ${value} <= ${high})`
      : sql`${value} ${TEXT(sign[operator])} ${low}`
  })
}

/** A number of a request, exact. */
const exactNumber = (value: number): Sql => sql`CAST(${value.toFixed(6)} AS DECIMAL(38, 6))`
