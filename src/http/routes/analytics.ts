/** The catalog of metrics and the multidimensional query. */
import { setImmediate as setTurnEnd } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { compareReleases, compareSchema } from '../../analytics/compare.ts'
import {
  countFacts,
  listFixedValues,
  parentOf,
  planDimensionValues,
} from '../../analytics/dimension-values.ts'
import { explainQuery } from '../../analytics/explain.ts'
import { answerLineage, lineageSchema } from '../../analytics/lineage.ts'
import { widenMunicipalities } from '../../analytics/member-codes.ts'
import { type AnswerParts, answerPage, readPin, writeQuery } from '../../analytics/query.ts'
import type { DimensionValue } from '../../answers/analytics.ts'
import type { JsonValue } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import { DIMENSION_CODES } from '../../model/dimensions.ts'
import { METRIC_CODES } from '../../model/metrics.ts'
import { writeNotes } from '../../model/note-sentences.ts'
import { findMetric, listCatalog } from '../../query/analytics/catalog.ts'
import { parseFilters } from '../../query/analytics/filters.ts'
import { bodySchema } from '../../query/analytics/request.ts'
import { requireDimension } from '../../query/analytics/territory.ts'
import { booleanText, integerText, jsonText, searchText } from '../../query/text-schemas.ts'
import { REPORT_FORMATS } from '../../report/formats.ts'
import { type Cell, cellsOf, columnsOf } from '../../report/table.ts'
import { csvHeader, csvLine } from '../../report/writers/csv.ts'
import { Cube, labelOf } from '../../report/writers/json-stat.ts'
import { createTurns } from '../../turns.ts'
import { chooseRange, rangeOf } from '../connection/ranges.ts'
import { JSON_NAME, preferredType } from '../request/formats.ts'
import { RELEASE_GONE } from '../request/pin.ts'
import type { Call, DataResult, FileResult, Result, Route } from '../route.ts'
import { readLinkedPin, readLinkedQuery } from './linked-query.ts'

/** @throws AppError 'not_ready' where no release is in service */
export function partsOf({ engine, view, key, language, signal }: Call): AnswerParts {
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  return { engine, view, capabilities: key?.capabilities ?? [], language, signal: signal() }
}

/** Parses the `filters` parameter, the same JSON array as in a query's body. */
function readFilters(text: string | undefined): ReturnType<typeof parseFilters> {
  if (text === undefined) return []
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new AppError('invalid_request', {
      errors: [
        {
          parameter: 'filters',
          message: both(
            'deve ser uma lista JSON de filtros, como os de uma consulta',
            'must be a JSON array of filters, as in a query',
          ),
        },
      ],
    })
  }
  return parseFilters(value, 'filters')
}

function readTextField(body: unknown, name: string): string | null {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : null
  return typeof value === 'string' && value.length <= 200 ? value : null
}

async function listValues(request: Call): Promise<DataResult> {
  const { parameters, query, language } = request
  const signal = request.signal()
  const code = DIMENSION_CODES.find((dimension) => dimension === parameters.dimensionCode)
  if (code === undefined)
    throw new AppError('unknown_dimension', {
      errors: [
        {
          parameter: 'dimensionCode',
          message: both('não é uma dimensão do catálogo', 'is not a dimension of the catalog'),
          allowed: DIMENSION_CODES,
        },
      ],
    })
  const { engine, view, capabilities } = partsOf(request)
  requireDimension(code, view, { parameter: 'dimensionCode' })
  const limit = Number(query.limit ?? 50)
  const offset = Number(query.offset ?? 0)
  const search = query.search ?? null
  const fixed = listFixedValues(code, view, language, search)
  const parent = parentOf(code)
  const rows =
    fixed === null
      ? await engine.run(planDimensionValues(code, view, search, limit, offset), view, { signal })
      : []
  const total = fixed?.length ?? Number(rows[0]?.total ?? 0)
  let data: DimensionValue[] =
    fixed?.slice(offset, offset + limit).map(({ code: value, name }) => ({ code: value, name })) ??
    rows
      .filter((row) => row.position !== null)
      .map((row) => ({
        code: (row.code ?? null) as DimensionValue['code'],
        name: (row.name ?? null) as string | null,
        ...(parent === null
          ? {}
          : { parent: { dimension: parent, code: (row.parent ?? null) as DimensionValue['code'] } }),
      }))
  let meta: Record<string, JsonValue> = {}
  const filters = await widenMunicipalities(readFilters(query.filters), engine, view, { signal })
  for (const { dimension } of filters) requireDimension(dimension, view, { parameter: 'filters' })
  if (query.counts === 'true' || filters.length > 0) {
    const members = data.flatMap(({ code: member, parent: parentRef }) =>
      member === null
        ? []
        : [
            {
              code: member,
              municipality: code === 'facility' ? (parentRef?.code ?? null) : null,
            },
          ],
    )
    const counts = await countFacts(code, members, filters, {
      engine,
      view,
      capabilities,
      options: { signal },
    })
    data = data.map((value) => ({ ...value, facts: counts.facts.get(String(value.code)) ?? {} }))
    if (counts.notes.length > 0) meta = { notes: writeNotes(counts.notes, language) }
  }
  return {
    data,
    pagination: { limit, offset, total, has_more: offset + data.length < total },
    meta,
    rows: data.length,
  }
}

