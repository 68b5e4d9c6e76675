/**
 * What each key may do, on every route: eight capabilities, and keys that are missing, malformed, unknown, revoked or expired. The
 * server is the real one over a socket; files of releases, links and the explorer are held to the same capabilities.
 */
import { join } from 'node:path'
import t from 'tap'
import { methodOf, type Route } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { createKey, revokeKey } from '../../src/keys/keys.ts'
import { startServer } from '../../src/main.ts'
import { CAPABILITIES, type Capability } from '../../src/model/capabilities.ts'
import { DATASETS } from '../../src/model/datasets.ts'
import { capabilitiesOfTable } from '../../src/model/table-capabilities.ts'
import { readSettings } from '../../src/settings.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const keysFile = join(temporaryFolder('rights'), 'keys.json')
const keyOf = (capabilities: readonly Capability[], expires?: string) =>
  createKey(keysFile, {
    name: 'test',
    capabilities,
    rate: 100_000_000,
    ...(expires === undefined ? {} : { expires }),
  })
const all = keyOf(CAPABILITIES).secret
const only = new Map(CAPABILITIES.map((capability) => [capability, keyOf([capability]).secret]))
const without = new Map(
  CAPABILITIES.map((capability) => [
    capability,
    keyOf(CAPABILITIES.filter((other) => other !== capability)).secret,
  ]),
)
const revoked = keyOf(CAPABILITIES)
revokeKey(keysFile, revoked.id)
const expired = keyOf(CAPABILITIES, '2020-01-31').secret
// A key of another server: well formed, with the right check digits.
const unknown = createKey(join(temporaryFolder('others'), 'keys.json'), {
  name: 'other',
  capabilities: CAPABILITIES,
}).secret
const server = await startServer(
  readSettings({
    SUS_RELEASES_DIR: small.releasesDir,
    SUS_KEYS_FILE: keysFile,
    SUS_LOG_LEVEL: 'silent',
    SUS_EXPLORER_KEY: keyOf(CAPABILITIES).secret,
    PORT: '0',
  }),
)
t.teardown(() => server.close())

t.test('the port of the API serves no metrics unless the operator sets it', async (t) => {
  const { status } = await fetch(`${server.address}/metrics`)
  t.equal(status, 404, 'a proxy of this machine that adds no X-Forwarded-For would pass them on')
})

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
  readonly body: any
}
async function ask(
  url: string,
  key: string | null,
  { method = 'GET', body, headers = {} }: { method?: string; body?: unknown; headers?: object } = {},
): Promise<Reply> {
  const answer = await fetch(server.address + url, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = /json/.test(answer.headers.get('content-type') ?? '') && text !== ''
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: isJson && answer.status !== 206 ? JSON.parse(text) : null,
  }
}

const QUERY = { metrics: ['population'] }
const EXAMPLES: Readonly<Record<string, string>> = {
  release_id: small.result.analytics,
  path: 'manifest.json',
  ibge_code: '1400100',
  uf: 'RR',
  level: 'state',
  code: 'RR',
  dimensionCode: 'state',
}
/** An address of a route. @param value stands for every parameter of the path; without it they are valid */
const addressOf = ({ path }: Route, value?: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value ?? EXAMPLES[name] ?? '9999999')
const bodyOf = ({ path }: Route): object =>
  path.endsWith('/links')
    ? { address: '/v1/states' }
    : path.endsWith('/compare')
      ? { ...QUERY, old_release_id: small.result.analytics }
      : QUERY
function call(route: Route, key: string | null, value?: string): Promise<Reply> {
  const address = addressOf(route, value)
  if (methodOf(route) === 'POST') return ask(address, key, { method: 'POST', body: bodyOf(route) })
  const query =
    route.kind === 'custom' && route.query?.q !== undefined
      ? `?q=${encodeURIComponent(JSON.stringify(QUERY))}`
      : ''
  return ask(address + query, key)
}

