/** Describes a route's parameters for the API document, from the schemas that validate them. Pure. */
import { z } from 'zod'
import { type FieldName, fieldOf } from '../../model/fields.ts'
import { STATES } from '../../model/territory/states.ts'
import { codeSchema } from '../../query/lists/filters.ts'
import { querySchemas } from '../request/parameters.ts'
import type { Route } from '../route.ts'
import { OPERATION_EXAMPLES, PARAMETER_EXAMPLES } from './examples.ts'
import { documentOf, type Json, list, ref } from './json.ts'

/** Descriptions of parameters that are not fields. */
const PARAMETERS: Readonly<Record<string, string>> = {
  limit: 'Rows of a page; of facilities as GeoJSON up to 10,000, and 1,000 without it.',
  sort: 'Fields to order by, with - before descending ones; the key of the records decides what they leave open.',
  include:
    'facility adds type, address, telephone and coordinates of the facility; needs facilities.read, too.',
  bbox: 'west,south,east,north in decimal degrees, with west ≤ east and south ≤ north: facilities in this box.',
  near: 'latitude,longitude in decimal degrees: facilities within radius_km, the nearest first.',
  radius_km: 'Kilometres around near, which has to be there, too; 10 without it.',
  cursor: 'next_cursor of the page before, unchanged, with the same parameters.',
  count: 'true adds pagination.total.',
  search:
    'Words or parts of words of a name, in any order, without regard to case and accents; or the beginning of a code.',
  status: 'active facilities (the default), inactive ones, or all.',
  has_sus_capacity: 'Has SUS beds.',
  has_sus_quantity: 'Has equipment available to SUS.',
  equipment_category_code: 'Equipment category, 2 digits.',
  equipment_type_code: 'Equipment code within its category, 2 digits.',
  reference_period: 'YYYY-MM, or all where a list takes it; the newest month without it.',
  expected_release_id: 'The release to answer from; 409 when it is not here.',
  uf: 'Two-letter abbreviation of the state.',
  state: 'Two-letter abbreviation of the state.',
  municipality: 'IBGE code, 6 or 7 digits.',
  municipalityCode: 'IBGE code, 6 or 7 digits.',
  health_region_code: 'Health region of the municipality, 5 digits.',
  health_macroregion_code: 'Health macro-region of the municipality, 4 digits.',
  release_id: 'Id of a release, as GET /v1/releases lists it.',
  path: 'Path of a file as the manifest lists it, manifest.json, or what is signed of it; of the log, level (or entries), place and width.',
  dimensionCode: 'Code of a dimension of the catalog.',
  metricCode: 'Code of a metric of the catalog.',
  level: 'municipality, health_region, health_macroregion, state or region; of profiles country, too.',
  code: 'Code of the place: IBGE code of a municipality (6 or 7 digits), abbreviation of a state, digits of a region, BR.',
  detail: 'overview: coarser outlines, without names.',
  offset: 'Rows passed over.',
  filters: 'JSON array of filters as in a query: the records counted are those that pass them.',
  counts: 'true adds the records of each member in each dataset (facts).',
  q: 'JSON of the request, as the body of the POST of the same path.',
  format: 'Format of the answer.',
}

/** @returns the schema of a key column in a path. States may also be abbreviations, municipalities 6 digits. */
function keySchema(column: string, digits: number): z.ZodType<string> {
  if (column !== 'ibge_code') return z.string().regex(new RegExp(`^\\d{${digits}}$`))
  return digits === 2
    ? z.enum(STATES.flatMap(({ uf, ibge_code }) => [uf, String(ibge_code)]) as [string])
    : z.string().regex(/^\d{6,7}$/)
}

/** @returns the schema of a path parameter; the server answers 404 for any other value */
function pathSchema(route: Route, name: string): z.ZodType {
  if (route.kind === 'custom') return route.pathSchemas?.[name] ?? z.string().min(1)
  if (route.kind === 'record' || route.kind === 'provenance')
    return keySchema(name, route.key[name as FieldName] ?? 0)
  const filter =
    route.kind === 'list' && route.pathFilter?.parameter === name
      ? route.dataset.filters?.[route.pathFilter.filter]
      : undefined
  const code = filter === undefined ? null : codeSchema(filter)
  return code ?? keySchema(name, CNES_DIGITS)
}
const CNES_DIGITS = 7

const describeParameter = (name: string): string => {
  const described = PARAMETERS[name]
  return described ?? fieldOf(name as FieldName).description
}

/** @returns the example, reduced to one value unless the parameter accepts a list */
function exampleOf(route: Route, name: string, { type, items }: Json): Json {
  if (name === 'sort') return { example: (items as { enum: string[] }).enum.slice(0, 1) }
  const example = OPERATION_EXAMPLES[route.operation]?.[name] ?? PARAMETER_EXAMPLES[name]
  if (example === undefined) return {}
  return { example: type !== 'array' && Array.isArray(example) ? example[0] : example }
}

export const pathParameters = (route: Route): Json[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = documentOf(pathSchema(route, name))
    return {
      name,
      in: 'path',
      required: true,
      description: describeParameter(name),
      schema,
      ...exampleOf(route, name, schema),
    }
  })

function contentOf(route: Route, name: string): Json {
  if (name === 'filters') return { contentSchema: list(ref('AnalyticsFilter')) }
  if (name !== 'q') return {}
  const isReport = route.response === 'AnalyticsExportResponse'
  return { contentSchema: ref(isReport ? 'AnalyticsExportRequest' : 'AnalyticsQueryRequest') }
}

export function queryParameters(route: Route): Json[] {
  return Object.entries(querySchemas(route)).map(([name, checked]) => {
    const baseSchema = documentOf(checked)
    const schema = { ...baseSchema, ...defaultOf(route, name, baseSchema), ...contentOf(route, name) }
    return {
      name,
      in: 'query',
      required: !checked.safeParse(undefined).success,
      description: describeParameter(name),
      // Several codes are joined by commas: RR,AC.
      ...(baseSchema.type === 'array' ? { style: 'form', explode: false } : {}),
      schema,
      ...exampleOf(route, name, baseSchema),
    }
  })
}

function defaultOf(route: Route, name: string, { type }: Json): Json {
  if (route.kind !== 'list') return {}
  if (name === 'limit') return { default: route.limit.default }
  const value = route.defaults?.[name]
  return value === undefined ? {} : { default: type === 'array' ? [value] : value }
}
