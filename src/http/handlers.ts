/**
 * A route and a valid request → a result: data or JSON, pagination, meta. One function for each kind of route; row files
 * answer where they can, the engine answers everything. Not responsible for: keys, pins, caching, the envelope.
 */
import type { Engine, JsonValue, Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { DATASETS, type DatasetName } from '../model/datasets.ts'
import { type FieldName, fieldOf } from '../model/fields.ts'
import { type Cursor, digestListQuery, encodeCursor } from '../query/cursor.ts'
import { filterSchema } from '../query/filters.ts'
import {
  type ListQuestion,
  orderOf,
  type PeriodChoice,
  planCount,
  planList,
  planRecord,
} from '../query/list.ts'
import type { Lookups } from '../query/lookup-batches.ts'
import {
  describeProvenance,
  planLookups,
  planPublishedRows,
  type TracedDataset,
} from '../query/provenance.ts'
import { coverageOf, formatPeriod, latestPeriod, type ReleaseView, storedPeriods } from '../release/view.ts'
import type { RowPage, RowStore } from '../rows/row-store.ts'
import type { Params } from './parameters.ts'
import { askPlaces, resolvePlaces } from './place-filters.ts'
import type {
  AllRoute,
  DataResult,
  HandlerRequest,
  JsonResult,
  ListRoute,
  ProvenanceRoute,
  RecordRoute,
  Result,
  Route,
  ScopedRoute,
} from './route.ts'

/** What the row files of a release need to answer a list or a record. */
export interface RowRequest {
  readonly params: Params
  readonly view: ReleaseView
  /** Where a list goes on. */
  readonly cursor: Cursor | null
  readonly cursorSecret: Buffer
  readonly rows: RowStore | null
}

/** What any route needs; `query` holds the parameters of path and query. */
export interface RunRequest extends HandlerRequest {
  readonly cursor: Cursor | null
  readonly cursorSecret: Buffer
}

interface KindRequest extends RowRequest {
  readonly engine: Engine
  readonly lookups: Lookups
  readonly signal: AbortSignal
}

/** The answer of a list or a record from row files; null where they do not hold it, or the route is of another kind. */
export function fromRowFiles(route: Route, request: RowRequest): JsonResult | null {
  if (request.rows === null) return null
  if (route.kind === 'record') return recordFromRows(route, request)
  if (route.kind !== 'list') return null
  pathFilterOf(route, request.params)
  return pageFromRows(route, request)
}

/** Runs a route. @throws AppError */
export async function runRoute(route: Route, request: RunRequest): Promise<Result> {
  if (route.kind === 'custom') return route.handle(request)
  const { query: params, view, cursor, cursorSecret, rows, engine, lookups, signal } = request
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const kind: KindRequest = { params, view, cursor, cursorSecret, rows, engine, lookups, signal }
  switch (route.kind) {
    case 'list':
      pathFilterOf(route, params)
      return answerList(route, kind)
    case 'all':
      return answerAll(route, kind)
    case 'record':
      return answerRecord(route, kind)
    case 'scoped':
      return answerScoped(route, kind)
    case 'provenance':
      return answerProvenance(route, kind)
  }
}

/** @returns the filter that the path of a list sets, if it does; @throws AppError 'not_found' for what the filter does not take */
function pathFilterOf({ pathFilter, dataset }: ListRoute, params: Params): Record<string, string> {
  if (pathFilter === undefined) return {}
  const filter = dataset.filters?.[pathFilter.filter]
  const text = params[pathFilter.parameter] ?? ''
  const read = filter === undefined || text.includes(',') ? null : filterSchema(filter).safeParse(text)
  if (read?.success !== true) throw notFound()
  return { [pathFilter.filter]: read.data }
}

const DIGITS = /^\d+$/
const notFound = (): AppError => new AppError('not_found')

/** @throws AppError 'invalid_request' naming the periods there are */
export function choosePeriod(
  view: ReleaseView,
  dataset: DatasetName,
  text: string | undefined,
): PeriodChoice {
  if (!DATASETS[dataset].periodic) return null
  const stored = storedPeriods(view, dataset)
  if (text === 'all') return stored.length === 0 ? null : 'all'
  if (text === undefined) return latestPeriod(view, dataset)
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

const periodMeta = (period: PeriodChoice): Record<string, JsonValue> =>
  period === null ? {} : { reference_period: period === 'all' ? 'all' : formatPeriod(period) }
/** A release without the area (or without the dataset) has no rows of it. */
const holds = (view: ReleaseView, dataset: DatasetName): boolean =>
  view.components[DATASETS[dataset].area]?.datasets[dataset] !== undefined

/** A page of a list, as a value. */
interface ListPage {
  readonly dataset: DatasetName
  readonly list: ListQuestion
  readonly filters: Readonly<Record<string, string>>
  readonly order: readonly string[]
  /** What binds its cursors to it. */
  readonly digest: string
  readonly after: readonly (string | number)[] | null
  readonly limit: number
  readonly counts: boolean
}

/**
 * @param filters with the municipalities of places that were asked for
 * @throws AppError 'invalid_request', 'invalid_cursor' for one of other parameters
 */
function readList(
  route: ListRoute,
  { params, view, cursor }: RowRequest,
  filters: Readonly<Record<string, string>>,
): ListPage {
  const dataset = route.dataset.name as DatasetName
  const period = choosePeriod(view, dataset, params.reference_period)
  const list: ListQuestion = { dataset: route.dataset, filters, period }
  const order = orderOf(list)
  const asked = { ...filtersOf(route, params), reference_period: String(period) }
  const digest = digestListQuery(dataset, asked, order)
  return {
    dataset,
    list,
    filters,
    order,
    digest,
    after: cursor === null ? null : continueWalk(cursor, view, digest),
    limit: params.limit === undefined ? route.limit.default : Number(params.limit),
    counts: params.count === 'true',
  }
}

function describePage(page: RowPage, list: ListPage, request: RowRequest): JsonResult {
  return {
    json: page.json,
    pagination: {
      limit: list.limit,
      has_more: page.next !== null,
      next_cursor: page.next === null ? null : cursorAt(request, list.digest, page.next),
      ...(page.total === null ? {} : { total: page.total }),
    },
    meta: periodMeta(list.list.period),
    rows: page.count,
  }
}

/** @throws AppError 'invalid_request', 'invalid_cursor' */
function pageFromRows(route: ListRoute, request: RowRequest): JsonResult | null {
  const { view, rows } = request
  if (!holds(view, route.dataset.name as DatasetName)) return null
  const filters = resolvePlaces(route.dataset, filtersOf(route, request.params), view, rows)
  if (filters === null) return null
  const list = readList(route, request, filters)
  const page = rows?.find(view, list.dataset, list.list.period)?.page(list) ?? null
  return page === null ? null : describePage(page, list, request)
}

async function answerList(route: ListRoute, request: KindRequest): Promise<DataResult> {
  const { engine, view, rows: store, signal } = request
  const asked = filtersOf(route, request.params)
  const filters = await askPlaces(route.dataset, asked, view, store, engine, signal)
  const page = readList(route, request, filters)
  const { dataset, list, limit, after, order } = page
  if (!holds(view, dataset))
    return { data: [], pagination: { limit, has_more: false, next_cursor: null }, rows: 0 }
  const found = await engine.run(planList(list, limit, after), view, { signal })
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > limit && last !== undefined
  const total = page.counts
    ? { total: (await engine.run(planCount(list), view, { signal }))[0]?.total ?? 0 }
    : {}
  const next = hasMore
    ? cursorAt(
        request,
        page.digest,
        order.map((column) => keyValue(last, column)),
      )
    : null
  return {
    data: rows,
    pagination: { limit, has_more: hasMore, next_cursor: next, ...total },
    meta: periodMeta(list.period),
    rows: rows.length,
  }
}

const cursorAt = (
  { view, cursorSecret }: RowRequest,
  digest: string,
  after: readonly (string | number)[],
): string => encodeCursor({ release: view.id, query: digest, after }, cursorSecret)

/** Filters of the route with their defaults: active facilities only, unless the request says otherwise. */
function filtersOf(route: ListRoute, params: Params): Record<string, string> {
  const filters: Record<string, string> = { ...route.defaults }
  for (const name of route.filters) if (params[name] !== undefined) filters[name] = params[name]
  return { ...filters, ...pathFilterOf(route, params) }
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

const keyValue = (row: Row, column: string): string | number => {
  const value = row[column] as string | number
  return column === 'reference_period' ? Number(String(value).replace('-', '')) : value
}

async function answerAll(
  route: AllRoute,
  { engine, view, params, signal }: KindRequest,
): Promise<DataResult> {
  if (!holds(view, route.dataset.name as DatasetName)) return { data: [], rows: 0 }
  const rows = await engine.run(
    planList({ dataset: route.dataset, filters: params, period: null }, 10_000, null),
    view,
    { signal },
  )
  return { data: rows, rows: rows.length }
}

/** @throws AppError 'not_found' */
function recordFromRows(route: RecordRoute, { params, view, rows }: RowRequest): JsonResult | null {
  const dataset = route.dataset.name as DatasetName
  if (!holds(view, dataset)) throw notFound()
  const period = choosePeriod(view, dataset, params.reference_period)
  const table = rows?.find(view, dataset, period) ?? null
  if (table === null) return null
  const key = keyOf(route, params)
  if (!route.dataset.key.every((column) => key[column] !== undefined)) return null
  const position = table.find(route.dataset.key.map((column) => key[column] ?? ''))
  if (position === null) throw notFound()
  const json = table.record(position)
  return json === null ? null : { json, meta: periodMeta(period), rows: 1 }
}

/** Columns of a record's key, as the dataset holds them. @throws AppError 'not_found' for what cannot be one */
function keyOf(
  { key: form }: RecordRoute | ProvenanceRoute,
  params: Params,
): Record<string, string | number> {
  const key: Record<string, string | number> = {}
  for (const [column, digits] of Object.entries(form)) {
    const text = params[column] ?? ''
    if (text.length !== digits || !DIGITS.test(text)) throw notFound()
    key[column] = fieldOf(column as FieldName).type === 'integer' ? Number(text) : text
  }
  return key
}

async function answerRecord(
  route: RecordRoute,
  { lookups, view, params, signal }: KindRequest,
): Promise<DataResult> {
  const dataset = route.dataset.name as DatasetName
  const period = choosePeriod(view, dataset, params.reference_period)
  if (!holds(view, dataset)) throw notFound()
  const [row] = await lookups.find(view, dataset, keyOf(route, params), period, signal)
  if (row === undefined) throw notFound()
  return { data: row, meta: periodMeta(period), rows: 1 }
}

const FACILITY_FIELDS = [
  'cnes_code',
  'legal_name',
  'trade_name',
  'is_active',
  'uf',
  'municipality_ibge_code',
  'municipality_name',
] as const

/** One facility's records of a dataset and their totals; 404 when the registry does not know the facility. */
async function answerScoped(
  route: ScopedRoute,
  { lookups, view, rows: store, params, signal }: KindRequest,
): Promise<DataResult> {
  const dataset = route.dataset.name as DatasetName
  const cnes = params.cnes_code ?? ''
  if (!/^\d{7}$/.test(cnes) || !holds(view, 'facilities')) throw notFound()
  const period = choosePeriod(view, dataset, params.reference_period)
  const facilityPeriod =
    typeof period === 'number' && storedPeriods(view, 'facilities').includes(period)
      ? period
      : latestPeriod(view, 'facilities')
  const ofFacility = async (name: DatasetName, of: PeriodChoice): Promise<readonly Row[]> =>
    store?.find(view, name, of)?.recordsOf(cnes) ??
    (await lookups.find(view, name, { cnes_code: cnes }, of, signal))
  const [facility] = await ofFacility('facilities', facilityPeriod)
  if (facility === undefined) throw notFound()
  const rows = holds(view, dataset) ? await ofFacility(dataset, period) : []
  const totals: Record<string, JsonValue> = {}
  for (const [name, field] of Object.entries(route.totals)) {
    // A stock is not summed over months: several periods have no total.
    if (period === 'all') totals[name] = null
    else
      totals[name] = field === 'rows' ? rows.length : rows.reduce((sum, row) => sum + Number(row[field]), 0)
  }
  return {
    data: {
      facility: Object.fromEntries(FACILITY_FIELDS.map((field) => [field, facility[field] ?? null])),
      records: rows,
      totals,
    },
    meta: periodMeta(period),
    rows: rows.length,
  }
}

/** Answers for any record of the period, of closed facilities too. */
async function answerProvenance(
  route: ProvenanceRoute,
  { engine, view, params, signal }: KindRequest,
): Promise<DataResult> {
  const dataset = route.dataset.name as TracedDataset
  const key = keyOf(route, params)
  const period = choosePeriod(view, dataset, params.reference_period)
  if (!holds(view, dataset) || typeof period !== 'number') throw notFound()
  const [record] = await engine.run(planRecord(route.dataset, key, period), view, { signal })
  if (record === undefined) throw notFound()
  const published = await engine.run(planPublishedRows(dataset, key, period), view, { signal })
  const lookups = new Map<string, Row>()
  for (const { attribute, statement } of planLookups(dataset, record)) {
    const [row] = await engine.run(statement, view, { signal })
    if (row !== undefined) lookups.set(attribute, row)
  }
  const family = coverageOf(view, dataset, period)?.family === 'base' ? 'base' : 'state'
  const entries = describeProvenance(dataset, family, record, published, lookups, view)
  return {
    data: { ...key, entries: entries as unknown as JsonValue },
    meta: periodMeta(period),
    rows: entries.length,
  }
}
