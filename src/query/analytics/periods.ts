/**
 * Resolves the months of a query: from filters on reference_period, over_period, states and release to the months of each
 * metric. Stocks are never summed over months. Pure. Rules: contract 7.6 and 12.
 */
import { AppError, both } from '../../errors.ts'
import type { DimensionCode } from '../../model/dimensions.ts'
import { finestTime, isTime, monthsOfPeriod, periodOf, type TimeDimension } from '../../model/periods.ts'
import { type Need, type Table, tablesAmong } from '../../model/required-tables.ts'
import { monthsOf, newestFor, statesCollected, statesCollectedOf, TABLES } from '../../release/coverage.ts'
import { addMonths, type MonthRange, publishedMonths } from '../../release/published-months.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import type { FilterValue, QueryFilter } from './filters.ts'
import type { AnalyticsQuery } from './request.ts'

export interface RequestedPeriods {
  /** YYYYMM, ascending; null when each metric uses its own newest (or oldest) month. */
  readonly requested: readonly number[] | null
  readonly end: 'newest' | 'oldest'
  /** Months that meet the filters and in which some state in scope was collected. */
  readonly available: readonly number[]
  /** Months over which flows are summed; null for their newest (or oldest) month. */
  readonly summed: readonly number[] | null
}

export interface PeriodNeeds {
  readonly tables: readonly Table[]
  /** Some metrics are stocks, which need over_period when the query selects several months. */
  readonly hasStocks: boolean
}

/** @throws AppError 'semi_additive' */
export function resolvePeriods(
  query: AnalyticsQuery,
  states: ReadonlySet<string>,
  view: ReleaseView,
  { tables, hasStocks }: PeriodNeeds = { tables: TABLES, hasStocks: true },
): RequestedPeriods {
  const filters = query.filters.filter(({ dimension }) => isTime(dimension))
  const isGrouped = finestTime(query.group_by) !== null
  const { over_period: overPeriod } = query
  const available = periodsMeeting(filters, monthsOf(view, states, tables))
  const end = overPeriod === 'first' ? 'oldest' : 'newest'
  const isAnchored = overPeriod === null || overPeriod === 'last' || overPeriod === 'first'
  const selected = selectedPeriods(filters, tables, view)
  if (isGrouped) {
    const rows = selected === null ? available : addPublishedMonths(selected, available, tables, view)
    return { requested: rows, end, available, summed: rows }
  }
  if (filters.length === 0 && isAnchored) return { requested: null, end, available, summed: null }
  const requested = selected ?? available
  const summed = requested
  if (requested.length <= 1 || !hasStocks) return { requested, end, available, summed }
  if (overPeriod === null) throw severalPeriodsError(requested, null)
  if (!isAnchored) return { requested, end, available, summed }
  // All groups and metrics share one month, so a hospital that closed earlier does not count. A month that a filter selects is not
  // replaced by another where nobody collected it.
  if (selected !== null)
    return { requested: end === 'newest' ? selected.slice(-1) : selected.slice(0, 1), end, available, summed }
  const anchorMonth = newestFor(end === 'newest' ? available : available.toReversed(), states, (period) =>
    tables.map((table) => statesCollected(view, table, period)),
  )
  return { requested: anchorMonth === null ? requested : [anchorMonth], end, available, summed }
}

/** Says where a query of stocks states how several months become one value. */
export const OVER_PERIOD_MISSING = [
  {
    pointer: '/over_period',
    message: both(
      'deve dizer como várias competências viram um valor',
      'must say how several periods become one value',
    ),
    allowed: ['last', 'first', 'avg', 'max'],
  },
] as const

/** @param level level of totals without months; null for the query itself */
export const severalPeriodsError = (periods: readonly number[], level: string | null): AppError =>
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
    errors: OVER_PERIOD_MISSING,
    extra: { periods: periods.map(formatPeriod) },
  })