const CSV = 'text/csv'
const ARROW = REPORT_FORMATS.arrow.contentType
const JSON_STAT = REPORT_FORMATS['json-stat'].contentType
const TABLE_TYPES = [CSV, ARROW, JSON_STAT]
const BATCH_ROWS = 1000

/** Answers with a query's page as a table with byte ranges, built in batches so that other requests are answered in between. */
async function answerTable(request: Call, body: unknown, type: string): Promise<FileResult> {
  const { prepared, summary, rows: page, totals } = await answerPage(body, partsOf(request), (part) => part)
  const rows = [...page, ...totals.flat()].flat()
  const { language } = request
  const columns = columnsOf(prepared.plan, language)
  function* batches(): Generator<Cell[][]> {
    for (let from = 0; from < rows.length; from += BATCH_ROWS)
      yield rows.slice(from, from + BATCH_ROWS).map((row) => cellsOf(row, prepared.plan, language))
  }
  function* csv(): Generator<string> {
    yield csvHeader(columns)
    for (const cells of batches()) yield cells.map((row) => csvLine(row, columns)).join('')
  }
  async function* arrow(): AsyncGenerator<Uint8Array> {
    // Load the encoder on first use, not at startup.
    const { ArrowEncoder } = await import('../../report/writers/arrow.ts')
    const encoder = new ArrowEncoder(columns)
    if (rows.length === 0) yield encoder.encode([])
    for (const cells of batches()) yield encoder.encode(cells)
    yield encoder.end()
  }
  function jsonStat(): Iterable<string> {
    const cube = new Cube(prepared.plan, columns, language)
    cube.add({ rows, cells: rows.map((row) => cellsOf(row, prepared.plan, language)) })
    const notes = writeNotes(summary.notes, language)
    return cube.json({
      label: labelOf(columns),
      notes: notes.map(({ message }) => message),
      extension: {
        release_id: JSON.stringify(request.view?.id),
        fingerprint: JSON.stringify(summary.fingerprint),
        rows_sha256: JSON.stringify(summary.rowsSha256),
        citation: JSON.stringify(summary.citation),
        total_rows: String(summary.total),
        notes: JSON.stringify(notes),
      },
    })
  }
  const content = type === CSV ? csv() : type === JSON_STAT ? jsonStat() : arrow()
  const bytes = await joinChunks(content)
  const { range, ifRange } = rangeOf(request.method, request.headers)
  const isLinked = request.query.q !== undefined
  const selected = chooseRange(bytes.length, { range: isLinked ? range : undefined, ifRange }, null)
  const { 'content-length': _length, ...headers } = selected.headers
  return {
    content: bytes.subarray(selected.start, selected.end + 1),
    contentType: type === CSV ? REPORT_FORMATS.csv.contentType : type,
    status: selected.status,
    headers: {
      ...(isLinked ? headers : {}),
      'x-report-fingerprint': summary.fingerprint,
      'x-report-row-count': String(summary.tableRows),
    },
    rows: rows.length,
  }
}

const TURN_BYTES = 65_536
/** Joins the chunks, and yields to other requests between them. */
async function joinChunks(chunks: Iterable<string> | AsyncIterable<Uint8Array>): Promise<Buffer> {
  const buffers: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk as string)
    buffers.push(buffer)
    bytes += buffer.length
    if (bytes < TURN_BYTES) continue
    bytes = 0
    await setImmediate()
  }
  return Buffer.concat(buffers)
}

