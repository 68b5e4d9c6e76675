/** Prints the conditions of measures and of filters on the columns of a row, and codes of the model. */
import type { Condition } from '../../../../model/metrics.ts'
import type { FlowLevel } from '../../../../model/types.ts'
import { ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { QueryFilter } from '../../filters.ts'
import { listOf } from '../differences.ts'

/** Inlines a code of the model. Codes from requests must not pass here. */
export function codeText(code: string): Sql {
  if (!/^[\w+-]{1,20}$/.test(code)) throw new TypeError(`not a code: ${code}`)
  return TEXT(`'${code}'`)
}

/** Columns of the residence and of the hospital, and the condition that a column has a place. The ignored municipality of a state is none. */
const ENDS: Readonly<
  Record<FlowLevel, { readonly columns: readonly [string, string]; hasPlace(column: Sql): Sql }>
> = {
  municipality: {
    columns: ['residence_municipality_code', 'municipality_ibge_code'],
    hasPlace: (column) => sql`${column} % 100000 >= 10`,
  },
  health_region: {
    columns: ['residence_health_region_code', 'health_region_code'],
    hasPlace: (column) => sql`${column} IS NOT NULL`,
  },
  state: { columns: ['residence_uf', 'uf'], hasPlace: (column) => sql`${column} IS NOT NULL` },
}
function endsSql(level: FlowLevel, isOutside: boolean): Sql {
  const { columns, hasPlace } = ENDS[level]
  const [residence, hospital] = [ident(columns[0]), ident(columns[1])]
  const haveBothPlaces = sql`${hasPlace(residence)} AND ${hasPlace(hospital)}`
  return isOutside ? sql`(${haveBothPlaces} AND ${residence} <> ${hospital})` : sql`(${haveBothPlaces})`
}

/** A measure's condition on the columns of a row. */
export function conditionSql(condition: Condition): Sql {
  if ('above' in condition) return sql`${ident(condition.field)} > ${integerLiteral(condition.above)}`
  if ('equals' in condition) return sql`${ident(condition.field)} = ${codeText(condition.equals)}`
  if ('oneOf' in condition)
    return sql`${ident(condition.field)} IN (${join(condition.oneOf.map(codeText), ', ')})`
  if ('flag' in condition) return ident(condition.flag)
  if ('anyFlag' in condition) return sql`(${ident(condition.anyFlag[0])} OR ${ident(condition.anyFlag[1])})`
  if ('ends' in condition) return endsSql(condition.ends, condition.isOutside)
  throw new TypeError('no column says it')
}

const LIST_TEXT_MAX = 50

/**
 * Prints a filter's values. Integers and state codes come from closed lists and are inlined, because DuckDB plans statements
 * with parameters twice (a third of the time of a small query). All others are parameters.
 */
function filterValues({ dimension, values }: QueryFilter): { readonly first: Sql; readonly list: Sql } {
  const toText = (value: string | number): Sql | null =>
    typeof value === 'number' ? integerLiteral(value) : dimension === 'state' ? codeText(value) : null
  const texts = values.length > LIST_TEXT_MAX ? [] : values.map(toText).filter((text) => text !== null)
  const [first] = texts
  return texts.length === values.length && first !== undefined
    ? { first, list: join(texts, ', ') }
    : { first: sql`${values[0] ?? null}`, list: listOf(values) }
}

/** Members without a code fail EQ and IN, and pass NEQ and NOT_IN. */
export function filterCondition(column: Sql, filter: QueryFilter): Sql {
  const { first, list } = filterValues(filter)
  const { operator } = filter
  switch (operator) {
    case 'EQ':
      return sql`${column} = ${first}`
    case 'IN':
      return sql`${column} IN (${list})`
    case 'NEQ':
      return sql`${column} IS DISTINCT FROM ${first}`
    case 'NOT_IN':
      return sql`(${column} NOT IN (${list}) OR ${column} IS NULL)`
    default:
      throw new TypeError(`${operator} selects periods, not rows`)
  }
}
