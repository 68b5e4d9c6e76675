/**
 * Coverage of lists and of a facility's records. In: dataset, filters, release. Out: the states of a list, its default month, and notes
 * about uncollected data. Totals over uncollected data are null (contract 12). Analytics has the same rules in query/analytics/coverage.ts.
 */
import type { Row } from '../../engine/types.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { ADDED_UP_TABLES, dimensionOf, isByOccurrence } from '../../model/dimensions.ts'
import type { Note, NoteEffect } from '../../model/notes.ts'
import {
  type CodeFilter,
  codedDimensionsOf,
  codesOfPrefix,
  NEEDS_OF_FLAG,
  type Need,
  needsOfFilters,
  type Table,
} from '../../model/required-tables.ts'
import { NO_FACILITY } from '../../model/sih/code-lists.ts'
import { STATES } from '../../model/territory/states.ts'
import { describeGap, findMissing, scopeOf } from '../../query/analytics/coverage.ts'
import { emptyNotes } from '../../query/analytics/plan-notes.ts'
import { codesIn, placesIn } from '../../query/lists/filters.ts'
import type { PeriodChoice } from '../../query/lists/list.ts'
import {
  ALL_STATES,
  hasGaps,
  monthsOf,
  monthsOfRelease,
  newestFor,
  statesCollected,
  TABLES,
  tablesBeside,
} from '../../release/coverage.ts'
import { collectedPeriods, latestPeriod, type ReleaseView, storedPeriods } from '../../release/view.ts'
import type { RowStore } from '../../rows/row-store.ts'

export type States = ReadonlySet<string>
type Filters = Readonly<Record<string, string>>

const UF_OF_CODE = new Map(STATES.map(({ uf, ibge_code }) => [String(ibge_code), uf]))
const GAPS = new WeakMap<ReleaseView, Map<readonly Table[], boolean>>()

/** @returns whether any data of the table are uncollected. Cached, because every request calls this and a view never changes. */
export function isIncomplete(view: ReleaseView, table: Table = 'facilities'): boolean {
  const tables = tablesBeside(table)
  const cached = GAPS.get(view) ?? new Map<readonly Table[], boolean>()
  const hasMissing =
    cached.get(tables) ?? (monthsOfRelease(view, tables).length === 0 || hasGaps(view, tables))
  GAPS.set(view, cached.set(tables, hasMissing))
  return hasMissing
}

/** @returns the dataset as a table collected by state and month; null for other datasets */
export const tableOf = (dataset: DatasetName): Table | null =>
  [...TABLES, ...ADDED_UP_TABLES].find((table) => table === dataset) ?? null

/**
 * @param filters filters with territories resolved to states or municipalities
 * @param facilityStates states of the facilities in a filter; null without such a filter or when a state is unknown
 * @returns the states of a list; without a territory filter, those of the release
 */
export function statesOfList(
  filters: Filters,
  facilityStates: States | null,
  view: ReleaseView,
  table: Table | null = null,
): States {
  // Deaths at any place may lie in the file of any state.
  if (table !== null && isByOccurrence(table)) return ALL_STATES
  const territories = Object.entries(filters).reduce<States | null>((left, [name, text]) => {
    const states = statesOfFilter(name, text)
    if (states === null || left === null) return states ?? left
    return new Set([...states].filter((uf) => left.has(uf)))
  }, null)
  if (territories === null)
    return facilityStates ?? scopeOf([], null, view, table === null ? TABLES : tablesBeside(table)).states
  if (facilityStates === null) return territories
  const shared = new Set([...territories].filter((uf) => facilityStates.has(uf)))
  // Facilities outside the filtered territories use the coverage of those territories.
  return shared.size === 0 ? territories : shared
}

function statesOfFilter(name: string, text: string): States | null {
  if (name === 'uf') return new Set(codesIn(text))
  const isPlace =
    name === 'municipality_ibge_code' ||
    name === 'region_code' ||
    name === 'health_region_code' ||
    name === 'health_macroregion_code'
  if (!isPlace) return null
  // Major regions are resolved to states, other territories to municipalities.
  return new Set(
    placesIn(text).flatMap((code) =>
      ALL_STATES.has(code) ? code : (UF_OF_CODE.get(code.slice(0, 2)) ?? []),
    ),
  )
}

/**
 * @returns the default month: the newest collected in the states; for a table never collected there, the newest of a related table;
 * otherwise the newest of the release
 */
export function latestPeriodOf(view: ReleaseView, table: Table, states: States): number | null {
  if (!isIncomplete(view, table)) return latestPeriod(view, table)
  return (
    newestFor(collectedPeriods(view, table), states, (period) => [statesCollected(view, table, period)]) ??
    newestFor(storedPeriods(view, table), states, (period) =>
      tablesBeside(table).map((other) => statesCollected(view, other, period)),
    ) ??
    latestPeriod(view, table)
  )
}

