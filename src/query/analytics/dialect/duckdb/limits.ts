/**
 * Prints confidence limits from a row's integers: events, and what they are counted among. Only +, −, ×, ÷, √ of DOUBLE are
 * used, one operation at a time, so that DuckDB gives the digits that any IEEE machine gives. Formulas: docs/statistics.md.
 */
import {
  STANDARDIZED_DECIMALS,
  VARIANCE_DECIMALS,
} from '../../../../model/demography/standard-populations.ts'
import { FEW_EVENTS, LEVEL_CONSTANTS, type LimitLevel } from '../../../../model/limits/levels.ts'
import type { LimitMethod } from '../../../../model/limits/methods.ts'
import { ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'

export type Side = 'lower' | 'upper'

/** Columns of a metric in the row, by its index in the plan. */
const column = (name: string, index: number): Sql => ident(`${name}_${index}`)
/** Prints a number so that DuckDB reads the same double: with an exponent it is no DECIMAL. */
const double = (value: number): Sql => TEXT(value.toExponential())

/**
 * @param scale what a rate is multiplied by, such as 100 or 100000
 * @returns a DOUBLE; null without events or denominator, and where the method has no limit
 */
export function limitSql(
  method: LimitMethod,
  side: Side,
  { index, scale, level }: { readonly index: number; readonly scale: number; readonly level: LimitLevel },
): Sql {
  switch (method) {
    case 'wilson':
      return wilsonSql(side, index, scale, level)
    case 'poisson': {
      const people = column('exposure', index)
      return sql`CASE WHEN ${people} > 0 THEN ${poissonSql(side, column('events', index), level)} * ${double(scale)} / ${people} END`
    }
    case 'dobson':
      return dobsonSql(side, index, scale, level)
    case 'chiang':
      return chiangSql(side, index, level)
  }
}

function wilsonSql(side: Side, index: number, scale: number, level: LimitLevel): Sql {
  const { z } = LEVEL_CONSTANTS[level]
  const [x, n] = [column('events', index), column('exposure', index)]
  const root = sql`${double(z)} * sqrt(${double(z * z)} + 4e0 * ${x} * (1e0 - ${x} / ${n}))`
  const sum = sql`2e0 * ${x} + ${double(z * z)} ${TEXT(side === 'lower' ? '-' : '+')} ${root}`
  // A published file may count more events than it counts them among; a proportion above 1 has no limits.
  return sql`CASE WHEN ${n} > 0 AND ${x} BETWEEN 0 AND ${n} THEN ${double(scale)} * (${sum}) / (2e0 * (${n} + ${double(z * z)})) END`
}

/** Limits of a count: exact below FEW_EVENTS, Byar's approximation from there on. */
function poissonSql(side: Side, events: Sql, level: LimitLevel): Sql {
  const { z, poisson } = LEVEL_CONSTANTS[level]
  const exact = poisson.map(
    (limits, count) => sql`WHEN ${TEXT(String(count))} THEN ${double(limits[side === 'lower' ? 0 : 1])}`,
  )
  const count = side === 'lower' ? events : sql`(${events} + 1e0)`
  const term = sql`(1e0 - 1e0 / (9e0 * ${count}) ${TEXT(side === 'lower' ? '-' : '+')} ${double(z)} / (3e0 * sqrt(${count})))`
  return sql`(CASE WHEN ${events} >= ${TEXT(String(FEW_EVENTS))} THEN ${count} * ${term} * ${term} * ${term} ELSE CASE ${events} ${join(exact, ' ')} END END)`
}

/** Years, moved by z standard errors. */
function chiangSql(side: Side, index: number, level: LimitLevel): Sql {
  const years = sql`CAST(${column('numerator', index)} AS DOUBLE) / ${column('exposure', index)}`
  const error = sql`${double(LEVEL_CONSTANTS[level].z)} * sqrt(${column('standard_variance', index)})`
  return sql`CASE WHEN ${column('exposure', index)} > 0 THEN greatest(0e0, ${years} ${TEXT(side === 'lower' ? '-' : '+')} ${error}) END`
}

/** The rate, moved by its standard error as far as the limit of the count lies from the count. */
function dobsonSql(side: Side, index: number, scale: number, level: LimitLevel): Sql {
  const [events, people] = [column('events', index), column('exposure', index)]
  const rate = sql`CAST(${column('numerator', index)} AS DOUBLE) / ${people}`
  const variance = sql`CAST(${column('standard_variance', index)} AS DOUBLE) / ${double(10 ** VARIANCE_DECIMALS)}`
  const weights = sql`(${people} / ${double(10 ** STANDARDIZED_DECIMALS)})`
  const error = sql`sqrt(${variance} / ${events}) * (${poissonSql(side, events, level)} - ${events}) * ${double(scale)} / ${weights}`
  return sql`CASE WHEN ${people} > 0 AND ${events} >= ${TEXT(String(FEW_EVENTS))} THEN ${rate} + ${error} END`
}
