/** Declares how uncertain each metric is: the method of its confidence limits, or why it has none. Values and pure functions. */
import { isLifeExpectancy, type MetricCode, measuresOf, metricOf, unitOf } from '../metrics.ts'
import type { Measure, Text } from '../types.ts'

/** Methods of limits, and the reasons for having none. */
export const LIMIT_METHODS = {
  wilson: {
    pt: 'escore de Wilson para uma proporção de eventos contados',
    en: 'Wilson score for a proportion of counted events',
  },
  poisson: {
    pt: 'Poisson: exato abaixo de 10 eventos, aproximação de Byar a partir de 10',
    en: "Poisson: exact below 10 events, Byar's approximation from 10 on",
  },
  dobson: {
    pt: 'Dobson para taxas padronizadas; sem limites abaixo de 10 eventos',
    en: 'Dobson for standardized rates; no limits below 10 events',
  },
  chiang: {
    pt: 'variância de Chiang para a esperança de vida, com a de Silcocks na última faixa, que é aberta',
    en: "Chiang's variance for life expectancy, with that of Silcocks in the open last group",
  },
} as const satisfies Readonly<Record<string, Text>>
export type LimitMethod = keyof typeof LIMIT_METHODS

export const REASONS_WITHOUT_LIMITS = {
  complete_count: {
    pt: 'conta tudo o que existe; não é amostra nem acontecimento ao acaso',
    en: 'counts everything there is; it is neither a sample nor a chance event',
  },
  money: { pt: 'é dinheiro, não uma contagem de eventos', en: 'is money, not a count of events' },
  mixed_units: {
    pt: 'soma quantidades de unidades diferentes',
    en: 'adds up quantities of different units',
  },
  no_spread: {
    pt: 'é soma ou média, e a dispersão entre os eventos não é guardada',
    en: 'is a sum or mean, and the spread among its events is not kept',
  },
  query_ratio: {
    pt: 'é uma razão definida na consulta; não se sabe se o numerador é parte do denominador',
    en: 'is a ratio that the query defines; whether its numerator is part of its denominator is unknown',
  },
} as const satisfies Readonly<Record<string, Text>>
export type ReasonWithoutLimits = keyof typeof REASONS_WITHOUT_LIMITS

export type Limits =
  | { readonly method: LimitMethod }
  | { readonly method: 'none'; readonly reason: ReasonWithoutLimits }

/** Fields that count events, each of which happens to one person once. */
const EVENT_FIELDS = new Set([
  'admissions',
  'deaths',
  'births',
  'fetal_deaths',
  'icsap_admissions',
  'icsap_universe_admissions',
  'maternal_deaths',
  'premature_ncd_deaths',
])
const isOfEvents = ({ kind, field = '', minus }: Measure): boolean =>
  kind === 'sum' && EVENT_FIELDS.has(field) && minus === undefined

/** @returns the method of a metric's limits: proportions of events, rates and counts of events, or standardized rates */
export function limitsOf(code: MetricCode): Limits {
  const { numerator, less, denominator } = measuresOf(code)
  if (less !== null || !isOfEvents(numerator)) return { method: 'none', reason: reasonOf(code, numerator) }
  if (denominator?.standardizedBy !== undefined) return { method: 'dobson' }
  if (isLifeExpectancy(code)) return { method: 'chiang' }
  // Deaths are no part of the births of the same months, so their ratio is no proportion.
  const isProportion =
    denominator !== null && isOfEvents(denominator) && denominator.dataset === numerator.dataset
  return { method: isProportion ? 'wilson' : 'poisson' }
}

const COMPLETE_COUNTS = new Set<string>([
  'population',
  'population_by_age',
  'facilities',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
])

function reasonOf(code: MetricCode, { dataset }: Measure): ReasonWithoutLimits {
  const metric = metricOf(code)
  if (unitOf(code) !== 1 || (metric.kind !== 'ratio' && metric.isMoney === true)) return 'money'
  if (COMPLETE_COUNTS.has(dataset)) return 'complete_count'
  return dataset === 'outpatient_production' ? 'mixed_units' : 'no_spread'
}
