/** Answers valid requests with results, one function per kind of route. Row files answer when they can, the engine otherwise. */
import type { JsonValue, Row } from '../../engine/types.ts'
import { AppError } from '../../errors.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Cursor } from '../../query/lists/cursor.ts'
import { type PeriodChoice, planList, planRecord } from '../../query/lists/list.ts'
import {
  acquisitionsOf,
  describeProvenance,
  planProvenance,
  type TracedDataset,
} from '../../query/provenance/provenance.ts'
import { storedPeriods } from '../../release/view.ts'
import type { ListFormat } from '../request/formats.ts'
import type { Params } from '../request/parameters.ts'
import type {
  AllRoute,
  Call,
  DataResult,
  JsonResult,
  ProvenanceRoute,
  RecordRoute,
  Result,
  Route,
  ScopedRoute,
  Services,
} from '../route.ts'
import { findBoxes, loadBoxes, markRecord, markRow, SUSPECT_RULE } from './coordinates.ts'
import { findRecords } from './find-records.ts'
import { FACILITY_FIELDS } from './include-facility.ts'
import {
  isIncomplete,
  latestPeriodOf,
  notesOf,
  type States,
  statesFromRows,
  statesOfFacilities,
  statesOfList,
  tableOf,
} from './list-coverage.ts'
import { answerCsv, answerGeoJson, csvOf } from './list-formats.ts'
import {
  answerList,
  choosePeriod,
  type EngineRequest,
  hasDataset,
  listFromRows,
  metaOf,
  pathFilterOf,
  periodMeta,
  type RowRequest,
} from './lists.ts'

/** A call with what lists read of it; `query` contains path and query parameters. */
export interface ListCall extends Call {
  readonly cursor: Cursor | null
  readonly url: string
  readonly format: ListFormat
}

/** @returns the answer of a list or record from row files; null when they lack it or the route is of another kind */
export function fromRowFiles(route: Route, request: RowRequest): JsonResult | null {
  if (request.rows === null) return null
  if (route.kind === 'record') return recordFromRows(route, request)
  if (route.kind !== 'list') return null
  pathFilterOf(route, request.params)
  return listFromRows(route, request)
}

export async function runRoute(route: Route, call: ListCall, services: Services): Promise<Result> {
  if (route.kind === 'custom') return route.handle(call, services)
  const { query: params, view, cursor, engine, language, signal, format } = call
  const { cursorSecret, rows } = services
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const kindRequest: EngineRequest = {
    params,
    view,
    cursor,
    cursorSecret,
    rows,
    engine,
    language,
    signal,
  }
  switch (route.kind) {
    case 'list':
      pathFilterOf(route, params)
      if (format === 'csv') return answerCsv(route, call.url, kindRequest)
      if (format === 'geojson') return answerGeoJson(route, kindRequest)
      return answerList(route, kindRequest)
    case 'all': {
      const answer = await answerAll(route, kindRequest)
      return format === 'csv' ? csvOf(route.dataset, answer.data as Row[]) : answer
    }
    case 'record':
      return answerRecord(route, kindRequest)
    case 'scoped':
      return answerScoped(route, kindRequest)
    case 'provenance':
      return answerProvenance(route, kindRequest)
  }
}

const DIGITS = /^\d+$/
const notFound = (): AppError => new AppError('not_found')

async function answerAll(
  route: AllRoute,
  { engine, view, params, signal }: EngineRequest,
): Promise<DataResult> {
  if (!hasDataset(view, route.dataset.name as DatasetName)) return { data: [], rows: 0 }
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
  if (!hasDataset(view, dataset)) throw notFound()
  const keys = keysOf(route, params)
  const states = isIncomplete(view) ? statesFromRows(facilityIn(route, params), view, rows) : null
  if (states === undefined) return null
  const period = choosePeriod(view, dataset, params.reference_period, statesOfList({}, states, view))
  const table = rows?.find(view, dataset, period) ?? null
  if (table === null) return null
  const columns = route.dataset.key
  if (!columns.every((column) => keys[0]?.[column] !== undefined)) return null
  let position: ReturnType<typeof table.find> = null
  for (const key of keys) {
    if (position === null) position = table.find(columns.map((column) => key[column] ?? ''))
  }
  if (position === undefined) return null
  if (position === null) throw notFound()
  const json = table.record(position)
  const boxes = route.marksCoordinates === true ? findBoxes(view) : null
  if (json === null || boxes === undefined) return null
  const marked = route.marksCoordinates === true ? markRecord(json, boxes) : json
  return { json: marked, meta: periodMeta(period), rows: 1 }
}

