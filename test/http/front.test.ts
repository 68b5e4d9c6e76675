/**
 * What is answered before Fastify says what Fastify says: every request goes over a socket twice (the second time its
 * answer may be known) and past the front to an application that keeps nothing.
 */
import { existsSync, lstatSync, readdirSync, readlinkSync, truncateSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { listen, type Sent } from '../fixtures/socket.ts'

const small = await makeSmallRelease()
const plain = await openClient(small.releasesDir)
const client = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true })
const { port, send: overSocket } = await listen(client.app)
t.teardown(async () => {
  await client.close()
  await plain.close()
})

/** Headers that differ from request to request, or belong to the connection. */
const OWN = [
  'x-request-id',
  'server-timing',
  'ratelimit',
  'date',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
]
const shown = ({ status, headers, bytes }: Pick<Reply, 'status' | 'headers' | 'bytes'>): object => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name))),
  text: shownText((headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()),
})
function shownText(text: string): string {
  return text.replace(/"request_id":"[^"]+"/, '').replace(/"instance":"[^"]+"/, '')
}

const code = (await plain.get('/v1/facilities?limit=1')).body.data[0].cnes_code
const { etag } = (await plain.get(`/v1/facilities/${code}`)).headers
const cursorOf = {
  facilities: (await plain.get('/v1/facilities?limit=2')).body.pagination.next_cursor,
  municipalities: (await plain.get('/v1/municipalities?limit=2')).body.pagination.next_cursor,
}
const bearer = (of: typeof plain, ...lacking: Parameters<typeof plain.keyWithout>): string =>
  `Bearer ${of.keyWithout(...lacking)}`

/** What Fastify alone says. */
async function pastFront({ method = 'GET', url, headers = {}, body }: Sent): Promise<object> {
  const sent = await plain.app.inject({
    method: method as 'GET',
    url,
    headers,
    ...(body === undefined ? {} : { payload: body }),
  })
  return shown({ status: sent.statusCode, headers: sent.headers, bytes: sent.rawPayload })
}

const URLS = [
  `/v1/facilities/${code}`,
  '/v1/facilities/0000000',
  '/v1/facilities/12345678',
  `/v1/facilities/${code}?reference_period=2026-05`,
  `/v1/facilities/${code}?x=1`,
  `/v1//facilities/${code}`,
  `/v1/%66acilities/${code}`,
  '/v1/facilities?limit=3&uf=RR',
  '/v1/facilities?search=saude&limit=3',
  '/v1/facilities?limit=0',
  '/v1/states',
  '/v1/states/14',
  '/v1/municipalities/1400100',
  '/v1/municipalities/9999999',
  '/v1/demography/population/1400100',
  '/v1/demography/population/1400100?reference_period=all',
  '/v1/analytics/catalog',
  '/v1/analytics/dimensions/bed_type/values?counts=true',
  `/v1/states?expected_release_id=${small.result.analytics}`,
  '/v1/states?expected_release_id=another',
  '/v1/releases',
  '/health',
  '/openapi.json',
  '/nothing',
]
/** Queries of lists, plain and odd. */
const PAGES = [
  ...[
    '',
    '?limit=2',
    '?limit=250',
    '?limit=251',
    '?limit=02',
    '?limit=2&limit=2',
    '?limit=2&count=true',
    '?limit=2&count=maybe',
    '?count=false&limit=2',
    '?limit=2&',
    '?limit=%32',
    '?limit',
    '?constructor=1',
    '?__proto__=1',
    '?cursor=',
    '?cursor=abc',
    `?limit=3&cursor=${cursorOf.facilities}`,
    `?limit=3&cursor=${cursorOf.facilities}&status=all`,
    `?limit=3&count=true&cursor=${cursorOf.facilities}`,
    `?cursor=${cursorOf.municipalities}`,
    '?uf=RR&limit=5',
    '?uf=rr&limit=5',
    '?uf=XX',
    '?limit=5&uf=RR&facility_type_code=05&count=true',
    '?uf=RR&status=all&limit=4',
    '?status=inactive&limit=4',
    '?search=hospital&limit=3',
    '?search=HOSP%C3%8DTAL+DE&limit=3',
    '?search=hospital%20de&limit=3&count=true',
    '?search=%ff&limit=3',
    '?search=%C3&limit=3',
    '?search=&limit=3',
    '?search=%CC%81',
    '?search=a%0Ab',
    '?search=sa%26de&limit=2',
    '?search=14&limit=2&uf=RR',
    '?uf=RR&reference_period=2026-05&limit=2',
    '?uf=RR&reference_period=all&limit=2',
    '?uf=RR&reference_period=1999-01',
    '?UF=RR',
    '?uf=RR&expected_release_id=another',
    `?uf=RR&expected_release_id=${small.result.analytics}&limit=2`,
  ].map((query) => `/v1/facilities${query}`),
  `/v1/municipalities?limit=3&cursor=${cursorOf.municipalities}`,
  '/v1/demography/population?limit=3',
  '/v1/demography/population?limit=3&reference_year=2022',
  '/v1/bed-capacity?limit=3&bed_type_code=03&existing_count=1',
  '/v1/equipment-inventory?limit=3&uf=RR&category_code=1',
  '/v1/bed-capacity?limit=3',
]
const HEADERS: readonly ((of: typeof plain) => Record<string, string>)[] = [
  (of) => ({ authorization: bearer(of) }),
  (of) => ({ authorization: bearer(of), 'accept-language': 'en', accept: 'application/json' }),
  (of) => ({ authorization: bearer(of), 'accept-encoding': 'gzip' }),
  (of) => ({ authorization: bearer(of), 'accept-encoding': 'identity' }),
  (of) => ({ authorization: bearer(of), 'if-none-match': String(etag) }),
  (of) => ({ authorization: bearer(of), 'if-none-match': '*' }),
  (of) => ({ authorization: bearer(of), origin: 'https://example.org' }),
  (of) => ({ authorization: bearer(of, 'facilities.read') }),
  (of) => ({ authorization: bearer(of, 'analytics.catalog.read') }),
  () => ({ authorization: 'Bearer sus_nobody' }),
  () => ({}),
]

