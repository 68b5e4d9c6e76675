/**
 * Holds the SQL that DuckDB and Trino write differently, in statements over facts, which either may run. Each value carries
 * both forms; the printer takes one (print in sql.ts, printForTrino in trino.ts).
 */
import { EMPTY, either, join, type Sql, sql, TEXT } from '../../../sql.ts'

export const HUGE = either(TEXT('HUGEINT'), TEXT('DECIMAL(38, 0)'))

/** Integer quotient of two positive numbers. Trino would round instead. */
export const wholeQuotient = (top: Sql, bottom: Sql): Sql =>
  either(sql`(${top}) // (${bottom})`, sql`((${top}) - (${top}) % (${bottom})) / (${bottom})`)

/** @returns the operand of IN for values from a request */
export const listOf = (values: readonly (string | number)[]): Sql =>
  either(
    sql`SELECT unnest(${values as string[] | number[]})`,
    join(
      values.map((value) => sql`${value}`),
      ', ',
    ),
  )

/**
 * True when two columns are equal or both null. Trino 476 loses rows with null keys when a join has several such conditions
 * (trinodb/trino #26257), so it compares texts that are never null.
 */
export const sameKey = (left: Sql, right: Sql): Sql =>
  either(sql`${left} IS NOT DISTINCT FROM ${right}`, sql`${neverNull(left)} = ${neverNull(right)}`)
const neverNull = (column: Sql): Sql => sql`coalesce('=' || CAST(${column} AS VARCHAR), '')`

/** True when a declaration has one of the characteristics. @param codes digits from the model, never from a request */
export function anyDeclaration(codes: readonly string[]): Sql {
  const isListed = TEXT(`d.characteristic_code IN (${codes.map((code) => `'${code}'`).join(', ')})`)
  return either(
    sql`len(list_filter(declarations, lambda d: ${isListed})) > 0`,
    sql`cardinality(filter(declarations, d -> ${isListed})) > 0`,
  )
}

/**
 * Reads rows of a dataset in some months.
 * @param of one month for DuckDB @param ofAll all months for Trino, which would run each month as a separate stage
 */
export const overMonths = (
  periods: readonly number[],
  of: (period: number) => Sql,
  ofAll: (periods: readonly number[]) => Sql,
): Sql => either(unionOf(periods.map(of)), periods.length === 0 ? EMPTY : ofAll(periods))

export function unionOf(relations: readonly Sql[]): Sql {
  if (relations.length === 1 && relations[0] !== undefined) return relations[0]
  return sql`(${join(
    relations.map((relation) => sql`SELECT * FROM ${relation}`),
    ' UNION ALL BY NAME ',
  )})`
}
