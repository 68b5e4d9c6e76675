/**
 * The 55 metrics: sums, counts, distinct counts, and ratios of two of those. Values only; everything counts active
 * facilities. A ratio keeps its two sides and divides last, at the level asked for.
 */
import type { Capability } from './capabilities.ts'
import type { FactDataset } from './dimensions.ts'

/** Restricts the rows a measure counts. */
export type Condition =
  | { readonly field: string; readonly above: number }
  | { readonly field: string; readonly equals: string }
  | { readonly flag: string }
  | { readonly anyFlag: readonly [string, string] }
  | { readonly outsourced: true }
  | { readonly populationType: 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION' }

/** What is added up or counted over the rows of one dataset. */
export interface Measure {
  readonly dataset: FactDataset
  readonly kind: 'sum' | 'count' | 'distinct'
  /** Field summed, or whose values are counted once; of 'count', none. */
  readonly field?: string
  /** Sum of field less sum of this one. */
  readonly minus?: string
  readonly where?: readonly Condition[]
}

interface MetricBase {
  readonly label: string
  readonly label_en: string
  readonly description: string
  readonly unit: string
  readonly tier: 'core' | 'extended'
}
export interface CountMetric extends MetricBase {
  readonly kind: 'sum' | 'count' | 'distinct'
  readonly measure: Measure
}
export interface RatioMetric extends MetricBase {
  readonly kind: 'ratio'
  readonly numerator: string
  /** Subtracted from the numerator. */
  readonly less?: string
  readonly denominator: string
  readonly scale: number
  readonly decimals: 2
}
export type Metric = CountMetric | RatioMetric

const sum = (
  dataset: FactDataset,
  field: string,
  where: readonly Condition[] = [],
  minus?: string,
): Measure => ({ dataset, kind: 'sum', field, where, ...(minus === undefined ? {} : { minus }) })
const distinct = (dataset: FactDataset, field: string, where: readonly Condition[] = []): Measure => ({
  dataset,
  kind: 'distinct',
  field,
  where,
})
const count = (dataset: FactDataset, where: readonly Condition[] = []): Measure => ({
  dataset,
  kind: 'count',
  where,
})
const counted = (
  tier: 'core' | 'extended',
  measure: Measure,
  unit: string,
  label: string,
  label_en: string,
  description: string,
): CountMetric => ({ kind: measure.kind, measure, tier, unit, label, label_en, description })
const ratio = (
  tier: 'core' | 'extended',
  numerator: string,
  denominator: string,
  scale: number,
  unit: string,
  label: string,
  label_en: string,
  less?: string,
): RatioMetric => ({
  kind: 'ratio',
  numerator,
  denominator,
  scale,
  decimals: 2,
  tier,
  unit,
  label,
  label_en,
  description: `${label_en}: ${scale === 1 ? '' : `${scale} × `}${less === undefined ? numerator : `(${numerator} − ${less})`} ÷ ${denominator}, divided once at the level asked for.`,
  ...(less === undefined ? {} : { less }),
})
const perPeople = (
  tier: 'core' | 'extended',
  numerator: string,
  unit: string,
  label: string,
  label_en: string,
): RatioMetric =>
  ratio(
    tier,
    numerator,
    'population_census',
    100_000,
    `${unit} per 100,000 inhabitants`,
    `${label} por 100 mil habitantes`,
    `${label_en} per 100,000 inhabitants`,
  )
const share = (numerator: string, denominator: string, label: string, label_en: string): RatioMetric =>
  ratio('extended', numerator, denominator, 100, '%', label, label_en)

const BEDS = 'bed_capacity'
const EQUIPMENT = 'equipment_inventory'
const SERVICES = 'specialized_services'
const categoryBeds = (
  code: string,
  field: 'beds_existing' | 'beds_sus',
  label: string,
  label_en: string,
): CountMetric =>
  counted(
    'extended',
    sum(BEDS, field, [{ field: 'bed_category_code', equals: code }]),
    'beds',
    label,
    label_en,
    `Sum of ${field} of bed category ${code}.`,
  )

export const METRICS = {
  bed_capacity_existing: counted(
    'core',
    sum(BEDS, 'beds_existing'),
    'beds',
    'Leitos existentes',
    'Existing beds',
    'Sum of beds_existing.',
  ),
  bed_capacity_sus: counted(
    'core',
    sum(BEDS, 'beds_sus'),
    'beds',
    'Leitos SUS',
    'SUS beds',
    'Sum of beds_sus.',
  ),
  bed_capacity_non_sus: counted(
    'core',
    sum(BEDS, 'beds_non_sus'),
    'beds',
    'Leitos não SUS',
    'Beds outside SUS',
    'Sum of beds_non_sus.',
  ),
  beds_existing_per_100k: perPeople(
    'core',
    'bed_capacity_existing',
    'beds',
    'Leitos existentes',
    'Existing beds',
  ),
  beds_sus_per_100k: perPeople('core', 'bed_capacity_sus', 'beds', 'Leitos SUS', 'SUS beds'),
  equipment_existing: counted(
    'core',
    sum(EQUIPMENT, 'quantity_existing'),
    'pieces',
    'Equipamentos existentes',
    'Existing equipment',
    'Sum of quantity_existing.',
  ),
  equipment_in_use: counted(
    'core',
    sum(EQUIPMENT, 'quantity_in_use'),
    'pieces',
    'Equipamentos em uso',
    'Equipment in use',
    'Sum of quantity_in_use.',
  ),
  equipment_sus: counted(
    'core',
    sum(EQUIPMENT, 'quantity_sus'),
    'pieces',
    'Equipamentos disponíveis ao SUS',
    'Equipment available to SUS',
    'Sum of quantity_sus.',
  ),
  equipment_existing_per_100k: perPeople(
    'core',
    'equipment_existing',
    'pieces',
    'Equipamentos existentes',
    'Existing equipment',
  ),
  equipment_in_use_per_100k: perPeople(
    'core',
    'equipment_in_use',
    'pieces',
    'Equipamentos em uso',
    'Equipment in use',
  ),
  service_offerings: counted(
    'core',
    count(SERVICES),
    'offerings',
    'Ofertas de serviço especializado',
    'Service offerings',
    'Offerings: facility, service and classification.',
  ),
  service_offerings_sus: counted(
    'core',
    count(SERVICES, [{ flag: 'offers_any_sus' }]),
    'offerings',
    'Ofertas ao SUS',
    'SUS service offerings',
    'Offerings with an SUS flag.',
  ),
  service_facilities: counted(
    'core',
    distinct(SERVICES, 'cnes_code'),
    'facilities',
    'Estabelecimentos com serviço especializado',
    'Facilities with a specialised service',
    'Distinct facilities with an offering.',
  ),
  facilities_count: counted(
    'core',
    distinct('facilities', 'cnes_code'),
    'facilities',
    'Estabelecimentos',
    'Facilities',
    'Distinct active facilities.',
  ),
  facilities_per_100k: perPeople('core', 'facilities_count', 'facilities', 'Estabelecimentos', 'Facilities'),
  facilities_with_beds: counted(
    'core',
    distinct(BEDS, 'cnes_code', [{ field: 'beds_existing', above: 0 }]),
    'facilities',
    'Estabelecimentos com leitos',
    'Facilities with beds',
    'Distinct facilities with a bed quantity above 0.',
  ),
  population_census: counted(
    'core',
    sum('population', 'population', [{ populationType: 'CENSUS_POPULATION' }]),
    'inhabitants',
    'População do censo',
    'Census population',
    'Population of the newest census of the release.',
  ),
  population_estimated: counted(
    'core',
    sum('population', 'population', [{ populationType: 'ESTIMATED_POPULATION' }]),
    'inhabitants',
    'População estimada',
    'Estimated population',
    'Population of the newest estimate of the release.',
  ),

  beds_non_sus_per_100k: perPeople(
    'extended',
    'bed_capacity_non_sus',
    'beds',
    'Leitos não SUS',
    'Beds outside SUS',
  ),
  beds_sus_share: share(
    'bed_capacity_sus',
    'bed_capacity_existing',
    'Participação de leitos SUS',
    'Share of SUS beds',
  ),
  beds_per_facility: ratio(
    'extended',
    'bed_capacity_existing',
    'facilities_with_beds',
    1,
    'beds per facility',
    'Leitos por estabelecimento com leitos',
    'Beds per facility with beds',
  ),
  facilities_with_sus_beds: counted(
    'extended',
    distinct(BEDS, 'cnes_code', [{ field: 'beds_sus', above: 0 }]),
    'facilities',
    'Estabelecimentos com leitos SUS',
    'Facilities with SUS beds',
    'Distinct facilities with SUS beds above 0.',
  ),
  facilities_with_beds_per_100k: perPeople(
    'extended',
    'facilities_with_beds',
    'facilities',
    'Estabelecimentos com leitos',
    'Facilities with beds',
  ),
  beds_complementary_existing: categoryBeds(
    '3',
    'beds_existing',
    'Leitos complementares existentes',
    'Existing complementary beds',
  ),
  beds_complementary_sus: categoryBeds(
    '3',
    'beds_sus',
    'Leitos complementares SUS',
    'SUS complementary beds',
  ),
  beds_complementary_existing_per_100k: perPeople(
    'extended',
    'beds_complementary_existing',
    'beds',
    'Leitos complementares existentes',
    'Existing complementary beds',
  ),
  beds_complementary_sus_per_100k: perPeople(
    'extended',
    'beds_complementary_sus',
    'beds',
    'Leitos complementares SUS',
    'SUS complementary beds',
  ),
  beds_surgical_existing: categoryBeds(
    '1',
    'beds_existing',
    'Leitos cirúrgicos existentes',
    'Existing surgical beds',
  ),
  beds_clinical_existing: categoryBeds(
    '2',
    'beds_existing',
    'Leitos clínicos existentes',
    'Existing clinical beds',
  ),
  beds_obstetric_existing: categoryBeds(
    '4',
    'beds_existing',
    'Leitos obstétricos existentes',
    'Existing obstetric beds',
  ),
  beds_pediatric_existing: categoryBeds(
    '5',
    'beds_existing',
    'Leitos pediátricos existentes',
    'Existing paediatric beds',
  ),
  equipment_not_in_use: counted(
    'extended',
    sum(EQUIPMENT, 'quantity_existing', [], 'quantity_in_use'),
    'pieces',
    'Equipamentos fora de uso',
    'Equipment not in use',
    'Sum of quantity_existing less sum of quantity_in_use.',
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
  equipment_sus_per_100k: perPeople(
    'extended',
    'equipment_sus',
    'pieces',
    'Equipamentos ao SUS',
    'Equipment available to SUS',
  ),
  equipment_per_facility: ratio(
    'extended',
    'equipment_existing',
    'equipment_facilities',
    1,
    'pieces per facility',
    'Equipamentos por estabelecimento com equipamentos',
    'Equipment per facility with equipment',
  ),
  equipment_facilities: counted(
    'extended',
    distinct(EQUIPMENT, 'cnes_code', [{ field: 'quantity_existing', above: 0 }]),
    'facilities',
    'Estabelecimentos com o equipamento',
    'Facilities with equipment of the selection',
    'Distinct facilities with a quantity above 0.',
  ),
  equipment_sus_facilities: counted(
    'extended',
    distinct(EQUIPMENT, 'cnes_code', [{ field: 'quantity_sus', above: 0 }]),
    'facilities',
    'Estabelecimentos com equipamento ao SUS',
    'Facilities with SUS equipment',
    'Distinct facilities with an SUS quantity above 0.',
  ),
  equipment_types_present: counted(
    'extended',
    distinct(EQUIPMENT, 'equipment_type_key', [{ field: 'quantity_existing', above: 0 }]),
    'types',
    'Tipos de equipamento presentes',
    'Equipment types present',
    'Distinct equipment types with a quantity above 0.',
  ),
  service_offerings_ambulatory: counted(
    'extended',
    count(SERVICES, [{ anyFlag: ['has_ambulatory', 'has_ambulatory_sus'] }]),
    'offerings',
    'Ofertas ambulatoriais',
    'Outpatient offerings',
    'Offerings with has_ambulatory or has_ambulatory_sus.',
  ),
  service_offerings_ambulatory_sus: counted(
    'extended',
    count(SERVICES, [{ flag: 'has_ambulatory_sus' }]),
    'offerings',
    'Ofertas ambulatoriais ao SUS',
    'SUS outpatient offerings',
    'Offerings with has_ambulatory_sus.',
  ),
  service_offerings_hospital: counted(
    'extended',
    count(SERVICES, [{ anyFlag: ['has_hospital', 'has_hospital_sus'] }]),
    'offerings',
    'Ofertas hospitalares',
    'Hospital offerings',
    'Offerings with has_hospital or has_hospital_sus.',
  ),
  service_offerings_hospital_sus: counted(
    'extended',
    count(SERVICES, [{ flag: 'has_hospital_sus' }]),
    'offerings',
    'Ofertas hospitalares ao SUS',
    'SUS hospital offerings',
    'Offerings with has_hospital_sus.',
  ),
  service_offerings_outsourced: counted(
    'extended',
    count(SERVICES, [{ outsourced: true }]),
    'offerings',
    'Ofertas terceirizadas',
    'Outsourced offerings',
    'Offerings with a declaration of characteristic 2 or 3.',
  ),
  service_offerings_sus_share: share(
    'service_offerings_sus',
    'service_offerings',
    'Participação de ofertas ao SUS',
    'Share of SUS offerings',
  ),
  service_offerings_per_100k: perPeople(
    'extended',
    'service_offerings',
    'offerings',
    'Ofertas de serviço',
    'Service offerings',
  ),
  service_facilities_sus: counted(
    'extended',
    distinct(SERVICES, 'cnes_code', [{ flag: 'offers_any_sus' }]),
    'facilities',
    'Estabelecimentos com oferta ao SUS',
    'Facilities with an SUS offering',
    'Distinct facilities with an SUS offering.',
  ),
  service_facilities_per_100k: perPeople(
    'extended',
    'service_facilities',
    'facilities',
    'Estabelecimentos com serviço',
    'Facilities with a service',
  ),
  service_types_present: counted(
    'extended',
    distinct(SERVICES, 'service_code'),
    'types',
    'Tipos de serviço presentes',
    'Service types present',
    'Distinct services offered.',
  ),
  facilities_sus: counted(
    'extended',
    distinct('facilities', 'cnes_code', [{ flag: 'offers_any_sus' }]),
    'facilities',
    'Estabelecimentos que atendem ao SUS',
    'Facilities that serve SUS',
    'Distinct facilities with SUS beds, SUS equipment or an SUS offering.',
  ),
  facilities_sus_share: share(
    'facilities_sus',
    'facilities_count',
    'Participação de estabelecimentos ao SUS',
    'Share of facilities that serve SUS',
  ),
  facilities_sus_per_100k: perPeople(
    'extended',
    'facilities_sus',
    'facilities',
    'Estabelecimentos ao SUS',
    'Facilities that serve SUS',
  ),
  facilities_with_equipment: counted(
    'extended',
    distinct('facilities', 'cnes_code', [{ flag: 'has_equipment' }]),
    'facilities',
    'Estabelecimentos com equipamentos',
    'Facilities with equipment',
    'Distinct facilities with an equipment quantity above 0.',
  ),
  facilities_with_services: counted(
    'extended',
    distinct('facilities', 'cnes_code', [{ flag: 'has_services' }]),
    'facilities',
    'Estabelecimentos com serviços',
    'Facilities with services',
    'Distinct facilities with an offering.',
  ),
  population_growth_since_census: ratio(
    'extended',
    'population_estimated',
    'population_census',
    100,
    '%',
    'Crescimento da população desde o censo',
    'Population growth since the census',
    'population_census',
  ),
} as const satisfies Record<string, Metric>

/** Version of the catalog of metrics and dimensions: part of every release and fingerprint. */
export const CATALOG_VERSION = 'v1.1.0'

export type MetricCode = keyof typeof METRICS
export const METRIC_CODES = Object.keys(METRICS) as MetricCode[]
export const metricOf = (code: MetricCode): Metric => METRICS[code]

/** Measures of a metric: its own, or those of a ratio's sides. */
export function measuresOf(code: MetricCode): {
  readonly numerator: Measure
  readonly less: Measure | null
  readonly denominator: Measure | null
} {
  const metric = metricOf(code)
  if (metric.kind !== 'ratio') return { numerator: metric.measure, less: null, denominator: null }
  const side = (name: string): Measure => {
    const of = METRICS[name as MetricCode]
    if (of === undefined || of.kind === 'ratio') throw new TypeError(`${code}: ${name} is no sum or count`)
    return of.measure
  }
  return {
    numerator: side(metric.numerator),
    less: metric.less === undefined ? null : side(metric.less),
    denominator: side(metric.denominator),
  }
}

/** Datasets whose dimensions a metric has: those of its facts; the population of a rate restricts nothing but place. */
export function factDatasetsOf(code: MetricCode): FactDataset[] {
  const { numerator, less, denominator } = measuresOf(code)
  const datasets = [numerator, less, denominator].flatMap((measure) =>
    measure === null ? [] : [measure.dataset],
  )
  const facts = datasets.filter((dataset) => dataset !== 'population')
  return [...new Set(facts.length > 0 ? facts : datasets)]
}

const CAPABILITY: Readonly<Record<FactDataset, Capability>> = {
  facilities: 'facilities.read',
  bed_capacity: 'bed_capacity.read',
  equipment_inventory: 'equipment_inventory.read',
  specialized_services: 'specialized_services.read',
  population: 'demography.read',
}

/** What a key needs for the facts of a dataset. */
export const capabilityOf = (dataset: FactDataset): Capability => CAPABILITY[dataset]
/** What a key needs for a metric; rates need no demography.read. */
export const capabilitiesOf = (code: MetricCode): Capability[] =>
  factDatasetsOf(code).map((dataset) => CAPABILITY[dataset])
/** Rates by people: their denominator is a whole territory, so they cannot be grouped by facility. */
export const isPerPeople = (code: MetricCode): boolean =>
  measuresOf(code).denominator?.dataset === 'population' && factDatasetsOf(code)[0] !== 'population'
