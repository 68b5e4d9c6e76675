/**
 * The months of a query. In: its filters on reference_period, how several become one value, the states it is about, a
 * release. Out: the months each metric is asked for. Stocks are never summed over months. Pure. Rules: contract 7.6 and 12.
 */
import { AppError, both } from '../../errors.ts'
import { type Need, type Table, tablesAmong } from '../../model/required-tables.ts'
import { monthsOf, newestFor, statesCollected, statesCollectedOf, TABLES } from '../../release/coverage.ts'
import { addMonths, type MonthRange, publishedMonths } from '../../release/published-months.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** The months of a query, before its metrics are looked at. */
export interface AskedPeriods {
  /** YYYYMM, ascending; null: each metric's own newest (or oldest) month. */
  readonly asked: readonly number[] | null
  /** Which month is meant where none is asked for. */
  readonly end: 'newest' | 'oldest'
  /** Months in which anything was collected of the states, and which meet the filters. */
  readonly held: readonly number[]
  /** Months that flows are added up over; null: their newest (or oldest). */
  readonly added: readonly number[] | null
}

/** What of its metrics a query's months depend on. */
export interface PeriodNeeds {
  /** Tables of the areas that are read. */
  readonly tables: readonly Table[]
  /** Some of them are stocks: of several months they need to be told how they become one value. */
  readonly hasStocks: boolean
}

/** @throws AppError 'semi_additive' */
export function askPeriods(
  query: AnalyticsQuery,
  states: ReadonlySet<string>,
  view: ReleaseView,
  { tables, hasStocks }: PeriodNeeds = { tables: TABLES, hasStocks: true },
): AskedPeriods {
  const filters = query.filters.filter(({ dimension }) => dimension === 'reference_period')
  const isGrouped = query.group_by.includes('reference_period')
  const { over_period: over } = query
  const held = periodsMeeting(filters, monthsOf(view, states, tables))
  const end = over === 'first' ? 'oldest' : 'newest'
  const isAnchored = over === null || over === 'last' || over === 'first'
  const meant = meantPeriods(filters, tables, view)
  if (isGrouped) {
    const rows = meant === null ? held : withRows(meant, held, tables, view)
    return { asked: rows, end, held, added: rows }
  }
  if (filters.length === 0 && isAnchored) return { asked: null, end, held, added: null }
  const asked = meant ?? held
  const added = asked
  if (asked.length <= 1 || !hasStocks) return { asked, end, held, added }
  if (over === null) throw severalPeriods(asked, null)
  if (!isAnchored) return { asked, end, held, added }
  // One anchor for all groups and metrics: a hospital that closed before it does not count.
  const anchor = newestFor(end === 'newest' ? held : held.toReversed(), states, (period) =>
    tables.map((table) => statesCollected(view, table, period)),
  )
  return { asked: anchor === null ? asked : [anchor], end, held, added }
}

/** @param level the level of totals that leaves the months out; null: the query itself */
export const severalPeriods = (periods: readonly number[], level: string | null): AppError =>
  new AppError('semi_additive', {
    detail:
      level === null
        ? both(
            `A consulta escolhe ${periods.length} competências sem agrupar por elas.`,
            `The query selects ${periods.length} reference periods without grouping by them.`,
          )
        : both(
            `O nível ${level} deixa de fora reference_period, e a consulta escolhe ${periods.length} competências.`,
            `The level ${level} leaves out reference_period, of which the query selects ${periods.length}.`,
          ),
    errors: [
      {
        pointer: '/over_period',
        message: both(
          'deve dizer como várias competências viram um valor',
          'must say how several periods become one value',
        ),
        allowed: ['last', 'first', 'avg', 'max'],
      },
    ],
    extra: { periods: periods.map(formatPeriod) },
  })

