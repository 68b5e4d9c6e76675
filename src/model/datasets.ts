/**
 * Every dataset of a release: grain (key), fields, what a list shows, filters.
 *
 * The importer writes these columns in this order, the engine reads them, lists and schemas follow from them. Values
 * only. The key is also the order of rows in the files and of lists: every order is total.
 */
import {
  CHARACTERISTIC_CODES,
  MANAGEMENT_TYPES,
  POPULATION_TYPES,
  PROVIDER_KINDS,
  TERRITORIAL_TYPES,
  TP_SUS_CODES,
} from './codelists.ts'
import type { FieldName } from './fields.ts'

export type Area = 'cnes' | 'demography'

/** How a request parameter restricts rows. `column` defaults to the parameter's own name. */
export type Filter =
  | { readonly kind: 'equals'; readonly column?: FieldName; readonly values: FilterValues }
  | { readonly kind: 'municipality'; readonly column: FieldName }
  | { readonly kind: 'positive'; readonly column: FieldName }
  | { readonly kind: 'flag'; readonly column: FieldName }
  | { readonly kind: 'search'; readonly codes: FieldName; readonly text: 'search_text' }
  | { readonly kind: 'status' }
  /** Met by an offering when one of its declarations meets all filters of this kind at once. */
  | {
      readonly kind: 'declaration'
      readonly column: 'characteristic_code' | 'provider_kind' | DeclarationFlag
      readonly values: FilterValues
    }

export type DeclarationFlag =
  | 'has_ambulatory'
  | 'has_ambulatory_sus'
  | 'has_hospital'
  | 'has_hospital_sus'
  | 'offers_any_sus'

/** What a parameter accepts: digits of a length, a closed list, upper-case letters, a year, free text, true/false. */
export type FilterValues =
  | { readonly digits: number }
  | { readonly list: readonly string[] }
  | { readonly uf: true }
  | { readonly year: true }
  | { readonly key: readonly [number, number] }
  | { readonly text: number }
  | { readonly boolean: true }

export interface Dataset {
  readonly name: string
  readonly area: Area
  /** One Parquet folder per reference period. */
  readonly periodic: boolean
  /** Grain and order, without reference_period. */
  readonly key: readonly FieldName[]
  /** Shown by lists, in order. */
  readonly fields: readonly FieldName[]
  /** Shown by the record in addition. */
  readonly detail?: readonly FieldName[]
  /** Stored, never shown: for filters, joins, provenance. */
  readonly internal?: readonly FieldName[]
  readonly filters?: Readonly<Record<string, Filter>>
  readonly description: string
  /** Code lists only: rows a complete national month holds (specification 8). */
  readonly catalogSize?: number
}

const FACILITY_CONTEXT = ['facility_name', 'uf', 'municipality_ibge_code', 'municipality_name'] as const
const FACILITY_ATTRIBUTES = ['facility_type_code', 'management_type', 'legal_nature_code'] as const
const SOURCE = ['source_file', 'source_row'] as const

const cnesCode: Filter = { kind: 'equals', values: { digits: 7 } }
const municipality: Filter = { kind: 'municipality', column: 'municipality_ibge_code' }
const status: Filter = { kind: 'status' }

