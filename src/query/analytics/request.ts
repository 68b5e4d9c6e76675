/**
 * Parses the body of an analytics query into a normalised query. Pure.
 *
 * In: any JSON. Out: existing codes and valid values, sorted and without duplicates, so that equal queries are equal values.
 * Every error names the position, the problem and the allowed values.
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
import { isTime, PERIOD_FORMS, readPeriod } from '../../model/periods.ts'
import { STATES } from '../../model/territory/states.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../../text-limits.ts'
import { describeBody, takes } from '../field-texts.ts'
import { nearest } from '../nearest.ts'
import { refuse } from '../refusals.ts'
import { componentAs, documentedAs, documentOf } from '../text-schemas.ts'
import { checkFilterValues, checkPeriods } from './checks.ts'
import { optionFields, type QueryOptions, resolveOptions } from './options/options.ts'
import { valueCodes } from './options/value-kinds.ts'

export type FilterValue = string | number

export interface QueryFilter {
  readonly dimension: DimensionCode
  readonly operator: Operator
  /** Sorted, without duplicates. BETWEEN has its two bounds. */
  readonly values: readonly FilterValue[]
}

export interface AnalyticsQuery extends QueryOptions {
  readonly metrics: readonly MetricCode[]
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

const scalar = z.union([z.string().max(SEARCH_MAX), z.number().int()])
/** Any text passes here. Codes are checked later, so that the error can suggest similar names. The API document lists them. */
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
// A text orders by the field it names; a leading - means descending.
documentedAs(orderItem, {
  anyOf: [documentOf(orderItem), { type: 'string', minLength: 1, maxLength: SEARCH_MAX }],
})

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

/** @throws AppError as parseQuery does */
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

/** Sorts filters and drops duplicates. A list of one value becomes EQ or NEQ. */
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

/** @throws AppError as parseQuery does */
export function resolveQuery(data: z.infer<typeof bodySchema>): AnalyticsQuery {
  const metrics = unique(data.metrics.map((code, index) => resolveMetric(code, `/metrics/${index}`)))
  const groupBy = unique(data.group_by.map((code, index) => resolveDimension(code, `/group_by/${index}`)))
  checkPeriods(groupBy)
  const filters = resolveFilters(data.filters)
  const overPeriod = data.over_period ?? null
  const options = resolveOptions(data, { metrics, group_by: groupBy, filters, over_period: overPeriod })
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
  const isList = takesList(filter.operator)
  if (isList !== Array.isArray(filter.value))
    throw refuse(
      'invalid_request',
      `${pointer}/value`,
      isList
        ? both(`deve ser uma lista com ${filter.operator}`, `must be a list with ${filter.operator}`)
        : both(
            `deve ser um só valor com ${filter.operator}`,
            `must be a single value with ${filter.operator}`,
          ),
    )
  const rawValues = Array.isArray(filter.value) ? filter.value : [filter.value]
  const values = rawValues.map((value, index) =>
    resolveValue(dimension, value, `${pointer}/value${isList ? `/${index}` : ''}`),
  )
  if (filter.operator === 'BETWEEN') {
    const [low, high] = values
    if (values.length !== 2 || low === undefined || high === undefined || low > high)
      throw refuse(
        'invalid_request',
        `${pointer}/value`,
        both('deve ser dois períodos, o mais antigo primeiro', 'must be two periods, the earlier first'),
      )
    return { dimension, operator: 'BETWEEN', values: [low, high] }
  }
  return { dimension, operator: filter.operator, values }
}

/** @returns the value in the form of its column: UF, seven-digit integer, YYYYMM or a text code @throws AppError 'invalid_request' */
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
    // widenMunicipalities in query.ts converts six-digit codes with the release's list.
    return Number(text)
  }
  if (isTime(dimension)) {
    const period = readPeriod(dimension, text)
    const { pt, en } = PERIOD_FORMS[dimension]
    if (period === null) throw refuse('invalid_request', pointer, both(`deve ser ${pt}`, `must be ${en}`))
    return period
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

export const takesList = (operator: Operator): boolean =>
  operator === 'IN' || operator === 'NOT_IN' || operator === 'BETWEEN'

const unique = <Item>(items: readonly Item[]): Item[] => [...new Set(items)]
const uniqueBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] => {
  const seen = new Set<string>()
  return items.filter((item) => {
    const key = keyOf(item)
    return !seen.has(key) && seen.add(key)
  })
}
