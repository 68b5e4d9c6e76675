/** Prints what a quantity is multiplied by in each month: the days of the month, or the factor of its prices. Either engine may run it. */
import type { Measure } from '../../../../model/metrics.ts'
import { either, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { daysIn } from '../../periods.ts'
import { HUGE } from '../differences.ts'

/** @returns a quantity times the days of its month, or times the factor of its month's prices */
export function timesMonth(
  field: Sql,
  { timesDays, factors }: Measure,
  periods: readonly number[],
  month: Sql = TEXT('facts.reference_period'),
): Sql {
  if (timesDays === true) return sql`${field} * ${daysOfMonth(month, periods)}`
  return factors === undefined ? field : sql`CAST(${field} AS ${HUGE}) * ${factorOfMonth(month, factors)}`
}

const daysOfMonth = (month: Sql, periods: readonly number[]): Sql =>
  sql`CASE ${month} ${join(
    periods.map((period) => sql`WHEN ${integerLiteral(period)} THEN ${integerLiteral(daysIn(period))}`),
    ' ',
  )} END`

/** Months without a factor have no price index. Their groups are null, whatever is added up here. */
const factorOfMonth = (month: Sql, factors: NonNullable<Measure['factors']>): Sql =>
  factors.length === 0
    ? sql`CAST(0 AS ${HUGE})`
    : sql`CASE ${month} ${join(
        factors.map(
          ([period, factor]) =>
            sql`WHEN ${integerLiteral(period)} THEN CAST(${longInteger(factor)} AS ${HUGE})`,
        ),
        ' ',
      )} END`

/** Trino reads an integer of more than 18 digits only as a decimal. */
const longInteger = (digits: string): Sql => either(TEXT(digits), TEXT(`DECIMAL '${digits}'`))
