/**
 * Parses the metrics of a query: codes of the catalog, metrics under filters that hold for them alone, and ratios of two metrics of
 * the query. Pure.
 *
 * A metric with filters is the metric of a query that has those filters too. A ratio divides the two sides as they are stored, once.
 */
import { z } from 'zod'
import { both } from '../../../errors.ts'
import { DIMENSION_CODES } from '../../../model/dimensions.ts'
import { METRIC_CODES, type MetricCode, metricOf } from '../../../model/metrics.ts'
import { isTime } from '../../../model/periods.ts'
import { SEARCH_MAX } from '../../../text-limits.ts'
import { takes } from '../../field-texts.ts'
import { nearest } from '../../nearest.ts'
import { refuse } from '../../refusals.ts'
import { componentAs } from '../../text-schemas.ts'
import { filterItem, normaliseFilters, type QueryFilter, resolveFilters } from '../filters.ts'

export interface QueryMetric {
  /** Name in the answer: the metric's code, or the name that the query gives it. */
  readonly code: string
  readonly metric: MetricCode
  /** Filters of this metric alone, in the form of the query's filters. */
  readonly filters: readonly QueryFilter[]
  readonly label: string | null
}

export interface QueryRatio {
  readonly code: string
  /** Names of two metrics of the query: numerator and denominator. */
  readonly sides: readonly [string, string]
  readonly scale: number
  readonly decimals: number
  readonly label: string | null
}

export interface QueryMetrics {
  /** Codes of the catalog in its order, then named metrics by name. */
  readonly metrics: readonly QueryMetric[]
  readonly ratios: readonly QueryRatio[]
}

const METRICS_MAX = 20
/** Larger numbers could overflow the 128 bits in which quotients are compared. */
const SCALE_MAX = 100_000
const DECIMALS_MAX = 4
export const LABEL_MAX = 100

/** Any text passes here. Codes are checked later, so that the error can suggest similar names. The API document lists them. */
const metricText = componentAs(
  takes(
    z.string().max(SEARCH_MAX).meta({ enum: METRIC_CODES }),
    'o código de uma métrica do catálogo',
    'the code of a metric of the catalog',
  ),
  'MetricCode',
)
const NAME = /^[a-z][a-z0-9_]{0,39}$/
export const nameText = takes(
  z.string().regex(NAME),
  'um nome de até 40 letras minúsculas, dígitos e _, que comece por letra',
  'a name of up to 40 lower-case letters, digits and _, which begins with a letter',
)
export const labelText = takes(
  z
    .string()
    .trim()
    .min(1)
    .max(LABEL_MAX)
    .regex(/^[ -~\u00a0-\uffff]*[!-~\u00a1-\uffff][ -~\u00a0-\uffff]*$/)
    .refine((text) => text.isWellFormed()),
  `uma linha de texto de 1 a ${LABEL_MAX} caracteres`,
  `a line of text of 1 to ${LABEL_MAX} characters`,
)

const filteredItem = componentAs(
  z.strictObject({
    metric: metricText,
    as: nameText.describe('Name of the values in the answer.'),
    filters: z.array(filterItem).max(50).default([]).describe('Filters of this metric alone.'),
    label: labelText.nullish().describe('Label of the column in tables.'),
  }),
  'FilteredMetric',
)
const ratioItem = componentAs(
  z.strictObject({
    as: nameText.describe('Name of the values in the answer.'),
    ratio: takes(
      z.array(z.string().max(SEARCH_MAX)).length(2),
      'os nomes de duas métricas da consulta: numerador e denominador',
      'the names of two metrics of the query: numerator and denominator',
    ).describe('Numerator and denominator: two metrics of the query that are no ratios.'),
    scale: z.number().int().min(1).max(SCALE_MAX).default(1),
    decimals: z.number().int().min(0).max(DECIMALS_MAX).default(2),
    label: labelText.nullish().describe('Label of the column in tables.'),
  }),
  'RatioOfMetrics',
)
export const metricsField = z
  .array(
    takes(
      z.union([metricText, filteredItem, ratioItem]),
      'um código de métrica, {metric, as, filters} ou {as, ratio, scale, decimals}',
      'a code of a metric, {metric, as, filters} or {as, ratio, scale, decimals}',
    ),
  )
  .min(1)
  .max(METRICS_MAX)

type MetricItem = z.infer<typeof metricsField>[number]

/**
 * @param groups names of the grouped dimensions and groupings, which no metric may have
 * @throws AppError 'unknown_metric', 'invalid_request'
 */
