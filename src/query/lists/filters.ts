/**
 * Filters of lists: the zod schema and the SQL condition of each filter of model/datasets.ts. In: a filter declaration and its query
 * parameter. Out: the schema, and SQL with the value as a bound parameter.
 */
import { z } from 'zod'
import { FACILITY_STATUSES } from '../../model/cnes/code-lists.ts'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Filter, FilterValues, WithinFilter } from '../../model/types.ts'
import { EMPTY, ident, join, type Sql, sql } from '../../sql.ts'
import { takes, takesSeveral } from '../field-texts.ts'
import { booleanText, documentedAs, documentOf, searchText, YEAR } from '../text-schemas.ts'

const PLACE_VALUES: Readonly<Record<WithinFilter['place'], FilterValues>> = {
  region: { region: true },
  health_region: { digits: 5 },
  health_macroregion: { digits: 4 },
}
export const isNumber = (values: FilterValues): boolean => 'year' in values || 'region' in values

/** Joins the states or municipalities of an area into the text of a resolved filter. */
export const placesText = (codes: readonly (string | number)[]): string => codes.join(',')
export const placesIn = (text: string): string[] => (text === '' ? [] : text.split(','))

const UFS = STATES.map(({ uf }) => uf)

/** @returns the schema of a parameter: one code, or several separated by commas when the filter accepts them */
export function filterSchema(filter: Filter): z.ZodType<string> {
  const code = codeSchema(filter)
  if (code === null) return otherSchema(filter)
  const read = (text: string): string[] => codesIn(hasStateCodes(filter) ? text.toUpperCase() : text)
  const isCode = cacheTest((text) => code.safeParse(text).success)
  const several = takesSeveral(
    z
      .string()
      .refine((text) => read(text).every(isCode))
      // Sort and deduplicate, so that equivalent requests are equal from here on.
      .transform((text) => [...new Set(read(text))].sort().join(',')),
    code,
  )
  return documentedAs(several, { type: 'array', minItems: 1, items: documentOf(code) })
}

/** Caches the results of a test. The same codes arrive with every request, and the schema takes a tenth of a page's time. */
function cacheTest(test: (text: string) => boolean): (text: string) => boolean {
  const results = new Map<string, boolean>()
  return (text) => {
    const cached = results.get(text)
    if (cached !== undefined) return cached
    if (results.size >= CACHED_MAX) results.clear()
    const result = test(text)
    results.set(text, result)
    return result
  }
}
const CACHED_MAX = 1000

const hasStateCodes = (filter: Filter): boolean => 'values' in filter && 'uf' in filter.values

/** @returns the schema of one code, for filters that accept several; null for other filters */
export function codeSchema(filter: Filter): z.ZodType<string, string> | null {
  if (filter.kind === 'municipality')
    return takes(
      z.string().regex(/^\d{6,7}$/),
      'um código do IBGE de 6 ou 7 dígitos',
      'an IBGE code of 6 or 7 digits',
    )
  if (filter.kind === 'within') return valueSchema(PLACE_VALUES[filter.place])
  if (filter.kind === 'prefix' && filter.isCategory === true)
    return takes(
      z.string().regex(new RegExp(`^[A-Z0-9]\\d{0,${filter.digits - 1}}$`)),
      `de 1 a ${filter.digits} caracteres, o começo de uma categoria da CID, como I2 ou I21`,
      `1 to ${filter.digits} characters, the begin of a category of CID, such as I2 or I21`,
    )
  if (filter.kind === 'prefix')
    return takes(
      z.string().regex(new RegExp(`^\\d{1,${filter.digits}}$`)),
      `de 1 a ${filter.digits} dígitos, o começo de um código`,
      `1 to ${filter.digits} digits, the begin of a code`,
    )
  const isCode = filter.kind === 'equals' || filter.kind === 'declaration'
  return isCode && !('boolean' in filter.values) ? valueSchema(filter.values) : null
}

export const codesIn = (text: string): string[] => text.split(',')

function otherSchema(filter: Filter): z.ZodType<string> {
  switch (filter.kind) {
    case 'equals':
    case 'declaration':
    case 'positive':
    case 'flag':
      return booleanText()
    case 'search':
      return searchText()
    case 'status':
      return z.enum(FACILITY_STATUSES)
    default:
      throw new TypeError(`a filter of kind ${filter.kind} takes codes`)
  }
}

function valueSchema(values: FilterValues): z.ZodType<string, string> {
  if ('digits' in values)
    return takes(
      z.string().regex(new RegExp(`^\\d{${values.digits}}$`)),
      `um código de ${values.digits} ${values.digits === 1 ? 'dígito' : 'dígitos'}`,
      `a code of ${values.digits} ${values.digits === 1 ? 'digit' : 'digits'}`,
    )
  if ('list' in values) return z.enum(values.list as [string, ...string[]])
  if ('uf' in values) return z.enum(UFS as [string, ...string[]])
  if ('year' in values) return YEAR
  if ('month' in values)
    return takes(z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/), 'um mês, como 2026-05', 'a month, as 2026-05')
  if ('key' in values)
    return takes(
      z.string().regex(new RegExp(`^\\d{${values.key[0]}}:\\d{${values.key[1]}}$`)),
      `dois códigos unidos por dois-pontos, de ${values.key[0]} e ${values.key[1]} dígitos`,
      `two codes joined by a colon, of ${values.key[0]} and ${values.key[1]} digits`,
    )
  if ('region' in values)
    return documentedAs(
      takes(z.string().regex(/^[1-5]$/), 'uma grande região, de 1 a 5', 'a major region, 1 to 5'),
      { type: 'integer', minimum: 1, maximum: 5 },
    )
  if ('boolean' in values) return booleanText()
  return takes(
    z
      .string()
      .min(1)
      .max(values.text)
      .regex(/^[ -+\--~\u00a1-\u024f]+$/),
    `um texto de 1 a ${values.text} caracteres`,
    `a text of 1 to ${values.text} characters`,
  )
}

