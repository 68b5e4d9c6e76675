/**
 * Attributes that are derived from published cells rather than read from one: which cells, and what is done with them. Pure.
 *
 * Cells are named by the attributes of the lineage that are read from them, so that this table follows the published columns
 * of either family of files.
 */
import type { JsonValue, Row } from '../engine/types.ts'
import { FACT_LINEAGE, type FactName, type Family } from '../model/cnes/lineage.ts'

/** Column of files by state with the month of the row. */
export const MONTH_COLUMN = 'COMPETEN'

interface Origin {
  /** Only the first attribute that has a text, rather than all of them. */
  readonly isFirst?: true
  readonly from: Readonly<Record<Family, readonly string[]>>
  readonly rule: Readonly<Record<Family, string>>
}

const derived = (rule: string, ...from: string[]): Origin => ({
  from: { base: from, state: from },
  rule: { base: rule, state: rule },
})

/** What is done, in words. */
export const RULE_TEXTS: Readonly<Record<string, string>> = {
  has_beds: 'a bed quantity above 0 among the facility’s beds of the month',
  has_equipment: 'a quantity above 0 among the facility’s equipment of the month',
  has_services: 'a declaration among the facility’s services of the month',
  offers_any_sus:
    'an SUS quantity or SUS flag among the facility’s beds, equipment and services of the month',
  quantity_sus: 'quantity_existing where tp_sus_code is 1, else 0',
}

const IS_ACTIVE: Origin = {
  from: { base: ['deactivation_reason_code'], state: ['cnes_code'] },
  rule: {
    base: 'true when the registry carries no reason of closing',
    state: 'true: files by state hold the facilities that are open',
  },
}

/** Dataset → attribute → what it is derived from; `all` for attributes that mean the same everywhere. */
export const ORIGINS: Readonly<Record<string, Readonly<Record<string, Origin>>>> = {
  all: {
    uf: derived('state of the municipality', 'municipality_ibge_code'),
    municipality_ibge_code: derived('the municipality of the facility', 'municipality_ibge_code'),
    cnes_code: {
      from: { base: ['unit_code', 'cnes_code'], state: ['cnes_code'] },
      rule: {
        base: 'the code of the facility that the unit code names',
        state: 'blanks trimmed, padded with zeros to 7 digits; empty is null',
      },
    },
    facility_name: {
      ...derived('trade name of the facility, else its legal name', 'trade_name', 'legal_name'),
      isFirst: true,
    },
    is_active: IS_ACTIVE,
    facility_type_code: derived('the type of the facility', 'facility_type_code'),
  },
  bed_capacity: {
    beds_non_sus: derived('beds_existing − beds_sus', 'beds_existing', 'beds_sus'),
  },
  equipment_inventory: {
    equipment_type_key: derived('category_code:equipment_code', 'category_code', 'equipment_code'),
    quantity_sus: derived(
      'quantity_existing where tp_sus_code is 1, else 0',
      'quantity_existing',
      'tp_sus_code',
    ),
    quantity_sus_basis: {
      from: { base: ['quantity_sus'], state: ['tp_sus_code'] },
      rule: {
        base: 'published where the publisher gives the quantity, else flag',
        state: 'flag: the publisher gives no quantity',
      },
    },
  },
  specialized_services: {
    classification_key: derived('service_code:classification_code', 'service_code', 'classification_code'),
    provider_kind: derived(
      'what the published code of the provider is',
      'declarations.provider_code',
      'characteristic_code',
    ),
    offers_any_sus: derived('either SUS flag', 'has_ambulatory_sus', 'has_hospital_sus'),
  },
}

export interface Cell {
  readonly row: Row
  readonly column: string
}

/**
 * The cells that decide whether a facility has something: of the first row that says yes; where none does, of the first row.
 *
 * @param facts rows of the facility by fact; null where the month has no such table
 * @returns null for an attribute that is not decided so; no cell where there is no row
 */
export function decidingCells(
  attribute: string,
  value: JsonValue,
  family: Family,
  facts: ReadonlyMap<FactName, readonly Row[] | null>,
): readonly Cell[] | null {
  const decide: Readonly<Record<string, readonly (readonly [FactName, Question])[]>> = {
    has_beds: [['bed_capacity', [['beds_existing']]]],
    has_equipment: [['equipment_inventory', [['quantity_existing']]]],
    has_services: [['specialized_services', [['service_code']]]],
    offers_any_sus: [
      ['bed_capacity', [['beds_sus']]],
      ['equipment_inventory', [['quantity_sus_published'], ['tp_sus_code', 'quantity_existing']]],
      ['specialized_services', [['has_ambulatory_sus'], ['has_hospital_sus']]],
    ],
  }
  const questions = decide[attribute]
  if (questions === undefined) return null
  if (value === null) return []
  for (const isYes of [true, false])
    for (const [fact, question] of questions)
      for (const row of facts.get(fact) ?? [])
        for (const attributes of question) {
          const columns = attributes.map(
            (name) => FACT_LINEAGE[fact][family].find((line) => line.attribute === name)?.column,
          )
          if (columns.some((column) => column === undefined)) continue
          const cells = columns.map((column) => ({ row, column: column ?? '' }))
          const says = cells.every(({ column }, index) => saysYes(attributes[index] ?? '', row[column]))
          if (!isYes || says) return cells
        }
  return []
}

/** Ways in which a row can say yes: attributes that all do. */
type Question = readonly (readonly string[])[]

function saysYes(attribute: string, cell: JsonValue | undefined): boolean {
  const text = String(cell ?? '').trim()
  if (attribute === 'service_code') return text !== ''
  if (attribute.startsWith('has_') || attribute === 'tp_sus_code') return text === '1'
  return Number(text) > 0
}
