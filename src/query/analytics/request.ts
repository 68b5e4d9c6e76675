/**
 * The body of an analytics query → a normalised query. Pure.
 *
 * In: any JSON. Out: codes that exist, values of the right kind, everything sorted and deduplicated, so that equal
 * queries are equal values. Every refusal names the place, what is wrong and what is allowed.
 */
import { z } from 'zod'
import { AppError, both } from '../../errors.ts'
import {
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  isMunicipality,
  OPERATORS,
  type Operator,
  operatorsOf,
} from '../../model/dimensions.ts'
import { METRIC_CODES, type MetricCode } from '../../model/metrics.ts'
import { STATES } from '../../model/territory/states.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../../text-limits.ts'
import { describeBody, takes } from '../field-texts.ts'
import { nearest } from '../nearest.ts'
import { refuse } from '../refusals.ts'
import { componentAs, documentedAs, documentOf } from '../text-schemas.ts'
import { checkFilterValues } from './checks.ts'
import { optionFields, type QueryOptions, resolveOptions, valueCodes } from './options.ts'

export type FilterValue = string | number

export interface QueryFilter {
  readonly dimension: DimensionCode
  readonly operator: Operator
  /** Sorted, without repetition; of BETWEEN the two ends. */
  readonly values: readonly FilterValue[]
}

export interface AnalyticsQuery extends QueryOptions {
  readonly metrics: readonly MetricCode[]
  readonly group_by: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
  readonly order_by: readonly {
    /** A grouped dimension, or a value of a row. */
    readonly field: string
    readonly direction: 'asc' | 'desc'
  }[]
  readonly over_period: 'last' | 'first' | 'avg' | 'max' | null
  readonly limit: number
  readonly offset: number
}

const scalar = z.union([z.string().max(SEARCH_MAX), z.number().int()])
/** Codes are checked later, with the nearest names in the refusal; the API document lists them. */
const metricText = componentAs(
  takes(
    z.string().max(SEARCH_MAX).meta({ enum: METRIC_CODES }),
    'o código de uma métrica do catálogo',
    'the code of a metric of the catalog',
  ),
  'MetricCode',
)
const dimensionText = componentAs(
  takes(
    z.string().max(SEARCH_MAX).meta({ enum: DIMENSION_CODES }),
    'o código de uma dimensão do catálogo',
    'the code of a dimension of the catalog',
  ),
  'DimensionCode',
)
const orderText = takes(
  z.string().max(SEARCH_MAX),
  'uma métrica ou dimensão agrupada da consulta',
  'a metric or grouped dimension of the query',
)
const filterItem = componentAs(
  z.strictObject({
    dimension: dimensionText,
    operator: componentAs(z.enum(OPERATORS), 'FilterOperator'),
    value: takes(
      z.union([scalar, z.array(scalar).min(1).max(6000)]),
      'um texto ou número inteiro, ou uma lista deles (de 1 a 6000)',
      'a text or whole number, or a list of them (1 to 6000)',
    ),
  }),
  'AnalyticsFilter',
)
const orderItem = z.strictObject({ field: orderText, direction: z.enum(['asc', 'desc']).default('asc') })
// A text is read as the field that it names, from the largest value on where - stands before it.
documentedAs(orderItem, {
  anyOf: [documentOf(orderItem), { type: 'string', minLength: 1, maxLength: SEARCH_MAX }],
})

