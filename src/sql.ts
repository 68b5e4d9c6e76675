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
  | {
      readonly kind: 'kept'
      readonly name: string
      readonly definition: Sql
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
 * A relation that an engine may keep in memory. It is printed as its definition in parentheses where none is kept: the rows
 * are the same, so whether it is kept changes no answer.
 */
export function kept(name: string, definition: Sql): Sql {
  return { parts: [{ kind: 'kept', name, definition }] }
}

/**
 * A whole number of the plan (a year, a scale, a page) as text. Statements that differ in nothing a request's text could
 * choose have no parameters: they are run without being prepared.
 */
export function whole(value: number): Sql {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not a whole number: ${value}`)
  return { parts: [{ kind: 'text', text: value < 0 ? `(${value})` : String(value) }] }
}

/** @returns the same statement over the datasets of the other release, of which nothing is kept */
export const ofOther = (statement: Sql): Sql => ({
  parts: statement.parts.flatMap((part): readonly Part[] =>
    part.kind === 'table'
      ? [{ ...part, other: true }]
      : part.kind === 'kept'
        ? [{ kind: 'text', text: '(' }, ...ofOther(part.definition).parts, { kind: 'text', text: ')' }]
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
 * @param relation where a dataset stands, as quoted SQL
 * @param keptAs where a kept relation stands, as quoted SQL; null where it is not kept
 * @returns text and parameters; the same value printed twice gives the same text
 */
export function print(
  statement: Sql,
  relation: (dataset: string, period: number | null, other: boolean) => string,
  keptAs: (name: string) => string | null = () => null,
): PrintedStatement {
  const values: SqlValue[] = []
  const printParts = (parts: readonly Part[]): string => {
    let text = ''
    for (const part of parts) {
      if (part.kind === 'text') text += part.text
      else if (part.kind === 'table') text += relation(part.dataset, part.period, part.other === true)
      else if (part.kind === 'kept') text += keptAs(part.name) ?? `(${printParts(part.definition.parts)})`
      else {
        values.push(part.value)
        text += `$${values.length}`
      }
    }
    return text
  }
  return { text: printParts(statement.parts), values }
}
