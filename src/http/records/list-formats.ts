/** Writes lists as CSV and GeoJSON, page by page as the client reads, so memory does not grow with the list. */
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonValue, Row } from '../../engine/types.ts'
import type { Dataset } from '../../model/datasets.ts'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import { orderOf } from '../../query/lists/list.ts'
import { type Boxes, isSuspect, readNumber } from '../../records/coordinates.ts'
import { INCLUDED_FIELDS } from '../../records/include-facility.ts'
import { findPage } from '../../records/lists.ts'
import { componentId } from '../../release/view.ts'
import { REPORT_FORMATS } from '../../report/formats.ts'
import type { Cell } from '../../report/table.ts'
import { csvHeader, csvLine } from '../../report/writers/csv.ts'
import { parseRow, type RowItem, type RowPage } from '../../rows/row-store.ts'
import { GEOJSON_NAME } from '../request/formats.ts'
import { type FileResult, releaseMeta, VERSION } from '../route.ts'
import { cursorAt, type ListRequest, listMeta, paginationOf, type RequestedList, readList } from './lists.ts'

/** Rows per page: large enough to justify a statement, small enough not to delay other requests. */
const PAGE_ROWS = 1000
/** Rows per page without row files, because each page is then a statement over the complete list. */
const ENGINE_PAGE_ROWS = 10_000

/** Yields the pages of a list from its cursor, with at most `limit` rows in total. */
async function* walk(list: RequestedList, limit: number, { records }: ListRequest): AsyncGenerator<RowPage> {
  const pageRows = records.rows === null ? ENGINE_PAGE_ROWS : PAGE_ROWS
  let { after, counts } = list
  for (let remaining = limit; remaining > 0; ) {
    const page = await findPage(
      { ...list, after, counts, limit: Math.min(remaining, pageRows), wantsItems: true },
      records,
    )
    yield page
    if (page.next === null) return
    remaining -= page.count
    after = page.next
    // Count the list only once.
    counts = false
    await nextTurn()
  }
}

interface ListColumn {
  readonly name: string
  readonly type: 'text' | 'integer'
  readonly cell: (row: Readonly<Record<string, JsonValue>>) => JsonValue
}

const ADDRESS = ['street', 'number', 'complement', 'district', 'postal_code'] as const
const memberOf = (value: JsonValue | undefined, name: string): JsonValue =>
  (value as Readonly<Record<string, JsonValue>> | null | undefined)?.[name] ?? null
const isText = (field: FieldName): boolean =>
  !['integer', 'coordinate', 'percentage'].includes(fieldOf(field).type)

function columnsOf({
  question,
  includesFacility,
}: Pick<RequestedList, 'question' | 'includesFacility'>): ListColumn[] {
  const { dataset, place } = question
  const keyColumns = orderOf(question).filter((column) => !dataset.fields.includes(column))
  const columns = [...keyColumns, ...dataset.fields].map(
    (field): ListColumn => ({
      name: field,
      type: isText(field) ? 'text' : 'integer',
      cell: (row) => row[field] ?? null,
    }),
  )
  const distance: ListColumn = {
    name: 'distance_km',
    type: 'integer',
    cell: (row) => row.distance_km ?? null,
  }
  const suspect: ListColumn = {
    name: 'facility_coordinates_suspect',
    type: 'text',
    cell: (row) => memberOf(row.facility, 'coordinates_suspect'),
  }
  const facilityColumns = INCLUDED_FIELDS.flatMap((field): ListColumn[] => {
    const name = field.startsWith('facility_') ? field : `facility_${field}`
    const cell = (row: Readonly<Record<string, JsonValue>>): JsonValue => memberOf(row.facility, field)
    if (field === 'address')
      return ADDRESS.map((member) => ({
        name: `${name}_${member}`,
        type: 'text',
        cell: (row) => memberOf(cell(row), member),
      }))
    return [{ name, type: isText(field) ? 'text' : 'integer', cell }]
  })
  return [
    ...columns,
    ...(place?.near == null ? [] : [distance]),
    ...(includesFacility ? [...facilityColumns, suspect] : []),
  ]
}

const textOf = (value: JsonValue): Cell =>
  value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)

