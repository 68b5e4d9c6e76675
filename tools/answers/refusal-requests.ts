/** Recorded requests that are refused: each status that a client can get without waiting, on routes of each kind. */

import { type Codes, get, post } from './entry.ts'
import type { Entry } from './exchange.ts'

const QUERY = '/v1/analytics/query'

function badParameters(codes: Codes): string[] {
  const [code] = codes.facilities
  const lists = [
    '/v1/facilities',
    '/v1/municipalities',
    '/v1/bed-capacity',
    '/v1/equipment-inventory',
    '/v1/specialized-service-offerings',
    '/v1/demography/population',
  ]
  return [
    ...lists.flatMap((path) =>
      [
        'limit=0',
        'limit=251',
        'limit=x',
        'limit=',
        'limit=1e1',
        'limit=1&limit=2',
        'foo=1',
        'cursor=abc',
        'count=1',
        'cursor=',
      ].map((query) => `${path}?${query}`),
    ),
    ...[
      'uf=XX',
      'uf=sp',
      'uf=',
      'municipality_ibge_code=1',
      'municipality_ibge_code=12345678',
      'facility_type_code=1',
      'management_type=X',
      'legal_nature_code=abc',
      'status=open',
      'search=',
      `search=${'x'.repeat(101)}`,
      'search=%00',
      'search=%CC%81',
      'search=%FF',
      'reference_period=2026',
      'reference_period=2026-13',
      'reference_period=1999-01',
      'has_sus_capacity=true',
      'expected_release_id=',
    ].map((query) => `/v1/facilities?${query}`),
    ...[
      'cnes_code=1',
      'bed_type_code=x',
      'bed_category_code=10',
      'has_sus_capacity=yes',
      'reference_period=1999-01',
    ].map((query) => `/v1/bed-capacity?${query}`),
    ...['equipment_type_key=1', 'equipment_type_key=01-01', 'tp_sus_code=5', 'renem_code='].map(
      (query) => `/v1/equipment-inventory?${query}`,
    ),
    ...['provider_kind=X', 'has_ambulatory=1', 'classification_key=1:1', 'characteristic_code=9'].map(
      (query) => `/v1/specialized-service-offerings?${query}`,
    ),
    ...['state=XX', 'reference_year=22', 'population_type=ANY', 'municipality=abc'].map(
      (query) => `/v1/demography/population?${query}`,
    ),
    `/v1/facilities/${code}?limit=1`,
    `/v1/facilities/${code}?foo=1&bar=2`,
    `/v1/facilities/${code}/bed-capacity?reference_period=x`,
    '/v1/states?limit=5',
    '/v1/equipment-types?category_code=1',
    '/v1/demography/population/3550308?reference_year=x',
    '/v1/analytics/catalog?x=1',
    '/v1/analytics/dimensions/state/values?limit=251',
    '/v1/analytics/dimensions/state/values?offset=-1',
    '/v1/analytics/dimensions/state/values?filters=x',
    '/v1/analytics/dimensions/state/values?filters=%5B%7B%7D%5D',
    '/v1/analytics/dimensions/none/values',
    '/v1/releases?x=1',
  ]
}

const absent = (codes: Codes): string[] => [
  '/v1/facilities/0000000',
  '/v1/facilities/abc',
  '/v1/facilities/12345678',
  '/v1/facilities/%F0%9F%98%80',
  '/v1/facilities/0000000/provenance',
  '/v1/facilities/0000000/bed-capacity',
  '/v1/facilities/0000000/equipment-inventory',
  '/v1/facilities/x/specialized-services',
  `/v1/facilities/${codes.facilities[0]}/bed-capacity/00/provenance`,
  `/v1/facilities/${codes.facilities[0]}/bed-capacity/x/provenance`,
  '/v1/states/99',
  '/v1/states/XX/municipalities',
  '/v1/municipalities/9999999',
  '/v1/municipalities/355030',
  '/v1/equipment-types/99/99',
  '/v1/specialized-service-types/999/classifications/999',
  '/v1/demography/population/9999999',
  '/v1/demography/population/3550308?reference_year=1900',
  '/v1/nothing',
  '/v1',
  '/',
  '/v1/facilities/',
  '/v1//facilities',
  '/V1/facilities',
  '/v1/facilities/a/b/c',
  '/favicon.ico',
  '/v1/facilities/%',
  '/v1/facilities?search=%',
]

