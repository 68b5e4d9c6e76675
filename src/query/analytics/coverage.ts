/**
 * Decides which numbers a release can answer: the states in scope, where each metric's data was collected, and notes on gaps.
 * A number is null when data of any of its states is missing; it is never the sum of the others. Pure. Rules: contract 12.
 */
import {
  type DimensionCode,
  type FactDataset,
  isPlace,
  PLACE_DIMENSIONS,
  REGION_DIMENSIONS,
  RESIDENCE_DIMENSIONS,
} from '../../model/dimensions.ts'
import { isFlowMetric, type MetricCode } from '../../model/metrics.ts'
import type { Note, NoteEffect } from '../../model/notes.ts'
import { finestTime } from '../../model/periods.ts'
import {
  dimensionOfNeed,
  isFiller,
  isPriceNeed,
  type Need,
  needsOfCodes,
  type Table,
  tableOfNeed,
  tablesAmong,
} from '../../model/required-tables.ts'
import { STATES } from '../../model/territory/states.ts'
import {
  ALL_STATES,
  includesAll,
  includesAny,
  onlyState,
  statesCollected,
  statesCollectedOf,
  TABLES,
} from '../../release/coverage.ts'
import { coverageOf, formatPeriod, type ReleaseView } from '../../release/view.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { QueryFilter } from './filters.ts'
import { type CellParts, type PeriodCell, statesOfCell } from './period-cells.ts'
import { allPeriods } from './periods.ts'
import type { AnalyticsQuery } from './request.ts'

export interface StateScope {
  /** States that the filters leave. Without filters: the release's only state, or all states. */
  readonly states: ReadonlySet<string>
  /** States that the filters leave; used by rates by inhabitants. */
  readonly territory: ReadonlySet<string>
  /** States that the place filters leave, ignoring facility filters; used by rows by place. */
  readonly places: ReadonlySet<string>
}

/**
 * @param facilityStates states of the facilities in the filters; null when no filter names facilities
 * @param tables requested tables, which may cover a single state
 */
export function scopeOf(
  placeFilters: readonly QueryFilter[],
  facilityStates: ReadonlySet<string> | null,
  view: ReleaseView,
  tables: readonly Table[] = TABLES,
): StateScope {
  const placeStates = statesInPlaces(placeFilters)
  const commonStates =
    facilityStates === null ? placeStates : new Set([...placeStates].filter((uf) => facilityStates.has(uf)))
  // Facilities outside the filtered places use the coverage of those places.
  const territory = commonStates.size === 0 ? placeStates : commonStates
  const releaseState = territory === ALL_STATES ? onlyState(view, tables) : null
  return {
    states: releaseState === null ? territory : new Set([releaseState]),
    territory,
    places: placeStates,
  }
}

/** Dimensions whose members are unions of states. */
export const WHOLE_STATES: ReadonlySet<DimensionCode> = new Set([
  'state',
  'region',
  'residence_state',
  'residence_region',
])

/** @returns states that the place filters leave; `ALL_STATES` itself when they leave all */
export function statesInPlaces(placeFilters: readonly QueryFilter[]): ReadonlySet<string> {
  if (placeFilters.length === 0) return ALL_STATES
  const remaining = STATES.filter(({ uf, ibge_code, region_code }) =>
    placeFilters.every(({ dimension, operator, values }) => {
      const isInside = values.some((value) =>
        dimension === 'state' || dimension === 'residence_state'
          ? value === uf
          : REGION_DIMENSIONS.has(dimension)
            ? value === region_code
            : String(value).startsWith(String(ibge_code)),
      )
      if (operator === 'EQ' || operator === 'IN') return isInside
      // Excluding one municipality or health region keeps its state in scope.
      return !WHOLE_STATES.has(dimension) || !isInside
    }),
  )
  return remaining.length === ALL_STATES.size ? ALL_STATES : new Set(remaining.map(({ uf }) => uf))
}

/** A set of the groups of a query: groups of these states, of these periods, or of these states in each period ('cells'). */
export type GroupSet =
  | 'all'
  | 'none'
  | { readonly states: readonly string[] }
  | { readonly periods: readonly number[] }
  | { readonly cells: readonly { readonly period: number; readonly states: readonly string[] }[] }

/** A group belongs to one state when it is keyed by place or facility. It then needs only that state's data. */
export const isWithinStates = (groups: readonly DimensionCode[]): boolean =>
  groups.some((code) => code === 'facility' || isPlace(code))

/** @returns whether a query names places of hospitals; the files that it needs are then those of the hospitals' states */
const usesHospitalPlaces = (query: Pick<AnalyticsQuery, 'group_by' | 'filters'>): boolean =>
  dimensionsUsed(query).some((code) => PLACE_DIMENSIONS.has(code))

