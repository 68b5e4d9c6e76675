/** The promotion check of states and months: what a new release may lack of the release in service, and what it must have. */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
interface Expectation {
  readonly name: string
  readonly met: boolean
  readonly detail: string
}

/** Imports two sets of files, and promotes the second while the first is in service. @returns the promotion checks */
async function promoteAfter(before: readonly string[], after: readonly string[]): Promise<Expectation[]> {
  const releasesDir = join(temporaryFolder('promotion'), 'releases')
  const options = { releasesDir, maxRejected: 0.001 }
  writePointer(releasesDir, (await importPaths(before, options)).analytics)
  const { analytics } = await importPaths(after, options)
  const { stdout } = spawnSync(process.execPath, [bin, 'promote', analytics, '--json'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir },
  })
  return JSON.parse(stdout).expectations
}
const failed = (expectations: readonly Expectation[]): string[] =>
  expectations.filter(({ met }) => !met).map(({ name }) => name)
const coverage = (expectations: readonly Expectation[]): Expectation | undefined =>
  expectations.find(({ name }) => name === 'states and months')

t.test('states and months of files by state, and of national bases', secondRing, async (t) => {
  const { snapshots } = await makeSmallRelease('gaps')
  const ibge = join(snapshots, 'ibge')
  const month = (period: string): string => join(snapshots, 'cnes', period)
  const files = readdirSync(join(snapshots, 'cnes'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(dbc|dbf|zip)$/i.test(name))
    .map((name) => join(snapshots, 'cnes', name))
  const ofAmapaInApril = (path: string): boolean => /(ST|LT)AP2604\./i.test(path)
  t.equal(files.filter(ofAmapaInApril).length, 2)
  const lost = await promoteAfter([ibge, ...files], [ibge, ...files.filter((path) => !ofAmapaInApril(path))])
  t.same(failed(lost), ['states and months'], 'no other check sees it')
  t.match(coverage(lost)?.detail, /facilities 2026-04: AP/)
  t.match(coverage(lost)?.detail, /bed_capacity 2026-04: AP/)

  const base = await promoteAfter([ibge, month('2025-12')], [ibge, month('2026-02')])
  t.match(coverage(base), { met: true }, 'a base replaces the files by state of the months before')
  const states = await promoteAfter([ibge, month('2026-02')], [ibge, month('2026-04')])
  t.match(coverage(states), { met: false, detail: /facilities 2026-02: all states/ })
})

t.test('a year of transfers may end with another month', secondRing, async (t) => {
  const { snapshots } = await makeSmallRelease('financing')
  const rest = ['ibge', 'cnes'].map((name) => join(snapshots, name))
  const march = join(snapshots, 'financing/fns')
  const february = join(temporaryFolder('promotion'), 'fns')
  cpSync(march, february, { recursive: true })
  const [name = ''] = readdirSync(march).filter((file) => file.includes('marco'))
  renameSync(join(february, name), join(february, name.replace('marco', 'fevereiro')))
  const later = await promoteAfter([...rest, february], [...rest, march])
  t.match(coverage(later), { met: true })
  const years = readdirSync(february).filter((file) => !file.includes('2026'))
  t.ok(years.length > 0)
  const lost = await promoteAfter(
    [...rest, february],
    [...rest, ...years.map((file) => join(february, file))],
  )
  t.match(coverage(lost), { met: false, detail: /federal_health_transfers 2026-02: AC, AP, RR/ })
})
