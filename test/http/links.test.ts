/**
 * Links: each reads what it says, until it says, and nothing else; it ends with its key, and its token is in no log, answer or header.
 * In the second ring pandas, polars and R read one in one line.
 */
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { createLogger } from '../../src/http/log.ts'
import { linkSecretOf, makeLink, openLink, takeToken } from '../../src/keys/links.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const run = promisify(execFile)
const small = await makeSmallRelease()
const lines: string[] = []
const client = await openClient(small.releasesDir, 1, {
  rows: true,
  cacheBytes: 1 << 24,
  log: { write: (line) => lines.push(line) },
})
t.teardown(() => client.close())
const { analytics = '', cnes = '' } = small.result as unknown as Record<string, string>
const QUERY = { metrics: ['bed_capacity_existing'], group_by: ['state'] }
const QUESTION = `/v1/analytics/query?${new URLSearchParams({ q: JSON.stringify(QUERY) })}`

/** Asks for a link, as a client with a key does. */
async function link(address: string, more: Record<string, string> = {}): Promise<string> {
  const { status, body, text } = await client.post('/v1/links', { address, ...more })
  if (status !== 200) throw new Error(text)
  return body.data.link
}
/** Asks an address as a program without a key does. */
const open = async (url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> => {
  const answer = await client.app.inject({
    method: method as 'GET',
    url,
    headers,
  })
  const isJson = String(answer.headers['content-type']).includes('json') && answer.body !== ''
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: isJson ? JSON.parse(answer.body) : null,
    text: answer.body,
    bytes: answer.rawPayload,
  }
}
const statusOf = async (url: string, method = 'GET'): Promise<number> => (await open(url, {}, method)).status
const tokenOf = (url: string): string =>
  new URL(url, 'http://localhost').searchParams.get('access_token') ?? ''

t.test('a link answers as its key would, in the form it says', async (t) => {
  const own = await client.get(QUESTION)
  const plain = await open(await link(QUESTION))
  t.equal(plain.status, 200)
  t.same(plain.body.data, own.body.data)
  t.same(plain.body.meta.fingerprint, own.body.meta.fingerprint)
  t.equal(plain.headers['cache-control'], 'private, no-cache')
  t.equal(plain.headers['referrer-policy'], 'no-referrer')
  t.equal(plain.headers['x-analytics-release-id'], analytics)
  t.ok(plain.headers.ratelimit, 'the rate of its key')
  const csv = await open(await link(QUESTION, { form: 'csv' }), { accept: 'text/html,*/*' })
  t.match(csv.headers['content-type'], 'text/csv')
  t.match(csv.text, /^state_code,/)
  const [whole, head] = [
    csv.headers['content-length'],
    await open(await link(QUESTION, { form: 'csv' }), {}, 'HEAD'),
  ]
  t.equal(head.headers['content-length'], whole, 'its length is known before it is read')
  const part = await open(await link(QUESTION, { form: 'csv' }), {
    range: 'bytes=0-9',
    'accept-encoding': 'gzip',
  })
  t.same([part.status, part.text], [206, 'state_code'])
  t.equal(part.headers['content-range'], `bytes 0-9/${whole}`)
  const cube = await open(await link(QUESTION, { form: 'json-stat' }))
  t.equal(cube.body.class, 'dataset')
  const list = await open(await link('/v1/bed-types', { form: 'csv' }))
  t.match(list.text, /^bed_type_code,/)
  const q = JSON.stringify(QUERY)
  const parquet = await open(
    await link(`/v1/analytics/export?${new URLSearchParams({ format: 'parquet', q })}`),
  )
  const file = parquet.bytes.buffer.slice(
    parquet.bytes.byteOffset,
    parquet.bytes.byteOffset + parquet.bytes.length,
  )
  t.equal((await parquetReadObjects({ file: file as ArrayBuffer })).length, own.body.data.length)
  t.match(parquet.headers['cache-control'], /^private/)
  t.equal((await open(await link('/v1/releases'))).headers['cache-control'], 'private, no-cache')
})

