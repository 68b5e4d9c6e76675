/**
 * A route and a valid request → data. In: the route's declaration, parameters, a release. Out: data, pagination, meta.
 * One function a kind; none of them knows Fastify.
 */
import type { Engine, JsonValue, Row } from '../engine/types.ts'
import { AppError } from '../errors.ts'
import { DATASETS, type DatasetName } from '../model/datasets.ts'
import { type Cursor, digestListQuery, encodeCursor } from '../query/cursor.ts'
import {
  type ListQuestion,
  orderOf,
  type PeriodChoice,
  planCount,
  planList,
  planRecord,
} from '../query/list.ts'
import {
  describeProvenance,
  planLookups,
  planPublishedRows,
  type TracedDataset,
} from '../query/provenance.ts'
import { coverageOf, formatPeriod, latestPeriod, type ReleaseView, storedPeriods } from '../release/view.ts'
import type { PageQuestion, RowStore, ShelfPage } from '../rows/rows.ts'
import type { Shelf } from '../rows/shelf.ts'
import type { Given } from './parameters.ts'
import type {
  AllRoute,
  CustomAnswer,
  ListRoute,
  ProvenanceRoute,
  RecordRoute,
  ScopedRoute,
  WrittenAnswer,
} from './route.ts'

export interface AnswerParts {
  readonly engine: Engine
  readonly view: ReleaseView
  readonly signal: AbortSignal
  /** Where the list is walked on. */
  readonly cursor: Cursor | null
  readonly cursorSecret: Buffer
  readonly shelves: RowStore | null
}

const DIGITS = /^\d+$/
const notFound = (): AppError => new AppError('not_found')

