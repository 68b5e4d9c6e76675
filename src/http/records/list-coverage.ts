/**
 * What of a list or of a facility's records was collected: the states a list is about, the month it is of where none is asked
 * for, and what to say where something of it was not collected. In: a dataset, filters, a release. Pure, but for the state of
 * a facility. Totals over what was not collected are null (contract 12); analytics has the same rules in query/coverage.ts.
 */
import type { Row } from '../../engine/types.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { ADDED_UP_TABLES, dimensionOf } from '../../model/dimensions.ts'
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

/** @returns is there anything of a table's release that was not collected? Asked with every request; a view never changes. */
export function isIncomplete(view: ReleaseView, table: Table = 'facilities'): boolean {
  const tables = tablesBeside(table)
  const known = GAPS.get(view) ?? new Map<readonly Table[], boolean>()
  const found = known.get(tables) ?? (monthsOfRelease(view, tables).length === 0 || hasGaps(view, tables))
  GAPS.set(view, known.set(tables, found))
  return found
}

/** @returns the dataset as a table that is collected by state and month; null: it is none */
export const tableOf = (dataset: DatasetName): Table | null =>
  [...TABLES, ...ADDED_UP_TABLES].find((table) => table === dataset) ?? null

/**
 * @param filters with places as the states or municipalities they have
 * @param ofFacilities states of the facilities that a filter names; null: it names none, or none that is known
 * @returns states that a list is about; without a filter on places, those the release is of
 */
export function statesOfList(
  filters: Filters,
  ofFacilities: States | null,
  view: ReleaseView,
  table: Table | null = null,
): States {
  const places = Object.entries(filters).reduce<States | null>((left, [name, text]) => {
    const states = statesOfFilter(name, text)
    if (states === null || left === null) return states ?? left
    return new Set([...states].filter((uf) => left.has(uf)))
  }, null)
  if (places === null)
    return ofFacilities ?? scopeOf([], null, view, table === null ? TABLES : tablesBeside(table)).states
  if (ofFacilities === null) return places
  const ofBoth = new Set([...places].filter((uf) => ofFacilities.has(uf)))
  // Of facilities that lie elsewhere, the places have what was collected there: nothing, or nobody looked.
  return ofBoth.size === 0 ? places : ofBoth
}

function statesOfFilter(name: string, text: string): States | null {
  if (name === 'uf') return new Set(codesIn(text))
  const isPlace =
    name === 'municipality_ibge_code' ||
    name === 'region_code' ||
    name === 'health_region_code' ||
    name === 'health_macroregion_code'
  if (!isPlace) return null
  // A major region was resolved to its states, the other places to their municipalities.
  return new Set(
    placesIn(text).flatMap((code) =>
      ALL_STATES.has(code) ? code : (UF_OF_CODE.get(code.slice(0, 2)) ?? []),
    ),
  )
}

/**
 * The month of an answer that asks for none: the newest collected of its states; of a table that was never collected there,
 * the newest in which another was; else the newest of the release.
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

/** What a list needs to have been collected: its table, the dimensions that its filters name, and what they ask of other tables. */
function needsOfList(table: Table, filters: Filters): readonly Need[] {
  const asked = Object.keys(filters)
  const ofCodes = needsOfFilters(
    table,
    asked.flatMap((name) => codeFilterOf(table, name, filters[name] ?? '')),
  )
  if (table !== 'facilities') return [table, ...ofCodes]
  const ofFlags = asked.flatMap((name) => NEEDS_OF_FLAG[name] ?? [])
  // A facility that has beds is known from them; one that has none, from the registry alone.
  const isByFlags =
    ofFlags.length > 0 && asked.every((name) => !(name in NEEDS_OF_FLAG) || filters[name] === 'true')
  return [...new Set<Need>([...(isByFlags ? [] : [table]), ...ofFlags, ...ofCodes])]
}

/** The dimension whose codes a filter of a list takes; none for filters of other kinds. */
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

/** @returns what to say of published files without rows: totals count them as 0 */
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

/** @param effect what is therefore missing from the answer @returns a note for each thing that was not collected */
export function notesOf(view: ReleaseView, table: Table, scope: ListScope, effect: NoteEffect): Note[] {
  if (!isIncomplete(view, table)) return []
  const { states, filters } = scope
  const asked = monthsOfList(view, table, scope)
  const needs = needsOfList(table, filters)
  const missing = findMissing(
    [{ code: effect, needs, states, requested: asked }],
    view,
    monthsOfRelease(view, tablesBeside(table)),
  )
  return missing.map((gap) => describeGap(gap, effect))
}

/** Codes of facilities that are looked up for their states; with more of them, a list is about all states. */
const FACILITIES_MAX = 20

/** @returns facilities whose states a list needs to know; none where no filter names any, or everything was collected */
export function facilitiesAsked(view: ReleaseView, table: Table | null, filters: Filters): readonly string[] {
  if (table === null || filters.cnes_code === undefined || !isIncomplete(view, table)) return []
  const codes = codesIn(filters.cnes_code)
  return codes.length > FACILITIES_MAX || codes.includes(NO_FACILITY) ? [] : codes
}

/** @param found rows of each facility over all months, newest last @returns their states; null where one is unknown */
export function statesOfFacilities(found: readonly (readonly Row[])[]): States | null {
  const states = found.map((rows) => rows.at(-1)?.uf)
  return states.length === 0 || states.some((uf) => typeof uf !== 'string')
    ? null
    : new Set(states as string[])
}

/** @returns the same from row files; undefined where they do not hold it, or where other files than the registry may name a facility */
export function statesFromRows(
  codes: readonly string[],
  view: ReleaseView,
  rows: RowStore | null,
): States | null | undefined {
  if (codes.length === 0) return null
  const hasFlows = view.components.sih !== null || view.components.sia !== null
  if (view.components.cnes?.datasets.facilities === undefined) return hasFlows ? undefined : null
  const file = rows?.find(view, 'facilities', 'all') ?? null
  const found = codes.map((code) => file?.recordsOf(code) ?? null)
  return found.some((each) => each === null || (each.length === 0 && hasFlows))
    ? undefined
    : statesOfFacilities(found as (readonly Row[])[])
}

/** @returns what to say of a list whose release holds nothing of its area */
export const absenceNotes = (view: ReleaseView, dataset: DatasetName): Note[] =>
  datasetOf(dataset).listsAllPeriods === true && view.components[datasetOf(dataset).area] === null
    ? [{ code: 'dataset_not_imported', dataset }]
    : []
