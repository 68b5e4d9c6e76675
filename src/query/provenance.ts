/**
 * Where a record's values come from: statements for its published rows, and the entries made of them. Pure.
 *
 * In: a dataset, a key, a period and its file family. Out: one entry an attribute, with the published cell, the rule, and
 * file, SHA-256, row and column, so that anyone who holds the file can check it. Names come from the catalog of codes or
 * the municipality list, and point at their rows there. What is computed from other records says so and has no source.
 */
import type { JsonValue, Row } from '../engine/types.ts'
import {
  FACILITY_LINEAGE,
  FACT_LINEAGE,
  type FactName,
  type Family,
  REPEATED_FACILITY_LINEAGE,
} from '../model/cnes/lineage.ts'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import { RULES } from '../model/rules.ts'
import type { Lineage } from '../model/types.ts'
import type { ReleaseView } from '../release/view.ts'
import { ident, join, type Sql, sql, table } from '../sql.ts'
import { describeMunicipality } from './municipality-provenance.ts'

export type TracedDataset = 'facilities' | FactName

export interface ProvenanceSource {
  readonly publisher: string
  readonly file: string
  /** Archive the file came in, when it came in one. */
  readonly archive: string | null
  readonly sha256: string
  /** Row of the file, header = 1. */
  readonly row: number
  readonly column: string
}

export interface ProvenanceEntry {
  readonly attribute: string
  readonly value: JsonValue
  readonly raw_value: string | null
  readonly rule: string
  readonly source: ProvenanceSource | null
}

interface NameLookup {
  readonly dataset: DatasetName
  readonly key: readonly string[]
  /** Fields of the record that hold the key, where they have other names. */
  readonly code?: readonly string[]
  /** Column of the text, where its name is not the attribute's. */
  readonly column?: string
}
/** Names looked up by a code of the record: attribute → where. */
const LOOKUPS: Readonly<Record<string, NameLookup>> = {
  municipality_name: {
    dataset: 'municipalities',
    key: ['ibge_code'],
    code: ['municipality_ibge_code'],
    column: 'name',
  },
  facility_type_name: { dataset: 'facility_types', key: ['facility_type_code'] },
  legal_nature_name: { dataset: 'legal_natures', key: ['legal_nature_code'] },
  deactivation_reason_name: { dataset: 'deactivation_reasons', key: ['deactivation_reason_code'] },
  opening_hours_name: { dataset: 'opening_hours', key: ['opening_hours_code'] },
  bed_type_name: { dataset: 'bed_types', key: ['bed_type_code'] },
  bed_category_name: { dataset: 'bed_categories', key: ['bed_category_code'] },
  equipment_name: { dataset: 'equipment_types', key: ['category_code', 'equipment_code'] },
  category_name: { dataset: 'equipment_categories', key: ['category_code'] },
  service_name: { dataset: 'specialized_service_types', key: ['service_code'] },
  classification_name: {
    dataset: 'specialized_service_classifications',
    key: ['service_code', 'classification_code'],
  },
}

/** Attributes computed from others: what is done, in words. */
const COMPUTED: Readonly<Record<string, string>> = {
  is_active: 'true when the registry carries no reason of closing',
  uf: 'state of the municipality',
  has_beds: 'a bed quantity above 0 among the facility’s beds of the month',
  has_equipment: 'a quantity above 0 among the facility’s equipment of the month',
  has_services: 'a declaration among the facility’s services of the month',
  offers_any_sus: 'an SUS quantity or SUS flag above',
  beds_non_sus: 'beds_existing − beds_sus',
  equipment_type_key: 'category_code:equipment_code',
  classification_key: 'service_code:classification_code',
  quantity_sus: 'the published quantity; without one, quantity_existing where tp_sus_code is 1, else 0',
  quantity_sus_basis: 'published where the publisher gives the quantity, else flag',
  provider_kind: 'what the published code of the provider is',
}

export const planPublishedRows = (
  dataset: TracedDataset,
  key: Readonly<Record<string, string | number>>,
  period: number,
): Sql =>
  sql`SELECT * FROM ${table(`${dataset}_provenance`, period)} WHERE ${join(
    Object.entries(key).map(([column, value]) => sql`${ident(column)} = ${value}`),
    ' AND ',
  )} ORDER BY source_file, source_row`

/** Every field of a record. */
const fieldsOf = (dataset: TracedDataset): FieldName[] => [
  ...datasetOf(dataset).fields,
  ...(datasetOf(dataset).detail ?? []),
]

/** @returns the lookups a record needs: attribute and statement, for codes that are there */
export function planLookups(
  dataset: TracedDataset,
  record: Row,
): { readonly attribute: string; readonly statement: Sql }[] {
  const fields = new Set<string>(fieldsOf(dataset))
  return Object.entries(LOOKUPS).flatMap(([attribute, { dataset, key, code = key, column = attribute }]) => {
    const codes = code.map((field) => record[field])
    if (!fields.has(attribute) || codes.some((value) => value === null || value === undefined)) return []
    const conditions = key.map((name, index) => sql`${ident(name)} = ${codes[index] as string | number}`)
    const statement = sql`SELECT source_file, source_row, ${ident(column)} AS text FROM ${table(dataset)} WHERE ${join(conditions, ' AND ')}`
    return [{ attribute, statement }]
  })
}

