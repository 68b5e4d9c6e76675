/**
 * The 15 dimensions: what metrics are grouped and filtered by. Values only.
 *
 * `column` is the conformed key, the same name in every dataset that carries it; `member` is the dataset that names the
 * codes. Order: places and facilities by name, everything else by code.
 */
import type { DatasetName } from './datasets.ts'

export type FactDataset =
  | 'facilities'
  | 'bed_capacity'
  | 'equipment_inventory'
  | 'specialized_services'
  | 'population'

export interface Dimension {
  readonly label: string
  readonly label_en: string
  readonly column: string
  /** Codes are integers (municipality) or text. */
  readonly integer?: boolean
  readonly member: { readonly dataset: DatasetName; readonly key: string; readonly name: string } | null
  readonly order: 'name' | 'code'
  readonly datasets: readonly FactDataset[]
}

const CNES: readonly FactDataset[] = [
  'facilities',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
]
const EVERYWHERE: readonly FactDataset[] = [...CNES, 'population']

export const DIMENSIONS = {
  state: {
    label: 'Unidade da Federação',
    label_en: 'State',
    column: 'uf',
    member: { dataset: 'states', key: 'uf', name: 'name' },
    order: 'name',
    datasets: EVERYWHERE,
  },
  municipality: {
    label: 'Município',
    label_en: 'Municipality',
    column: 'municipality_ibge_code',
    integer: true,
    member: { dataset: 'municipalities', key: 'ibge_code', name: 'name' },
    order: 'name',
    datasets: EVERYWHERE,
  },
  facility: {
    label: 'Estabelecimento',
    label_en: 'Facility',
    column: 'cnes_code',
    member: { dataset: 'facilities', key: 'cnes_code', name: 'coalesce(trade_name, legal_name)' },
    order: 'name',
    datasets: CNES,
  },
  facility_type: {
    label: 'Tipo de estabelecimento',
    label_en: 'Facility type',
    column: 'facility_type_code',
    member: { dataset: 'facility_types', key: 'facility_type_code', name: 'facility_type_name' },
    order: 'code',
    datasets: CNES,
  },
  management_type: {
    label: 'Gestão',
    label_en: 'Management',
    column: 'management_type',
    member: null,
    order: 'code',
    datasets: CNES,
  },
  legal_nature: {
    label: 'Natureza jurídica',
    label_en: 'Legal nature',
    column: 'legal_nature_code',
    member: { dataset: 'legal_natures', key: 'legal_nature_code', name: 'legal_nature_name' },
    order: 'code',
    datasets: CNES,
  },
  bed_category: {
    label: 'Categoria de leito',
    label_en: 'Bed category',
    column: 'bed_category_code',
    member: { dataset: 'bed_categories', key: 'bed_category_code', name: 'bed_category_name' },
    order: 'code',
    datasets: ['bed_capacity'],
  },
  bed_type: {
    label: 'Tipo de leito',
    label_en: 'Bed type',
    column: 'bed_type_code',
    member: { dataset: 'bed_types', key: 'bed_type_code', name: 'bed_type_name' },
    order: 'code',
    datasets: ['bed_capacity'],
  },
  equipment_category: {
    label: 'Categoria de equipamento',
    label_en: 'Equipment category',
    column: 'category_code',
    member: { dataset: 'equipment_categories', key: 'category_code', name: 'category_name' },
    order: 'code',
    datasets: ['equipment_inventory'],
  },
  equipment_type: {
    label: 'Tipo de equipamento',
    label_en: 'Equipment type',
    column: 'equipment_type_key',
    member: { dataset: 'equipment_types', key: 'equipment_type_key', name: 'equipment_name' },
    order: 'code',
    datasets: ['equipment_inventory'],
  },
  specialized_service: {
    label: 'Serviço especializado',
    label_en: 'Specialised service',
    column: 'service_code',
    member: { dataset: 'specialized_service_types', key: 'service_code', name: 'service_name' },
    order: 'code',
    datasets: ['specialized_services'],
  },
  specialized_service_classification: {
    label: 'Classificação do serviço',
    label_en: 'Service classification',
    column: 'classification_key',
    member: {
      dataset: 'specialized_service_classifications',
      key: 'classification_key',
      name: 'classification_name',
    },
    order: 'code',
    datasets: ['specialized_services'],
  },
  service_characteristic: {
    label: 'Característica do serviço',
    label_en: 'Service characteristic',
    column: 'characteristic_code',
    member: null,
    order: 'code',
    datasets: ['specialized_services'],
  },
  provider_kind: {
    label: 'Tipo de prestador',
    label_en: 'Provider kind',
    column: 'provider_kind',
    member: null,
    order: 'code',
    datasets: ['specialized_services'],
  },
  reference_period: {
    label: 'Competência',
    label_en: 'Reference period',
    column: 'reference_period',
    integer: true,
    member: null,
    order: 'code',
    datasets: CNES,
  },
} as const satisfies Record<string, Dimension>

export type DimensionCode = keyof typeof DIMENSIONS
export const DIMENSION_CODES = Object.keys(DIMENSIONS) as DimensionCode[]
export const dimensionOf = (code: DimensionCode): Dimension => DIMENSIONS[code]

/** Dimensions whose members exist without facts: a place with nothing in it is a row with 0. */
export const SPINE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  'state',
  'municipality',
  'reference_period',
])
export const PLACE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set(['state', 'municipality'])

export const OPERATORS = ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'] as const
export type Operator = (typeof OPERATORS)[number]
export const operatorsOf = (code: DimensionCode): readonly Operator[] =>
  code === 'reference_period' ? OPERATORS : OPERATORS.slice(0, 4)
