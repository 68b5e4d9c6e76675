/**
 * Plans the statements of lists and records. In: a dataset, valid filters and a position. Out: SQL over one period's partition, or over all
 * of them, in key order. A page reads one row more than its limit, so that the caller knows whether it is the last. Pure.
 */
import { type Dataset, isNullable } from '../../model/datasets.ts'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import { EMPTY, ident, join, type Sql, type SqlValue, sql, TEXT, table } from '../../sql.ts'
import { filterConditions, isAmong, whereClause } from './filters.ts'
import { orderTerms, type SortTerm } from './order.ts'
import { type Place, placeConditions } from './places.ts'

/** A period (YYYYMM), all periods, or null for datasets without periods. */
export type PeriodChoice = number | 'all' | null

export interface ListQuestion {
  readonly dataset: Dataset
  /** Parameter name → text, defaults included. */
  readonly filters: Readonly<Record<string, string>>
  readonly period: PeriodChoice
  /** Terms that come before the key in the order. */
  readonly sort?: readonly SortTerm[]
  /** Area of the map. Rows near a point are ordered by distance, unless `sort` is present. */
  readonly place?: Place | null
}

/** @returns columns that identify and order the rows; the month comes first when a list covers all periods */
export const orderOf = ({ dataset, period }: Omit<ListQuestion, 'filters'>): readonly FieldName[] =>
  period === 'all' ? ['reference_period', ...dataset.key] : dataset.key

const source = ({ dataset, period }: Omit<ListQuestion, 'filters'>): Sql =>
  table(dataset.name, typeof period === 'number' ? period : null)
/** Takes the place of null in positions of a list. No code and no number of the data is larger, because nulls come last. */
const LAST = { integer: 2_147_483_647, other: '~' } as const
const lastValue = (column: FieldName): string | number =>
  fieldOf(column).type === 'integer' ? LAST.integer : LAST.other
/** @returns the value of a key column in a position */
export const positionValue = (column: FieldName, value: string | number | null): string | number =>
  value ?? lastValue(column)
const keyValue = (dataset: Dataset, column: FieldName, prefix: Sql = EMPTY): Sql =>
  isNullable(dataset, column)
    ? sql`coalesce(${prefix}${ident(column)}, ${lastValue(column)})`
    : sql`${prefix}${ident(column)}`
const columns = (fields: readonly FieldName[]): Sql => join(fields.map(ident), ', ')

export function planList(
  question: ListQuestion,
  limit: number,
  after: readonly (string | number)[] | null,
  extraFields: readonly FieldName[] = [],
): Sql {
  const order = orderOf(question)
  const conditions = conditionsOf(question)
  if (after !== null) conditions.push(...afterKey(question.dataset, order, after))
  // Select the key columns even when they are not shown, because the cursor is made from them.
  const unshown = order.filter((column) => !question.dataset.fields.includes(column))
  return sql`SELECT ${columns([...unshown, ...question.dataset.fields, ...extraFields])} FROM ${source(question)}${whereClause(conditions)} ORDER BY ${columns(order)} LIMIT ${limit + 1}`
}

export const planCount = (question: ListQuestion): Sql =>
  sql`SELECT count(*) AS total FROM ${source(question)}${whereClause(conditionsOf(question))}`

const conditionsOf = ({ dataset, filters, place = null }: ListQuestion): Sql[] => [
  ...filterConditions(dataset.filters ?? {}, filters),
  ...(place === null ? [] : placeConditions(place)),
]

const matchKeys = (dataset: Dataset, order: readonly FieldName[]): Sql =>
  join(
    order.map(
      (column) =>
        sql`${keyValue(dataset, column, TEXT('listed.'))} = ${keyValue(dataset, column, TEXT('keys.'))}`,
    ),
    ' AND ',
  )

/**
 * Plans a page of a list that is sorted by other fields than its key. The statement numbers the rows in that order, and the page starts
 * after the number of the previous page's last row. A cursor therefore only holds keys.
 * @param extraFields columns in addition to those that lists show
 */
