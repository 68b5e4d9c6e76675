/**
 * Metrics of facilities, beds, equipment and specialised services. All count only active facilities. Values only. A metric is
 * a measure (sum, count or distinct count) or a ratio of two metrics, which divides last. It has a unit, labels in Portuguese
 * and English and, unless it is the plain sum of a field, a description.
 */
import { both, count, counted, distinct, metricsOf, perCapita, ratio, share, sum } from '../declare.ts'
import type { Condition, Text } from '../types.ts'
import { ICU_BED_TYPES, INPATIENT_CATEGORIES } from './codes/icu-bed-types.ts'

const BEDS = 'bed_capacity'
const EQUIPMENT = 'equipment_inventory'
const SERVICES = 'specialized_services'

const above0 = (field: string): Condition[] => [{ field, above: 0 }]
const facilities = (
  dataset: 'facilities' | typeof BEDS | typeof EQUIPMENT | typeof SERVICES,
  where: readonly Condition[],
  label: string,
  label_en: string,
  description: Text,
) => counted(distinct(dataset, 'cnes_code', where), 'facilities', label, label_en, description)
const offerings = (where: readonly Condition[], label: string, label_en: string, description: Text) =>
  counted(count(SERVICES, where), 'offerings', label, label_en, description)
const FIELDS = {
  beds_existing: 'leitos existentes',
  beds_sus: 'leitos SUS',
  beds_non_sus: 'leitos não SUS',
  quantity_existing: 'equipamentos existentes',
  quantity_in_use: 'equipamentos em uso',
  quantity_sus: 'equipamentos disponíveis ao SUS',
} as const
const sumOf = (field: keyof typeof FIELDS): Text => both(`Soma de ${FIELDS[field]}.`, `Sum of ${field}.`)
const beds = (field: 'beds_existing' | 'beds_sus' | 'beds_non_sus', label: string, label_en: string) =>
  counted(sum(BEDS, field), 'beds', label, label_en, sumOf(field))
/** @param plural @param english name the beds of the category in both languages */
const bedsOfCategory = (category: string, kind: 'existing' | 'sus', plural: string, english: string) =>
  counted(
    sum(BEDS, `beds_${kind}`, [{ field: 'bed_category_code', equals: category }]),
    'beds',
    `Leitos ${plural} ${kind === 'sus' ? 'SUS' : 'existentes'}`,
    `${kind === 'sus' ? 'SUS' : 'Existing'} ${english} beds`,
    both(
      `Soma de ${FIELDS[`beds_${kind}`]} da categoria de leito ${category}.`,
      `Sum of beds_${kind} of bed category ${category}.`,
    ),
  )
/** Counts beds of the listed types or categories. @param plural @param english name the beds and the source of the list */
const bedsAmong = (
  field: 'bed_type_code' | 'bed_category_code',
  oneOf: readonly string[],
  kind: 'existing' | 'sus',
  plural: string,
  english: string,
  source: Text,
) =>
  counted(
    sum(BEDS, `beds_${kind}`, [{ field, oneOf }]),
    'beds',
    `${plural} ${kind === 'sus' ? 'SUS' : 'existentes'}`,
    `${kind === 'sus' ? 'SUS' : 'Existing'} ${english}`,
    both(
      `Soma de ${FIELDS[`beds_${kind}`]} ${field === 'bed_type_code' ? 'dos tipos de leito' : 'das categorias de leito'} ${oneOf.join(', ')}: ${source.pt}.`,
      `Sum of beds_${kind} of ${field === 'bed_type_code' ? 'the bed types' : 'the bed categories'} ${oneOf.join(', ')}: ${source.en}.`,
    ),
  )
const inpatient = (kind: 'existing' | 'sus') =>
  bedsAmong(
    'bed_category_code',
    INPATIENT_CATEGORIES,
    kind,
    'Leitos de internação',
    'inpatient beds',
    both(
      'todas menos a dos complementares, como o TabNet conta “leitos de internação”',
      'all but the complementary ones, as TabNet counts "leitos de internação"',
    ),
  )
const icu = (ages: keyof typeof ICU_BED_TYPES, kind: 'existing' | 'sus', plural: string, english: string) =>
  bedsAmong(
    'bed_type_code',
    ICU_BED_TYPES[ages],
    kind,
    plural,
    english,
    both(
      'os que a tabela de domínio do DATASUS e o SIGTAP chamam de UTI; queimados e unidade coronariana não entram em nenhuma idade',
      'those that the domain table of DATASUS and SIGTAP call UTI; burns and coronary units are in no age',
    ),
  )