const BODIES: Readonly<Record<string, unknown>> = {
  'no body': '',
  'not JSON': '{',
  'null body': 'null',
  array: '[]',
  text: '"x"',
  'no metrics': {},
  'empty metrics': { metrics: [] },
  'unknown field': { metrics: ['bed_capacity_existing'], foo: 1 },
  'unknown metric': { metrics: ['beds_existing'] },
  'unknown dimension': { metrics: ['bed_capacity_existing'], group_by: ['country'] },
  'too many metrics': { metrics: Array.from({ length: 21 }, () => 'bed_capacity_existing') },
  'incompatible dimension': { metrics: ['bed_capacity_existing'], group_by: ['equipment_type'] },
  'incompatible filter': {
    metrics: ['population_census'],
    filters: [{ dimension: 'bed_type', operator: 'EQ', value: '01' }],
  },
  'no denominator': { metrics: ['beds_existing_per_100k'], group_by: ['facility'] },
  'operator that does not go': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'state', operator: 'GT', value: 'SP' }],
  },
  'unknown operator': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'state', operator: 'LIKE', value: 'SP' }],
  },
  'unknown state': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'XX' }],
  },
  'list for EQ': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'state', operator: 'EQ', value: ['SP'] }],
  },
  'value for IN': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'state', operator: 'IN', value: 'SP' }],
  },
  'periods the wrong way': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-05', '2026-01'] }],
  },
  'no such period': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '1999-01' }],
  },
  'number for a code': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'bed_type', operator: 'EQ', value: 1 }],
  },
  'municipality of 5 digits': {
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'municipality', operator: 'EQ', value: 12345 }],
  },
  'ordered by nothing there': { metrics: ['bed_capacity_existing'], order_by: [{ field: 'state' }] },
  'limit 0': { metrics: ['bed_capacity_existing'], limit: 0 },
  'limit 10001': { metrics: ['bed_capacity_existing'], limit: 10_001 },
  'limit as text': { metrics: ['bed_capacity_existing'], limit: '5' },
  'negative offset': { metrics: ['bed_capacity_existing'], offset: -1 },
  'unknown release': { metrics: ['bed_capacity_existing'], expected_release_id: 'unknown' },
  'too deep': `${'['.repeat(40)}${']'.repeat(40)}`,
  'own prototype': '{"__proto__":{"x":1},"metrics":["bed_capacity_existing"]}',
}

