/** The metrics of all areas, and what follows from each definition: measures, datasets, dimensions, capabilities. */

import type { Capability } from './capabilities.ts'
import { METRICS } from './declarations.ts'
import {
  capabilityOf,
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isFlow,
  isPopulation,
  twinsOf,
} from './dimensions.ts'
import type { Condition, Measure, Metric } from './types.ts'

export type { Condition, Measure } from './types.ts'

/** Version of the catalog of metrics and dimensions. It enters every release and every fingerprint. */
export const CATALOG_VERSION = 'v1.3.0'

export type MetricCode = keyof typeof METRICS
export const metricOf = (code: MetricCode): Metric => METRICS[code]
/** In catalog order: the core metrics of all areas, then the extended ones. */
export const METRIC_CODES = (Object.keys(METRICS) as MetricCode[]).sort(
  (left, right) => Number(metricOf(left).tier !== 'core') - Number(metricOf(right).tier !== 'core'),
)

export interface Sides {
  readonly numerator: Measure
  /** Subtracted from the numerator. */
  readonly less: Measure | null
  readonly denominator: Measure | null
}

/**
 * @param used dimensions of the query. A measure reads the first twin of its dataset that has all of them when the dataset
 * lacks one.
 */
export function measuresOf(code: MetricCode, used: readonly DimensionCode[] = []): Sides {
  const metric = metricOf(code)
  const carrying = (measure: Measure): Measure => {
    const carries = (dataset: FactDataset): boolean =>
      used.every((dimension) => dimensionOf(dimension).datasets.includes(dataset))
    const dataset = [measure.dataset, ...twinsOf(measure.dataset)].find(carries)
    return dataset === undefined || dataset === measure.dataset ? measure : { ...measure, dataset }
  }
  if (metric.kind !== 'ratio') return { numerator: carrying(metric.measure), less: null, denominator: null }
  const side = (name: string, where: readonly Condition[] = []): Measure => {
    const counted: Metric | undefined = METRICS[name as MetricCode]
    if (counted === undefined || counted.kind === 'ratio')
      throw new TypeError(`${code}: ${name} is no sum or count`)
    const { measure } = counted
    return carrying(
      where.length === 0 ? measure : { ...measure, where: [...(measure.where ?? []), ...where] },
    )
  }
  const numerator = side(metric.numerator, metric.numeratorPart?.where)
  const { standardizedBy } = metric
  const standardized = (measure: Measure): Measure =>
    standardizedBy === undefined ? measure : { ...measure, standardizedBy }
  return {
    numerator: standardized(
      metric.numeratorOf === undefined ? numerator : { ...numerator, dataset: metric.numeratorOf },
    ),
    less: metric.less === undefined ? null : side(metric.less),
    denominator: standardized(side(metric.denominator, metric.denominatorPart?.where)),
  }
}

/** @returns datasets whose dimensions a metric supports. A rate's population restricts only territories. */
export function factDatasetsOf(code: MetricCode, used: readonly DimensionCode[] = []): FactDataset[] {
  const { numerator, less, denominator } = measuresOf(code, used)
  const datasets = [numerator, less, denominator].flatMap((measure) =>
    measure === null ? [] : [measure.dataset],
  )
  const facts = datasets.filter((dataset) => !isPopulation(dataset))
  return [...new Set(facts.length > 0 ? facts : datasets)]
}

/** @returns dimensions to group and filter a metric by: those shared by its datasets, or by all their twins */
export function dimensionsOf(code: MetricCode): DimensionCode[] {
  const datasets = factDatasetsOf(code)
  const carriedByAll = (candidates: readonly FactDataset[]): DimensionCode[] =>
    DIMENSION_CODES.filter((dimension) =>
      candidates.every((dataset) => dimensionOf(dimension).datasets.includes(dataset)),
    )
  const supported = new Set([datasets, ...twinsOfAll(datasets)].flatMap(carriedByAll))
  return DIMENSION_CODES.filter((dimension) => supported.has(dimension) && !excludes(code, dimension))
}

/** @returns for each position in the lists of twins, the twins of all datasets; none where a dataset has no such twin */
export function twinsOfAll(datasets: readonly FactDataset[]): FactDataset[][] {
  const twins = datasets.map(twinsOf)
  const count = Math.min(...twins.map(({ length }) => length))
  return Array.from({ length: count }, (_, position) => twins.flatMap((list) => list[position] ?? []))
}

/**
 * @returns whether a metric has no value by a dimension of its datasets: by age where it sums over ages with a standard
 * population, by race where it divides by residents, whose race the population lacks, and where its declaration says so
 */
export function excludes(code: MetricCode, dimension: DimensionCode): boolean {
  const metric = metricOf(code)
  if (metric.kind !== 'ratio') return false
  if (metric.standardizedBy !== undefined && dimension === 'age_group') return true
  return (dimension === 'race' && isOfResidents(code)) || (metric.without ?? []).includes(dimension)
}

/** @returns whether a metric is summed over months. Then a query over several months needs no aggregation rule. */
export const isFlowMetric = (code: MetricCode): boolean =>
  Object.values(measuresOf(code)).every(
    (measure) => measure === null || isPopulation(measure.dataset) || isFlowMeasure(measure),
  ) && factDatasetsOf(code).some((dataset) => !isPopulation(dataset))
export const isFlowMeasure = ({ dataset, timesDays }: Measure): boolean =>
  timesDays === true || isFlow(dataset)

/** @returns the divisor for a metric's stored numbers: money is stored in cents and shown in reais */
export function unitOf(code: MetricCode): number {
  const metric = metricOf(code)
  const isMoney = (candidate: Metric): boolean => candidate.kind !== 'ratio' && candidate.isMoney === true
  if (metric.kind !== 'ratio') return isMoney(metric) ? 100 : 1
  return isMoney(metricOf(metric.numerator as MetricCode)) &&
    !isMoney(metricOf(metric.denominator as MetricCode))
    ? 100
    : 1
}
export const decimalsOfMetric = (code: MetricCode): number => {
  const metric = metricOf(code)
  return metric.kind === 'ratio' ? metric.decimals : unitOf(code) === 1 ? 0 : 2
}

export function isLifeExpectancy(code: MetricCode): boolean {
  const metric = metricOf(code)
  return metric.kind === 'ratio' && metric.isLifeExpectancy === true
}

/** @returns the capabilities that a key needs for a metric; rates do not need demography.read */
export const capabilitiesOf = (code: MetricCode): Capability[] => factDatasetsOf(code).map(capabilityOf)
/** @returns whether a metric is a rate per inhabitant; its denominator covers a territory, so no facility has one */
export const isPerCapita = (code: MetricCode): boolean =>
  measuresOf(code).denominator?.dataset === 'population' && factDatasetsOf(code)[0] !== 'population'
/** @returns whether a metric is a rate per resident of a territory, from any population source */
export function isOfResidents(code: MetricCode): boolean {
  const { numerator, denominator } = measuresOf(code)
  return denominator !== null && isPopulation(denominator.dataset) && !isPopulation(numerator.dataset)
}
