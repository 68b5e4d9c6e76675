/** Reports with totals, changes, shares and ranks: every format carries them, verifies, and shows what was changed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { read, utils } from '@e965/xlsx'
import t from 'tap'
import { REPORT_FORMAT_NAMES } from '../../src/report/formats.ts'
import { readReport } from '../../src/report/reading/read.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const folder = temporaryFolder('totals')
const QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k', 'facilities_with_beds'],
  group_by: ['state', 'bed_category'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP'] }],
  totals: [['state'], []],
  change: { to: 'previous' },
  share_of: ['state'],
  order_by: ['-bed_capacity_existing__change'],
  rank: true,
}
const verify = (file: string) => verifyReport(file, small.releasesDir, null, readSettings({}))

const answer = (await client.query(QUERY)).body
const rows = answer.pagination.total_rows
const made = new Map<string, string>()
for (const format of REPORT_FORMAT_NAMES)
  t.test(`${format}: rows, then totals, reproduced`, async (t) => {
    const { status, bytes, headers, text } = await client.post(`/v1/analytics/export?format=${format}`, {
      ...QUERY,
      title: 'Leitos',
    })
    t.equal(status, 200, text.slice(0, 300))
    const file = join(folder, `report.${format}`)
    writeFileSync(file, bytes)
    made.set(format, file)
    t.equal(headers['x-report-fingerprint'], answer.meta.fingerprint)
    t.equal(headers['x-report-row-count'], String(rows + 3 + 1))
    const { verdict, differences } = await verify(file)
    t.equal(verdict, 'reproduced', differences.join('; '))
    const report = await readReport(file)
    t.equal(report.header[0], 'total')
    t.same(
      report.rows.slice(rows).map(([mark]) => mark),
      ['Total: state', 'Total: state', 'Total: state', 'Total'],
    )
    t.ok(report.rows.slice(0, rows).every(([mark]) => mark === null))
    const last = Object.fromEntries(report.header.map((name, index) => [name, report.rows.at(-1)?.[index]]))
    t.match(last, {
      total: 'Total',
      state_code: null,
      bed_category_name: null,
      facilities_with_beds: String(answer.totals[1].data[0].metrics.facilities_with_beds),
      bed_capacity_existing__share: null,
      rank: null,
    })
  })

t.test('the workbook filters the rows, not the totals under them', async (t) => {
  const book = read(readFileSync(made.get('xlsx') ?? ''), { cellStyles: true })
  const sheet = book.Sheets.Dados
  t.equal(utils.decode_range(sheet?.['!autofilter']?.ref ?? 'A1').e.r, rows)
  const grid = utils.sheet_to_json<unknown[]>(sheet ?? {}, { header: 1 })
  t.equal(grid.at(-1)?.[0], 'Total')
})

t.test('a total that was changed shows', async (t) => {
  const csv = readFileSync(made.get('csv') ?? '', 'utf8')
  const total = csv.trimEnd().split('\r\n').at(-1) ?? ''
  const changed = join(folder, 'changed.csv')
  writeFileSync(changed, csv.replace(total, total.replace(/^Total,(.*?)(\d+)/, 'Total,$19$2')))
  const { verdict, differences } = await verify(changed)
  t.equal(verdict, 'differs')
  t.match(differences[0], /^line \d+, .* is "9\d*"; the release says "\d+"$/)
})

t.test('a page as CSV has the totals under it', async (t) => {
  const { text, headers } = await client.query({ ...QUERY, limit: 2 }, { accept: 'text/csv' })
  const lines = text.trimEnd().split('\r\n')
  t.equal(lines.length, 1 + 2 + 4)
  t.match(lines[0], /^total,state_code,state_name,state_ibge_code,bed_category_code/)
  t.match(lines.at(-1), /^Total,,,,,,/)
  t.equal(headers['x-report-fingerprint'], answer.meta.fingerprint)
})

t.test('conditions on values leave rows out of a report, too', async (t) => {
  const having = [{ metric: 'bed_capacity_existing', operator: 'GT', value: 100 }]
  const { bytes } = await client.post('/v1/analytics/exports/xlsx', { ...QUERY, having })
  const file = join(folder, 'having.xlsx')
  writeFileSync(file, bytes)
  t.equal((await verify(file)).verdict, 'reproduced')
  const left = (await client.query({ ...QUERY, having })).body.pagination.total_rows
  t.ok(left < rows)
  t.equal((await readReport(file)).rows.length, left + 4)
})

t.test('a query as a link is the query', async (t) => {
  const q = encodeURIComponent(JSON.stringify(QUERY))
  const link = await client.get(`/v1/analytics/query?q=${q}`)
  t.equal(link.status, 200, link.text.slice(0, 300))
  t.same(link.body, answer)
  const tag = String(link.headers.etag)
  t.match(tag, /^"[^"]+"$/)
  const again = await client.get(`/v1/analytics/query?q=${q}`, { 'if-none-match': tag })
  t.equal(again.status, 304)
  const csv = await client.get(`/v1/analytics/query?q=${q}`, { accept: 'text/csv', 'if-none-match': tag })
  t.equal(csv.status, 200, 'another format is another answer')
  t.match(csv.headers['content-type'], /^text\/csv/)
  const pinned = encodeURIComponent(JSON.stringify({ ...QUERY, expected_release_id: small.result.analytics }))
  const held = await client.get(`/v1/analytics/query?q=${pinned}`)
  t.equal(held.headers['cache-control'], 'private, max-age=31536000, immutable')
  const gone = encodeURIComponent(JSON.stringify({ ...QUERY, expected_release_id: 'gone' }))
  t.equal((await client.get(`/v1/analytics/query?q=${gone}`)).status, 409)
  t.equal((await client.get('/v1/analytics/query?q={')).body.code, 'invalid_request')
  t.equal((await client.get('/v1/analytics/query')).body.code, 'invalid_request')
})