/** @param published rows of the provenance table; @param lookups attribute → row of its catalog */
export function describeProvenance(
  dataset: TracedDataset,
  family: Family,
  record: Row,
  published: readonly Row[],
  lookups: ReadonlyMap<string, Row>,
  view: ReleaseView,
): ProvenanceEntry[] {
  const entries: ProvenanceEntry[] = []
  for (const row of published) {
    if (dataset === 'facilities')
      entries.push(...describeMunicipality(row, record.municipality_ibge_code ?? null, view))
    for (const line of lineageOf(dataset, family)) {
      if (!(line.column in row) || line.rule === 'managing_state') continue
      entries.push({
        attribute: attributeOf(line),
        value: recordValue(line, record, row, published.length > 1),
        raw_value: textOf(row[line.column]),
        rule: ruleText(dataset, line, published.length),
        source: sourceOf(view, row, line.column),
      })
    }
  }
  const covered = new Set(entries.map(({ attribute }) => attribute.split('.')[0]))
  for (const field of fieldsOf(dataset)) {
    if (covered.has(field) || field === 'reference_period' || field === 'declarations') continue
    const found = lookups.get(field)
    const source = found === undefined ? null : sourceOf(view, found, LOOKUPS[field]?.column ?? field)
    const list = source === null ? 'the project’s own list' : 'the published list'
    const rule =
      found === undefined ? (COMPUTED[field] ?? 'not in the published file') : `text of the code in ${list}`
    entries.push({
      attribute: field,
      value: record[field] ?? null,
      raw_value: textOf(found?.text),
      rule,
      source,
    })
  }
  return entries
}

function lineageOf(dataset: TracedDataset, family: Family): readonly Lineage[] {
  if (dataset !== 'facilities') return FACT_LINEAGE[dataset][family]
  // A facility that only fact rows know has the attributes they repeat; columns the row lacks are passed over.
  return family === 'state'
    ? [...REPEATED_FACILITY_LINEAGE, ...FACILITY_LINEAGE.state.slice(REPEATED_FACILITY_LINEAGE.length)]
    : FACILITY_LINEAGE.base
}

const NAMES: Readonly<Record<string, string>> = {
  municipality6: 'municipality_ibge_code',
  quantity_sus_published: 'quantity_sus',
}
const attributeOf = ({ attribute }: Lineage): string => NAMES[attribute] ?? attribute

/** How the rows of a record of several rows become its values: attribute → the end of the rule's text. */
const OF_SEVERAL_ROWS: Readonly<Record<string, string>> = {
  bed_category_code: 'the record has that of its first row',
  tp_sus_code: 'the record has 1 where a row has it, else 2, else 9',
}

/** @param rows published rows of the record; quantities of beds and equipment are added up over them */
function ruleText(dataset: TracedDataset, { attribute, rule }: Lineage, rows: number): string {
  if (rows < 2 || dataset === 'facilities' || dataset === 'specialized_services') return RULES[rule]
  if (rule === 'quantity' || rule === 'quantity_optional')
    return `${RULES[rule]}; the record adds up its ${rows} published rows`
  const several = OF_SEVERAL_ROWS[attribute]
  return several === undefined ? RULES[rule] : `${RULES[rule]}; ${several}`
}

/** What one published row among several says, by its rule. */
function rowValue({ rule }: Lineage, cell: string | null): JsonValue {
  if (rule === 'flag_1_2' || rule === 'flag_1_0') return cell === '1'
  if (rule === 'ind_sus') return cell === '1' ? '1' : '2'
  if (rule === 'tp_sus') return cell === '1' || cell === '2' || cell === '9' ? cell : '0'
  if (cell === null || cell === '') return null
  return rule === 'quantity' || rule === 'quantity_optional' ? Number(cell) : cell
}

/** The record's value; of one row among several, what that row itself says. */
function recordValue(line: Lineage, record: Row, row: Row, isOneOfMany: boolean): JsonValue {
  const [field = '', member] = attributeOf(line).split('.')
  const cell = textOf(row[line.column])?.trim() ?? null
  if (isOneOfMany && !(field in row)) return rowValue(line, cell)
  const value = record[field]
  if (member !== undefined) return (value as Row | null | undefined)?.[member] ?? null
  return value === undefined ? cell : value
}

const textOf = (value: JsonValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

/** @returns where a published row stands: publisher, file, row; null where the file is not a snapshot of the release */
export function sourceOf(view: ReleaseView, row: Row, column: string): ProvenanceSource | null {
  const file = textOf(row.source_file)
  const { cnes, demography } = view.components
  const snapshots = [...(cnes?.snapshots ?? []), ...(demography?.snapshots ?? [])]
  const snapshot = snapshots.find((candidate) => candidate.file === file)
  if (file === null || snapshot === undefined) return null
  return {
    publisher: snapshot.publisher,
    file,
    archive: snapshot.archive?.file ?? null,
    sha256: snapshot.sha256,
    row: Number(row.source_row),
    column,
  }
}
