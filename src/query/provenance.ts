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
import { RULES } from '../model/rules.ts'
import type { Lineage } from '../model/types.ts'
import type { ReleaseView } from '../release/view.ts'
import { ident, join, type Sql, sql, table } from '../sql.ts'

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

/** Names looked up by a code: attribute → code of the record, dataset and column of the text. */
const LOOKUPS: Readonly<
  Record<
    string,
    {
      readonly code: readonly string[]
      readonly dataset: DatasetName
      readonly key: readonly string[]
      readonly column: string
    }
  >
> = {
  municipality_name: {
    code: ['municipality_ibge_code'],
    dataset: 'municipalities',
    key: ['ibge_code'],
    column: 'name',
  },
  facility_type_name: {
    code: ['facility_type_code'],
    dataset: 'facility_types',
    key: ['facility_type_code'],
    column: 'facility_type_name',
  },
  legal_nature_name: {
    code: ['legal_nature_code'],
    dataset: 'legal_natures',
    key: ['legal_nature_code'],
    column: 'legal_nature_name',
  },
  deactivation_reason_name: {
    code: ['deactivation_reason_code'],
    dataset: 'deactivation_reasons',
    key: ['deactivation_reason_code'],
    column: 'deactivation_reason_name',
  },
  opening_hours_name: {
    code: ['opening_hours_code'],
    dataset: 'opening_hours',
    key: ['opening_hours_code'],
    column: 'opening_hours_name',
  },
  bed_type_name: {
    code: ['bed_type_code'],
    dataset: 'bed_types',
    key: ['bed_type_code'],
    column: 'bed_type_name',
  },
  bed_category_name: {
    code: ['bed_category_code'],
    dataset: 'bed_categories',
    key: ['bed_category_code'],
    column: 'bed_category_name',
  },
  equipment_name: {
    code: ['category_code', 'equipment_code'],
    dataset: 'equipment_types',
    key: ['category_code', 'equipment_code'],
    column: 'equipment_name',
  },
  category_name: {
    code: ['category_code'],
    dataset: 'equipment_categories',
    key: ['category_code'],
    column: 'category_name',
  },
  service_name: {
    code: ['service_code'],
    dataset: 'specialized_service_types',
    key: ['service_code'],
    column: 'service_name',
  },
  classification_name: {
    code: ['service_code', 'classification_code'],
    dataset: 'specialized_service_classifications',
    key: ['service_code', 'classification_code'],
    column: 'classification_name',
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
  key: Readonly<Record<string, string>>,
  period: number,
): Sql =>
  sql`SELECT * FROM ${table(`${dataset}_provenance`, period)} WHERE ${join(
    Object.entries(key).map(([column, value]) => sql`${ident(column)} = ${value}`),
    ' AND ',
  )} ORDER BY source_file, source_row`

/** @returns the lookups a record needs: attribute and statement, for codes that are there */
export function planLookups(
  dataset: TracedDataset,
  record: Row,
): { readonly attribute: string; readonly statement: Sql }[] {
  const fields = new Set<string>([...datasetOf(dataset).fields, ...(datasetOf(dataset).detail ?? [])])
  return Object.entries(LOOKUPS).flatMap(([attribute, lookup]) => {
    const codes = lookup.code.map((field) => record[field])
    if (!fields.has(attribute) || codes.some((code) => code === null || code === undefined)) return []
    const conditions = lookup.key.map(
      (column, index) => sql`${ident(column)} = ${codes[index] as string | number}`,
    )
    return [
      {
        attribute,
        statement: sql`SELECT source_file, source_row, ${ident(lookup.column)} AS text FROM ${table(lookup.dataset)} WHERE ${join(conditions, ' AND ')}`,
      },
    ]
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
  for (const row of published)
    for (const line of lineageOf(dataset, family)) {
      if (!(line.column in row)) continue
      entries.push({
        attribute: attributeOf(line),
        value: recordValue(line, record, row, published.length > 1),
        raw_value: textOf(row[line.column]),
        rule: RULES[line.rule],
        source: sourceOf(view, row, line.column),
      })
    }
  const covered = new Set(entries.map(({ attribute }) => attribute.split('.')[0]))
  for (const field of [...datasetOf(dataset).fields, ...(datasetOf(dataset).detail ?? [])]) {
    if (covered.has(field) || field === 'reference_period' || field === 'declarations') continue
    const value = record[field] ?? null
    const found = lookups.get(field)
    if (found !== undefined) {
      const source =
        found.source_file === null ? null : sourceOf(view, found, LOOKUPS[field]?.column ?? field)
      entries.push({
        attribute: field,
        value,
        raw_value: textOf(found.text),
        rule:
          source === null
            ? 'text of the code in the project’s own list'
            : 'text of the code in the published list',
        source,
      })
    } else
      entries.push({
        attribute: field,
        value,
        raw_value: null,
        rule: COMPUTED[field] ?? 'not in the published file',
        source: null,
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

/** The record's value; of one declaration among several, what that row itself says. */
function recordValue(line: Lineage, record: Row, row: Row, isOneOfMany: boolean): JsonValue {
  const [field = '', member] = attributeOf(line).split('.')
  if (isOneOfMany && !(field in row)) {
    const cell = textOf(row[line.column])?.trim() ?? null
    return line.rule === 'flag_1_2' || line.rule === 'flag_1_0' ? cell === '1' : cell === '' ? null : cell
  }
  const value = record[field]
  if (member !== undefined) return (value as Row | null | undefined)?.[member] ?? null
  return value === undefined ? (textOf(row[line.column])?.trim() ?? null) : value
}

const textOf = (value: JsonValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

/** @returns where a published row stands: publisher, file, row; null where the file is not a snapshot of the release */
export function sourceOf(view: ReleaseView, row: Row, column: string): ProvenanceSource | null {
  const file = textOf(row.source_file)
  const snapshot = [
    ...(view.components.cnes?.snapshots ?? []),
    ...(view.components.demography?.snapshots ?? []),
  ].find((candidate) => candidate.file === file)
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
