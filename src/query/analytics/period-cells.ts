/**
 * Resolves periods that consist of several months: years, quarters, quadrimesters and windows. Pure.
 *
 * In: a query, its months, and the needs of a metric. Out: the cells of the metric, one for each period that is a group. A cell lists the
 * months that must have been collected and those whose rows are read. Rules: contract 18.
 */
import { AppError, both } from '../../errors.ts'
import {
  finestTime,
  isTime,
  lengthOf,
  monthsApart,
  monthsOfPeriod,
  periodOf,
  readPeriod,
  shiftPeriod,
  TIME_DIMENSIONS,
  type TimeDimension,
} from '../../model/periods.ts'
import { type Need, type Table, tablesAmong } from '../../model/required-tables.ts'
import { ALL_STATES, includesAll, includesAny, statesCollectedOf } from '../../release/coverage.ts'
import { addMonths, isOfYears } from '../../release/published-months.ts'
import { collectedPeriods, type ReleaseView } from '../../release/view.ts'
import { refuse } from '../refusals.ts'
import type { OptionData, QueryOptions } from './options/options.ts'
import { allPeriods, OVER_PERIOD_MISSING, periodsMeeting } from './periods.ts'
import type { AnalyticsQuery } from './request.ts'

export interface PeriodCell {
  /** Code of the finest grouped period; 0 when no period is grouped. */
  readonly code: number
  /** Months that must have been collected, YYYYMM, ascending. */
  readonly needed: readonly number[]
  /** Months whose rows are read. */
  readonly read: readonly number[]
  /** Months of the period that were not collected for the scope. */
  readonly missing: readonly number[]
}

type PeriodQuery = Pick<AnalyticsQuery, 'group_by' | 'filters' | 'over_period'> &
  Pick<QueryOptions, 'incomplete' | 'window'>

const isCoarse = (code: string): code is TimeDimension => isTime(code) && code !== 'reference_period'

/** @returns whether a query groups or filters by periods coarser than a month, or has a window */
export const usesPeriods = ({
  group_by,
  filters,
  window,
}: Pick<PeriodQuery, 'group_by' | 'filters' | 'window'>): boolean =>
  window !== null || group_by.some(isCoarse) || filters.some(({ dimension }) => isCoarse(dimension))

const timeFilters = ({ filters }: PeriodQuery) => filters.filter(({ dimension }) => isTime(dimension))

/** @returns the codes of the finest grouped period that contain any of the months; [0] when no period is grouped */
export function codesOfMonths(query: PeriodQuery, months: readonly number[]): number[] {
  const finest = finestTime(query.group_by)
  return finest === null ? [0] : allPeriods([months.map((month) => periodOf(finest, month))])
}

/** @returns the months of each period, as far as the filters on time leave them */
export function monthsByCode(
  query: PeriodQuery,
  codes: readonly number[],
  selected: readonly number[],
): Map<number, readonly number[]> {
  const finest = finestTime(query.group_by)
  const filters = timeFilters(query)
  return new Map(
    codes.map((code) => {
      if (finest === null) return [code, completePeriods(query, selected)]
      if (query.window !== null) return [code, monthsOfWindow(query.window, code)]
      return [code, periodsMeeting(filters, monthsOfPeriod(finest, code))]
    }),
  )
}

/** Adds the other months of the years, quarters and quadrimesters that filters name. */
function completePeriods(query: PeriodQuery, selected: readonly number[]): number[] {
  const filters = timeFilters(query)
  const coarse = TIME_DIMENSIONS.filter((code) => filters.some(({ dimension }) => dimension === code))
  const complete = coarse.flatMap((dimension) =>
    selected.flatMap((month) => monthsOfPeriod(dimension, periodOf(dimension, month))),
  )
  return allPeriods([selected, periodsMeeting(filters, allPeriods([complete]))])
}

function monthsOfWindow(window: NonNullable<QueryOptions['window']>, month: number): number[] {
  const count = 'months' in window ? window.months : month % 100
  return Array.from({ length: count }, (_, index) => addMonths(month, index + 1 - count))
}

export interface CellParts {
  readonly needs: readonly Need[]
  readonly states: ReadonlySet<string>
  readonly isFlow: boolean
  /** Groups are territories, each of which needs only its own states. */
  readonly isByPlace: boolean
}

