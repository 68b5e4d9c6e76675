/**
 * The publisher as it stood on 2026-08-18: the plan over its 207,251 files compared with a count made here by plain means, and the
 * real files fetched over FTP, imported, promoted and served, compared with the same files placed by hand.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { FetchReport } from '../../src/acquire/fetch.ts'
import { ALL_STATES } from '../../src/acquire/plan.ts'
import type { FetchArea } from '../../src/acquire/types.ts'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { openClient } from '../fixtures/client.ts'
import { startFtpServer } from '../fixtures/ftp-server.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { fetchInto } from '../fixtures/snapshots.ts'
import { startVsftpd, withoutVsftpd } from '../fixtures/vsftpd.ts'

const CNES = '/dissemin/publicos/CNES/200508_/Dados'
const SIH = '/dissemin/publicos/SIHSUS/200801_/Dados'
const SIA = '/dissemin/publicos/SIASUS/199407_200712/Dados'

/** @returns size by path of every file that DATASUS had */
function readTree(): Map<string, number> {
  const text = gunzipSync(readFileSync(sharedPath('ftp/tree-20260818-207251-files.csv.gz'))).toString(
    'latin1',
  )
  return new Map(
    text
      .trimEnd()
      .split(/\r?\n/)
      .slice(1)
      .map((line) => [line.slice(0, line.lastIndexOf(';')), Number(line.slice(line.lastIndexOf(';') + 1))]),
  )
}

/** @returns a folder in place of the server of SIGTAP, without any edition, because none is given as published */
function sigtapWithoutEditions(): string {
  const folder = temporaryFolder('sigtap')
  const downloads = join(folder, 'public/sistemas/tup/downloads')
  mkdirSync(downloads, { recursive: true })
  writeFileSync(join(downloads, 'readme.txt'), 'x')
  return `file://${folder}`
}

interface Counted {
  files: number
  bytes: number
  readonly parts: Map<string, Set<string>>
}

/** Counts files of a family by their paths. `parts` has the letters by month and state. */
function count(tree: ReadonlyMap<string, number>, path: RegExp, first: number): Counted {
  const states = new Set(ALL_STATES.map(({ uf }) => uf))
  const counted: Counted = { files: 0, bytes: 0, parts: new Map() }
  for (const [name, size] of tree) {
    const [, uf = '', year = '', month = '', part = ''] = path.exec(name) ?? []
    if (!states.has(uf.toUpperCase() as never)) continue
    const period = (Number(year) > 90 ? 190000 : 200000) + Number(year) * 100 + Number(month)
    if (period < first) continue
    counted.files += 1
    counted.bytes += size
    const key = `${period} ${uf.toUpperCase()}`
    counted.parts.set(key, (counted.parts.get(key) ?? new Set()).add(part.toLowerCase()))
  }
  return counted
}

const isWhole = (parts: Set<string> | undefined): boolean =>
  ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef'].includes([...(parts ?? ['?'])].sort().join(''))

/** Area, source, paths at the publisher, and first month. */
const FAMILIES: readonly (readonly [FetchArea, string, RegExp, number])[] = [
  ...(['ST', 'LT', 'EQ', 'SR'] as const).map(
    (group) =>
      [
        'cnes',
        `cnes-${group.toLowerCase()}`,
        new RegExp(`^${CNES}/${group}/${group}(..)(\\d\\d)(\\d\\d)\\.dbc$`, 'i'),
        group === 'LT' ? 200510 : 200508,
      ] as const,
  ),
  [
    'sih',
    'sih-rd',
    /^\/dissemin\/publicos\/SIHSUS\/(?:199201_200712|200801_)\/Dados\/RD(..)(\d\d)(\d\d)\.dbc$/i,
    199407,
  ],
  [
    'sia',
    'sia-pa',
    /^\/dissemin\/publicos\/SIASUS\/(?:199407_200712|200801_)\/Dados\/PA(..)(\d\d)(\d\d)([a-z]?)\.dbc$/i,
    199407,
  ],
]

t.test('the plan over everything that the publisher has', { skip: skipWithoutShared }, async (t) => {
  const tree = readTree()
  t.equal(tree.size, 207_251)
  const server = await startFtpServer()
  t.teardown(() => server.close())
  for (const [path, bytes] of tree) server.files.set(path, { content: bytes, time: '08-18-26  09:30AM' })
  const into = temporaryFolder('plan')
  const counts: Record<string, readonly [number, number, number]> = {}
  for (const area of ['cnes', 'sih', 'sia'] as const) {
    const report = await fetchInto(
      into,
      {
        SUS_SOURCE_DATASUS: server.url,
        SUS_SOURCE_SIGTAP: sigtapWithoutEditions(),
        SUS_FETCH_IDLE_MS: '20000',
      },
      { areas: [area], states: ALL_STATES, from: 199407, isDry: true, now: 202608 },
    )
    t.same(report.failures, [])
    const families = FAMILIES.filter(([name]) => name === area)
    const counted = families.map(([, , path, first]) => count(tree, path, first))
    const newest = Math.max(
      ...counted.flatMap(({ parts }) => [...parts.keys()].map((key) => Number(key.slice(0, 6)))),
    )
    t.equal(report.newest[area], newest)
    for (const [index, [, source, , first]] of families.entries()) {
      const { files, bytes, parts } = counted[index] as Counted
      const planned = report.files.filter((file) => file.source === source)
      t.ok(files > 5000, source)
      t.equal(planned.length, files, `${source}: files`)
      t.equal(sumOf(planned), bytes, `${source}: bytes`)
      const missing: string[] = []
      for (let month = first; month <= newest; month += month % 100 === 12 ? 89 : 1)
        for (const { uf } of ALL_STATES)
          if (!isWhole(parts.get(`${month} ${uf}`))) missing.push(`${month} ${uf}`)
      const gaps = report.missing.filter((gap) => gap.source === source)
      t.same(gaps.map(({ period, uf }) => `${period} ${uf}`).sort(), missing.sort(), `${source}: missing`)
      counts[source] = [files, bytes, missing.length]
    }
  }
  t.comment(`files, bytes, missing: ${JSON.stringify(counts)}`)
  t.equal(server.retrievals.length, 0)
})

