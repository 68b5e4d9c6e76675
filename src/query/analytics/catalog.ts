/** Describes the metrics and dimensions that a key may use, as JSON. */
import type { Catalog, CatalogMetric, IndicatorSheet } from '../../answers/catalog.ts'
import { AppError, both } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import { MEANINGS } from '../../model/caveats.ts'
import { DIMENSION_CODES, dimensionOf, type FactDataset, operatorsOf } from '../../model/dimensions.ts'
import { LIMIT_METHODS, limitsOf, REASONS_WITHOUT_LIMITS } from '../../model/limits/methods.ts'
import {
  CATALOG_VERSION,
  capabilitiesOf,
  decimalsOfMetric,
  factDatasetsOf,
  isFlowMetric,
  isPerCapita,
  METRIC_CODES,
  type MetricCode,
  measuresOf,
  metricOf,
  twinsOfAll,
} from '../../model/metrics.ts'
import { isTime } from '../../model/periods.ts'
import { sheetOf } from '../../model/sheets/sheets.ts'
import type { MetricPart, RatioMetric } from '../../model/types.ts'
import { nearest } from '../nearest.ts'
import { allowedDimensions } from './checks.ts'
import { isBelowState } from './datasets/funds.ts'
import { describeBands } from './options/peers.ts'

export function listCatalog(capabilities: readonly Capability[], language: 'pt' | 'en'): Catalog {
  const metrics = METRIC_CODES.filter((code) =>
    capabilitiesOf(code).every((capability) => capabilities.includes(capability)),
  )
  const supported = new Set(metrics.flatMap(allowedDimensions))
  const dimensions = DIMENSION_CODES.filter((dimension) => supported.has(dimension))
  return {
    version: CATALOG_VERSION,
    metrics: metrics.map((code) => describeMetric(code, language)),
    dimensions: dimensions.map((code) => {
      const { label, label_en, datasets, tier } = dimensionOf(code)
      const shown = language === 'en' ? label_en : label
      return { code, label: shown, label_en, tier, datasets, operators: operatorsOf(code) }
    }),
    census_bands: describeBands(language),
  }
}

/** @returns datasets read when the metric's own datasets lack a dimension; none unless every dataset has such a twin */
function findTwins(code: MetricCode): FactDataset[] {
  return [...new Set(twinsOfAll(factDatasetsOf(code)).flat())]
}

/** In formulas, w is the people of an age group in the standard population. Brackets hold the filters of a part of a metric. */
function writeFormula(metric: RatioMetric, language: 'pt' | 'en'): string {
  const { scale, less, standardizedBy } = metric
  if (metric.isLifeExpectancy === true) return LIFE_EXPECTANCY[language]
  const numerator = writeSide(metric.numerator, metric.numeratorPart)
  const denominator = writeSide(metric.denominator, metric.denominatorPart)
  const top = less === undefined ? numerator : `(${numerator} − ${less})`
  return standardizedBy === undefined
    ? `${scale} × ${top} ÷ ${denominator}`
    : `${scale} × Σ (w × ${top} ÷ ${denominator}) ÷ Σ w`
}

/** From the oldest age group to the youngest. n years of a group, a years lived in it by those who die in it. */
const LIFE_EXPECTANCY = both(
  'e de 00-04, onde m = 12 × deaths ÷ (meses × population_by_age); e de 80+ = 1 ÷ m; abaixo, q = min(1, n × m ÷ (1 + (n − a) × m)) e e = n − q × (n − a) + (1 − q) × e do grupo seguinte; n = 5, a = 0,5 em 00-04 e 2,5 acima',
  'e of 00-04, where m = 12 × deaths ÷ (months × population_by_age); e of 80+ = 1 ÷ m; below, q = min(1, n × m ÷ (1 + (n − a) × m)) and e = n − q × (n − a) + (1 − q) × e of the next group; n = 5, a = 0.5 in 00-04 and 2.5 above',
)

function writeSide(code: string, part: MetricPart | undefined): string {
  if (part === undefined) return code
  const filters = filtersOfPart(part).map(({ dimension, value }) => `${dimension} IN ${value.join(', ')}`)
  return `${code}[${filters.join('; ')}]`
}

/** @returns the filters by which a query selects the same rows */
const filtersOfPart = ({ where }: MetricPart) =>
  where.flatMap((condition) => {
    const dimension = DIMENSION_CODES.find(
      (code) => 'field' in condition && dimensionOf(code).column === condition.field,
    )
    const value = 'oneOf' in condition ? condition.oneOf : 'equals' in condition ? [condition.equals] : []
    return dimension === undefined ? [] : [{ dimension, operator: 'IN', value }]
  })