t.test('it reads what it says, and nothing else', async (t) => {
  const address = '/v1/facilities?uf=RR&limit=5'
  const url = await link(address)
  const token = tokenOf(url)
  t.equal(await statusOf(url), 200)
  t.equal(await statusOf(url, 'HEAD'), 200)
  for (const same of ['/v1/facilities?limit=5&uf=%52R', '/v1/%66acilities?uf=RR&limit=5'])
    t.equal(await statusOf(`${same}&access_token=${token}`), 200, 'order and writing are free')
  for (const other of [
    '/v1/facilities?uf=AC&limit=5',
    '/v1/facilities?uf=RR&limit=6',
    '/v1/facilities?uf=RR',
    '/v1/facilities?uf=RR&limit=5&count=true',
    '/v1/facilities?uf=RR&uf=AC&limit=5',
    '/v1/facilities/?uf=RR&limit=5',
    '/v1//facilities?uf=RR&limit=5',
    '/v1%2Ffacilities?uf=RR&limit=5',
    '/v1/%2566acilities?uf=RR&limit=5',
    '/v1/facilities%00?uf=RR&limit=5',
    '/v1/facilities%?uf=RR&limit=5',
    '/v1/bed-capacity?uf=RR&limit=5',
    '/v1/releases',
    '/explorer/api/v1/facilities?uf=RR&limit=5',
  ])
    t.not(await statusOf(`${other}${other.includes('?') ? '&' : '?'}access_token=${token}`), 200, other)
  t.equal(await statusOf(`${url}&access_token=${token}`), 401, 'two tokens are none')
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) t.ok((await statusOf(url, method)) >= 401, method)
  const posted = await client.app.inject({
    method: 'POST',
    url: `/v1/links?access_token=${token}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ address: '/v1/releases' }),
  })
  t.equal(posted.statusCode, 401, 'a link makes no links')
  t.equal((await open('/v1/releases', { authorization: '', cookie: token })).status, 401)
  t.equal(
    (await client.app.inject({ url: address, headers: { authorization: `Bearer ${token}` } })).statusCode,
    401,
  )
  // Every change of a character of the token.
  const isTaken: string[] = []
  for (let at = 0; at < token.length; at += 1) {
    const changed = `${token.slice(0, at)}${token[at] === 'a' ? 'c' : 'a'}${token.slice(at + 1)}`
    if ((await statusOf(`${address}&access_token=${changed}`)) === 200) isTaken.push(changed)
  }
  // Two bits of the last one say nothing: four characters have the same bytes.
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    const changed = `${token.slice(0, -1)}${last}`
    if (changed !== token && (await statusOf(`${address}&access_token=${changed}`)) === 200)
      isTaken.push(changed)
  }
  t.same(isTaken, [])
  t.equal(await statusOf(`${address}&access_token=`), 401)
  t.equal(await statusOf(`${address}&access_token=${'a'.repeat(4000)}`), 401)
  const beside = await client.get(`/v1/bed-types?access_token=${token}`)
  t.equal(beside.status, 401, 'its own right counts, whatever key is shown beside it')
})

t.test('a link to a release reads its files and descriptions, and no other release', async (t) => {
  const base = `/v1/releases/${cnes}`
  const token = tokenOf(await link(`${base}/metadata.jsonld`, { scope: 'release' }))
  const manifest = (await client.get(base)).body.data
  const below = async (path: string): Promise<number> => statusOf(`${path}?access_token=${token}`)
  t.equal(await below(`${base}/metadata.jsonld`), 200)
  t.equal(await below(`${base}/datapackage.json`), 200)
  t.equal(await below(`${base}/files/manifest.json`), 200)
  t.equal(await below(`${base}/files/${manifest.files[0].path}`), 200)
  const part = await open(`${base}/files/${manifest.files[0].path}?access_token=${token}`, {
    range: 'bytes=0-3',
  })
  t.same([part.status, part.text], [206, 'PAR1'])
  const encoded = manifest.files.find(({ path }: { path: string }) => path.includes('=')).path
  t.equal(await below(`${base}/files/${encoded.replace('=', '%3D')}`), 200, 'with its path percent-encoded')
  t.equal(await below(`/v1/releases/${analytics}/files/manifest.json`), 401)
  t.equal(await below(`/v1/releases/${cnes}x/files/manifest.json`), 401)
  t.equal(await below('/v1/releases'), 401)
  t.equal(await below(base), 401)
  t.equal(await below(`${base}/../${analytics}/files/manifest.json`), 401)
  t.equal(await below(`${base}/files/../../${analytics}/manifest.json`), 401)
})

t.test('until it says, and as long as its key', async (t) => {
  const [secret, now] = [linkSecretOf(Buffer.from('test')), Date.parse('2026-06-01T00:00:00Z')]
  const terms = { keyId: 'abcdefgh', address: '/v1/states', scope: 'address', form: 'any' } as const
  const made = makeLink({ ...terms, expiresMs: now + 60_000 }, secret, now)
  const taken = takeToken(made)?.link
  if (taken === undefined) throw new Error('no link')
  const key = { id: 'abcdefgh', name: 'k', capabilities: [], rate_per_minute: null }
  const at = (ms: number, found: typeof key | null = key) =>
    openLink(taken, 'GET', secret, { find: (id) => (id === 'abcdefgh' ? found : null) }, ms)?.id ?? null
  t.equal(at(now), 'abcdefgh')
  t.equal(at(now + 59_999), 'abcdefgh')
  t.equal(at(now + 60_000), null, 'it has ended')
  t.equal(at(now, null), null, 'its key has been revoked')
  t.equal(openLink(taken, 'GET', linkSecretOf(Buffer.from('other')), { find: () => key }, now), null)
  t.equal(openLink(taken, 'POST', secret, { find: () => key }, now), null)
  // The secret of cursors signs no links, and that of links no cursors.
  const [head = ''] = taken.token.split(/_[A-Za-z0-9_-]{43}$/)
  const forged = createHmac('sha256', Buffer.from('test')).update(`sus-data-link-1\n${head}\n/v1/states?`)
  t.equal(
    openLink(
      { ...taken, token: `${head}_${forged.digest('base64url')}` },
      'GET',
      secret,
      { find: () => key },
      now,
    ),
    null,
  )
  for (const [address, wrong] of [
    ['/v1/states#part', {}],
    ['/docs', {}],
    ['/v1/../docs', {}],
    ['/v1/x/../states', {}],
    ['/v1/states?access_token=x', {}],
    ['/v1/states', { scope: 'release' }],
    ['/v1/states', { expiresMs: now - 1 }],
    ['/v1/states', { expiresMs: now + 400 * 86_400_000 }],
  ] as const)
    t.throws(
      () => makeLink({ ...terms, expiresMs: now + 1000, ...wrong, address }, secret, now),
      { name: 'KeysError' },
      address,
    )
})

t.test('wrong requests for a link say what is taken', async (t) => {
  const ask = (body: unknown) => client.post('/v1/links', body)
  t.match(await ask({}), { status: 400, body: { errors: [{ pointer: '/address' }] } })
  t.match(await ask({ address: 'https://other.example/v1/states' }), {
    status: 400,
    body: { errors: [{ pointer: '/address' }] },
  })
  t.match(await ask({ address: '/v1/states', scope: 'all' }), {
    status: 400,
    body: { errors: [{ pointer: '/scope', allowed: ['address', 'release'] }] },
  })
  t.match(await ask({ address: '/v1/states', scope: 'release' }), {
    status: 400,
    body: { errors: [{ pointer: '/address', message: /abaixo de/ }] },
  })
  for (const expires of ['tomorrow', '2020-01-01', '2999-01-01'])
    t.match(await ask({ address: '/v1/states', expires }), {
      status: 400,
      body: { errors: [{ pointer: '/expires' }] },
    })
  const english = await client.post(
    '/v1/links',
    { address: '/v1/states', expires: '2020-01-01' },
    { 'accept-language': 'en' },
  )
  t.equal(
    english.body.detail,
    '/expires must be a day (2027-01-31) or a time (2027-01-31T12:00:00Z) within the next 366 days.',
  )
  t.equal((await client.post('/v1/links', { address: '/v1/states' }, { authorization: '' })).status, 401)
})

t.test('the token is in no log, and in nothing that an answer says', async (t) => {
  lines.length = 0
  const url = await link('/v1/facilities?uf=RR&limit=1', { form: 'csv' })
  const token = tokenOf(url)
  const answers = [
    await open(url),
    await open(`/v1/facilities?uf=AC&access_token=${token}`),
    await open(`/v1/nothing?access_token=${token}`),
    await open(`/v1/states/%ZZ?access_token=${token}`),
    await open(`/v1/${'x'.repeat(300)}?access_token=${token}`),
    await open(`/explorer?m=bed_capacity_existing&format=csv&access_token=${token}`),
    await open(`/nowhere?access_token=${token}`),
    await open(`/v1/facilities?uf=RR&limit=1&%61ccess_token=${token}`),
    await open(url, { 'x-request-id': token.slice(0, 60) }),
  ]
  // The client's own request id comes back to it; a log has it without its secret.
  for (const { text, headers } of answers.slice(0, -1)) {
    t.notOk(text.includes(token.slice(20)), 'no body')
    t.notOk(JSON.stringify(headers).includes(token.slice(20)), 'no header: Link, Location, request id')
  }
  t.match(answers[0]?.headers.link, /rel="next"/, 'the next page is named, without the token')
  await new Promise((resolve) => setTimeout(resolve, 20))
  const log = lines.join('')
  t.match(log, /"route":"\/v1\/facilities"/)
  t.notMatch(log, /access_token|susl_[0-9a-z]{8}_[0-9a-z]{3}/)
  const logged: string[] = []
  const logger = createLogger('info', { write: (line: string) => logged.push(line) })
  logger.info({ url, err: new Error(`failed at ${url}`, { cause: new Error(token) }) }, `see ${url}`)
  t.notOk(logged.join('').includes(token.slice(20)), 'nor where a message or a cause holds it')
  t.match(logged.join(''), /susl_[0-9a-z]{8}_\[redacted\]/)
})

t.test('pandas, polars and R read a link in one line', secondRing, async (t) => {
  const address = await client.app.listen({ host: '127.0.0.1', port: 0 })
  const served = async (what: string, more: Record<string, string> = {}): Promise<string> =>
    `${address}${await link(what, more)}`
  const { data } = (await client.get(QUESTION)).body
  const total = data.reduce(
    (sum: number, row: { metrics: Record<string, number> }) => sum + (row.metrics.bed_capacity_existing ?? 0),
    0,
  )
  const csv = await served(QUESTION, { form: 'csv' })
  const q = JSON.stringify(QUERY)
  const parquet = await served(`/v1/analytics/export?${new URLSearchParams({ format: 'parquet', q })}`)
  const file = await served(`/v1/releases/${cnes}/files/bed_capacity/reference_period=202605/part-0.parquet`)
  const cube = await served(QUESTION, { form: 'json-stat' })
  await t.test('pandas and polars', { skip: withoutPython('pandas', 'polars', 'pyarrow') }, async (t) => {
    const { code, stdout, stderr } = await runPython(
      `import sys, pandas, polars
csv, parquet, file = sys.argv[1:]
print(pandas.read_csv(csv)["bed_capacity_existing"].sum())
print(pandas.read_parquet(parquet)["bed_capacity_existing"].sum())
print(polars.read_csv(csv)["bed_capacity_existing"].sum())
beds = polars.read_parquet(file)
print(beds.filter(polars.col("is_active"))["beds_existing"].sum())`,
      csv,
      parquet,
      file,
    )
    t.equal(code, 0, stderr.slice(-500))
    t.same(stdout.trim().split('\n'), Array(4).fill(String(total)))
  })
  const hasR = await run('Rscript', ['--version']).then(
    () => false,
    () => 'R is not installed (Debian: apt-get install r-base-core)' as const,
  )
  await t.test('R', { skip: hasR }, async (t) => {
    const script = 'cat(sum(read.csv(commandArgs(TRUE)[1])$bed_capacity_existing))'
    t.equal((await run('Rscript', ['-e', script, csv])).stdout, String(total))
    const lengths = 'cat(nchar(paste(readLines(commandArgs(TRUE)[1], warn = FALSE), collapse = "")) > 100)'
    t.equal((await run('Rscript', ['-e', lengths, cube])).stdout, 'TRUE')
  })
})
