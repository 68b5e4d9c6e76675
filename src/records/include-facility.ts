/** Answers include=facility: adds the member `facility`, in the row's month, to rows of beds, equipment or services; null if missing. */
import type { JsonValue, Row } from '../engine/types.ts'
import type { FieldName } from '../model/fields.ts'
import { type RowItem, toByteString } from '../rows/row-store.ts'
import { type Boxes, isSuspect } from './coordinates.ts'
import { type Records, sourceOf } from './source.ts'

/** Fields of a facility above its records. */
export const FACILITY_FIELDS = [
  'cnes_code',
  'legal_name',
  'trade_name',
  'is_active',
  'uf',
  'municipality_ibge_code',
  'municipality_name',
] as const satisfies readonly FieldName[]
/** Fields of a facility inside a row. */
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

const keyOfRef = ({ period, code }: FacilityRef): string => `${period} ${code}`

const facilityRefOf = ({ json }: RowItem): FacilityRef => {
  // Both fields are ASCII and near the start of the row, so a text search is enough and fast.
  const textIn = (field: string): string => {
    const start = json.indexOf(`"${field}":"`) + field.length + 4
    return json.substring(start, json.indexOf('"', start))
  }
  return { period: Number(textIn('reference_period').replace('-', '')), code: textIn('cnes_code') }
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

/** @returns the rows with their facilities */
export async function withFacilities(items: readonly RowItem[], records: Records): Promise<RowItem[]> {
  const refs = items.map(facilityRefOf)
  const members = new Map<string, string>()
  for (const period of new Set(refs.map((ref) => ref.period))) {
    const codes = new Set(refs.flatMap((ref) => (ref.period === period ? [ref.code] : [])))
    const facilities = await sourceOf(records, 'facilities', period).recordsOf(
      [...codes],
      ['cnes_code', 'municipality_ibge_code', ...INCLUDED_FIELDS],
    )
    for (const facility of facilities) {
      const json = JSON.stringify(describeFacility(facility, records.release.boxes))
      members.set(keyOfRef({ period, code: String(facility.cnes_code) }), toByteString(json))
    }
  }
  return items.map((item, index) => {
    const ref = refs[index]
    const member = ref === undefined ? undefined : members.get(keyOfRef(ref))
    return { ...item, json: `${item.json.slice(0, -1)},"facility":${member ?? 'null'}}` }
  })
}