/** @returns the months requested of a metric @param isFlow the metric is a flow, which is summed over months */
export function periodsOfMetric(
  { requested, end, available, summed }: RequestedPeriods,
  needs: readonly Need[],
  states: ReadonlySet<string>,
  view: ReleaseView,
  isFlow = false,
): readonly number[] {
  const periods = isFlow ? summed : requested
  if (periods !== null) return periods
  // Only tables decide the newest month. Columns that appear in some months only do not.
  const tables = tablesAmong(needs)
  const anchorMonth = newestFor(end === 'newest' ? available : available.toReversed(), states, (period) => [
    statesCollectedOf(view, tables, period),
  ])
  return anchorMonth === null ? [] : [anchorMonth]
}

/** @returns the newest collected month of any table, for queries whose metrics have no month */
export function findNewestMonth(
  available: readonly number[],
  states: ReadonlySet<string>,
  view: ReleaseView,
  tables: readonly Table[],
): number[] {
  const newest = newestFor(available, states, (period) =>
    tables.map((table) => statesCollected(view, table, period)),
  )
  return newest === null ? [] : [newest]
}

/** @returns the months listed by EQ or IN filters that pass all filters; null when no filter lists months */
export function listedPeriods(filters: readonly QueryFilter[]): number[] | null {
  const listed = filters.find(({ operator }) => operator === 'EQ' || operator === 'IN')
  if (listed === undefined) return null
  const { dimension } = listed
  return periodsMeeting(filters, allPeriods([listed.values.flatMap((value) => monthsIn(dimension, value))]))
}

/**
 * @returns the months that filters select, ascending, collected or not: listed months, or published months within a range;
 * null when the filters do neither
 */
export const selectedPeriods = (
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

/** @returns the range of months that the filters set together; null without range filters */
export function rangeOf(filters: readonly QueryFilter[]): MonthRange | null {
  const ranges = filters.filter(({ operator }) => RANGES.has(operator))
  if (ranges.length === 0) return null
  const firstMonths = ranges.flatMap(({ dimension, operator, values: [first = 0] }) => {
    const months = monthsIn(dimension, first)
    if (operator === 'GT') return [addMonths(months.at(-1) ?? 0, 1)]
    return operator === 'GTE' || operator === 'BETWEEN' ? [months[0] ?? 0] : []
  })
  const lastMonths = ranges.flatMap(({ dimension, operator, values }) => {
    const months = monthsIn(dimension, values.at(-1) ?? 0)
    if (operator === 'LT') return [addMonths(months[0] ?? 0, -1)]
    return operator === 'LTE' || operator === 'BETWEEN' ? [months.at(-1) ?? 0] : []
  })
  return {
    first: firstMonths.length === 0 ? null : Math.max(...firstMonths),
    last: lastMonths.length === 0 ? null : Math.min(...lastMonths),
  }
}
/** @returns the months of a period that a filter names */
const monthsIn = (dimension: DimensionCode, period: FilterValue): number[] =>
  monthsOfPeriod(dimension as TimeDimension, Number(period))
const RANGES: ReadonlySet<string> = new Set(['GT', 'GTE', 'LT', 'LTE', 'BETWEEN'])

/** Months that become rows when months are grouped: available months, plus published months that were not collected. */
function addPublishedMonths(
  selected: readonly number[],
  available: readonly number[],
  tables: readonly Table[],
  view: ReleaseView,
): number[] {
  const [first = null] = selected
  const published = publishedMonths(view, tables, { first, last: selected.at(-1) ?? null })
  return allPeriods([available, selected.filter((period) => published.includes(period))])
}

export const allPeriods = (lists: readonly (readonly number[])[]): number[] =>
  [...new Set(lists.flat())].sort((left, right) => left - right)

export const periodsMeeting = (filters: readonly QueryFilter[], periods: readonly number[]): number[] =>
  periods.filter((period) => filters.every((filter) => meetsPeriod(filter, period)))

function meetsPeriod({ dimension, operator, values }: QueryFilter, month: number): boolean {
  const period = periodOf(dimension as TimeDimension, month)
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

/** @param period YYYYMM */
export const daysIn = (period: number): number =>
  new Date(Date.UTC(Math.floor(period / 100), period % 100, 0)).getUTCDate()
