/**
 * Makes a release's tables in Trino, drops them, and compares what Trino reads with the manifests. In: manifests and a client.
 * Out: what was done, and what differs. Doing it twice changes nothing.
 */
import type { Manifest } from '../../release/manifest.ts'
import type { TrinoClient } from './client.ts'
import { registeredTables } from './engine.ts'
import { createStatements, dropStatement, filesStatement, schemaOf, tablesOf } from './tables.ts'

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

const rowsOf = async (client: TrinoClient, statement: string): Promise<(readonly unknown[])[]> => {
  const rows: (readonly unknown[])[] = []
  for await (const page of client.query(statement)) rows.push(...page)
  return rows
}

/** @param manifests a release's and those of what it joins @returns how many tables there are @throws as the client does */
export async function registerReleases(
  manifests: readonly Manifest[],
  { client, catalog, location }: TrinoPlace,
): Promise<number> {
  const tasks: (() => Promise<void>)[] = []
  for (const manifest of manifests) {
    const { schema, tables } = createStatements(manifest, catalog, location)
    await rowsOf(client, schema)
    for (const { create, synchronise } of tables)
      tasks.push(async () => {
        await rowsOf(client, create)
        if (synchronise !== null) await rowsOf(client, synchronise)
      })
  }
  await runAll(tasks)
  return tasks.length
}

/** @returns whether there was anything to drop */
export async function unregisterRelease(
  releaseId: string,
  { client, catalog }: Pick<TrinoPlace, 'client' | 'catalog'>,
): Promise<boolean> {
  const known = (await registeredTables(client, catalog)).has(schemaOf(releaseId))
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
  if (tablesOf(manifest).length === 0) return problems
  if (!(await registeredTables(client, catalog)).has(schemaOf(manifest.release_id)))
    return ['is not registered']
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