t.test(
  'every route with every kind of key: 401, 403 and neither',
  { ...secondRing, timeout: 120_000 },
  async (t) => {
    const refused: readonly (readonly [string, string | null])[] = [
      ['no key', null],
      ['malformed', 'sus_no_key'],
      ['unknown', unknown],
      ['revoked', revoked.secret],
      ['expired', expired],
    ]
    let cells = 0
    for (const route of ROUTES) {
      const name = `${methodOf(route)} ${route.path}`
      const { capability } = route
      for (const [kind, key] of refused) {
        const { status, headers, body } = await call(route, key)
        cells += 1
        if (capability === null) t.not(status, 401, `${name}, ${kind}`)
        else {
          t.same([status, body.code], [401, 'unauthorized'], `${name}, ${kind}`)
          const expected = key === null ? 'Bearer' : 'Bearer error="invalid_token"'
          t.equal(headers.get('www-authenticate'), expected, `${name}, ${kind}`)
        }
      }
      for (const other of CAPABILITIES) {
        const having = await call(route, only.get(other) ?? '')
        cells += 1
        if (capability === null || capability === 'any' || capability === other)
          t.notOk(
            having.status === 401 || (having.status === 403 && having.body.metric === undefined),
            `${name}, ${other}`,
          )
        else t.same([having.status, having.body.capability], [403, capability], `${name}, only ${other}`)
        const lacking = await call(route, without.get(other) ?? '')
        cells += 1
        if (capability === other)
          t.same([lacking.status, lacking.body.capability], [403, other], `${name}, without ${other}`)
        else
          t.notOk(
            lacking.status === 401 || (lacking.status === 403 && lacking.body.metric === undefined),
            `${name}, without ${other}`,
          )
        // Whether something is there is not said to a key that may not read it.
        if (capability === other && route.path.includes('{')) {
          cells += 1
          t.equal(
            (await call(route, without.get(other) ?? '', 'nothing')).status,
            403,
            `${name}: 403 before 404`,
          )
        }
      }
    }
    t.ok(cells > 1000, `${cells} cells`)
    t.comment(`${cells} cells of ${ROUTES.length} routes`)
  },
)

t.test('a query needs the capabilities of its metrics, by every method', async (t) => {
  const query = encodeURIComponent(JSON.stringify({ metrics: ['bed_capacity_existing'] }))
  const key = only.get('analytics.query.read') ?? ''
  for (const path of ['/v1/analytics/query', '/v1/analytics/export']) {
    for (const q of [
      query,
      encodeURIComponent('{"metrics":[]}'),
      'no',
      encodeURIComponent('{"metrics":["x"]}'),
    ]) {
      const get = await ask(`${path}?q=${q}`, key)
      const head = await ask(`${path}?q=${q}`, key, { method: 'HEAD' })
      t.equal(head.status, get.status, `${path} ${q}`)
      t.ok(get.status === 403 || get.status === 400, `${path} ${q}`)
      t.equal(head.headers.get('etag'), null)
    }
    const [get, head] = [
      await ask(`${path}?q=${query}`, all),
      await ask(`${path}?q=${query}`, all, { method: 'HEAD' }),
    ]
    t.same([get.status, head.status], [200, 200])
    for (const [name, value] of get.headers)
      if (
        ![
          'date',
          'x-request-id',
          'server-timing',
          'ratelimit',
          'connection',
          'keep-alive',
          'transfer-encoding',
        ].includes(name)
      )
        t.equal(head.headers.get(name), value, `${path}: ${name}`)
    const tag = head.headers.get('etag') ?? ''
    t.equal((await ask(`${path}?q=${query}`, key, { headers: { 'if-none-match': tag } })).status, 403)
  }
})

t.test('a rate needs no capability for its denominator; the records of the denominator do', async (t) => {
  const key = without.get('demography.read') ?? ''
  const query = { metrics: ['beds_existing_per_100k'], group_by: ['state'] }
  const lineage = (side: string, key: string) =>
    ask('/v1/analytics/lineage', key, { method: 'POST', body: { ...query, key: { state: 'RR' }, side } })
  t.equal((await ask('/v1/analytics/query', key, { method: 'POST', body: query })).status, 200)
  t.equal((await lineage('numerator', key)).status, 200)
  t.ok((await lineage('denominator', all)).body.data.length > 0)
  const { status, body } = await lineage('denominator', key)
  t.same([status, body.capability], [403, 'demography.read'])
  t.match(body.detail, /population.*demography\.read/)
  const outside = { ...query, filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }] }
  const absent = { ...outside, key: { state: 'AC' }, side: 'denominator' }
  t.equal(
    (await ask('/v1/analytics/lineage', key, { method: 'POST', body: absent })).status,
    403,
    'before 404',
  )
  const compare = async (key: string): Promise<string[]> => {
    const body = { ...query, old_release_id: small.result.analytics }
    const { meta } = (await ask('/v1/analytics/compare', key, { method: 'POST', body })).body
    return meta.notes.map(({ code }: { code: string }) => code)
  }
  t.ok((await compare(key)).includes('causes_left_out'))
  t.notOk((await compare(all)).includes('causes_left_out'))
})

