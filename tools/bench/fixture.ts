/**
 * Provides the data for measurements: demonstration releases in a cache folder, made once and reused. In: a folder, scale and
 * months. Out: paths of releases and published files, and DuckDB over the Parquet files, from which scenarios choose their
 * seeded keys.
 */
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { createViewStatements } from '../../src/engine/duckdb/views.ts'
import { CATALOG_VERSION } from '../../src/model/metrics.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { ADMISSION_COLUMNS, admissionChunks, admissionRows, admissionTables } from '../demo/admissions.ts'
import { monthBefore } from '../demo/demonstration.ts'
import { planFacilities } from '../demo/facilities.ts'
import { listMunicipalities } from '../demo/geography.ts'
import { type Chance, createChance } from '../demo/random.ts'
import { run, runTool } from './children.ts'

/** Increase it when `import` gives other results for the same files, so that older fixtures are not reused. */
const FIXTURE_VERSION = 5

export interface Fixture {
  readonly scale: 'small' | 'national'
  readonly folder: string
  readonly releasesDir: string
  /** Files in the publishers' formats. */
  readonly dataDir: string
  readonly release: string
}

/** Two months of one demonstration as two releases in one folder. */
export interface PairFixture extends Fixture {
  /** Analytics release that is not in service: the month before. */
  readonly other: string
}

/** A month of the registry and a year of admissions in one release. */
export interface AdmissionsFixture extends Fixture {
  /** YYYY-MM, ascending. */
  readonly months: readonly string[]
}

