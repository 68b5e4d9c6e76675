/** Answers lists from row files, or from the engine with equal results. Formats other than JSON are in list-formats.ts. */
import { findStates } from '../../analytics/facility-states.ts'
import type { CursorPagination } from '../../answers/meta.ts'
import type { Engine, JsonValue, Row } from '../../engine/types.ts'
import { AppError, both, type Language } from '../../errors.ts'
import { DATASETS, type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import { writeNotes } from '../../model/note-sentences.ts'
import type { Note } from '../../model/notes.ts'
import { type Cursor, digestListQuery, encodeCursor } from '../../query/lists/cursor.ts'
import { filterSchema } from '../../query/lists/filters.ts'
import {
  type ListQuestion,
  orderOf,
  type PeriodChoice,
  planCount,
  planKeys,
  planList,
  planPoints,
  planSorted,
  positionValue,
} from '../../query/lists/list.ts'
import { parseSort, type SortTerm } from '../../query/lists/order.ts'
import { chordFrom, distanceOf, type Near, type Place, placeOf, reachOf } from '../../query/lists/places.ts'
import { ALL_STATES } from '../../release/coverage.ts'
import { formatPeriod, latestPeriod, type ReleaseView, storedPeriods } from '../../release/view.ts'
import type { RowItem, RowPage, RowStore } from '../../rows/row-store.ts'
import { toByteString } from '../request/envelope.ts'
import type { Params } from '../request/parameters.ts'
import type { JsonResult, ListRoute } from '../route.ts'
import { facilitiesFromEngine, facilitiesFromRows, withFacilities } from './include-facility.ts'
import {
  absenceNotes,
  emptyNotesOf,
  facilitiesInFilters,
  isIncomplete,
  latestPeriodOf,
  notesOf,
  type States,
  statesFromRows,
  statesOfList,
  tableOf,
} from './list-coverage.ts'
import { loadTerritories, resolveTerritories } from './place-filters.ts'

export interface RowRequest {
  readonly params: Params
  readonly view: ReleaseView
  readonly cursor: Cursor | null
  readonly cursorSecret: Buffer
  readonly rows: RowStore | null
  readonly language: Language
}
export interface EngineRequest extends RowRequest {
  readonly engine: Engine
  readonly signal: AbortSignal
}

export interface ResolvedList {
  readonly dataset: DatasetName
  readonly question: ListQuestion
  readonly filters: Readonly<Record<string, string>>
  readonly sort: readonly SortTerm[]
  readonly place: Place | null
  readonly order: readonly string[]
  /** Digest that ties cursors to this list. */
  readonly digest: string
  readonly after: readonly (string | number)[] | null
  readonly counts: boolean
  readonly includesFacility: boolean
  /** Notes about uncollected data; they make the total null. */
  readonly notes: readonly Note[]
  /** Other notes; the total remains valid. */
  readonly remarks: readonly Note[]
  /** Rows per page, for JSON unless another format overrides it. */
  readonly limit: number
  /** Return rows one by one, because members are added to each. */
  readonly wantsItems: boolean
  readonly about: Readonly<Record<string, JsonValue>>
}

export const hasDataset = (view: ReleaseView, dataset: DatasetName): boolean =>
  view.components[DATASETS[dataset].area]?.datasets[dataset] !== undefined

export const periodMeta = (period: PeriodChoice): Record<string, JsonValue> =>
  period === null ? {} : { reference_period: period === 'all' ? 'all' : formatPeriod(period) }

export const metaOf = (
  period: PeriodChoice,
  notes: readonly Note[],
  language: Language,
): Record<string, JsonValue> =>
  notes.length === 0 ? periodMeta(period) : { ...periodMeta(period), notes: writeNotes(notes, language) }

/** @param states states that determine the default month @throws AppError 'invalid_request' with the available periods */
export function choosePeriod(
  view: ReleaseView,
  dataset: DatasetName,
  text: string | undefined,
  states: States,
): PeriodChoice {
  if (!DATASETS[dataset].periodic) return null
  const periods = storedPeriods(view, dataset)
  if (text === 'all' || (text === undefined && datasetOf(dataset).listsAllPeriods === true))
    return periods.length === 0 ? null : 'all'
  const registry = tableOf(dataset)
  if (text === undefined)
    return registry === null ? latestPeriod(view, dataset) : latestPeriodOf(view, registry, states)
  const period = Number(text.replace('-', ''))
  if (periods.includes(period)) return period
  throw new AppError('invalid_request', {
    detail: both(
      'A versão de dados não tem esta competência.',
      'The release does not hold this reference period.',
    ),
    errors: [
      {
        parameter: 'reference_period',
        message: both('não está na versão de dados', 'is not in the release'),
        allowed: [...periods.map(formatPeriod), 'all'],
      },
    ],
  })
}

/** @returns the filter set by the list's path, if any. @throws AppError 'not_found' for a value that the filter rejects */
export function pathFilterOf({ pathFilter, dataset }: ListRoute, params: Params): Record<string, string> {
  if (pathFilter === undefined) return {}
  const filter = dataset.filters?.[pathFilter.filter]
  const text = params[pathFilter.parameter] ?? ''
  const parsed = filter === undefined || text.includes(',') ? null : filterSchema(filter).safeParse(text)
  if (parsed?.success !== true) throw new AppError('not_found')
  return { [pathFilter.filter]: parsed.data }
}

/** @returns the route's filters with defaults, such as active facilities only */
function filtersOf(route: ListRoute, params: Params): Record<string, string> {
  const filters: Record<string, string> = {}
  for (const name in route.defaults) filters[name] = route.defaults[name] as string
  for (const name of route.filters) if (params[name] !== undefined) filters[name] = params[name]
  return route.pathFilter === undefined ? filters : { ...filters, ...pathFilterOf(route, params) }
}

/**
 * @param filters filters with territories resolved to municipalities
 * @param facilityStates states of the facilities in the filter
 * @throws AppError 'invalid_request'; 'invalid_cursor' when the cursor belongs to other parameters
 */
function readList(
  route: ListRoute,
  { params, view, cursor }: RowRequest,
  filters: Readonly<Record<string, string>>,
  facilityStates: States | null,
): ResolvedList {
  const dataset = route.dataset.name as DatasetName
  const registry = tableOf(dataset)
  // In a complete release the period and the notes do not depend on states.
  const states = isIncomplete(view, registry ?? undefined)
    ? statesOfList(registry === null ? {} : filters, facilityStates, view, registry)
    : ALL_STATES
  const period = choosePeriod(view, dataset, params.reference_period, states)
  const sort = parseSort(params.sort)
  const place = route.features === undefined ? null : placeOf(params)
  const question: ListQuestion = { dataset: route.dataset, filters, period, sort, place }
  const order = orderOf(question)
  const includesFacility = params.include === 'facility'
  // Keep the digest of plain lists stable, so that existing cursors stay valid.
  const boundParams = filtersOf(route, params)
  boundParams.reference_period = String(period)
  if (place !== null) boundParams.place = JSON.stringify(place)
  const digest = digestListQuery(dataset, boundParams, [
    ...(params.sort === undefined ? [] : [params.sort]),
    ...order,
  ])
  return {
    dataset,
    question,
    filters,
    sort,
    place,
    order,
    digest,
    after: cursor === null ? null : readCursor(cursor, view, digest),
    counts: params.count === 'true',
    includesFacility,
    limit: params.limit === undefined ? route.limit.default : Number(params.limit),
    wantsItems: includesFacility || place?.near != null,
    about: route.about?.(params) ?? {},
    notes:
      registry === null
        ? absenceNotes(view, dataset)
        : notesOf(view, registry, { states, filters, period }, 'incomplete_list'),
    remarks: registry === null ? [] : emptyNotesOf(view, registry, { states, filters, period }),
  }
}

function readCursor(cursor: Cursor, view: ReleaseView, digest: string): readonly (string | number)[] {
  if (cursor.release !== view.id || cursor.query !== digest)
    throw new AppError('invalid_cursor', {
      errors: [
        {
          parameter: 'cursor',
          message: both(
            'pertence a outros parâmetros ou a outra versão de dados',
            'belongs to other parameters or another release',
          ),
        },
      ],
    })
  return cursor.after
}

export const cursorAt = (
  { view, cursorSecret }: Pick<RowRequest, 'view' | 'cursorSecret'>,
  digest: string,
  after: readonly (string | number)[],
): string => encodeCursor({ release: view.id, query: digest, after }, cursorSecret)

/** Resolves a list request, with the engine when row files do not suffice. @throws same errors as listFromRows */
export async function resolveList(route: ListRoute, request: EngineRequest): Promise<ResolvedList> {
  const { view, rows, engine, signal, params } = request
  const filters = await loadTerritories(route.dataset, filtersOf(route, params), view, rows, engine, signal)
  const codes = facilitiesInFilters(view, tableOf(route.dataset.name as DatasetName), filters)
  const states = statesFromRows(codes, view, rows)
  return readList(
    route,
    request,
    filters,
    states === undefined ? await findStates(codes, engine, view, { signal }) : states,
  )
}

/** @returns null when the row files lack the page. @throws AppError 'invalid_request', 'invalid_cursor' */
export function listFromRows(route: ListRoute, request: RowRequest): JsonResult | null {
  const { params, view, rows } = request
  if (!hasDataset(view, route.dataset.name as DatasetName)) return null
  const filters = resolveTerritories(route.dataset, filtersOf(route, params), view, rows)
  if (filters === null) return null
  const codes = facilitiesInFilters(view, tableOf(route.dataset.name as DatasetName), filters)
  const states = statesFromRows(codes, view, rows)
  if (states === undefined) return null
  const list = readList(route, request, filters, states)
  const page = pageFromRows(list, request)
  return page === null ? null : describePage(page, list, request)
}

export async function answerList(route: ListRoute, request: EngineRequest): Promise<JsonResult> {
  const list = await resolveList(route, request)
  return describePage(await findPage(list, request), list, request)
}

function describePage(page: RowPage, list: ResolvedList, request: RowRequest): JsonResult {
  return {
    json: list.wantsItems ? `[${page.items.map(({ json }) => json).join(',')}]` : page.json,
    pagination: paginationOf(page, list, list.limit, request),
    meta: {
      ...metaOf(list.question.period, [...list.notes, ...list.remarks], request.language),
      ...list.about,
    },
    rows: page.count,
  }
}

export const paginationOf = (
  { next, total }: Pick<RowPage, 'next' | 'total'>,
  { digest, counts, notes }: ResolvedList,
  limit: number,
  request: Pick<RowRequest, 'view' | 'cursorSecret'>,
): CursorPagination => ({
  limit,
  has_more: next !== null,
  next_cursor: next === null ? null : cursorAt(request, digest, next),
  ...(counts ? { total: notes.length > 0 ? null : total } : {}),
})

export async function findPage(list: ResolvedList, request: EngineRequest): Promise<RowPage> {
  const found = pageFromRows(list, request)
  if (found !== null) return found
  const { view, engine, signal } = request
  if (!hasDataset(view, list.dataset))
    return { json: '[]', items: [], count: 0, next: null, total: list.counts ? 0 : null }
  const page = await pageFromEngine(list, request)
  const items = withDistances(page.items, list)
  if (!list.includesFacility) return { ...page, items }
  return { ...page, items: withFacilities(items, await facilitiesFromEngine(items, view, engine, signal)) }
}

function pageFromRows(list: ResolvedList, { view, rows }: RowRequest): RowPage | null {
  if (!hasDataset(view, list.dataset)) return null
  const page = rows?.find(view, list.dataset, list.question.period)?.page(list) ?? null
  if (page === null || !list.wantsItems) return page
  const items = withDistances(page.items, list)
  if (!list.includesFacility) return { ...page, items }
  const facilities = facilitiesFromRows(items, view, rows)
  return facilities === null ? null : { ...page, items: withFacilities(items, facilities) }
}

const withDistances = (items: readonly RowItem[], { place }: ResolvedList): readonly RowItem[] =>
  place?.near == null
    ? items
    : items.map((item) => ({ ...item, json: `${item.json.slice(0, -1)},"distance_km":${item.distance}}` }))

const COORDINATES: readonly FieldName[] = ['latitude', 'longitude']

async function pageFromEngine(list: ResolvedList, { engine, view, signal }: EngineRequest): Promise<RowPage> {
  const { question, limit, after, order, wantsItems, place } = list
  const extraFields = wantsItems && question.dataset.detail?.includes('latitude') === true ? COORDINATES : []
  if (place?.near != null) return pageNear(list, place.near, extraFields, { engine, view, signal })
  const plan =
    list.sort.length > 0
      ? planSorted(question, limit, after, extraFields)
      : planList(question, limit, after, extraFields)
  const rows = await engine.run(plan, view, { signal })
  const total = list.counts
    ? Number((await engine.run(planCount(question), view, { signal }))[0]?.total ?? 0)
    : null
  return pageOf(rows.slice(0, limit), rows.length > limit, total, list, null, order)
}

/** Finds the nearest rows. The engine returns candidate rows and the rows of the page; distances are computed here. */
async function pageNear(
  list: ResolvedList,
  near: Near,
  extraFields: readonly FieldName[],
  { engine, view, signal }: Pick<EngineRequest, 'engine' | 'view' | 'signal'>,
): Promise<RowPage> {
  const { question, limit, after, order } = list
  const chord = chordFrom(near)
  const reach = reachOf(near)
  const points = await engine.run(planPoints(question), view, { signal })
  const candidates = points.flatMap((row) => {
    const distance = chord(Number(row.latitude), Number(row.longitude))
    return distance <= reach ? [{ key: order.map((column) => keyValue(row, column)), distance }] : []
  })
  // Rows arrive in key order, and the stable sort keeps that order for equal distances.
  if (list.sort.length === 0) candidates.sort((left, right) => left.distance - right.distance)
  const last = JSON.stringify(after)
  const start = after === null ? 0 : candidates.findIndex(({ key }) => JSON.stringify(key) === last) + 1
  const pageKeys = candidates.slice(start, start + limit).map(({ key }) => key)
  const rows =
    pageKeys.length === 0 ? [] : await engine.run(planKeys(question, pageKeys, extraFields), view, { signal })
  const keyTextOf = (row: Row): string => JSON.stringify(order.map((column) => keyValue(row, column)))
  const byKey = new Map(rows.map((row) => [keyTextOf(row), row]))
  const orderedRows = pageKeys.flatMap((key): Row[] => {
    const row = byKey.get(JSON.stringify(key))
    return row === undefined ? [] : [row]
  })
  const hasMore = candidates.length > start + limit
  return pageOf(orderedRows, hasMore, list.counts ? candidates.length : null, list, chord, order)
}

function pageOf(
  rows: readonly Row[],
  hasMore: boolean,
  total: number | null,
  { wantsItems, question }: ResolvedList,
  chord: ReturnType<typeof chordFrom> | null,
  order: readonly string[],
): RowPage {
  const last = rows.at(-1)
  // Keys that only order the rows are in the cursor, not in the answer, as with row files.
  const hidden = order.filter((column) => question.dataset.internal?.some((field) => field === column))
  const shown = hidden.length === 0 ? rows : rows.map((row) => withoutColumns(row, hidden))
  const items = wantsItems ? shown.map((row) => itemOf(row, chord)) : []
  return {
    json: wantsItems ? '' : toByteString(JSON.stringify(shown)),
    items,
    count: rows.length,
    next: hasMore && last !== undefined ? order.map((column) => keyValue(last, column)) : null,
    total,
  }
}

const withoutColumns = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)))

function itemOf(
  { latitude = null, longitude = null, ...row }: Row,
  chord: ReturnType<typeof chordFrom> | null,
): RowItem {
  const json = toByteString(JSON.stringify(row))
  if (typeof latitude !== 'number' || typeof longitude !== 'number')
    return { json, point: null, distance: null }
  return {
    json,
    point: [latitude, longitude],
    distance: chord === null ? null : distanceOf(chord(latitude, longitude)),
  }
}

const keyValue = (row: Row, column: string): string | number => {
  const value = row[column] as string | number | null
  return column === 'reference_period'
    ? Number(String(value).replace('-', ''))
    : positionValue(column as FieldName, value)
}
