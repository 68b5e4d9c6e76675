/**
 * The data that is measured on: demonstration releases in a cache folder, made once and used again.
 *
 * In: a folder, scale and months. Out: where releases and published files stand, and DuckDB over the Parquet files, with
 * which the seeded keys of the scenarios are chosen. A world is built beside its place and put there when it is whole.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { createViewStatements } from '../../src/engine/duckdb/views.ts'
import { CATALOG_VERSION } from '../../src/model/metrics.ts'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { runTool } from './children.ts'

export interface World {
  readonly scale: 'small' | 'national'
  readonly folder: string
  readonly releasesDir: string
  /** The publishers' files. */
  readonly dataDir: string
  /** Analytics release in service. */
  readonly release: string
}

/** @param say told when something slow begins */
export async function makeWorld(
  work: string,
  scale: World['scale'],
  periods: number,
  say: (text: string) => void,
): Promise<World> {
  const name = `${scale}-${periods}-${CATALOG_VERSION}`
  const folder = join(work, name)
  const note = join(folder, 'world.json')
  if (!existsSync(note)) {
    say(`makes the ${scale} demonstration of ${periods} month${periods === 1 ? '' : 's'} (once)`)
    const draft = `${folder}.part`
    rmSync(draft, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(draft, { recursive: true })
    const data = join(draft, 'data')
    const releases = join(draft, 'releases')
    await runTool(['demo', '--scale', scale, '--periods', String(periods), '--out', data, '--json'])
    const imported = await runTool(['import', data, '--releases', releases, '--json'])
    const { analytics } = JSON.parse(imported) as { analytics: string }
    await runTool(['promote', analytics], { SUS_RELEASES_DIR: releases })
    writeFileSync(join(draft, 'world.json'), JSON.stringify({ release: analytics }))
    renameSync(draft, folder)
  }
  const { release } = JSON.parse(readFileSync(note, 'utf8')) as { release: string }
  return { scale, folder, releasesDir: join(folder, 'releases'), dataDir: join(folder, 'data'), release }
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

export async function openDirect(world: World): Promise<Direct> {
  const store = await openStore({ releasesDir: world.releasesDir })
  const view = store.current()
  store.close()
  if (view === null)
    throw new Error(`${world.folder}: no release that verifies; remove the folder and run again`)
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: '1GiB' })
  const connection = await instance.connect()
  for (const { sql } of createViewStatements('release', view, world.releasesDir)) await connection.run(sql)
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
