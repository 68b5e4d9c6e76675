/**
 * The questions of a profile: which metrics, by which dimension of the place, over which months. A profile has no calculation:
 * each of its numbers is the answer to one of these analytics queries, and says which. Pure, but for plans.
 */
import type { JsonValue } from '../../engine/types.ts'
import { areaOf } from '../../model/areas.ts'
import { datasetOf } from '../../model/datasets.ts'
import type { DimensionCode } from '../../model/dimensions.ts'
import {
  capabilitiesOf,
  factDatasetsOf,
  isFlowMetric,
  type MetricCode,
  metricOf,
} from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import {
  PROFILE_COMPARATORS,
  PROFILE_INDICATORS,
  type ProfileIndicator,
  placeDimension,
} from '../../model/profiles/index.ts'
import type { FilterValue } from '../../query/analytics/filters.ts'
import { parseQuery } from '../../query/analytics/request.ts'
import { addMonths } from '../../release/published-months.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import { nextSlice } from '../../slices.ts'
import { type AnswerParts, prepareQuery, summarise } from '../query.ts'
import { type ProfilePlace, statesOfPlace } from './place.ts'

export type Body = Readonly<Record<string, JsonValue>>

/** Level of the confidence limits of profiles. */
const LIMITS = 0.95
/** Flows are summed over so many months: the newest ones, as far as they follow one another. */
const FLOW_MONTHS = 12
/** Months or years of a course. */
const COURSE_MONTHS = 24
const COURSE_YEARS = 10
/** Most rows of a query: all municipalities. */
const ROWS_MAX = 10_000

/**
 * Months of a value: one month for stocks, up to twelve for flows. A year of a yearly source is its last month. A place that is
 * compared with the country has the newest months of which both have values, if there are such.
 */
export interface Span {
  readonly unit: 'month' | 'year'
  /** YYYYMM. */
  readonly from: number
  readonly to: number
  readonly months: number
  /** Oldest collected month, YYYYMM, before which a course has no values. */
  readonly oldest: number
}

/** Metrics that one query answers for all places. */
export interface ProfileQuestion {
  readonly indicators: readonly ProfileIndicator[]
  /** Dimension of the place; null for the country. */
  readonly dimension: DimensionCode | null
  /** Null for metrics without months. */
  readonly span: Span | null
}

/** @returns the indicators that the key may read and that have values at the level, in groups of one source and one kind of place */
function groupIndicators(
  place: ProfilePlace,
  { view, capabilities }: AnswerParts,
): Omit<ProfileQuestion, 'span'>[] {
  const groups = new Map<string, Omit<ProfileQuestion, 'span'>>()
  for (const indicator of PROFILE_INDICATORS) {
    const { metric } = indicator
    const dimension = placeDimension(indicator, place.level)
    if (dimension === null && place.level !== 'country') continue
    if (!capabilitiesOf(metric).every((capability) => capabilities.includes(capability))) continue
    const areas = factDatasetsOf(metric).map((dataset) => datasetOf(dataset).area)
    if (areas.some((area) => view.components[area] === null || view.components[area] === undefined)) continue
    const key = `${areas.join()} ${dimension}`
    groups.set(key, { dimension, indicators: [...(groups.get(key)?.indicators ?? []), indicator] })
  }
  return [...groups.values()]
}

export interface ProfileQuestions {
  readonly questions: readonly ProfileQuestion[]
  readonly notes: readonly Note[]
}

/** Questions by view and by what they depend on. */
const QUESTIONS = new WeakMap<ReleaseView, Map<string, Promise<ProfileQuestions>>>()