const describePart = (part: MetricPart) => ({
  label: part.label.pt,
  label_en: part.label.en,
  filters: filtersOfPart(part),
})

const describeRatio = (metric: RatioMetric) => ({
  scale: metric.scale,
  numerator: metric.numerator,
  ...(metric.numeratorPart === undefined ? {} : { numerator_part: describePart(metric.numeratorPart) }),
  ...(metric.less === undefined ? {} : { less: metric.less }),
  denominator: metric.denominator,
  ...(metric.denominatorPart === undefined ? {} : { denominator_part: describePart(metric.denominatorPart) }),
  ...(metric.standardizedBy === undefined ? {} : { standardized_by: metric.standardizedBy }),
})

function describeLimits(code: MetricCode, language: 'pt' | 'en'): CatalogMetric['limits'] {
  const limits = limitsOf(code)
  return limits.method === 'none'
    ? { ...limits, text: REASONS_WITHOUT_LIMITS[limits.reason][language] }
    : { ...limits, text: LIMIT_METHODS[limits.method][language] }
}

function describeSheet(code: MetricCode, language: 'pt' | 'en'): IndicatorSheet {
  const { method, meaning, limitations, sources, documentation } = sheetOf(code)
  return {
    method: method[language],
    meaning: meaning[language],
    limitations: limitations.map((text) => text[language]),
    sources: sources.map(({ dataset, publisher, table, delay, revisions, revision_months }) => ({
      dataset,
      publisher: publisher[language],
      table,
      delay: delay[language],
      revisions: revisions[language],
      revision_months,
    })),
    documentation,
  }
}

/** @throws AppError 'unknown_metric' for a code of no metric, 'forbidden' for one that the key may not read */
export function findMetric(
  code: string,
  capabilities: readonly Capability[],
  language: 'pt' | 'en',
): CatalogMetric {
  const found = METRIC_CODES.find((metric) => metric === code)
  if (found === undefined)
    throw new AppError('unknown_metric', {
      errors: [
        {
          parameter: 'metricCode',
          message: both('não é uma métrica do catálogo', 'is not a metric of the catalog'),
          allowed: nearest(code, METRIC_CODES),
        },
      ],
    })
  const lacking = capabilitiesOf(found).find((capability) => !capabilities.includes(capability))
  if (lacking !== undefined)
    throw new AppError('forbidden', {
      detail: both(
        `A chave não tem a permissão ${lacking}, da qual ${found} precisa.`,
        `The key lacks the capability ${lacking}, which ${found} needs.`,
      ),
    })
  return describeMetric(found, language)
}

function describeMetric(code: MetricCode, language: 'pt' | 'en'): CatalogMetric {
  const metric = metricOf(code)
  const filterDimensions = allowedDimensions(code)
  const dimensions = filterDimensions.filter((dimension) => !(isPerCapita(code) && dimension === 'facility'))
  const { numerator, denominator } = measuresOf(code)
  const meaning = MEANINGS[code]
  const isAdditive = metric.kind === 'sum' || metric.kind === 'count'
  return {
    code,
    label: language === 'en' ? metric.label_en : metric.label,
    label_en: metric.label_en,
    description: metric.description[language],
    description_en: metric.description.en,
    ...(meaning === undefined ? {} : { meaning: meaning[language], meaning_en: meaning.en }),
    unit: metric.unit,
    decimals: decimalsOfMetric(code),
    tier: metric.tier,
    kind: metric.kind,
    // Stocks add up over places and kinds, flows over months too. Distinct counts and ratios never add up. Transfers by municipality
    // lack the funds of states.
    additivity: Object.fromEntries(
      dimensions.map((dimension) => {
        if (numerator.dataset === 'federal_health_transfers' && isBelowState(dimension))
          return [dimension, 'non_additive']
        const semi = isTime(dimension) && !isFlowMetric(code) ? 'semi_additive' : 'additive'
        return [dimension, isAdditive ? semi : 'non_additive']
      }),
    ),
    formula: metric.kind === 'ratio' ? writeFormula(metric, language) : metric.description[language],
    limits: describeLimits(code, language),
    sheet: describeSheet(code, language),
    ...(metric.kind === 'ratio' ? describeRatio(metric) : {}),
    datasets: [
      ...new Set(
        [numerator.dataset, denominator?.dataset ?? [], factDatasetsOf(code), findTwins(code)].flat(),
      ),
    ],
    dimensions,
    operators: Object.fromEntries(filterDimensions.map((dimension) => [dimension, operatorsOf(dimension)])),
  }
}