export function refusalEntries(codes: Codes): Entry[] {
  const [code] = codes.facilities
  const walk = '/v1/facilities?uf=RR&limit=5'
  const limited = [
    '/v1/bed-capacity',
    `/v1/facilities/${code}/bed-capacity`,
    '/v1/facilities/0000000/bed-capacity',
    '/v1/bed-capacity?limit=0',
    '/v1/bed-types',
    '/v1/specialized-service-offerings',
    '/v1/demography/population/3550308',
    '/v1/facilities?limit=3',
    '/v1/releases/unknown',
    '/v1/analytics/dimensions/bed_type/values',
    '/v1/analytics/dimensions/bed_type/values?counts=true',
  ]
  const keys: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['no key', {}],
    ['wrong key', { authorization: 'Bearer sus_aaaaaaaa_nothing' }],
    ['basic', { authorization: 'Basic YTpi' }],
    ['no word', { authorization: 'Bearer' }],
    ['empty', { authorization: '' }],
  ]
  return [
    ...[...badParameters(codes), ...absent(codes)].map((path) => get(path, { name: `refused ${path}` })),
    ...badParameters(codes)
      .slice(0, 6)
      .map((path) =>
        get(path, { name: `refused in English ${path}`, headers: { 'accept-language': 'en-US' } }),
      ),
    ...Object.entries(BODIES).map(([name, body]) => post(QUERY, body, { name: `query refused: ${name}` })),
    ...[
      '/v1/analytics/explain',
      '/v1/analytics/lineage',
      '/v1/analytics/compare',
      '/v1/analytics/export',
    ].flatMap((path) =>
      ['not JSON', 'no metrics', 'unknown metric', 'unknown field'].map((name) =>
        post(path, BODIES[name], { name: `${path} refused: ${name}` }),
      ),
    ),
    ...keys.flatMap(([name, headers]) =>
      [
        `/v1/facilities/${code}`,
        '/v1/facilities?foo=1',
        '/v1/releases',
        '/v1/nothing',
        '/v1/analytics/catalog',
      ].map((path) => get(path, { name: `${name}: ${path}`, key: 'none', headers })),
    ),
    post(QUERY, { metrics: ['bed_capacity_existing'] }, { name: 'query without a key', key: 'none' }),
    ...limited.map((path) => get(path, { name: `limited key: ${path}`, key: 'limited' })),
    post(
      QUERY,
      { metrics: ['bed_capacity_existing'] },
      { name: 'query of a metric the key may not', key: 'limited' },
    ),
    post(
      QUERY,
      { metrics: ['equipment_existing_per_100k'], group_by: ['state'] },
      { name: 'query the limited key may', key: 'limited' },
    ),
    ...[
      '/v1/facilities',
      `/v1/facilities/${code}`,
      '/v1/bed-types',
      '/v1/analytics/catalog',
      '/health',
      '/v1/releases',
    ].flatMap((path) =>
      ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) =>
        get(path, { method, name: `${method} ${path}` }),
      ),
    ),
    ...['GET', 'HEAD', 'PUT'].map((method) => get(QUERY, { method, name: `${method} ${QUERY}` })),
    get(`/v1/facilities/0000000`, { method: 'HEAD', name: 'HEAD of nothing' }),
    get('/v1/facilities?foo=1', { method: 'HEAD', name: 'HEAD refused' }),
    ...[
      '/v1/facilities',
      `/v1/facilities/${code}`,
      '/v1/states',
      '/v1/analytics/catalog',
      '/v1/demography/population',
    ].map((path) => get(`${path}?expected_release_id=unknown`, { name: `pinned to nothing: ${path}` })),
    get('/v1/facilities?expected_release_id={cnes}&limit=1', { name: 'pinned to a source release' }),
    post(QUERY, `{"metrics":["${'x'.repeat(2_000_000)}"]}`, {
      name: 'body too large',
      headers: { connection: 'close' },
    }),
    ...['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'application/jsonx', ''].map(
      (type) =>
        post(
          QUERY,
          { metrics: ['bed_capacity_existing'] },
          { name: `content type ${type}`, headers: { 'content-type': type } },
        ),
    ),
    get(`/v1/facilities?search=${'x'.repeat(9000)}`, { name: 'long address' }),
    get(`/v1/facilities/${'1'.repeat(300)}`, { name: 'long code' }),
    get(`/v1/facilities?search=${'x'.repeat(20_000)}`, { name: 'address longer than headers may be' }),
    get(`/v1/facilities/${code}`, { name: 'headers too large', headers: { 'x-long': 'x'.repeat(20_000) } }),
    get(`/v1/facilities/${code}`, { name: 'GET with a body', body: '{}' }),
    get(walk, { name: 'cursor start' }),
    get(`${walk}&cursor={changed cursor}`, { name: 'cursor changed', from: 'cursor start' }),
    get('/v1/facilities?uf=AC&limit=5&cursor={cursor}', {
      name: 'cursor with another filter',
      from: 'cursor start',
    }),
    get('/v1/facilities?uf=RR&limit=7&cursor={cursor}', {
      name: 'cursor with another limit',
      from: 'cursor start',
    }),
    get('/v1/bed-capacity?cursor={cursor}', { name: 'cursor of another list', from: 'cursor start' }),
    get(`${walk}&cursor={cursor}x`, { name: 'cursor with a character more', from: 'cursor start' }),
    get(`/v1/facilities?cursor=${'A'.repeat(5000)}`, { name: 'cursor far too long' }),
  ]
}