/** @returns the questions of a place; its level, its states and the key's capabilities decide them */
export function findQuestions(place: ProfilePlace, parts: AnswerParts): Promise<ProfileQuestions> {
  const cached = QUESTIONS.get(parts.view) ?? new Map<string, Promise<ProfileQuestions>>()
  QUESTIONS.set(parts.view, cached)
  const key = [place.level, statesOfPlace(place).join(), [...parts.capabilities].sort().join()].join(' ')
  const { signal: _signal, ...shared } = parts
  const found = cached.get(key) ?? planQuestions(place, shared)
  cached.set(key, found)
  found.catch(() => cached.delete(key))
  return found
}

async function planQuestions(place: ProfilePlace, parts: AnswerParts): Promise<ProfileQuestions> {
  const questions: ProfileQuestion[] = []
  const notes: Note[] = []
  for (const group of groupIndicators(place, parts)) {
    const spans = new Map<string, { span: Span | null; indicators: ProfileIndicator[] }>()
    const add = (span: Span | null, indicator: ProfileIndicator): void => {
      const key = JSON.stringify(span)
      const found = spans.get(key) ?? { span, indicators: [] }
      found.indicators.push(indicator)
      spans.set(key, found)
    }
    const [first] = group.indicators
    if (first === undefined) continue
    if (!hasMonths(first.metric)) {
      for (const indicator of group.indicators) add(null, indicator)
    } else {
      const metrics = group.indicators.map(({ metric }) => metric)
      const ofPlace = await collectedMonths(metrics, placeFilters(group.dimension, place.code), parts)
      notes.push(...ofPlace.notes)
      // A place stands beside the country in the same months; a state may publish a month before all have.
      const ofCountry =
        PROFILE_COMPARATORS[place.level] === 'country' ? await collectedMonths(metrics, [], parts) : null
      for (const indicator of group.indicators) {
        const months = ofPlace.monthsOf(indicator.metric)
        const shared = months.filter((month) => ofCountry?.monthsOf(indicator.metric).includes(month))
        const span = spanOf(indicator.metric, shared.length > 0 ? shared : months)
        if (span !== null) add(span, indicator)
      }
    }
    for (const { span, indicators } of spans.values()) {
      const question = { indicators, dimension: group.dimension, span }
      questions.push(question)
      notes.push(...(await notesOf(question, place, parts)))
    }
  }
  return { questions, notes }
}

/** @returns the notes that the queries of a question's values carry, whatever their rows */
async function notesOf(question: ProfileQuestion, place: ProfilePlace, parts: AnswerParts): Promise<Note[]> {
  const metrics = metricsOf(question)
  const notes: Note[] = []
  for (const alike of [metrics.filter(isCompared), metrics.filter((metric) => !isCompared(metric))]) {
    if (alike.length === 0) continue
    await nextSlice()
    const prepared = await prepareQuery(parseQuery(questionOfValue(alike, question, place)), parts)
    notes.push(...summarise(undefined, prepared, parts.view).notes)
  }
  return notes
}

/** @returns the months in which each metric has a value at the place, ascending, and the notes on the others */
async function collectedMonths(
  metrics: readonly MetricCode[],
  filters: readonly JsonValue[],
  parts: AnswerParts,
): Promise<{ readonly notes: readonly Note[]; monthsOf(metric: MetricCode): readonly number[] }> {
  await nextSlice()
  const { plan } = await prepareQuery(parseQuery({ metrics, group_by: ['reference_period'], filters }), parts)
  return {
    notes: plan.notes,
    monthsOf(metric) {
      const missing = new Set(
        plan.missing.flatMap((gap) => (gap.metrics.some((code) => code === metric) ? gap.periods : [])),
      )
      return plan.spinePeriods.filter((period) => !missing.has(period))
    },
  }
}

const areaOfMetric = (metric: MetricCode) => areaOf(datasetOf(factDatasetsOf(metric)[0] ?? 'population').area)
const hasMonths = (metric: MetricCode): boolean => areaOfMetric(metric).periods !== 'none'

