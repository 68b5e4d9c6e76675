/**
 * The order of a list that a request asks for. In: the fields a dataset declares for it, and a text such as `uf,-beds_sus`. Out:
 * terms, and what rows are compared by in SQL. The key of the rows always comes last, so every order is total.
 *
 * Names are compared by Portuguese collation, codes by their bytes, numbers as numbers. What is null comes last, ascending and
 * descending. Rows that are equal in all terms stand in the order of their keys, ascending.
 */
import { z } from 'zod'
import type { FieldName } from '../../model/fields.ts'
import { ident, type Sql, sql, TEXT } from '../../sql.ts'
import { takes } from '../field-texts.ts'
import { documentedAs } from '../text-schemas.ts'

export interface SortTerm {
  readonly field: FieldName
  readonly isDescending: boolean
}

/** More fields than these hardly ever decide anything. */
export const SORT_TERMS_MAX = 3

/** @param fields those a dataset declares @returns the schema of `sort` */
export function sortSchema(fields: readonly FieldName[]): z.ZodType<string> {
  const names = fields.join(', ')
  const isKnown = (text: string): boolean => {
    const terms = parseSort(text)
    const different = new Set(terms.map(({ field }) => field))
    return (
      terms.length <= SORT_TERMS_MAX &&
      different.size === terms.length &&
      terms.every(({ field }) => fields.includes(field))
    )
  }
  const schema = takes(
    z.string().refine(isKnown),
    `até ${SORT_TERMS_MAX} destes campos, cada um uma vez, separados por vírgulas, com - antes dos decrescentes: ${names}`,
    `up to ${SORT_TERMS_MAX} of these fields, each once, separated by commas, with - before descending ones: ${names}`,
  )
  const items = { type: 'string', enum: fields.flatMap((field) => [field, `-${field}`]) }
  return documentedAs(schema, {
    type: 'array',
    minItems: 1,
    maxItems: SORT_TERMS_MAX,
    uniqueItems: true,
    items,
  })
}

export const parseSort = (text: string | undefined): SortTerm[] =>
  text === undefined
    ? []
    : text.split(',').map((term) => ({
        field: term.replace(/^-/, '') as FieldName,
        isDescending: term.startsWith('-'),
      }))

/** What the values of a field are compared by. */
const sortValue = (field: FieldName): Sql =>
  field === 'name' || field.endsWith('_name') ? sql`${ident(field)}${TEXT(' COLLATE pt')}` : ident(field)

/** @returns terms as ORDER BY has them */
export const orderTerms = (sort: readonly SortTerm[]): Sql[] =>
  sort.map(
    ({ field, isDescending }) =>
      sql`${sortValue(field)}${TEXT(isDescending ? ' DESC NULLS LAST' : ' ASC NULLS LAST')}`,
  )
