/**
 * Parses filters on dimensions into one form: sorted values in the form of their columns, without duplicates. Pure.
 *
 * Filters stand beside the metrics of a query, within a metric, and in parameters of other routes.
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
  REGION_DIMENSIONS,
} from '../../model/dimensions.ts'
import { isTime, PERIOD_FORMS, readPeriod } from '../../model/periods.ts'
import { STATES } from '../../model/territory/states.ts'
import { SEARCH_MAX } from '../../text-limits.ts'
import { describeBody, takes } from '../field-texts.ts'
import { refuse } from '../refusals.ts'
import { componentAs, componentRef, documentedAs } from '../text-schemas.ts'
import { checkFilterValues } from './checks.ts'

export type FilterValue = string | number

export interface QueryFilter {
  readonly dimension: DimensionCode
  readonly operator: Operator
  /** Sorted, without duplicates. BETWEEN has its two bounds. */
  readonly values: readonly FilterValue[]
}

const scalar = z.union([z.string().max(SEARCH_MAX), z.number().int()])
export const dimensionText = componentAs(
  takes(
    z.string().max(SEARCH_MAX).meta({ enum: DIMENSION_CODES }),
    'o código de uma dimensão do catálogo',
    'the code of a dimension of the catalog',
  ),
  'DimensionCode',
)
/** A dimension, or a grouping of the request by its name. */
export const groupText = documentedAs(
  takes(
    z.string().max(SEARCH_MAX),
    'o código de uma dimensão do catálogo, ou o nome de um agrupamento do pedido',
    'the code of a dimension of the catalog, or the name of a grouping of the request',
  ),
  { anyOf: [componentRef('DimensionCode'), { type: 'string', pattern: '^[a-z][a-z0-9_]{0,39}$' }] },
)
export const filterItem = componentAs(
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
export const filtersSchema = z.array(filterItem).max(50).default([])

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

/** @param pointer where the filters stand in the request @throws AppError as parseQuery does */
export function resolveFilters(filters: z.infer<typeof filtersSchema>, pointer = '/filters'): QueryFilter[] {
  checkFilterValues(filters)
  return normaliseFilters(filters.map((filter, index) => resolveFilter(filter, `${pointer}/${index}`)))
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

export const withOperators = (filters: unknown): unknown =>
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

/** @param allowed names that the error lists */
export function resolveDimension(
  code: string,
  pointer: string,
  allowed: readonly string[] = DIMENSION_CODES,
): DimensionCode {
  const found = DIMENSION_CODES.find((candidate) => candidate === code)
  if (found !== undefined) return found
  throw refuse(
    'unknown_dimension',
    pointer,
    both('não é uma dimensão do catálogo', 'is not a dimension of the catalog'),
    allowed,
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
  if (REGION_DIMENSIONS.has(dimension)) {
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

export const unique = <Item>(items: readonly Item[]): Item[] => [...new Set(items)]
export const uniqueBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] => {
  const seen = new Set<string>()
  return items.filter((item) => {
    const key = keyOf(item)
    return !seen.has(key) && seen.add(key)
  })
}
