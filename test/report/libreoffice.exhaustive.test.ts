/** A workbook opened by LibreOffice: its CSV of Dados is our CSV answer. Needs `soffice` (Debian: libreoffice-calc). */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { read, utils } from '@e965/xlsx'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const hasOffice = spawnSync('soffice', ['--version']).status === 0
const skip = hasOffice ? false : 'soffice is not installed (Debian: apt-get install libreoffice-calc)'

t.test('LibreOffice reads what we answer', { skip }, async (t) => {
  const small = await makeSmallRelease()
  const client = await openClient(small.releasesDir)
  t.teardown(() => client.close())
  const folder = temporaryFolder('office')
  const query = {
    metrics: ['bed_capacity_existing', 'beds_existing_per_100k', 'equipment_sus_share'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP', 'PA'] }],
  }
  const csv = (await client.query({ ...query, limit: 10_000 }, { accept: 'text/csv' })).text
  const { bytes } = await client.post('/v1/analytics/exports/xlsx', query)
  writeFileSync(join(folder, 'report.xlsx'), bytes)
  // Comma, double quote, UTF-8, from the first line: cells as they are shown.
  execFileSync(
    'soffice',
    [
      `-env:UserInstallation=file://${join(folder, 'profile')}`,
      '--headless',
      '--convert-to',
      'csv:Text - txt - csv (StarCalc):44,34,76,1',
      '--outdir',
      folder,
      join(folder, 'report.xlsx'),
    ],
    { stdio: 'ignore' },
  )
  const rowsOf = (text: string): unknown[] =>
    utils.sheet_to_json(read(text, { type: 'string', raw: true }).Sheets.Sheet1 ?? {}, {
      header: 1,
      raw: true,
    })
  const shown = rowsOf(readFileSync(join(folder, 'report.csv'), 'utf8'))
  t.ok(shown.length > 150, `${shown.length} rows`)
  t.same(shown, rowsOf(csv))
})
