/**
 * Prints the CTE measured and its values: base, change and share of each metric. Numerators and denominators are integers, so
 * that division comes last for these too.
 */
import type { LimitLevel } from '../../../../model/limits/levels.ts'
import type { LimitMethod, Limits } from '../../../../model/limits/methods.ts'
import { finestTime, isTime } from '../../../../model/periods.ts'
import { ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { isTimeless, type MetricPlan } from '../../datasets/metric-plan.ts'
import { type ValueKind, valueCode, valueKindsOf } from '../../options/value-kinds.ts'
import type { AggregatePlan } from '../../plan.ts'
import { comparatorColumns, comparatorJoins, comparedValueSql, significanceSql } from './comparators.ts'
import { key } from './facts.ts'
import { decimalsOf } from './groups.ts'
import { limitSql, type Side } from './limits.ts'
import { longRankSql, quotientSql, rankSql } from './quotients.ts'
import { relation } from './spine.ts'
import { statusSql } from './status.ts'

export interface ShownValue {
  /** Name in an answer: `beds`, `beds__change`. */
  readonly code: string
  readonly metric: MetricPlan
  readonly kind: ValueKind
  readonly column: string
  readonly decimals: number
}

/** Decimals of percents, and of the limits of a count. */
const PERCENT_DECIMALS = 2

function decimalsOfKind(kind: ValueKind, decimals: number): number {
  switch (kind) {
    case 'change_percent':
    case 'share':
    case 'percentile':
    case 'ratio':
      return PERCENT_DECIMALS
    case 'lower':
    case 'upper':
      return Math.max(decimals, PERCENT_DECIMALS)
    default:
      return decimals
  }
}

/** Cache by plan, because writers ask for every row. */
const SHOWN = new WeakMap<AggregatePlan, readonly ShownValue[]>()

export function shownValues(plan: AggregatePlan): readonly ShownValue[] {
  const cached = SHOWN.get(plan)
  if (cached !== undefined) return cached
  const shown = plan.metrics.flatMap((metric, index) =>
    valueKindsOf(metric, plan.query).map((kind) => ({
      code: valueCode(metric.code, kind),
      metric,
      kind,
      column: `${kind}_${index}`,
      decimals: decimalsOfKind(kind, decimalsOf(metric, plan)),
    })),
  )
  SHOWN.set(plan, shown)
  return shown
}

export const isMeasured = ({ base, shareBase, comparator, query }: AggregatePlan): boolean =>
  base !== null || shareBase !== null || comparator !== null || query.limits !== null

/**
 * Joins the numerators and denominators of a row, its base and its share base. Joins use full keys, so no row repeats. Limits are
 * computed here, too, from the row's integers.
 */
export function measuredCte(plan: AggregatePlan): Sql {
  const { base, shareBase } = plan
  const groups = plan.query.group_by
  const columns: Sql[] = []
  const joins: Sql[] = []
  const leftJoin = (name: string, from: Sql, conditions: readonly Sql[]): Sql =>
    sql`\n  LEFT JOIN ${from} AS ${ident(name)} ON ${conditions.length === 0 ? TEXT('true') : join(conditions, ' AND ')}`
  if (base !== null) {
    const finest = finestTime(groups)
    const conditions = [
      ...(finest === null ? [] : [sql`based.compared_period = joined.${key(finest)}`]),
      ...groups
        .filter((code) => !isTime(code))
        .map((code) => sql`based.${key(code)} IS NOT DISTINCT FROM joined.${key(code)}`),
    ]
    joins.push(leftJoin('based', relation(base.plan, 'joined'), conditions))
    plan.metrics.forEach((metric, index) => {
      // The population has no months, so its earlier value is unknown.
      for (const side of ['numerator', 'denominator'])
        columns.push(
          sql`${isTimeless(metric) ? TEXT('CAST(NULL AS HUGEINT)') : sql`based.${ident(`${side}_${index}`)}`} AS ${ident(`base_${side}_${index}`)}`,
        )
    })
  }
  if (shareBase !== null) {
    const conditions = shareBase.query.group_by.map(
      (code) => sql`total.${key(code)} IS NOT DISTINCT FROM joined.${key(code)}`,
    )
    joins.push(leftJoin('total', relation(shareBase, 'joined'), conditions))
    plan.metrics.forEach((_, index) => {
      columns.push(sql`total.${ident(`numerator_${index}`)} AS ${ident(`whole_${index}`)}`)
    })
  }
  const { comparator } = plan
  if (comparator !== null) {
    joins.push(comparatorJoins(comparator))
    columns.push(...comparatorColumns(plan))
  }
  const { limits: level, compare_to } = plan.query
  const limited = level === null && comparator === null ? [] : limitedMetrics(plan)
  for (const { index, metric, method } of limited) {
    const events = method === 'dobson' ? 'standard_events' : 'numerator'
    const factor = method === 'dobson' || metric.denominator === null ? 1 : metric.scale
    columns.push(
      sql`CAST(joined.${ident(`${events}_${index}`)}${factor === 1 ? TEXT('') : sql` // ${integerLiteral(factor)}`} AS DOUBLE) AS ${ident(`events_${index}`)}`,
      sql`CAST(joined.${ident(`denominator_${index}`)} AS DOUBLE) AS ${ident(`exposure_${index}`)}`,
    )
  }
  const levels = new Set([level, comparator === null || compare_to === null ? null : compare_to.level])
  const limitColumns = [...levels].flatMap((confidence) =>
    confidence === null
      ? []
      : limited.flatMap(({ index, metric: { scale }, method }) =>
          (['lower', 'upper'] as const).map(
            (side) =>
              sql`${limitSql(method, side, { index, scale, level: confidence })} AS ${limitIdent(side, confidence, index)}`,
          ),
        ),
  )
  const comparedValues =
    comparator === null
      ? []
      : limited
          .filter(isComparable)
          .map(({ index }) => sql`${comparedValueSql(index)} AS ${ident(`compared_value_${index}`)}`)
  const fractions = shownValues(plan).flatMap((shown) => {
    const index = indexOf(plan, shown)
    const { top, bottom } = derivedFraction(shown, index) ?? { top: null, bottom: null }
    return [
      ...(top === null ? [] : [sql`${top} AS ${ident(`top_${shown.kind}_${index}`)}`]),
      ...(bottom === null ? [] : [sql`${bottom} AS ${ident(`bottom_${shown.kind}_${index}`)}`]),
    ]
  })
  return sql`  SELECT ${join([TEXT('*'), ...fractions, ...limitColumns, ...comparedValues], ',\n    ')}
  FROM (
    SELECT ${join([TEXT('joined.*'), ...columns], ', ')}
    FROM ${relation(plan, 'joined')} AS joined${join(joins, '')}
  ) AS sides`
}

type LimitedMetric = Extract<Limits, { readonly method: LimitMethod }> & {
  readonly index: number
  readonly metric: MetricPlan
}
const limitedMetrics = ({ metrics }: AggregatePlan): LimitedMetric[] =>
  metrics.flatMap((metric, index) => {
    const { limits } = metric
    return limits.method === 'none' ? [] : [{ ...limits, index, metric }]
  })

/** Column of an unrounded limit. Limits that are shown and limits that decide a comparison share it where they are of one level. */
const limitIdent = (side: Side, level: LimitLevel, index: number): Sql =>
  ident(`${side}_at_${Math.round(level * 1000)}_${index}`)

/** @returns the unrounded limit that is shown; null for a metric without limits */
const limitColumn = (shown: ShownValue, plan: AggregatePlan): Sql =>
  shown.metric.limits.method === 'none'
    ? TEXT('CAST(NULL AS DOUBLE)')
    : limitIdent(shown.kind === 'lower' ? 'lower' : 'upper', shownLevel(plan), indexOf(plan, shown))

function shownLevel({ query: { limits } }: AggregatePlan): LimitLevel {
  if (limits === null) throw new TypeError('the query shows no limits')
  return limits
}

const decidingLimits = ({ query: { compare_to } }: AggregatePlan, index: number): Record<Side, Sql> => {
  const level = compare_to?.level ?? 0.95
  return { lower: limitIdent('lower', level, index), upper: limitIdent('upper', level, index) }
}

/** A quotient of integers; null unless the divisor is above 0. */
interface Fraction {
  readonly top: Sql
  readonly bottom: Sql | null
}

/** @returns the fraction of a change or share; null for values and bases, which are columns already */
function derivedFraction(shown: ShownValue, index: number): Fraction | null {
  const { kind, metric } = shown
  const column = (name: string): Sql => ident(`${name}_${index}`)
  const [n, d, baseNumerator, baseDenominator] = [
    column('numerator'),
    column('denominator'),
    column('base_numerator'),
    column('base_denominator'),
  ]
  switch (kind) {
    case 'value':
    case 'base':
    case 'lower':
    case 'upper':
    case 'percentile':
    case 'comparator':
    case 'significance':
    case 'status':
      return null
    case 'ratio':
      return {
        top: sql`${n} * ${column('comparator_denominator')}`,
        bottom: sql`${nullUnlessPositive(d)} * ${nullUnlessPositive(column('comparator_numerator'))}`,
      }
    case 'change':
      return isInteger(shown)
        ? { top: sql`(${n} - ${baseNumerator})`, bottom: null }
        : {
            top: crossDifference(n, d, baseNumerator, baseDenominator),
            bottom: timesPriceUnit(
              sql`${nullUnlessPositive(d)} * ${nullUnlessPositive(baseDenominator)}`,
              metric,
            ),
          }
    case 'change_percent':
      return {
        // A base of events without a denominator has no value, so there is no change from it.
        top: sql`sign(${baseNumerator}) * 100 * ${crossDifference(n, d, baseNumerator, nullUnlessPositive(baseDenominator))}`,
        bottom: sql`abs(${baseNumerator}) * ${nullUnlessPositive(d)}`,
      }
    case 'share': {
      const shareBase = column('whole')
      return { top: sql`sign(${shareBase}) * 100 * ${n}`, bottom: sql`abs(${shareBase})` }
    }
  }
}

/** Ratios of the query may have no decimals, and are still divided. */
const isInteger = ({ decimals, metric }: ShownValue): boolean => decimals === 0 && metric.sides === null

/** @returns a value as a fraction of columns; integers have no divisor */
function fractionOf(shown: ShownValue, index: number): Fraction {
  const { kind, metric } = shown
  const isWhole = isInteger(shown)
  if (kind === 'value' || kind === 'base' || kind === 'comparator') {
    const side = kind === 'value' ? '' : `${kind}_`
    return {
      top: ident(`${side}numerator_${index}`),
      bottom: isWhole ? null : timesPriceUnit(ident(`${side}denominator_${index}`), metric),
    }
  }
  return {
    top: ident(`top_${kind}_${index}`),
    bottom: isWhole ? null : ident(`bottom_${kind}_${index}`),
  }
}

/** Percents and ratios divide values of one unit, so only amounts need it. */
const timesPriceUnit = (divisor: Sql, { priceUnit }: MetricPlan): Sql =>
  priceUnit === 1 ? divisor : sql`(${divisor} * ${integerLiteral(priceUnit)})`
const nullUnlessPositive = (value: Sql): Sql => sql`CASE WHEN ${value} > 0 THEN ${value} END`
const crossDifference = (n: Sql, d: Sql, was: Sql, of: Sql): Sql => sql`(${n} * ${of} - ${was} * ${d})`

/** @returns the exact number that is shown */
export function valueSql(shown: ShownValue, plan: AggregatePlan): Sql {
  const { decimals } = shown
  const index = indexOf(plan, shown)
  const unit = TEXT(
    `CAST(0.${'0'.repeat(Math.max(decimals - 1, 0))}1 AS DECIMAL(${decimals + 1}, ${decimals}))`,
  )
  if (shown.kind === 'significance')
    return isComparable(shown) ? significanceSql(index, decidingLimits(plan, index)) : TEXT("'not_compared'")
  if (shown.kind === 'status') return statusSql(shown.metric, index)
  // An expression of a null constant has another type in each version of DuckDB.
  if (isLimit(shown) && shown.metric.limits.method === 'none')
    return TEXT(`CAST(NULL AS DECIMAL(38, ${decimals}))`)
  // No limit is negative, so adding a half and dropping the fraction rounds half away from zero.
  if (isLimit(shown))
    return sql`CAST(floor(${limitColumn(shown, plan)} * ${TEXT((10 ** decimals).toExponential())} + 5e-1) AS DECIMAL(30, 0)) * ${unit}`
  const { top, bottom } = fractionOf(shown, index)
  if (bottom === null) return top
  const quotient = quotientSql(top, bottom, decimals)
  if (decimals === 0) return sql`CASE WHEN ${bottom} > 0 THEN ${quotient} END`
  return sql`CASE WHEN ${bottom} > 0 THEN CAST(${quotient} AS DECIMAL(30, 0)) * ${unit} END`
}

/** A count of a place says nothing beside the count of a larger one, so only rates and proportions are compared. */
const isComparable = ({ metric }: Pick<ShownValue, 'metric'>): boolean =>
  metric.denominator !== null && metric.limits.method !== 'none'

const isLimit = ({ kind }: ShownValue): boolean => kind === 'lower' || kind === 'upper'

/** @returns the unrounded number that rows are ordered by */
export function orderSql(shown: ShownValue, plan: AggregatePlan): Sql {
  if (isLimit(shown)) return limitColumn(shown, plan)
  const { top, bottom } = fractionOf(shown, indexOf(plan, shown))
  if (bottom === null) return top
  const isShort = shown.kind === 'value' || shown.kind === 'share'
  const rank =
    shown.metric.priceUnit > 1
      ? longRankSql(top, bottom, 6)
      : isShort
        ? rankSql(top, bottom)
        : longRankSql(top, bottom)
  return sql`CASE WHEN ${bottom} > 0 THEN ${rank} END`
}

/** @returns the index of a metric in the plan, which ends the names of its columns */
export const indexOf = (plan: AggregatePlan, { metric }: ShownValue): number => plan.metrics.indexOf(metric)

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

/** Inlines a number of a request as digits, because DuckDB plans statements with parameters twice. */
function exactNumber(value: number): Sql {
  const digits = value.toFixed(6)
  if (!/^-?\d{1,32}\.\d{6}$/.test(digits)) throw new TypeError(`not a decimal number: ${digits}`)
  return TEXT(`CAST('${digits}' AS DECIMAL(38, 6))`)
}
