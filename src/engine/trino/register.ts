/**
 * Makes a release's tables in Trino, drops them, and compares what Trino reads with the manifests. In: manifests and a client.
 * Out: what was done, and what differs. Doing it twice changes nothing.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Manifest } from '../../release/manifest.ts'
import { manifestsOf, type ReleaseView } from '../../release/view.ts'
import type { TrinoClient } from './client.ts'
import { TrinoError } from './errors.ts'
import {
  createStatements,
  dropStatement,
  filesStatement,
  schemaOf,
  schemasStatement,
  tablesOf,
  wholeStatement,
} from './tables.ts'

export interface TrinoPlace {
  readonly client: TrinoClient
  readonly catalog: string
  /** Where Trino finds the folder of releases: local:///releases, s3://bucket/releases. */
  readonly location: string
}

/** Statements that run at once: each takes the metastore some tens of milliseconds. */
const AT_ONCE = 4

const runAll = async (tasks: readonly (() => Promise<void>)[]): Promise<void> => {
  const left = [...tasks]
  const work = async (): Promise<void> => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) await task()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

const rowsOf = async (
  client: TrinoClient,
  statement: string,
  signal?: AbortSignal,
): Promise<(readonly unknown[])[]> => {
  const rows: (readonly unknown[])[] = []
  for await (const page of client.query(statement, signal === undefined ? {} : { signal })) rows.push(...page)
  return rows
}

/** Waits before a table is made once more. */
const AGAIN_MS = [100, 300, 1000]

/**
 * Two that register a release at once get in each other's way: the metastore refuses a table or a month that the other has
 * just made, and takes back what belonged to the refused statement. Once more, it is found there, or made.
 */
async function insist(work: () => Promise<unknown>): Promise<void> {
  for (const delay of AGAIN_MS)
    try {
      await work()
      return
    } catch (error) {
      if (!(error instanceof TrinoError)) throw error
      // Not at the same time as the other again.
      await wait(delay * (1 + Math.random()))
    }
  await work()
}

/**
 * @param manifests a release's and those of what it joins; it may be registered already, or by another process at this moment
 * @returns how many tables there are @throws as the client does
 */
export async function registerReleases(
  manifests: readonly Manifest[],
  { client, catalog, location }: TrinoPlace,
): Promise<number> {
  const tasks: (() => Promise<void>)[] = []
  for (const manifest of manifests) {
    const { schema, tables } = createStatements(manifest, catalog, location)
    await insist(() => rowsOf(client, schema))
    for (const { create, synchronise } of tables)
      tasks.push(() =>
        insist(async () => {
          await rowsOf(client, create)
          if (synchronise !== null) await rowsOf(client, synchronise)
        }),
      )
  }
  await runAll(tasks)
  for (const { release_id } of manifests)
    await insist(() => rowsOf(client, wholeStatement(release_id, catalog)))
  return tasks.length
}

/** @returns schemas of the catalog that have tables, and whether all of a release is in each; @throws as the client does */
export async function registeredSchemas(
  client: TrinoClient,
  catalog: string,
  signal?: AbortSignal,
): Promise<Map<string, boolean>> {
  const rows = await rowsOf(client, schemasStatement(catalog), signal)
  return new Map(rows.map(([schema, isWhole]) => [String(schema), isWhole === true]))
}

/** @returns whether the releases that a release's statements read are whole in Trino; @throws as the client does */
export async function isRegistered(
  release: ReleaseView,
  client: TrinoClient,
  catalog: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const schemas = await registeredSchemas(client, catalog, signal)
  return manifestsOf(release).every(({ release_id }) => schemas.get(schemaOf(release_id)) === true)
}

/** @returns whether there was anything to drop */
export async function unregisterRelease(
  releaseId: string,
  { client, catalog }: Pick<TrinoPlace, 'client' | 'catalog'>,
): Promise<boolean> {
  const known = (await registeredSchemas(client, catalog)).has(schemaOf(releaseId))
  if (known) await rowsOf(client, dropStatement(releaseId, catalog))
  return known
}

/**
 * Compares every file of every table with the manifest: its path, its bytes and its rows.
 * @returns a sentence for each table that differs; none: Trino reads what was verified
 */
export async function checkRegistered(
  manifest: Manifest,
  { client, catalog }: Pick<TrinoPlace, 'client' | 'catalog'>,
): Promise<string[]> {
  const problems: string[] = []
  const isWhole = (await registeredSchemas(client, catalog)).get(schemaOf(manifest.release_id))
  if (isWhole !== true) return [isWhole === undefined ? 'is not registered' : 'is not registered to its end']
  const checkTable = async (table: string): Promise<void> => {
    const expected = manifest.files
      // A file without rows has none to show.
      .filter(({ path, rows }) => path.startsWith(`${table}/`) && rows > 0)
      .map(({ path, bytes, rows }) => `${path} ${bytes} bytes ${rows} rows`)
    try {
      const found = await rowsOf(client, filesStatement(manifest.release_id, catalog, table))
      const shown = new Set(
        found.map(
          ([path, bytes, rows]) =>
            `${afterFolder(String(path), manifest.release_id)} ${bytes} bytes ${rows} rows`,
        ),
      )
      const lacking = expected.filter((file) => !shown.has(file))
      const others = [...shown].filter((file) => !expected.includes(file))
      if (lacking.length > 0) problems.push(`${table} lacks ${lacking[0]}${more(lacking)}`)
      if (others.length > 0) problems.push(`${table} has ${others[0]}${more(others)}`)
    } catch (error) {
      problems.push(`${table} cannot be read: ${reasonOf(error)}`)
    }
  }
  await runAll(tablesOf(manifest).map((table) => () => checkTable(table)))
  return problems.sort()
}

const more = (all: readonly string[]): string => (all.length > 1 ? ` and ${all.length - 1} more` : '')
const afterFolder = (path: string, releaseId: string): string =>
  path.slice(path.indexOf(`${releaseId}/`) + releaseId.length + 1)
/** Of an error of ours, what the engine said. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? error.cause instanceof Error
      ? error.cause.message
      : error.message
    : String(error)
