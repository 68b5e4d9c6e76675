/** The OpenAPI document says what is served, no more and no less; it is kept whole in test/http/openapi.json. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { describeApi } from '../../src/http/openapi.ts'
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

t.test('golden file', async (t) => {
  // To accept a change: node --import tsx test/http/openapi.test.ts --update-golden
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
