/** Explains which parts of a question cannot be combined: each function returns a reason, or null. Pure. The API reports all other errors. */
import type { Catalog, Dimension, Metric } from './api.ts'
import type { Language } from './numbers.ts'
import { dimensionOf, labelOf, metricOf } from './parts/table.tsx'
import type { Question } from './question.ts'

export const METRICS_MAX = 6
export const DIMENSIONS_MAX = 6

const listOf = (names: readonly string[], language: Language): string =>
  names.length <= 2
    ? names.join(language === 'pt' ? ' e ' : ' and ')
    : `${names[0]} ${language === 'pt' ? `e outras ${names.length - 1}` : `and ${names.length - 1} others`}`

export function dimensionConflict(
  dimension: Dimension,
  question: Question,
  catalog: Catalog,
  language: Language,
): string | null {
  const lacking = question.metrics
    .map((code) => metricOf(catalog, code))
    .filter((metric) => metric !== undefined && !metric.dimensions.includes(dimension.code))
  if (lacking.length === 0) return null
  const names = listOf(
    lacking.map((metric) => labelOf(metric, language)),
    language,
  )
  return language === 'pt' ? `Não existe para ${names}` : `Does not exist for ${names}`
}

export function metricConflict(
  metric: Metric,
  question: Question,
  catalog: Catalog,
  language: Language,
): string | null {
  const isPt = language === 'pt'
  const needed = [...new Set([...question.groupBy, ...Object.keys(question.filters)])]
  const lacking = needed.filter((dimension) => !metric.dimensions.includes(dimension))
  if (lacking.length > 0) {
    const names = listOf(
      lacking.map((code) => labelOf(dimensionOf(catalog, code), language) || code),
      language,
    )
    return isPt ? `Sem ${names}` : `Without ${names}`
  }
  if (question.metrics.length < METRICS_MAX) return null
  return isPt
    ? `Já há ${METRICS_MAX} métricas: retire uma`
    : `There are ${METRICS_MAX} metrics: take one away`
}

export function overConflict(question: Question, language: Language): string | null {
  const isPt = language === 'pt'
  if (question.groupBy.includes('reference_period'))
    return isPt ? 'Os meses já são linhas da tabela' : 'Months are rows of the table'
  if (question.from === question.to)
    return isPt ? 'Só para vários meses: escolha De e até' : 'For several months only: choose From and to'
  return null
}

export function basisConflict(question: Question, catalog: Catalog, language: Language): string | null {
  const isRate = question.metrics.some((code) => metricOf(catalog, code)?.denominator === 'population_census')
  if (isRate) return null
  return language === 'pt' ? 'Só para taxas por habitante' : 'For rates by inhabitants only'
}
