/**
 * Request parameters of lists: each filter of model/datasets.ts as a zod schema and as a condition.
 *
 * In: a declaration and a text from the query string. Out: what may stand there, and SQL with the value as a parameter.
 */
import { z } from 'zod'
import { FACILITY_STATUSES } from '../model/cnes/code-lists.ts'
import type { Filter, FilterValues } from '../model/datasets.ts'
import { STATES } from '../model/territory/states.ts'
import { EMPTY, ident, join, type Sql, sql } from '../sql.ts'
import { takes } from './field-texts.ts'

const UFS = STATES.map(({ uf }) => uf)
const BOOLEANS = ['true', 'false'] as const
/** A year as text. */
export const YEAR = takes(z.string().regex(/^\d{4}$/), 'um ano de 4 dígitos', 'a year of 4 digits')

/** @returns the schema of a parameter's text */
export function filterSchema(filter: Filter): z.ZodType<string> {
  switch (filter.kind) {
    case 'equals':
    case 'declaration':
      return valueSchema(filter.values)
    case 'municipality':
      return takes(
        z.string().regex(/^\d{6,7}$/),
        'um código do IBGE de 6 ou 7 dígitos',
        'an IBGE code of 6 or 7 digits',
      )
    case 'positive':
    case 'flag':
      return z.enum(BOOLEANS)
    case 'search':
      return takes(
        z
          .string()
          .min(1)
          .max(100)
          .refine((text) => text.isWellFormed() && !text.includes('\u0000'))
          // Accents alone fold to nothing, and nothing is part of every name.
          .refine((text) => foldText(text) !== ''),
        'um texto de 1 a 100 caracteres, não só de acentos',
        'a text of 1 to 100 characters, not of accents alone',
      )
    case 'status':
      return z.enum(FACILITY_STATUSES)
  }
}

function valueSchema(values: FilterValues): z.ZodType<string> {
  if ('digits' in values)
    return takes(
      z.string().regex(new RegExp(`^\\d{${values.digits}}$`)),
      `um código de ${values.digits} ${values.digits === 1 ? 'dígito' : 'dígitos'}`,
      `a code of ${values.digits} ${values.digits === 1 ? 'digit' : 'digits'}`,
    )
  if ('list' in values) return z.enum(values.list as [string, ...string[]])
  if ('uf' in values) return z.enum(UFS as [string, ...string[]])
  if ('year' in values) return YEAR
  if ('key' in values)
    return takes(
      z.string().regex(new RegExp(`^\\d{${values.key[0]}}:\\d{${values.key[1]}}$`)),
      `dois códigos unidos por dois-pontos, de ${values.key[0]} e ${values.key[1]} dígitos`,
      `two codes joined by a colon, of ${values.key[0]} and ${values.key[1]} digits`,
    )
  if ('boolean' in values) return z.enum(BOOLEANS)
  return z.string().min(1).max(values.text)
}

/**
 * All conditions of a list, joined by AND. Filters on declarations are met together by one declaration.
 * @param parameters parameter name → text, already valid
 */
export function filterConditions(
  filters: Readonly<Record<string, Filter>>,
  parameters: Readonly<Record<string, string>>,
): Sql[] {
  const conditions: Sql[] = []
  const ofDeclaration: Sql[] = []
  for (const [name, filter] of Object.entries(filters)) {
    const text = parameters[name]
    if (text === undefined) continue
    if (filter.kind === 'declaration') {
      const complement = 'boolean' in filter.values && text === 'false'
      const condition = declarationCondition(filter.column, text)
      // has_…=false is the complement of true over records, so it cannot be joined with what one declaration meets.
      if (complement)
        conditions.push(sql`NOT ${anyDeclaration([declarationCondition(filter.column, 'true')])}`)
      else ofDeclaration.push(condition)
    } else conditions.push(condition(name, filter, text))
  }
  if (ofDeclaration.length > 0) conditions.push(anyDeclaration(ofDeclaration))
  return conditions
}

const anyDeclaration = (conditions: readonly Sql[]): Sql =>
  sql`len(list_filter(declarations, lambda d: ${join(conditions, ' AND ')})) > 0`

function declarationCondition(column: string, text: string): Sql {
  if (column === 'offers_any_sus') return sql`(d.has_ambulatory_sus OR d.has_hospital_sus)`
  const member = sql`d.${ident(column)}`
  return text === 'true' ? member : sql`${member} = ${text}`
}

function condition(name: string, filter: Exclude<Filter, { kind: 'declaration' }>, text: string): Sql {
  switch (filter.kind) {
    case 'equals': {
      const column = ident(filter.column ?? name)
      return 'year' in filter.values ? sql`${column} = ${Number(text)}` : sql`${column} = ${text}`
    }
    case 'municipality': {
      const column = ident(filter.column)
      // municipality_code of population is text; everywhere else the code is an integer.
      if (filter.column === 'municipality_code')
        return text.length === 7 ? sql`${column} = ${text}` : sql`starts_with(${column}, ${text})`
      return text.length === 7 ? sql`${column} = ${Number(text)}` : sql`${column} // 10 = ${Number(text)}`
    }
    case 'positive':
      return text === 'true' ? sql`${ident(filter.column)} > 0` : sql`${ident(filter.column)} <= 0`
    case 'flag':
      return sql`${ident(filter.column)} = ${text === 'true'}`
    case 'search':
      return sql`(contains(${ident(filter.text)}, ${foldText(text)}) OR starts_with(CAST(${ident(filter.codes)} AS VARCHAR), ${text}))`
    case 'status':
      return text === 'all' ? sql`true` : sql`is_active = ${text === 'active'}`
  }
}

/** Lower case without accents, as the importer folds names. */
export const foldText = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()

/** @returns WHERE clause, or nothing */
export const whereClause = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? EMPTY : sql` WHERE ${join(conditions, ' AND ')}`
