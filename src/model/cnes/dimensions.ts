/** The dimensions of facilities and of what they have, and which facts carry them. */
import type { DatasetName } from '../datasets.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'

export const DIMENSIONS = {
  facility: {
    label: 'Estabelecimento',
    label_en: 'Facility',
    column: 'cnes_code',
    member: { dataset: 'facilities', key: 'cnes_code', name: 'coalesce(trade_name, legal_name)' },
    order: 'name',
  },
  facility_type: {
    label: 'Tipo de estabelecimento',
    label_en: 'Facility type',
    column: 'facility_type_code',
    member: { dataset: 'facility_types', key: 'facility_type_code', name: 'facility_type_name' },
    order: 'code',
  },
  management_type: {
    label: 'Gestão',
    label_en: 'Management',
    column: 'management_type',
    member: null,
    labels: {
      M: { pt: 'Municipal', en: 'Municipal' },
      E: { pt: 'Estadual', en: 'State' },
      D: { pt: 'Dupla', en: 'Both' },
      S: { pt: 'Sem gestão', en: 'None' },
    },
    order: 'code',
  },
  legal_nature: {
    label: 'Natureza jurídica',
    label_en: 'Legal nature',
    column: 'legal_nature_code',
    member: { dataset: 'legal_natures', key: 'legal_nature_code', name: 'legal_nature_name' },
    order: 'code',
  },
  bed_category: {
    label: 'Categoria de leito',
    label_en: 'Bed category',
    column: 'bed_category_code',
    member: { dataset: 'bed_categories', key: 'bed_category_code', name: 'bed_category_name' },
    order: 'code',
  },
  bed_type: {
    label: 'Tipo de leito',
    label_en: 'Bed type',
    column: 'bed_type_code',
    member: { dataset: 'bed_types', key: 'bed_type_code', name: 'bed_type_name' },
    order: 'code',
  },
  equipment_category: {
    label: 'Categoria de equipamento',
    label_en: 'Equipment category',
    column: 'category_code',
    member: { dataset: 'equipment_categories', key: 'category_code', name: 'category_name' },
    order: 'code',
  },
  equipment_type: {
    label: 'Tipo de equipamento',
    label_en: 'Equipment type',
    column: 'equipment_type_key',
    member: { dataset: 'equipment_types', key: 'equipment_type_key', name: 'equipment_name' },
    order: 'code',
  },
  specialized_service: {
    label: 'Serviço especializado',
    label_en: 'Specialised service',
    column: 'service_code',
    member: { dataset: 'specialized_service_types', key: 'service_code', name: 'service_name' },
    order: 'code',
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
  },
  service_characteristic: {
    label: 'Característica do serviço',
    label_en: 'Service characteristic',
    column: 'characteristic_code',
    member: null,
    labels: {
      '1': { pt: 'Próprio', en: 'Own' },
      '2': { pt: 'Terceirizado', en: 'Third party' },
      '3': { pt: 'Próprio e terceirizado', en: 'Own and third party' },
    },
    order: 'code',
  },
  provider_kind: {
    label: 'Tipo de prestador',
    label_en: 'Provider kind',
    column: 'provider_kind',
    member: null,
    labels: {
      CNES: { pt: 'Código CNES', en: 'CNES code' },
      CNPJ: { pt: 'CNPJ', en: 'CNPJ' },
      NOT_INFORMED: { pt: 'Não informado', en: 'Not informed' },
      NOT_APPLICABLE: { pt: 'Não se aplica', en: 'Not applicable' },
      OTHER_SENTINEL: { pt: 'Outro preenchimento', en: 'Other filler' },
    },
    order: 'code',
  },
  reference_period: {
    label: 'Competência',
    label_en: 'Reference period',
    column: 'reference_period',
    integer: true,
    member: null,
    order: 'code',
  },
} as const satisfies Record<string, DimensionDeclaration>

/** What a facility has one of in a month, and the month. */
const OF_FACILITIES = [
  'state',
  'municipality',
  'facility',
  'facility_type',
  'management_type',
  'legal_nature',
  'reference_period',
] as const

export const FACTS = {
  facilities: { capability: 'facilities.read', dimensions: OF_FACILITIES },
  bed_capacity: {
    capability: 'bed_capacity.read',
    dimensions: [...OF_FACILITIES, 'bed_category', 'bed_type'],
  },
  equipment_inventory: {
    capability: 'equipment_inventory.read',
    dimensions: [...OF_FACILITIES, 'equipment_category', 'equipment_type'],
  },
  specialized_services: {
    capability: 'specialized_services.read',
    dimensions: [
      ...OF_FACILITIES,
      'specialized_service',
      'specialized_service_classification',
      'service_characteristic',
      'provider_kind',
    ],
  },
} as const satisfies Partial<Record<DatasetName, Fact>>