const PLANNING_QUEUE = 1024
const planning = createTurns(['thread'], { queue: PLANNING_QUEUE, retryAfterSeconds: 1 })
/** Planning blocks the main thread for milliseconds, so each event-loop turn plans one query, and keys take turns. */
export async function awaitPlanning({ key, signal }: Call): Promise<void> {
  const turn = await planning.take(key?.id ?? '', 'light', { signal: signal() })
  setTurnEnd(() => turn.end())
}

async function answerAnalytics(request: Call, body: unknown): Promise<Result> {
  await awaitPlanning(request)
  const type = preferredType(request.headers, [JSON_NAME, ...TABLE_TYPES]) ?? JSON_NAME
  if (type !== JSON_NAME) return answerTable(request, body, type)
  return writeQuery(body, partsOf(request))
}

export const ANALYTICS: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/catalog',
    operation: 'getAnalyticsCatalog',
    isCacheable: true,
    summary: 'Metrics and dimensions the key can reach.',
    capability: 'analytics.catalog.read',
    release: 'analytics',
    response: 'AnalyticsCatalogResponse',
    handle: async ({ key, language }) => ({ data: listCatalog(key?.capabilities ?? [], language) }),
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/metrics/{metricCode}',
    operation: 'getAnalyticsMetric',
    pathSchemas: { metricCode: z.enum(METRIC_CODES as [string]) },
    isCacheable: true,
    summary: 'A metric of the catalog with its indicator sheet: method, meaning, limitations, sources.',
    capability: 'analytics.catalog.read',
    release: 'analytics',
    response: 'AnalyticsMetricResponse',
    handle: async ({ parameters, key, language }) => ({
      data: findMetric(parameters.metricCode ?? '', key?.capabilities ?? [], language),
    }),
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/dimensions/{dimensionCode}/values',
    operation: 'listDimensionValues',
    isCacheable: true,
    summary: 'Members of a dimension, for filters and selectors.',
    capability: 'analytics.catalog.read',
    release: 'analytics',
    response: 'DimensionValuesResponse',
    pathSchemas: { dimensionCode: z.enum(DIMENSION_CODES) },
    query: {
      limit: integerText(1, 250).optional(),
      offset: integerText(0, 1_000_000).optional(),
      search: searchText().optional(),
      counts: booleanText().optional(),
      filters: jsonText(8000).optional(),
    },
    handle: listValues,
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/query',
    operation: 'queryAnalytics',
    isCacheable: true,
    cost: 5,
    costsByRows: true,
    summary: 'Metrics by dimensions under filters, exact, with a fingerprint.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsQueryResponse',
    bodyPin: readPin,
    body: bodySchema,
    produces: TABLE_TYPES,
    handle: (request) => answerAnalytics(request, request.body),
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/query',
    operation: 'queryAnalyticsByLink',
    isCacheable: true,
    cost: 5,
    costsByRows: true,
    summary: 'The same as a link: the query as JSON in q.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsQueryResponse',
    query: { q: jsonText(16_000) },
    bodyPin: (_body, { q }) => readLinkedPin(q),
    produces: TABLE_TYPES,
    handle: (request) => answerAnalytics(request, readLinkedQuery(request.query.q)),
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/explain',
    operation: 'explainAnalytics',
    isCacheable: true,
    summary: 'What a query would do: its canonical form, its SQL, what it reads. Nothing is run.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsExplainResponse',
    body: bodySchema,
    bodyPin: readPin,
    handle: (request) => explainQuery(request.body, partsOf(request)),
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/lineage',
    operation: 'traceAnalytics',
    isCacheable: true,
    cost: 5,
    summary: 'The records behind one cell: what each contributes, and file and row it was published in.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsLineageResponse',
    body: lineageSchema,
    bodyPin: readPin,
    handle: async (request) => {
      const answer = await answerLineage(request.body, partsOf(request))
      return { ...answer, rows: answer.data.length }
    },
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/compare',
    operation: 'compareAnalytics',
    cost: 20,
    summary: 'A query on two releases: old, new, difference and its causes, record by record.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsCompareResponse',
    body: compareSchema,
    bodyPin: (body) => readTextField(body, 'new_release_id'),
    handle: async (request, { releases }) => {
      const parts = partsOf(request)
      const old = readTextField(request.body, 'old_release_id')
      const oldView = old === null ? parts.view : await releases.pin(old)
      if (oldView === null)
        throw new AppError('release_mismatch', {
          detail: RELEASE_GONE,
          extra: { expected: old, current: releases.current()?.id ?? null, releases: '/v1/releases' },
        })
      const answer = await compareReleases(request.body, { ...parts, before: oldView })
      return { ...answer, rows: answer.data.length }
    },
  },
]
