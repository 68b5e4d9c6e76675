/**
 * Lists: a route and valid parameters → pages. Row files answer where they can, the engine answers everything, both the same.
 * Out: pages of rows, and the JSON answer of one page; the other forms of a list are list-formats.ts.
 */
import { findStates } from '../../analytics/facility-states.ts'
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
  facilitiesAsked,
  isIncomplete,
  latestPeriodOf,
  notesOf,
  type States,
  statesFromRows,
  statesOfList,
  tableOf,
} from './list-coverage.ts'
import { askPlaces, resolvePlaces } from './place-filters.ts'

/** What the row files of a release need to answer a list or a record. */
export interface RowRequest {
  readonly params: Params
  readonly view: ReleaseView
  /** Where a list goes on. */
  readonly cursor: Cursor | null
  readonly cursorSecret: Buffer
  readonly rows: RowStore | null
  /** The language of the request, which notes are written in. */
  readonly language: Language
}
/** What the engine needs besides. */
export interface EngineRequest extends RowRequest {
  readonly engine: Engine
  readonly signal: AbortSignal
}

/** A list that is asked for, as a value. */
export interface AskedList {
  readonly dataset: DatasetName
  readonly question: ListQuestion
  readonly filters: Readonly<Record<string, string>>
  readonly sort: readonly SortTerm[]
  readonly place: Place | null
  readonly order: readonly string[]
  /** What binds its cursors to it. */
  readonly digest: string
  readonly after: readonly (string | number)[] | null
  readonly counts: boolean
  /** Rows carry their facility. */
  readonly includesFacility: boolean
  /** What of it was not collected; its total is null then. */
  readonly notes: readonly Note[]
  /** What else is to be said of its rows; totals stand. */
  readonly remarks: readonly Note[]
  /** Rows of a page; of a page of JSON, unless another form of the list says otherwise. */
  readonly limit: number
  /** Rows are wanted one by one: something is to be added to each of them. */
  readonly isApart: boolean
  /** What is said of the whole list beside its rows. */
  readonly about: Readonly<Record<string, JsonValue>>
}

/** A release without the area (or without the dataset) has no rows of it. */
export const holds = (view: ReleaseView, dataset: DatasetName): boolean =>
  view.components[DATASETS[dataset].area]?.datasets[dataset] !== undefined

export const periodMeta = (period: PeriodChoice): Record<string, JsonValue> =>
  period === null ? {} : { reference_period: period === 'all' ? 'all' : formatPeriod(period) }

/** @returns what an answer says of its month, and of what was not collected */
export const metaOf = (
  period: PeriodChoice,
  notes: readonly Note[],
  language: Language,
): Record<string, JsonValue> =>
  notes.length === 0 ? periodMeta(period) : { ...periodMeta(period), notes: writeNotes(notes, language) }

/**
 * @param states whose newest month is meant where none is asked for
 * @throws AppError 'invalid_request' naming the periods there are
 */
export function choosePeriod(
  view: ReleaseView,
  dataset: DatasetName,
  text: string | undefined,
  states: States,
): PeriodChoice {
  if (!DATASETS[dataset].periodic) return null
  const stored = storedPeriods(view, dataset)
  if (text === 'all' || (text === undefined && datasetOf(dataset).listsAllPeriods === true))
    return stored.length === 0 ? null : 'all'
  const registry = tableOf(dataset)
  if (text === undefined)
    return registry === null ? latestPeriod(view, dataset) : latestPeriodOf(view, registry, states)
  const period = Number(text.replace('-', ''))
  if (stored.includes(period)) return period
  throw new AppError('invalid_request', {
    detail: both(
      'A versão de dados não tem esta competência.',
      'The release does not hold this reference period.',
    ),
    errors: [
      {
        parameter: 'reference_period',
        message: both('não está na versão de dados', 'is not in the release'),
        allowed: [...stored.map(formatPeriod), 'all'],
      },
    ],
  })
}

/** @returns the filter that the path of a list sets, if it does; @throws AppError 'not_found' for what the filter does not take */
export function pathFilterOf({ pathFilter, dataset }: ListRoute, params: Params): Record<string, string> {
  if (pathFilter === undefined) return {}
  const filter = dataset.filters?.[pathFilter.filter]
  const text = params[pathFilter.parameter] ?? ''
  const read = filter === undefined || text.includes(',') ? null : filterSchema(filter).safeParse(text)
  if (read?.success !== true) throw new AppError('not_found')
  return { [pathFilter.filter]: read.data }
}

