/** Reports: the same bytes every time, headers that say what they are, and a verification that sees every change. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type CellObject, read, utils } from '@e965/xlsx'
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import t from 'tap'
import { createSigningKey, isSignedBy } from '../../src/keys/signing.ts'
import { REPORT_FORMAT_NAMES, REPORT_FORMATS, type ReportFormat } from '../../src/report/formats.ts'
import { ReportUnreadable } from '../../src/report/reading/unreadable.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const run = promisify(execFile)
const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const maker = fileURLToPath(new URL('../../dist/test/fixtures/make-report.js', import.meta.url))
const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const folder = temporaryFolder('reports')
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k', 'facilities_count'],
  group_by: ['municipality'],
  order_by: [{ field: 'bed_capacity_existing', direction: 'desc' }],
  title: 'Leitos por município',
}
/** Few rows, for what does not depend on how many there are. */
const FEW = { ...QUERY, filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP'] }] }
const make = (format: string, body: unknown = QUERY, headers: Record<string, string> = {}) =>
  client.post(`/v1/analytics/export?format=${format}`, body, headers)
/** Writes a report's bytes to a file of their own. */
function save(name: string, bytes: Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}
interface Verdict {
  readonly code: number
  readonly stderr: string
  readonly verdict?: string
  readonly differences?: readonly string[]
  readonly signed_by?: string | null
}
/** The command, in a process of its own and without a server. */
async function runCommand(file: string): Promise<Verdict> {
  const args = [bin, 'verify-report', file, '--releases', small.releasesDir, '--json']
  const { stdout, stderr, code } = await run(process.execPath, args).then(
    (done) => ({ ...done, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  )
  return { code, stderr, ...(stdout === '' ? {} : JSON.parse(stdout)) }
}
/** What the command does, in this process: it starts many times faster. */
async function verify(
  file: string,
  releasesDir = small.releasesDir,
  key: string | null = null,
): Promise<Verdict> {
  try {
    const verdict = await verifyReport(file, releasesDir, key, readSettings({}))
    return { code: verdict.verdict === 'differs' ? 1 : 0, stderr: '', ...verdict }
  } catch (error) {
    if (!(error instanceof ReportUnreadable)) throw error
    return { code: 1, stderr: error.message }
  }
}

/** Two other processes, each in a time zone of its own and with other threads: files of every format. */
const elsewhere = Promise.all(
  [
    ['America/Noronha', '1'],
    ['Asia/Kathmandu', '2'],
  ].map(async ([zone = '', threads = ''], index) => {
    const files = join(folder, `again-${index}`)
    await run(process.execPath, [maker, small.releasesDir, files, threads, JSON.stringify(QUERY)], {
      env: { ...process.env, TZ: zone, LANG: 'pt_BR.UTF-8' },
    })
    return files
  }),
)

for (const format of cases<readonly ReportFormat[]>(REPORT_FORMAT_NAMES, ['xlsx', 'csv']))
  t.test(
    `${format}: the same bytes in other processes, time zones, with other threads`,
    format === 'csv' ? {} : secondRing,
    async (t) => {
      const first = await make(format)
      t.equal(first.status, 200, first.text.slice(0, 200))
      const digest = sha256(first.bytes)
      t.equal(first.headers['x-artifact-sha256'], digest)
      t.match(first.headers['x-report-fingerprint'], /^[0-9a-f]{64}$/)
      t.equal(first.headers['x-analytics-release-id'], small.result.analytics)
      t.equal(first.headers['content-type'], REPORT_FORMATS[format].contentType)
      t.match(
        first.headers['content-disposition'],
        new RegExp(
          `^attachment; filename="sus-data-2026-05-[0-9a-f]{12}\\.${REPORT_FORMATS[format].extension}"$`,
        ),
      )
      const answer = (await client.query({ ...QUERY, title: undefined, limit: 1 })).body
      t.equal(first.headers['x-report-fingerprint'], answer.meta.fingerprint, 'the fingerprint of the query')
      t.equal(first.headers['x-report-row-count'], String(answer.pagination.total_rows))
      const digests = (await elsewhere).map((files) => sha256(readFileSync(`${files}.${format}`)))
      t.same(digests, [digest, digest])
      t.equal(sha256((await make(format)).bytes), digest, 'and again, later')
      const { code, verdict } = await runCommand(save(`report.${format}`, first.bytes))
      t.equal(verdict, 'reproduced')
      t.equal(code, 0)
      const away = await verify(join(folder, `report.${format}`), join(folder, 'nowhere'))
      t.equal(away.verdict, 'whole, not replayed')
      t.equal(away.code, 0)
    },
  )

t.test('both paths of the workbook, links and fields of the body give one artifact', async (t) => {
  const digest = (await make('xlsx', FEW)).headers['x-artifact-sha256']
  for (const path of ['exports/xlsx', 'export/xlsx']) {
    const answer = await client.post(`/v1/analytics/${path}`, FEW)
    t.equal(answer.headers['x-artifact-sha256'], digest)
  }
  const link = await client.get(
    `/v1/analytics/export?format=xlsx&q=${encodeURIComponent(JSON.stringify(FEW))}`,
  )
  t.equal(link.headers['x-artifact-sha256'], digest)
  t.match(link.headers.etag, /^"/)
  t.equal(
    (await client.post('/v1/analytics/export', { ...FEW, format: 'xlsx' })).headers['x-artifact-sha256'],
    digest,
  )
  const english = await make('xlsx', FEW, { 'accept-language': 'en' })
  t.not(english.headers['x-artifact-sha256'], digest, 'English labels are other bytes')
  t.equal(english.headers['x-report-fingerprint'], (await make('xlsx', FEW)).headers['x-report-fingerprint'])
})

t.test('the workbook', async (t) => {
  const { bytes } = await make('xlsx')
  const book = read(bytes, { type: 'buffer', dense: true, cellNF: true, cellFormula: true })
  t.same(book.SheetNames, ['Dados', 'Dicionário', 'Manifesto'])
  const rows = (book.Sheets.Dados?.['!data'] ?? []) as (CellObject | undefined)[][]
  const [header = [], first = []] = rows
  t.same(
    header.map((cell) => cell?.v),
    ['municipality_code', 'municipality_name', 'municipality_uf', ...QUERY.metrics.toSorted()],
  )
  t.equal(first[0]?.t, 's', 'codes are text')
  t.equal(first[3]?.t, 'n')
  t.equal(first[4]?.z, '0.00')
  t.equal(book.Sheets.Dados?.['!autofilter']?.ref, `A1:F${rows.length}`)
  const sheet = strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml'] ?? new Uint8Array())
  t.match(sheet, /state="frozen"/)
  for (const name of book.SheetNames)
    for (const row of (book.Sheets[name]?.['!data'] ?? []) as (CellObject | undefined)[][])
      for (const cell of row ?? []) if (cell?.f !== undefined) t.fail('a formula')
  const manifest = Object.fromEntries(
    utils.sheet_to_json<string[]>(book.Sheets.Manifesto ?? {}, { header: 1 }).slice(1) as [string, string][],
  )
  t.equal(manifest.title, QUERY.title)
  t.equal(manifest.release_id, small.result.analytics)
  t.equal(manifest.row_count, String(rows.length - 1))
  t.same(JSON.parse(manifest.query ?? '').metrics.length, 3)
})

/** A file inside a workbook, changed. */
function patch(bytes: Buffer, part: string, change: (text: string) => string): Buffer {
  const parts = unzipSync(bytes)
  const before = strFromU8(parts[part] ?? new Uint8Array())
  const after = change(before)
  if (before === after) throw new Error('nothing was changed')
  return Buffer.from(zipSync({ ...parts, [part]: strToU8(after) }))
}
const replaceIn =
  (from: string | RegExp, to: string) =>
  (text: string): string =>
    text.replace(from, to)

t.test('texts that look like escapes of a workbook', async (t) => {
  const query = {
    ...FEW,
    metrics: [{ metric: 'bed_capacity_existing', as: 'z_x0042_', label: '_x0042_ rótulo_x005F_x0041_' }],
    groupings: {
      g_x0043_: {
        dimension: 'state',
        groups: [{ code: 'a_x0041_b', name: 'Grupo _x0044__x0045_', members: ['AC', 'RR'] }],
      },
    },
    group_by: ['g_x0043_', 'state'],
    order_by: [],
    totals: [['g_x0043_']],
    title: '_x0041_ título \uffff',
  }
  const { bytes } = await make('xlsx', query)
  const report = save('escapes.xlsx', bytes)
  t.match(await verify(report), { verdict: 'reproduced', differences: [] })
  t.match(await verify(report, join(folder, 'nowhere')), { verdict: 'whole, not replayed', differences: [] })
  const { Dados = {}, Dicionário = {}, Manifesto = {} } = read(bytes, { type: 'buffer' }).Sheets
  const [header = [], first = []] = utils.sheet_to_json<string[]>(Dados, { header: 1 })
  t.same(header.slice(1, 3), ['g_x0043__code', 'g_x0043__name'])
  t.same(first.slice(1, 3), ['a_x0041_b', 'Grupo _x0044__x0045_'])
  const columns = utils.sheet_to_json<string[]>(Dicionário, { header: 1 })
  t.equal(columns.find(([name]) => name === 'z_x0042_')?.[1], query.metrics[0]?.label)
  const fields = new Map(utils.sheet_to_json<[string, string]>(Manifesto, { header: 1 }))
  t.equal(fields.get('title'), query.title)
  t.same(JSON.parse(fields.get('query') ?? '').groupings.g_x0043_.groups, query.groupings.g_x0043_.groups)
  const former = patch(bytes, 'xl/sharedStrings.xml', (text) =>
    text.replaceAll('_x005F_x0041_ t', '_x0041_ t'),
  )
  t.match(await verify(save('former.xlsx', former)), {
    code: 1,
    stderr: /not escaped.* make the report again/,
  })
})

t.test('one change anywhere is seen', secondRing, async (t) => {
  const { bytes, headers } = await make('xlsx', FEW)
  const data = 'xl/worksheets/sheet1.xml'
  const shared = 'xl/sharedStrings.xml'
  const CASES: [name: string, changed: Buffer, says: RegExp][] = [
    ['a digit', patch(bytes, data, replaceIn(/(<c r="D9"[^>]*><v>)(\d)/, '$11$2')), /^Dados!D9 /],
    ['a name', patch(bytes, data, replaceIn('Boa Vista', 'Boa Visto')), /Boa Visto/],
    ['a header', patch(bytes, data, replaceIn('municipality_uf', 'municipality_of')), /municipality_of/],
    ['a row removed', patch(bytes, data, replaceIn(/<row r="20">.*?<\/row>/, '')), /row|Dados!/],
    ['the title', patch(bytes, shared, replaceIn('Leitos por munic', 'Leitas por munic')), /manifest/],
    [
      'the fingerprint',
      patch(bytes, shared, replaceIn(String(headers['x-report-fingerprint']), 'f'.repeat(64))),
      /digest|fingerprint|sha256|manifest/,
    ],
    [
      'the dictionary',
      patch(bytes, shared, replaceIn('Leitos existentes', 'Leitos existente')),
      /Dicionário|manifest/,
    ],
  ]
  for (const [index, [name, changed, says]] of CASES.entries()) {
    const file = save(`changed-${index}.xlsx`, changed)
    const { code, verdict, differences, stderr } = await verify(file)
    t.equal(code, 1, `${name} ${stderr}`)
    if (index === 0)
      t.match(await runCommand(file), { code, verdict, differences }, 'the command says the same')
    t.match(verdict === undefined ? stderr : differences?.join('\n'), says, name)
  }
  const csv = (await make('csv', FEW)).bytes.toString()
  const changed = csv.replace(
    /\r\n(\d{7},[^\r]*,)(\d+)\r\n/,
    (_, start, count) => `\r\n${start}${Number(count) + 1}\r\n`,
  )
  t.equal((await verify(save('changed.csv', Buffer.from(changed)))).code, 1)
  const json = (await make('json', FEW)).bytes.toString()
  t.equal(
    (
      await verify(
        save('changed.json', Buffer.from(json.replace('"facilities_count":', '"facilities_count":1'))),
      )
    ).code,
    1,
  )
  const parquet = (await make('parquet', FEW)).bytes
  parquet.writeUInt8(parquet.readUInt8(600) ^ 1, 600)
  t.equal((await verify(save('changed.parquet', parquet))).code, 1)
  for (const [name, content] of [
    ['empty', ''],
    ['text', 'a,b\r\n1,2\r\n'],
    ['zip', 'PK'],
  ] as const)
    t.equal((await verify(save(`no-report.${name}`, Buffer.from(content)))).code, 1, name)
  const { code, stderr } = await runCommand(join(folder, 'no-report.text'))
  t.equal(code, 1)
  t.match(stderr, /^sus-data: is neither a workbook nor/)
})

t.test('a release that was changed is named', async (t) => {
  const file = save('released.xlsx', (await make('xlsx', FEW)).bytes)
  const copy = join(folder, 'releases')
  cpSync(small.releasesDir, copy, { recursive: true })
  const part = join(copy, small.result.cnes ?? '', 'bed_capacity/reference_period=202605/part-0.parquet')
  const bytes = readFileSync(part)
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  writeFileSync(part, bytes)
  const { code, differences } = await verify(file, copy)
  t.equal(code, 1)
  t.match(differences?.join('\n'), /bed_capacity\/reference_period=202605\/part-0\.parquet/)
})

t.test('signed reports', async (t) => {
  t.equal((await client.get('/.well-known/sus-data-signing-key')).status, 404)
  t.notOk((await make('json', FEW)).headers['x-report-signature'])
  mkdirSync(join(client.signingKeyFile, '..'), { recursive: true })
  const key = createSigningKey(client.signingKeyFile)
  const { data } = (await client.get('/.well-known/sus-data-signing-key', { authorization: '' })).body
  t.equal(data.public_key, key)
  const formats: ReportFormat[] = ['json', 'xlsx']
  for (const format of formats) {
    const { headers, bytes } = await make(format, FEW)
    t.ok(isSignedBy(key, String(headers['x-report-fingerprint']), String(headers['x-report-signature'])))
    const file = save(`signed.${format}`, bytes)
    const good = await verify(file, small.releasesDir, key)
    t.equal(good.verdict, 'reproduced')
    t.equal(good.signed_by, key)
    const other = await verify(file, small.releasesDir, Buffer.alloc(32, 7).toString('base64'))
    t.equal(other.code, 1)
  }
  const signed = JSON.parse((await make('json', FEW)).bytes.toString())
  const { value } = signed.manifest.signature
  const forged = `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`
  const text = JSON.stringify(signed).replace(value, forged)
  t.match((await verify(save('forged.json', Buffer.from(text)))).differences?.join(), /signature/)
})

t.test('what is refused, before any work', async (t) => {
  const CASES: [url: string, body: unknown, code: string, pointer?: string][] = [
    ['export?format=pdf', QUERY, 'invalid_request'],
    ['export?format=csv', { ...QUERY, format: 'json' }, 'invalid_request', '/format'],
    ['exports/xlsx', { ...QUERY, limit: 5 }, 'invalid_request', '/limit'],
    ['exports/xlsx', { ...QUERY, title: 'x'.repeat(121) }, 'invalid_request', '/title'],
    ['exports/xlsx', { ...QUERY, title: 'a\u0007b' }, 'invalid_request', '/title'],
    ['exports/xlsx', { ...QUERY, metrics: ['beds'] }, 'unknown_metric', '/metrics/0'],
    ['exports/xlsx', [], 'invalid_request'],
  ]
  for (const [url, body, code, pointer] of CASES) {
    const answer = await client.post(`/v1/analytics/${url}`, body)
    t.equal(answer.status, 400, JSON.stringify(body).slice(0, 60))
    t.equal(answer.body.code, code)
    if (pointer !== undefined) t.equal(answer.body.errors[0].pointer, pointer)
  }
  t.equal((await client.get('/v1/analytics/export?q=x')).status, 400)
  t.equal((await client.get('/v1/analytics/export')).status, 400)
  const pinned = { ...QUERY, expected_release_id: small.result.analytics.replace(/.$/, 'g') }
  t.equal((await client.post('/v1/analytics/exports/xlsx', pinned)).status, 409)
})