export function resolveMetrics(items: readonly MetricItem[], groups: readonly string[]): QueryMetrics {
  const metrics: QueryMetric[] = []
  const ratios: { readonly item: Extract<MetricItem, { ratio: string[] }>; readonly pointer: string }[] = []
  const names = new Set<string>()
  const addName = (name: string, pointer: string): void => {
    const problem = names.has(name)
      ? both('já é o nome de outra métrica da consulta', 'is the name of another metric of the query')
      : problemOfName(name, groups)
    if (problem !== null) throw refuse('invalid_request', pointer, problem)
    names.add(name)
  }
  items.forEach((item, index) => {
    const pointer = `/metrics/${index}`
    if (typeof item === 'string') {
      const metric = resolveMetric(item, pointer)
      metrics.push({ code: metric, metric, filters: [], label: null })
      return
    }
    addName(item.as, `${pointer}/as`)
    if ('ratio' in item) {
      ratios.push({ item, pointer })
      return
    }
    metrics.push({
      code: item.as,
      metric: resolveMetric(item.metric, `${pointer}/metric`),
      filters: resolveMetricFilters(item.filters, `${pointer}/filters`),
      label: item.label ?? null,
    })
  })
  const sides = metrics.filter(({ metric }) => metricOf(metric).kind !== 'ratio').map(({ code }) => code)
  return {
    metrics: [
      ...METRIC_CODES.flatMap((code) => metrics.find((metric) => metric.code === code) ?? []),
      ...metrics.filter(({ code }) => names.has(code)).sort(byCode),
    ],
    ratios: ratios
      .map(({ item, pointer }): QueryRatio => {
        const side = (position: 0 | 1): string => {
          const name = item.ratio[position] ?? ''
          if (sides.includes(name)) return name
          throw refuse(
            'invalid_request',
            `${pointer}/ratio/${position}`,
            both(
              'não é métrica da consulta, ou já é uma razão',
              'is not a metric of the query, or is a ratio already',
            ),
            sides,
          )
        }
        const { scale, decimals } = item
        return { code: item.as, sides: [side(0), side(1)], scale, decimals, label: item.label ?? null }
      })
      .sort(byCode),
  }
}

const byCode = (left: { readonly code: string }, right: { readonly code: string }): number =>
  left.code < right.code ? -1 : 1

/** Columns of tables that are no values. */
const COLUMNS = new Set(['label', 'total', 'rank', 'peers', 'metric'])
const DIMENSION_COLUMN = /_(code|name|uf|ibge_code)$/

/** @returns why a name cannot stand beside the names of the catalog and of the columns; null when it can */
export function problemOfName(name: string, groups: readonly string[] = []) {
  if (METRIC_CODES.some((code) => code === name))
    return both('é uma métrica do catálogo', 'is a metric of the catalog')
  if (DIMENSION_CODES.some((code) => code === name))
    return both('é uma dimensão do catálogo', 'is a dimension of the catalog')
  if (name.includes('__'))
    return both(
      'não pode ter dois _ seguidos, que separam sufixos',
      'must not have two _ in a row, which separate suffixes',
    )
  const column = name.replace(DIMENSION_COLUMN, '')
  const isOfDimension =
    column !== name && (groups.includes(column) || DIMENSION_CODES.some((code) => code === column))
  return COLUMNS.has(name) || isOfDimension || groups.includes(name)
    ? both('é o nome de outra coluna', 'is the name of another column')
    : null
}

function resolveMetric(code: string, pointer: string): MetricCode {
  const found = METRIC_CODES.find((candidate) => candidate === code)
  if (found !== undefined) return found
  throw refuse(
    'unknown_metric',
    pointer,
    both('não é uma métrica do catálogo', 'is not a metric of the catalog'),
    nearest(code, METRIC_CODES),
  )
}

/** Months belong to the whole query: every metric of a row is of the same ones. */
function resolveMetricFilters(items: z.infer<typeof filterItem>[], pointer: string): readonly QueryFilter[] {
  const filters = resolveFilters(items, pointer)
  const ofTime = items.findIndex(({ dimension }) => isTime(dimension))
  if (ofTime < 0) return filters
  throw refuse(
    'invalid_request',
    `${pointer}/${ofTime}/dimension`,
    both(
      'não pode filtrar só uma métrica: as competências são de toda a consulta',
      'cannot filter one metric alone: periods are those of the whole query',
    ),
  )
}

/** @returns the distinct metrics of the catalog that a query reads */
export const catalogMetrics = ({ metrics }: Pick<QueryMetrics, 'metrics'>): MetricCode[] => [
  ...new Set(metrics.map(({ metric }) => metric)),
]

export const isAdditive = (code: MetricCode): boolean => {
  const { kind } = metricOf(code)
  return kind === 'sum' || kind === 'count'
}

/** @returns names of the metrics in an answer, and whether their groups add up */
export const namedMetrics = ({
  metrics,
  ratios,
}: QueryMetrics): { readonly code: string; readonly isAdditive: boolean }[] => [
  ...metrics.map(({ code, metric }) => ({ code, isAdditive: isAdditive(metric) })),
  ...ratios.map(({ code }) => ({ code, isAdditive: false })),
]

/** @returns a query as one of its metrics reads it: under the filters of both */
export const queryOfMetric = <Query extends { readonly filters: readonly QueryFilter[] }>(
  query: Query,
  { filters }: Pick<QueryMetric, 'filters'>,
): Query =>
  filters.length === 0 ? query : { ...query, filters: normaliseFilters([...query.filters, ...filters]) }

/** @returns all filters of a query and of its metrics */
export const allFilters = ({
  filters,
  metrics,
}: {
  readonly filters: readonly QueryFilter[]
  readonly metrics: readonly QueryMetric[]
}): QueryFilter[] => [...filters, ...metrics.flatMap((metric) => metric.filters)]

/** @returns metrics as a request writes them @param showFilters writes filters in the form of a request */
export const normaliseMetrics = <Shown>(
  { metrics, ratios }: QueryMetrics,
  showFilters: (filters: readonly QueryFilter[]) => Shown,
) => [
  ...metrics.map(({ code, metric, filters, label }) =>
    code === metric
      ? code
      : {
          metric,
          as: code,
          ...(filters.length === 0 ? {} : { filters: showFilters(filters) }),
          ...(label === null ? {} : { label }),
        },
  ),
  ...ratios.map(({ code, sides, scale, decimals, label }) => ({
    as: code,
    ratio: sides,
    scale,
    decimals,
    ...(label === null ? {} : { label }),
  })),
]
