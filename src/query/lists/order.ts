/**
 * Parses the `sort` parameter of lists, such as `uf,-beds_sus`, and writes its terms as SQL. Names are compared by Portuguese collation,
 * codes by bytes, numbers as numbers. Nulls come last in both directions. Rows that are equal in all terms are ordered by key, ascending,
 * so every order is total.
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

export const SORT_TERMS_MAX = 3

/** @param fields sortable fields of the dataset @returns the schema of `sort` */
export function sortSchema(fields: readonly FieldName[]): z.ZodType<string> {
  const names = fields.join(', ')
  const isValidSort = (text: string): boolean => {
    const terms = parseSort(text)
    const distinct = new Set(terms.map(({ field }) => field))
    return (
      terms.length <= SORT_TERMS_MAX &&
      distinct.size === terms.length &&
      terms.every(({ field }) => fields.includes(field))
    )
  }
  const schema = takes(
    z.string().refine(isValidSort),
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

const sortValue = (field: FieldName): Sql =>
  field === 'name' || field.endsWith('_name') ? sql`${ident(field)}${TEXT(' COLLATE pt')}` : ident(field)

export const orderTerms = (sort: readonly SortTerm[]): Sql[] =>
  sort.map(
    ({ field, isDescending }) =>
      sql`${sortValue(field)}${TEXT(isDescending ? ' DESC NULLS LAST' : ' ASC NULLS LAST')}`,
  )