const ids = [small.result.analytics, small.result.cnes, small.result.demography].filter((id) => id !== null)
type Manifest = {
  readonly datasets: Readonly<Record<string, unknown>>
  readonly files: readonly { readonly path: string }[]
}
const manifestOf = async (id: string, key: string): Promise<Manifest> =>
  (await ask(`/v1/releases/${id}`, key)).body.data

t.test('a file needs the capabilities of its table', async (t) => {
  for (const route of ROUTES)
    if (route.kind !== 'custom')
      t.same(capabilitiesOfTable(route.dataset.name), [route.capability], `${route.path} and its files`)
  for (const name of Object.keys(DATASETS)) t.equal(capabilitiesOfTable(name).length, 1, name)
  for (const name of ['set_aside', 'constructor', '__proto__', 'nothing', ''])
    t.same(capabilitiesOfTable(name), CAPABILITIES, name)
  let tried = 0
  for (const id of ids) {
    const manifest = await manifestOf(id, all)
    const tables = new Map(manifest.files.map(({ path }) => [path.split('/')[0] ?? '', path]))
    for (const [table, path] of tables) {
      const needed = capabilitiesOfTable(table)
      const url = `/v1/releases/${id}/files/${path}`
      t.equal((await ask(url, all, { headers: { range: 'bytes=0-3' } })).text, 'PAR1', url)
      for (const capability of CAPABILITIES) {
        tried += 1
        const missing = needed.includes(capability)
        const { status, body } = await ask(url, without.get(capability) ?? '', {
          headers: { range: 'bytes=0-3' },
        })
        t.equal(status, missing ? 403 : 206, `${table} without ${capability}`)
        if (missing) t.equal(body.capability, capability)
        const head = await ask(url, only.get(capability) ?? '', { method: 'HEAD' })
        t.equal(
          head.status,
          needed.every((one) => one === capability) ? 200 : 403,
          `${table}, only ${capability}`,
        )
      }
    }
    for (const [, key] of only) {
      t.equal(
        (await ask(`/v1/releases/${id}/files/manifest.json`, key)).status,
        200,
        'manifests are for any key',
      )
      t.same(await manifestOf(id, key), manifest)
    }
  }
  t.comment(`${tried} tables × capabilities`)
  const geo = only.get('geo.read') ?? ''
  const absent = (table: string) =>
    `/v1/releases/demo-cnes-br-202605-${'0'.repeat(64)}/files/${table}/part-0.parquet`
  t.equal((await ask(absent('bed_types'), geo)).status, 403, '403 before 404')
  t.equal((await ask(absent('states'), geo)).status, 404)
})

