/**
 * Creates and drops a release's tables in Trino, and compares Trino's files with the manifests. Input: manifests and a client.
 * Output: a summary of changes and differences. Every operation is idempotent.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Manifest } from '../../release/manifest.ts'
import { manifestsOf, type ReleaseView } from '../../release/view.ts'
import type { TrinoClient } from './client.ts'
import { TrinoError } from './errors.ts'
import {
  completeStatement,
  createStatements,
  dropStatement,
  filesStatement,
  schemaOf,
  schemasStatement,
  tablesOf,
} from './tables.ts'

export interface TrinoTarget {
  readonly client: TrinoClient
  readonly catalog: string
  /** Releases folder as Trino reaches it: local:///releases, s3://bucket/releases. */
  readonly location: string
}

/** Largest number of concurrent statements; each takes the metastore some tens of milliseconds. */
const CONCURRENCY = 4

/** Runs tasks, and starts none after one has failed. @throws the first error, once the running tasks have ended */
async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const remaining = [...tasks]
  const errors: unknown[] = []
  const runWorker = async (): Promise<void> => {
    for (let task = remaining.shift(); task !== undefined && errors.length === 0; task = remaining.shift())
      await task().catch((error: unknown) => void errors.push(error))
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runWorker))
  if (errors.length > 0) throw errors[0]
}

const fetchRows = async (
  client: TrinoClient,
  statement: string,
  signal?: AbortSignal,
): Promise<(readonly unknown[])[]> => {
  const rows: (readonly unknown[])[] = []
  for await (const page of client.query(statement, signal === undefined ? {} : { signal })) rows.push(...page)
  return rows
}

/** Delays before a table is created again, in milliseconds. */
const RETRY_MS = [100, 300, 1000]

/**
 * Retries work that collides with another process registering the same release. The metastore refuses a table or month that the
 * other process just created, and rolls back the refused statement. The retry finds the table or creates it.
 */
async function retryCollisions(work: () => Promise<unknown>): Promise<void> {
  for (const delay of RETRY_MS)
    try {
      await work()
      return
    } catch (error) {
      if (!(error instanceof TrinoError)) throw error
      // A random delay keeps the two processes from colliding again.
      await wait(delay * (1 + Math.random()))
    }
  await work()
}

/**
 * @param manifests of a release and its components; they may already be registered, or be registered concurrently
 * @returns number of tables @throws like the client
 */
export async function registerReleases(
  manifests: readonly Manifest[],
  { client, catalog, location }: TrinoTarget,
): Promise<number> {
  const tasks: (() => Promise<void>)[] = []
  for (const manifest of manifests) {
    const { schema, tables } = createStatements(manifest, catalog, location)
    await retryCollisions(() => fetchRows(client, schema))
    for (const { create, synchronise } of tables)
      tasks.push(() =>
        retryCollisions(async () => {
          await fetchRows(client, create)
          if (synchronise !== null) await fetchRows(client, synchronise)
        }),
      )
  }
  await runAll(tasks)
  for (const { release_id } of manifests)
    await retryCollisions(() => fetchRows(client, completeStatement(release_id, catalog)))
  return tasks.length
}

/** @returns schemas of the catalog that have tables, and whether each is complete @throws like the client */
export async function registeredSchemas(
  client: TrinoClient,
  catalog: string,
  signal?: AbortSignal,
): Promise<Map<string, boolean>> {
  const rows = await fetchRows(client, schemasStatement(catalog), signal)
  return new Map(rows.map(([schema, isComplete]) => [String(schema), isComplete === true]))
}

/** @returns whether all releases that a release's statements read are completely registered @throws like the client */
export async function isRegistered(
  release: ReleaseView,
  client: TrinoClient,
  catalog: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const schemas = await registeredSchemas(client, catalog, signal)
  return manifestsOf(release).every(({ release_id }) => schemas.get(schemaOf(release_id)) === true)
}

/** @returns whether the release was registered */
export async function unregisterRelease(
  releaseId: string,
  { client, catalog }: Pick<TrinoTarget, 'client' | 'catalog'>,
): Promise<boolean> {
  const wasRegistered = (await registeredSchemas(client, catalog)).has(schemaOf(releaseId))
  if (wasRegistered) await fetchRows(client, dropStatement(releaseId, catalog))
  return wasRegistered
}

/**
 * Compares every file of every table with the manifest: path, bytes and rows.
 * @returns one sentence per table that differs; empty when Trino reads the verified files
 */
export async function checkRegistered(
  manifest: Manifest,
  { client, catalog }: Pick<TrinoTarget, 'client' | 'catalog'>,
): Promise<string[]> {
  const problems: string[] = []
  const isComplete = (await registeredSchemas(client, catalog)).get(schemaOf(manifest.release_id))
  if (isComplete !== true)
    return [isComplete === undefined ? 'is not registered' : 'is not registered to its end']
  const checkTable = async (table: string): Promise<void> => {
    const expected = manifest.files
      // A file without rows does not appear in Trino.
      .filter(({ path, rows }) => path.startsWith(`${table}/`) && rows > 0)
      .map(({ path, bytes, rows }) => `${path} ${bytes} bytes ${rows} rows`)
    try {
      const found = await fetchRows(client, filesStatement(manifest.release_id, catalog, table))
      const shown = new Set(
        found.map(
          ([path, bytes, rows]) =>
            `${afterFolder(String(path), manifest.release_id)} ${bytes} bytes ${rows} rows`,
        ),
      )
      const missing = expected.filter((file) => !shown.has(file))
      const unexpected = [...shown].filter((file) => !expected.includes(file))
      if (missing.length > 0) problems.push(`${table} lacks ${missing[0]}${countMore(missing)}`)
      if (unexpected.length > 0) problems.push(`${table} has ${unexpected[0]}${countMore(unexpected)}`)
    } catch (error) {
      problems.push(`${table} cannot be read: ${reasonOf(error)}`)
    }
  }
  await runAll(tablesOf(manifest).map((table) => () => checkTable(table)))
  return problems.sort()
}

const countMore = (all: readonly string[]): string => (all.length > 1 ? ` and ${all.length - 1} more` : '')
const afterFolder = (path: string, releaseId: string): string =>
  path.slice(path.indexOf(`${releaseId}/`) + releaseId.length + 1)
/** Prefers the engine's message, which our errors carry as their cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? error.cause instanceof Error
      ? error.cause.message
      : error.message
    : String(error)
