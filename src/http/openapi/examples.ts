/**
 * Examples for the API document: parameters by name, bodies by operation. The demonstration of `npm start` answers each with 200, and the
 * tests send them all. Cursors and release ids have no example, because only a running server knows them.
 */
import type { Json } from './json.ts'

/** A hospital in the demonstration data with beds, equipment and services. */
const FACILITY = '9811642'

export const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  uf: ['RR', 'AC'],
  state: ['RR'],
  region_code: [1],
  municipality: ['1400100'],
  municipality_ibge_code: ['1400100'],
  municipalityCode: '1400100',
  health_region_code: ['14001'],
  health_macroregion_code: ['1402'],
  territorial_type: ['MUNICIPALITY'],
  cnes_code: [FACILITY],
  facility_type_code: ['05'],
  management_type: ['M'],
  legal_nature_code: ['1244'],
  bed_type_code: ['01'],
  bed_category_code: ['1'],
  has_sus_capacity: true,
  equipment_category_code: ['03'],
  equipment_type_code: ['49'],
  equipment_type_key: ['03:49'],
  category_code: ['03'],
  equipment_code: '49',
  renem_code: ['10511'],
  tp_sus_code: ['1'],
  has_sus_quantity: true,
  service_code: ['147'],
  classification_code: ['001'],
  classification_key: ['147:001'],
  characteristic_code: ['1'],
  provider_kind: ['NOT_APPLICABLE'],
  has_ambulatory: true,
  has_ambulatory_sus: true,
  has_hospital: true,
  has_hospital_sus: true,
  offers_any_sus: true,
  has_beds: true,
  has_equipment: true,
  has_services: true,
  status: 'active',
  search: 'boa vista',
  include: 'facility',
  bbox: [-68, -1, -59, 6],
  near: [2.82, -60.67],
  radius_km: 100,
  reference_period: '2026-05',
  reference_year: [2025],
  population_type: ['ESTIMATED_POPULATION'],
  sex: ['F'],
  age_group: ['80+'],
  procedure_code: ['0301'],
  care_character_code: ['02'],
  financing_code: ['06'],
  complexity_code: ['02'],
  instrument_code: ['C'],
  hospital_municipality_code: ['1400100'],
  occurrence_municipality_code: ['1400100'],
  residence_municipality_code: ['1400100'],
  residence_uf: ['RR'],
  diagnosis_chapter_code: ['10'],
  cause_category_code: ['I21'],
  infant_age_code: ['early_neonatal'],
  race_code: ['01'],
  place_of_death_code: ['1'],
  mother_age_group: ['20-24'],
  weight_class_code: ['3000-3999'],
  gestation_class_code: ['37-41'],
  prenatal_visits_class_code: ['7+'],
  delivery_code: ['2'],
  care_period: ['2026-05'],
  source: ['fns'],
  stage: ['transferred_gross'],
  limit: 10,
  offset: 0,
  count: true,
  counts: true,
  level: 'state',
  detail: 'overview',
  format: 'json',
  dimensionCode: 'state',
  metricCode: 'bed_capacity_existing',
  path: 'manifest.json',
  filters: '[{"dimension":"state","operator":"EQ","value":"RR"}]',
  q: '{"metrics":["bed_capacity_existing"],"group_by":["state"]}',
}

/** Operations where a parameter of the same name needs another example. */
export const OPERATION_EXAMPLES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  getState: { ibge_code: 'RR' },
  getMunicipality: { ibge_code: '1400100' },
  getLogTile: { path: '0/000.p/1' },
  getOutlines: { format: 'geojson' },
  listDimensionValues: { search: 'acre' },
  listMunicipalities: { search: 'boa vista' },
  listHealthRegions: { search: '140' },
  listHealthMacroregions: { search: '140' },
  getProfile: { level: 'municipality', code: '1400100' },
}

const QUESTION: Json = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
}
const PLACES: Json = {
  ...QUESTION,
  order_by: [{ field: 'beds_existing_per_100k', direction: 'desc' }],
  limit: 10,
}

export const BODY_EXAMPLES: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  queryAnalytics: {
    places: { summary: 'Municipalities with the most beds for their inhabitants', value: PLACES },
    totals: {
      summary: 'States and their total',
      value: { metrics: ['facilities_count'], group_by: ['state'], totals: [[]] },
    },
  },
  explainAnalytics: { places: { summary: 'What the query would read', value: PLACES } },
  traceAnalytics: {
    cell: {
      summary: 'The records behind the beds of Boa Vista',
      value: {
        ...QUESTION,
        metrics: ['bed_capacity_existing'],
        key: { municipality: 1400100 },
        limit: 10,
      },
    },
  },
  exportAnalytics: {
    csv: { summary: 'A table with its manifest', value: { ...QUESTION, format: 'csv' } },
  },
  exportWorkbook: { workbook: { summary: 'A workbook', value: { ...QUESTION, title: 'Leitos' } } },
  createLink: {
    beds: { summary: 'Bed types as CSV', value: { address: '/v1/bed-types', form: 'csv' } },
  },
  exportWorkbookByAlias: { workbook: { summary: 'A workbook', value: QUESTION } },
}
