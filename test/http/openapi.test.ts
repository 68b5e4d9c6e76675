/** The OpenAPI document says what is served, no more and no less; it is kept whole in test/http/openapi.json. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { describeApi } from '../../src/http/openapi/document.ts'
import { methodOf } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'

interface Api {
  openapi: string
  paths: Record<
    string,
    Record<string, { parameters: { name: string; in: string }[]; responses: Record<string, unknown> }>
  >
  components: { schemas: Record<string, unknown> }
}
const golden = fileURLToPath(new URL('openapi.json', import.meta.url))
const api = JSON.parse(JSON.stringify(describeApi(ROUTES))) as Api

t.test('the document is the golden file: npm run api writes it anew', async (t) => {
  if (process.argv.includes('--update-golden')) writeFileSync(golden, `${JSON.stringify(api, null, 1)}\n`)
  t.same(api, JSON.parse(readFileSync(golden, 'utf8')))
})

t.test('every route and nothing else', async (t) => {
  const served = ROUTES.map((route) => `${methodOf(route).toLowerCase()} ${route.path}`).sort()
  const described = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  t.same(described.sort(), served)
})

t.test('every reference leads somewhere; every path parameter is declared', async (t) => {
  for (const [, name = ''] of JSON.stringify(api).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    t.ok(name in api.components.schemas, name)
  for (const [path, methods] of Object.entries(api.paths))
    for (const { parameters, responses } of Object.values(methods)) {
      t.same(
        parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      )
      t.equal(new Set(parameters.map(({ name }) => name)).size, parameters.length)
      t.ok('200' in responses)
    }
})

interface Node {
  readonly [name: string]: unknown
}
/** Every JSON Schema in a value, with where it stands. Of examples and enumerations nothing is a schema. */
function* schemasIn(value: unknown, path: string): Generator<readonly [path: string, schema: Node]> {
  if (typeof value !== 'object' || value === null) return
  const of = (name: string, own: unknown): Iterable<readonly [string, Node]> =>
    schemaAt(own, `${path}/${name}`)
  for (const [name, own] of Object.entries(value)) {
    if (name === 'schema') yield* of(name, own)
    else if (path.endsWith('components') && name === 'schemas')
      for (const [key, schema] of Object.entries(own as Node)) yield* of(key, schema)
    else if (name !== 'example' && name !== 'examples') yield* schemasIn(own, `${path}/${name}`)
  }
}
function* schemaAt(value: unknown, path: string): Generator<readonly [path: string, schema: Node]> {
  const schema = value as Node
  yield [path, schema]
  for (const name of ['items', 'additionalProperties', 'contentSchema', 'propertyNames'])
    if (typeof schema[name] === 'object') yield* schemaAt(schema[name], `${path}/${name}`)
  for (const name of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
    for (const [index, own] of Object.entries((schema[name] as Node[] | undefined) ?? []))
      yield* schemaAt(own, `${path}/${name}/${index}`)
  for (const [name, own] of Object.entries((schema.properties as Node | undefined) ?? {}))
    yield* schemaAt(own, `${path}/${name}`)
}

t.test('no schema is empty: types, members, items, bounds', async (t) => {
  let count = 0
  for (const [path, schema] of schemasIn(api, '')) {
    count += 1
    const says = ['type', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'].some((name) => name in schema)
    t.ok(says, path)
    const types = [schema.type].flat()
    if (types.includes('array')) t.type(schema.items, 'object', path)
    if (types.includes('object'))
      t.ok('properties' in schema || typeof schema.additionalProperties === 'object', path)
  }
  t.ok(count > 1500, String(count))
})

t.test('every parameter has a type, a description and its bounds', async (t) => {
  for (const [path, methods] of Object.entries(api.paths))
    for (const { parameters } of Object.values(methods) as unknown as { parameters: Node[] }[])
      for (const parameter of parameters) {
        const at = `${path} ${parameter.name}`
        const schema = parameter.schema as Node
        const item = (schema.type === 'array' ? schema.items : schema) as Node
        t.ok(String(parameter.description).length > 5, at)
        t.match(String(item.type), /^(string|integer|number|boolean)$/, at)
        if (schema.type === 'array') t.match(parameter, { style: 'form', explode: false }, at)
        if (item.type === 'integer' || item.type === 'number') {
          t.ok('minimum' in item || 'exclusiveMinimum' in item, at)
          t.ok('maximum' in item, at)
        }
        if (item.type === 'string')
          t.ok(
            ['enum', 'const', 'pattern', 'maxLength'].some((name) => name in item),
            at,
          )
      }
})

t.test('operations are named by hand, each by its own name', async (t) => {
  const names = ROUTES.map(({ operation }) => operation)
  t.equal(new Set(names).size, names.length)
  for (const name of names)
    t.match(name, /^(get|list|query|explain|trace|compare|export|call|create)[A-Z]?\w*$/)
})

t.test('the specification’s parameters are there by their names', async (t) => {
  const names = (path: string): string[] => api.paths[path]?.get?.parameters.map(({ name }) => name) ?? []
  const EXPECTED: Record<string, string[]> = {
    '/v1/municipalities': ['state', 'search', 'territorial_type', 'limit', 'cursor'],
    '/v1/facilities': [
      'uf',
      'municipality_ibge_code',
      'facility_type_code',
      'management_type',
      'legal_nature_code',
      'search',
      'limit',
      'cursor',
    ],
    '/v1/bed-capacity': [
      'cnes_code',
      'municipality_ibge_code',
      'bed_type_code',
      'bed_category_code',
      'has_sus_capacity',
      'limit',
      'cursor',
    ],
    '/v1/equipment-inventory': [
      'cnes_code',
      'municipality_ibge_code',
      'equipment_category_code',
      'equipment_type_code',
      'equipment_type_key',
      'renem_code',
      'tp_sus_code',
      'has_sus_quantity',
      'limit',
      'cursor',
    ],
    '/v1/specialized-service-offerings': [
      'cnes_code',
      'municipality_ibge_code',
      'service_code',
      'classification_code',
      'classification_key',
      'characteristic_code',
      'provider_kind',
      'has_ambulatory',
      'has_ambulatory_sus',
      'has_hospital',
      'has_hospital_sus',
      'offers_any_sus',
      'limit',
      'cursor',
    ],
    '/v1/demography/population': [
      'state',
      'municipality',
      'reference_year',
      'population_type',
      'limit',
      'cursor',
      'expected_release_id',
    ],
  }
  for (const [path, expected] of Object.entries(EXPECTED))
    for (const name of expected) t.ok(names(path).includes(name), `${path} ${name}`)
})

t.test('a public validator accepts it', async (t) => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(api)))
  t.ok(valid, JSON.stringify(errors))
})
