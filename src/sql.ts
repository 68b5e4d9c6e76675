/**
 * SQL as values: a template tag whose interpolations are parameters, never text.
 *
 * In: sql`SELECT … ${value}`, identifiers from model/ through `ident`, datasets through `table`. Out: a `Sql` value that
 * `print` turns into text and positional parameters, once it is known where a release's datasets stand. Absent on
 * purpose: a way to put a request's string into the text.
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
    }

export interface Sql {
  readonly parts: readonly Part[]
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

/** An identifier of ours (a field, a CTE). Anything but lower-case words is a bug, so it throws. */
export function ident(identifier: string): Sql {
  if (!/^[a-z_][a-z0-9_]*$/.test(identifier)) throw new TypeError(`not an identifier: ${identifier}`)
  return { parts: [{ kind: 'text', text: `"${identifier}"` }] }
}

/** A dataset of the release the statement will run on; one partition of it where a period (YYYYMM) is given. */
export function table(dataset: string, period: number | null = null): Sql {
  return { parts: [{ kind: 'table', dataset, period }] }
}

/** @returns the same statement over the datasets of the other release */
export const ofOther = (statement: Sql): Sql => ({
  parts: statement.parts.map((part) => (part.kind === 'table' ? { ...part, other: true } : part)),
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
 * @param relation where a dataset stands, as quoted SQL
 * @returns text and parameters; the same value printed twice gives the same text
 */
export function print(
  statement: Sql,
  relation: (dataset: string, period: number | null, other: boolean) => string,
): PrintedStatement {
  const values: SqlValue[] = []
  let text = ''
  for (const part of statement.parts) {
    if (part.kind === 'text') text += part.text
    else if (part.kind === 'table') text += relation(part.dataset, part.period, part.other === true)
    else {
      values.push(part.value)
      text += `$${values.length}`
    }
  }
  return { text, values }
}