/** @returns the cells of a metric @throws AppError 'semi_additive', 'invalid_request' for a window over yearly data */
export function cellsOfMetric(
  query: PeriodQuery,
  months: ReadonlyMap<number, readonly number[]>,
  { needs, states, isFlow, isByPlace }: CellParts,
  view: ReleaseView,
): PeriodCell[] {
  const tables = tablesAmong(needs)
  const isYearly = tables.length > 0 && isOfYears(tables)
  if (isYearly && query.window !== null)
    throw refuse(
      'invalid_request',
      '/window',
      both('não combina com dados publicados por ano', 'does not go with data published by year'),
    )
  if (!isFlow && query.over_period === null && [...months.values()].some((own) => own.length > 1))
    throw stockError(query)
  const collected = (month: number): ReadonlySet<string> => statesCollectedOf(view, needs, month)
  return [...months].map(([code, all]): PeriodCell => {
    const published = isYearly ? yearlyMonths(all, query.incomplete === 'allow', tables, view) : all
    const wanted = isByPlace
      ? new Set([...states].filter((uf) => published.some((month) => collected(month).has(uf))))
      : states
    const complete = published.filter((month) => includesAll(collected(month), wanted))
    const missing = published.filter((month) => !includesAll(collected(month), states))
    const isPartial = query.incomplete === 'allow' && complete.length > 0
    const needed = isPartial ? complete : published
    const runsOn = isYearly && isPartial ? needed.filter((month) => month % 100 !== 12) : []
    return {
      code,
      needed,
      read: isFlow ? needed : readOf(query, needed),
      missing: allPeriods([missing, runsOn.map((month) => Math.floor(month / 100) * 100 + 12)]),
    }
  })
}

function readOf({ over_period }: PeriodQuery, needed: readonly number[]): readonly number[] {
  if (over_period === 'first') return needed.slice(0, 1)
  return over_period === 'last' ? needed.slice(-1) : needed
}

/** A yearly source has one month for a year: the last one of its data. A year that runs on has data up to some month. */
function yearlyMonths(
  months: readonly number[],
  allowsPartial: boolean,
  tables: readonly Table[],
  view: ReleaseView,
): number[] {
  const stored = allPeriods(tables.map((table) => collectedPeriods(view, table)))
  const years = allPeriods([months.map((month) => Math.floor(month / 100))])
  return years.map((year) => {
    const ofYear = months.filter((month) => Math.floor(month / 100) === year)
    const last = stored.findLast((month) => ofYear.includes(month))
    const isWholeYear = ofYear.length === lengthOf('reference_year')
    return last !== undefined && (allowsPartial || !isWholeYear)
      ? last
      : (ofYear.find((month) => month % 100 === 12) ?? ofYear.at(-1) ?? 0)
  })
}

const stockError = (query: PeriodQuery): AppError => {
  const finest = finestTime(query.group_by)
  return new AppError('semi_additive', {
    detail:
      query.window !== null
        ? both(
            'A janela reúne várias competências, e estoques não se somam entre elas.',
            'The window covers several reference periods, and stocks do not add up over them.',
          )
        : both(
            `${finest ?? 'O filtro'} reúne várias competências, e estoques não se somam entre elas.`,
            `${finest ?? 'The filter'} covers several reference periods, and stocks do not add up over them.`,
          ),
    errors: OVER_PERIOD_MISSING,
  })
}

/** The period that a change counts in: the finest grouped one, or the only one that a filter names. */
export function unitOfChange({
  group_by,
  filters,
}: Pick<AnalyticsQuery, 'group_by' | 'filters'>): TimeDimension {
  const finest = finestTime(group_by)
  if (finest !== null) return finest
  const [only, ...others] = filters.filter(({ dimension }) => isTime(dimension))
  return only !== undefined && others.length === 0 && only.operator === 'EQ' && isTime(only.dimension)
    ? only.dimension
    : 'reference_period'
}

/** @returns the period that one is compared with @param to as in QueryOptions */
export function basePeriod(to: string, unit: TimeDimension, code: number): number {
  const fixed = readPeriod(unit, to)
  if (fixed !== null) return fixed
  const perYear = lengthOf('reference_year') / lengthOf(unit)
  return shiftPeriod(unit, code, to === 'previous' ? -1 : to === '-1y' ? -perYear : Number(to))
}

/**
 * Changes the distance that a level of totals is compared over from periods of the rows to its own.
 * @throws AppError 'invalid_request' when no number of its periods is as far, or when `to` names a period of the rows
 */