/** Filters of the route with their defaults: active facilities only, unless the request says otherwise. */
function filtersOf(route: ListRoute, params: Params): Record<string, string> {
  const filters: Record<string, string> = {}
  for (const name in route.defaults) filters[name] = route.defaults[name] as string
  for (const name of route.filters) if (params[name] !== undefined) filters[name] = params[name]
  return route.pathFilter === undefined ? filters : { ...filters, ...pathFilterOf(route, params) }
}

/**
 * @param filters with the municipalities of places that were asked for
 * @param ofFacilities states of the facilities that were asked for
 * @throws AppError 'invalid_request', 'invalid_cursor' for one of other parameters
 */
function readList(
  route: ListRoute,
  { params, view, cursor }: RowRequest,
  filters: Readonly<Record<string, string>>,
  ofFacilities: States | null,
): AskedList {
  const dataset = route.dataset.name as DatasetName
  const registry = tableOf(dataset)
  // Where everything was collected, nothing depends on the states.
  const states = isIncomplete(view, registry ?? undefined)
    ? statesOfList(registry === null ? {} : filters, ofFacilities, view, registry)
    : ALL_STATES
  const period = choosePeriod(view, dataset, params.reference_period, states)
  const sort = parseSort(params.sort)
  const place = route.features === undefined ? null : placeOf(params)
  const question: ListQuestion = { dataset: route.dataset, filters, period, sort, place }
  const order = orderOf(question)
  const includesFacility = params.include === 'facility'
  // What a plain list is bound to is what it always was: its cursors stay good.
  const asked = filtersOf(route, params)
  asked.reference_period = String(period)
  if (place !== null) asked.place = JSON.stringify(place)
  const digest = digestListQuery(dataset, asked, [
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
    after: cursor === null ? null : continueWalk(cursor, view, digest),
    counts: params.count === 'true',
    includesFacility,
    limit: params.limit === undefined ? route.limit.default : Number(params.limit),
    isApart: includesFacility || place?.near != null,
    about: route.about?.(params) ?? {},
    notes:
      registry === null
        ? absenceNotes(view, dataset)
        : notesOf(view, registry, { states, filters, period }, 'incomplete_list'),
    remarks: registry === null ? [] : emptyNotesOf(view, registry, { states, filters, period }),
  }
}

function continueWalk(cursor: Cursor, view: ReleaseView, digest: string): readonly (string | number)[] {
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

/** The list that is asked for, whoever has to say which municipalities its places have. @throws as listFromRows */
export async function askList(route: ListRoute, request: EngineRequest): Promise<AskedList> {
  const { view, rows, engine, signal, params } = request
  const filters = await askPlaces(route.dataset, filtersOf(route, params), view, rows, engine, signal)
  const codes = facilitiesAsked(view, tableOf(route.dataset.name as DatasetName), filters)
  const states = statesFromRows(codes, view, rows)
  return readList(
    route,
    request,
    filters,
    states === undefined ? await findStates(codes, engine, view, { signal }) : states,
  )
}

/** @throws AppError 'invalid_request', 'invalid_cursor' @returns null where the row files do not hold the page */
export function listFromRows(route: ListRoute, request: RowRequest): JsonResult | null {
  const { params, view, rows } = request
  if (!holds(view, route.dataset.name as DatasetName)) return null
  const filters = resolvePlaces(route.dataset, filtersOf(route, params), view, rows)
  if (filters === null) return null
  const codes = facilitiesAsked(view, tableOf(route.dataset.name as DatasetName), filters)
  const states = statesFromRows(codes, view, rows)
  if (states === undefined) return null
  const list = readList(route, request, filters, states)
  const page = pageFromRows(list, request)
  return page === null ? null : describePage(page, list, request)
}

/** @throws AppError 'invalid_request', 'invalid_cursor', those of the engine */
export async function answerList(route: ListRoute, request: EngineRequest): Promise<JsonResult> {
  const list = await askList(route, request)
  return describePage(await findPage(list, request), list, request)
}

function describePage(page: RowPage, list: AskedList, request: RowRequest): JsonResult {
  return {
    json: list.isApart ? `[${page.items.map(({ json }) => json).join(',')}]` : page.json,
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
  { digest, counts, notes }: AskedList,
  limit: number,
  request: Pick<RowRequest, 'view' | 'cursorSecret'>,
): Record<string, JsonValue> => ({
  limit,
  has_more: next !== null,
  next_cursor: next === null ? null : cursorAt(request, digest, next),
  ...(counts ? { total: notes.length > 0 ? null : total } : {}),
})

/** @returns a page with all that is to be said of its rows, from row files or from the engine */
export async function findPage(list: AskedList, request: EngineRequest): Promise<RowPage> {
  const found = pageFromRows(list, request)
  if (found !== null) return found
  const { view, engine, signal } = request
  if (!holds(view, list.dataset))
    return { json: '[]', items: [], count: 0, next: null, total: list.counts ? 0 : null }
  const page = await pageFromEngine(list, request)
  const items = withDistances(page.items, list)
  if (!list.includesFacility) return { ...page, items }
  return { ...page, items: withFacilities(items, await facilitiesFromEngine(items, view, engine, signal)) }
}

function pageFromRows(list: AskedList, { view, rows }: RowRequest): RowPage | null {
  if (!holds(view, list.dataset)) return null
  const page = rows?.find(view, list.dataset, list.question.period)?.page(list) ?? null
  if (page === null || !list.isApart) return page
  const items = withDistances(page.items, list)
  if (!list.includesFacility) return { ...page, items }
  const facilities = facilitiesFromRows(items, view, rows)
  return facilities === null ? null : { ...page, items: withFacilities(items, facilities) }
}

const withDistances = (items: readonly RowItem[], { place }: AskedList): readonly RowItem[] =>
  place?.near == null
    ? items
    : items.map((item) => ({ ...item, json: `${item.json.slice(0, -1)},"distance_km":${item.distance}}` }))

const COORDINATES: readonly FieldName[] = ['latitude', 'longitude']

async function pageFromEngine(list: AskedList, { engine, view, signal }: EngineRequest): Promise<RowPage> {
  const { question, limit, after, order, isApart, place } = list
  const more = isApart && question.dataset.detail?.includes('latitude') === true ? COORDINATES : []
  if (place?.near != null) return pageNear(list, place.near, more, { engine, view, signal })
  const plan =
    list.sort.length > 0 ? planSorted(question, limit, after, more) : planList(question, limit, after, more)
  const found = await engine.run(plan, view, { signal })
  const total = list.counts
    ? Number((await engine.run(planCount(question), view, { signal }))[0]?.total ?? 0)
    : null
  return pageOf(found.slice(0, limit), found.length > limit, total, list, null, order)
}

/** Distances are not the engine's to compute: it gives the rows that may be near, and those of the page. */
async function pageNear(
  list: AskedList,
  near: Near,
  more: readonly FieldName[],
  { engine, view, signal }: Pick<EngineRequest, 'engine' | 'view' | 'signal'>,
): Promise<RowPage> {
  const { question, limit, after, order } = list
  const chord = chordFrom(near)
  const reach = reachOf(near)
  const points = await engine.run(planPoints(question), view, { signal })
  const found = points.flatMap((row) => {
    const distance = chord(Number(row.latitude), Number(row.longitude))
    return distance <= reach ? [{ key: order.map((column) => keyValue(row, column)), distance }] : []
  })
  // Rows come in the order of their keys, and sorting keeps it where distances are equal.
  if (list.sort.length === 0) found.sort((left, right) => left.distance - right.distance)
  const last = JSON.stringify(after)
  const start = after === null ? 0 : found.findIndex(({ key }) => JSON.stringify(key) === last) + 1
  const wanted = found.slice(start, start + limit).map(({ key }) => key)
  const rows = wanted.length === 0 ? [] : await engine.run(planKeys(question, wanted, more), view, { signal })
  const textOf = (row: Row): string => JSON.stringify(order.map((column) => keyValue(row, column)))
  const byKey = new Map(rows.map((row) => [textOf(row), row]))
  const inOrder = wanted.flatMap((key): Row[] => {
    const row = byKey.get(JSON.stringify(key))
    return row === undefined ? [] : [row]
  })
  const hasMore = found.length > start + limit
  return pageOf(inOrder, hasMore, list.counts ? found.length : null, list, chord, order)
}

function pageOf(
  rows: readonly Row[],
  hasMore: boolean,
  total: number | null,
  { isApart }: AskedList,
  chord: ReturnType<typeof chordFrom> | null,
  order: readonly string[],
): RowPage {
  const last = rows.at(-1)
  const items = isApart ? rows.map((row) => itemOf(row, chord)) : []
  return {
    json: isApart ? '' : toByteString(JSON.stringify(rows)),
    items,
    count: rows.length,
    next: hasMore && last !== undefined ? order.map((column) => keyValue(last, column)) : null,
    total,
  }
}

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
  const value = row[column] as string | number
  return column === 'reference_period' ? Number(String(value).replace('-', '')) : value
}
