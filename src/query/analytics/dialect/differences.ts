/**
 * What DuckDB and Trino say differently, in the parts of a statement that either of them runs: those that add up facts. In:
 * values of a plan. Out: both forms as one, of which the printer takes its own (print in sql.ts, trino.ts). Everything else in
 * those parts is SQL that both understand and mean alike.
 */
import { EMPTY, either, join, type Sql, sql, TEXT } from '../../../sql.ts'

/** Whole numbers of 38 digits. */
export const HUGE = either(TEXT('HUGEINT'), TEXT('DECIMAL(38, 0)'))

/** The quotient of two whole numbers above zero without its remainder: Trino rounds decimals when it divides them. */
export const wholeQuotient = (top: Sql, bottom: Sql): Sql =>
  either(sql`(${top}) // (${bottom})`, sql`((${top}) - (${top}) % (${bottom})) / (${bottom})`)

/** What stands in the parentheses of IN, for values that a request chooses. */
export const listOf = (values: readonly (string | number)[]): Sql =>
  either(
    sql`SELECT unnest(${values as string[] | number[]})`,
    join(
      values.map((value) => sql`${value}`),
      ', ',
    ),
  )

/**
 * Are two columns equal, or both null? Trino 476 loses rows with null keys where a join has several such conditions
 * (trinodb/trino #26257), so there texts that are never null are compared.
 */
export const sameKey = (left: Sql, right: Sql): Sql =>
  either(sql`${left} IS NOT DISTINCT FROM ${right}`, sql`${neverNull(left)} = ${neverNull(right)}`)
const neverNull = (column: Sql): Sql => sql`coalesce('=' || CAST(${column} AS VARCHAR), '')`

/** Does a declaration of a service have one of some characteristics? @param codes ours, digits only */
export function anyDeclaration(codes: readonly string[]): Sql {
  const isOne = TEXT(`d.characteristic_code IN (${codes.map((code) => `'${code}'`).join(', ')})`)
  return either(
    sql`len(list_filter(declarations, lambda d: ${isOne})) > 0`,
    sql`cardinality(filter(declarations, d -> ${isOne})) > 0`,
  )
}

/**
 * The rows of a dataset in some months.
 * @param of one month, as DuckDB reads it @param ofAll all of them, as Trino reads them: a month each would be a stage each
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
