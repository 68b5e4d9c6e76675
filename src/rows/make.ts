/**
 * Makes the row files of a release, removes them. In: the manifest of a component release and the folder of its Parquet files. Out: a
 * folder of row files that is renamed into place whole, or nothing.
 *
 * The files are made by worker processes, two at once: one that a Parquet file crashes, or that is killed, harms nothing. A file
 * that another release has already, of the same Parquet bytes, becomes a hard link to it: a new month costs a month.
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

/** One file to make: what a worker is sent. */
export interface RowJob {
  readonly dataset: RowSource['dataset']
  readonly file: string
  readonly rows: number
  readonly out: string
}
/** What it answers. */
export type RowReply = SectionDigests | { readonly error: string }

export interface MadeRows {
  readonly files: number
  /** Those that another release had already. */
  readonly linked: number
  readonly bytes: number
  readonly problems: readonly RowProblem[]
}

/** Row files that are complete but not in their place. */
export interface PreparedRows {
  readonly made: MadeRows
  commit(): Promise<void>
  /** Removes them unless they are in their place. */
  discard(): Promise<void>
}

const AT_ONCE = 2
/** A second worker costs a start: fewer rows are not worth it. */
const ROWS_OF_ONE = 100_000

/** A component release, and the folder its files stand in now. */
export interface ReleaseFolder {
  readonly manifest: Manifest
  readonly folder: string
}

/**
 * @param isBackground a server may run beside: give way to it
 * @returns row files by release
 */
export async function prepareRows(
  releasesDir: string,
  releases: readonly ReleaseFolder[],
  isBackground: boolean,
): Promise<Map<string, PreparedRows>> {
  const known = await knownRowFiles(releasesDir)
  const prepared = new Map<string, RowsInMaking>()
  try {
    for (const { manifest } of releases)
      prepared.set(manifest.release_id, {
        making: await createStaging(releasesDir),
        entries: [],
        problems: [],
        linked: 0,
      })
    const waiting = releases.flatMap(({ manifest, folder }) => {
      const release = prepared.get(manifest.release_id)
      return release === undefined
        ? []
        : rowSources(manifest).map((source) => ({ ...source, folder, release }))
    })
    const isSmall = waiting.reduce((sum, { file }) => sum + file.rows, 0) < ROWS_OF_ONE
    const work = async (): Promise<void> => {
      const worker = createWorker(isBackground)
      for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
        const { dataset, file, path, folder, release } = source
        const out = join(release.making, path)
        try {
          const other = await linkKnown(known.get(`${path} ${file.sha256}`) ?? [], out)
          const job = { dataset, file: join(folder, file.path), rows: file.rows, out }
          const { bytes, sha256, sums_sha256 } = other ?? (await worker.run(job))
          if (other !== null) release.linked += 1
          const made = { source: file.path, source_sha256: file.sha256, rows: file.rows }
          release.entries.push({ path, bytes, sha256, sums_sha256, ...made })
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
    await Promise.all(Array.from({ length: isSmall ? 1 : AT_ONCE }, work))
    const finished = new Map<string, PreparedRows>()
    for (const [id, release] of prepared) finished.set(id, await finishRows(releasesDir, id, release))
    return finished
  } catch (error) {
    for (const { making } of prepared.values()) await rm(making, { recursive: true, force: true })
    throw error
  }
}

/** Row files of one release, while they are made. */
interface RowsInMaking {
  readonly making: string
  readonly entries: RowEntry[]
  readonly problems: RowProblem[]
  linked: number
}

async function finishRows(
  releasesDir: string,
  id: string,
  { making, entries, problems, linked }: RowsInMaking,
): Promise<PreparedRows> {
  entries.sort((left, right) => (left.path < right.path ? -1 : 1))
  await writeFile(indexPath(making), indexText(id, entries), { flush: true })
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  return {
    made: { files: entries.length, linked, bytes, problems },
    discard: () => rm(making, { recursive: true, force: true }),
    async commit() {
      const target = rowFolder(releasesDir, id)
      await mkdir(dirname(target), { recursive: true })
      syncPath(making)
      // What was there is stale or damaged; who has it open reads on.
      const old = `${making}.old`
      await rename(target, old).catch(() => undefined)
      await rename(making, target)
      syncPath(dirname(target))
      syncPath(derivedFolder(releasesDir))
      await rm(old, { recursive: true, force: true })
    },
  }
}

/**
 * Makes the row files of a release and of those it joins, where they are missing or no good; removes those of other formats.
 * @param id any release @param again makes those that are good, too
 * @returns what was made, by component release; those that had all of theirs are not among them
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

/** Removes the row files of a release and of those it joins. @returns ids of those that had some */
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

/** @returns the manifests of the releases that hold rows: a component itself, or those an analytics release joins */
export async function componentsOf(releasesDir: string, id: string): Promise<Manifest[]> {
  const manifest = await readManifest(releasesDir, id)
  if (manifest.area !== 'analytics') return [manifest]
  return Promise.all(
    Object.values(manifest.components).map((component) => readManifest(releasesDir, component)),
  )
}

interface KnownFile {
  readonly file: string
  readonly entry: RowEntry
}

/** Row files of all releases by name, which holds dataset and month, and SHA-256 of their Parquet: their rows show the month. */
async function knownRowFiles(releasesDir: string): Promise<Map<string, KnownFile[]>> {
  const known = new Map<string, KnownFile[]>()
  for (const id of await readdir(derivedFolder(releasesDir)).catch(() => [])) {
    const entries = await readIndex(releasesDir, id)
    if (typeof entries === 'string') continue
    for (const entry of entries) {
      const key = `${entry.path} ${entry.source_sha256}`
      const file = join(rowFolder(releasesDir, id), entry.path)
      known.set(key, [...(known.get(key) ?? []), { file, entry }])
    }
  }
  return known
}

/** Links the first of some files that is whole; a rotten copy must not spread. */
async function linkKnown(candidates: readonly KnownFile[], out: string): Promise<SectionDigests | null> {
  for (const { file, entry } of candidates)
    try {
      if ((await digestFile(file)).sha256 !== entry.sha256) continue
      await link(file, out)
      return entry
    } catch {
      // It has gone meanwhile, or the file system has no links.
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
