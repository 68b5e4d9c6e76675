/** Fetching over HTTP: no length, no ranges, a browser's headers, redirects, missing and changing pages; each as servers do it. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { zipSync } from 'fflate'
import t from 'tap'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { dbcOf, fetchInto, GROUPS, pathOf } from '../fixtures/snapshots.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void
type Tap = Pick<typeof t, 'teardown'>

async function startHttp(t: Tap, handler: Handler): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const JUNE = 202606
const published = new Map(GROUPS.map((group) => [pathOf(group, JUNE), dbcOf(group, JUNE)]))

/** A mirror: index pages, HEAD, and ranges unless `noRanges`. */
function mirror(options: { noRanges?: boolean; cutAfter?: number; cuts?: number; log: string[] }): Handler {
  let cuts = options.cuts ?? 0
  return (request, response) => {
    const path = decodeURI(request.url ?? '')
    const bytes = published.get(path)
    options.log.push(`${request.method} ${path} ${request.headers.range ?? ''}`.trim())
    if (bytes === undefined) {
      const names = [...published.keys()]
        .filter((name) => name.startsWith(path))
        .map((name) => name.slice(path.length))
      if (names.length === 0) response.writeHead(404).end()
      else
        response.end(`<a href="../">..</a>${names.map((name) => `<a href="${name}">${name}</a>`).join('\n')}`)
      return
    }
    const headers = { etag: `"${bytes.length}"`, 'last-modified': 'Mon, 15 Jun 2026 09:30:00 GMT' }
    if (request.method === 'HEAD') {
      response.writeHead(200, { ...headers, 'content-length': bytes.length }).end()
      return
    }
    const from =
      options.noRanges === true ? 0 : Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const body = bytes.subarray(from)
    response.writeHead(from > 0 ? 206 : 200, {
      ...headers,
      'content-length': body.length,
      ...(from > 0 ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
    })
    if (cuts <= 0) {
      response.end(body)
      return
    }
    cuts -= 1
    response.write(body.subarray(0, options.cutAfter))
    setTimeout(() => response.destroy(), 30)
  }
}

for (const noRanges of [false, true])
  t.test(`a mirror of files ${noRanges ? 'without' : 'with'} ranges`, async (t) => {
    const log: string[] = []
    const url = await startHttp(t, mirror({ noRanges, cutAfter: 300, cuts: 3, log }))
    const into = temporaryFolder('http')
    const report = await fetchInto(into, { SUS_SOURCE_DATASUS: url })
    t.same(
      report.files.map(({ status, reason }) => reason ?? status),
      GROUPS.map(() => 'fetched'),
    )
    for (const [path, bytes] of published) t.ok(readFileSync(join(into, 'datasus', path)).equals(bytes))
    t.ok(
      log.some((line) => line.endsWith('bytes=300-')),
      'a cut transfer asks for the rest',
    )
    log.length = 0
    const again = await fetchInto(into, { SUS_SOURCE_DATASUS: url })
    t.ok(again.files.every(({ status }) => status === 'present'))
    t.notOk(log.some((line) => line.startsWith('GET') && line.includes('.dbc')))
  })

t.test(
  'the national base: chunked, behind a redirect, only for browsers, absent in the newest months',
  async (t) => {
    const zip = Buffer.from(zipSync({ 'tbLeito202605.csv': Buffer.from('"CO_LEITO"\r\n"01"\r\n') }))
    const months: string[] = []
    let refusals = 1
    const url = await startHttp(t, (request, response) => {
      const address = new URL(request.url ?? '', 'http://server')
      if (!/Mozilla/.test(request.headers['user-agent'] ?? '') || request.headers.referer === undefined) {
        response.writeHead(503).end()
        return
      }
      if (address.pathname === '/moved') {
        // Written in two pieces without a length, so that it is chunked.
        response.write(zip.subarray(0, 40))
        response.end(zip.subarray(40))
        return
      }
      const month = /BASE_DE_DADOS_CNES_(\d{6})\.ZIP$/.exec(address.search)?.[1] ?? ''
      months.push(month)
      if (month !== '202605') response.writeHead(404).end()
      else if (refusals > 0) {
        refusals -= 1
        response.writeHead(200).end('<html>try later</html>')
      } else response.writeHead(302, { location: '/moved' }).end()
    })
    const into = temporaryFolder('http')
    const report = await fetchInto(into, { SUS_SOURCE_CNES: url }, { areas: ['cnes-base'] })
    t.same(
      report.files.map(({ path, status }) => [path, status]),
      [[join('cnes', 'BASE_DE_DADOS_CNES_202605.ZIP'), 'fetched']],
    )
    t.same(
      months,
      ['202607', '202606', '202605', '202605'],
      'a page in its place is no archive, and is tried again',
    )
    t.ok(readFileSync(join(into, 'cnes/BASE_DE_DADOS_CNES_202605.ZIP')).equals(zip))
    const again = await fetchInto(
      into,
      { SUS_SOURCE_CNES: url },
      { areas: ['cnes-base'], from: 202605, to: 202605 },
    )
    t.same(
      again.files.map(({ status }) => status),
      ['present'],
    )
    const none = await fetchInto(
      into,
      { SUS_SOURCE_CNES: url },
      { areas: ['cnes-base'], from: 202601, to: 202601 },
    )
    t.match(none.files, [{ status: 'failed', reason: /the publisher has no/ }])
  },
)

t.test('pages of an answer: all or none, and anew when the data changes between two pages', async (t) => {
  const into = temporaryFolder('http')
  const folder = join(into, 'siconfi/ords/siconfi/tt')
  const visible: string[] = []
  let editionFrom = 1000
  let lacking = false
  const requests: string[] = []
  const url = await startHttp(t, (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://server')
    const offset = Number(searchParams.get('offset') ?? 0)
    requests.push(`${searchParams.get('no_anexo')} ${offset}`)
    if (existsSync(folder)) visible.push(...readdirSync(folder).filter((name) => /^[^.].*part$/.test(name)))
    if (lacking && offset === 2) {
      response.writeHead(404).end()
      return
    }
    const edition = requests.length > editionFrom ? 'second' : 'first'
    const items = [0, 1].map((index) => ({
      cod_conta: `${edition} ${offset + index}`,
      demonstrativo: 'RREO',
    }))
    response.end(JSON.stringify({ items, offset, limit: 2, hasMore: offset < 4 }))
  })
  const env = { SUS_SOURCE_SICONFI: url }
  lacking = true
  const failed = await fetchInto(into, env, { areas: ['financing'] })
  t.ok(failed.files.every(({ status }) => status === 'failed'))
  t.same(readdirSync(folder), [], 'pages before one that lacks have no name')
  lacking = false
  editionFrom = 3
  requests.length = 0
  const part = join(folder, '.rreo-2025-6-anexo02-14.2.part')
  writeFileSync(part, '{')
  const report = await fetchInto(into, env, { areas: ['financing'] })
  t.notOk(existsSync(part), 'the part of a killed run is removed')
  t.equal(report.files.filter(({ status }) => status === 'fetched').length, 6)
  t.equal(report.by_hand.length, 2)
  const names = readdirSync(folder).filter((name) => name !== 'acquisition.json')
  t.equal(names.length, 6)
  for (const annex of ['02', '14']) {
    const editions = names
      .filter((name) => name.includes(`anexo${annex}`))
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).items[0].cod_conta.split(' ')[0])
    t.equal(new Set(editions).size, 1, 'pages of one edition')
  }
  t.same(visible, [], 'parts are hidden')
  requests.length = 0
  t.ok(
    (await fetchInto(into, env, { areas: ['financing'] })).files.every(({ status }) => status === 'present'),
  )
  t.same(requests, [], 'answers of today are not fetched again')
  const facts = join(folder, 'acquisition.json')
  writeFileSync(
    facts,
    readFileSync(facts, 'utf8').replaceAll(/"retrieved_at": "\d{4}/g, '"retrieved_at": "2099'),
  )
  await fetchInto(into, env, { areas: ['financing'] })
  t.ok(requests.length > 0, 'a time in the future is not trusted')
})

t.test('a server without an answer is given up, and named', async (t) => {
  const url = await startHttp(t, () => undefined)
  const report = await fetchInto(temporaryFolder('http'), { SUS_SOURCE_DATASUS: url })
  t.equal(report.files.length, 0)
  t.equal(report.failures.length, 4)
  t.match(report.failures[0], /no byte for/)
})

t.test('a publisher that is not reached in all attempts is not tried again for each file', async (t) => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const env = { SUS_SOURCE_DATASUS: `ftp://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const report = await fetchInto(temporaryFolder('http'), env)
  t.equal(connections, 3, 'as many as SUS_FETCH_ATTEMPTS, for four folders')
  t.equal(report.failures.length, 4)
  for (const failure of report.failures) t.match(failure, /no connection to 127\.0\.0\.1/)
  const controller = new AbortController()
  const ended = fetchInto(
    temporaryFolder('http'),
    { ...env, SUS_FETCH_PAUSE_MS: '60000' },
    { signal: controller.signal },
  )
  setTimeout(() => controller.abort(new Error('ended by the operator')), 300)
  await t.rejects(ended, { message: 'ended by the operator' }, 'also in the pause between two attempts')
})
