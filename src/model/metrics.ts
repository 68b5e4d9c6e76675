/** The metrics of all areas, and what follows from a metric's definition: its measures, datasets, capabilities. */
import { METRICS } from './areas.ts'
import type { Capability } from './capabilities.ts'
import {
  capabilityOf,
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isFlow,
  isPopulation,
  twinOf,
} from './dimensions.ts'
import type { Measure, Metric } from './types.ts'

export type { Condition, Measure } from './types.ts'

/** Version of the catalog of metrics and dimensions: part of every release and fingerprint. */
export const CATALOG_VERSION = 'v1.2.0'

export type MetricCode = keyof typeof METRICS
export const metricOf = (code: MetricCode): Metric => METRICS[code]
/** In the order of the catalog: the core metrics of all areas, then the others. */
export const METRIC_CODES = (Object.keys(METRICS) as MetricCode[]).sort(
  (left, right) => Number(metricOf(left).tier !== 'core') - Number(metricOf(right).tier !== 'core'),
)

/** Measures of a metric's sides: its own, or those of a ratio's two metrics. */
export interface Sides {
  readonly numerator: Measure
  /** Subtracted from the numerator. */
  readonly less: Measure | null
  readonly denominator: Measure | null
}

/**
 * @param used dimensions of a query: where the dataset of a measure lacks one of them and its twin has all, the twin is read
 * @returns measures of a metric
 */
export function measuresOf(code: MetricCode, used: readonly DimensionCode[] = []): Sides {
  const metric = metricOf(code)
  const carrying = (measure: Measure): Measure => {
    const twin = twinOf(measure.dataset)
    const carries = (dataset: FactDataset): boolean =>
      used.every((dimension) => dimensionOf(dimension).datasets.includes(dataset))
    return twin !== null && !carries(measure.dataset) && carries(twin)
      ? { ...measure, dataset: twin }
      : measure
  }
  if (metric.kind !== 'ratio') return { numerator: carrying(metric.measure), less: null, denominator: null }
  const side = (name: string): Measure => {
    const counted: Metric | undefined = METRICS[name as MetricCode]
    if (counted === undefined || counted.kind === 'ratio')
      throw new TypeError(`${code}: ${name} is no sum or count`)
    return carrying(counted.measure)
  }
  const numerator = side(metric.numerator)
  const { standardizedBy } = metric
  const standardized = (measure: Measure): Measure =>
    standardizedBy === undefined ? measure : { ...measure, standardizedBy }
  return {
    numerator: standardized(
      metric.numeratorOf === undefined ? numerator : { ...numerator, dataset: metric.numeratorOf },
    ),
    less: metric.less === undefined ? null : side(metric.less),
    denominator: standardized(side(metric.denominator)),
  }
}

/** Datasets whose dimensions a metric has: those of its facts; the population of a rate restricts nothing but place. */
export function factDatasetsOf(code: MetricCode, used: readonly DimensionCode[] = []): FactDataset[] {
  const { numerator, less, denominator } = measuresOf(code, used)
  const datasets = [numerator, less, denominator].flatMap((measure) =>
    measure === null ? [] : [measure.dataset],
  )
  const facts = datasets.filter((dataset) => !isPopulation(dataset))
  return [...new Set(facts.length > 0 ? facts : datasets)]
}

/** Dimensions a metric can be grouped and filtered by: those of all its datasets, or of the twin of its only one. */
export function dimensionsOf(code: MetricCode): DimensionCode[] {
  const datasets = factDatasetsOf(code)
  const carried = (own: readonly FactDataset[]): DimensionCode[] =>
    DIMENSION_CODES.filter((dimension) =>
      own.every((dataset) => dimensionOf(dimension).datasets.includes(dataset)),
    )
  const twins = datasets.map(twinOf)
  const also = twins.every((twin) => twin !== null) ? carried(twins as FactDataset[]) : []
  const own = new Set([...carried(datasets), ...also])
  return DIMENSION_CODES.filter((dimension) => own.has(dimension) && !isStandardizedOver(code, dimension))
}

/** Ages are what a standardized rate is added up over, so it has none of its own. */
export function isStandardizedOver(code: MetricCode, dimension: DimensionCode): boolean {
  const metric = metricOf(code)
  return metric.kind === 'ratio' && metric.standardizedBy !== undefined && dimension === 'age_group'
}

/** Is a metric added up over months? Then it may be of several without saying how they become one value. */
export const isFlowMetric = (code: MetricCode): boolean =>
  Object.values(measuresOf(code)).every(
    (measure) => measure === null || isPopulation(measure.dataset) || isFlowMeasure(measure),
  ) && factDatasetsOf(code).some((dataset) => !isPopulation(dataset))
export const isFlowMeasure = ({ dataset, timesDays }: Measure): boolean =>
  timesDays === true || isFlow(dataset)

/** What one of a metric's numbers is divided by: cents are shown in reais. */
export function unitOf(code: MetricCode): number {
  const metric = metricOf(code)
  const isMoney = (own: Metric): boolean => own.kind !== 'ratio' && own.isMoney === true
  if (metric.kind !== 'ratio') return isMoney(metric) ? 100 : 1
  return isMoney(metricOf(metric.numerator as MetricCode)) &&
    !isMoney(metricOf(metric.denominator as MetricCode))
    ? 100
    : 1
}
/** Decimals that a metric is shown with; an average over months of whole numbers has two more. */
export const decimalsOfMetric = (code: MetricCode): number => {
  const metric = metricOf(code)
  return metric.kind === 'ratio' ? metric.decimals : unitOf(code) === 1 ? 0 : 2
}

/** What a key needs for a metric; rates need no demography.read. */
export const capabilitiesOf = (code: MetricCode): Capability[] => factDatasetsOf(code).map(capabilityOf)
/** Rates by inhabitants of a census or an estimate: their denominator is a whole territory, so they cannot be grouped by facility. */
export const isPerCapita = (code: MetricCode): boolean =>
  measuresOf(code).denominator?.dataset === 'population' && factDatasetsOf(code)[0] !== 'population'
/** Rates by the residents of a whole territory, whichever source counts these. */
export const isOfResidents = (code: MetricCode): boolean =>
  isPerCapita(code) || measuresOf(code).denominator?.standardizedBy !== undefined