/** @throws AppError 'invalid_request' naming the periods there are */
export function choosePeriod(
  view: ReleaseView,
  dataset: DatasetName,
  given: string | undefined,
): PeriodChoice {
  if (!DATASETS[dataset].periodic) return null
  const stored = storedPeriods(view, dataset)
  if (given === 'all') return stored.length === 0 ? null : 'all'
  if (given === undefined) return latestPeriod(view, dataset)
  const period = Number(given.replace('-', ''))
  if (stored.includes(period)) return period
  throw new AppError('invalid_request', {
    detail: 'The release does not hold this reference period.',
    errors: [
      {
        parameter: 'reference_period',
        message: 'is not in the release',
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

/** What a list is asked for. */
interface ListRequest extends PageQuestion {
  readonly dataset: DatasetName
  readonly question: ListQuestion
  readonly order: readonly string[]
  /** What binds its cursors to it. */
  readonly digest: string
}

/** @throws AppError 'invalid_request', 'invalid_cursor' for one of other parameters */
function readList(route: ListRoute, given: Given, view: ReleaseView, cursor: Cursor | null): ListRequest {
  const dataset = route.dataset.name as DatasetName
  const filters = filtersOf(route, given)
  const period = choosePeriod(view, dataset, given.reference_period)
  const question: ListQuestion = { dataset: route.dataset, filters, period }
  const order = orderOf(question)
  const digest = digestListQuery(dataset, { ...filters, reference_period: String(period) }, order)
  return {
    dataset,
    filters,
    question,
    order,
    digest,
    after: cursor === null ? null : continueWalk(cursor, view, digest),
    limit: given.limit === undefined ? route.limit.default : Number(given.limit),
    counts: given.count === 'true',
  }
}

type PageParts = Pick<AnswerParts, 'view' | 'cursorSecret'>

const describePage = (page: ShelfPage, list: ListRequest, parts: PageParts): WrittenAnswer => ({
  json: page.json,
  pagination: {
    limit: list.limit,
    has_more: page.next !== null,
    next_cursor: page.next === null ? null : cursorAt(parts, list.digest, page.next),
    ...(page.total === null ? {} : { total: page.total }),
  },
  meta: periodMeta(list.question.period),
  rows: page.count,
})

/**
 * A page of rows written out. @returns null where they are not (yet), or have to be looked for first
 * @throws AppError 'invalid_request', 'invalid_cursor'
 */
export function writtenPage(
  route: ListRoute,
  given: Given,
  { view, shelves, cursor, cursorSecret }: Omit<AnswerParts, 'engine' | 'signal'>,
): WrittenAnswer | null {
  if (shelves === null || !holds(view, route.dataset.name as DatasetName)) return null
  const list = readList(route, given, view, cursor)
  const shelf = shelves.find(view, list.dataset, list.question.period)
  const page = shelf === null ? null : shelves.pageNow(view, list.dataset, shelf, list)
  return page === null ? null : describePage(page, list, { view, cursorSecret })
}

export async function answerList(
  route: ListRoute,
  given: Given,
  parts: AnswerParts,
): Promise<CustomAnswer | WrittenAnswer> {
  const { engine, view, shelves } = parts
  const list = readList(route, given, view, parts.cursor)
  const { dataset, question, limit, after, order } = list
  if (!holds(view, dataset))
    return { data: [], pagination: { limit, has_more: false, next_cursor: null }, rows: 0 }
  const shelf = shelves?.find(view, dataset, question.period) ?? null
  if (shelves !== null && shelf !== null) {
    const page = await shelves.page(view, dataset, shelf, list)
    if (page !== null) return describePage(page, list, parts)
  }
  const { signal } = parts
  const rows = await engine.run(planList(question, limit, after), view, { signal })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  const total = list.counts
    ? { total: (await engine.run(planCount(question), view, { signal }))[0]?.total ?? 0 }
    : {}
  const next = hasMore
    ? cursorAt(
        parts,
        list.digest,
        order.map((column) => keyValue(last, column)),
      )
    : null
  return {
    data: page,
    pagination: { limit, has_more: hasMore, next_cursor: next, ...total },
    meta: periodMeta(question.period),
    rows: page.length,
  }
}

const cursorAt = (
  { view, cursorSecret }: PageParts,
  question: string,
  after: readonly (string | number)[],
): string => encodeCursor({ release: view.id, query: question, after }, cursorSecret)

/** Filters of the route with their defaults: active facilities only, unless asked otherwise. */
function filtersOf(route: ListRoute, given: Given): Record<string, string> {
  const filters: Record<string, string> = { ...route.defaults }
  for (const name of route.filters) if (given[name] !== undefined) filters[name] = given[name]
  if (route.pathFilter !== undefined)
    filters[route.pathFilter.filter] = given[route.pathFilter.parameter] ?? ''
  return filters
}

function continueWalk(cursor: Cursor, view: ReleaseView, digest: string): readonly (string | number)[] {
  if (cursor.release !== view.id || cursor.query !== digest)
    throw new AppError('invalid_cursor', {
      errors: [{ parameter: 'cursor', message: 'belongs to other parameters or another release' }],
    })
  return cursor.after
}

const keyValue = (row: Row, column: string): string | number => {
  const value = row[column] as string | number
  return column === 'reference_period' ? Number(String(value).replace('-', '')) : value
}

export async function answerAll(
  route: AllRoute,
  given: Given,
  { engine, view, signal }: AnswerParts,
): Promise<CustomAnswer> {
  if (!holds(view, route.dataset.name as DatasetName)) return { data: [], rows: 0 }
  const rows = await engine.run(
    planList({ dataset: route.dataset, filters: given, period: null }, 10_000, null),
    view,
    { signal },
  )
  return { data: rows, rows: rows.length }
}

/**
 * A record from rows written out. @returns null where they are not (yet), or do not hold it
 * @throws AppError 'not_found'
 */
export function writtenRecord(
  route: RecordRoute,
  given: Given,
  view: ReleaseView,
  shelves: RowStore | null,
): WrittenAnswer | null {
  const dataset = route.dataset.name as DatasetName
  const period = choosePeriod(view, dataset, given.reference_period)
  const shelf = shelves?.find(view, dataset, period) ?? null
  if (shelf === null) return null
  const key = keyOf(route, given)
  if (!route.dataset.key.every((column) => key[column] !== undefined)) return null
  const position = shelf.find(route.dataset.key.map((column) => key[column] ?? ''))
  if (position === null) throw notFound()
  const json = shelf.record(position)
  return json === null ? null : { json, meta: periodMeta(period), rows: 1 }
}

/** Columns of a record's key, as the dataset holds them. @throws AppError 'not_found' for what cannot be one */
function keyOf(route: RecordRoute, given: Given): Record<string, string | number> {
  const key: Record<string, string | number> = {}
  for (const [parameter, { column, digits, integer }] of Object.entries(route.key)) {
    const text = given[parameter] ?? ''
    if (text.length !== digits || !DIGITS.test(text)) throw notFound()
    key[column] = integer === true ? Number(text) : text
  }
  return key
}

export async function answerRecord(
  route: RecordRoute,
  given: Given,
  parts: AnswerParts,
): Promise<CustomAnswer | WrittenAnswer> {
  const { engine, view } = parts
  const dataset = route.dataset.name as DatasetName
  const period = choosePeriod(view, dataset, given.reference_period)
  if (!holds(view, dataset)) throw notFound()
  const key = keyOf(route, given)
  const written = writtenRecord(route, given, view, parts.shelves)
  if (written !== null) return written
  const [row] = await engine.run(planRecord(route.dataset, key, period), view, { signal: parts.signal })
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

/** Rows of one facility (or whatever the key begins with) from a shelf; null where it lacks one of them. */
export function writtenRows(shelf: Shelf, first: string): readonly Row[] | null {
  const { from, to } = shelf.range(first)
  const rows: Row[] = []
  for (let position = from; position < to; position += 1) {
    const json = shelf.record(position)
    if (json === null) return null
    rows.push(JSON.parse(json.toString()) as Row)
  }
  return rows
}

/** One facility's records of a dataset and their totals; 404 when the registry does not know the facility. */
export async function answerScoped(
  route: ScopedRoute,
  given: Given,
  parts: AnswerParts,
): Promise<CustomAnswer> {
  const { engine, view, shelves } = parts
  const dataset = route.dataset.name as DatasetName
  const cnes = given.cnes_code ?? ''
  if (!/^\d{7}$/.test(cnes) || !holds(view, 'facilities')) throw notFound()
  const period = choosePeriod(view, dataset, given.reference_period)
  const facilityPeriod =
    typeof period === 'number' && storedPeriods(view, 'facilities').includes(period)
      ? period
      : latestPeriod(view, 'facilities')
  const ofFacility = async (name: DatasetName, of: PeriodChoice): Promise<readonly Row[]> => {
    const shelf = shelves?.find(view, name, of) ?? null
    return (
      (shelf === null ? null : writtenRows(shelf, cnes)) ??
      (await engine.run(planRecord(DATASETS[name], { cnes_code: cnes }, of), view, {
        signal: parts.signal,
      }))
    )
  }
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
export async function answerProvenance(
  route: ProvenanceRoute,
  given: Given,
  { engine, view, signal }: AnswerParts,
): Promise<CustomAnswer> {
  const dataset = route.dataset.name as TracedDataset
  const key: Record<string, string> = {}
  for (const [column, digits] of Object.entries(route.key)) {
    const text = given[column] ?? ''
    if (!new RegExp(`^\\d{${digits}}$`).test(text)) throw notFound()
    key[column] = text
  }
  const period = choosePeriod(view, dataset, given.reference_period)
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
