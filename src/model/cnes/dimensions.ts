/** Dimensions of facilities, beds, equipment and services, and the facts that have them. */
import type { DatasetName } from '../datasets.ts'
import { closed, listed } from '../declare.ts'
import { COARSE_PERIODS } from '../periods.ts'
import { NO_FACILITY } from '../sih/code-lists.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'

export const DIMENSIONS = {
  facility: {
    label: 'Estabelecimento',
    label_en: 'Facility',
    column: 'cnes_code',
    member: { dataset: 'facilities', key: 'cnes_code', name: 'coalesce(trade_name, legal_name)' },
    order: 'name',
    unknown: NO_FACILITY,
  },
  facility_type: listed('Tipo de estabelecimento', 'Facility type', 'facility_types', 'facility_type'),
  management_type: closed('Gestão', 'Management', 'management_type', {
    M: ['Municipal', 'Municipal'],
    E: ['Estadual', 'State'],
    D: ['Dupla', 'Both'],
    S: ['Sem gestão', 'None'],
  }),
  legal_nature: listed('Natureza jurídica', 'Legal nature', 'legal_natures', 'legal_nature'),
  bed_category: listed('Categoria de leito', 'Bed category', 'bed_categories', 'bed_category'),
  bed_type: listed('Tipo de leito', 'Bed type', 'bed_types', 'bed_type'),
  equipment_category: listed(
    'Categoria de equipamento',
    'Equipment category',
    'equipment_categories',
    'category',
  ),
  equipment_type: listed(
    'Tipo de equipamento',
    'Equipment type',
    'equipment_types',
    'equipment',
    'equipment_type_key',
  ),
  specialized_service: listed(
    'Serviço especializado',
    'Specialised service',
    'specialized_service_types',
    'service',
  ),
  specialized_service_classification: listed(
    'Classificação do serviço',
    'Service classification',
    'specialized_service_classifications',
    'classification',
    'classification_key',
  ),
  service_characteristic: closed(
    'Característica do serviço',
    'Service characteristic',
    'characteristic_code',
    {
      '1': ['Próprio', 'Own'],
      '2': ['Terceirizado', 'Third party'],
      '3': ['Próprio e terceirizado', 'Own and third party'],
    },
  ),
  provider_kind: closed('Tipo de prestador', 'Provider kind', 'provider_kind', {
    CNES: ['Código CNES', 'CNES code'],
    CNPJ: ['CNPJ', 'CNPJ'],
    NOT_INFORMED: ['Não informado', 'Not informed'],
    NOT_APPLICABLE: ['Não se aplica', 'Not applicable'],
    OTHER_SENTINEL: ['Outro preenchimento', 'Other filler'],
  }),
  reference_period: {
    label: 'Competência',
    label_en: 'Reference period',
    column: 'reference_period',
    integer: true,
    member: null,
    order: 'code',
  },
} as const satisfies Record<string, DimensionDeclaration>

/** Dimensions with one value per facility and month, and the month. */
const OF_FACILITIES = [
  'state',
  'municipality',
  'region',
  'health_region',
  'health_macroregion',
  'facility',
  'facility_type',
  'management_type',
  'legal_nature',
  'reference_period',
  ...COARSE_PERIODS,
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
