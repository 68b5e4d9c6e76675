/**
 * Lists and records → statements. Pure: a dataset, filters already valid, a position. Out: `Sql` over one period's
 * partition (or all of them), in key order, one row more than asked so that the last page is known.
 */
import type { ResidentRelation } from '../../engine/types.ts'
import type { Dataset } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import { EMPTY, ident, join, resident, type Sql, type SqlValue, sql, table } from '../../sql.ts'
import { filterConditions, whereClause } from './filters.ts'
import { orderTerms, type SortTerm } from './order.ts'
import { type Place, placeConditions } from './places.ts'

/** A period (YYYYMM), every period, or none for datasets without periods. */
export type PeriodChoice = number | 'all' | null

export interface ListQuestion {
  readonly dataset: Dataset
  /** Parameter name → text, defaults filled in. */
  readonly filters: Readonly<Record<string, string>>
  readonly period: PeriodChoice
  /** What comes before the key in its order. */
  readonly sort?: readonly SortTerm[]
  /** Where its rows are; near a point they stand by distance, unless they are sorted. */
  readonly place?: Place | null
}

/** Grain and order of a list: over all periods the month comes first. */
export const orderOf = ({ dataset, period }: Omit<ListQuestion, 'filters'>): readonly FieldName[] =>
  period === 'all' ? ['reference_period', ...dataset.key] : dataset.key

const source = ({ dataset, period }: Omit<ListQuestion, 'filters'>): Sql =>
  table(dataset.name, typeof period === 'number' ? period : null)
const columns = (fields: readonly FieldName[]): Sql => join(fields.map(ident), ', ')

export function planList(
  question: ListQuestion,
  limit: number,
  after: readonly (string | number)[] | null,
  more: readonly FieldName[] = [],
): Sql {
  const order = orderOf(question)
  const conditions = conditionsOf(question)
  if (after !== null) conditions.push(...afterKey(order, after))
  // The order is always shown: the cursor is made of it.
  const unshown = order.filter((column) => !question.dataset.fields.includes(column))
  return sql`SELECT ${columns([...unshown, ...question.dataset.fields, ...more])} FROM ${source(question)}${whereClause(conditions)} ORDER BY ${columns(order)} LIMIT ${limit + 1}`
}

export const planCount = (question: ListQuestion): Sql =>
  sql`SELECT count(*) AS total FROM ${source(question)}${whereClause(conditionsOf(question))}`

const conditionsOf = ({ dataset, filters, place = null }: ListQuestion): Sql[] => [
  ...filterConditions(dataset.filters ?? {}, filters),
  ...(place === null ? [] : placeConditions(place)),
]

/** Which rows have the key of one of some rows of `keys`, a relation. */
const haveKeys = (order: readonly FieldName[]): Sql =>
  join(
    order.map((column) => sql`listed.${ident(column)} = keys.${ident(column)}`),
    ' AND ',
  )

/**
 * A page of a list in an order of its own. Its rows are numbered in that order, so that the page goes on behind the number of
 * the row that the page before ended with: nothing is compared with what a cursor says but keys.
 * @param more columns beside those that lists show
 */
export function planSorted(
  question: ListQuestion,
  limit: number,
  after: readonly (string | number)[] | null,
  more: readonly FieldName[],
): Sql {
  const order = orderOf(question)
  const terms = [...orderTerms(question.sort ?? []), ...order.map(ident)]
  const isLast = order.map((column, at) => sql`${ident(column)} = ${after?.[at] as SqlValue}`)
  const behind =
    after === null ? EMPTY : sql` WHERE place > (SELECT place FROM numbered WHERE ${join(isLast, ' AND ')})`
  return sql`WITH numbered AS (SELECT ${columns(order)}, row_number() OVER (ORDER BY ${join(terms, ', ')}) AS place FROM ${source(question)}${whereClause(conditionsOf(question))}), keys AS (SELECT * FROM numbered${behind} ORDER BY place LIMIT ${limit + 1}) SELECT ${shownColumns(question, more)} FROM ${source(question)} AS listed JOIN keys ON ${haveKeys(order)} ORDER BY keys.place`
}

