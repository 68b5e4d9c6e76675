/** Columns of facilities, of their beds, equipment and services, and of the registry's code lists. Values only. */
import { code, flag, name, optionalCode, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

const degrees = (axis: string): Field => ({
  type: 'coordinate',
  nullable: true,
  unit: 'degrees',
  description: `${axis} as published; null when not a number or outside Brazil's box.`,
})

const optionalFlag = (description: string): Field => ({ type: 'boolean', nullable: true, description })

export const FIELDS = {
  reference_period: { type: 'period', description: 'Competence month of the published data.' },
  municipality_ibge_code: {
    type: 'integer',
    description: 'IBGE code of the managing municipality, 7 digits.',
  },

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
  management_type_name: name('Text of the management type.'),
  legal_nature_code: optionalCode('Legal nature, 4 digits; null in months that did not publish it.'),
  legal_nature_name: name('Text of the legal nature.'),
  has_beds: optionalFlag(
    'The facility has a bed quantity above 0 in the period; null where that was not collected.',
  ),
  has_equipment: optionalFlag(
    'The facility has an equipment quantity above 0 in the period; null where that was not collected.',
  ),
  has_services: optionalFlag(
    'The facility declares a specialised service in the period; null where that was not collected.',
  ),
  is_linked_sus: optionalFlag(
    'The registry’s own link to SUS (VINC_SUS), published in files by state alone; null where the month does not have it.',
  ),
  cnpj: optionalCode(
    'CNPJ of the facility: 14 digits, or letters and digits (issued since July 2026). Never a CPF.',
  ),
  maintainer_cnpj: optionalCode('CNPJ of the maintaining organisation, as the one of the facility.'),
  maintainer_name: name('Name of the maintaining organisation.'),
  address: {
    type: 'address',
    nullable: true,
    description: 'Street, number, complement, district, postal code.',
  },
  phone: optionalCode('Telephone of legal persons as published, fillers such as "( )" removed.'),
  latitude: degrees('Latitude'),
  longitude: degrees('Longitude'),
  opening_hours_code: optionalCode('Opening shift, 2 digits.'),
  opening_hours_name: name('Text of the opening shift.'),
  activity_code: optionalCode('Teaching and research activity, 2 digits.'),
  activity_name: name('Text of the teaching and research activity.'),
  activity_level: optionalCode('Level of dependence: 1 individual, 3 maintained.'),
  client_flow_code: optionalCode('Kind of clientele, 2 digits.'),
  client_flow_name: name('Text of the kind of clientele.'),
  administrative_region_code: optionalCode(
    'Administrative region of the Federal District, 7 digits as in the list of municipalities; null elsewhere.',
  ),
  administrative_region_name: name('Name of the administrative region.'),
  person_type: optionalCode('1 natural person, 3 legal person.'),
  registry_health_region_code: optionalCode(
    'Health region as the registry’s own entry says it: free text, which may differ from the region of the municipality.',
  ),
  establishment_type_code: optionalCode('Establishment type of the newer registry, 3 digits.'),
  establishment_type_name: name('Text of the establishment type.'),
  main_activity_code: optionalCode('Main activity of the newer registry, 3 digits.'),
  main_activity_name: name('Text of the main activity.'),
  coverage_type_code: optionalCode('Coverage of telehealth, 2 digits.'),
  coverage_type_name: name('Text of the coverage of telehealth.'),
  facility_subtype_code: code('Subtype within the type of facility, 3 digits.'),
  facility_subtype_name: name('Text of the subtype.'),
  is_always_open: { type: 'boolean', nullable: true, description: 'Open 24 hours a day.' },
  has_internet: { type: 'boolean', nullable: true, description: 'Connected to the internet.' },
  has_formal_contract: { type: 'boolean', nullable: true, description: 'Has a formal contract with SUS.' },
  is_coworking: { type: 'boolean', nullable: true, description: 'Shares its premises (coworking).' },
  source_updated_on: {
    type: 'date',
    nullable: true,
    description: 'Date of the last update in the registry; null before 1900.',
  },

  // code lists
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
  beds_existing: quantity('beds', 'Registered beds.'),
  beds_sus: quantity('beds', 'Beds available to SUS.'),
  beds_non_sus: quantity(
    'beds',
    'beds_existing − beds_sus; negative where the publisher registers more SUS beds than beds.',
  ),
  quantity_existing: quantity('pieces', 'Pieces of equipment existing.'),
  quantity_in_use: quantity('pieces', 'Pieces of equipment in use.'),
  quantity_sus: quantity('pieces', 'Pieces available to SUS; see quantity_sus_basis.'),
  quantity_sus_basis: code(
    'published: the publisher gives the quantity. flag: the existing quantity where tp_sus_code is 1, else 0.',
  ),
  tp_sus_code: code('Available to SUS: 1 yes, 2 no, 0 and 9 not informed.'),
  characteristic_code: optionalCode('1 own, 2 third party, 3 both.'),
  provider_kind: optionalCode(
    'Type of the code of the third-party provider; null where the month’s files do not say (by state since 2010).',
  ),
  has_ambulatory: flag('Outpatient care outside SUS (the published flag means "not SUS").'),
  has_ambulatory_sus: flag('Outpatient care for SUS.'),
  has_hospital: flag('Hospital care outside SUS (the published flag means "not SUS").'),
  has_hospital_sus: flag('Hospital care for SUS.'),
  offers_any_sus: optionalFlag(
    'Whether something is offered to SUS. A service offering has it with either SUS flag, a facility with SUS beds, SUS equipment or an SUS service. It is null where not all of these were collected and none is known.',
  ),
  declarations: {
    type: 'declarations',
    description: 'Every declaration the registry holds of this offering.',
  },
} as const satisfies Record<string, Field>