const pieces = (
  field: 'quantity_existing' | 'quantity_in_use' | 'quantity_sus',
  label: string,
  label_en: string,
) => counted(sum(EQUIPMENT, field), 'pieces', label, label_en, sumOf(field))

// These metrics also have a rate per inhabitant, with the same unit and labels.
const BEDS_EXISTING = beds('beds_existing', 'Leitos existentes', 'Existing beds')
const BEDS_SUS = beds('beds_sus', 'Leitos SUS', 'SUS beds')
const EQUIPMENT_EXISTING = pieces('quantity_existing', 'Equipamentos existentes', 'Existing equipment')
const EQUIPMENT_IN_USE = pieces('quantity_in_use', 'Equipamentos em uso', 'Equipment in use')
const FACILITIES_COUNT = facilities(
  'facilities',
  [],
  'Estabelecimentos',
  'Facilities',
  both('Estabelecimentos ativos distintos.', 'Distinct active facilities.'),
)
const BEDS_NON_SUS = beds('beds_non_sus', 'Leitos não SUS', 'Beds outside SUS')
const FACILITIES_WITH_BEDS = facilities(
  BEDS,
  above0('beds_existing'),
  'Estabelecimentos com leitos',
  'Facilities with beds',
  both('Estabelecimentos distintos com algum leito.', 'Distinct facilities with a bed quantity above 0.'),
)
const COMPLEMENTARY_EXISTING = bedsOfCategory('3', 'existing', 'complementares', 'complementary')
const COMPLEMENTARY_SUS = bedsOfCategory('3', 'sus', 'complementares', 'complementary')
const EQUIPMENT_SUS = pieces('quantity_sus', 'Equipamentos disponíveis ao SUS', 'Equipment available to SUS')
const SERVICE_OFFERINGS = offerings(
  [],
  'Ofertas de serviço especializado',
  'Service offerings',
  both(
    'Ofertas: estabelecimento, serviço e classificação.',
    'Offerings: facility, service and classification.',
  ),
)
const FACILITIES_SUS = facilities(
  'facilities',
  [{ flag: 'offers_any_sus' }],
  'Estabelecimentos que atendem ao SUS',
  'Facilities that serve SUS',
  both(
    'Estabelecimentos distintos com leito, equipamento ou oferta ao SUS.',
    'Distinct facilities with SUS beds, SUS equipment or an SUS offering.',
  ),
)

const INPATIENT_EXISTING = inpatient('existing')
const INPATIENT_SUS = inpatient('sus')
const ICU_EXISTING = icu('all', 'existing', 'Leitos de UTI', 'intensive care beds')
const ICU_SUS = icu('all', 'sus', 'Leitos de UTI', 'intensive care beds')
const ICU_ADULT = icu('adult', 'existing', 'Leitos de UTI adulto', 'adult intensive care beds')
const ICU_NEONATAL = icu('neonatal', 'existing', 'Leitos de UTI neonatal', 'neonatal intensive care beds')
const ICU_PEDIATRIC = icu(
  'pediatric',
  'existing',
  'Leitos de UTI pediátrica',
  'paediatric intensive care beds',
)

const CORE = metricsOf('core', {
  bed_capacity_existing: BEDS_EXISTING,
  bed_capacity_sus: BEDS_SUS,
  bed_capacity_non_sus: BEDS_NON_SUS,
  beds_existing_per_100k: perCapita('bed_capacity_existing', BEDS_EXISTING),
  beds_sus_per_100k: perCapita('bed_capacity_sus', BEDS_SUS),
  equipment_existing: EQUIPMENT_EXISTING,
  equipment_in_use: EQUIPMENT_IN_USE,
  equipment_sus: EQUIPMENT_SUS,
  equipment_existing_per_100k: perCapita('equipment_existing', EQUIPMENT_EXISTING),
  equipment_in_use_per_100k: perCapita('equipment_in_use', EQUIPMENT_IN_USE),
  service_offerings: SERVICE_OFFERINGS,
  service_offerings_sus: offerings(
    [{ flag: 'offers_any_sus' }],
    'Ofertas ao SUS',
    'SUS service offerings',
    both('Ofertas marcadas para o SUS.', 'Offerings with an SUS flag.'),
  ),
  service_facilities: facilities(
    SERVICES,
    [],
    'Estabelecimentos com serviço especializado',
    'Facilities with a specialised service',
    both('Estabelecimentos distintos com alguma oferta.', 'Distinct facilities with an offering.'),
  ),
  facilities_count: FACILITIES_COUNT,
  facilities_per_100k: perCapita('facilities_count', FACILITIES_COUNT),
  facilities_with_beds: FACILITIES_WITH_BEDS,
})

