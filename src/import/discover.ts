/**
 * What an operator's paths hold: folders and zips are searched, and each area is asked whether a file is one of its own.
 *
 * In: paths, the areas' recognisers. Out: the files of each area, the notes of snapshot.json, and a list of those that no
 * area recognises. Nothing is read in full here but small files; nothing is changed. Reading the files is the areas' work.
 */
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { digestFile } from '../release/digest.ts'
import { ImportError } from './import-error.ts'
import { extractZip, listZip } from './readers/zip.ts'

export interface Archive {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** A plain file: on disk, or still inside an archive (then `path` is the archive's). */
export interface FoundFile {
  readonly name: string
  readonly path: string
  readonly archive: Archive | null
}

/** Where and when a file was fetched, as far as the operator notes it; outside every hash. */
export interface Acquisition {
  readonly file: string
  readonly publisher: string | null
  readonly url: string | null
  readonly retrieved_at: string | null
}

export interface Recogniser {
  /** Is a file of this name one of the area's? @param readHead first bytes, for names that do not tell */
  recognises(name: string, readHead: () => Promise<Buffer>): boolean | Promise<boolean>
  /**
   * An entry of an archive is extracted and then recognised, unless the area says here that it reads the entry in place or
   * that nobody needs it. @throws ImportError where the entry cannot belong to the archive
   */
  placeOf?(entry: string, archive: string): 'in place' | 'left out' | 'extracted'
}

export interface Discovery<Area> {
  readonly files: ReadonlyMap<Area, readonly FoundFile[]>
  readonly unknown: readonly string[]
  readonly acquisitions: readonly Acquisition[]
  readonly synthetic: boolean
}

/** A file of this name in an archive says that the demonstration made it. */
const DEMONSTRATION_MEMBER = 'sus-data-demonstration.txt'
const HEAD_BYTES = 65_536

/**
 * @param areas asked in this order
 * @param scratch folder for small files that come inside archives
 * @throws ImportError where a path does not exist or a file of an area cannot be what it is named
 */
export async function discover<Area extends Recogniser>(
  paths: readonly string[],
  areas: readonly Area[],
  scratch: string,
): Promise<Discovery<Area>> {
  const files = new Map<Area, FoundFile[]>(areas.map((area) => [area, []]))
  const unknown: string[] = []
  const acquisitions: Acquisition[] = []
  let synthetic = false

  const visitFile = async (path: string, archive: Archive | null): Promise<void> => {
    const name = basename(path)
    for (const [area, found] of files)
      if (await area.recognises(name, () => readHead(path))) {
        found.push({ name, path, archive })
        return
      }
    if (/\.zip$/i.test(name) && archive === null) await visitZip(path)
    else if (name === 'snapshot.json') synthetic = (await readSnapshotNotes(path, acquisitions)) || synthetic
    else if (!name.startsWith('.') && !/^readme/i.test(name) && name !== DEMONSTRATION_MEMBER)
      unknown.push(name)
  }
  const visitZip = async (path: string): Promise<void> => {
    const file = basename(path)
    const entries = await listZip(path, file)
    const { bytes, sha256 } = await digestFile(path)
    const archive: Archive = { file, bytes, sha256 }
    const small = new Map<string, string>()
    const folder = join(scratch, `zip-${sha256.slice(0, 16)}`)
    for (const { name } of entries) {
      if (basename(name) === DEMONSTRATION_MEMBER) synthetic = true
      const places = areas.map((area) => area.placeOf?.(name, file) ?? 'extracted')
      const reader = areas[places.indexOf('in place')]
      if (reader !== undefined) files.get(reader)?.push({ name, path, archive })
      else if (!places.includes('left out')) small.set(name, join(folder, basename(name)))
    }
    if (small.size === 0) return
    await mkdir(folder, { recursive: true })
    await extractZip(path, file, small)
    for (const destination of small.values()) await visitFile(destination, archive)
  }
  const visit = async (path: string): Promise<void> => {
    const entry = await stat(path).catch(() => {
      throw new ImportError(path, 'does not exist', 'Check the path')
    })
    if (!entry.isDirectory()) return visitFile(path, null)
    for (const name of (await readdir(path)).sort()) await visit(join(path, name))
  }
  for (const path of paths) await visit(path)
  return { files, unknown, acquisitions, synthetic }
}

async function readHead(path: string): Promise<Buffer> {
  const handle = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** @returns whether the notes call the snapshot synthetic */
async function readSnapshotNotes(path: string, acquisitions: Acquisition[]): Promise<boolean> {
  let notes: {
    publisher?: unknown
    synthetic?: unknown
    files?: Record<string, { url?: unknown; retrieved_at?: unknown }>
  }
  try {
    notes = JSON.parse(await readFile(path, 'utf8'))
  } catch {
    throw new ImportError(
      join(basename(dirname(path)), 'snapshot.json'),
      'is not JSON',
      'Correct it or take it away',
    )
  }
  const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  for (const [file, { url, retrieved_at }] of Object.entries(notes.files ?? {}))
    acquisitions.push({
      file,
      publisher: textOf(notes.publisher),
      url: textOf(url),
      retrieved_at: textOf(retrieved_at),
    })
  return notes.synthetic === true
}
