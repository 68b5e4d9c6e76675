/** Recorded requests of resources in all forms, of small tables, and of releases and their files. */
import { type Codes, get } from './entry.ts'
import type { Entry } from './exchange.ts'

/** The same resources with conditional, compressed, HEAD and translated requests. */
export function formEntries(codes: Codes): Entry[] {
  const [code, other] = codes.facilities
  const paths = [
    `/v1/facilities/${code}`,
    '/v1/facilities?limit=100',
    '/v1/facilities?uf=AC&facility_type_code=02',
    '/v1/facilities?search=santa',
    `/v1/facilities/${codes.beds[0]?.cnes_code}/bed-capacity`,
    `/v1/facilities/${other}/provenance`,
    '/v1/states',
    '/v1/bed-types',
    '/v1/analytics/catalog',
    '/v1/analytics/dimensions/state/values',
    `/v1/facilities/${code}?expected_release_id={analytics}`,
    '/v1/releases',
    '/health',
  ]
  const forms = paths.flatMap((path) => {
    const name = `forms ${path}`
    const variant = (label: string, headers: Readonly<Record<string, string>>, method = 'GET'): Entry =>
      get(path, { name: `${name} ${label}`, method, headers, from: name })
    return [
      get(path, { name }),
      variant('HEAD', {}, 'HEAD'),
      variant('HEAD gzip', { 'accept-encoding': 'gzip' }, 'HEAD'),
      variant('gzip', { 'accept-encoding': 'gzip' }),
      variant('gzip again', { 'accept-encoding': 'gzip, deflate, br' }),
      variant('br', { 'accept-encoding': 'br' }),
      variant('identity', { 'accept-encoding': 'identity' }),
      variant('gzip refused', { 'accept-encoding': 'gzip;q=0, *;q=0.1' }),
      variant('304', { 'if-none-match': '{etag}' }),
      variant('304 weak', { 'if-none-match': 'W/{etag}' }),
      variant('304 of a list', { 'if-none-match': '"x", {etag}' }),
      variant('304 of any', { 'if-none-match': '*' }),
      variant('other etag', { 'if-none-match': '"other"' }),
      variant('HEAD 304', { 'if-none-match': '{etag}' }, 'HEAD'),
      variant('English', { 'accept-language': 'en' }),
      variant('English second', { 'accept-language': 'pt-BR, en;q=0.5' }),
      variant('own request id', { 'x-request-id': 'recorded-answers-1' }),
    ]
  })
  return forms
}

export const catalogEntries = (): Entry[] => [
  ...[
    '/v1/states',
    '/v1/bed-types',
    '/v1/bed-categories',
    '/v1/equipment-categories',
    '/v1/equipment-types',
    '/v1/equipment-types?category_code=01',
    '/v1/equipment-types?category_code=99',
    '/v1/equipment-types/01/01',
    '/v1/specialized-service-types',
    '/v1/specialized-service-classifications',
    '/v1/specialized-service-types/101/classifications/001',
    '/docs',
    '/docs/start.js',
    '/docs/swagger-ui.css',
    '/health',
  ].map((path) => get(path, { name: `catalog ${path}` })),
  get('/health', { name: 'health without a key', key: 'none' }),
  // Servers may report different details about themselves.
  get('/ready', { key: 'none', lenient: '^/data/(?!status|release_id)' }),
  get('/openapi.json', {
    key: 'none',
    lenient: '/(summary|description)$|^/components/schemas/ReadyResponse/',
  }),
]

const FILES = '/v1/releases/{demography}/files'

/** Requests releases by id, because other releases on the server would change the list. */
export const releaseEntries = (): Entry[] => [
  ...['{analytics}', '{cnes}', '{demography}'].flatMap((id) => [
    get(`/v1/releases/${id}`, { lenient: '^/data/(files/\\d+/(bytes|sha256)|importer|duckdb)' }),
    get(`/v1/releases/${id}/files/manifest.json`, { method: 'HEAD', name: `HEAD manifest of ${id}` }),
  ]),
  get('/v1/releases', { lenient: '^/data/\\d+' }),
  get(`${FILES}/states/part-0.parquet`),
  get(`${FILES}/states/part-0.parquet`, { name: 'HEAD of a file', method: 'HEAD' }),
  get(`${FILES}/states/part-0.parquet`, { name: 'range', headers: { range: 'bytes=0-3' } }),
  get(`${FILES}/states/part-0.parquet`, { name: 'range from the end', headers: { range: 'bytes=-4' } }),
  get(`${FILES}/states/part-0.parquet`, { name: 'two ranges', headers: { range: 'bytes=0-3,8-9' } }),
  get(`${FILES}/states/part-0.parquet`, { name: 'range outside', headers: { range: 'bytes=99999999-' } }),
  get(`${FILES}/states/part-0.parquet`, {
    name: 'range of another version',
    headers: { range: 'bytes=0-3', 'if-range': '"other"' },
  }),
  get(`${FILES}/states/part-0.parquet`, {
    name: 'file again',
    headers: { 'if-none-match': '{etag}' },
    from: `GET ${FILES}/states/part-0.parquet`,
  }),
  get(`${FILES}/states/part-0.parquet`, { name: 'file compressed', headers: { 'accept-encoding': 'gzip' } }),
  get(`${FILES}/nothing.parquet`),
  get(`${FILES}/..%2Fcurrent.json`),
  get(`${FILES}/../../current.json`),
  get('/v1/releases/unknown'),
  get('/v1/releases/unknown/files/manifest.json'),
  get('/.well-known/sus-data-signing-key', { key: 'none' }),
]