/** Makes a folder once, in a draft that is renamed when complete. @returns the content of its note */
async function makeOnce<Note>(folder: string, build: (draft: string) => Promise<Note>): Promise<Note> {
  const note = join(folder, 'fixture.json')
  if (!existsSync(note)) {
    const draft = `${folder}.part`
    rmSync(draft, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(draft, { recursive: true })
    writeFileSync(join(draft, 'fixture.json'), JSON.stringify(await build(draft)))
    renameSync(draft, folder)
  }
  return JSON.parse(readFileSync(note, 'utf8')) as Note
}

const makeData = (folder: string, scale: Fixture['scale'], periods: number): Promise<string> =>
  // Scenarios measure queries of the registry and the import of its months, so admissions are left out.
  runTool([
    'demo',
    ...['--scale', scale, '--periods', String(periods), '--out', folder],
    '--without-admissions',
    '--json',
  ])

async function importRelease(paths: readonly string[], releases: string): Promise<string> {
  const imported = await runTool(['import', ...paths, '--releases', releases, '--json'])
  return (JSON.parse(imported) as { analytics: string }).analytics
}

const foldersOf = (folder: string): Pick<Fixture, 'folder' | 'releasesDir' | 'dataDir'> => ({
  folder,
  releasesDir: join(folder, 'releases'),
  dataDir: join(folder, 'data'),
})

/** @param say is called when a slow step begins */
export async function makeFixture(
  work: string,
  scale: Fixture['scale'],
  periods: number,
  say: (text: string) => void,
): Promise<Fixture> {
  const folders = foldersOf(join(work, `${scale}-${periods}-${CATALOG_VERSION}-${FIXTURE_VERSION}`))
  const { release } = await makeOnce(folders.folder, async (draft) => {
    say(`makes the ${scale} demonstration of ${periods} month${periods === 1 ? '' : 's'} (once)`)
    const [data, releases] = [join(draft, 'data'), join(draft, 'releases')]
    await makeData(data, scale, periods)
    const release = await importRelease([data], releases)
    await runTool(['promote', release], { SUS_RELEASES_DIR: releases })
    return { release }
  })
  return { scale, ...folders, release }
}

/** @returns two national (or small) months as two releases, the newer in service */
export async function makePair(
  work: string,
  scale: Fixture['scale'],
  say: (text: string) => void,
): Promise<PairFixture> {
  const folders = foldersOf(join(work, `${scale}-pair-${CATALOG_VERSION}-${FIXTURE_VERSION}`))
  const note = await makeOnce(folders.folder, async (draft) => {
    say(`makes two months of the ${scale} demonstration as two releases (once)`)
    const [data, releases] = [join(draft, 'data'), join(draft, 'releases')]
    await makeData(data, scale, 2)
    const ofMonth = (month: string): Promise<string> =>
      importRelease([join(data, 'cnes', month), join(data, 'ibge'), join(data, 'datasus')], releases)
    const other = await ofMonth('2026-04')
    const release = await ofMonth('2026-05')
    await runTool(['promote', release], { SUS_RELEASES_DIR: releases })
    rmSync(data, { recursive: true })
    return { release, other }
  })
  return { scale, ...folders, ...note }
}

/** Procedure and diagnosis codes of a national year, limited to those that many hospitals have. */
const PROCEDURES = Array.from(
  { length: 1396 },
  (_, index) =>
    `${['03', '04', '05'][(index * 7) % 3]}${String(1 + ((index * 11) % 17)).padStart(2, '0')}${String(1 + (index % 9)).padStart(2, '0')}${String(index).padStart(4, '0')}`,
)
const DIAGNOSES = Array.from(
  { length: 2045 },
  (_, index) =>
    `${String.fromCharCode(65 + (index % 26))}${String(Math.floor(index / 26)).padStart(2, '0')}0`,
)

/** @returns rows with codes from these lists instead of the demonstration's ten; low indexes are more frequent */
function* withManyCodes(
  rows: Iterable<Readonly<Record<string, string>>>,
  chance: Chance,
  period: number,
): Generator<Readonly<Record<string, string>>> {
  let number = 0
  for (const row of rows) {
    number += 1
    const [procedure, diagnosis] = [chance(number, period), chance(number, period + 1)]
    yield {
      ...row,
      PROC_REA: PROCEDURES[Math.floor(procedure ** 2.5 * PROCEDURES.length)] ?? '',
      DIAG_PRINC: DIAGNOSES[Math.floor(diagnosis ** 2 * DIAGNOSES.length)] ?? '',
    }
  }
}

/** Adds a year of admissions to the fixture's month, with realistic numbers of procedures and diagnoses. */
export async function makeAdmissions(
  work: string,
  month: Fixture,
  say: (text: string) => void,
): Promise<AdmissionsFixture> {
  const { scale } = month
  const months = Array.from({ length: 12 }, (_, age) => monthBefore(202605, 11 - age))
  const folders = foldersOf(join(work, `${scale}-admissions-${CATALOG_VERSION}-${FIXTURE_VERSION}`))
  const note = await makeOnce(folders.folder, async (draft) => {
    say(`makes a year of admissions of the ${scale} demonstration (once)`)
    const [data, releases] = [join(draft, 'data'), join(draft, 'releases')]
    await linkReleases(month, draft, true)
    const isSmall = scale === 'small'
    const chance = createChance(1)
    const municipalities = listMunicipalities(chance)
    const ufs = isSmall ? new Set(['RR', 'AC', 'AP']) : null
    const plan = planFacilities(municipalities, ufs, isSmall ? 4000 : 623_207, chance)
    // Gives 15.3 million records per year.
    const context = { plan, all: municipalities, chance, rate: isSmall ? 0.0004 : 0.0069 }
    mkdirSync(data)
    for (const [age, period] of months.toReversed().entries())
      for (const { uf } of STATES) {
        const { count, rows } = admissionRows(uf, period, age, context)
        const chunks = admissionChunks(
          ADMISSION_COLUMNS,
          withManyCodes(rows, chance, period),
          count,
          [26, 5, 28],
        )
        const path = join(data, `RD${uf}${String(period).slice(2)}.dbf`)
        if (count > 0) await pipeline(Readable.from(chunks), createWriteStream(path))
      }
    for (const [name, bytes] of admissionTables(202605)) writeFileSync(join(data, name), bytes)
    const release = await importRelease([data], releases)
    await runTool(['promote', release, '--force', 'benchmark'], { SUS_RELEASES_DIR: releases })
    rmSync(data, { recursive: true })
    return { release }
  })
  const named = months.map((period) => `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`)
  return { scale, ...folders, ...note, months: named }
}

/** A year of deaths and births of the whole country, with the population and the lists that their metrics need. */
export async function makeVitalRecords(
  work: string,
  scale: Fixture['scale'],
  say: (text: string) => void,
): Promise<Fixture> {
  const folders = foldersOf(join(work, `${scale}-vital-${CATALOG_VERSION}-${FIXTURE_VERSION}`))
  const { release } = await makeOnce(folders.folder, async (draft) => {
    say(`makes the deaths and births of the ${scale} demonstration (once)`)
    const [data, releases] = [join(draft, 'data'), join(draft, 'releases')]
    await runTool([
      'demo',
      '--scale',
      scale,
      '--vital-records',
      '--without-admissions',
      '--out',
      data,
      '--json',
    ])
    const folders = ['SIM', 'SINASC', 'ibge', 'datasus', 'territory'].map((name) => join(data, name))
    const release = await importRelease(folders, releases)
    // The checks of a promotion want a registry, too.
    await runTool(['promote', release, '--force', 'benchmark'], { SUS_RELEASES_DIR: releases })
    rmSync(data, { recursive: true })
    return { release }
  })
  return { scale, ...folders, release }
}

/**
 * Hard-links the releases into another folder with a separate pointer and log.
 * @param withRows false leaves out files beside the releases, such as row files
 */
export async function linkReleases(fixture: Fixture, folder: string, withRows: boolean): Promise<Fixture> {
  const releasesDir = join(folder, 'releases')
  mkdirSync(releasesDir, { recursive: true })
  for (const entry of readdirSync(fixture.releasesDir, { withFileTypes: true })) {
    const source = join(fixture.releasesDir, entry.name)
    if (entry.isFile()) copyFileSync(source, join(releasesDir, entry.name))
    else if (withRows || !entry.name.startsWith('.')) await run('cp', ['-al', source, releasesDir])
  }
  return { ...fixture, folder, releasesDir }
}

/** DuckDB in this process over a release's files, with the server's views. */
export interface Direct {
  readonly connection: DuckDBConnection
  readonly view: ReleaseView
  rows(statement: string): Promise<Record<string, unknown>[]>
  /** @returns the first column, as strings */
  texts(statement: string): Promise<string[]>
  close(): void
}

/** @param release analytics release to read; the one in service by default */
export async function openDirect(fixture: Fixture, release = fixture.release): Promise<Direct> {
  const store = await openStore({ releasesDir: fixture.releasesDir })
  const view = await store.pin(release)
  store.close()
  if (view === null)
    throw new Error(`${fixture.folder}: no release that verifies; remove the folder and run again`)
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: '1GiB' })
  const connection = await instance.connect()
  for (const { sql } of createViewStatements('release', view, fixture.releasesDir)) await connection.run(sql)
  await connection.run('USE release')
  const rows = async (statement: string): Promise<Record<string, unknown>[]> =>
    (await connection.runAndReadAll(statement)).getRowObjectsJS()
  return {
    connection,
    view,
    rows,
    texts: async (statement) => (await rows(statement)).map((row) => String(Object.values(row)[0])),
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
