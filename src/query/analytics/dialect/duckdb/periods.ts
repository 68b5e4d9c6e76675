/** Prints the columns of periods: which period a month lies in, and the windows that a month is part of. */
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import {
  isTime,
  monthsOfPeriod,
  periodOf,
  TIME_DIMENSIONS,
  type TimeDimension,
} from '../../../../model/periods.ts'
import { isMonthZero } from '../../../../release/view.ts'
import { either, ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { DatasetPlan } from '../../plan.ts'

const quotient = (top: Sql, bottom: number): Sql =>
  either(sql`${top} // ${integerLiteral(bottom)}`, sql`${top} / ${integerLiteral(bottom)}`)

/** @param month YYYYMM, an integer column */
export function periodSql(dimension: TimeDimension, month: Sql): Sql {
  if (dimension === 'reference_period') return month
  const year = quotient(month, 100)
  if (dimension === 'reference_year') return sql`(${year})`
  const length = dimension === 'reference_quarter' ? 3 : 4
  const part = quotient(sql`(${month} % 100 + ${integerLiteral(length - 1)})`, length)
  return sql`((${year}) * 10 + ${part})`
}

const WINDOW_PERIOD = ident('window_period')

/** Column of the month that a row of facts counts in: that of its window, else its own. */
const monthOf = ({ time }: Pick<DatasetPlan, 'time'>): Sql =>
  time?.isWindow === true ? sql`facts.${WINDOW_PERIOD}` : TEXT('facts.reference_period')

/** @returns the column or expression of a dimension in a relation named facts */
export const factKey = (code: DimensionCode, plan: Pick<DatasetPlan, 'time'> = { time: null }): Sql =>
  isTime(code) ? periodSql(code, monthOf(plan)) : sql`facts.${ident(dimensionOf(code).column)}`

/** Periods are expressions, so they need a name. */
export const integerKey = (code: DimensionCode, plan: DatasetPlan): Sql =>
  isTime(code) && (plan.time !== null || code !== 'reference_period')
    ? sql`${factKey(code, plan)} AS ${ident(dimensionOf(code).column)}`
    : factKey(code, plan)
/** The month of a row, where months become one value. */
export const monthColumn = ({ time }: DatasetPlan): Sql =>
  time === null ? TEXT('facts.reference_period') : TEXT('facts.reference_period AS month_of_facts')

/** Repeats each row of facts for every window that its month is part of. */
export function withWindows(facts: Sql, { time }: Pick<DatasetPlan, 'time'>): Sql {
  if (time?.isWindow !== true) return facts
  const pairs = time.cells.flatMap(({ code, months }) =>
    months.map((month) => sql`(${integerLiteral(month)}, ${integerLiteral(code)})`),
  )
  const windows =
    pairs.length === 0
      ? sql`(SELECT CAST(0 AS INTEGER) AS month_of_window, CAST(0 AS INTEGER) AS ${WINDOW_PERIOD} WHERE false)`
      : sql`(VALUES ${join(pairs, ', ')})`
  return sql`(SELECT unwindowed.*, windows.${WINDOW_PERIOD} FROM ${facts} AS unwindowed JOIN ${windows} AS windows(month_of_window, ${WINDOW_PERIOD}) ON windows.month_of_window = unwindowed.reference_period)`
}

/** Largest number of months that a value is an average of. */
export const monthsDividedBy = ({ over, time, periods }: DatasetPlan): number =>
  over !== 'avg' ? 1 : time === null ? periods.length : Math.max(...time.cells.map(({ count }) => count))

/** Number of months that a value is an average of, which may differ between the periods of a group; null when it is 1. */
export function monthsSql(plan: DatasetPlan): Sql | null {
  const most = monthsDividedBy(plan)
  const cells = plan.time?.cells ?? []
  const finest = plan.time?.dimension ?? null
  if (plan.over !== 'avg' || finest === null || cells.every(({ count }) => count === most))
    return most === 1 ? null : integerLiteral(most)
  return sql`CASE spine.${ident(dimensionOf(finest).column)} ${join(
    cells.map(({ code, count }) => sql`WHEN ${integerLiteral(code)} THEN ${integerLiteral(count)}`),
    ' ',
  )} END`
}

/** @param finest finest grouped period, or null @returns number of months that a group's flows are summed over, at least 1 */
export function monthsSummed({ time, periods }: DatasetPlan, finest: TimeDimension | null): Sql {
  const months = periods.filter((period) => !isMonthZero(period))
  if (time === null) return integerLiteral(finest === null ? Math.max(1, months.length) : 1)
  const { dimension, cells } = time
  if (cells.length === 0) return integerLiteral(1)
  if (dimension === null) return integerLiteral(Math.max(1, ...cells.map(({ count }) => count)))
  return sql`CASE spine.${ident(dimensionOf(dimension).column)} ${join(
    cells.map(
      ({ code, count }) => sql`WHEN ${integerLiteral(code)} THEN ${integerLiteral(Math.max(1, count))}`,
    ),
    ' ',
  )} END`
}

/** @returns whether a group has rows of a single month */
export const isOneMonthEach = ({
  time,
  periods,
  keys,
}: Pick<DatasetPlan, 'time' | 'periods' | 'keys'>): boolean =>
  time === null
    ? periods.length <= 1 || keys.includes('reference_period')
    : time.cells.every(({ months }) => months.length <= 1)

const integers = (values: readonly number[]): Sql =>
  sql`CAST(unnest([${join(values.map(integerLiteral), ', ')}]) AS INTEGER)`

/** @returns a relation with a row for each period and a column for each grouped dimension of time; empty without periods */
export function periodRelation(groups: readonly DimensionCode[], codes: readonly number[]): Sql {
  const columns = timeColumns(groups, codes, '')
  return codes.length === 0
    ? sql`(SELECT ${join(
        columns.map(({ name }) => sql`CAST(0 AS INTEGER) AS ${name}`),
        ', ',
      )} WHERE false)`
    : sql`(SELECT ${join(
        columns.map(({ name, values }) => sql`${integers(values)} AS ${name}`),
        ', ',
      )})`
}

interface TimeColumn {
  readonly code: TimeDimension
  readonly name: Sql
  readonly values: readonly number[]
}

/** @param codes of the finest grouped period, which decides the others */
function timeColumns(
  groups: readonly DimensionCode[],
  codes: readonly number[],
  prefix: string,
): TimeColumn[] {
  const grouped = TIME_DIMENSIONS.filter((code) => groups.includes(code))
  const [finest] = grouped
  return grouped.map((code) => ({
    code,
    name: ident(`${prefix}${code}`),
    values: finest === undefined ? [] : codes.map((period) => coarser(finest, code, period)),
  }))
}

/** @returns the code of the coarser period that contains a period */
export const coarser = (finest: TimeDimension, code: TimeDimension, period: number): number =>
  code === finest ? period : periodOf(code, monthsOfPeriod(finest, period)[0] ?? 0)

/** @returns pairs of periods with columns named as the dimensions, and base_… for the periods compared with */
export function pairRelation(
  groups: readonly DimensionCode[],
  pairs: readonly { readonly period: number; readonly base: number }[],
): Sql {
  const columns = [
    ...timeColumns(
      groups,
      pairs.map(({ period }) => period),
      '',
    ),
    ...timeColumns(
      groups,
      pairs.map(({ base }) => base),
      'base_',
    ),
  ]
  return sql`(SELECT ${join(
    columns.map(({ name, values }) => sql`${integers(values)} AS ${name}`),
    ', ',
  )})`
}
