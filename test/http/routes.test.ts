/** Walks the table of routes: every refusal, the envelope, release headers, conditional requests, pinning. */

import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { describeApi } from '../../src/http/openapi/document.ts'
import { methodOf, type Route, releaseAreaOf } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { createRecorder } from '../../src/trust/recorder.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { REGISTRY_DIMENSIONS } from '../fixtures/registry-metrics.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const beds = (await client.get('/v1/bed-capacity?limit=1')).body.data[0]
const offering = (await client.get('/v1/specialized-service-offerings?limit=1')).body.data[0]
const piece = (await client.get(`/v1/equipment-inventory?limit=1`)).body.data[0]
const EXAMPLES: Record<string, string> = {
  bed_type_code: beds.bed_type_code,
  uf: 'RR',
  cnes_code: beds.cnes_code,
  municipalityCode: '1400100',
  category_code: '01',
  equipment_code: '02',
  service_code: offering.service_code,
  classification_code: offering.classification_code,
  release_id: small.result.analytics,
  dimensionCode: 'municipality',
  metricCode: 'bed_capacity_existing',
  level: 'state',
  code: 'RR',
  path: 'manifest.json',
}
/** Routes that take a request as JSON in q. */
const LINKED: ReadonlySet<string> = new Set(['/v1/analytics/export', '/v1/analytics/query'])
const urlOf = (route: Route): string =>
  `${fillPath(route)}${LINKED.has(route.path) && methodOf(route) === 'GET' ? `?q=${encodeURIComponent(JSON.stringify(BODY))}` : ''}`
const fillPath = ({ path }: Route): string =>
  path
    .replace('/log/tile/{path}', '/log/tile/0/000.p/1')
    .replace(
      '{cnes_code}/equipment-inventory/{category_code}/{equipment_code}',
      `${piece.cnes_code}/equipment-inventory/${piece.category_code}/${piece.equipment_code}`,
    )
    .replace(
      '{cnes_code}/specialized-services/{service_code}',
      `${offering.cnes_code}/specialized-services/{service_code}`,
    )
    .replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === 'ibge_code' ? (path.includes('states') ? '14' : '1400100') : (EXAMPLES[name] ?? ''),
    )
const BODY = { metrics: ['bed_capacity_existing'] }
const call = (route: Route, suffix = '', headers: Record<string, string> = {}): Promise<Reply> =>
  methodOf(route) === 'POST'
    ? client.post(urlOf(route), bodyOf(route), headers)
    : client.get(withQuery(urlOf(route), suffix), headers)
const bodyOf = ({ path }: Route): object =>
  path.endsWith('/compare')
    ? { ...BODY, old_release_id: small.result.analytics }
    : path.endsWith('/links')
      ? { address: '/v1/states' }
      : BODY
const withQuery = (url: string, suffix: string): string =>
  url.includes('?') ? `${url}${suffix.replace('?', '&')}` : `${url}${suffix}`
/** Its answer is a file, not an envelope. */
const isFile = ({ response }: Route): boolean =>
  response === 'AnalyticsExportResponse' || response === 'ReleaseFileResponse'
/** The document's own schemas check the answers. */
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(describeApi(ROUTES), 'api')
createSigningKey(client.signingKeyFile)
const signer = loadNoteSigner(client.signingKeyFile, null)
if (signer !== null) createRecorder(small.releasesDir, signer).recordReleases([small.result.analytics])