/** @returns the data a list depends on: its table, the dimensions in its filters, and tables that flags refer to */
function needsOfList(table: Table, filters: Filters): readonly Need[] {
  const names = Object.keys(filters)
  const codeNeeds = needsOfFilters(
    table,
    names.flatMap((name) => codeFilterOf(table, name, filters[name] ?? '')),
  )
  if (table !== 'facilities') return [table, ...codeNeeds]
  const flagNeeds = names.flatMap((name) => NEEDS_OF_FLAG[name] ?? [])
  // Facilities with beds are known from the table of beds alone; facilities without beds, from the registry alone.
  const isByFlags =
    flagNeeds.length > 0 && names.every((name) => !(name in NEEDS_OF_FLAG) || filters[name] === 'true')
  return [...new Set<Need>([...(isByFlags ? [] : [table]), ...flagNeeds, ...codeNeeds])]
}

/** @returns the coded dimension that a filter selects; empty for other kinds of filters */
function codeFilterOf(table: Table, name: string, text: string): CodeFilter[] {
  const filter = datasetOf(table).filters?.[name]
  if (filter === undefined || !['equals', 'prefix', 'declaration'].includes(filter.kind)) return []
  const column = ('column' in filter ? filter.column : undefined) ?? name
  const values = filter.kind === 'prefix' ? codesIn(text).map(codesOfPrefix) : codesIn(text)
  return codedDimensionsOf(table)
    .filter((code) => dimensionOf(code).column === column)
    .map((dimension) => ({ dimension, operator: 'IN', values }))
}

export interface ListScope {
  readonly states: States
  readonly filters: Filters
  readonly period: PeriodChoice
}

const monthsOfList = (
  view: ReleaseView,
  table: Table,
  { states, period }: Pick<ListScope, 'states' | 'period'>,
): readonly number[] =>
  period === 'all' ? monthsOf(view, states, tablesBeside(table)) : period === null ? [] : [period]

/** @returns notes about published files without rows; totals count these as 0 */
export const emptyNotesOf = (view: ReleaseView, table: Table, scope: ListScope): Note[] =>
  isIncomplete(view, table)
    ? emptyNotes(
        [
          {
            needs: needsOfList(table, scope.filters),
            states: scope.states,
            requested: monthsOfList(view, table, scope),
          },
        ],
        view,
      )
    : []

/** @param effect what the gap removes from the answer @returns one note per gap in the collected data */
export function notesOf(view: ReleaseView, table: Table, scope: ListScope, effect: NoteEffect): Note[] {
  if (!isIncomplete(view, table)) return []
  const { states, filters } = scope
  const months = monthsOfList(view, table, scope)
  const needs = needsOfList(table, filters)
  const missing = findMissing(
    [{ code: effect, needs, states, requested: months }],
    view,
    monthsOfRelease(view, tablesBeside(table)),
  )
  return missing.map((gap) => describeGap(gap, effect))
}

/** Most facilities whose states are looked up. Lists with more codes count as lists of all states. */
const FACILITIES_MAX = 20

/** @returns facilities whose states a list depends on; empty without a facility filter or in a complete release */
export function facilitiesInFilters(
  view: ReleaseView,
  table: Table | null,
  filters: Filters,
): readonly string[] {
  if (table === null || filters.cnes_code === undefined || !isIncomplete(view, table)) return []
  const codes = codesIn(filters.cnes_code)
  return codes.length > FACILITIES_MAX || codes.includes(NO_FACILITY) ? [] : codes
}

/** @param rowsByFacility rows of each facility over all months, newest last @returns their states; null when one is unknown */
export function statesOfFacilities(rowsByFacility: readonly (readonly Row[])[]): States | null {
  const states = rowsByFacility.map((rows) => rows.at(-1)?.uf)
  return states.length === 0 || states.some((uf) => typeof uf !== 'string')
    ? null
    : new Set(states as string[])
}

/** @returns the states from row files; undefined when they lack a facility that production files may name */
export function statesFromRows(
  codes: readonly string[],
  view: ReleaseView,
  rows: RowStore | null,
): States | null | undefined {
  if (codes.length === 0) return null
  const hasFlows = ADDED_UP_TABLES.some((table) => view.components[datasetOf(table).area] !== null)
  if (view.components.cnes?.datasets.facilities === undefined) return hasFlows ? undefined : null
  const file = rows?.find(view, 'facilities', 'all') ?? null
  const rowsByFacility = codes.map((code) => file?.recordsOf(code) ?? null)
  return rowsByFacility.some((records) => records === null || (records.length === 0 && hasFlows))
    ? undefined
    : statesOfFacilities(rowsByFacility as (readonly Row[])[])
}

export const absenceNotes = (view: ReleaseView, dataset: DatasetName): Note[] =>
  datasetOf(dataset).listsAllPeriods === true && view.components[datasetOf(dataset).area] === null
    ? [{ code: 'dataset_not_imported', dataset }]
    : []
