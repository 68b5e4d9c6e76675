/**
 * A plan's SELECTs over facts, printed for Trino: the same values that print (sql.ts) prints for DuckDB, in the other form of
 * differences.ts. In: a gathered relation. Out: a statement whose rows are its columns, sums as decimal text.
 *
 * What is done with those rows, from the joins of numerators and denominators to order and digest, is DuckDB's on either engine:
 * docs/decisions/0018-facts-on-trino.md. Trino has no parameters on the wire, so values are literals, and there is one way to
 * write each kind of them.
 */
import type { GatheredPart, Sql, SqlValue } from '../../../sql.ts'

/**
 * @param relation a dataset, or some months of it, as quoted SQL; null: all of it
 * @throws TypeError for what no statement over facts has
 */
export function printForTrino(
  { columns, definition }: GatheredPart,
  relation: (dataset: string, periods: readonly number[] | null) => string,
): string {
  const shown = columns.map(({ name, type }) =>
    type === 'HUGEINT' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`,
  )
  return `SELECT ${shown.join(', ')} FROM (\n${printParts(definition, relation)}\n) AS gathered`
}

/** @returns datasets that a relation reads, with the months of each */
export function readsOf(
  statement: Sql,
): { readonly dataset: string; readonly periods: readonly number[] | null }[] {
  return statement.parts.flatMap((part) => {
    if (part.kind === 'table')
      return [
        { dataset: part.dataset, periods: part.periods ?? (part.period === null ? null : [part.period]) },
      ]
    if (part.kind === 'either') return readsOf(part.trino)
    return part.kind === 'resident' || part.kind === 'gathered' ? readsOf(part.definition) : []
  })
}

function printParts(
  statement: Sql,
  relation: (dataset: string, periods: readonly number[] | null) => string,
): string {
  const printPart = (part: Sql['parts'][number]): string => {
    switch (part.kind) {
      case 'text':
        return part.text
      case 'value':
        return literal(part.value)
      case 'table':
        if (part.other === true) throw new TypeError('a statement over two releases is DuckDB’s')
        return relation(part.dataset, part.periods ?? (part.period === null ? null : [part.period]))
      case 'either':
        return printParts(part.trino, relation)
      case 'resident':
        return `(${printParts(part.definition, relation)})`
      case 'gathered':
        return printParts(part.definition, relation)
    }
  }
  return statement.parts.map(printPart).join('')
}

/** A value as text: in Trino nothing but a quote ends a text, and two of them are one. */
function literal(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  throw new TypeError('not a value of a statement for Trino')
}

/**
 * What facts are joined to is small (municipalities, months, residents by age): each worker gets all of it, and facts stay where
 * they are read. Trino knows no sizes of tables that nobody analysed, and would send every row of facts to the worker of its key.
 */
const SESSION = { join_distribution_type: 'BROADCAST' } as const

/** For an engine, which knows no plans. */
export const TRINO_DIALECT = { print: printForTrino, readsOf, session: SESSION } as const
