/** Answers valid requests with results, one function per kind of route. */
import type { JsonValue, Row } from '../../engine/types.ts'
import { AppError } from '../../errors.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import type { Note } from '../../model/notes.ts'
import { STATES } from '../../model/territory/states.ts'
import type { PeriodChoice } from '../../query/lists/list.ts'
import {
  acquisitionsOf,
  describeProvenance,
  planProvenance,
  type TracedDataset,
} from '../../query/provenance/provenance.ts'
import { isSuspect, markRecord, SUSPECT_RULE } from '../../records/coordinates.ts'
import { notesOf, type States, statesOfList, tableOf } from '../../records/coverage.ts'
import { statesInRegistry } from '../../records/facility-states.ts'
import { FACILITY_FIELDS } from '../../records/include-facility.ts'
import { choosePeriod, latestPeriodOf } from '../../records/periods.ts'
import { loadRecordRelease } from '../../records/release.ts'
import { type Records, sourceOf } from '../../records/source.ts'
import { ALL_STATES } from '../../release/coverage.ts'
import { hasDataset, storedPeriods } from '../../release/view.ts'
import { parseRow } from '../../rows/row-store.ts'
import type { Params } from '../request/parameters.ts'
import type {
  AllRoute,
  DataResult,
  JsonResult,
  ProvenanceRoute,
  RecordRoute,
  Result,
  Route,
  ScopedRoute,
  Services,
} from '../route.ts'
import { answerCsv, answerGeoJson, csvOf } from './list-formats.ts'
import { answerList, type ListCall, metaOf, periodMeta } from './lists.ts'

export async function runRoute(route: Route, call: ListCall, services: Services): Promise<Result> {
  if (route.kind === 'custom') return withSynthetic(await route.handle(call, services), call, services)
  const { view, engine, signal, format } = call
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const release = await loadRecordRelease(view, engine)
  const records = { release, rows: services.rows, engine, signal }
  switch (route.kind) {
    case 'record':
      return answerRecord(route, call, records)
    case 'list': {
      const request = { route, call, records, cursorSecret: services.cursorSecret }
      if (format === 'csv') return answerCsv(request)
      return format === 'geojson' ? answerGeoJson(request) : answerList(request)
    }
    case 'all': {
      const answer = await answerAll(route, call, records)
      return format === 'csv' ? csvOf(route.dataset, parseRow(answer.json) as Row[]) : answer
    }
    case 'scoped':
      return answerScoped(route, call, records)
    case 'provenance':
      return answerProvenance(route, call, records)
  }
}

/** Answers of no release also say when the release in service is invented. */
function withSynthetic(result: Result, { view }: ListCall, { releases }: Services): Result {
  const current = releases.current()
  if (view !== null || current === null || 'content' in result) return result
  return { ...result, meta: { synthetic: current.synthetic, ...result.meta } }
}

const DIGITS = /^\d+$/
/** Rows of the longest complete table, with room to grow. */
const ALL_ROWS_MAX = 10_000
const notFound = (): AppError => new AppError('not_found')

async function answerAll(
  { dataset }: AllRoute,
  { query: filters }: ListCall,
  records: Records,
): Promise<JsonResult & { readonly json: string }> {
  const source = sourceOf(records, dataset.name as DatasetName, null)
  const page = await source.page({ filters, after: null, limit: ALL_ROWS_MAX, counts: false })
  return { json: page.json, rows: page.count }
}

async function answerRecord(
  route: RecordRoute,
  { query: params }: ListCall,
  records: Records,
): Promise<JsonResult> {
  const { release } = records
  const dataset = route.dataset.name as DatasetName
  if (!hasDataset(release.view, dataset)) throw notFound()
  const keys = keysOf(route, params)
  const states = await statesOfAnswer(params, records)
  const period = choosePeriod(release, dataset, params.reference_period, states, false)
  const source = sourceOf(records, dataset, period)
  for (const key of keys) {
    const json = await source.record(route.dataset.key.map((column) => key[column] ?? ''))
    if (json === null) continue
    const marked = route.marksCoordinates === true ? markRecord(json, release.boxes) : json
    return { json: marked, meta: periodMeta(period), rows: 1 }
  }
  throw notFound()
}

type Key = Readonly<Record<string, string | number>>

/** @returns the ten possible 7-digit codes of a 6-digit DATASUS municipality code; at most one exists */
export const expandMunicipalityCode = (text: string): string[] =>
  Array.from({ length: 10 }, (_, digit) => `${text}${digit}`)

/** @returns ten candidate keys for a municipality code without its check digit, otherwise one key */
const keysOf = (route: RecordRoute, params: Params): readonly Key[] =>
  route.key.ibge_code === 7 && /^\d{6}$/.test(params.ibge_code ?? '')
    ? expandMunicipalityCode(params.ibge_code ?? '').map((ibge_code) =>
        keyOf(route, { ...params, ibge_code }),
      )
    : [keyOf(route, params)]

