/**
 * Makes and removes the row files of a release. Input: the manifest of a component release and the folder of its Parquet files.
 * Output: a folder of row files that is renamed into place when complete, or nothing.
 *
 * Two worker processes build the files, so that a crash or a kill of one harms nothing. When another release has a row file of the
 * same Parquet bytes, a hard link replaces the work: a new month only costs that month.
 */
import { link, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../files.ts'
import { digestFile } from '../release/digest.ts'
import type { Manifest } from '../release/manifest.ts'
import { readManifest } from '../release/verify.ts'
import { cleanReleases, createStaging } from '../release/writer.ts'
import { createJobWorker } from '../workers/entry.ts'
import {
  checkRowFiles,
  datasetPart,
  derivedFolder,
  indexPath,
  indexText,
  otherFormats,
  type RowEntry,
  type RowProblem,
  type RowSource,
  readIndex,
  rowFolder,
  rowSources,
} from './derived.ts'
import type { SectionDigests } from './sections.ts'

export interface RowJob {
  readonly dataset: RowSource['dataset']
  readonly file: string
  readonly rows: number
  readonly out: string
}
export type RowReply = SectionDigests | { readonly error: string }

export interface MadeRows {
  readonly files: number
  /** Files that were linked from another release. */
  readonly linked: number
  readonly bytes: number
  readonly problems: readonly RowProblem[]
}

/** Row files that are complete but not yet in place. */
export interface PreparedRows {
  readonly made: MadeRows
  commit(): Promise<void>
  /** Removes the files unless `commit` moved them. */
  discard(): Promise<void>
}

const WORKERS_MAX = 2
/** Fewest rows for which a second worker is worth its start-up time. */
const ONE_WORKER_ROWS = 100_000

/** A component release, and the folder that holds its files now. */
export interface ReleaseFolder {
  readonly manifest: Manifest
  readonly folder: string
}

/** @param isBackground a server may be running, so workers yield to it @returns prepared row files by release id */
export async function prepareRows(
  releasesDir: string,
  releases: readonly ReleaseFolder[],
  isBackground: boolean,
): Promise<Map<string, PreparedRows>> {
  const existing = await findExistingFiles(releasesDir)
  const prepared = new Map<string, UnfinishedRows>()
  try {
    for (const { manifest } of releases)
      prepared.set(manifest.release_id, {
        staging: await createStaging(releasesDir),
        entries: [],
        problems: [],
        linked: 0,
      })
    const pending = releases.flatMap(({ manifest, folder }) => {
      const release = prepared.get(manifest.release_id)
      return release === undefined
        ? []
        : rowSources(manifest).map((source) => ({ ...source, folder, release }))
    })
    const isSmall = pending.reduce((sum, { file }) => sum + file.rows, 0) < ONE_WORKER_ROWS
    const runWorker = async (): Promise<void> => {
      const worker = createWorker(isBackground)
      for (let source = pending.shift(); source !== undefined; source = pending.shift()) {
        const { dataset, file, path, folder, release } = source
        const out = join(release.staging, path)
        try {
          const linked = await linkExisting(existing.get(`${path} ${file.sha256}`) ?? [], out)
          const job = { dataset, file: join(folder, file.path), rows: file.rows, out }
          const { bytes, sha256, sums_sha256 } = linked ?? (await worker.run(job))
          if (linked !== null) release.linked += 1
          const origin = { source: file.path, source_sha256: file.sha256, rows: file.rows }
          release.entries.push({ path, bytes, sha256, sums_sha256, ...origin })
        } catch (error) {
          await rm(out, { force: true })
          release.problems.push({
            dataset: datasetPart(source),
            reason: (error as Error).message,
          })
        }
      }
      worker.end()
    }
    await Promise.all(Array.from({ length: isSmall ? 1 : WORKERS_MAX }, runWorker))
    const finished = new Map<string, PreparedRows>()
    for (const [id, release] of prepared) finished.set(id, await finishRows(releasesDir, id, release))
    return finished
  } catch (error) {
    for (const { staging } of prepared.values()) await rm(staging, { recursive: true, force: true })
    throw error
  }
}

/** Row files of one release while they are being made. */
interface UnfinishedRows {
  readonly staging: string
  readonly entries: RowEntry[]
  readonly problems: RowProblem[]
  linked: number
}

async function finishRows(
  releasesDir: string,
  id: string,
  { staging, entries, problems, linked }: UnfinishedRows,
): Promise<PreparedRows> {
  entries.sort((left, right) => (left.path < right.path ? -1 : 1))
  await writeFile(indexPath(staging), indexText(id, entries), { flush: true })
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  return {
    made: { files: entries.length, linked, bytes, problems },
    discard: () => rm(staging, { recursive: true, force: true }),
    async commit() {
      const target = rowFolder(releasesDir, id)
      await mkdir(dirname(target), { recursive: true })
      syncPath(staging)
      // The old folder is stale or damaged. Processes that have its files open can still read them.
      const oldFolder = `${staging}.old`
      await rename(target, oldFolder).catch(() => undefined)
      await rename(staging, target)
      syncPath(dirname(target))
      syncPath(derivedFolder(releasesDir))
      await rm(oldFolder, { recursive: true, force: true })
    },
  }
}

/**
 * Makes missing or unusable row files of a release and of its components, and removes those of other formats.
 * @param id any release @param again also rebuilds usable files
 * @returns what was made, by component release; components that were complete are absent
 */
export async function makeRows(
  releasesDir: string,
  id: string,
  { again = false, onStep = (_id: string): void => undefined } = {},
): Promise<Record<string, MadeRows>> {
  await cleanReleases(releasesDir)
  const made: Record<string, MadeRows> = {}
  for (const manifest of await componentsOf(releasesDir, id)) {
    const { release_id } = manifest
    for (const folder of await otherFormats(releasesDir, release_id))
      await rm(folder, { recursive: true, force: true })
    if (!again && (await checkRowFiles(releasesDir, manifest, true)).problems.length === 0) continue
    onStep(release_id)
    const release = { manifest, folder: join(releasesDir, release_id) }
    for (const prepared of (await prepareRows(releasesDir, [release], true)).values()) {
      await prepared.commit()
      made[release_id] = prepared.made
    }
  }
  return made
}

/** Removes the row files of a release and of its components. @returns ids of the releases that had some */
export async function removeRows(releasesDir: string, id: string): Promise<string[]> {
  const removed: string[] = []
  for (const { release_id } of await componentsOf(releasesDir, id)) {
    const folder = dirname(rowFolder(releasesDir, release_id))
    if ((await readdir(folder).catch(() => null)) === null) continue
    await rm(folder, { recursive: true, force: true })
    removed.push(release_id)
  }
  return removed
}

/** @returns the manifests of the releases that hold rows: the component itself, or the components of an analytics release */
export async function componentsOf(releasesDir: string, id: string): Promise<Manifest[]> {
  const manifest = await readManifest(releasesDir, id)
  if (manifest.area !== 'analytics') return [manifest]
  return Promise.all(
    Object.values(manifest.components).map((component) => readManifest(releasesDir, component)),
  )
}

interface ExistingFile {
  readonly file: string
  readonly entry: RowEntry
}

/**
 * Row files of all releases, by name and by SHA-256 of their Parquet. The name includes dataset and month, because rows show the
 * month.
 */
async function findExistingFiles(releasesDir: string): Promise<Map<string, ExistingFile[]>> {
  const existing = new Map<string, ExistingFile[]>()
  for (const id of await readdir(derivedFolder(releasesDir)).catch(() => [])) {
    const entries = await readIndex(releasesDir, id)
    if (typeof entries === 'string') continue
    for (const entry of entries) {
      const key = `${entry.path} ${entry.source_sha256}`
      const file = join(rowFolder(releasesDir, id), entry.path)
      existing.set(key, [...(existing.get(key) ?? []), { file, entry }])
    }
  }
  return existing
}

/** Links the first undamaged candidate; a damaged copy must not spread. */
async function linkExisting(
  candidates: readonly ExistingFile[],
  out: string,
): Promise<SectionDigests | null> {
  for (const { file, entry } of candidates)
    try {
      if ((await digestFile(file)).sha256 !== entry.sha256) continue
      await link(file, out)
      return entry
    } catch {
      // The file disappeared meanwhile, or the file system has no hard links.
    }
  return null
}

interface Worker {
  run(job: RowJob): Promise<SectionDigests>
  end(): void
}

function createWorker(isBackground: boolean): Worker {
  const worker = createJobWorker<RowJob, RowReply>('rows', [String(isBackground)])
  return {
    async run(job) {
      const reply = await worker.run(job).catch((error: Error): never => {
        throw new Error(`making its row file ended with ${error.message}`)
      })
      if ('error' in reply) throw new Error(reply.error)
      return reply
    },
    end: () => worker.end(),
  }
}