export function changeLevel(level: AnalyticsQuery, rows: AnalyticsQuery, levelName: string): AnalyticsQuery {
  if (level.change === null) return level
  const { to } = level.change
  const [rowsUnit, levelUnit] = [unitOfChange(rows), unitOfChange(level)]
  if (rowsUnit === levelUnit || to === 'previous' || to === '-1y') return level
  const periods = (Number(to) * lengthOf(rowsUnit)) / lengthOf(levelUnit)
  if (!Number.isInteger(periods))
    throw refuse(
      'invalid_request',
      '/change/to',
      both(
        `vale para períodos das linhas, e os do nível ${levelName} são outros: use previous, -1y ou outra consulta para esse nível`,
        `is for periods of the rows, and those of the level ${levelName} are others: use previous, -1y or another query for this level`,
      ),
    )
  return { ...level, change: { ...level.change, to: String(periods) } }
}

export type LevelOption = 'totals' | 'share_of'
/** A level above the rows, with the option that asks for it and a name for messages, such as `totals [state]`. */
export interface QueryLevel {
  readonly option: LevelOption
  readonly name: string
}

/** @param level null for the query itself */
export const changeOfMonthsError = (level: QueryLevel | null): AppError =>
  level === null
    ? refuse(
        'semi_additive',
        '/change',
        both(
          'compara um período com outro: agrupe por um período, filtre um só, ou use over_period last ou first',
          'compares one period with another: group by a period, filter one, or set over_period to last or first',
        ),
      )
    : refuse(
        'semi_additive',
        `/${level.option}`,
        both(
          `deve manter um período no nível ${level.name}, porque change compara um período com outro; ou filtre um só período`,
          `must keep a period in the level ${level.name}, because change compares one period with another; or filter one period`,
        ),
      )

/**
 * Moves cells to the periods that they are compared with. The same months of the earlier period are read, so that a part of a year is
 * compared with that part. A fixed period has all of its months.
 */
export function baseCells(
  cells: readonly PeriodCell[],
  query: AnalyticsQuery,
  parts: CellParts,
  view: ReleaseView,
): PeriodCell[] {
  const unit = unitOfChange(query)
  const to = query.change?.to ?? 'previous'
  const isGrouped = finestTime(query.group_by) !== null
  const found = new Map<number, PeriodCell>()
  for (const cell of cells) {
    const from = isGrouped ? cell.code : periodOf(unit, cell.needed[0] ?? 0)
    const base = basePeriod(to, unit, from)
    const distance = monthsApart(unit, from, base)
    const shift = (list: readonly number[]): number[] => list.map((month) => addMonths(month, distance))
    const isFixed = readPeriod(unit, to) !== null && query.window === null
    // A year to date begins in January, also the one that is compared with.
    const sinceStart =
      query.window !== null && 'since' in query.window && base % 100 !== from % 100
        ? monthsOfWindow(query.window, base)
        : null
    const months = sinceStart ?? monthsOfPeriod(unit, base)
    const code = isGrouped ? base : 0
    found.set(
      code,
      isFixed || sinceStart !== null
        ? { ...(cellsOfMetric(query, new Map([[code, months]]), parts, view)[0] ?? cell) }
        : { code, needed: shift(cell.needed), read: shift(cell.read), missing: [] },
    )
  }
  return [...found.values()].sort((left, right) => left.code - right.code)
}

/** @returns states in which all months of a cell were collected */
export function statesOfCell(
  { needed }: PeriodCell,
  needs: readonly Need[],
  view: ReleaseView,
): ReadonlySet<string> {
  let common: ReadonlySet<string> = ALL_STATES
  for (const month of needed) {
    const collected = statesCollectedOf(view, needs, month)
    if (collected === ALL_STATES) continue
    common = common === ALL_STATES ? collected : new Set([...common].filter((uf) => collected.has(uf)))
  }
  return needed.length === 0 ? new Set() : common
}

/** @returns months that are read and were collected for any of the states */
export const readableMonths = (
  months: readonly number[],
  needs: readonly Need[],
  states: ReadonlySet<string>,
  view: ReleaseView,
): number[] =>
  months.filter((month) => includesAny(statesCollectedOf(view, tablesAmong(needs), month), states))

/** @throws AppError 'invalid_request' unless months are grouped, and stay so at every level of totals */
export function resolveWindow(
  { window, totals, share_of }: OptionData,
  { group_by }: Pick<AnalyticsQuery, 'group_by'>,
): QueryOptions['window'] {
  if (window === null || window === undefined) return null
  const isByMonth = (level: readonly string[]): boolean => level.includes('reference_period')
  const levels = [group_by, ...(Array.isArray(totals) ? totals : []), ...(share_of ? [share_of] : [])]
  if (totals === true || !levels.every(isByMonth))
    throw refuse(
      'invalid_request',
      '/window',
      both(
        'precisa de reference_period agrupado, também em totals e share_of: janelas se sobrepõem e não se somam',
        'needs reference_period grouped, in totals and share_of too: windows overlap and do not add up',
      ),
    )
  return window
}
