/** Reads the parameters of a list, and answers with a page as JSON. Other formats are in list-formats.ts. */
import type { CursorPagination } from '../../answers/meta.ts'
import type { JsonValue } from '../../engine/types.ts'
import { AppError, both, type Language } from '../../errors.ts'
import { writeNotes } from '../../model/note-sentences.ts'
import type { Note } from '../../model/notes.ts'
import { type Cursor, digestListQuery, encodeCursor } from '../../query/lists/cursor.ts'
import { filterSchema } from '../../query/lists/filters.ts'
import { orderOf, type PeriodChoice } from '../../query/lists/list.ts'
import { parseSort } from '../../query/lists/order.ts'
import { placeOf } from '../../query/lists/places.ts'
import { findPage, type List, type PageParams, resolveList } from '../../records/lists.ts'
import type { Records } from '../../records/source.ts'
import { componentId, formatPeriod, type ReleaseView } from '../../release/view.ts'
import type { RowPage } from '../../rows/row-store.ts'
import type { ListFormat } from '../request/formats.ts'
import type { Params } from '../request/parameters.ts'
import type { Call, JsonResult, ListRoute } from '../route.ts'

/** A call with what lists read of it; `query` contains path and query parameters. */
export interface ListCall extends Call {
  readonly cursor: Cursor | null
  readonly url: string
  readonly format: ListFormat
}

export interface ListRequest {
  readonly route: ListRoute
  readonly call: ListCall
  readonly records: Records
  /** Signs cursors. */
  readonly cursorSecret: Buffer
}

/** A list with its page: `limit` and `wantsItems` are those of JSON, unless another format overrides them. */
export interface RequestedList extends List, PageParams {
  /** Digest that ties cursors to this list. */
  readonly digest: string
  readonly about: Readonly<Record<string, JsonValue>>
}

export const periodMeta = (period: PeriodChoice): Record<string, JsonValue> =>
  period === null ? {} : { reference_period: period === 'all' ? 'all' : formatPeriod(period) }

export const metaOf = (
  period: PeriodChoice,
  notes: readonly Note[],
  language: Language,
): Record<string, JsonValue> =>
  notes.length === 0 ? periodMeta(period) : { ...periodMeta(period), notes: writeNotes(notes, language) }

/** @returns the filter set by the list's path, if any. @throws AppError 'not_found' for a value that the filter rejects */
function pathFilterOf({ pathFilter, dataset }: ListRoute, params: Params): Record<string, string> {
  if (pathFilter === undefined) return {}
  const filter = dataset.filters?.[pathFilter.filter]
  const text = params[pathFilter.parameter] ?? ''
  const parsed = filter === undefined || text.includes(',') ? null : filterSchema(filter).safeParse(text)
  if (parsed?.success !== true) throw new AppError('not_found')
  return { [pathFilter.filter]: parsed.data }
}

/** @returns the route's filters with defaults, such as active facilities only */
function filtersOf(route: ListRoute, params: Params): Record<string, string> {
  const filters: Record<string, string> = { ...route.defaults }
  for (const name of route.filters) if (params[name] !== undefined) filters[name] = params[name]
  return { ...filters, ...pathFilterOf(route, params) }
}

/** @throws AppError 'not_found' for the path, 'invalid_request', 'invalid_cursor' when the cursor belongs to other parameters */
export async function readList({ route, call, records }: ListRequest): Promise<RequestedList> {
  const { dataset } = route
  const { query: params, cursor } = call
  const filters = filtersOf(route, params)
  const sort = parseSort(params.sort)
  const place = route.features === undefined ? null : placeOf(params)
  const list = await resolveList({ dataset, filters, period: params.reference_period, sort, place }, records)
  const { question } = list
  // Keep the digest of plain lists stable, so that existing cursors stay valid.
  const boundParams = {
    ...filters,
    reference_period: String(question.period),
    ...(place === null ? {} : { place: JSON.stringify(place) }),
  }
  const digest = digestListQuery(dataset.name, boundParams, [
    ...(params.sort === undefined ? [] : [params.sort]),
    ...orderOf(question),
  ])
  return {
    ...list,
    digest,
    after: cursor === null ? null : readCursor(cursor, route, records.release.view, digest),
    counts: params.count === 'true',
    includesFacility: params.include === 'facility',
    wantsItems: false,
    limit: params.limit === undefined ? route.limit.default : Number(params.limit),
    about: route.about?.(params) ?? {},
  }
}

function readCursor(
  cursor: Cursor,
  { dataset }: ListRoute,
  view: ReleaseView,
  digest: string,
): readonly (string | number)[] {
  const isOfView = cursor.release === view.id || cursor.release === componentId(view, dataset.area)
  if (!isOfView || cursor.query !== digest)
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

export const cursorAt = (request: ListRequest, digest: string, after: readonly (string | number)[]): string =>
  encodeCursor({ release: releaseOfWalk(request), query: digest, after }, request.cursorSecret)

/**
 * @returns the release that a walk stays on: the component that its first page was pinned by, since equal pinned pages are equal bytes
 * whichever analytics release answers, otherwise the analytics release
 */
function releaseOfWalk({ route, call, records }: ListRequest): string {
  const { view } = records.release
  const pin = call.query.expected_release_id
  const isOfComponent = pin !== undefined && pin === componentId(view, route.dataset.area)
  return call.cursor?.release ?? (isOfComponent ? pin : view.id)
}

export async function answerList(request: ListRequest): Promise<JsonResult> {
  const list = await readList(request)
  const page = await findPage(list, request.records)
  return {
    json: page.json === '' ? `[${page.items.map(({ json }) => json).join(',')}]` : page.json,
    pagination: paginationOf(page, list, list.limit, request),
    meta: { ...listMeta(list, request), ...list.about },
    rows: page.count,
  }
}

export const listMeta = (
  { question, notes, remarks }: List,
  { call }: ListRequest,
): Record<string, JsonValue> => metaOf(question.period, [...notes, ...remarks], call.language)

export const paginationOf = (
  { next, total }: Pick<RowPage, 'next' | 'total'>,
  { digest, counts, notes }: RequestedList,
  limit: number,
  request: ListRequest,
): CursorPagination => ({
  limit,
  has_more: next !== null,
  next_cursor: next === null ? null : cursorAt(request, digest, next),
  ...(counts ? { total: notes.length > 0 ? null : total } : {}),
})
