/** Requests that HTTP allows, or forbids, at its edges: each is answered as RFC 9110 says. */
import { connect } from 'node:net'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true })
const plain = await openClient(small.releasesDir)
t.teardown(() => Promise.all([client.close(), plain.close()]))
const address = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
const authorization = `Bearer ${client.keyWithout()}`

/** What a connection is answered that sends these bytes and closes its side. */
const exchange = (bytes: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(address.port), address.hostname)
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
    socket.write(bytes)
    setTimeout(() => socket.end(), 200)
  })

t.test('a suffix longer than the file is the whole file', async (t) => {
  const manifest = (await client.get(`/v1/releases/${small.result.analytics}`)).body.data
  const url = `/v1/releases/${small.result.analytics}/files/${manifest.files[0].path}`
  const whole = await client.get(url)
  const { status, headers, bytes } = await client.get(url, { range: 'bytes=-99999999' })
  t.equal(status, 206)
  t.equal(headers['content-range'], `bytes 0-${whole.bytes.length - 1}/${whole.bytes.length}`)
  t.ok(bytes.equals(whole.bytes))
  const part = await client.get(url, { range: 'bytes=-10' })
  t.equal(part.status, 206)
  t.ok(part.bytes.equals(whole.bytes.subarray(-10)))
  t.equal((await client.get(url, { range: 'bytes=-0' })).status, 416)
  for (const range of ['Bytes=0-3', 'BYTES= 0-3'])
    t.same((await client.get(url, { range })).bytes, whole.bytes.subarray(0, 4), range)
  for (const range of ['pages=1-2', 'rows=999999999-', 'x', 'items=a'])
    t.equal((await client.get(url, { range })).status, 200, `${range}: an unknown unit is ignored`)
})

t.test('If-None-Match: * is 304 for what is there, and nothing else', async (t) => {
  for (const { get } of [client, plain])
    for (const [url, status] of [
      ['/v1/facilities/9999999', 404],
      ['/v1/municipalities/0000000', 404],
      ['/v1/facilities?limit=0', 400],
      ['/v1/facilities?reference_period=1999-01', 400],
      ['/v1/analytics/dimensions/none/values', 400],
      ['/v1/states', 304],
      ['/v1/states/14', 304],
      ['/v1/facilities?limit=1', 304],
      ['/v1/facilities?search=a&limit=1', 304],
      ['/v1/analytics/catalog', 304],
    ] as const)
      for (const time of ['first', 'again'])
        t.equal((await get(url, { 'if-none-match': '*' })).status, status, `${url} ${time}`)
})

t.test('codes of municipalities of 6 digits name what those of 7 do', async (t) => {
  for (const { get } of [client, plain]) {
    const list = (await get('/v1/municipalities?state=RR&limit=3')).body.data as { ibge_code: number }[]
    for (const { ibge_code } of list)
      for (const path of ['/v1/municipalities/', '/v1/demography/population/']) {
        const long = await get(`${path}${ibge_code}`)
        const short = await get(`${path}${String(ibge_code).slice(0, 6)}`)
        t.equal(long.status, 200)
        t.equal(short.status, 200, `${path} of 6`)
        t.same(short.body.data, long.body.data)
      }
    t.equal((await get('/v1/municipalities/999999')).status, 404)
    t.equal((await get('/v1/demography/population/999999')).status, 404)
    t.equal((await get('/v1/municipalities/14001')).status, 404)
  }
})

t.test('methods that no route has', async (t) => {
  for (const method of ['PROPFIND', 'TRACE', 'MKCOL', 'PURGE', 'LINK', 'M-SEARCH', 'DELETE', 'QUERY']) {
    const text = await exchange(
      `${method} /v1/states HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`,
    )
    // A method that Node.js does not know is no HTTP to it.
    if (method === 'QUERY' && text.startsWith('HTTP/1.1 400')) continue
    t.match(text, /^HTTP\/1\.1 405 /, method)
    t.match(text, /\r\nallow: GET, HEAD\r\n/i, method)
    t.match(text, /"code":"method_not_allowed"/, method)
  }
  t.match(
    await exchange(`PROPFIND /none HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`),
    /^HTTP\/1\.1 404 /,
  )
})

t.test('a number that is infinite is refused, whatever was answered before', async (t) => {
  const ask = (limits: string) =>
    client.post('/v1/analytics/query', `{"metrics":["bed_capacity_existing"],"limits":${limits}}`)
  for (const [limits, status] of [
    ['1e999', 400],
    ['null', 200],
    ['1e999', 400],
    ['-1e999', 400],
  ] as const)
    t.equal((await ask(limits)).status, status, limits)
})

t.test('two Host headers', async (t) => {
  const text = await exchange('GET /health HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 400 /)
  t.match(Buffer.from(text, 'latin1').toString(), 'Há dois cabeçalhos Host; envie um só.')
})

t.test('a compressed body', async (t) => {
  for (const coding of ['gzip', 'br', 'deflate', 'x', 'gzip, identity']) {
    const { status, body, headers } = await client.query('{}', { 'content-encoding': coding })
    t.equal(status, 415, coding)
    t.equal(body.code, 'unsupported_media_type')
    t.equal(headers['accept-encoding'], 'identity')
  }
  t.equal(
    (await client.query({ metrics: ['bed_capacity_existing'] }, { 'content-encoding': 'identity' })).status,
    200,
  )
})

t.test('the pages and the API document', async (t) => {
  t.equal((await client.get('/docs/')).text, (await client.get('/docs')).text)
  for (const url of [
    '/openapi.json',
    '/docs',
    '/docs/',
    '/docs/start.js',
    '/docs/swagger-ui.css',
    '/docs/swagger-ui-bundle.js',
    '/docs/favicon-32x32.png',
  ]) {
    const { status, headers } = await client.get(url)
    t.equal(status, 200, url)
    const tag = String(headers.etag)
    t.match(tag, /^"[\w-]{22}"$/)
    const again = await client.get(url, { 'if-none-match': tag })
    t.equal(again.status, 304, url)
    t.equal(again.text, '')
    t.equal(again.headers.etag, tag)
    const zipped = await client.get(url, { 'accept-encoding': 'gzip' })
    if (zipped.headers['content-encoding'] === 'gzip') t.not(zipped.headers.etag, tag, 'other bytes')
    t.equal((await client.get(url, { 'if-none-match': String(zipped.headers.etag) })).status, 304)
    t.equal((await client.get(url, { 'if-none-match': '"x"' })).status, 200)
  }
})

t.test('HEAD of an export has the status and headers of GET', async (t) => {
  const q = encodeURIComponent(JSON.stringify({ metrics: ['bed_capacity_existing'], group_by: ['state'] }))
  const ask = (query: string) =>
    client.send({ method: 'HEAD', url: `/v1/analytics/export?format=csv&q=${query}` })
  const { status, headers, text } = await ask(q)
  t.equal(status, 200)
  t.match(headers['content-type'], /^text\/csv/)
  t.equal(text, '')
  t.equal((await ask(encodeURIComponent('{"metrics":[]}'))).status, 400)
  const report = await client.get(`/v1/analytics/export?format=csv&q=${q}`)
  t.match(report.headers['x-report-fingerprint'], /^[0-9a-f]{64}$/)
  for (const name of ['x-report-fingerprint', 'x-report-row-count', 'x-artifact-sha256', 'content-length'])
    t.equal(headers[name], report.headers[name], name)
})