/** @param isAdded the metric is a flow @returns the months a metric is asked for */
export function periodsOfMetric(
  { asked, end, held, added }: AskedPeriods,
  needs: readonly Need[],
  states: ReadonlySet<string>,
  view: ReleaseView,
  isAdded = false,
): readonly number[] {
  const own = isAdded ? added : asked
  if (own !== null) return own
  // What a table's files say changes over time; its newest month does not.
  const tables = tablesAmong(needs)
  const anchor = newestFor(end === 'newest' ? held : held.toReversed(), states, (period) => [
    statesCollectedOf(view, tables, period),
  ])
  return anchor === null ? [] : [anchor]
}

/** @returns months that filters name one by one and all filters leave; null where none names any */
export function listedPeriods(filters: readonly QueryFilter[]): number[] | null {
  const listed = filters.find(({ operator }) => operator === 'EQ' || operator === 'IN')
  if (listed === undefined) return null
  return periodsMeeting(
    filters,
    listed.values.map(Number).sort((left, right) => left - right),
  )
}

/**
 * @returns months that filters mean, ascending, collected or not: those they name one by one, or all of their range that the
 * publisher has; null where they do neither, so that the months here are meant
 */
export const meantPeriods = (
  filters: readonly QueryFilter[],
  tables: readonly Table[],
  view: ReleaseView,
): number[] | null => listedPeriods(filters) ?? rangedPeriods(filters, tables, view)

function rangedPeriods(
  filters: readonly QueryFilter[],
  tables: readonly Table[],
  view: ReleaseView,
): number[] | null {
  const range = rangeOf(filters)
  return range === null ? null : periodsMeeting(filters, publishedMonths(view, tables, range))
}

/** @returns the ends that filters on months set together; null where none is a range */
export function rangeOf(filters: readonly QueryFilter[]): MonthRange | null {
  const ranges = filters.filter(({ operator }) => RANGES.has(operator))
  if (ranges.length === 0) return null
  const firsts = ranges.flatMap(({ operator, values: [first = 0] }) => {
    if (operator === 'GT') return [addMonths(Number(first), 1)]
    return operator === 'GTE' || operator === 'BETWEEN' ? [Number(first)] : []
  })
  const lasts = ranges.flatMap(({ operator, values }) => {
    const last = Number(values.at(-1))
    if (operator === 'LT') return [addMonths(last, -1)]
    return operator === 'LTE' || operator === 'BETWEEN' ? [last] : []
  })
  return {
    first: firsts.length === 0 ? null : Math.max(...firsts),
    last: lasts.length === 0 ? null : Math.min(...lasts),
  }
}
const RANGES: ReadonlySet<string> = new Set(['GT', 'GTE', 'LT', 'LTE', 'BETWEEN'])

/** Months that are rows, where the months are groups: those here, and those that the publisher has and nobody collected. */
function withRows(
  meant: readonly number[],
  held: readonly number[],
  tables: readonly Table[],
  view: ReleaseView,
): number[] {
  const [first = null] = meant
  const published = publishedMonths(view, tables, { first, last: meant.at(-1) ?? null })
  return allPeriods([held, meant.filter((period) => published.includes(period))])
}

/** @returns the periods of several lists, each once, ascending */
export const allPeriods = (lists: readonly (readonly number[])[]): number[] =>
  [...new Set(lists.flat())].sort((left, right) => left - right)

/** @returns the months that pass filters on reference_period */
export const periodsMeeting = (filters: readonly QueryFilter[], periods: readonly number[]): number[] =>
  periods.filter((period) => filters.every((filter) => meetsPeriod(filter, period)))

function meetsPeriod({ operator, values }: QueryFilter, period: number): boolean {
  const [first = 0, second = 0] = values as readonly number[]
  switch (operator) {
    case 'EQ':
    case 'IN':
      return values.includes(period)
    case 'NEQ':
    case 'NOT_IN':
      return !values.includes(period)
    case 'GT':
      return period > first
    case 'GTE':
      return period >= first
    case 'LT':
      return period < first
    case 'LTE':
      return period <= first
    case 'BETWEEN':
      return period >= first && period <= second
  }
}

/** @param period YYYYMM @returns days of the month */
export const daysIn = (period: number): number =>
  new Date(Date.UTC(Math.floor(period / 100), period % 100, 0)).getUTCDate()
