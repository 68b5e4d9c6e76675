/**
 * Parses the body of an analytics query into a normalised query. Pure.
 *
 * In: any JSON. Out: existing codes and valid values, sorted and without duplicates, so that equal queries are equal values.
 * Every error names the position, the problem and the allowed values.
 */
import { z } from 'zod'
import { AppError, both } from '../../errors.ts'
import { DIMENSION_CODES, type DimensionCode } from '../../model/dimensions.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../../text-limits.ts'
import { describeBody, takes } from '../field-texts.ts'
import { refuse } from '../refusals.ts'
import { componentAs, documentedAs, documentOf } from '../text-schemas.ts'
import { checkPeriods } from './checks.ts'
import {
  filterItem,
  groupText,
  type QueryFilter,
  resolveDimension,
  resolveFilters,
  unique,
  uniqueBy,
  withOperators,
} from './filters.ts'
import { metricsField, namedMetrics, type QueryMetrics, resolveMetrics } from './options/defined-metrics.ts'
import { codeOfGroup, nameOfGroup, resolveGroupings } from './options/groupings.ts'
import { optionFields, type QueryOptions, resolveOptions } from './options/options.ts'
import { valueCodes } from './options/value-kinds.ts'

export interface AnalyticsQuery extends QueryOptions, QueryMetrics {
  readonly group_by: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
  readonly order_by: readonly {
    /** A grouped dimension, or a value of the row. */
    readonly field: string
    readonly direction: 'asc' | 'desc'
  }[]
  readonly over_period: 'last' | 'first' | 'avg' | 'max' | null
  readonly limit: number
  readonly offset: number
}

const orderText = takes(
  z.string().max(SEARCH_MAX),
  'uma métrica ou dimensão agrupada da consulta',
  'a metric or grouped dimension of the query',
)
const orderItem = z.strictObject({ field: orderText, direction: z.enum(['asc', 'desc']).default('asc') })
// A text orders by the field it names; a leading - means descending.
documentedAs(orderItem, {
  anyOf: [documentOf(orderItem), { type: 'string', minLength: 1, maxLength: SEARCH_MAX }],
})

export const bodySchema = z.strictObject({
  metrics: metricsField,
  group_by: z.array(groupText).max(6).default([]),
  filters: z.array(filterItem).max(50).default([]),
  order_by: z
    .array(orderItem)
    .max(26)
    .default([])
    .describe('Each may be a text, too: its field, with - before it from the largest on.'),
  limit: z.number().int().min(1).max(10_000).default(100),
  offset: z.number().int().min(0).max(1_000_000).default(0),
  expected_release_id: z.string().max(RELEASE_ID_MAX).nullish(),
  over_period: z.enum(['last', 'first', 'avg', 'max']).nullish(),
  ...optionFields,
})

componentAs(bodySchema, 'AnalyticsQueryRequest')

/** @returns expected_release_id, before the rest of the body is validated */
export function readPin(body: unknown): string | null {
  const pin =
    typeof body === 'object' && body !== null
      ? (body as { expected_release_id?: unknown }).expected_release_id
      : null
  return typeof pin === 'string' && pin.length <= RELEASE_ID_MAX ? pin : null
}

/** @throws AppError 'invalid_request', 'unknown_metric', 'unknown_dimension' */
export const parseQuery = (body: unknown): AnalyticsQuery => resolveQuery(parseBody(bodySchema, body))

export const reportSchema = bodySchema.omit({ limit: true, offset: true }).extend({
  title: takes(
    z
      .string()
      .trim()
      .min(1)
      .max(120)
      .regex(/^[ -~\u00a0-\uffff]*[!-~\u00a1-\uffff][ -~\u00a0-\uffff]*$/)
      .refine((text) => text.isWellFormed()),
    'uma linha de texto de 1 a 120 caracteres',
    'a line of text of 1 to 120 characters',
  ).nullish(),
})

componentAs(reportSchema, 'AnalyticsReportRequest')

