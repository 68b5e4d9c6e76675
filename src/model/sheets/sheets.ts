/**
 * Writes the indicator sheet of each metric: method, meaning, limitations, sources and the page that documents it. It follows from
 * the metric's declaration, its caveats and the facts of its sources. Pure.
 */
import { MEANINGS } from '../caveats.ts'
import { both } from '../declare.ts'
import type { FactDataset } from '../dimensions.ts'
import { LIMIT_METHODS, limitsOf } from '../limits/methods.ts'
import { isFlowMetric, type MetricCode, measuresOf, metricOf } from '../metrics.ts'
import type { RatioMetric, Text } from '../types.ts'
import { SOURCES, type SourceFacts } from './sources.ts'

export interface MetricSheet {
  readonly method: Text
  readonly meaning: Text
  readonly limitations: readonly Text[]
  readonly sources: readonly (SourceFacts & { readonly dataset: FactDataset })[]
  /** Page and heading of the documentation. */
  readonly documentation: string
}

export function sheetOf(code: MetricCode): MetricSheet {
  const { numerator, less, denominator } = measuresOf(code)
  const measures = [numerator, less, denominator].flatMap((measure) => measure ?? [])
  const datasets = [...new Set(measures.map(({ dataset }) => dataset))]
  const sources = datasets.map((dataset) => ({ dataset, ...SOURCES[dataset] }))
  return {
    method: methodOf(code),
    meaning: MEANINGS[code] ?? metricOf(code).description,
    limitations: uniqueTexts([
      ...sources.flatMap(({ limitations }) => limitations),
      ...(limitsOf(code).method === 'none' || numerator.field !== 'admissions' ? [] : [NOT_INDEPENDENT]),
    ]),
    sources,
    documentation: `docs/analytics.md#${SOURCES[numerator.dataset].heading}`,
  }
}

const NOT_INDEPENDENT = both(
  'Limites de confiança supõem eventos independentes e são estreitos demais.',
  'Confidence limits assume independent events and are too narrow.',
)

const uniqueTexts = (texts: readonly Text[]): Text[] => [
  ...new Map(texts.map((text) => [text.en, text])).values(),
]

/** How the number is made from records, over groups and months, and how certain it is. */
function methodOf(code: MetricCode): Text {
  const metric = metricOf(code)
  const limits = limitsOf(code)
  const sentences = [
    metric.kind === 'ratio' ? RATIO[kindOfRatio(metric)] : KINDS[metric.kind],
    isFlowMetric(code)
      ? FLOW
      : measuresOf(code).numerator.dataset.startsWith('population')
        ? TIMELESS
        : STOCK,
    ...(limits.method === 'none'
      ? []
      : [
          both(
            `Limites de confiança: ${LIMIT_METHODS[limits.method].pt}.`,
            `Confidence limits: ${LIMIT_METHODS[limits.method].en}.`,
          ),
        ]),
  ]
  return both(sentences.map(({ pt }) => pt).join(' '), sentences.map(({ en }) => en).join(' '))
}

const KINDS: Readonly<Record<'sum' | 'count' | 'distinct', Text>> = {
  sum: both(
    'Soma as quantidades dos registros do grupo.',
    'Adds up the quantities of the records of the group.',
  ),
  count: both('Conta os registros do grupo.', 'Counts the records of the group.'),
  distinct: both(
    'Conta cada estabelecimento ou tipo uma vez no grupo; grupos não se somam.',
    'Counts each facility or type once in the group; groups do not add up.',
  ),
}
const kindOfRatio = ({ isLifeExpectancy, standardizedBy }: RatioMetric): keyof typeof RATIO =>
  isLifeExpectancy === true ? 'lifeTable' : standardizedBy === undefined ? 'plain' : 'standardized'
const RATIO = {
  plain: both(
    'Soma numerador e denominador no grupo, em números inteiros, divide uma vez e arredonda por último.',
    'Adds up numerator and denominator in the group, in whole numbers, divides once and rounds last.',
  ),
  standardized: both(
    'Divide em cada faixa etária, soma pelos pesos da população padrão e arredonda por último.',
    'Divides within each age group, adds up by the weights of the standard population and rounds last.',
  ),
  lifeTable: both(
    'Monta uma tábua de vida abreviada com óbitos e residentes de cada faixa etária do grupo, com óbitos por ano, e arredonda por último.',
    'Builds an abridged life table from deaths and residents of each age group, with deaths per year, and rounds last.',
  ),
} as const satisfies Readonly<Record<string, Text>>
const FLOW = both('Meses são somados.', 'Months are added up.')
const STOCK = both(
  'Meses não se somam: a consulta diz qual vale.',
  'Months do not add up: the query says which one counts.',
)
const TIMELESS = both('Não tem mês.', 'It has no month.')
