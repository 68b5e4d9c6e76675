/** Lists of records: what one asks of a release, which data it lacks, and its pages. */
import type { Dataset, DatasetName } from '../model/datasets.ts'
import type { Note } from '../model/notes.ts'
import type { ListQuestion } from '../query/lists/list.ts'
import type { SortTerm } from '../query/lists/order.ts'
import type { Place } from '../query/lists/places.ts'
import { ALL_STATES } from '../release/coverage.ts'
import type { PageQuery, RowItem, RowPage } from '../rows/row-store.ts'
import { emptyNotesOf, notesOf, statesOfList, tableOf } from './coverage.ts'
import { statesOfFilters } from './facility-states.ts'
import { withFacilities } from './include-facility.ts'
import { choosePeriod } from './periods.ts'
import { type Records, sourceOf } from './source.ts'
import { resolveTerritories } from './territories.ts'
import { absenceNotes, requireYears } from './years.ts'

export interface ListParams {
  readonly dataset: Dataset
  /** Valid parameters, name → text, with defaults such as active facilities only. */
  readonly filters: Readonly<Record<string, string>>
  /** Requested period; undefined for the newest. */
  readonly period: string | undefined
  readonly sort: readonly SortTerm[]
  readonly place: Place | null
}

export interface List {
  readonly question: ListQuestion
  /** Notes about uncollected data; they make the total null. */
  readonly notes: readonly Note[]
  /** Other notes; the total remains valid. */
  readonly remarks: readonly Note[]
}

/** Resolves territories and the period of a list. @throws AppError 'dimension_not_loaded', 'invalid_request' for the period or year */
export async function resolveList(params: ListParams, records: Records): Promise<List> {
  const { dataset, sort, place } = params
  const { release } = records
  const name = dataset.name as DatasetName
  const table = tableOf(name)
  await requireYears(dataset, params.filters, records)
  const filters = resolveTerritories(dataset, params.filters, release)
  const facilityStates = await statesOfFilters(table, filters, records)
  // In a complete release the period and the notes do not depend on states.
  const states = release.incomplete.has(table ?? 'facilities')
    ? statesOfList(table === null ? {} : filters, facilityStates, release.view, table)
    : ALL_STATES
  const period = choosePeriod(release, name, params.period, states)
  const scope = { states, filters, period }
  return {
    question: { dataset, filters, period, sort, place },
    notes:
      table === null
        ? await absenceNotes(dataset, filters, records)
        : notesOf(release, table, scope, 'incomplete_list'),
    remarks: table === null ? [] : emptyNotesOf(release, table, scope),
  }
}

export interface PageParams extends Pick<PageQuery, 'after' | 'limit' | 'counts'> {
  readonly question: ListQuestion
  readonly includesFacility: boolean
  /** Return rows one by one. Rows with added members always are. */
  readonly wantsItems: boolean
}

/** @returns one page; its rows are in `items` when each has added members or `wantsItems` is set */
export async function findPage(params: PageParams, records: Records): Promise<RowPage> {
  const { question, includesFacility, after, limit, counts } = params
  const { dataset, filters, period, sort = [], place = null } = question
  const hasDistances = place?.near != null
  const wantsItems = params.wantsItems || includesFacility || hasDistances
  const source = sourceOf(records, dataset.name as DatasetName, period)
  const page = await source.page({ filters, after, limit, counts, sort, place, wantsItems })
  if (!includesFacility && !hasDistances) return page
  const items = hasDistances ? page.items.map(withDistance) : page.items
  return { ...page, items: includesFacility ? await withFacilities(items, records) : items }
}

const withDistance = (item: RowItem): RowItem => ({
  ...item,
  json: `${item.json.slice(0, -1)},"distance_km":${item.distance}}`,
})
