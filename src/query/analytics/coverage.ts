/**
 * What of a query can be said: the states that it is about, where each metric's needs were collected, and notes that name what
 * was not. In: filters, groups, a release. Out: values the planner puts into its plan. Pure.
 *
 * A number over states of which one was not collected is unknown, so it is null, never the sum of the others. Rules:
 * contract 12.
 */
import { type DimensionCode, type FactDataset, isPlace } from '../../model/dimensions.ts'
import type { MetricCode } from '../../model/metrics.ts'
import type { Note, NoteEffect } from '../../model/notes.ts'
import {
  dimensionOfNeed,
  isFiller,
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
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** States that a query is about. */
export interface StateScope {
  /** Those the filters leave; without a filter, those the release is of: its one state, else the country. */
  readonly states: ReadonlySet<string>
  /** Those the filters leave: the territory of rates by inhabitants. */
  readonly territory: ReadonlySet<string>
  /** Those that filters on places leave, wherever the facilities lie that another filter names: rows by place are of these. */
  readonly places: ReadonlySet<string>
}

/**
 * @param ofFacilities states of the facilities that a filter names; null: no filter names facilities
 * @param tables what is asked for, which may be of one state alone
 */
export function scopeOf(
  placeFilters: readonly QueryFilter[],
  ofFacilities: ReadonlySet<string> | null,
  view: ReleaseView,
  tables: readonly Table[] = TABLES,
): StateScope {
  const inPlaces = statesLeft(placeFilters)
  const ofBoth =
    ofFacilities === null ? inPlaces : new Set([...inPlaces].filter((uf) => ofFacilities.has(uf)))
  // Of facilities that lie elsewhere, the places have what was collected there: nothing, or nobody looked.
  const territory = ofBoth.size === 0 ? inPlaces : ofBoth
  const only = territory === ALL_STATES ? onlyState(view, tables) : null
  return { states: only === null ? territory : new Set([only]), territory, places: inPlaces }
}

/** Places that hold states whole. */
const WHOLE_STATES: ReadonlySet<DimensionCode> = new Set(['state', 'region', 'residence_state'])

/** @returns states that filters on places leave; `ALL_STATES` itself where they leave all */
export function statesLeft(placeFilters: readonly QueryFilter[]): ReadonlySet<string> {
  if (placeFilters.length === 0) return ALL_STATES
  const left = STATES.filter(({ uf, ibge_code, region_code }) =>
    placeFilters.every(({ dimension, operator, values }) => {
      const isInside = values.some((value) =>
        dimension === 'state' || dimension === 'residence_state'
          ? value === uf
          : dimension === 'region'
            ? value === region_code
            : String(value).startsWith(String(ibge_code)),
      )
      if (operator === 'EQ' || operator === 'IN') return isInside
      // Leaving out one municipality or health region leaves its state in the scope.
      return !WHOLE_STATES.has(dimension) || !isInside
    }),
  )
  return left.length === ALL_STATES.size ? ALL_STATES : new Set(left.map(({ uf }) => uf))
}

/**
 * Groups in which a metric can be said. 'states': those of which it was collected, where each group has its own; 'periods':
 * where each has a month; 'cells': both.
 */
export type Known =
  | 'all'
  | 'none'
  | { readonly states: readonly string[] }
  | { readonly periods: readonly number[] }
  | { readonly cells: readonly { readonly period: number; readonly states: readonly string[] }[] }

/** Has each group its own states, and needs those alone? A place has; a facility lies in one. */
export const isWithinStates = (groups: readonly DimensionCode[]): boolean =>
  groups.some((code) => code === 'facility' || isPlace(code))

/** Of a metric, or of something else that an answer has. */
export interface MetricNeeds<Code extends string = MetricCode> {
  readonly code: Code
  readonly needs: readonly Need[]
  /** States it is about. */
  readonly states: ReadonlySet<string>
  /** Months asked for (YYYYMM). */
  readonly asked: readonly number[]
}

/** @param groups dimensions of the answer */
export function knownOf(
  { needs, states, asked }: MetricNeeds,
  groups: readonly DimensionCode[],
  view: ReleaseView,
): Known {
  if (needs.length === 0) return 'all'
  if (asked.length === 0) return 'none'
  const months = asked.map((period) => ({ period, collected: statesCollectedOf(view, needs, period) }))
  if (months.every(({ collected }) => includesAll(collected, states))) return 'all'
  const inScope = (collected: ReadonlySet<string>): string[] => [...states].filter((uf) => collected.has(uf))
  const byPeriod = groups.includes('reference_period')
  if (!isWithinStates(groups)) {
    const whole = months.filter(({ collected }) => includesAll(collected, states))
    return byPeriod && whole.length > 0 ? { periods: whole.map(({ period }) => period) } : 'none'
  }
  if (byPeriod) {
    const cells = months.map(({ period, collected }) => ({ period, states: inScope(collected) }))
    return cells.every((cell) => cell.states.length === 0)
      ? 'none'
      : { cells: cells.filter((cell) => cell.states.length > 0) }
  }
  const everywhere = inScope(ALL_STATES).filter((uf) => months.every(({ collected }) => collected.has(uf)))
  return everywhere.length === 0 ? 'none' : { states: everywhere }
}

/** Groups with a code of a dimension, where files of some states and months lack it. */
export interface KnownByCode {
  readonly dimension: DimensionCode
  readonly known: Known
}

/** @returns grouped dimensions that some files lack, with the groups of a code that are known */
export function knownOfCodes(
  metric: MetricNeeds,
  { filters, group_by }: Pick<AnalyticsQuery, 'filters' | 'group_by'>,
  view: ReleaseView,
): KnownByCode[] {
  const { code, needs, asked } = metric
  return needsOfCodes(code, filters, group_by)
    .filter((own) => asked.some((period) => statesCollectedOf(view, own.needs, period) !== ALL_STATES))
    .map((own) => ({
      dimension: own.dimension,
      known: knownOf({ ...metric, needs: [...needs, ...own.needs] }, group_by, view),
    }))
}

/** Months whose files fill a grouped dimension with one code that says nothing. */
export interface Filler {
  readonly dimension: DimensionCode
  readonly periods: readonly number[]
}

/** @param keys grouped dimensions of a dataset */
export const fillersOf = (
  dataset: FactDataset,
  keys: readonly DimensionCode[],
  periods: readonly number[],
  view: ReleaseView,
): Filler[] =>
  keys.flatMap((dimension) => {
    const filled = periods.filter(
      (period) => isFiller(dimension, period) && coverageOf(view, dataset, period)?.family === 'state',
    )
    return filled.length === 0 ? [] : [{ dimension, periods: filled }]
  })

/** @returns months of a metric that hold rows of it: its tables were collected for some state it is about */
export const readablePeriods = ({ needs, states, asked }: MetricNeeds, view: ReleaseView): number[] =>
  asked.filter((period) => includesAny(statesCollectedOf(view, tablesAmong(needs), period), states))

/** Something a metric needs that the release does not have. */
export interface Missing<Code extends string = MetricCode> {
  readonly need: Need
  /** States not collected, by name order; of a month no state of which was, all that are asked for. */
  readonly states: readonly string[]
  readonly periods: readonly number[]
  readonly metrics: readonly Code[]
}

/** Of a release without any file of the registry. */
const NO_MONTH = 0

/** @param fallback months to name where a metric has none: none of its tables was ever collected there */
export function findMissing<Code extends string>(
  metrics: readonly MetricNeeds<Code>[],
  view: ReleaseView,
  fallback: readonly number[],
): Missing<Code>[] {
  const found = new Map<string, { need: Need; states: string[]; period: number; metrics: Code[] }>()
  for (const { code, needs, states, asked } of metrics)
    for (const need of needs)
      for (const period of asked.length > 0 ? asked : fallback.length > 0 ? fallback : [NO_MONTH]) {
        const collected = statesCollected(view, need, period)
        if (includesAll(collected, states)) continue
        // What a table's files do not say is not missed where the table itself is. A dimension is missed in its own states alone.
        if (needs.some((other) => other !== need && isMissedFirst(other, need, period, states, view)))
          continue
        const lacking = [...states].filter((uf) => !collected.has(uf)).sort()
        const key = `${need} ${period} ${lacking.join()}`
        const entry = found.get(key) ?? { need, states: lacking, period, metrics: [] }
        found.set(key, { ...entry, metrics: [...entry.metrics, code] })
      }
  const merged = new Map<string, Missing<Code>>()
  for (const { need, states, period, metrics: codes } of found.values()) {
    const key = `${need} ${states.join()} ${codes.join()}`
    const before = merged.get(key)?.periods ?? []
    merged.set(key, { need, states, periods: [...before, period].sort((a, b) => a - b), metrics: codes })
  }
  return [...merged.values()]
}

const isMissedFirst = (
  table: Need,
  need: Need,
  period: number,
  states: ReadonlySet<string>,
  view: ReleaseView,
): boolean =>
  tableOfNeed(need) === table && table !== need && !includesAny(statesCollected(view, table, period), states)

/** @returns a note for each thing that is missing, with the metrics that are null because of it */
export const describeMissing = (missing: readonly Missing<string>[]): Note[] =>
  missing.map((gap) => noteOf(gap, 'null_metrics'))

/** @returns what was not collected: table, states and months, and what is missing from the answer for it */
export function noteOf({ need, ...gap }: Missing<string>, effect: NoteEffect): Note {
  const periods = gap.periods.filter((period) => period !== NO_MONTH).map(formatPeriod)
  const metrics = effect === 'null_metrics' ? gap.metrics : []
  const where = { states: gap.states, periods, effect, metrics }
  const dimension = dimensionOfNeed(need)
  if (dimension !== null) return { code: 'not_carried', dataset: tableOfNeed(need), dimension, ...where }
  if (need === 'sus_link') return { code: 'sus_link_not_published', ...where }
  return { code: 'not_collected', dataset: need, ...where }
}