function isProblem(t: Test, reply: Reply, status: number, code: string): void {
  t.equal(reply.status, status, `${status}`)
  t.equal(reply.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.equal(reply.body.code, code)
  t.equal(reply.body.status, status)
  t.same(Object.keys(reply.body).slice(0, 7), [
    'type',
    'title',
    'status',
    'detail',
    'code',
    'request_id',
    'errors',
  ])
  t.equal(reply.headers['x-request-id'], reply.body.request_id)
  t.notMatch(reply.text, /SELECT|\.parquet|node_modules|sus_[a-z0-9]{8}_/)
}

for (const route of ROUTES)
  t.test(`${methodOf(route)} ${route.path}`, async (t) => {
    const answer = await call(route)
    t.equal(answer.status, 200, answer.text.slice(0, 200))
    if (!isFile(route)) {
      t.equal(answer.body.meta.version, '0.1.0')
      t.equal(answer.body.meta.synthetic, true)
      t.notOk('request_id' in answer.body.meta, 'equal answers are equal bytes')
      t.ok(answer.headers['x-request-id'])
    }
    if (!isFile(route)) {
      const validate = ajv.getSchema(`api#/components/schemas/${route.response}`)
      t.ok(validate?.(answer.body), JSON.stringify(validate?.errors?.slice(0, 2)))
    }
    if (route.kind === 'list' && route.dataset.periodic && !isFile(route)) {
      const all = await call(route, '?reference_period=all&limit=2')
      const validate = ajv.getSchema(`api#/components/schemas/${route.response}`)
      if (all.status === 200) t.ok(validate?.(all.body), JSON.stringify(validate?.errors?.slice(0, 2)))
    }
    const area = releaseAreaOf(route)
    if (area !== null) {
      // A release without an area answers for itself.
      const id = small.result[area] ?? small.result.analytics
      if (!isFile(route)) t.equal(answer.body.meta.release_id, id)
      const header =
        area === 'analytics'
          ? 'x-analytics-release-id'
          : route.path.startsWith('/v1/demography')
            ? 'x-demography-release-id'
            : 'x-data-release-id'
      t.equal(answer.headers[header], id, header)
    }
    if (route.capability === null) return

    const anonymous = await call(route, '', { authorization: '' })
    isProblem(t, anonymous, 401, 'unauthorized')
    t.equal(anonymous.headers['www-authenticate'], 'Bearer')
    isProblem(t, await call(route, '', { authorization: 'Bearer sus_aaaaaaaa_wrong' }), 401, 'unauthorized')
    t.match(String(answer.headers.ratelimit), /r=\d+/)
    if (route.capability !== 'any') {
      const lacking = await call(route, '', {
        authorization: `Bearer ${client.keyWithout(route.capability)}`,
      })
      isProblem(t, lacking, 403, 'forbidden')
      t.match(lacking.body.detail, route.capability)
    }
    const wrong = await client.send({
      method: 'DELETE',
      url: urlOf(route),
    })
    isProblem(t, wrong, 405, 'method_not_allowed')
    t.match(String(wrong.headers.allow), methodOf(route))
    // A method that the framework has a mind of its own about.
    isProblem(t, await client.send({ method: 'QUERY', url: urlOf(route) }), 405, 'method_not_allowed')
    if (methodOf(route) === 'POST') return

    const unknown = await call(route, '?planet=mars')
    isProblem(t, unknown, 400, 'invalid_request')
    t.equal(unknown.body.errors[0].parameter, 'planet')
    const head = await client.send({ method: 'HEAD', url: urlOf(route) })
    t.equal(head.status, 200)
    t.equal(head.text, '')
    if (route.kind === 'list')
      for (const limit of ['0', String(route.limit.max + 1), '-1', '1e2', 'x', ''])
        isProblem(t, await call(route, `?limit=${limit}`), 400, 'invalid_request')
    if (area === null) return
    const tag = String(answer.headers.etag)
    t.match(tag, /^"[\w-]+"$/, 'a strong tag')
    t.equal(answer.headers['cache-control'], 'private, no-cache')
    t.match(String(answer.headers.vary), /Authorization/i)
    const same = await call(route, '', { 'if-none-match': tag })
    t.equal(same.status, 304)
    t.equal(same.text, '')
    t.equal((await call(route, '', { 'if-none-match': '"other"' })).status, 200)
    const pinned = await call(route, `?expected_release_id=${small.result.analytics}`)
    t.equal(pinned.status, 200)
    t.equal(pinned.headers['cache-control'], 'private, max-age=31536000, immutable')
    const gone = await call(route, `?expected_release_id=analytics-br-202605-${'0'.repeat(64)}`)
    isProblem(t, gone, 409, 'release_mismatch')
    t.equal(gone.body.current, small.result.analytics)
    t.match(gone.body.detail, '/v1/releases')
  })

t.test('absent keys are 404', async (t) => {
  for (const path of [
    '/v1/states/99',
    '/v1/states/1',
    '/v1/states/XX/municipalities',
    '/v1/municipalities/1111111',
    '/v1/facilities/9999999',
    '/v1/facilities/12',
    '/v1/facilities/9999999/bed-capacity',
    '/v1/facilities/9999999/equipment-inventory',
    '/v1/facilities/9999999/specialized-services',
    '/v1/equipment-types/99/99',
    '/v1/specialized-service-types/999/classifications/999',
    '/v1/demography/population/1111111',
    '/v1/releases/nothing',
  ])
    isProblem(t, await client.get(path), 404, 'not_found')
  isProblem(t, await client.get('/v1/planets'), 404, 'route_not_found')
  isProblem(t, await client.get('/planets'), 404, 'route_not_found')
})

t.test('an escaped path needs a key like any other', async (t) => {
  for (const url of ['/%761/releases', '/%76%31/states', '/v1/%72eleases', '/V1/releases', '//v1/releases'])
    t.ok(
      [401, 404].includes((await client.send({ method: 'GET', url, headers: { authorization: '' } })).status),
      url,
    )
})

t.test('bad bodies', async (t) => {
  isProblem(t, await client.query('{"metrics":'), 400, 'invalid_request')
  isProblem(t, await client.query('x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type')
  isProblem(t, await client.query({ metrics: ['x'.repeat(1_100_000)] }), 413, 'payload_too_large')
  isProblem(t, await client.get('/v1/states/%ZZ'), 400, 'invalid_request')
})

t.test('a server without a release says so by the schema of the specification', async (t) => {
  const empty = await openClient(temporaryFolder('empty'))
  t.teardown(() => empty.close())
  const reply = await empty.get('/ready')
  isProblem(t, reply, 503, 'not_ready')
  t.same(reply.body.refused, [])
  const validate = ajv.getSchema('api#/components/schemas/NotReadyResponse')
  t.ok(validate?.(reply.body), JSON.stringify(validate?.errors?.slice(0, 2)))
  t.strictSame((await empty.get('/health')).body.meta, { version: '0.1.0' }, 'no release to speak of')
})

t.test('pages are only read', async (t) => {
  for (const url of ['/', '/explorer', '/feed.atom', '/docs', '/docs/', '/openapi.json'])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const reply = await client.send({ method, url })
      isProblem(t, reply, 405, 'method_not_allowed')
      t.equal(reply.headers.allow, 'GET, HEAD')
    }
  for (const url of ['/openapi-json', '/explorer/api/v1/links'])
    isProblem(t, await client.send({ method: 'POST', url }), 404, 'route_not_found')
})

t.test('enumerations name what is allowed', async (t) => {
  for (const [url, allowed] of [
    ['/v1/facilities?management_type=X', ['M', 'E', 'D', 'S']],
    ['/v1/equipment-inventory?tp_sus_code=3', ['1', '2', '0', '9']],
    ['/v1/demography/population?population_type=X', ['ESTIMATED_POPULATION', 'CENSUS_POPULATION']],
  ] as const) {
    const reply = await client.get(url)
    isProblem(t, reply, 400, 'invalid_request')
    t.same([...reply.body.errors[0].allowed].sort(), [...allowed].sort())
  }
  const period = await client.get('/v1/bed-capacity?reference_period=2019-01')
  t.same(period.body.errors[0].allowed, ['2026-05', 'all'])
  for (const path of ['', '/provenance']) {
    const facility = `/v1/facilities/${beds.cnes_code}${path}`
    const past = await client.get(`${facility}?reference_period=2019-01`)
    t.same(past.body.errors[0].allowed, ['2026-05'])
    t.equal((await client.get(`${facility}?reference_period=all`)).status, 400)
  }
  t.equal((await client.get('/v1/facilities?status=all&status=active')).status, 400)
})

t.test('language, compression, request ids', async (t) => {
  t.equal((await client.get('/v1/states/99', { 'accept-language': 'en' })).body.title, 'Record not found')
  t.equal((await client.get('/v1/states/99')).body.title, 'Registro não encontrado')
  t.ok((await client.get('/v1/states', { 'accept-encoding': 'gzip' })).headers['content-encoding'] === 'gzip')
  const plain = await client.get('/v1/states')
  const packed = await client.get('/v1/states', { 'accept-encoding': 'gzip' })
  t.not(packed.headers.etag, plain.headers.etag, 'other bytes, another tag')
  t.equal(
    (
      await client.get('/v1/states', {
        'accept-encoding': 'gzip',
        'if-none-match': String(packed.headers.etag),
      })
    ).status,
    304,
  )
  t.equal(
    (await client.get('/v1/states/14', { 'x-request-id': 'audit-1' })).headers['x-request-id'],
    'audit-1',
  )
  t.not(
    (await client.get('/v1/states/14', { 'x-request-id': 'bad id\u007f' })).headers['x-request-id'],
    'bad id\u007f',
  )
})

t.test('lists: pages laid end to end are the list', secondRing, async (t) => {
  for (const [path, limit] of [
    ['/v1/facilities?status=all', 250],
    ['/v1/facilities?uf=RR&management_type=M', 7],
    ['/v1/bed-capacity?has_sus_capacity=true', 3],
    ['/v1/equipment-inventory?municipality_ibge_code=140010', 11],
    ['/v1/specialized-service-offerings?offers_any_sus=true', 200],
    ['/v1/municipalities?search=sao%20jo', 9],
    ['/v1/demography/population?state=RR', 4],
  ] as const) {
    const seen: string[] = []
    let cursor: string | null = ''
    let total = -1
    while (cursor !== null) {
      const page: Reply = await client.get(
        `${path}&limit=${limit}&count=true${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      t.equal(page.status, 200)
      seen.push(...page.body.data.map((row: unknown) => JSON.stringify(row)))
      total = page.body.pagination.total
      cursor = page.body.pagination.next_cursor
    }
    t.equal(seen.length, total, `${path}: nothing lost`)
    t.equal(new Set(seen).size, total, `${path}: nothing twice`)
    t.ok(total > 0, path)
  }
  const first = await client.get('/v1/facilities?limit=1')
  isProblem(
    t,
    await client.get(`/v1/facilities?uf=RR&limit=1&cursor=${first.body.pagination.next_cursor}`),
    400,
    'invalid_cursor',
  )
})

t.test(
  'search folds accents and takes % and _ as text; closed facilities are shown only when asked',
  async (t) => {
    t.equal((await client.get('/v1/municipalities?search=SAO%20luis&state=MA')).body.data[0].name, 'São Luís')
    for (const text of ['%25', '_'])
      t.equal((await client.get(`/v1/municipalities?search=${text}`)).body.data.length, 0)
    t.equal((await client.get('/v1/municipalities?search=14001')).body.data[0].ibge_code, 1400100)
    const [active, inactive, all] = await Promise.all(
      ['active', 'inactive', 'all'].map(
        async (status) =>
          (await client.get(`/v1/facilities?status=${status}&limit=1&count=true`)).body.pagination.total,
      ),
    )
    t.equal(active + inactive, all)
    t.ok(inactive > 0)
    t.equal((await client.get('/v1/facilities?limit=1&count=true')).body.pagination.total, active)
    const [closed] = (await client.get('/v1/facilities?status=inactive&limit=1')).body.data
    t.equal((await client.get(`/v1/facilities/${closed.cnes_code}`)).body.data.is_active, false)
  },
)

t.test('facility-scoped answers hold all rows and their totals', async (t) => {
  const { records, totals } = (await client.get(`/v1/facilities/${beds.cnes_code}/bed-capacity`)).body.data
  t.equal(totals.bed_types, records.length)
  t.equal(
    totals.beds_existing,
    records.reduce((sum: number, record: { beds_existing: number }) => sum + record.beds_existing, 0),
  )
  const all = (await client.get(`/v1/facilities/${beds.cnes_code}/bed-capacity?reference_period=all`)).body
  t.equal(all.data.totals.beds_existing, null)
  t.match(all.meta.notes, [{ code: 'totals_of_all_periods' }])
  const [empty] = (await client.get('/v1/facilities?facility_type_code=22&limit=1')).body.data
  t.same((await client.get(`/v1/facilities/${empty.cnes_code}/bed-capacity`)).body.data.totals, {
    bed_types: 0,
    beds_existing: 0,
    beds_sus: 0,
    beds_non_sus: 0,
  })
})

t.test('dimension values: all fifteen, paged, searched, with parents', async (t) => {
  for (const code of REGISTRY_DIMENSIONS) {
    const path = `/v1/analytics/dimensions/${code}/values`
    const whole = await client.get(`${path}?limit=250`)
    t.equal(whole.status, 200, code)
    t.ok(whole.body.pagination.total > 0, `${code}: ${whole.body.pagination.total}`)
    const second = await client.get(`${path}?limit=1&offset=1`)
    t.same(second.body.data, whole.body.data.slice(1, 2))
  }
  const [boaVista] = (
    await client.get('/v1/analytics/dimensions/municipality/values?search=BOA%20vista&limit=250')
  ).body.data.filter(({ code }: { code: number }) => code === 1400100)
  t.same(boaVista, { code: 1400100, name: 'Boa Vista', parent: { dimension: 'state', code: 'RR' } })
  t.equal((await client.get('/v1/analytics/dimensions/municipality/values')).body.pagination.total, 5571)
  const wrong = await client.get('/v1/analytics/dimensions/planet/values')
  isProblem(t, wrong, 400, 'unknown_dimension')
  isProblem(t, await client.get('/v1/analytics/dimensions/state/values?limit=251'), 400, 'invalid_request')
  // Neither a search that finds nothing nor a page beyond the last has a row.
  for (const query of ['search=zzzzqqqq', 'limit=5&offset=1000000'])
    for (const code of ['facility', 'state', 'bed_type', 'legal_nature']) {
      const { status, body } = await client.get(`/v1/analytics/dimensions/${code}/values?${query}`)
      t.equal(status, 200)
      t.same(body.data, [], `${code} ${query}`)
      t.equal(body.pagination.total === 0, query.startsWith('search'))
    }
})