/** @returns the ten possible 7-digit codes of a 6-digit DATASUS municipality code; at most one exists */
export const expandMunicipalityCode = (text: string): string[] =>
  Array.from({ length: 10 }, (_, digit) => `${text}${digit}`)

/** @returns ten candidate keys for a municipality code without its check digit, otherwise one key */
const keysOf = (route: RecordRoute, params: Params): readonly Record<string, string | number>[] =>
  route.key.ibge_code === 7 && /^\d{6}$/.test(params.ibge_code ?? '')
    ? expandMunicipalityCode(params.ibge_code ?? '').map((ibge_code) =>
        keyOf(route, { ...params, ibge_code }),
      )
    : [keyOf(route, params)]

/** @returns key columns with the dataset's types. @throws AppError 'not_found' for an impossible key */
function keyOf(
  { key: keyDigits }: RecordRoute | ProvenanceRoute,
  params: Params,
): Record<string, string | number> {
  const key: Record<string, string | number> = {}
  for (const [column, digits] of Object.entries(keyDigits)) {
    const value = params[column] ?? ''
    const text = column === 'ibge_code' && digits === 2 ? stateCodeOf(value) : value
    if (text.length !== digits || !DIGITS.test(text)) throw notFound()
    key[column] = fieldOf(column as FieldName).type === 'integer' ? Number(text) : text
  }
  return key
}

/** @returns the facility in the path as a list; empty unless the dataset belongs to the registry */
const facilityIn = ({ dataset }: RecordRoute | ProvenanceRoute, { cnes_code }: Params): readonly string[] =>
  cnes_code === undefined || tableOf(dataset.name as DatasetName) === null ? [] : [cnes_code]

/** @returns states that determine the newest month: the facility's state, otherwise those of the release */
async function statesOfAnswer(codes: readonly string[], request: EngineRequest): Promise<States> {
  const { view, rows } = request
  if (!isIncomplete(view)) return statesOfList({}, null, view)
  const states =
    statesFromRows(codes, view, rows) ??
    statesOfFacilities(
      hasDataset(view, 'facilities')
        ? await Promise.all(
            codes.map((cnes_code) => findRecords(request, 'facilities', { cnes_code }, 'all')),
          )
        : [],
    )
  return statesOfList({}, states, view)
}

/** Accepts a state's abbreviation in any case: BA and ba become 29. */
const stateCodeOf = (text: string): string =>
  String(STATES.find(({ uf }) => uf === text.toUpperCase())?.ibge_code ?? text)

async function answerRecord(route: RecordRoute, request: EngineRequest): Promise<DataResult | JsonResult> {
  const { engine, view, params, signal } = request
  const boxes = route.marksCoordinates === true ? await loadBoxes(view, engine, signal) : null
  // The row files may have lacked only the boxes, which are loaded now.
  const fromRows = recordFromRows(route, request)
  if (fromRows !== null) return fromRows
  const dataset = route.dataset.name as DatasetName
  const keys = keysOf(route, params)
  const states = await statesOfAnswer(facilityIn(route, params), request)
  const period = choosePeriod(view, dataset, params.reference_period, states)
  if (!hasDataset(view, dataset)) throw notFound()
  let row: Row | undefined
  for (const key of keys) {
    row ??= (await findRecords(request, dataset, key, period))[0]
    if (row !== undefined) break
  }
  if (row === undefined) throw notFound()
  const data = route.marksCoordinates === true ? markRow(row, boxes) : row
  return { data, meta: periodMeta(period), rows: 1 }
}

