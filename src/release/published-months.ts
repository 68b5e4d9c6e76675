/**
 * Lists the months that a publisher has. A range of months in a request means all of them, collected or not. Pure. In: a
 * view, tables, a range. Out: months, ascending. coverage.ts says which of them were collected.
 */
import { areaOf } from '../model/areas.ts'
import { datasetOf } from '../model/datasets.ts'
import type { Table } from '../model/required-tables.ts'
import { monthsOfRelease, tablesBeside } from './coverage.ts'
import type { ReleaseView } from './view.ts'

const DECEMBER = 12

/** @returns whether all tables have years as periods, each named by its last month */
export const isOfYears = (tables: readonly Table[]): boolean =>
  tables.every((table) => areaOf(datasetOf(table).area).periods === 'years')

/** Inclusive range of months (YYYYMM); null for an open end. */
export interface MonthRange {
  readonly first: number | null
  readonly last: number | null
}

/**
 * @returns months of a range, ascending. An open start means the oldest month here, an open end the newest. The range is cut
 * at the publisher's first month and the newest month here.
 */
export function publishedMonths(view: ReleaseView, tables: readonly Table[], range: MonthRange): number[] {
  const groups = new Set(tables.map(tablesBeside))
  const months = [...groups].flatMap((group) => monthsOfTables(view, group, range))
  return [...new Set(months)].sort((left, right) => left - right)
}

function monthsOfTables(view: ReleaseView, tables: readonly Table[], { first, last }: MonthRange): number[] {
  const storedMonths = monthsOfRelease(view, tables)
  const [oldest] = storedMonths
  const newest = storedMonths.at(-1)
  const [table] = tables
  if (oldest === undefined || newest === undefined || table === undefined) return []
  const start = first === null ? oldest : Math.max(first, areaOf(datasetOf(table).area).firstMonth ?? oldest)
  const end = Math.min(last ?? newest, newest)
  return (isOfYears([table]) ? withEachYear(storedMonths) : monthsBetween(start, end)).filter(
    (period) => period >= start && period <= end,
  )
}

/** @param period YYYYMM @param months may be negative */
export function addMonths(period: number, months: number): number {
  const month = Math.floor(period / 100) * 12 + (period % 100) - 1 + months
  return Math.floor(month / 12) * 100 + (month % 12) + 1
}

function monthsBetween(first: number, last: number): number[] {
  const months: number[] = []
  for (let period = first; period <= last; period = addMonths(period, 1)) months.push(period)
  return months
}

/** Adds missing years to yearly periods: a year that was not collected gets its December. */
function withEachYear(periods: readonly number[]): number[] {
  const years = periods.map((period) => Math.floor(period / 100))
  const [oldest = 0] = years
  const allYears = Array.from({ length: (years.at(-1) ?? oldest) - oldest + 1 }, (_, index) => oldest + index)
  const missing = allYears.filter((year) => !years.includes(year)).map((year) => year * 100 + DECEMBER)
  return [...periods, ...missing].sort((left, right) => left - right)
}
