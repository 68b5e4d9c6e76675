/**
 * Builds SQL as values, with a template tag whose interpolations become parameters.
 * In: sql`SELECT … ${value}`, identifiers from model/ through `ident`, datasets through `table`. Out: a `Sql` value that
 * `print` turns into text and positional parameters for one release. There is deliberately no way to insert a string of a
 * request into the text.
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
      /** True for a dataset of the other release, in a statement over two releases. */
      readonly other?: boolean
      /** Partitions to read at once if `period` is null. Only statements for Trino use it. */
      readonly periods?: readonly number[]
    }
  | {
      readonly kind: 'resident'
      readonly name: string
      readonly definition: Sql
      /** Months that the definition covers, for a relation of several months. */
      readonly periods?: readonly number[]
    }
  | GatheredPart
  | { readonly kind: 'either'; readonly duckdb: Sql; readonly trino: Sql }

export interface Sql {
  readonly parts: readonly Part[]
}

/** Column types of gathered rows. Sums have up to 38 digits, so they need HUGEINT. */
export type GatheredType = 'INTEGER' | 'HUGEINT' | 'VARCHAR'

/** A SELECT of groups and sums over facts, which another engine may run. */
export interface GatheredPart {
  readonly kind: 'gathered'
  /** Unique within the statement. */
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: GatheredType }[]
  readonly definition: Sql
}

/** Text with $1, $2 … and their values in order, for a database driver. */
export interface PrintedStatement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

const isSql = (item: Sql | SqlValue): item is Sql =>
  typeof item === 'object' && item !== null && 'parts' in item

/** Template tag. It splices `Sql` interpolations, and every other value becomes a parameter. */
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

/** Inserts text unchanged. It must never come from a request. */
export const TEXT = (text: string): Sql => ({ parts: [{ kind: 'text', text }] })

/** @returns a text as an SQL literal, for statements without parameters. Texts of requests are always parameters instead. */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
/** @returns the name of a table or column as quoted SQL */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Quotes a field or CTE of ours. @throws TypeError for anything but lower-case words, which would be a bug */
export function ident(identifier: string): Sql {
  if (!/^[a-z_][a-z0-9_]*$/.test(identifier)) throw new TypeError(`not an identifier: ${identifier}`)
  return { parts: [{ kind: 'text', text: `"${identifier}"` }] }
}

/** Refers to a dataset of the statement's release. @param period YYYYMM to read a single partition */
export function table(dataset: string, period: number | null = null): Sql {
  return { parts: [{ kind: 'table', dataset, period }] }
}

/**
 * Refers to a resident relation, which an engine may hold in memory as a table. Otherwise `print` inserts its definition in
 * parentheses. The rows are the same, so a result does not depend on what is in memory.
 */
export function resident(name: string, definition: Sql): Sql {
  return { parts: [{ kind: 'resident', name, definition }] }
}

/** Refers to some months of a resident relation. @param definition SQL of only these months */
export const residentMonths = (name: string, periods: readonly number[], definition: Sql): Sql => ({
  parts: [{ kind: 'resident', name, periods, definition }],
})

/**
 * Marks a SELECT over facts that another engine may run. Its rows are then read from a table, else `print` inserts the
 * definition. DuckDB always runs the rest of the statement, so that a result does not depend on the engine.
 */
export const gathered = (name: string, columns: GatheredPart['columns'], definition: Sql): Sql => ({
  parts: [{ kind: 'gathered', name, columns, definition }],
})

/** Refers to several months of a dataset at once, for Trino, which would run a stage for each single relation. */
export const tableOfMonths = (dataset: string, periods: readonly number[]): Sql => ({
  parts: [{ kind: 'table', dataset, period: null, periods }],
})

/** SQL that differs between the engines. query/analytics/dialect/differences.ts contains all such fragments. */
export const either = (duckdb: Sql, trino: Sql): Sql => ({ parts: [{ kind: 'either', duckdb, trino }] })

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

/** Inlines an integer of the plan, such as a year. Statements without parameters need not be prepared. @throws TypeError */
export function integerLiteral(value: number): Sql {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not a whole number: ${value}`)
  return { parts: [{ kind: 'text', text: value < 0 ? `(${value})` : String(value) }] }
}

/** @returns the same statement over the other release, read from its files */
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
 * @param relation returns the view of a dataset, as quoted SQL
 * @param tableOf returns the table that holds a resident relation or some of its months, as quoted SQL, or null
 * @param gatheredIn returns the table with the rows of a gathered SELECT, as quoted SQL, or null
 * @returns text and parameters; printing a value twice gives the same text
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
        const gatheredTable = gatheredIn(part.name)
        text += gatheredTable === null ? printParts(part.definition.parts) : `SELECT * FROM ${gatheredTable}`
      } else {
        values.push(part.value)
        text += `$${values.length}`
      }
    }
    return text
  }
  return { text: printParts(statement.parts), values }
}