t.test('descriptions of a release name the files that the key may read', async (t) => {
  for (const id of ids)
    for (const key of [all, ...only.values()]) {
      const manifests = await Promise.all(
        [
          id,
          ...Object.values(
            (await ask(`/v1/releases/${id}`, all)).body.data.components as Record<string, string>,
          ),
        ].map((other) => manifestOf(other, all)),
      )
      const readable = async (text: string): Promise<readonly string[]> => {
        const addresses = [...new Set(text.match(/http:[^"'\s]+\.parquet/g) ?? [])]
        for (const address of key === all ? addresses.slice(0, 3) : addresses)
          t.equal((await ask(new URL(address).pathname, key, { method: 'HEAD' })).status, 200, address)
        return addresses
      }
      const own = await readable((await ask(`/v1/releases/${id}/datapackage.json`, key)).text)
      t.same(await readable((await ask(`/v1/releases/${id}/metadata.jsonld`, key)).text), own)
      const attached = await readable((await ask(`/v1/releases/${id}/attach.sql`, key)).text)
      const files = (list: readonly Manifest[]): number =>
        list.reduce((sum, { files: of }) => sum + of.length, 0)
      if (key !== all) t.ok(own.length < files(manifests.slice(0, 1)))
      else t.same([own.length, attached.length], [files(manifests.slice(0, 1)), files(manifests)])
    }
})

t.test('a link reads what its key may, and is not kept without asking', async (t) => {
  const { analytics, cnes } = small.result
  const beds = (await manifestOf(cnes ?? '', all)).files.find(({ path }) =>
    path.startsWith('bed_capacity/'),
  )?.path
  const file = `/v1/releases/${cnes}/files/${beds}`
  const link = async (address: string, key: string): Promise<string> =>
    new URL((await ask('/v1/links', key, { method: 'POST', body: { address } })).body.data.link).href.replace(
      server.address,
      '',
    )
  t.equal((await ask(await link(file, only.get('geo.read') ?? ''), null)).status, 403)
  for (const address of [file, `/v1/states?expected_release_id=${analytics}`, '/v1/states']) {
    const linked = await ask(await link(address, all), null)
    t.same([linked.status, linked.headers.get('cache-control')], [200, 'private, no-cache'], address)
    const tag = linked.headers.get('etag') ?? ''
    const again = await ask(await link(address, all), null, { headers: { 'if-none-match': tag } })
    t.same([again.status, again.headers.get('cache-control')], [304, 'private, no-cache'], address)
  }
  t.match(
    (await ask(`/v1/states?expected_release_id=${analytics}`, all)).headers.get('cache-control'),
    /immutable/,
  )
})

t.test(
  'the operator’s key answers visitors of the explorer on routes that read, and no others',
  async (t) => {
    for (const route of ROUTES) {
      const isReading = methodOf(route) === 'GET' || route.path.startsWith('/v1/analytics/')
      const { status, headers } = await ask(`/explorer/api${addressOf(route)}`, null, {
        method: methodOf(route),
        ...(methodOf(route) === 'POST' ? { body: bodyOf(route) } : {}),
      })
      if (!route.path.startsWith('/v1/')) continue
      if (isReading) t.not(status, 401, route.path)
      else t.equal(status, 404, route.path)
      t.equal(headers.get('www-authenticate'), null)
    }
    const body = { address: '/v1/states', expires: '2027-01-01' }
    t.equal((await ask('/explorer/api/v1/links', null, { method: 'POST', body })).status, 404)
    t.equal((await ask('/explorer/api/v1/links', all, { method: 'POST', body })).status, 404)
    t.equal(
      (await ask('/explorer/api/v1/states', 'sus_no_key')).status,
      401,
      'a wrong key never becomes the operator’s',
    )
  },
)

/** Names that every object has, though no table of ours does. */
const INHERITED = cases(
  ['constructor', 'toString', 'valueOf', '__proto__', 'hasOwnProperty', 'prototype'],
  ['constructor'],
)

t.test(
  'names that every object has are unknown names, wherever a request names something',
  { timeout: 120_000 },
  async (t) => {
    const wrong: string[] = []
    let pending: Promise<void>[] = []
    let sent = 0
    /** Sixteen requests are sent at once. */
    const check = async (answer: Promise<Reply>, place: string): Promise<void> => {
      sent += 1
      pending.push(
        answer.then(({ status, text }) => {
          if (status >= 500) wrong.push(`${place}: ${status} ${text.slice(0, 200)}`)
        }),
      )
      if (pending.length < 16) return
      await Promise.all(pending)
      pending = []
    }
    for (const name of INHERITED) {
      for (const route of ROUTES) {
        const method = methodOf(route)
        const body = method === 'POST' ? { body: bodyOf(route) } : {}
        await check(ask(`${addressOf(route)}?${name}=1`, all, { method, ...body }), `${route.path}?${name}`)
        if (route.path.includes('{')) await check(call(route, all, name), `${route.path} of ${name}`)
        const parameters = [
          ...(route.kind === 'custom' ? Object.keys(route.query ?? {}) : []),
          ...('filters' in route ? (route.filters ?? []) : []),
          'sort',
          'include',
          'cursor',
          'expected_release_id',
          'reference_period',
        ]
        for (const parameter of method === 'GET' ? parameters : [])
          await check(
            ask(`${addressOf(route)}?${parameter}=${name}`, all),
            `${route.path}?${parameter}=${name}`,
          )
      }
      const bodies = [
        { metrics: [name] },
        { ...QUERY, group_by: [name] },
        { ...QUERY, filters: [{ dimension: name, operator: 'EQ', value: 'RR' }] },
        { ...QUERY, filters: [{ dimension: 'state', operator: name, value: 'RR' }] },
        { ...QUERY, filters: [{ dimension: 'facility_type', operator: 'EQ', value: name }] },
        { ...QUERY, order_by: [name] },
        { ...QUERY, order_by: [{ field: name }] },
        { ...QUERY, over_period: name },
        { ...QUERY, population_basis: name },
        { ...QUERY, totals: [[name]] },
        { ...QUERY, share_of: [name] },
        { ...QUERY, change: { to: name } },
        { ...QUERY, having: [{ metric: name, operator: 'GT', value: 1 }] },
        { ...QUERY, metric: name, key: {} },
        { ...QUERY, format: name },
        `{"metrics":["population"],"${name}":1}`,
        `{"metrics":["population"],"group_by":["state"],"key":{"${name}":"RR"}}`,
        `{"metrics":["population"],"filters":[{"dimension":"state","operator":"EQ","value":"RR","${name}":1}]}`,
      ]
      for (const route of ROUTES)
        if (methodOf(route) === 'POST')
          for (const body of bodies)
            await check(
              ask(route.path, all, { method: 'POST', body }),
              `${route.path} ${JSON.stringify(body)}`,
            )
      for (const header of [
        'accept',
        'accept-language',
        'accept-encoding',
        'range',
        'if-none-match',
        'mcp-protocol-version',
        'x-request-id',
      ])
        for (const url of [
          '/v1/facilities?limit=1',
          '/',
          `/v1/releases/${small.result.cnes}/files/manifest.json`,
        ])
          await check(ask(url, all, { headers: { [header]: name } }), `${header}: ${name}`)
      const messages = [
        { method: name },
        { method: 'tools/call', params: { name } },
        ...['catalog', 'members', 'facility', 'query', 'lineage', 'compare', 'explain', 'releases'].flatMap(
          (tool) => [
            { method: 'tools/call', params: { name: tool, arguments: { [`${name}`]: 1 } } },
            {
              method: 'tools/call',
              params: {
                name: tool,
                arguments: {
                  ...QUERY,
                  dimension: name,
                  metric: name,
                  search: name,
                  filters: [{ dimension: name, value: name }],
                  key: { [name]: 1 },
                },
              },
            },
            { method: 'tools/call', params: { name: tool, arguments: { metric: name } } },
            { method: 'tools/call', params: { name: tool, arguments: { dimension: name } } },
          ],
        ),
      ]
      for (const message of messages)
        await check(
          ask('/mcp', all, { method: 'POST', body: { jsonrpc: '2.0', id: 1, ...message } }),
          `mcp ${JSON.stringify(message)}`,
        )
      const question = 'm=population&by=state'
      const explorer = [
        `?${name}=1`,
        ...[
          'm',
          'by',
          'from',
          'to',
          'period',
          'over',
          'totals',
          'change',
          'basis',
          'ignored',
          'order',
          'page',
          'view',
          'release',
          'since',
          'lang',
          'records',
          'cell',
          'format',
          'theme',
        ].map(
          (parameter) =>
            `?${parameter === 'm' || parameter === 'by' ? '' : `${question}&`}${parameter}=${name}`,
        ),
        `?${question}&in.${name}=1`,
        `?in.${name}=1`,
        `?${question}&in.state=${name}`,
        `?${question}&cell=population;${name}:1`,
        `?${question}&cell=${name};state:RR`,
      ]
      for (const search of explorer) await check(ask(`/explorer${search}`, null), `/explorer${search}`)
      for (const path of [
        '',
        'places/',
        'place/',
        'place/state/',
        'facility/',
        'facilities/',
        'releases/',
        'search',
        'assets/',
      ])
        await check(ask(`/explorer/${path}${name}`, null), `/explorer/${path}${name}`)
      const { body } = await ask('/v1/facilities?limit=1', all)
      for (const of of [name, `${name}/01`, `bed-capacity/${name}`])
        await check(ask(`/explorer/facility/${body.data[0].cnes_code}?of=${of}`, null), `of=${of}`)
    }
    await Promise.all(pending)
    t.same(wrong, [])
    t.ok(sent > 500, `${sent} requests`)
  },
)
