/**
 * The data that is measured on: demonstration releases in a cache folder, made once and used again.
 *
 * In: a folder, scale and months. Out: where releases and published files stand, and DuckDB over the Parquet files, with
 * which the seeded keys of the scenarios are chosen. Nothing is measured here.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { createViewStatements } from '../../src/engine/duckdb/views.ts'
import { CATALOG_VERSION } from '../../src/model/metrics.ts'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { run, runTool } from './children.ts'

/** Raised when `import` writes something else for the same files, so that no fixture made before is used again. */
const FIXTURE_VERSION = 2

export interface Fixture {
  readonly scale: 'small' | 'national'
  readonly folder: string
  readonly releasesDir: string
  /** The publishers' files. */
  readonly dataDir: string
  /** Analytics release in service. */
  readonly release: string
}

/** Two months of one demonstration, each a release of its own in one folder. */
export interface PairFixture extends Fixture {
  /** Analytics release that is here and not in service: the month before. */
  readonly other: string
}

/** Makes a folder once: built beside its place and put there when it is whole. @returns what its note says */
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
  // What is measured are the registry's questions, and the import of its months.
  runTool([
    'demo',
    ...['--scale', scale, '--periods', String(periods), '--out', folder],
    '--without-admissions',
    '--json',
  ])

/** @returns the analytics release made of the paths */
async function importRelease(paths: readonly string[], releases: string): Promise<string> {
  const imported = await runTool(['import', ...paths, '--releases', releases, '--json'])
  return (JSON.parse(imported) as { analytics: string }).analytics
}

const foldersOf = (folder: string): Pick<Fixture, 'folder' | 'releasesDir' | 'dataDir'> => ({
  folder,
  releasesDir: join(folder, 'releases'),
  dataDir: join(folder, 'data'),
})

/** @param say is told when something slow begins */
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

/**
 * The same releases in another folder, as hard links, with a pointer and a log of their own.
 * @param withRows false leaves out what stands beside the releases, such as their row stores
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

/** DuckDB in this process over a release's files, with the server's own views. */
export interface Direct {
  readonly connection: DuckDBConnection
  readonly view: ReleaseView
  /** @returns the rows of one statement */
  rows(statement: string): Promise<Record<string, unknown>[]>
  /** @returns the first column of one statement, as text */
  texts(statement: string): Promise<string[]>
  close(): void
}

/** @param release the analytics release that is read; the one in service by default */
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
