/** Schemas of the catalog: metrics, the parts of metrics that ratios divide, and dimensions. */
import { LIMIT_METHODS, REASONS_WITHOUT_LIMITS } from '../../model/limits/methods.ts'
import { dictionary, integer, type Json, list, object, oneOf, ref, text } from './json.ts'

const DATASET = text('Dataset of the release.')

export const CATALOG_SCHEMAS: Readonly<Record<string, Json>> = {
  CatalogMetric: object(
    {
      code: ref('MetricCode'),
      label: text('Label in the language asked for.'),
      label_en: text('English label.'),
      description: text('Definition, in the requested language.'),
      description_en: text('Definition in English.'),
      'meaning?': text('What the number says and what it does not, in the language asked for.'),
      'meaning_en?': text('The same in English.'),
      unit: text('Unit of the value.'),
      decimals: integer('Digits after the point.'),
      tier: oneOf(['core', 'extended'], 'core: of the specification.'),
      kind: oneOf(['sum', 'count', 'distinct', 'ratio'], 'How it is computed.'),
      additivity: dictionary(
        oneOf(['additive', 'semi_additive', 'non_additive'], 'Whether its groups add up.'),
        'By dimension.',
      ),
      formula: text('How the value is computed: a ratio by codes of metrics, else the definition.'),
      limits: object(
        {
          method: oneOf([...Object.keys(LIMIT_METHODS), 'none'], 'Method of the confidence limits.'),
          'reason?': oneOf(Object.keys(REASONS_WITHOUT_LIMITS), 'Why there is none.'),
          text: text('The method, or the reason, in words.'),
        },
        'How uncertain the value is.',
      ),
      sheet: object(
        {
          method: text('How the number is made from the records, over groups and months.'),
          meaning: text('What the number says and what it does not.'),
          limitations: list({ type: 'string' }, 'What its sources leave out.'),
          sources: list(
            object({
              dataset: DATASET,
              publisher: text('Who publishes it.'),
              table: text('Published table or family of files.'),
              delay: text('When it appears.'),
              revisions: text('How it changes afterwards.'),
              revision_months: integer('Age in months from which it usually no longer changes.'),
            }),
            'Where its sides come from.',
          ),
          documentation: text('Page of the documentation.'),
        },
        'Indicator sheet, in the requested language.',
      ),
      'scale?': integer('Ratios have it: what the quotient is multiplied by.'),
      'numerator?': text('Ratios have it: the metric that is divided.'),
      'numerator_part?': ref('AnswerMetricPart'),
      'less?': text('Some ratios have it: the metric that is subtracted from the numerator.'),
      'denominator?': text('Ratios have it: the metric that divides.'),
      'denominator_part?': ref('AnswerMetricPart'),
      'standardized_by?': text('Rates standardized by age have it: the standard population.'),
      datasets: list(DATASET),
      dimensions: list(ref('DimensionCode'), 'What it can be grouped and filtered by.'),
      operators: dictionary(list(ref('FilterOperator')), 'Operators by dimension.'),
    },
    'A metric of the catalog.',
  ),
  AnswerMetricPart: object(
    {
      label: text('What is counted, in Portuguese.'),
      label_en: text('What is counted, in English.'),
      filters: list(
        object({
          dimension: ref('DimensionCode'),
          operator: ref('FilterOperator'),
          value: list(text('Code of a member.')),
        }),
        'Filters that select the same records in a query.',
      ),
    },
    'Some ratios have it: the records of the side’s metric that count.',
  ),
  CatalogDimension: object(
    {
      code: ref('DimensionCode'),
      label: text('Label in the language asked for.'),
      label_en: text('English label.'),
      tier: oneOf(['core', 'extended'], 'core: of the specification.'),
      datasets: list(DATASET, 'Datasets that carry the dimension.'),
      operators: list(ref('FilterOperator')),
    },
    'A dimension of the catalog.',
  ),
}