const sumOf = (files: FetchReport['files']): number => files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)

/** Real files under the paths that they have at the publisher. */
const REAL: readonly (readonly [string, string])[] = [
  [`${CNES}/ST/STAP0510.dbc`, 'cnes/dbc/STAP0510.dbc'],
  [`${CNES}/SR/SRAP0508.dbc`, 'cnes/dbc/SRAP0508.dbc'],
  [`${CNES}/EQ/EQRR0509.dbc`, 'cnes/dbc/EQRR0509.dbc'],
  [`${CNES}/LT/LTRR0610.dbc`, 'cnes/dbc/LTRR0610.dbc'],
  [`${SIH}/RDRR0801.dbc`, 'sih/RDRR0801.dbc'],
  [`${SIA}/PAAP0607.dbc`, 'sia/PAAP0607.dbc'],
  // The publisher writes the names of older files in capitals.
  [`${SIA}/PARR9703.DBC`, 'sia/parr9703.dbc'],
]

t.test('real files: fetched, imported, promoted and served', { skip: skipWithoutShared }, async (t) => {
  const server = await startFtpServer()
  t.teardown(() => server.close())
  for (const [path, file] of REAL)
    server.files.set(path, { content: readFileSync(sharedPath(file)), time: '08-18-26  09:30AM' })
  // Folders of the publisher are never empty, but these have no other file that is wanted here.
  for (const folder of ['SIHSUS/199201_200712', 'SIASUS/200801_'])
    server.files.set(`/dissemin/publicos/${folder}/Dados/readme.txt`, {
      content: 1,
      time: '08-18-26  09:30AM',
    })
  const fetchedDir = temporaryFolder('releases')
  const fetched = await importPaths([...(await fetchReal(t, server.url)), sharedPath('ibge')], {
    releasesDir: fetchedDir,
    maxRejected: 0.001,
  })

  const placed = join(temporaryFolder('placed'), 'files')
  mkdirSync(placed)
  for (const [path, file] of REAL) copyFileSync(sharedPath(file), join(placed, basename(path)))
  const releasesDir = temporaryFolder('placed')
  const byHand = await importPaths([placed, sharedPath('ibge')], { releasesDir, maxRejected: 0.001 })
  for (const area of ['cnes', 'sih', 'sia', 'demography', 'analytics'] as const)
    t.equal(fetched[area], byHand[area], area)

  await promoteRelease(fetchedDir, fetched.analytics)
  const client = await openClient(fetchedDir)
  t.teardown(() => client.close())
  const total = async (metric: string, state: string): Promise<unknown> =>
    (
      await client.query({
        metrics: [metric],
        filters: [{ dimension: 'state', operator: 'EQ', value: state }],
      })
    ).body.data?.[0]?.metrics[metric]
  t.equal(await total('facilities_count', 'AP'), 264)
  const facts = JSON.parse(readFileSync(sharedPath('facts-sih-sia-financing.json'), 'utf8'))
  t.equal(await total('admissions', 'RR'), facts.sih_rd.RDRR0801.by_ident['1'].n)
  t.equal(await total('outpatient_quantity_approved', 'AP'), facts.sia_pa_before_2008.PAAP0607.qtdapr)

  await t.test('from vsftpd', { skip: withoutVsftpd }, async (t) => {
    const contents = new Map(
      [...server.files].map(([path, { content }]) => [
        path,
        Buffer.from(content === 1 ? 'x' : (content as Buffer)),
      ]),
    )
    const other = await startVsftpd(contents)
    t.teardown(other.close)
    t.equal((await fetchReal(t, other.url)).length, REAL.length, 'the same files, so the same releases')
  })
})

/** Fetches all of `REAL` and compares the bytes. @returns paths to import */
async function fetchReal(t: Test, url: string): Promise<readonly string[]> {
  const into = temporaryFolder('fetched')
  const report = await fetchInto(
    into,
    { SUS_SOURCE_DATASUS: url, SUS_SOURCE_SIGTAP: sigtapWithoutEditions(), SUS_FETCH_IDLE_MS: '5000' },
    { areas: ['cnes', 'sih', 'sia'], states: ALL_STATES, from: 199407 },
  )
  t.same(report.failures, [])
  t.same(
    report.files.map(({ path, status }) => [path, status]).sort(),
    REAL.map(([path]) => [join('datasus', path), 'fetched']).sort(),
  )
  for (const [path, file] of REAL)
    t.ok(readFileSync(join(into, 'datasus', path)).equals(readFileSync(sharedPath(file))), path)
  return report.paths
}