/** Answers with the list as CSV: complete, or one page with a link to the next when the request has a limit. */
export async function answerCsv(request: ListRequest): Promise<FileResult> {
  const list = await readList(request)
  const columns = columnsOf(list)
  const { query, url } = request.call
  const { limit } = query
  const pages = walk(list, limit === undefined ? Number.POSITIVE_INFINITY : Number(limit), request)
  // Read the first page before answering, so that its errors are still reported as errors.
  const first = await pages.next()
  const page: RowPage | null = first.done === true ? null : first.value
  const linesOf = (items: readonly RowItem[]): string =>
    items
      .map(({ json }) => {
        const row = parseRow(json) as Readonly<Record<string, JsonValue>>
        return csvLine(
          columns.map(({ cell }) => textOf(cell(row))),
          columns,
        )
      })
      .join('')
  async function* csv(): AsyncGenerator<string> {
    yield csvHeader(columns) + linesOf(page?.items ?? [])
    for await (const { items } of pages) yield linesOf(items)
  }
  const next = limit === undefined ? null : (page?.next ?? null)
  return {
    content: Readable.from(csv(), { objectMode: false }),
    contentType: REPORT_FORMATS.csv.contentType,
    headers: {
      ...(page?.total == null || list.notes.length > 0 ? {} : { 'x-total-count': String(page.total) }),
      ...(next === null
        ? {}
        : { link: `<${nextUrl(url, cursorAt(request, list.digest, next))}>; rel="next"` }),
    },
    ...(limit === undefined ? {} : { rows: page?.count ?? 0 }),
  }
}

export function csvOf(dataset: Dataset, rows: readonly Row[]): FileResult {
  const columns = columnsOf({
    question: { dataset, filters: {}, period: null },
    includesFacility: false,
  })
  const lines = rows.map((row) =>
    csvLine(
      columns.map(({ cell }) => textOf(cell(row))),
      columns,
    ),
  )
  return {
    content: csvHeader(columns) + lines.join(''),
    contentType: REPORT_FORMATS.csv.contentType,
    headers: {},
    rows: rows.length,
  }
}

function nextUrl(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?')
  const params = new URLSearchParams(query)
  params.set('cursor', cursor)
  return `${path}?${params}`
}

/** Answers with a page of facilities as a FeatureCollection (RFC 7946), with `pagination` and `meta` as foreign members. */
export async function answerGeoJson(request: ListRequest): Promise<FileResult> {
  const list = await readList(request)
  const { route, call, records } = request
  const { view, boxes } = records.release
  const limit = Number(call.query.limit ?? route.features?.default)
  const pages = walk(list, limit, request)
  const first = await pages.next()
  async function* features(): AsyncGenerator<Buffer> {
    let last: RowPage =
      first.done === true ? { json: '', items: [], count: 0, next: null, total: null } : first.value
    const { total } = last
    let prefix = '{"type":"FeatureCollection","features":['
    for (;;) {
      const text = last.items.map((item) => featureOf(item, boxes)).join(',\n')
      // Byte strings are encoded as latin1.
      yield Buffer.from(text === '' ? prefix : prefix + text, 'latin1')
      prefix = ',\n'
      const following = await pages.next()
      if (following.done === true) break
      last = following.value
    }
    const pagination = paginationOf({ next: last.next, total }, list, limit, request)
    const meta = {
      version: VERSION,
      ...releaseMeta(view, componentId(view, route.dataset.area) ?? view.id),
      ...listMeta(list, request),
    }
    yield Buffer.from(`],"pagination":${JSON.stringify(pagination)},"meta":${JSON.stringify(meta)}}`)
  }
  return {
    content: Readable.from(features(), { objectMode: false }),
    contentType: GEOJSON_NAME,
    headers: {},
  }
}

/** @returns a facility as a feature; its geometry is null without coordinates */
function featureOf({ json, point }: RowItem, boxes: Boxes): string {
  const start = json.indexOf('"cnes_code":"') + 13
  const id = json.substring(start, json.indexOf('"', start))
  const geometry = point === null ? 'null' : `{"type":"Point","coordinates":[${point[1]},${point[0]}]}`
  const suspect = isSuspect(boxes, readNumber(json, 'municipality_ibge_code'), point?.[0], point?.[1])
  const properties = `${json.slice(0, -1)},"coordinates_suspect":${suspect}}`
  return `{"type":"Feature","id":"${id}","geometry":${geometry},"properties":${properties}}`
}