/** @returns groups that decide which files a row needs: places of residence do not where the query names hospital places */
export const coveredGroups = (
  query: Pick<AnalyticsQuery, 'group_by' | 'filters'>,
): readonly DimensionCode[] =>
  usesHospitalPlaces(query)
    ? query.group_by.filter((code) => !RESIDENCE_DIMENSIONS.has(code))
    : query.group_by

/** @returns filters by places that decide which files a query needs */
export const coveredFilters = (query: Pick<AnalyticsQuery, 'group_by' | 'filters'>): readonly QueryFilter[] =>
  query.filters.filter(({ dimension }) =>
    usesHospitalPlaces(query) ? PLACE_DIMENSIONS.has(dimension) : isPlace(dimension),
  )

export interface MetricNeeds<Code extends string = string> {
  readonly code: Code
  readonly needs: readonly Need[]
  readonly states: ReadonlySet<string>
  /** Requested months, YYYYMM. */
  readonly requested: readonly number[]
  /** Periods of several months; `requested` then has the months that they need. */
  readonly cells?: readonly PeriodCell[]
}

/** Needs of one metric of a query. */
export interface QueryMetricNeeds extends MetricNeeds {
  readonly metric: MetricCode
  /** The query as the metric reads it: with the metric's filters. */
  readonly query: AnalyticsQuery
}

/** @returns what the cells of a metric are resolved from */
export const cellPartsOf = ({
  metric,
  query,
  needs,
  states,
}: Pick<QueryMetricNeeds, 'metric' | 'query' | 'needs' | 'states'>): CellParts => ({
  needs,
  states,
  isFlow: isFlowMetric(metric),
  isByPlace: isWithinStates(coveredGroups(query)),
})

/** Adds the needs of groups that have a code in each grouped dimension, and `months` to the requested months. */
export const withCodes = (
  needs: QueryMetricNeeds,
  groups: readonly DimensionCode[],
  months: readonly number[],
): QueryMetricNeeds => {
  const ofCodes = needsOfCodes(needs.metric, needs.query.filters, groups).flatMap((code) => code.needs)
  return {
    ...needs,
    needs: [...new Set([...needs.needs, ...ofCodes])],
    requested: allPeriods([needs.requested, months]),
  }
}

export function findCollectedGroups(
  { needs, states, requested, cells }: MetricNeeds,
  groups: readonly DimensionCode[],
  view: ReleaseView,
): GroupSet {
  if (needs.length === 0) return 'all'
  if (requested.length === 0) return 'none'
  const months =
    cells?.map((cell) => ({ period: cell.code, collected: statesOfCell(cell, needs, view) })) ??
    requested.map((period) => ({ period, collected: statesCollectedOf(view, needs, period) }))
  return groupsOfStates(months, states, groups)
}

/**
 * @param months periods, each with the states that count in it
 * @param states states that the answer is about
 * @returns the groups all of whose states count
 */
export function groupsOfStates(
  months: readonly { readonly period: number; readonly collected: ReadonlySet<string> }[],
  states: ReadonlySet<string>,
  groups: readonly DimensionCode[],
): GroupSet {
  if (months.every(({ collected }) => includesAll(collected, states))) return 'all'
  const selectStates = (collected: ReadonlySet<string>): string[] =>
    [...states].filter((uf) => collected.has(uf))
  const isByMonth = finestTime(groups) !== null
  if (!isWithinStates(groups)) {
    const completeMonths = months.filter(({ collected }) => includesAll(collected, states))
    return isByMonth && completeMonths.length > 0
      ? { periods: completeMonths.map(({ period }) => period) }
      : 'none'
  }
  if (isByMonth) {
    const cells = months.map(({ period, collected }) => ({ period, states: selectStates(collected) }))
    return cells.every((cell) => cell.states.length === 0)
      ? 'none'
      : { cells: cells.filter((cell) => cell.states.length > 0) }
  }
  const collectedStates = selectStates(ALL_STATES).filter((uf) =>
    months.every(({ collected }) => collected.has(uf)),
  )
  return collectedStates.length === 0 ? 'none' : { states: collectedStates }
}

/** Collected groups among those with a code of a dimension that some files lack. */
export interface CollectedGroupsByCode {
  readonly dimension: DimensionCode
  readonly collectedGroups: GroupSet
}

