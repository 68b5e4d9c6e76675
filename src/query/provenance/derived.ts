/**
 * Declares attributes that are derived from published cells: the cells, and the rule. Pure. The table names cells by the lineage attributes
 * that are read from them, so it applies to both families of files.
 */
import type { JsonValue, Row } from '../../engine/types.ts'
import { FACT_LINEAGE, type FactName, type Family } from '../../model/cnes/lineage.ts'
import { both } from '../../model/declare.ts'
import type { Text } from '../../model/types.ts'

export const MONTH_COLUMN = 'COMPETEN'

interface Origin {
  /** Uses only the first attribute with text, not all of them. */
  readonly isFirst?: true
  readonly from: Readonly<Record<Family, readonly string[]>>
  readonly rule: Readonly<Record<Family, Text>>
}

const derived = (rule: Text, ...from: string[]): Origin => ({
  from: { base: from, state: from },
  rule: { base: rule, state: rule },
})

export const RULE_TEXTS: Readonly<Record<string, Text>> = {
  has_beds: both(
    'alguma quantidade acima de 0 entre os leitos do estabelecimento no mês',
    'a bed quantity above 0 among the facility’s beds of the month',
  ),
  has_equipment: both(
    'alguma quantidade acima de 0 entre os equipamentos do estabelecimento no mês',
    'a quantity above 0 among the facility’s equipment of the month',
  ),
  has_services: both(
    'alguma declaração entre os serviços do estabelecimento no mês',
    'a declaration among the facility’s services of the month',
  ),
  offers_any_sus: both(
    'alguma quantidade ou marca do SUS entre leitos, equipamentos e serviços do estabelecimento no mês',
    'an SUS quantity or SUS flag among the facility’s beds, equipment and services of the month',
  ),
  quantity_sus: both(
    'a quantidade existente onde a marca do SUS é 1, senão 0',
    'quantity_existing where tp_sus_code is 1, else 0',
  ),
}

const IS_ACTIVE: Origin = {
  from: { base: ['deactivation_reason_code'], state: ['cnes_code'] },
  rule: {
    base: both(
      'sim quando o cadastro não traz motivo de desativação',
      'true when the registry carries no reason of closing',
    ),
    state: both(
      'sim: os arquivos por estado têm os estabelecimentos abertos',
      'true: files by state hold the facilities that are open',
    ),
  },
}

/** Dataset → attribute → its origin; `all` holds attributes with the same origin in every dataset. */
export const ORIGINS: Readonly<Record<string, Readonly<Record<string, Origin>>>> = {
  all: {
    uf: derived(both('estado do município', 'state of the municipality'), 'municipality_ibge_code'),
    municipality_ibge_code: derived(
      both('o município do estabelecimento', 'the municipality of the facility'),
      'municipality_ibge_code',
    ),
    cnes_code: {
      from: { base: ['unit_code', 'cnes_code'], state: ['cnes_code'] },
      rule: {
        base: both(
          'o código do estabelecimento que o código da unidade nomeia',
          'the code of the facility that the unit code names',
        ),
        state: both(
          'sem espaços nas pontas, completado com zeros até 7 dígitos; vazio é sem dado',
          'blanks trimmed, padded with zeros to 7 digits; empty is null',
        ),
      },
    },
    facility_name: {
      ...derived(
        both(
          'nome fantasia do estabelecimento, senão a razão social',
          'trade name of the facility, else its legal name',
        ),
        'trade_name',
        'legal_name',
      ),
      isFirst: true,
    },
    is_active: IS_ACTIVE,
    facility_type_code: derived(
      both('o tipo do estabelecimento', 'the type of the facility'),
      'facility_type_code',
    ),
  },
  bed_capacity: {
    beds_non_sus: derived(
      both('leitos existentes − leitos SUS', 'beds_existing − beds_sus'),
      'beds_existing',
      'beds_sus',
    ),
  },
  equipment_inventory: {
    equipment_type_key: derived(
      both('código da categoria e do equipamento', 'category_code:equipment_code'),
      'category_code',
      'equipment_code',
    ),
    quantity_sus: derived(
      both(
        'a quantidade existente onde a marca do SUS é 1, senão 0',
        'quantity_existing where tp_sus_code is 1, else 0',
      ),
      'quantity_existing',
      'tp_sus_code',
    ),
    quantity_sus_basis: {
      from: { base: ['quantity_sus'], state: ['tp_sus_code'] },
      rule: {
        base: both(
          '“published” onde a fonte dá a quantidade, senão “flag”',
          'published where the publisher gives the quantity, else flag',
        ),
        state: both('“flag”: a fonte não dá a quantidade', 'flag: the publisher gives no quantity'),
      },
    },
  },
  specialized_services: {
    classification_key: derived(
      both('código do serviço e da classificação', 'service_code:classification_code'),
      'service_code',
      'classification_code',
    ),
    provider_kind: derived(
      both('o que o código publicado do prestador é', 'what the published code of the provider is'),
      'declarations.provider_code',
      'characteristic_code',
    ),
    offers_any_sus: derived(
      both('qualquer das marcas do SUS', 'either SUS flag'),
      'has_ambulatory_sus',
      'has_hospital_sus',
    ),
  },
}

export interface Cell {
  readonly row: Row
  readonly column: string
}

/**
 * Finds the cells that decisions whether a facility has something: those of the first row that isPositiveRow yes, or of the first row if none does.
 * @param facts rows of the facility by fact; null when the month has no such table
 * @returns null for an attribute that is not decided by rows; no cells when there are no rows
 */
export function decidingCells(
  attribute: string,
  value: JsonValue,
  family: Family,
  facts: ReadonlyMap<FactName, readonly Row[] | null>,
): readonly Cell[] | null {
  const decisions: Readonly<Record<string, readonly (readonly [FactName, Question])[]>> = {
    has_beds: [['bed_capacity', [['beds_existing']]]],
    has_equipment: [['equipment_inventory', [['quantity_existing']]]],
    has_services: [['specialized_services', [['service_code']]]],
    offers_any_sus: [
      ['bed_capacity', [['beds_sus']]],
      ['equipment_inventory', [['quantity_sus_published'], ['tp_sus_code', 'quantity_existing']]],
      ['specialized_services', [['has_ambulatory_sus'], ['has_hospital_sus']]],
    ],
  }
  const questions = decisions[attribute]
  if (questions === undefined) return null
  if (value === null) return []
  for (const requiresPositive of [true, false])
    for (const [fact, question] of questions)
      for (const row of facts.get(fact) ?? [])
        for (const attributes of question) {
          const columns = attributes.map(
            (name) => FACT_LINEAGE[fact][family].find((line) => line.attribute === name)?.column,
          )
          if (columns.some((column) => column === undefined)) continue
          const cells = columns.map((column) => ({ row, column: column ?? '' }))
          const isPositiveRow = cells.every(({ column }, index) =>
            isPositiveCell(attributes[index] ?? '', row[column]),
          )
          if (!requiresPositive || isPositiveRow) return cells
        }
  return []
}

/** Alternatives by which a row can say yes. Each is a list of attributes that must all be positive. */
type Question = readonly (readonly string[])[]

function isPositiveCell(attribute: string, cell: JsonValue | undefined): boolean {
  const text = String(cell ?? '').trim()
  if (attribute === 'service_code') return text !== ''
  if (attribute.startsWith('has_') || attribute === 'tp_sus_code') return text === '1'
  return Number(text) > 0
}