/** Body of a query. */
export const bodySchema = z.strictObject({
  metrics: z.array(metricText).min(1).max(20),
  group_by: z.array(dimensionText).max(6).default([]),
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

const filtersSchema = bodySchema.shape.filters

/** @returns filters on their own, as the query has them; @throws AppError as parseQuery */
export function parseFilters(value: unknown, parameter: string): QueryFilter[] {
  const parsed = filtersSchema.safeParse(withOperators(value))
  if (!parsed.success)
    throw new AppError('invalid_request', {
      errors: describeBody(parsed.error, filtersSchema, value).map(({ pointer, message, ...detail }) => ({
        parameter,
        ...detail,
        message: pointer ? both(`em ${pointer} ${message.pt}`, `at ${pointer} ${message.en}`) : message,
      })),
    })
  return resolveFilters(parsed.data)
}

function resolveFilters(filters: z.infer<typeof filtersSchema>): QueryFilter[] {
  checkFilterValues(filters)
  return normaliseFilters(filters.map((filter, index) => resolveFilter(filter, `/filters/${index}`)))
}

/** @returns the same filters without repetition and in one order; a list of one is the same query as a single value */
export const normaliseFilters = (filters: readonly QueryFilter[]): QueryFilter[] =>
  uniqueBy(
    filters.map(({ dimension, operator, values }): QueryFilter => {
      if (operator === 'BETWEEN') return { dimension, operator, values }
      const sorted = unique(values).sort((left, right) => (left < right ? -1 : left > right ? 1 : 0))
      const single = sorted.length === 1
      if (single && operator === 'IN') return { dimension, operator: 'EQ', values: sorted }
      if (single && operator === 'NOT_IN') return { dimension, operator: 'NEQ', values: sorted }
      return { dimension, operator, values: sorted }
    }),
    (filter) => JSON.stringify(filter),
  ).sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))

/** @returns the pin of a body, before anything else of it is looked at */
export function readPin(body: unknown): string | null {
  const pin =
    typeof body === 'object' && body !== null
      ? (body as { expected_release_id?: unknown }).expected_release_id
      : null
  return typeof pin === 'string' && pin.length <= RELEASE_ID_MAX ? pin : null
}

/** @throws AppError 'invalid_request', 'unknown_metric', 'unknown_dimension' */
export const parseQuery = (body: unknown): AnalyticsQuery => resolveQuery(parseBody(bodySchema, body))

/** Body of a report's request. */
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

/** Rows a report may have. */
export const REPORT_ROWS_MAX = 1_000_000

/** A query of all its rows, and a title. @throws AppError as parseQuery; limit and offset are refused */
export function parseReport(body: unknown): { query: AnalyticsQuery; title: string | null } {
  const { title, ...query } = parseBody(reportSchema, body)
  return { query: resolveQuery({ ...query, limit: REPORT_ROWS_MAX, offset: 0 }), title: title ?? null }
}

/** @returns a body of a schema made of the query's; @throws AppError 'invalid_request' */
export function parseBody<Shape extends z.ZodObject>(schema: Shape, body: unknown): z.infer<Shape> {
  const parsed = schema.safeParse(readLeniently(body))
  if (!parsed.success)
    throw new AppError('invalid_request', { errors: describeBody(parsed.error, schema, body) })
  return parsed.data
}

/** A body as it is meant: operators may be in lower case, an order a text. */
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
              : value,
        ]),
      )

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

const withOperators = (filters: unknown): unknown =>
  Array.isArray(filters)
    ? filters.map((filter: unknown) =>
        typeof filter === 'object' &&
        filter !== null &&
        'operator' in filter &&
        typeof filter.operator === 'string'
          ? { ...filter, operator: filter.operator.toUpperCase() }
          : filter,
      )
    : filters

/** Fields of a body → a normalised query. @throws AppError as parseQuery */
export function resolveQuery(data: z.infer<typeof bodySchema>): AnalyticsQuery {
  const metrics = unique(data.metrics.map((code, index) => resolveMetric(code, `/metrics/${index}`)))
  const groupBy = unique(data.group_by.map((code, index) => resolveDimension(code, `/group_by/${index}`)))
  const filters = resolveFilters(data.filters)
  const overPeriod = data.over_period ?? null
  const options = resolveOptions(data, { metrics, group_by: groupBy, over_period: overPeriod })
  const orderable = [...valueCodes({ metrics, ...options }), ...groupBy]
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
    return { field, direction }
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
      metrics,
    )
  return {
    metrics: METRIC_CODES.filter((code) => metrics.includes(code)),
    group_by: groupBy,
    filters,
    order_by: uniqueBy(orderBy, ({ field }) => field),
    over_period: overPeriod,
    limit: data.limit,
    offset: data.offset,
    ...options,
  }
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

