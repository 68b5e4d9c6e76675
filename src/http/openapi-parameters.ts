/** The parameters of a route as the API document has them, made from the schemas that check them. Pure. */
import { type FieldName, fieldOf } from '../model/fields.ts'
import { codeSchema } from '../query/filters.ts'
import { SORT_TERMS_MAX } from '../query/list-order.ts'
import { type Json, jsonSchema } from './openapi-answers.ts'
import { querySchemas } from './parameters.ts'
import type { Route } from './route.ts'

/** Parameters whose meaning is not a field's. */
const PARAMETERS: Readonly<Record<string, string>> = {
  limit: 'Rows of a page; of facilities as GeoJSON up to 10,000, and 1,000 without it.',
  sort: 'Fields to order by, with - before descending ones; the key of the records decides what they leave open.',
  include:
    'facility adds type, address, telephone and coordinates of the facility; needs facilities.read, too.',
  bbox: 'west,south,east,north in decimal degrees: facilities in this box.',
  near: 'latitude,longitude in decimal degrees: facilities within radius_km, the nearest first.',
  radius_km: 'Kilometres around near, up to 500; 10 without it.',
  cursor: 'next_cursor of the page before, unchanged, with the same parameters.',
  count: 'true adds pagination.total.',
  search:
    'Words or parts of words of a name, in any order, without regard to case and accents; or the beginning of a code.',
  status: 'active facilities (the default), inactive ones, or all.',
  reference_period: 'YYYY-MM, or all where a list takes it; the newest month without it.',
  expected_release_id: 'The release to answer from; 409 when it is not here.',
  state: 'Two-letter abbreviation of the state.',
  municipality: 'IBGE code, 6 or 7 digits.',
  health_region_code: 'Health region of the municipality, 5 digits.',
  health_macroregion_code: 'Health macro-region of the municipality, 4 digits.',
  release_id: 'Id of a release, as GET /v1/releases lists it.',
  path: 'Path of a file as the manifest lists it, or manifest.json.',
  dimensionCode: 'Code of a dimension of the catalog.',
  level: 'municipality, health_region, health_macroregion, state or region.',
  offset: 'Rows passed over.',
  filters: 'JSON array of filters as in a query: the records counted are those that pass them.',
  counts: 'true adds the records of each member in each dataset (facts).',
  q: 'JSON of the request, as the body of the POST of the same path.',
  format: 'Format of the file; json by default.',
}

export const pathParameters = ({ path }: Route): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: describeParameter(name),
  }))

export function queryParameters(route: Route): Json[] {
  return Object.entries(querySchemas(route)).map(([name, schema]) => {
    const json = jsonSchema(schema, { io: 'input', unrepresentable: 'any' })
    const defaults = route.kind === 'list' ? { ...route.defaults, limit: String(route.limit.default) } : {}
    const value = (defaults as Record<string, string>)[name]
    return {
      name,
      in: 'query',
      required: !schema.safeParse(undefined).success,
      description: describeParameter(name),
      ...schemaOf(route, name, json, value),
    }
  })
}

/** Schema of a query parameter, of one that takes several codes as they are written: RR,AC. */
function schemaOf(route: Route, name: string, json: Json, value: string | undefined): Json {
  if (name === 'sort' && route.kind === 'list') {
    const items = { enum: (route.dataset.sorts ?? []).flatMap((field) => [field, `-${field}`]) }
    const schema = { type: 'array', minItems: 1, maxItems: SORT_TERMS_MAX, items }
    return { style: 'form', explode: false, schema }
  }
  const filter = route.kind === 'custom' ? undefined : route.dataset.filters?.[name]
  const code = filter === undefined ? null : codeSchema(filter)
  const shown = value === undefined ? {} : { default: code === null ? value : [value] }
  if (code === null) return { schema: { ...json, ...shown } }
  const items = jsonSchema(code, { io: 'input', unrepresentable: 'any' })
  return { style: 'form', explode: false, schema: { type: 'array', minItems: 1, items, ...shown } }
}

const describeParameter = (name: string): string => {
  const described = PARAMETERS[name]
  if (described !== undefined) return described
  try {
    return fieldOf(name as FieldName).description
  } catch {
    return name
  }
}