const EXTENDED = metricsOf('extended', {
  beds_non_sus_per_100k: perCapita('bed_capacity_non_sus', BEDS_NON_SUS),
  beds_sus_share: share(
    'bed_capacity_sus',
    'bed_capacity_existing',
    'Participação de leitos SUS',
    'Share of SUS beds',
  ),
  beds_per_facility: ratio(
    'bed_capacity_existing',
    'facilities_with_beds',
    1,
    'beds per facility',
    'Leitos por estabelecimento com leitos',
    'Beds per facility with beds',
  ),
  facilities_with_sus_beds: facilities(
    BEDS,
    above0('beds_sus'),
    'Estabelecimentos com leitos SUS',
    'Facilities with SUS beds',
    both('Estabelecimentos distintos com algum leito SUS.', 'Distinct facilities with SUS beds above 0.'),
  ),
  facilities_with_beds_per_100k: perCapita('facilities_with_beds', FACILITIES_WITH_BEDS),
  beds_complementary_existing: COMPLEMENTARY_EXISTING,
  beds_complementary_sus: COMPLEMENTARY_SUS,
  beds_complementary_existing_per_100k: perCapita('beds_complementary_existing', COMPLEMENTARY_EXISTING),
  beds_complementary_sus_per_100k: perCapita('beds_complementary_sus', COMPLEMENTARY_SUS),
  beds_surgical_existing: bedsOfCategory('1', 'existing', 'cirúrgicos', 'surgical'),
  beds_clinical_existing: bedsOfCategory('2', 'existing', 'clínicos', 'clinical'),
  beds_obstetric_existing: bedsOfCategory('4', 'existing', 'obstétricos', 'obstetric'),
  beds_pediatric_existing: bedsOfCategory('5', 'existing', 'pediátricos', 'paediatric'),
  beds_inpatient_existing: INPATIENT_EXISTING,
  beds_inpatient_sus: INPATIENT_SUS,
  beds_inpatient_existing_per_100k: perCapita('beds_inpatient_existing', INPATIENT_EXISTING),
  beds_inpatient_sus_per_100k: perCapita('beds_inpatient_sus', INPATIENT_SUS),
  icu_beds_existing: ICU_EXISTING,
  icu_beds_sus: ICU_SUS,
  icu_beds_existing_per_100k: perCapita('icu_beds_existing', ICU_EXISTING),
  icu_beds_sus_per_100k: perCapita('icu_beds_sus', ICU_SUS),
  icu_beds_adult_existing: ICU_ADULT,
  icu_beds_adult_existing_per_100k: perCapita('icu_beds_adult_existing', ICU_ADULT),
  icu_beds_neonatal_existing: ICU_NEONATAL,
  icu_beds_neonatal_existing_per_100k: perCapita('icu_beds_neonatal_existing', ICU_NEONATAL),
  icu_beds_pediatric_existing: ICU_PEDIATRIC,
  icu_beds_pediatric_existing_per_100k: perCapita('icu_beds_pediatric_existing', ICU_PEDIATRIC),
  equipment_not_in_use: counted(
    sum(EQUIPMENT, 'quantity_existing', [], 'quantity_in_use'),
    'pieces',
    'Equipamentos fora de uso',
    'Equipment not in use',
    both(
      'Soma de equipamentos existentes menos soma de equipamentos em uso.',
      'Sum of quantity_existing less sum of quantity_in_use.',
    ),
  ),
  equipment_in_use_share: share(
    'equipment_in_use',
    'equipment_existing',
    'Participação de equipamentos em uso',
    'Share of equipment in use',
  ),
  equipment_sus_share: share(
    'equipment_sus',
    'equipment_existing',
    'Participação de equipamentos ao SUS',
    'Share of equipment available to SUS',
  ),
  equipment_sus_per_100k: perCapita('equipment_sus', { ...EQUIPMENT_SUS, label: 'Equipamentos ao SUS' }),
  equipment_per_facility: ratio(
    'equipment_existing',
    'equipment_facilities',
    1,
    'pieces per facility',
    'Equipamentos por estabelecimento com equipamentos',
    'Equipment per facility with equipment',
  ),
  equipment_facilities: facilities(
    EQUIPMENT,
    above0('quantity_existing'),
    'Estabelecimentos com o equipamento',
    'Facilities with equipment of the selection',
    both('Estabelecimentos distintos com algum equipamento.', 'Distinct facilities with a quantity above 0.'),
  ),
  equipment_sus_facilities: facilities(
    EQUIPMENT,
    above0('quantity_sus'),
    'Estabelecimentos com equipamento ao SUS',
    'Facilities with SUS equipment',
    both(
      'Estabelecimentos distintos com algum equipamento ao SUS.',
      'Distinct facilities with an SUS quantity above 0.',
    ),
  ),
  equipment_types_present: counted(
    distinct(EQUIPMENT, 'equipment_type_key', above0('quantity_existing')),
    'types',
    'Tipos de equipamento presentes',
    'Equipment types present',
    both(
      'Tipos distintos de equipamento com algum equipamento.',
      'Distinct equipment types with a quantity above 0.',
    ),
  ),
  service_offerings_ambulatory: offerings(
    [{ anyFlag: ['has_ambulatory', 'has_ambulatory_sus'] }],
    'Ofertas ambulatoriais',
    'Outpatient offerings',
    both('Ofertas ambulatoriais, do SUS ou não.', 'Offerings with has_ambulatory or has_ambulatory_sus.'),
  ),
  service_offerings_ambulatory_sus: offerings(
    [{ flag: 'has_ambulatory_sus' }],
    'Ofertas ambulatoriais ao SUS',
    'SUS outpatient offerings',
    both('Ofertas ambulatoriais ao SUS.', 'Offerings with has_ambulatory_sus.'),
  ),
  service_offerings_hospital: offerings(
    [{ anyFlag: ['has_hospital', 'has_hospital_sus'] }],
    'Ofertas hospitalares',
    'Hospital offerings',
    both('Ofertas hospitalares, do SUS ou não.', 'Offerings with has_hospital or has_hospital_sus.'),
  ),
  service_offerings_hospital_sus: offerings(
    [{ flag: 'has_hospital_sus' }],
    'Ofertas hospitalares ao SUS',
    'SUS hospital offerings',
    both('Ofertas hospitalares ao SUS.', 'Offerings with has_hospital_sus.'),
  ),
  service_offerings_outsourced: offerings(
    [{ outsourced: true }],
    'Ofertas terceirizadas',
    'Outsourced offerings',
    both(
      'Ofertas com declaração de característica 2 ou 3.',
      'Offerings with a declaration of characteristic 2 or 3.',
    ),
  ),
  service_offerings_sus_share: share(
    'service_offerings_sus',
    'service_offerings',
    'Participação de ofertas ao SUS',
    'Share of SUS offerings',
  ),
  service_offerings_per_100k: perCapita('service_offerings', {
    ...SERVICE_OFFERINGS,
    label: 'Ofertas de serviço',
  }),
  service_facilities_sus: facilities(
    SERVICES,
    [{ flag: 'offers_any_sus' }],
    'Estabelecimentos com oferta ao SUS',
    'Facilities with an SUS offering',
    both('Estabelecimentos distintos com alguma oferta ao SUS.', 'Distinct facilities with an SUS offering.'),
  ),
  service_facilities_per_100k: perCapita('service_facilities', {
    unit: 'facilities',
    label: 'Estabelecimentos com serviço',
    label_en: 'Facilities with a service',
  }),
  service_types_present: counted(
    distinct(SERVICES, 'service_code'),
    'types',
    'Tipos de serviço presentes',
    'Service types present',
    both('Serviços distintos ofertados.', 'Distinct services offered.'),
  ),
  facilities_sus: FACILITIES_SUS,
  facilities_sus_share: share(
    'facilities_sus',
    'facilities_count',
    'Participação de estabelecimentos ao SUS',
    'Share of facilities that serve SUS',
  ),
  facilities_sus_per_100k: perCapita('facilities_sus', {
    ...FACILITIES_SUS,
    label: 'Estabelecimentos ao SUS',
  }),
  facilities_linked_sus: facilities(
    'facilities',
    [{ flag: 'is_linked_sus' }],
    'Estabelecimentos vinculados ao SUS',
    'Facilities linked to SUS',
    both(
      'Estabelecimentos distintos que o cadastro vincula ao SUS (VINC_SUS dos arquivos por estado); sem dado onde os arquivos do mês não o publicam.',
      'Distinct facilities that the registry links to SUS (VINC_SUS of the files by state); null where the month’s files do not publish it.',
    ),
  ),
  facilities_with_equipment: facilities(
    'facilities',
    [{ flag: 'has_equipment' }],
    'Estabelecimentos com equipamentos',
    'Facilities with equipment',
    both(
      'Estabelecimentos distintos com algum equipamento.',
      'Distinct facilities with an equipment quantity above 0.',
    ),
  ),
  facilities_with_services: facilities(
    'facilities',
    [{ flag: 'has_services' }],
    'Estabelecimentos com serviços',
    'Facilities with services',
    both('Estabelecimentos distintos com alguma oferta.', 'Distinct facilities with an offering.'),
  ),
})

export const METRICS = { ...CORE, ...EXTENDED }
