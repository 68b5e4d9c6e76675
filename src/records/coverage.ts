/**
 * Coverage of lists and of a facility's records. In: dataset, filters, release. Out: the states of a list, its default month, and notes
 * about uncollected data. Totals over uncollected data are null (contract 12). Analytics has the same rules in query/analytics/coverage.ts.
 */
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import { ADDED_UP_TABLES, dimensionOf, isByOccurrence } from '../model/dimensions.ts'
import type { Note, NoteEffect } from '../model/notes.ts'
import {
  type CodeFilter,
  codedDimensionsOf,
  codesOfPrefix,
  NEEDS_OF_FLAG,
  type Need,
  needsOfFilters,
  type Table,
} from '../model/required-tables.ts'
import { STATES } from '../model/territory/states.ts'
import { describeGap, findMissing, scopeOf } from '../query/analytics/coverage.ts'
import { emptyNotes } from '../query/analytics/plan-notes.ts'
import { codesIn, placesIn } from '../query/lists/filters.ts'
import type { PeriodChoice } from '../query/lists/list.ts'
import { ALL_STATES, monthsOf, monthsOfRelease, TABLES, tablesBeside } from '../release/coverage.ts'
import type { ReleaseView } from '../release/view.ts'
import type { RecordRelease } from './release.ts'

export type States = ReadonlySet<string>
type Filters = Readonly<Record<string, string>>

const UF_OF_CODE = new Map(STATES.map(({ uf, ibge_code }) => [String(ibge_code), uf]))

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

function monthsOfList(
  view: ReleaseView,
  table: Table,
  { states, period }: Pick<ListScope, 'states' | 'period'>,
): readonly number[] {
  if (period === null) return []
  const tables = tablesBeside(table)
  if (period === 'all') return monthsOf(view, states, tables)
  // Records without a month are in the month 00, which has the coverage of the months of its year.
  const ofYear = monthsOfRelease(view, tables).filter((month) => month - (month % 100) === period)
  return ofYear.length === 0 ? [period] : ofYear
}

/** @returns notes about published files without rows; totals count these as 0 */
export const emptyNotesOf = ({ view, incomplete }: RecordRelease, table: Table, scope: ListScope): Note[] =>
  incomplete.has(table)
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
export function notesOf(
  { view, incomplete }: RecordRelease,
  table: Table,
  scope: ListScope,
  effect: NoteEffect,
): Note[] {
  if (!incomplete.has(table)) return []
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