export function planSorted(
  question: ListQuestion,
  limit: number,
  after: readonly (string | number)[] | null,
  extraFields: readonly FieldName[],
): Sql {
  const order = orderOf(question)
  const terms = [...orderTerms(question.sort ?? []), ...order.map(ident)]
  const lastRowConditions = order.map(
    (column, at) => sql`${keyValue(question.dataset, column)} = ${after?.[at] as SqlValue}`,
  )
  const afterLastRow =
    after === null
      ? EMPTY
      : sql` WHERE place > (SELECT place FROM numbered WHERE ${join(lastRowConditions, ' AND ')})`
  return sql`WITH numbered AS (SELECT ${columns(order)}, row_number() OVER (ORDER BY ${join(terms, ', ')}) AS place FROM ${source(question)}${whereClause(conditionsOf(question))}), keys AS (SELECT * FROM numbered${afterLastRow} ORDER BY place LIMIT ${limit + 1}) SELECT ${shownColumns(question, extraFields)} FROM ${source(question)} AS listed JOIN keys ON ${matchKeys(question.dataset, order)} ORDER BY keys.place`
}

/** Selects key and coordinates of the rows that may be near a point. The caller computes distances and orders by them. */
export function planPoints(question: ListQuestion): Sql {
  const order = orderOf(question)
  const terms = [...orderTerms(question.sort ?? []), ...order.map(ident)]
  return sql`SELECT ${columns([...order, 'latitude', 'longitude'])} FROM ${source(question)}${whereClause(conditionsOf(question))} ORDER BY ${join(terms, ', ')}`
}

/** Selects the rows of some keys, unordered. @param keys at least one; values in the order of orderOf */
export function planKeys(
  question: ListQuestion,
  keys: readonly (readonly (string | number)[])[],
  extraFields: readonly FieldName[],
): Sql {
  const order = orderOf(question)
  const rows = keys.map(
    (key) =>
      sql`(${join(
        key.map((value) => sql`${value}`),
        ', ',
      )})`,
  )
  return sql`SELECT ${shownColumns(question, extraFields)} FROM ${source(question)} AS listed JOIN (VALUES ${join(rows, ', ')}) AS keys(${columns(order)}) ON ${matchKeys(question.dataset, order)}`
}

const shownColumns = (question: ListQuestion, extraFields: readonly FieldName[]): Sql => {
  const unshown = orderOf(question).filter((column) => !question.dataset.fields.includes(column))
  return join(
    [...unshown, ...question.dataset.fields, ...extraFields].map((column) => sql`listed.${ident(column)}`),
    ', ',
  )
}

/** Selects records by their key or by the beginning of it, in key order. @param key columns with one value or several */
export function planRecords(
  dataset: Dataset,
  key: readonly (readonly [column: FieldName, values: readonly (string | number)[]])[],
  period: PeriodChoice,
  fields: readonly FieldName[],
): Sql {
  const conditions = key.map(([column, values]) => isAmong(ident(column), values))
  return sql`SELECT ${columns(fields)} FROM ${source({ dataset, period })}${whereClause(conditions)} ORDER BY ${columns(orderOf({ dataset, period }))}`
}

/** Writes out (a, b, c) > (x, y, z). The condition on the first column alone lets DuckDB skip whole row groups. */
function afterKey(dataset: Dataset, order: readonly FieldName[], after: readonly (string | number)[]): Sql[] {
  const first = order[0]
  const steps = order.map((column, index) => {
    const equal = order
      .slice(0, index)
      .map((before, at) => sql`${keyValue(dataset, before)} = ${after[at] as SqlValue}`)
    return sql`(${join([...equal, sql`${keyValue(dataset, column)} > ${after[index] as SqlValue}`], ' AND ')})`
  })
  return [
    ...(first === undefined ? [] : [sql`${keyValue(dataset, first)} >= ${after[0] as SqlValue}`]),
    sql`(${join(steps, ' OR ')})`,
  ]
}