/** Of HEADERS, those on which it depends what is done with a query: all, compressed, known, and a key that lacks the list. */
const OF_PAGES = [0, 2, 5, 7]

t.test('the same answer by either way, each time it is asked', async (t) => {
  for (const url of [...URLS, ...PAGES])
    for (const [index, headersOf] of HEADERS.entries()) {
      if (PAGES.includes(url) && !OF_PAGES.includes(index)) continue
      for (const method of index === 0 ? ['GET', 'HEAD'] : ['GET']) {
        const expected = await pastFront({ method, url, headers: headersOf(plain) })
        for (const turn of ['first', 'second'])
          t.same(
            shown(await overSocket({ method, url, headers: headersOf(client) })),
            expected,
            `${method} ${url} ${index} ${turn}`,
          )
      }
    }
})

t.test('questions in a body, whole or in parts', async (t) => {
  const json = { 'content-type': 'application/json' }
  const good = JSON.stringify({ metrics: ['bed_capacity_existing'], group_by: ['state'] })
  for (const [body, headers] of [
    [good, json],
    [good, { 'content-type': 'application/json; charset=utf-8' }],
    [good, { ...json, accept: 'text/csv' }],
    [good, { ...json, 'accept-language': 'en' }],
    [good, { 'content-type': 'text/plain' }],
    [good, { ...json, 'content-encoding': 'gzip' }],
    [` ${good}`, json],
    [`${good}}`, json],
    [JSON.stringify({ metrics: ['nothing'] }), json],
    [JSON.stringify({ metrics: ['bed_capacity_existing'], expected_release_id: 'another' }), json],
    ['', json],
  ] as const) {
    const asked = { method: 'POST', url: '/v1/analytics/query', body }
    const expected = await pastFront({ ...asked, headers: { authorization: bearer(plain), ...headers } })
    for (const isSlow of [false, false, true])
      t.same(
        shown(
          await overSocket({
            ...asked,
            headers: {
              authorization: bearer(client),
              'content-length': String(Buffer.byteLength(body)),
              ...headers,
            },
            isSlow,
          }),
        ),
        expected,
        `${body} ${JSON.stringify(headers)}`,
      )
  }
})

t.test('what is answered here is counted, logged under its route, and numbered', async (t) => {
  const url = `/v1/facilities/${code}`
  const headers = { authorization: bearer(client), 'x-request-id': 'mine-1' }
  const first = await overSocket({ url, headers })
  const second = await overSocket({ url, headers })
  t.equal(first.headers['x-request-id'], 'mine-1')
  t.match(second.text, /"request_id":"mine-1"/)
  t.equal(Number(second.headers['content-length']), second.bytes.length)
  const counted = async (): Promise<number> => {
    const { text } = await client.get('/metrics', { authorization: '' })
    return Number(
      /sus_http_requests_total\{method="GET",route="\/v1\/facilities\/:cnes_code",status="200"\} (\d+)/.exec(
        text,
      )?.[1],
    )
  }
  const before = await counted()
  await overSocket({ url, headers })
  t.equal(await counted(), before + 1)
})

