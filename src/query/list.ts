/**
 * Lists and records → statements. Pure: a dataset, filters already valid, a position. Out: `Sql` over one period's
 * partition (or all of them), in key order, one row more than asked so that the last page is known.
 */
import type { Dataset } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import { ident, join, type Sql, type SqlValue, sql, table } from '../sql.ts'
import { filterConditions, whereClause } from './filters.ts'

/** A period (YYYYMM), every period, or none for datasets without periods. */
export type PeriodChoice = number | 'all' | null

export interface ListQuestion {
  readonly dataset: Dataset
  /** Parameter name → text, defaults filled in. */
  readonly filters: Readonly<Record<string, string>>
  readonly period: PeriodChoice
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
): Sql {
  const order = orderOf(question)
  const conditions = filterConditions(question.dataset.filters ?? {}, question.filters)
  if (after !== null) conditions.push(...afterKey(order, after))
  // The order is always shown: the cursor is made of it.
  const unshown = order.filter((column) => !question.dataset.fields.includes(column))
  return sql`SELECT ${columns([...unshown, ...question.dataset.fields])} FROM ${source(question)}${whereClause(conditions)} ORDER BY ${columns(order)} LIMIT ${limit + 1}`
}

export function planCount(question: ListQuestion): Sql {
  return sql`SELECT count(*) AS total FROM ${source(question)}${whereClause(filterConditions(question.dataset.filters ?? {}, question.filters))}`
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

/** Every field of the records that meet conditions, in key order. */
export function selectRecords(dataset: Dataset, conditions: readonly Sql[], period: PeriodChoice): Sql {
  const fields = [...dataset.fields, ...(dataset.detail ?? [])]
  return sql`SELECT ${columns(fields)} FROM ${source({ dataset, period })}${whereClause(conditions)} ORDER BY ${columns(orderOf({ dataset, period }))}`
}

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
