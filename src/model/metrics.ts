/** The metrics of all areas, and what follows from a metric's definition: its measures, datasets, capabilities. */
import { METRICS } from './areas.ts'
import type { Capability } from './capabilities.ts'
import { capabilityOf, type FactDataset } from './dimensions.ts'
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

/** Measures of a metric: its own, or those of a ratio's sides. `less` is subtracted from the numerator. */
export function measuresOf(code: MetricCode): {
  readonly numerator: Measure
  readonly less: Measure | null
  readonly denominator: Measure | null
} {
  const metric = metricOf(code)
  if (metric.kind !== 'ratio') return { numerator: metric.measure, less: null, denominator: null }
  const side = (name: string): Measure => {
    const counted: Metric | undefined = METRICS[name as MetricCode]
    if (counted === undefined || counted.kind === 'ratio')
      throw new TypeError(`${code}: ${name} is no sum or count`)
    return counted.measure
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

/** What a key needs for a metric; rates need no demography.read. */
export const capabilitiesOf = (code: MetricCode): Capability[] => factDatasetsOf(code).map(capabilityOf)
/** Rates by inhabitants: their denominator is a whole territory, so they cannot be grouped by facility. */
export const isPerCapita = (code: MetricCode): boolean =>
  measuresOf(code).denominator?.dataset === 'population' && factDatasetsOf(code)[0] !== 'population'
