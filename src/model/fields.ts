/**
 * Every column once: type, unit, description. Datasets pick fields by name, so equal names mean equal things.
 *
 * Values only. The same spelling goes from Parquet to JSON: there is no renaming layer.
 */
export type FieldType =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'coordinate' // degrees, the only DOUBLE
  | 'date' // YYYY-MM-DD
  | 'period' // YYYYMM in Parquet paths, YYYY-MM in JSON
  | 'address' // struct of five strings
  | 'declarations' // list of structs, specialised services

export interface Field {
  readonly type: FieldType
  readonly nullable?: boolean
  readonly unit?: string
  readonly description: string
}

const code = (description: string): Field => ({ type: 'string', description })
const optionalCode = (description: string): Field => ({ type: 'string', nullable: true, description })
const name = (description: string): Field => ({ type: 'string', nullable: true, description })
const count = (unit: string, description: string): Field => ({ type: 'integer', unit, description })
const flag = (description: string): Field => ({ type: 'boolean', description })

export const FIELDS = {
  // keys and geography
  reference_period: { type: 'period', description: 'Competence month of the published data.' },
  uf: { type: 'string', description: 'Two-letter abbreviation of the state.' },
  state_ibge_code: { type: 'integer', description: 'IBGE code of the state, 2 digits.' },
  state_name: { type: 'string', description: 'Name of the state.' },
  region_code: { type: 'integer', description: 'IBGE code of the major region, 1 to 5.' },
  region_name: { type: 'string', description: 'Name of the major region.' },
  ibge_code: { type: 'integer', description: 'IBGE code: 2 digits for a state, 7 for a municipality.' },
  name: { type: 'string', description: 'Official name.' },
  municipality_count: count('municipalities', 'Municipalities of the state.'),
  territorial_type: code(
    'MUNICIPALITY, ADMINISTRATIVE_REGION (Federal District, as CNES codes them) or IGNORED (municipality not known).',
  ),
  municipality_ibge_code: {
    type: 'integer',
    description: 'IBGE code of the managing municipality, 7 digits.',
  },
  municipality_name: name('Name of the managing municipality.'),
  municipality_code: code('IBGE code of the municipality, 7 digits, as text.'),
  reference_year: { type: 'integer', unit: 'year', description: 'Year the population refers to.' },
  population_type: code('CENSUS_POPULATION or ESTIMATED_POPULATION.'),
  population: count('inhabitants', 'Resident population.'),

  // facilities
  cnes_code: code('Code of the facility in the national registry (CNES), 7 digits.'),
  facility_name: name('Trade name of the facility, else its legal name.'),
  legal_name: name('Legal name. Null where the published files carry none.'),
  trade_name: name('Trade name. Null where the published files carry none.'),
  is_active: flag('False when the registry carries a reason of closing.'),
  deactivation_reason_code: optionalCode('Reason of closing, 2 digits; null for active facilities.'),
  deactivation_reason_name: name('Text of the reason of closing.'),
  facility_type_code: optionalCode('Type of facility, 2 digits.'),
  facility_type_name: name('Text of the type of facility.'),
  management_type: optionalCode('M municipal, E state, D both, S none.'),
  legal_nature_code: optionalCode('Legal nature, 4 digits; null in months that did not publish it.'),
  legal_nature_name: name('Text of the legal nature.'),
  has_beds: flag('The facility has a bed quantity above 0 in the period.'),
  has_equipment: flag('The facility has an equipment quantity above 0 in the period.'),
  has_services: flag('The facility declares a specialised service in the period.'),
  cnpj: optionalCode('CNPJ of the facility, 14 digits. Never a CPF.'),
  maintainer_cnpj: optionalCode('CNPJ of the maintaining organisation, 14 digits.'),
  maintainer_name: name('Name of the maintaining organisation.'),
  address: {
    type: 'address',
    nullable: true,
    description: 'Street, number, complement, district, postal code.',
  },
  phone: optionalCode('Telephone of legal persons as published, fillers such as "( )" removed.'),
  latitude: {
    type: 'coordinate',
    nullable: true,
    unit: 'degrees',
    description: "Latitude as published; null when not a number or outside Brazil's box.",
  },
  longitude: {
    type: 'coordinate',
    nullable: true,
    unit: 'degrees',
    description: "Longitude as published; null when not a number or outside Brazil's box.",
  },
  opening_hours_code: optionalCode('Opening shift, 2 digits.'),
  opening_hours_name: name('Text of the opening shift.'),
  activity_code: optionalCode('Teaching and research activity, 2 digits.'),
  activity_level: optionalCode('Level of dependence: 1 individual, 3 maintained.'),
  client_flow_code: optionalCode('Kind of clientele, 2 digits.'),
  person_type: optionalCode('1 natural person, 3 legal person.'),
  health_region_code: optionalCode('Health region as published.'),
  establishment_type_code: optionalCode('Establishment type of the newer registry, 3 digits.'),
  main_activity_code: optionalCode('Main activity of the newer registry, 3 digits.'),
  coverage_type_code: optionalCode('Territorial coverage, 2 digits.'),
  is_always_open: { type: 'boolean', nullable: true, description: 'Open 24 hours a day.' },
  has_internet: { type: 'boolean', nullable: true, description: 'Connected to the internet.' },
  has_formal_contract: { type: 'boolean', nullable: true, description: 'Has a formal contract with SUS.' },
  is_coworking: { type: 'boolean', nullable: true, description: 'Shares its premises (coworking).' },
  source_updated_on: {
    type: 'date',
    nullable: true,
    description: 'Date of the last update in the registry; null before 1900.',
  },

  // catalogs
  bed_type_code: code('Bed type (specialty), 2 digits.'),
  bed_type_name: name('Text of the bed type; null when the catalog of the month lacks the code.'),
  bed_category_code: code('Bed category, 1 digit.'),
  bed_category_name: name('Text of the bed category.'),
  category_code: code('Equipment category, 2 digits.'),
  category_name: name('Text of the equipment category.'),
  equipment_code: code('Equipment code within its category, 2 digits.'),
  equipment_name: name('Text of the equipment type; null when the catalog of the month lacks the code.'),
  equipment_type_key: code('category_code:equipment_code.'),
  renem_code: optionalCode('RENEM code; null where the publisher gives none.'),
  service_code: code('Specialised service, 3 digits.'),
  service_name: name('Text of the service.'),
  classification_code: code('Classification within the service, 3 digits.'),
  classification_name: name('Text of the classification.'),
  classification_key: code('service_code:classification_code.'),

  // facts
  beds_existing: count('beds', 'Registered beds.'),
  beds_sus: count('beds', 'Beds available to SUS.'),
  beds_non_sus: count(
    'beds',
    'beds_existing − beds_sus; negative where the publisher registers more SUS beds than beds.',
  ),
  quantity_existing: count('pieces', 'Pieces of equipment existing.'),
  quantity_in_use: count('pieces', 'Pieces of equipment in use.'),
  quantity_sus: count('pieces', 'Pieces available to SUS; see quantity_sus_basis.'),
  quantity_sus_basis: code(
    'published: the publisher gives the quantity. flag: the existing quantity where tp_sus_code is 1, else 0.',
  ),
  tp_sus_code: code('Available to SUS: 1 yes, 2 no, 0 and 9 not informed.'),
  characteristic_code: optionalCode('1 own, 2 third party, 3 both.'),
  provider_kind: code('What the code of the third-party provider is.'),
  has_ambulatory: flag('Outpatient care outside SUS (the published flag means "not SUS").'),
  has_ambulatory_sus: flag('Outpatient care for SUS.'),
  has_hospital: flag('Hospital care outside SUS (the published flag means "not SUS").'),
  has_hospital_sus: flag('Hospital care for SUS.'),
  offers_any_sus: flag(
    'Something offered to SUS. Of a service: either SUS flag. Of a facility: SUS beds, SUS equipment or an SUS service.',
  ),
  declarations: {
    type: 'declarations',
    description: 'Every declaration the registry holds of this offering.',
  },

  // columns for the engine, never shown
  search_text: { type: 'string', description: 'Names in lower case without accents.' },
  source_file: {
    type: 'string',
    nullable: true,
    description: 'Published file the row came from; null for built-in code lists.',
  },
  source_row: { type: 'integer', nullable: true, description: 'Row of the published file, header = 1.' },
  source_column: { type: 'string', nullable: true, description: 'Column of the published file.' },
  raw_value: { type: 'string', nullable: true, description: 'The published cell.' },
} as const satisfies Record<string, Field>

export type FieldName = keyof typeof FIELDS

/** @returns the declaration of a field, with optional members visible to the type checker */
export const fieldOf = (fieldName: FieldName): Field => FIELDS[fieldName]
