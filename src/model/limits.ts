/**
 * Declares how uncertain each metric is: the method of its confidence limits, or why it has none. Values and pure functions.
 *
 * Methods and constants are those of docs/statistics.md. The constants are rounded once, here; everything computed from them uses
 * only +, −, ×, ÷ and √ of IEEE doubles, so that equal numbers give equal limits on every machine.
 */
import { isLifeExpectancy, type MetricCode, measuresOf, metricOf, unitOf } from './metrics.ts'
import type { Measure, Text } from './types.ts'

export const LIMIT_LEVELS = [0.95, 0.998] as const
export type LimitLevel = (typeof LIMIT_LEVELS)[number]

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

interface LevelConstants {
  /** Quantile of the standard normal distribution at (1 + level) ÷ 2. */
  readonly z: number
  /** Exact Poisson limits of a count of 0 to 9 events: halves of chi-squared quantiles. */
  readonly poisson: readonly (readonly [lower: number, upper: number])[]
}
export const LEVEL_CONSTANTS: Readonly<Record<LimitLevel, LevelConstants>> = {
  0.95: {
    z: 1.9599639845400543,
    poisson: [
      [0, 3.6888794541139363],
      [0.025317807984289876, 5.571643390938899],
      [0.2422092785439649, 7.224687667723961],
      [0.6186721228956013, 8.767273069742327],
      [1.0898653736263249, 10.241588675403698],
      [1.6234863901184204, 11.668332079322669],
      [2.2018942534908508, 13.059474022518685],
      [2.814363051519866, 14.42267536170238],
      [3.4538321767485014, 15.763189220193315],
      [4.115373097378332, 17.08480345141917],
    ],
  },
  0.998: {
    z: 3.0902323061678136,
    poisson: [
      [0, 6.907755278982137],
      [0.0010005003335835335, 9.233413476451586],
      [0.04540201776948956, 11.228872242412663],
      [0.1905333775684032, 13.062240779188071],
      [0.42855241362842295, 14.794149222537209],
      [0.7393717319178326, 16.45474520368011],
      [1.1071046602556394, 18.06163684019907],
      [1.520336260398809, 19.62617739538424],
      [1.9708139217403657, 21.15619816583998],
      [2.452424404363775, 22.65737330906293],
    ],
  },
}

/** Counts below this have exact Poisson limits; standardized rates have none. */
export const FEW_EVENTS = 10
