/**
 * The months that a publisher has: a range of months means all of them, collected or not. In: a view, tables, the ends of a
 * range. Out: months, ascending. Pure. Not here: which of them were collected (collected.ts).
 */
import { type Area, datasetOf } from '../model/datasets.ts'
import type { Table } from '../model/required-tables.ts'
import { FINANCING_TABLES, monthsOfRelease, tablesBeside } from './coverage.ts'
import type { ReleaseView } from './view.ts'

/** First month (YYYYMM) of the files of an area: CNES by state, SIHSUS and SIASUS on the publisher's server. */
const FIRST_MONTHS: Readonly<Partial<Record<Area, number>>> = { cnes: 200508, sih: 199201, sia: 199407 }
const DECEMBER = 12

/** @returns are all tables of years, each of which is its last month? */
export const isOfYears = (tables: readonly Table[]): boolean =>
  tables.every((table) => FINANCING_TABLES.some((name) => name === table))

/** Ends of a range of months (YYYYMM), both inside of it; null: it has no such end. */
export interface MonthRange {
  readonly first: number | null
  readonly last: number | null
}

/**
 * @returns months of a range, ascending: from its first month, but not before the publisher's; without one, from the oldest
 * month here; to its last, but not past the newest month here
 */
export function publishedMonths(view: ReleaseView, tables: readonly Table[], range: MonthRange): number[] {
  const releases = new Set(tables.map(tablesBeside))
  const months = [...releases].flatMap((beside) => monthsOfTables(view, beside, range))
  return [...new Set(months)].sort((left, right) => left - right)
}

function monthsOfTables(view: ReleaseView, tables: readonly Table[], { first, last }: MonthRange): number[] {
  const held = monthsOfRelease(view, tables)
  const [oldest] = held
  const newest = held.at(-1)
  const [table] = tables
  if (oldest === undefined || newest === undefined || table === undefined) return []
  const start = first === null ? oldest : Math.max(first, FIRST_MONTHS[datasetOf(table).area] ?? oldest)
  const end = Math.min(last ?? newest, newest)
  return (isOfYears([table]) ? withEachYear(held) : monthsBetween(start, end)).filter(
    (period) => period >= start && period <= end,
  )
}

/** @param period YYYYMM @returns the month some months after it, or before it */
export function addMonths(period: number, months: number): number {
  const month = Math.floor(period / 100) * 12 + (period % 100) - 1 + months
  return Math.floor(month / 12) * 100 + (month % 12) + 1
}

/** @returns the months between two, both included */
function monthsBetween(first: number, last: number): number[] {
  const months: number[] = []
  for (let period = first; period <= last; period = addMonths(period, 1)) months.push(period)
  return months
}

/** Periods of tables of years are their last months: a year that was not collected is its December. */
function withEachYear(held: readonly number[]): number[] {
  const years = held.map((period) => Math.floor(period / 100))
  const [oldest = 0] = years
  const all = Array.from({ length: (years.at(-1) ?? oldest) - oldest + 1 }, (_, index) => oldest + index)
  const lacking = all.filter((year) => !years.includes(year)).map((year) => year * 100 + DECEMBER)
  return [...held, ...lacking].sort((left, right) => left - right)
}