/** Keys and coordinates of the rows that may be near a point, in the order of the list but for their distance. */
export function planPoints(question: ListQuestion): Sql {
  const order = orderOf(question)
  const terms = [...orderTerms(question.sort ?? []), ...order.map(ident)]
  return sql`SELECT ${columns([...order, 'latitude', 'longitude'])} FROM ${source(question)}${whereClause(conditionsOf(question))} ORDER BY ${join(terms, ', ')}`
}

/** The rows of some keys, in no order. @param keys at least one, each in the order of orderOf */
export function planKeys(
  question: ListQuestion,
  keys: readonly (readonly (string | number)[])[],
  more: readonly FieldName[],
): Sql {
  const order = orderOf(question)
  const rows = keys.map(
    (key) =>
      sql`(${join(
        key.map((value) => sql`${value}`),
        ', ',
      )})`,
  )
  return sql`SELECT ${shownColumns(question, more)} FROM ${source(question)} AS listed JOIN (VALUES ${join(rows, ', ')}) AS keys(${columns(order)}) ON ${haveKeys(order)}`
}

/** The order is always shown: the cursor is made of it. */
const shownColumns = (question: ListQuestion, more: readonly FieldName[]): Sql => {
  const unshown = orderOf(question).filter((column) => !question.dataset.fields.includes(column))
  return join(
    [...unshown, ...question.dataset.fields, ...more].map((column) => sql`listed.${ident(column)}`),
    ', ',
  )
}

/** Every field of the records with a key. @param key column → value */
export function planRecord(
  dataset: Dataset,
  key: Readonly<Record<string, SqlValue>>,
  period: PeriodChoice,
): Sql {
  const conditions = Object.entries(key).map(([column, value]) => sql`${ident(column)} = ${value}`)
  return selectRecords(dataset, conditions, period)
}

/**
 * Every field of the records that meet conditions, in key order.
 * @param ofFile conditions that follow from the others, and are tried only where a file is read
 */
export function selectRecords(
  dataset: Dataset,
  conditions: readonly Sql[],
  period: PeriodChoice,
  ofFile: readonly Sql[] = [],
): Sql {
  const isMonth = dataset.periodic && typeof period === 'number'
  const from = isMonth ? recordsOf(dataset, period, ofFile) : source({ dataset, period })
  const where = whereClause(isMonth ? conditions : [...conditions, ...ofFile])
  return sql`SELECT ${columns(fieldsOfRecord(dataset))} FROM ${from}${where} ORDER BY ${columns(orderOf({ dataset, period }))}`
}

const fieldsOfRecord = (dataset: Dataset): FieldName[] => [...dataset.fields, ...(dataset.detail ?? [])]

const recordsOf = (dataset: Dataset, period: number, conditions: readonly Sql[]): Sql =>
  resident(
    `records ${dataset.name} ${period}`,
    sql`${recordsDefinition(dataset, period)}${whereClause(conditions)}`,
  )
const recordsDefinition = (dataset: Dataset, period: number): Sql =>
  sql`SELECT ${columns([...new Set([...dataset.key, ...fieldsOfRecord(dataset)])])}, file_row_number FROM ${table(dataset.name, period)}`

/** The records of a month as a relation that an engine may hold in memory, where they are many. @param rows of the month */
export const keyedRecords = (dataset: Dataset, period: number, rows: number): ResidentRelation => ({
  name: `records ${dataset.name} ${period}`,
  rows,
  definition: recordsDefinition(dataset, period),
  codes: [],
  number: null,
  key: dataset.key[0] ?? '',
})

/** (a, b, c) > (x, y, z), written out; the first column alone lets whole row groups be skipped. */
function afterKey(order: readonly FieldName[], after: readonly (string | number)[]): Sql[] {
  const first = order[0]
  const steps = order.map((column, index) => {
    const equal = order.slice(0, index).map((before, at) => sql`${ident(before)} = ${after[at] as SqlValue}`)
    return sql`(${join([...equal, sql`${ident(column)} > ${after[index] as SqlValue}`], ' AND ')})`
  })
  return [
    ...(first === undefined ? [] : [sql`${ident(first)} >= ${after[0] as SqlValue}`]),
    sql`(${join(steps, ' OR ')})`,
  ]
}