export const REPORT_ROWS_MAX = 1_000_000

/** @returns a query of all rows, and the title @throws AppError as parseQuery does; limit and offset are rejected */
export function parseReport(body: unknown): { query: AnalyticsQuery; title: string | null } {
  const { title, ...query } = parseBody(reportSchema, body)
  return { query: resolveQuery({ ...query, limit: REPORT_ROWS_MAX, offset: 0 }), title: title ?? null }
}

/** @throws AppError 'invalid_request' */
export function parseBody<Shape extends z.ZodObject>(schema: Shape, body: unknown): z.infer<Shape> {
  const parsed = schema.safeParse(readLeniently(body))
  if (!parsed.success)
    throw new AppError('invalid_request', { errors: describeBody(parsed.error, schema, body) })
  return parsed.data
}

/** Accepts lower-case operators, and orders given as text. */
const readLeniently = (body: unknown): unknown =>
  typeof body !== 'object' || body === null || Array.isArray(body)
    ? body
    : Object.fromEntries(
        Object.entries(body).map(([name, value]) => [
          name,
          name === 'filters' || name === 'having'
            ? withOperators(value)
            : name === 'order_by'
              ? withOrders(value)
              : name === 'metrics' && Array.isArray(value)
                ? value.map(withMetricOperators)
                : value,
        ]),
      )

const withMetricOperators = (metric: unknown): unknown =>
  typeof metric === 'object' && metric !== null && 'filters' in metric
    ? { ...metric, filters: withOperators(metric.filters) }
    : metric

const withOrders = (orders: unknown): unknown =>
  Array.isArray(orders)
    ? orders.map((order: unknown) =>
        typeof order !== 'string'
          ? order
          : order.startsWith('-')
            ? { field: order.slice(1), direction: 'desc' }
            : { field: order },
      )
    : orders

/** @throws AppError as parseQuery does */
export function resolveQuery(data: z.infer<typeof bodySchema>): AnalyticsQuery {
  const groupings = resolveGroupings(data.groupings, data.group_by)
  const codeOf = (name: string): string => codeOfGroup(name, groupings)
  const groupBy = unique(
    data.group_by.map((name, index) =>
      codeOf(name) === name
        ? resolveDimension(name, `/group_by/${index}`, [
            ...DIMENSION_CODES,
            ...Object.keys(data.groupings ?? {}),
          ])
        : (codeOf(name) as DimensionCode),
    ),
  )
  const queryMetrics = resolveMetrics(data.metrics, Object.keys(data.groupings ?? {}))
  checkPeriods(groupBy)
  const filters = resolveFilters(data.filters)
  const overPeriod = data.over_period ?? null
  const options = resolveOptions(data, {
    ...queryMetrics,
    group_by: groupBy,
    filters,
    over_period: overPeriod,
    groupings,
  })
  const values = valueCodes({ ...queryMetrics, ...options })
  const orderable = [...values, ...groupBy.map((code) => nameOfGroup(code, { groupings }))]
  const orderBy = data.order_by.map(({ field, direction }, index) => {
    if (!orderable.includes(field))
      throw refuse(
        'invalid_request',
        `/order_by/${index}/field`,
        both(
          'não é métrica nem dimensão agrupada da consulta',
          'is not a metric or grouped dimension of the query',
        ),
        orderable,
      )
    return { field: codeOf(field), direction }
  })
  const [first] = orderBy
  if (options.rank && (first === undefined || groupBy.some((code) => code === first.field)))
    throw refuse(
      'invalid_request',
      '/rank',
      both(
        'precisa de um order_by que comece por uma métrica',
        'needs an order_by that begins with a metric',
      ),
      namedMetrics(queryMetrics).map(({ code }) => code),
    )
  return {
    ...queryMetrics,
    group_by: groupBy,
    filters,
    order_by: uniqueBy(orderBy, ({ field }) => field),
    over_period: overPeriod,
    limit: data.limit,
    offset: data.offset,
    ...options,
  }
}
