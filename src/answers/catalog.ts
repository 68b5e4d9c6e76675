/** Answers of the catalog: metrics, the parts of metrics that ratios divide, and dimensions. */
import { z } from 'zod'
import { LIMIT_METHODS, REASONS_WITHOUT_LIMITS } from '../model/limits/methods.ts'
import { componentAs } from '../query/text-schemas.ts'
import {
  type AnswerOf,
  count,
  dictionary,
  dimensionCode,
  metricCode,
  oneOf,
  operator,
  text,
} from './parts.ts'

const dataset = text('Dataset of the release.')
const tier = oneOf(['core', 'extended'], 'core: of the specification.')

const metricPart = componentAs(
  z
    .strictObject({
      label: text('Counted events or things, in Portuguese.'),
      label_en: text('Counted events or things, in English.'),
      filters: z
        .array(
          z.strictObject({ dimension: dimensionCode, operator, value: z.array(text('Code of a member.')) }),
        )
        .describe('Filters that select the same records in a query.'),
    })
    .describe('Some ratios have it: the records of the side’s metric that count.'),
  'AnswerMetricPart',
)
export type MetricPart = AnswerOf<typeof metricPart>

const sheet = z
  .strictObject({
    method: text('How the number is made from the records, over groups and months.'),
    meaning: text('Meaning of the number, and its limits.'),
    limitations: z.array(z.string()).describe('Gaps of its sources.'),
    sources: z
      .array(
        z.strictObject({
          dataset,
          publisher: text('Who publishes it.'),
          table: text('Published table or family of files.'),
          delay: text('When it appears.'),
          revisions: text('How it changes afterwards.'),
          revision_months: count('Age in months from which it usually no longer changes.'),
        }),
      )
      .describe('Sources of its sides.'),
    documentation: text('Page of the documentation.'),
  })
  .describe('Indicator sheet, in the requested language.')
export type IndicatorSheet = AnswerOf<typeof sheet>

const limits = z
  .strictObject({
    method: oneOf([...Object.keys(LIMIT_METHODS), 'none'], 'Method of the confidence limits.'),
    reason: oneOf(Object.keys(REASONS_WITHOUT_LIMITS), 'Why there is none.').exactOptional(),
    text: text('The method, or the reason, in words.'),
  })
  .describe('How uncertain the value is.')

/** Members that ratios have in addition. */
const RATIO = {
  scale: count('Ratios have it: what the quotient is multiplied by.').exactOptional(),
  numerator: text('Ratios have it: the metric that is divided.').exactOptional(),
  numerator_part: metricPart.exactOptional(),
  less: text('Some ratios have it: the metric that is subtracted from the numerator.').exactOptional(),
  denominator: text('Ratios have it: the metric that divides.').exactOptional(),
  denominator_part: metricPart.exactOptional(),
  standardized_by: text('Rates standardized by age have it: the standard population.').exactOptional(),
}

export const catalogMetric = componentAs(
  z
    .strictObject({
      code: metricCode,
      label: text('Label in the language asked for.'),
      label_en: text('English label.'),
      description: text('Definition, in the requested language.'),
      description_en: text('Definition in English.'),
      meaning: text('Meaning of the number, and its limits, in the requested language.').exactOptional(),
      meaning_en: text('The same in English.').exactOptional(),
      unit: text('Unit of the value.'),
      decimals: count('Digits after the point.'),
      tier,
      kind: oneOf(['sum', 'count', 'distinct', 'ratio'], 'How it is computed.'),
      additivity: dictionary(
        oneOf(['additive', 'semi_additive', 'non_additive'], 'Whether its groups add up.'),
        'By dimension.',
      ),
      formula: text('How the value is computed: a ratio by codes of metrics, else the definition.'),
      limits,
      sheet,
      ...RATIO,
      datasets: z.array(dataset),
      dimensions: z.array(dimensionCode).describe('Dimensions by which it can be grouped and filtered.'),
      operators: dictionary(
        z.array(operator),
        'Operators by dimension that it can be filtered by. Rates per inhabitant also have facility here, by which they are not grouped.',
      ),
    })
    .describe('A metric of the catalog.'),
  'CatalogMetric',
)
export type CatalogMetric = AnswerOf<typeof catalogMetric>

const catalogDimension = componentAs(
  z
    .strictObject({
      code: dimensionCode,
      label: text('Label in the language asked for.'),
      label_en: text('English label.'),
      tier,
      datasets: z.array(dataset).describe('Datasets that carry the dimension.'),
      operators: z.array(operator),
    })
    .describe('A dimension of the catalog.'),
  'CatalogDimension',
)

export const catalog = z.strictObject({
  version: text('Version of the catalog.'),
  metrics: z.array(catalogMetric),
  dimensions: z.array(catalogDimension),
  census_bands: z
    .array(
      z.strictObject({
        code: text('Code of the band.'),
        over: count('Residents that a municipality has more than.').nullable(),
        up_to: count('Largest number of residents.').nullable(),
        label: text('The band in words.'),
      }),
    )
    .describe(
      'Bands of the census population: with the major regions, they make the peers of a municipality.',
    ),
})
export type Catalog = AnswerOf<typeof catalog>