/** Answers with one facility's records and their totals; 404 when the registry does not contain the facility. */
async function answerScoped(route: ScopedRoute, request: EngineRequest): Promise<DataResult> {
  const { view, rows: store, params } = request
  const dataset = route.dataset.name as DatasetName
  const cnes = params.cnes_code ?? ''
  if (!/^\d{7}$/.test(cnes) || !hasDataset(view, 'facilities')) throw notFound()
  const states = await statesOfAnswer([cnes], request)
  const period = choosePeriod(view, dataset, params.reference_period, states)
  const newestPeriod = latestPeriodOf(view, 'facilities', states)
  const facilityPeriod =
    typeof period === 'number' && storedPeriods(view, 'facilities').includes(period) ? period : newestPeriod
  const recordsOfFacility = async (name: DatasetName, recordPeriod: PeriodChoice): Promise<readonly Row[]> =>
    store?.find(view, name, recordPeriod)?.recordsOf(cnes) ??
    (await findRecords(request, name, { cnes_code: cnes }, recordPeriod))
  let [facility] = await recordsOfFacility('facilities', facilityPeriod)
  // If a table was never collected in the facility's state, its month comes from another state. The registry of that month may lack the
  // facility.
  if (facility === undefined && params.reference_period === undefined && facilityPeriod !== newestPeriod)
    [facility] = await recordsOfFacility('facilities', newestPeriod)
  if (facility === undefined) throw notFound()
  const rows = hasDataset(view, dataset) ? await recordsOfFacility(dataset, period) : []
  const registry = tableOf(dataset)
  const notes =
    registry === null ? [] : notesOf(view, registry, { states, filters: {}, period }, 'null_totals')
  const totals: Record<string, JsonValue> = {}
  for (const [name, field] of Object.entries(route.totals)) {
    // Stocks are not summed over months, so several periods have no total. Uncollected data have none either.
    if (period === 'all' || notes.length > 0) totals[name] = null
    else
      totals[name] = field === 'rows' ? rows.length : rows.reduce((sum, row) => sum + Number(row[field]), 0)
  }
  return {
    data: {
      facility: Object.fromEntries(FACILITY_FIELDS.map((field) => [field, facility[field] ?? null])),
      records: rows,
      totals,
    },
    meta: metaOf(period, notes, request.language),
    rows: rows.length,
  }
}

async function answerProvenance(route: ProvenanceRoute, request: EngineRequest): Promise<DataResult> {
  const { engine, view, params, signal } = request
  const dataset = route.dataset.name as TracedDataset
  const key = keyOf(route, params)
  const states = await statesOfAnswer(facilityIn(route, params), request)
  const period = choosePeriod(view, dataset, params.reference_period, states)
  if (!hasDataset(view, dataset) || typeof period !== 'number') throw notFound()
  const [record] = await engine.run(planRecord(route.dataset, key, period), view, { signal })
  if (record === undefined) throw notFound()
  const rows = new Map<string, readonly Row[]>()
  for (const { name, statement } of planProvenance(dataset, key, record, period, view))
    rows.set(name, await engine.run(statement, view, { signal }))
  const entries = describeProvenance(dataset, record, rows, period, view)
  if (dataset === 'facilities') {
    const value = markRow(record, await loadBoxes(view, engine, signal)).coordinates_suspect ?? null
    const cells = entries.filter(
      ({ attribute, source }) => source !== null && /^l(at|ong)itude$/.test(attribute),
    )
    const sources = cells.length > 0 ? cells : [{ raw_value: null, source: null }]
    for (const { raw_value, source } of sources)
      entries.push({ attribute: 'coordinates_suspect', value, raw_value, rule: SUSPECT_RULE, source })
  }
  return {
    data: {
      ...key,
      entries: entries.map((entry) => ({
        ...entry,
        rule: entry.rule[request.language],
      })) as unknown as JsonValue,
    },
    meta: {
      ...periodMeta(period),
      content_id: view.componentContentIds?.[datasetOf(dataset).area] ?? null,
      acquisitions: acquisitionsOf(
        view,
        entries.map(({ source }) => source),
      ).map((acquisition) => ({ ...acquisition })),
    },
    rows: entries.length,
  }
}
