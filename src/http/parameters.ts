/**
 * Parameters of the address. In: what a route declares, a query as it came. Out: its values, checked against zod schemas;
 * whatever is not declared is refused by name.
 */
import { z } from 'zod'
import { AppError } from '../errors.ts'
import { describeParameters, takes } from '../query/field-texts.ts'
import { filterSchema } from '../query/filters.ts'
import type { ListRoute, Route } from './route.ts'

/** Texts of path and query, already valid for the route. */
export type Params = Readonly<Record<string, string>>

const PIN = z.string().min(1).max(200)
const PERIOD = takes(z.string().regex(/^(\d{4}-(0[1-9]|1[0-2])|all)$/), 'AAAA-MM ou all', 'YYYY-MM or all')
const ONE_PERIOD = takes(z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/), 'AAAA-MM', 'YYYY-MM')

export function wholeNumber(low: number, high: number) {
  return takes(
    z
      .string()
      .regex(/^\d{1,9}$/)
      .refine((text) => Number(text) >= low && Number(text) <= high),
    `um número inteiro de ${low} a ${high}`,
    `a whole number from ${low} to ${high}`,
  )
}

/** @returns every query parameter of a route, with its schema */
export function querySchemas(route: Route): Record<string, z.ZodType<string | undefined>> {
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
    schemas.limit = wholeNumber(1, route.limit.max).optional()
    schemas.cursor = z.string().min(1).max(1024).optional()
    schemas.count = z.enum(['true', 'false']).optional()
  }
  if (route.dataset.periodic)
    schemas.reference_period = (
      route.kind === 'record' || route.kind === 'provenance' ? ONE_PERIOD : PERIOD
    ).optional()
  schemas.expected_release_id = PIN.optional()
  return schemas
}

/** @returns the function that checks a route's query; it throws AppError 'invalid_request' naming each parameter */
export function queryReader(route: Route): (query: object) => Params {
  const schemas = querySchemas(route)
  const schema = z.strictObject(schemas)
  const needsNone = schema.safeParse({}).success
  return (query) => {
    if (needsNone && Object.keys(query).length === 0) return NO_PARAMS
    const parsed = schema.safeParse(query)
    if (!parsed.success)
      throw new AppError('invalid_request', { errors: describeParameters(parsed.error, schema, query) })
    return parsed.data as Params
  }
}
/** Of a query without parameters. */
export const NO_PARAMS: Params = {}

/** Is a list restricted by anything but the place it begins at? */
export const isFiltered = (route: ListRoute, params: Params): boolean =>
  route.filters.some((name) => params[name] !== undefined)
