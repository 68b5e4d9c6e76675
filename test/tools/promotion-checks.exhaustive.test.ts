/** Promotion checks: a month like the last passes, a missing state does not, and a reason overrides and is logged. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { writePointer } from '../../src/release/writer.ts'
import { columnOf, readZip, splitTable } from '../fixtures/raw-base.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const small = await makeSmallRelease(2)
const { releasesDir, snapshots } = small
const older = await importPaths([join(snapshots, 'cnes/2026-04'), join(snapshots, 'ibge')], {
  releasesDir,
  maxRejected: 0.001,
})
writePointer(releasesDir, older.analytics)
const run = (...args: string[]) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir },
  })
  return { stdout, stderr, status }
}

t.test('the next month passes the checks', async (t) => {
  const { status, stdout } = run('promote', small.result.analytics)
  t.equal(status, 0, stdout)
  t.match(stdout, /All promotion checks passed/)
  t.match(stdout, /drift of bed_capacity_existing/)
  t.match(stdout, /passed\s+states and months/)
  t.equal(await readPointer(releasesDir), small.result.analytics)
})

t.test('an older month is not promoted without a reason', async (t) => {
  const { status, stdout } = run('promote', older.analytics)
  t.equal(status, 1)
  t.match(stdout, /FAILED\s+newest month/)
  t.match(stdout, /FAILED\s+states and months +lacks facilities 2026-05: all states;/)
  t.equal(await readPointer(releasesDir), small.result.analytics, 'nothing moved')
  t.equal(run('promote', older.analytics, '--force', '  ').status, 2, 'a reason is words')
})

t.test('a month that lost a state is refused by metric and state; a reason is logged', async (t) => {
  const folder = join(temporaryFolder('promotion'), 'month')
  mkdirSync(folder)
  for (const [name, bytes] of await readZip(join(snapshots, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP'))) {
    const file = join(folder, name)
    if (name !== 'rlEstabComplementar202605.csv') {
      writeFileSync(file, bytes)
      continue
    }
    const table = splitTable(bytes)
    const unit = columnOf(table, 'CO_UNIDADE')
    // Beds of Roraima were cut off.
    const rows = [[...table.columns], ...table.rows.filter((row) => !row[unit]?.startsWith('14'))]
    writeFileSync(
      file,
      Buffer.from(rows.map((row) => `${row.map((cell) => `"${cell}"`).join(';')}\r\n`).join(''), 'latin1'),
    )
  }
  const { status, stdout } = run('import', folder, join(snapshots, 'ibge'))
  t.equal(status, 0, 'it is a release')
  t.match(stdout, /FAILED\s+drift of bed_capacity_existing .*Roraima: \d+ → 0/)
  const cut = /npx sus-data promote (\S+)/.exec(stdout)?.[1] ?? ''
  const refused = run('promote', cut, '--json')
  t.equal(refused.status, 1)
  const report = JSON.parse(refused.stdout)
  t.equal(report.promoted, false)
  t.ok(
    report.expectations.some(
      ({ name, met }: { name: string; met: boolean }) => name === 'drift of equipment_existing' && met,
    ),
  )
  t.equal(await readPointer(releasesDir), small.result.analytics)
  const forced = run('promote', cut, '--force', 'Roraima publishes later this month')
  t.equal(forced.status, 0, forced.stdout)
  t.equal(await readPointer(releasesDir), cut)
  t.match(
    readFileSync(join(releasesDir, 'promotions.log'), 'utf8'),
    /forced: Roraima publishes later this month\n$/,
  )
  t.equal(run('rollback').status, 0)
  t.equal(await readPointer(releasesDir), small.result.analytics, 'and back')
  const pointer = join(releasesDir, 'current.json')
  writeFileSync(pointer, 'nonsense')
  const lost = run('rollback')
  t.equal(lost.status, 2)
  t.match(lost.stderr, `current.json is not JSON; sus-data promote ${small.result.analytics} puts`)
  const unknown = small.result.analytics.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  writeFileSync(pointer, JSON.stringify({ analytics: unknown }))
  t.match(
    run('rollback').stderr,
    `promotions.log does not say which release was in service before ${unknown}`,
  )
})