function resolveDimension(code: string, pointer: string): DimensionCode {
  const found = DIMENSION_CODES.find((candidate) => candidate === code)
  if (found !== undefined) return found
  throw refuse(
    'unknown_dimension',
    pointer,
    both('não é uma dimensão do catálogo', 'is not a dimension of the catalog'),
    DIMENSION_CODES,
  )
}

function resolveFilter(
  filter: { dimension: string; operator: Operator; value: FilterValue | FilterValue[] },
  pointer: string,
): QueryFilter {
  const dimension = resolveDimension(filter.dimension, `${pointer}/dimension`)
  const allowed = operatorsOf(dimension)
  if (!allowed.includes(filter.operator))
    throw refuse(
      'invalid_request',
      `${pointer}/operator`,
      both(`não combina com ${dimension}`, `does not go with ${dimension}`),
      allowed,
    )
  const many = takesList(filter.operator)
  if (many !== Array.isArray(filter.value))
    throw refuse(
      'invalid_request',
      `${pointer}/value`,
      many
        ? both(`deve ser uma lista com ${filter.operator}`, `must be a list with ${filter.operator}`)
        : both(
            `deve ser um só valor com ${filter.operator}`,
            `must be a single value with ${filter.operator}`,
          ),
    )
  const list = Array.isArray(filter.value) ? filter.value : [filter.value]
  const values = list.map((value, index) =>
    resolveValue(dimension, value, `${pointer}/value${many ? `/${index}` : ''}`),
  )
  if (filter.operator === 'BETWEEN') {
    const [low, high] = values
    if (values.length !== 2 || low === undefined || high === undefined || low > high)
      throw refuse(
        'invalid_request',
        `${pointer}/value`,
        both('deve ser duas competências, a mais antiga primeiro', 'must be two periods, the earlier first'),
      )
    return { dimension, operator: 'BETWEEN', values: [low, high] }
  }
  return { dimension, operator: filter.operator, values }
}

/** A value in the form its column has: UF, seven-digit integer, YYYYMM, or a code as text. @throws AppError 'invalid_request' */
export function resolveValue(dimension: DimensionCode, value: FilterValue, pointer: string): FilterValue {
  const text = String(value)
  if (dimension === 'state' || dimension === 'residence_state') {
    const state = STATES.find(({ uf, ibge_code }) => uf === text.toUpperCase() || String(ibge_code) === text)
    if (state !== undefined) return state.uf
    const allowed = STATES.map(({ uf }) => uf)
    throw refuse('invalid_request', pointer, both('não é um estado', 'is not a state'), allowed)
  }
  if (isMunicipality(dimension)) {
    if (!/^\d{6,7}$/.test(text))
      throw refuse(
        'invalid_request',
        pointer,
        both('deve ser um código do IBGE de 6 ou 7 dígitos', 'must be an IBGE code of 6 or 7 digits'),
      )
    // A six-digit code becomes seven by the release's list; see widenMunicipalities in result.ts.
    return Number(text)
  }
  if (dimension === 'reference_period') {
    if (!/^\d{4}-?(0[1-9]|1[0-2])$/.test(text))
      throw refuse('invalid_request', pointer, both('deve ser AAAA-MM', 'must be YYYY-MM'))
    return Number(text.replace('-', ''))
  }
  if (dimension === 'region') {
    if (/^[1-5]$/.test(text)) return Number(text)
    throw refuse(
      'invalid_request',
      pointer,
      both('não é uma grande região', 'is not a major region'),
      [1, 2, 3, 4, 5],
    )
  }
  const isText = value === text && text !== '' && text.isWellFormed() && !text.includes('\u0000')
  if (!isText || dimensionOf(dimension).integer === true)
    throw refuse('invalid_request', pointer, both('deve ser um código em texto', 'must be a code as text'))
  return value
}

/** Operators whose value is an array. */
export const takesList = (operator: Operator): boolean =>
  operator === 'IN' || operator === 'NOT_IN' || operator === 'BETWEEN'

const unique = <Item>(items: readonly Item[]): Item[] => [...new Set(items)]
/** The first of each key, in the order given. */
const uniqueBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] => {
  const known = new Set<string>()
  return items.filter((item) => {
    const key = keyOf(item)
    return !known.has(key) && known.add(key)
  })
}
