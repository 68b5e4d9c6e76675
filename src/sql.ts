/**
 * SQL as values: a template tag whose interpolations are parameters, never text.
 *
 * In: sql`SELECT … ${value}`, identifiers from model/ through `ident`, datasets through `table`. Out: a `Sql` value that
 * `print` turns into text and positional parameters for one release. Absent on purpose: a way to put a request's string into
 * the text.
 */
export type SqlScalar = string | number | bigint | boolean | null
export type SqlValue = SqlScalar | readonly string[] | readonly number[]

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly value: SqlValue }
  | {
      readonly kind: 'table'
      readonly dataset: string
      readonly period: number | null
      /** Of the other release, in a statement over two. */
      readonly other?: boolean
      /** Several partitions, where `period` is null: only statements for Trino read them at once. */
      readonly periods?: readonly number[]
    }
  | {
      readonly kind: 'resident'
      readonly name: string
      readonly definition: Sql
      /** Months of it that the definition has, where it is of several. */
      readonly periods?: readonly number[]
    }
  | GatheredPart
  | { readonly kind: 'either'; readonly duckdb: Sql; readonly trino: Sql }

export interface Sql {
  readonly parts: readonly Part[]
}

/** Numbers that are added up have up to 38 digits. */
export type GatheredType = 'INTEGER' | 'HUGEINT' | 'VARCHAR'

/** A SELECT over facts, of which only the rows are wanted: groups and their sums. */
export interface GatheredPart {
  readonly kind: 'gathered'
  /** Its own in a statement. */
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: GatheredType }[]
  readonly definition: Sql
}

/** What a driver takes: text with $1, $2 … and their values in order. */
export interface PrintedStatement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

const isSql = (item: Sql | SqlValue): item is Sql =>
  typeof item === 'object' && item !== null && 'parts' in item

/** Template tag: `Sql` interpolations are spliced, every other value becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...items: readonly (Sql | SqlValue)[]): Sql {
  const parts: Part[] = []
  strings.forEach((text, index) => {
    if (text !== '') parts.push({ kind: 'text', text })
    if (index < items.length) {
      const item = items[index] as Sql | SqlValue
      if (isSql(item)) parts.push(...item.parts)
      else parts.push({ kind: 'value', value: item })
    }
  })
  return { parts }
}

/** Words of a statement as they are: never a request's. */
export const TEXT = (text: string): Sql => ({ parts: [{ kind: 'text', text }] })

/** An identifier of ours (a field, a CTE). Anything but lower-case words is a bug, so it throws. */
export function ident(identifier: string): Sql {
  if (!/^[a-z_][a-z0-9_]*$/.test(identifier)) throw new TypeError(`not an identifier: ${identifier}`)
  return { parts: [{ kind: 'text', text: `"${identifier}"` }] }
}

/** A dataset of the release the statement will run on; one partition of it where a period (YYYYMM) is given. */
export function table(dataset: string, period: number | null = null): Sql {
  return { parts: [{ kind: 'table', dataset, period }] }
}

/**
 * A relation that an engine may hold in memory as a table (a resident relation). Where it does not, it is printed as its
 * definition in parentheses: the rows are the same, so an answer does not depend on what is in memory.
 */
export function resident(name: string, definition: Sql): Sql {
  return { parts: [{ kind: 'resident', name, definition }] }
}

/** Some months of a relation that is of several. @param definition those months alone */
export const residentMonths = (name: string, periods: readonly number[], definition: Sql): Sql => ({
  parts: [{ kind: 'resident', name, periods, definition }],
})

/**
 * A SELECT that another engine may run, and whose rows are then read from a table: what adds up facts. Where none does, it is
 * printed as its definition. The rest of a statement is DuckDB's in any case, so that an answer does not depend on the engine.
 */
export const gathered = (name: string, columns: GatheredPart['columns'], definition: Sql): Sql => ({
  parts: [{ kind: 'gathered', name, columns, definition }],
})

/** Several months of a dataset at once. For Trino, where a relation of each would be a stage of each. */
export const tableOfMonths = (dataset: string, periods: readonly number[]): Sql => ({
  parts: [{ kind: 'table', dataset, period: null, periods }],
})

/** What the engines say differently; query/dialect/differences.ts has all of it. */
export const either = (duckdb: Sql, trino: Sql): Sql => ({ parts: [{ kind: 'either', duckdb, trino }] })

/** @returns the SELECTs of a statement that another engine may run */
export const gatheredOf = (statement: Sql): GatheredPart[] =>
  statement.parts.flatMap((part) =>
    part.kind === 'gathered'
      ? [part]
      : part.kind === 'resident'
        ? gatheredOf(part.definition)
        : part.kind === 'either'
          ? gatheredOf(part.duckdb)
          : [],
  )

/**
 * A whole number of the plan (a year, a scale, a page) as text. Statements that differ in nothing a request's text could
 * choose have no parameters: they are run without being prepared.
 */
export function whole(value: number): Sql {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not a whole number: ${value}`)
  return { parts: [{ kind: 'text', text: value < 0 ? `(${value})` : String(value) }] }
}

/** @returns the same statement over the datasets of the other release, read from its files */
export const ofOther = (statement: Sql): Sql => ({
  parts: statement.parts.flatMap((part): readonly Part[] =>
    part.kind === 'table'
      ? [{ ...part, other: true }]
      : part.kind === 'resident'
        ? [{ kind: 'text', text: '(' }, ...ofOther(part.definition).parts, { kind: 'text', text: ')' }]
        : part.kind === 'gathered'
          ? ofOther(part.definition).parts
          : part.kind === 'either'
            ? ofOther(part.duckdb).parts
            : [part],
  ),
})

export function join(items: readonly Sql[], separator: string): Sql {
  const parts: Part[] = []
  items.forEach((item, index) => {
    if (index > 0) parts.push({ kind: 'text', text: separator })
    parts.push(...item.parts)
  })
  return { parts }
}

export const EMPTY: Sql = { parts: [] }

/**
 * @param relation view of a dataset, as quoted SQL
 * @param tableOf what holds a resident relation, or some months of it, in memory, as quoted SQL; null where nothing does
 * @param gatheredIn table that holds the rows of a gathered relation, as quoted SQL; null where none does
 * @returns text and parameters; the same value printed twice gives the same text
 */
export function print(
  statement: Sql,
  relation: (dataset: string, period: number | null, other: boolean) => string,
  tableOf: (name: string, periods?: readonly number[]) => string | null = () => null,
  gatheredIn: (name: string) => string | null = () => null,
): PrintedStatement {
  const values: SqlValue[] = []
  const printParts = (parts: readonly Part[]): string => {
    let text = ''
    for (const part of parts) {
      if (part.kind === 'text') text += part.text
      else if (part.kind === 'table') text += relation(part.dataset, part.period, part.other === true)
      else if (part.kind === 'resident')
        text += tableOf(part.name, part.periods) ?? `(${printParts(part.definition.parts)})`
      else if (part.kind === 'either') text += printParts(part.duckdb.parts)
      else if (part.kind === 'gathered') {
        const held = gatheredIn(part.name)
        text += held === null ? printParts(part.definition.parts) : `SELECT * FROM ${held}`
      } else {
        values.push(part.value)
        text += `$${values.length}`
      }
    }
    return text
  }
  return { text: printParts(statement.parts), values }
}