export const DATASETS = {
  states: {
    name: 'states',
    area: 'demography',
    periodic: false,
    key: ['ibge_code'],
    fields: ['ibge_code', 'uf', 'name', 'region_code', 'region_name', 'municipality_count'],
    description: 'The 27 federative units.',
    catalogSize: 27,
  },
  municipalities: {
    name: 'municipalities',
    area: 'demography',
    periodic: false,
    key: ['ibge_code'],
    fields: [
      'ibge_code',
      'name',
      'uf',
      'state_ibge_code',
      'state_name',
      'region_code',
      'region_name',
      'territorial_type',
    ],
    internal: ['search_text', ...SOURCE],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      search: { kind: 'search', codes: 'ibge_code', text: 'search_text' },
      territorial_type: {
        kind: 'equals',
        values: { list: TERRITORIAL_TYPES },
      },
    },
    description:
      'Municipalities, administrative regions of the Federal District, and the ignored municipality of each state.',
  },
  population: {
    name: 'population',
    area: 'demography',
    periodic: false,
    key: ['municipality_code', 'reference_year', 'population_type'],
    fields: [
      'municipality_code',
      'municipality_name',
      'uf',
      'reference_year',
      'population_type',
      'population',
    ],
    internal: [...SOURCE, 'source_column', 'raw_value'],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      municipality: { kind: 'municipality', column: 'municipality_code' },
      reference_year: { kind: 'equals', values: { year: true } },
      population_type: { kind: 'equals', values: { list: POPULATION_TYPES } },
    },
    description: 'Resident population of municipalities: censuses and yearly estimates.',
  },
  facilities: {
    name: 'facilities',
    area: 'cnes',
    periodic: true,
    key: ['cnes_code'],
    fields: [
      'cnes_code',
      'legal_name',
      'trade_name',
      'is_active',
      'deactivation_reason_code',
      'deactivation_reason_name',
      'uf',
      'municipality_ibge_code',
      'municipality_name',
      'facility_type_code',
      'facility_type_name',
      'management_type',
      'legal_nature_code',
      'legal_nature_name',
      'has_beds',
      'has_equipment',
      'has_services',
      'offers_any_sus',
    ],
    detail: [
      'person_type',
      'cnpj',
      'maintainer_cnpj',
      'maintainer_name',
      'address',
      'phone',
      'latitude',
      'longitude',
      'opening_hours_code',
      'opening_hours_name',
      'is_always_open',
      'activity_code',
      'activity_level',
      'client_flow_code',
      'health_region_code',
      'establishment_type_code',
      'main_activity_code',
      'coverage_type_code',
      'has_internet',
      'has_formal_contract',
      'is_coworking',
      'source_updated_on',
    ],
    internal: ['search_text'],
    filters: {
      uf: { kind: 'equals', values: { uf: true } },
      municipality_ibge_code: municipality,
      facility_type_code: { kind: 'equals', values: { digits: 2 } },
      management_type: { kind: 'equals', values: { list: MANAGEMENT_TYPES } },
      legal_nature_code: { kind: 'equals', values: { digits: 4 } },
      search: { kind: 'search', codes: 'cnes_code', text: 'search_text' },
      status,
    },
    description: 'Health facilities of the national registry, open and closed.',
  },
  facility_types: catalog(
    'facility_types',
    ['facility_type_code'],
    ['facility_type_name'],
    'Types of facility.',
  ),
  legal_natures: catalog('legal_natures', ['legal_nature_code'], ['legal_nature_name'], 'Legal natures.'),
  deactivation_reasons: catalog(
    'deactivation_reasons',
    ['deactivation_reason_code'],
    ['deactivation_reason_name'],
    'Reasons of closing.',
  ),
  opening_hours: catalog('opening_hours', ['opening_hours_code'], ['opening_hours_name'], 'Opening shifts.'),
  bed_categories: catalog(
    'bed_categories',
    ['bed_category_code'],
    ['bed_category_name'],
    'Bed categories.',
    7,
  ),
  bed_types: catalog(
    'bed_types',
    ['bed_type_code'],
    ['bed_type_name', 'bed_category_code', 'bed_category_name'],
    'Bed types.',
    69,
  ),
  equipment_categories: catalog(
    'equipment_categories',
    ['category_code'],
    ['category_name'],
    'Equipment categories.',
    16,
  ),
  equipment_types: {
    ...catalog(
      'equipment_types',
      ['category_code', 'equipment_code'],
      ['equipment_type_key', 'equipment_name', 'category_name', 'renem_code'],
      'Equipment types; the code counts within its category.',
      224,
    ),
    filters: { category_code: { kind: 'equals', values: { digits: 2 } } },
  },
  specialized_service_types: catalog(
    'specialized_service_types',
    ['service_code'],
    ['service_name'],
    'Specialised services.',
    73,
  ),
  specialized_service_classifications: catalog(
    'specialized_service_classifications',
    ['service_code', 'classification_code'],
    ['classification_key', 'service_name', 'classification_name'],
    'Classifications of specialised services.',
    459,
  ),
  bed_capacity: {
    name: 'bed_capacity',
    area: 'cnes',
    periodic: true,
    key: ['cnes_code', 'bed_type_code'],
    fields: [
      'reference_period',
      'cnes_code',
      ...FACILITY_CONTEXT,
      'bed_type_code',
      'bed_type_name',
      'bed_category_code',
      'bed_category_name',
      'beds_existing',
      'beds_sus',
      'beds_non_sus',
      'is_active',
    ],
    internal: [...FACILITY_ATTRIBUTES],
    filters: {
      cnes_code: cnesCode,
      municipality_ibge_code: municipality,
      bed_type_code: { kind: 'equals', values: { digits: 2 } },
      bed_category_code: { kind: 'equals', values: { digits: 1 } },
      has_sus_capacity: { kind: 'positive', column: 'beds_sus' },
      status,
    },
    description: 'Registered beds, one row per facility and bed type.',
  },
  equipment_inventory: {
    name: 'equipment_inventory',
    area: 'cnes',
    periodic: true,
    key: ['cnes_code', 'category_code', 'equipment_code'],
    fields: [
      'reference_period',
      'cnes_code',
      ...FACILITY_CONTEXT,
      'category_code',
      'category_name',
      'equipment_code',
      'equipment_name',
      'equipment_type_key',
      'renem_code',
      'tp_sus_code',
      'quantity_existing',
      'quantity_in_use',
      'quantity_sus',
      'quantity_sus_basis',
      'is_active',
    ],
    internal: [...FACILITY_ATTRIBUTES],
    filters: {
      cnes_code: cnesCode,
      municipality_ibge_code: municipality,
      equipment_category_code: { kind: 'equals', column: 'category_code', values: { digits: 2 } },
      equipment_type_code: { kind: 'equals', column: 'equipment_code', values: { digits: 2 } },
      equipment_type_key: { kind: 'equals', values: { key: [2, 2] } },
      renem_code: { kind: 'equals', values: { text: 20 } },
      tp_sus_code: { kind: 'equals', values: { list: TP_SUS_CODES } },
      has_sus_quantity: { kind: 'positive', column: 'quantity_sus' },
      status,
    },
    description: 'Equipment, one row per facility and equipment type.',
  },
  specialized_services: {
    name: 'specialized_services',
    area: 'cnes',
    periodic: true,
    key: ['cnes_code', 'service_code', 'classification_code'],
    fields: [
      'reference_period',
      'cnes_code',
      ...FACILITY_CONTEXT,
      'service_code',
      'service_name',
      'classification_code',
      'classification_name',
      'classification_key',
      'characteristic_code',
      'provider_kind',
      'has_ambulatory',
      'has_ambulatory_sus',
      'has_hospital',
      'has_hospital_sus',
      'offers_any_sus',
      'declarations',
      'is_active',
    ],
    internal: [...FACILITY_ATTRIBUTES],
    filters: {
      cnes_code: cnesCode,
      municipality_ibge_code: municipality,
      service_code: { kind: 'equals', values: { digits: 3 } },
      classification_code: { kind: 'equals', values: { digits: 3 } },
      classification_key: { kind: 'equals', values: { key: [3, 3] } },
      characteristic_code: {
        kind: 'declaration',
        column: 'characteristic_code',
        values: { list: CHARACTERISTIC_CODES },
      },
      provider_kind: {
        kind: 'declaration',
        column: 'provider_kind',
        values: { list: PROVIDER_KINDS },
      },
      has_ambulatory: { kind: 'declaration', column: 'has_ambulatory', values: { boolean: true } },
      has_ambulatory_sus: { kind: 'declaration', column: 'has_ambulatory_sus', values: { boolean: true } },
      has_hospital: { kind: 'declaration', column: 'has_hospital', values: { boolean: true } },
      has_hospital_sus: { kind: 'declaration', column: 'has_hospital_sus', values: { boolean: true } },
      offers_any_sus: { kind: 'declaration', column: 'offers_any_sus', values: { boolean: true } },
      status,
    },
    description: 'Offerings of specialised services: one row per facility, service and classification.',
  },
} as const satisfies Record<string, Dataset>

export type DatasetName = keyof typeof DATASETS

/** @returns the declaration with its optional members visible to the type checker */
export const datasetOf = (datasetName: DatasetName): Dataset => DATASETS[datasetName]

/** Every stored column of a dataset, in the order of its files (reference_period lives in the folder name). */
export function storedColumns(dataset: Dataset): FieldName[] {
  return [...dataset.fields, ...(dataset.detail ?? []), ...(dataset.internal ?? [])].filter(
    (field) => field !== 'reference_period',
  )
}

function catalog<Name extends string>(
  datasetName: Name,
  key: readonly FieldName[],
  fields: readonly FieldName[],
  description: string,
  catalogSize?: number,
): Dataset & { readonly name: Name } {
  return {
    name: datasetName,
    area: 'cnes',
    periodic: false,
    key,
    fields: [...key, ...fields],
    internal: SOURCE,
    description,
    ...(catalogSize === undefined ? {} : { catalogSize }),
  }
}