/** @returns key columns with the dataset's types. @throws AppError 'not_found' for an impossible key */
function keyOf({ key: keyDigits }: RecordRoute | ProvenanceRoute, params: Params): Key {
  const key: Record<string, string | number> = {}
  for (const [column, digits] of Object.entries(keyDigits)) {
    const value = params[column] ?? ''
    const text = column === 'ibge_code' && digits === 2 ? stateCodeOf(value) : value
    if (text.length !== digits || !DIGITS.test(text)) throw notFound()
    key[column] = fieldOf(column as FieldName).type === 'integer' ? Number(text) : text
  }
  return key
}

/** Accepts a state's abbreviation in any case: BA and ba become 29. */
const stateCodeOf = (text: string): string =>
  String(STATES.find(({ uf }) => uf === text.toUpperCase())?.ibge_code ?? text)

/**
 * @returns states that determine the newest month and the notes: the state of the facility in the path, otherwise those of the release.
 * They matter in an incomplete release alone.
 */
async function statesOfAnswer({ cnes_code }: Params, records: Records): Promise<States> {
  const { view, incomplete } = records.release
  if (cnes_code === undefined || !incomplete.has('facilities')) return ALL_STATES
  return statesOfList({}, await statesInRegistry([cnes_code], records), view)
}

/** Answers with one facility's records and their totals; 404 when the registry does not contain the facility. */
async function answerScoped(
  route: ScopedRoute,
  { query: params, language }: ListCall,
  records: Records,
): Promise<DataResult> {
  const { release } = records
  const { view } = release
  const dataset = route.dataset.name as DatasetName
  const cnes = params.cnes_code ?? ''
  if (!/^\d{7}$/.test(cnes) || !hasDataset(view, 'facilities')) throw notFound()
  const states = await statesOfAnswer(params, records)
  const period = choosePeriod(release, dataset, params.reference_period, states)
  const newestPeriod = latestPeriodOf(release, 'facilities', states)
  const facilityPeriod =
    typeof period === 'number' && storedPeriods(view, 'facilities').includes(period) ? period : newestPeriod
  const recordsOfFacility = (name: DatasetName, recordPeriod: PeriodChoice): Promise<readonly Row[]> =>
    sourceOf(records, name, recordPeriod).recordsOf([cnes])
  let [facility] = await recordsOfFacility('facilities', facilityPeriod)
  // If a table was never collected in the facility's state, its month comes from another state. The registry of that month may lack the
  // facility.
  if (facility === undefined && params.reference_period === undefined && facilityPeriod !== newestPeriod)
    [facility] = await recordsOfFacility('facilities', newestPeriod)
  if (facility === undefined) throw notFound()
  const rows = await recordsOfFacility(dataset, period)
  const table = tableOf(dataset)
  const gaps = table === null ? [] : notesOf(release, table, { states, filters: {}, period }, 'null_totals')
  const notes: Note[] = gaps.length === 0 && period === 'all' ? [{ code: 'totals_of_all_periods' }] : gaps
  const totals: Record<string, JsonValue> = {}
  for (const [name, field] of Object.entries(route.totals)) {
    // Every note says why there is no total.
    if (notes.length > 0) totals[name] = null
    else
      totals[name] = field === 'rows' ? rows.length : rows.reduce((sum, row) => sum + Number(row[field]), 0)
  }
  return {
    data: {
      facility: Object.fromEntries(FACILITY_FIELDS.map((field) => [field, facility[field] ?? null])),
      records: rows,
      totals,
    },
    meta: metaOf(period, notes, language),
    rows: rows.length,
  }
}

async function answerProvenance(
  route: ProvenanceRoute,
  { query: params, language }: ListCall,
  records: Records,
): Promise<DataResult> {
  const { release, engine, signal } = records
  const { view, boxes } = release
  const dataset = route.dataset.name as TracedDataset
  const key = keyOf(route, params)
  const states = await statesOfAnswer(params, records)
  const period = choosePeriod(release, dataset, params.reference_period, states, false)
  if (typeof period !== 'number') throw notFound()
  const source = sourceOf(records, dataset, period)
  const json = await source.record(route.dataset.key.map((column) => key[column] ?? ''))
  if (json === null) throw notFound()
  const record = parseRow(json) as Row
  const rows = new Map<string, readonly Row[]>()
  for (const { name, statement } of planProvenance(dataset, key, record, period, view))
    rows.set(name, await engine.run(statement, view, { signal: signal() }))
  const entries = describeProvenance(dataset, record, rows, period, view)
  if (dataset === 'facilities') {
    const value = isSuspect(boxes, record.municipality_ibge_code, record.latitude, record.longitude)
    const cells = entries.filter((entry) => entry.source !== null && /^l(at|ong)itude$/.test(entry.attribute))
    const sources = cells.length > 0 ? cells : [{ raw_value: null, source: null }]
    for (const { raw_value, source: cell } of sources)
      entries.push({ attribute: 'coordinates_suspect', value, raw_value, rule: SUSPECT_RULE, source: cell })
  }
  return {
    data: {
      ...key,
      entries: entries.map((entry) => ({
        ...entry,
        rule: entry.rule[language],
      })) as unknown as JsonValue,
    },
    meta: {
      ...periodMeta(period),
      content_id: view.componentContentIds?.[datasetOf(dataset).area] ?? null,
      acquisitions: acquisitionsOf(
        view,
        entries.map(({ source: cell }) => cell),
      ).map((acquisition) => ({ ...acquisition })),
    },
    rows: entries.length,
  }
}
