/** Validates query parameters against a route's schemas. Undeclared parameters are rejected by name. */
import { z } from 'zod'
import { AppError, both } from '../../errors.ts'
import { describeParameters, takes } from '../../query/field-texts.ts'
import { filterSchema } from '../../query/lists/filters.ts'
import { sortSchema } from '../../query/lists/order.ts'
import { PLACE_SCHEMAS } from '../../query/lists/places.ts'
import { booleanText, documentOf, integerText } from '../../query/text-schemas.ts'
import type { ListRoute, Route } from '../route.ts'
import type { ListFormat } from './formats.ts'

export type Params = Readonly<Record<string, string>>

const PIN = z.string().min(1).max(200)
const PERIOD = takes(z.string().regex(/^(\d{4}-?(0\d|1[0-2])|all)$/), 'AAAA-MM ou all', 'YYYY-MM or all')
const ONE_PERIOD = takes(z.string().regex(/^\d{4}-?(0[1-9]|1[0-2])$/), 'AAAA-MM', 'YYYY-MM')

export function querySchemas(
  route: Route,
  format: ListFormat = 'json',
): Record<string, z.ZodType<string | undefined>> {
  const schemas: Record<string, z.ZodType<string | undefined>> = {}
  if (route.kind === 'custom') {
    Object.assign(schemas, route.query)
    if (route.method === 'GET' && route.release !== null) schemas.expected_release_id = PIN.optional()
    return schemas
  }
  const filters = route.kind === 'list' || route.kind === 'all' ? (route.filters ?? []) : []
  for (const name of filters) {
    const filter = route.dataset.filters?.[name]
    if (filter === undefined)
      throw new TypeError(`${route.path}: ${route.dataset.name} declares no filter ${name}`)
    schemas[name] = filterSchema(filter).optional()
  }
  if (route.kind === 'list') {
    if (route.dataset.sorts !== undefined) schemas.sort = sortSchema(route.dataset.sorts).optional()
    if (route.includes !== undefined) schemas.include = z.literal(route.includes).optional()
    if (route.features !== undefined)
      for (const [name, schema] of Object.entries(PLACE_SCHEMAS)) schemas[name] = schema.optional()
    const { max } = format === 'geojson' ? (route.features ?? route.limit) : route.limit
    schemas.limit = integerText(1, max).optional()
    schemas.cursor = z.string().min(1).max(1024).optional()
    schemas.count = booleanText().optional()
  }
  if (route.dataset.periodic)
    schemas.reference_period = (
      route.kind === 'record' || route.kind === 'provenance' ? ONE_PERIOD : PERIOD
    ).optional()
  schemas.expected_release_id = PIN.optional()
  return schemas
}

type QueryReader = (query: object) => Params

/**
 * Makes the schemas of a route with its first request: those of all routes took a fifth of the processor time of a start.
 * @returns a function that validates a query; it throws AppError 'invalid_request' listing each invalid parameter
 */
export function queryReader(route: Route, format: ListFormat = 'json'): QueryReader {
  let read: QueryReader | null = null
  return (query) => {
    read ??= makeQueryReader(route, format)
    return read(query)
  }
}

function makeQueryReader(route: Route, format: ListFormat): QueryReader {
  const schemas = querySchemas(route, format)
  const schema = z.strictObject(schemas)
  const acceptsEmpty = schema.safeParse({}).success
  return (rawQuery) => {
    if (acceptsEmpty && Object.keys(rawQuery).length === 0) return NO_PARAMS
    const query = joinRepeated(rawQuery, schemas)
    const parsed = schema.safeParse(query)
    if (!parsed.success)
      throw new AppError('invalid_request', { errors: describeParameters(parsed.error, schema, query) })
    const params = parsed.data as Params
    if (params.radius_km !== undefined && params.near === undefined)
      throw new AppError('invalid_request', { errors: [RADIUS_WITHOUT_NEAR] })
    return params
  }
}
const isList = (schema: z.ZodType | undefined): boolean =>
  schema !== undefined && documentOf(schema).type === 'array'

/** Joins repeated parameters: uf=RR&uf=AC means uf=RR,AC, and many programs write lists so. @param schemas of the parameters by name */
function joinRepeated(query: object, schemas: Readonly<Record<string, z.ZodType | undefined>>): object {
  const values = query as Readonly<Record<string, unknown>>
  const repeated = Object.keys(schemas).filter((name) => Array.isArray(values[name]) && isList(schemas[name]))
  if (repeated.length === 0) return query
  return { ...values, ...Object.fromEntries(repeated.map((name) => [name, String(values[name])])) }
}
const RADIUS_WITHOUT_NEAR = {
  parameter: 'radius_km',
  message: both('só vale junto com near', 'goes with near only'),
} as const

export const NO_PARAMS: Params = {}

/** @returns whether a list is filtered, sorted, or has members added to its rows */
export const isFiltered = (route: ListRoute, params: Params): boolean =>
  route.filters.some((name) => params[name] !== undefined) ||
  LIST_OPTIONS.some((name) => params[name] !== undefined)
const LIST_OPTIONS = ['sort', 'include', 'bbox', 'near'] as const
