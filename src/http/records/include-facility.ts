/** Answers include=facility: adds the member `facility`, in the row's month, to rows of beds, equipment or services; null if missing. */
import type { Engine, JsonValue, Row } from '../../engine/types.ts'
import type { FieldName } from '../../model/fields.ts'
import { type ReleaseView, storedPeriods } from '../../release/view.ts'
import type { RowItem, RowStore } from '../../rows/row-store.ts'
import { ident, join, sql, table } from '../../sql.ts'
import { toByteString } from '../request/envelope.ts'
import { type Boxes, findBoxes, isSuspect, loadBoxes } from './coordinates.ts'

export const FACILITY_FIELDS = [
  'cnes_code',
  'legal_name',
  'trade_name',
  'is_active',
  'uf',
  'municipality_ibge_code',
  'municipality_name',
] as const satisfies readonly FieldName[]
export const INCLUDED_FIELDS = [
  'facility_type_code',
  'facility_type_name',
  'address',
  'phone',
  'latitude',
  'longitude',
] as const satisfies readonly FieldName[]

interface FacilityRef {
  readonly period: number
  readonly code: string
}
export type Facilities = ReadonlyMap<string, JsonValue>

const keyOfRef = ({ period, code }: FacilityRef): string => `${period} ${code}`

const facilityRefOf = ({ json }: RowItem): FacilityRef => {
  // Both fields are ASCII and near the start of the row, so a text search is enough and fast.
  const textIn = (field: string): string => {
    const start = json.indexOf(`"${field}":"`) + field.length + 4
    return json.substring(start, json.indexOf('"', start))
  }
  return { period: Number(textIn('reference_period').replace('-', '')), code: textIn('cnes_code') }
}

function distinctFacilities(items: readonly RowItem[]): Map<string, FacilityRef> {
  const refsByKey = new Map<string, FacilityRef>()
  for (const item of items) {
    const facility = facilityRefOf(item)
    refsByKey.set(keyOfRef(facility), facility)
  }
  return refsByKey
}

const describeFacility = (facility: Row, boxes: Boxes): JsonValue => ({
  ...Object.fromEntries(INCLUDED_FIELDS.map((field) => [field, facility[field] ?? null])),
  coordinates_suspect: isSuspect(
    boxes,
    facility.municipality_ibge_code,
    facility.latitude,
    facility.longitude,
  ),
})

/** @returns the facilities of the rows; null when the row files lack any */
export function facilitiesFromRows(
  items: readonly RowItem[],
  view: ReleaseView,
  rows: RowStore | null,
): Facilities | null {
  const boxes = findBoxes(view)
  if (boxes === undefined) return null
  const stored = storedPeriods(view, 'facilities')
  const found = new Map<string, JsonValue>()
  for (const [key, { period, code }] of distinctFacilities(items)) {
    const file = stored.includes(period) ? (rows?.find(view, 'facilities', period) ?? null) : null
    if (file === null && stored.includes(period)) return null
    const [facility, ...duplicates] = file === null ? [] : (file.recordsOf(code) ?? [null, null])
    if (facility === null || duplicates.length > 0) return null
    if (facility !== undefined) found.set(key, describeFacility(facility, boxes))
  }
  return found
}

export async function facilitiesFromEngine(
  items: readonly RowItem[],
  view: ReleaseView,
  engine: Engine,
  signal: AbortSignal,
): Promise<Facilities> {
  const boxes = await loadBoxes(view, engine, signal)
  const stored = storedPeriods(view, 'facilities')
  const found = new Map<string, JsonValue>()
  const refs = [...distinctFacilities(items).values()]
  for (const period of new Set(refs.map((ref) => ref.period))) {
    if (!stored.includes(period)) continue
    const codes = refs.flatMap((ref) => (ref.period === period ? [ref.code] : []))
    const columns = join(
      ['cnes_code' as const, 'municipality_ibge_code' as const, ...INCLUDED_FIELDS].map(ident),
      ', ',
    )
    const facilities = await engine.run(
      sql`SELECT ${columns} FROM ${table('facilities', period)} WHERE cnes_code IN (SELECT unnest(${codes}))`,
      view,
      { signal },
    )
    for (const facility of facilities)
      found.set(keyOfRef({ period, code: String(facility.cnes_code) }), describeFacility(facility, boxes))
  }
  return found
}

export const withFacilities = (items: readonly RowItem[], facilities: Facilities): RowItem[] =>
  items.map((item) => {
    const facility = facilities.get(keyOfRef(facilityRefOf(item))) ?? null
    return {
      ...item,
      json: `${item.json.slice(0, -1)},"facility":${toByteString(JSON.stringify(facility))}}`,
    }
  })
