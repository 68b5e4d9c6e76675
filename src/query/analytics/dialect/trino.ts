/**
 * Prints SELECTs over facts for Trino, in the second form of differences.ts.
 *
 * In: a gathered relation. Out: a statement with its columns, sums as decimal text. DuckDB does the rest on either engine,
 * from joins to order and digest: docs/decisions/0018-facts-on-trino.md. Trino's protocol has no parameters, so values become
 * literals.
 */
import type { GatheredPart, Sql, SqlValue } from '../../../sql.ts'

/**
 * @param relation quoted SQL for a dataset or for some of its months; null means all months
 * @throws TypeError for anything that statements over facts do not contain
 */
export function printForTrino(
  { columns, definition }: GatheredPart,
  relation: (dataset: string, periods: readonly number[] | null) => string,
): string {
  const columnsSql = columns.map(({ name, type }) =>
    type === 'HUGEINT' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`,
  )
  return `SELECT ${columnsSql.join(', ')} FROM (\n${printParts(definition, relation)}\n) AS gathered`
}

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

/** In Trino only a quote ends a string, and a doubled quote is a literal one. */
function literal(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  throw new TypeError('not a value of a statement for Trino')
}

/**
 * Relations that join facts are small (municipalities, months, residents by age), so every worker gets a copy. Without table
 * statistics, Trino would instead send every row of facts to the worker of its key.
 */
const SESSION = { join_distribution_type: 'BROADCAST' } as const

/** The interface that engines use, because they know no plans. */
export const TRINO_DIALECT = { print: printForTrino, readsOf, session: SESSION } as const