/** @param months collected months, ascending @returns null when there are none */
function spanOf(metric: MetricCode, months: readonly number[]): Span | null {
  const [oldest] = months
  const newest = months.at(-1)
  if (newest === undefined || oldest === undefined) return null
  if (areaOfMetric(metric).periods === 'years')
    return { unit: 'year', from: newest, to: newest, months: 12, oldest }
  let from = newest
  let count = 1
  while (isFlowMetric(metric) && count < FLOW_MONTHS && months.includes(addMonths(from, -1))) {
    from = addMonths(from, -1)
    count += 1
  }
  return { unit: 'month', from, to: newest, months: count, oldest }
}

const placeFilters = (dimension: DimensionCode | null, code: FilterValue): JsonValue[] =>
  dimension === null ? [] : [{ dimension, operator: 'EQ', value: code }]

const between = (from: number, to: number): JsonValue =>
  from === to
    ? { dimension: 'reference_period', operator: 'EQ', value: formatPeriod(to) }
    : { dimension: 'reference_period', operator: 'BETWEEN', value: [formatPeriod(from), formatPeriod(to)] }

const spanFilters = (span: Span | null): JsonValue[] => (span === null ? [] : [between(span.from, span.to)])

/** Counts of a small place and its state are not comparable; rates and shares are. */
export const isCompared = (metric: MetricCode): boolean => metricOf(metric).kind === 'ratio'

const comparison = (place: ProfilePlace, isRate: boolean): Body => {
  const comparator = PROFILE_COMPARATORS[place.level]
  return comparator === null || !isRate ? {} : { compare_to: { with: comparator } }
}

const metricsOf = ({ indicators }: ProfileQuestion): MetricCode[] => indicators.map(({ metric }) => metric)

/** @returns the query of all places of the level, from which every profile of the level takes its row */
export const questionOfAll = (question: ProfileQuestion, place: ProfilePlace): Body => ({
  metrics: metricsOf(question),
  group_by: question.dimension === null ? [] : [question.dimension],
  filters: spanFilters(question.span),
  limits: LIMITS,
  percentile: question.dimension !== null,
  include_ignored: false,
  ...comparison(place, metricsOf(question).some(isCompared)),
  limit: ROWS_MAX,
})

/** @returns the query that gives values, limits and comparators of the place alone; `metrics` are all compared, or none is */
export const questionOfValue = (
  metrics: readonly MetricCode[],
  { dimension, span }: ProfileQuestion,
  place: ProfilePlace,
): Body => ({
  metrics,
  group_by: dimension === null ? [] : [dimension],
  filters: [...placeFilters(dimension, place.code), ...spanFilters(span)],
  limits: LIMITS,
  ...comparison(place, metrics.some(isCompared)),
})

/** @returns the query that gives an indicator of all places of the level with their percentiles */
export const questionOfPeers = (metric: MetricCode, { dimension, span }: ProfileQuestion): Body => ({
  metrics: [metric],
  group_by: dimension === null ? [] : [dimension],
  filters: spanFilters(span),
  percentile: true,
  include_ignored: false,
  order_by: [{ field: metric, direction: 'desc' }],
  limit: ROWS_MAX,
})

/** @returns the query that gives the course of metrics by month, or by year where the source is yearly */
export function questionOfCourse(
  metrics: readonly MetricCode[],
  { dimension, span }: ProfileQuestion,
  place: ProfilePlace,
): Body | null {
  if (span === null) return null
  const earliest = addMonths(span.to, span.unit === 'year' ? -12 * (COURSE_YEARS - 1) : 1 - COURSE_MONTHS)
  return {
    metrics,
    group_by: ['reference_period'],
    filters: [...placeFilters(dimension, place.code), between(Math.max(earliest, span.oldest), span.to)],
    limit: ROWS_MAX,
  }
}

/** @returns the query of the population by sex and age */
export const questionOfAges = (place: ProfilePlace): Body => ({
  metrics: ['population_by_age'],
  group_by: ['sex', 'age_group'],
  filters: placeFilters(place.level === 'country' ? null : place.level, place.code),
})