export function findCollectedGroupsByCode(
  metric: QueryMetricNeeds,
  view: ReleaseView,
): CollectedGroupsByCode[] {
  const { metric: code, needs, requested } = metric
  const { filters, group_by } = metric.query
  const covered = coveredGroups(metric.query)
  return needsOfCodes(code, filters, group_by)
    .filter((codeNeeds) =>
      requested.some((period) => statesCollectedOf(view, codeNeeds.needs, period) !== ALL_STATES),
    )
    .map((codeNeeds) => ({
      dimension: codeNeeds.dimension,
      collectedGroups: findCollectedGroups(
        { ...metric, needs: [...needs, ...codeNeeds.needs] },
        covered,
        view,
      ),
    }))
}

/** Months whose files fill a grouped dimension with a single placeholder code. */
export interface Filler {
  readonly dimension: DimensionCode
  readonly periods: readonly number[]
}

export const fillersOf = (
  dataset: FactDataset,
  keys: readonly DimensionCode[],
  periods: readonly number[],
  view: ReleaseView,
): Filler[] =>
  keys.flatMap((dimension) => {
    const filledPeriods = periods.filter(
      (period) => isFiller(dimension, period) && coverageOf(view, dataset, period)?.family === 'state',
    )
    return filledPeriods.length === 0 ? [] : [{ dimension, periods: filledPeriods }]
  })

/** @returns requested months in which the metric's tables were collected for at least one of its states */
export const readablePeriods = ({ needs, states, requested }: MetricNeeds, view: ReleaseView): number[] =>
  requested.filter((period) => includesAny(statesCollectedOf(view, tablesAmong(needs), period), states))

export interface Missing<Code extends string = string> {
  readonly need: Need
  /** Missing states, sorted by code. All requested states when no state was collected in the month. */
  readonly states: readonly string[]
  readonly periods: readonly number[]
  readonly metrics: readonly Code[]
}

/** Stands for the month in releases that never collected the table. */
const NO_MONTH = 0

/** @param fallback months to report when a metric has none, because its tables were never collected */
export function findMissing<Code extends string>(
  metrics: readonly MetricNeeds<Code>[],
  view: ReleaseView,
  fallback: readonly number[],
): Missing<Code>[] {
  const gaps = new Map<string, { need: Need; states: string[]; period: number; metrics: Code[] }>()
  for (const { code, needs, states, requested } of metrics)
    for (const need of needs)
      for (const period of requested.length > 0 ? requested : fallback.length > 0 ? fallback : [NO_MONTH]) {
        const collected = statesCollected(view, need, period)
        if (includesAll(collected, states)) continue
        // Report a missing table once, not also the columns of its files.
        if (needs.some((other) => other !== need && isTableMissing(other, need, period, states, view)))
          continue
        // Filters that leave no place lack the files of a month only where no state has any.
        const needed = states.size === 0 ? ALL_STATES : states
        const missingStates = [...needed].filter((uf) => !collected.has(uf)).sort()
        const key = `${need} ${period} ${missingStates.join()}`
        const entry = gaps.get(key) ?? { need, states: missingStates, period, metrics: [] }
        gaps.set(key, { ...entry, metrics: [...entry.metrics, code] })
      }
  const merged = new Map<string, Missing<Code>>()
  for (const { need, states, period, metrics: codes } of gaps.values()) {
    const key = `${need} ${states.join()} ${codes.join()}`
    const earlierPeriods = merged.get(key)?.periods ?? []
    merged.set(key, {
      need,
      states,
      periods: [...earlierPeriods, period].sort((a, b) => a - b),
      metrics: codes,
    })
  }
  return [...merged.values()]
}

const isTableMissing = (
  table: Need,
  need: Need,
  period: number,
  states: ReadonlySet<string>,
  view: ReleaseView,
): boolean =>
  tableOfNeed(need) === table && table !== need && !includesAny(statesCollected(view, table, period), states)

export const describeMissing = (missing: readonly Missing<string>[]): Note[] =>
  missing.map((gap) => describeGap(gap, 'null_metrics'))

/** @returns a note with the missing table, states and months, and their effect on the answer */
export function describeGap({ need, ...gap }: Missing<string>, effect: NoteEffect): Note {
  const periods = gap.periods.filter((period) => period !== NO_MONTH).map(formatPeriod)
  const metrics = effect === 'null_metrics' ? gap.metrics : []
  const details = { states: gap.states, periods, effect, metrics }
  const dimension = dimensionOfNeed(need)
  if (dimension !== null) return { code: 'not_carried', dataset: tableOfNeed(need), dimension, ...details }
  if (isPriceNeed(need)) return { code: 'no_price_index', periods, metrics }
  if (need === 'sus_link') return { code: 'sus_link_not_published', ...details }
  return { code: 'not_collected', dataset: need, ...details }
}