t.test('each takes from its key, and what is left over goes by', async (t) => {
  const poor = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true, perMinute: 4 })
  t.teardown(() => poor.close())
  const { port } = await listen(poor.app)
  const found = []
  for (let turn = 0; turn < 6; turn += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/facilities/${code}`, {
      headers: { authorization: bearer(poor), 'accept-encoding': 'identity' },
    })
    found.push([response.status, response.headers.get('ratelimit')?.match(/r=(\d+)/)?.[1]])
  }
  t.same(found, [
    [200, '3'],
    [200, '2'],
    [200, '1'],
    [200, '0'],
    [429, '0'],
    [429, '0'],
  ])
})

t.test('a page that is walked by cursor is not taken for another', async (t) => {
  const headers = { authorization: bearer(client) }
  const own = JSON.parse((await overSocket({ url: '/v1/facilities?limit=2', headers })).text)
  for (const url of ['/v1/facilities?limit=2', `/v1/facilities?limit=2&cursor=${own.pagination.next_cursor}`])
    for (let turn = 0; turn < 2; turn += 1) {
      const { text, status } = await overSocket({ url, headers })
      t.equal(status, 200)
      t.same(
        JSON.parse(text).data,
        (await plain.get(url.replace(own.pagination.next_cursor, cursorOf.facilities))).body.data,
      )
    }
})

t.test('what a client has not taken yet is not written over', async (t) => {
  const headers = { authorization: bearer(client) }
  const pages: string[] = []
  const texts: string[] = []
  for (let url: string | null = '/v1/facilities?limit=200'; url !== null && pages.length < 12; ) {
    const { text, body } = await plain.get(url)
    pages.push(url)
    texts.push(shownText(text))
    url =
      body.pagination.next_cursor === null
        ? null
        : `/v1/facilities?limit=200&cursor=${body.pagination.next_cursor}`
  }
  t.ok(pages.length > 3 && (texts[0]?.length ?? 0) > 50_000, `${pages.length} pages`)
  // Far more than sockets hold: the server has it in its own memory while others ask.
  const asked = Array.from({ length: 120 }, (_, index) => index % pages.length)
  const late = await Promise.all(Array.from({ length: 3 }, () => askLate(asked.map((at) => pages[at] ?? ''))))
  for (const [at, page] of [...pages.entries(), ...pages.entries()])
    t.equal(shownText((await overSocket({ url: page, headers })).text), texts[at])
  for (const { read } of late) {
    const answers = await read()
    t.equal(answers.length, asked.length)
    t.same(
      asked.filter((page, index) => shownText(answers[index] ?? '') !== texts[page]),
      [],
      'each to the last byte',
    )
  }

  /** Asks for pages over one connection, one request behind the other, and does not read until it is told to. */
  async function askLate(urls: readonly string[]): Promise<{ readonly read: () => Promise<string[]> }> {
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    const ask = (url: string): string =>
      `GET ${url} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n`
    socket.write(`${urls.map((url) => `${ask(url)}\r\n`).join('')}${ask('/health')}Connection: close\r\n\r\n`)
    await new Promise((resolve) => setTimeout(resolve, 200))
    return {
      async read() {
        const chunks: Buffer[] = []
        for await (const chunk of socket) chunks.push(chunk as Buffer)
        const all = Buffer.concat(chunks)
        const bodies: string[] = []
        for (let at = 0; at < all.length; ) {
          const start = all.indexOf('\r\n\r\n', at) + 4
          const length = Number(/content-length: (\d+)/i.exec(all.toString('latin1', at, start))?.[1])
          bodies.push(all.toString('utf8', start, start + length))
          at = start + length
        }
        return bodies.slice(0, -1)
      },
    }
  }
})

const DESCRIPTORS = '/proc/self/fd'
const withoutDescriptors = existsSync(DESCRIPTORS) ? false : 'the system does not show open files'
t.test(
  'rows that cannot be read any more are an error, not an end',
  { skip: withoutDescriptors },
  async (t) => {
    const openLines = (): string[] =>
      readdirSync(DESCRIPTORS)
        .map((name) => join(DESCRIPTORS, name))
        // The folder's own descriptor is gone once it is listed.
        .filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined)
        .filter((path) => readlinkSync(path).includes('.lines'))
    const others = new Set(openLines())
    const broken = await openClient(small.releasesDir, 1, { rows: true })
    t.teardown(() => broken.close())
    const { send } = await listen(broken.app)
    const own = openLines().filter((path) => !others.has(path))
    t.ok(own.length > 0)
    for (const path of own) truncateSync(path, 0)
    const headers = { authorization: bearer(broken) }
    for (const url of ['/v1/facilities?limit=50', '/v1/facilities?limit=3', `/v1/facilities/${code}`]) {
      const { status, text } = await send({ url, headers })
      t.match({ status, ...JSON.parse(text) }, { status: 500, code: 'internal' }, url)
    }
    t.equal((await send({ url: '/health' })).status, 200)
  },
)