/**
 * Builds all conditions of a list. One declaration must meet all filters on declarations together.
 * @param parameters parameter name → valid text
 */
export function filterConditions(
  filters: Readonly<Record<string, Filter>>,
  parameters: Readonly<Record<string, string>>,
): Sql[] {
  const conditions: Sql[] = []
  const declarationConditions: Sql[] = []
  for (const [name, filter] of Object.entries(filters)) {
    const text = parameters[name]
    if (text === undefined) continue
    if (filter.kind === 'declaration') {
      const complement = 'boolean' in filter.values && text === 'false'
      const condition = declarationCondition(filter.column, text)
      // has_…=false means that no declaration is true. It cannot join the conditions that one declaration must meet.
      if (complement)
        conditions.push(sql`NOT ${anyDeclaration([declarationCondition(filter.column, 'true')])}`)
      else declarationConditions.push(condition)
    } else conditions.push(condition(name, filter, text))
  }
  if (declarationConditions.length > 0) conditions.push(anyDeclaration(declarationConditions))
  return conditions
}

const anyDeclaration = (conditions: readonly Sql[]): Sql =>
  sql`len(list_filter(declarations, lambda d: ${join(conditions, ' AND ')})) > 0`

function declarationCondition(column: string, text: string): Sql {
  if (column === 'offers_any_sus') return sql`(d.has_ambulatory_sus OR d.has_hospital_sus)`
  const member = sql`d.${ident(column)}`
  return text === 'true' ? member : sql`(${join(equalTo(member, codesIn(text)), ' OR ')})`
}

const equalTo = (left: Sql, values: readonly (string | number)[]): Sql[] =>
  values.map((value) => sql`${left} = ${value}`)
/** Compares with `=` when there is one value, so that DuckDB skips row groups without it. */
export const isAmong = (left: Sql, values: readonly (string | number)[]): Sql =>
  values.length === 1 && values[0] !== undefined
    ? sql`${left} = ${values[0]}`
    : sql`${left} IN (${join(
        values.map((value) => sql`${value}`),
        ', ',
      )})`

function condition(name: string, filter: Exclude<Filter, { kind: 'declaration' }>, text: string): Sql {
  switch (filter.kind) {
    case 'equals': {
      const codes = codesIn(text)
      return isAmong(ident(filter.column ?? name), isNumber(filter.values) ? codes.map(Number) : codes)
    }
    case 'municipality': {
      const column = ident(filter.column)
      const codes = codesIn(text)
      const sevenDigits = codes.filter((code) => code.length === 7)
      const sixDigits = codes.filter((code) => code.length === 6)
      // The code is a string in the population and in accounts, and an integer in all other datasets.
      const isText = fieldOf(filter.column).type === 'string'
      const alternatives = [
        ...(sevenDigits.length === 0
          ? []
          : [isAmong(column, isText ? sevenDigits : sevenDigits.map(Number))]),
        ...(sixDigits.length === 0
          ? []
          : isText
            ? sixDigits.map((code) => sql`starts_with(${column}, ${code})`)
            : [isAmong(sql`${column} // 10`, sixDigits.map(Number))]),
      ]
      return sql`(${join(alternatives, ' OR ')})`
    }
    case 'within':
      return withinCondition(filter.column, placesIn(text))
    case 'prefix':
      return sql`(${join(
        codesIn(text).map((code) => sql`starts_with(${ident(filter.column)}, ${code})`),
        ' OR ',
      )})`
    case 'positive':
      return text === 'true' ? sql`${ident(filter.column)} > 0` : sql`${ident(filter.column)} <= 0`
    case 'flag':
      return sql`${ident(filter.column)} = ${text === 'true'}`
    case 'search': {
      const words = searchWords(text).map((word) => sql`contains(${ident(filter.text)}, ${word})`)
      return sql`(${join(words, ' AND ')} OR starts_with(CAST(${ident(filter.codes)} AS VARCHAR), ${text.trim()}))`
    }
    case 'status':
      return text === 'all' ? sql`true` : sql`is_active = ${text === 'active'}`
  }
}

/** @param codes states or municipalities; an empty list matches no row */
function withinCondition(column: FieldName, codes: readonly string[]): Sql {
  if (codes.length === 0) return sql`false`
  const values = fieldOf(column).type === 'string' ? codes : codes.map(Number)
  return sql`${ident(column)} IN (SELECT unnest(${values}))`
}

/** Lower-cases and removes accents, as the importer does with names. */
export const foldText = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()

/** @returns distinct folded words of a search; a name must contain each of them, in any order */
export const searchWords = (text: string): string[] => [
  ...new Set(
    foldText(text)
      .split(/\s+/)
      .filter((word) => word !== ''),
  ),
]

export const whereClause = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? EMPTY : sql` WHERE ${join(conditions, ' AND ')}`
