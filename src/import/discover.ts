/**
 * What an operator's paths hold: folders and zips are searched, and each area is asked whether a file is one of its own.
 *
 * In: paths, the areas' recognisers. Out: the files of each area, the notes of snapshot.json, and a list of those that no
 * area recognises; one that the operator named by itself is an error. Nothing is read in full here but small files; nothing is
 * changed. Reading the files is the areas' work.
 */
import { mkdir, open, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { STATES } from '../model/territory/states.ts'
import { digestFile } from '../release/digest.ts'
import { ImportError } from './import-error.ts'
import { readDbfColumns } from './readers/dbf.ts'
import { parseJson } from './readers/json.ts'
import { isDbase, looksLike } from './readers/looks-like.ts'
import { kindOfColumns } from './readers/table-kinds.ts'
import { refuseUnpacked, TEXT_BYTES_MAX } from './readers/unpack-limits.ts'
import { extractZip, listZip } from './readers/zip.ts'

export interface Archive {
  /** Its name; of an archive in an archive, after the name of the outer one. */
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** A plain file: on disk, or still inside an archive (then `path` is the archive's). */
export interface FoundFile {
  readonly name: string
  readonly path: string
  readonly archive: Archive | null
  /** Where the operator finds it: its path, or its place in the archive. For messages. */
  readonly shown: string
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
  /** Does the area read a file of this name that another one recognises, too? */
  alsoReads?(name: string): boolean
  /**
   * An entry of an archive is extracted and then recognised, unless the area says here that it reads the entry in place or
   * that nobody needs it. @throws ImportError where the entry cannot belong to the archive
   */
  placeOf?(entry: string, archive: string): 'in place' | 'left out' | 'extracted'
}

export interface Discovery<Area> {
  readonly files: ReadonlyMap<Area, readonly FoundFile[]>
  readonly unknown: readonly string[]
  /** Files that the operator named by themselves. */
  readonly named: readonly FoundFile[]
  readonly acquisitions: readonly Acquisition[]
  readonly synthetic: boolean
}

/** A file of this name in an archive says that the demonstration made it. */
const DEMONSTRATION_MEMBER = 'sus-data-demonstration.txt'
const HEAD_BYTES = 65_536
/** Archives in archives are opened so deep; deeper ones are listed as not known. */
const MAX_DEPTH = 4

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
  const byArea = new Map<Area, FoundFile[]>(areas.map((area) => [area, []]))
  const unknown: string[] = []
  const named: FoundFile[] = []
  const acquisitions: Acquisition[] = []
  let synthetic = false
  /** Files of the operator by their real path, and whether an area recognised them. */
  const visited = new Map<string, boolean>()
  /** Outermost archive → its size, and what it and those inside unpack to. */
  const unpackedBy = new Map<string, { readonly packed: number; readonly bytes: number }>()

  /** @returns whether an area recognised the file, or something in it */
  const visitFile = async (file: FoundFile, depth: number): Promise<boolean> => {
    const { name, path } = file
    for (const [area, found] of byArea)
      if (await area.recognises(name, () => readHead(path))) {
        found.push(file)
        for (const [other, files] of byArea)
          if (other !== area && other.alsoReads?.(name) === true) files.push(file)
        return true
      }
    if (/\.zip$/i.test(name) && depth < MAX_DEPTH) return visitZip(file, depth + 1)
    if (name === 'snapshot.json') {
      synthetic = (await readSnapshotNotes(path, acquisitions)) || synthetic
      return true
    }
    await refuseLongerName(file)
    if (!name.startsWith('.') && !/^readme/i.test(name) && name !== DEMONSTRATION_MEMBER) unknown.push(name)
    return false
  }
  const visitZip = async ({ name, path, archive: outer }: FoundFile, depth: number): Promise<boolean> => {
    const file = outer === null ? name : `${outer.file}/${name}`
    const entries = await listZip(path, file)
    // Archives in archives unpack within what the outermost may.
    const outermost = file.split('/')[0] ?? file
    if (outer === null) unpackedBy.delete(outermost)
    const total = (unpackedBy.get(outermost)?.bytes ?? 0) + entries.reduce((sum, { bytes }) => sum + bytes, 0)
    const packed = unpackedBy.get(outermost)?.packed ?? (await stat(path)).size
    unpackedBy.set(outermost, { packed, bytes: total })
    refuseUnpacked(file, packed, total)
    const { bytes, sha256 } = await digestFile(path)
    const archive: Archive = { file, bytes, sha256 }
    const small = new Map<string, string>()
    const folder = join(scratch, `zip-${sha256.slice(0, 16)}`)
    let recognised = false
    for (const { name: entry } of entries) {
      if (basename(entry) === DEMONSTRATION_MEMBER) synthetic = true
      const places = areas.map((area) => area.placeOf?.(entry, name) ?? 'extracted')
      const reader = areas[places.indexOf('in place')]
      if (reader !== undefined) {
        byArea.get(reader)?.push({ name: entry, path, archive, shown: `${file}/${entry}` })
        recognised = true
      }
      // Folders inside stay: two files of one name are two files.
      else if (!places.includes('left out')) small.set(entry, join(folder, entry))
    }
    if (small.size === 0) return recognised
    for (const destination of small.values()) await mkdir(dirname(destination), { recursive: true })
    await extractZip(path, file, small)
    for (const [entry, destination] of small) {
      const found = { name: basename(entry), path: destination, archive, shown: `${file}/${entry}` }
      recognised = (await visitFile(found, depth)) || recognised
    }
    return recognised
  }
  const visit = async (path: string, isNamed: boolean): Promise<void> => {
    const entry = await stat(path).catch(() => {
      throw new ImportError(path, 'does not exist', 'Check the path')
    })
    if (entry.isDirectory()) {
      for (const name of (await readdir(path)).sort()) await visit(join(path, name), false)
      return
    }
    // A pipe never ends, and a device may not either.
    if (!entry.isFile())
      throw new ImportError(
        path,
        'is no plain file (a pipe, a device or a socket)',
        'Give it a file or a folder',
      )
    const file: FoundFile = { name: basename(path), path, archive: null, shown: path }
    if (isNamed) named.push(file)
    // A file that is named twice, or lies in a folder that is named, too, is one file.
    const real = await realpath(path)
    const recognised = visited.get(real) ?? (await visitFile(file, 0))
    visited.set(real, recognised)
    if (!recognised && isNamed) throw await notRecognised(file)
  }
  for (const path of paths) await visit(path, true)
  return { files: byArea, unknown, named, acquisitions, synthetic }
}

/** @returns bytes of the files that some paths name or hold; 0 for what is not there */
export async function sizeOfPaths(paths: readonly string[]): Promise<number> {
  let bytes = 0
  for (const path of paths) {
    const entry = await stat(path).catch(() => null)
    if (entry?.isDirectory() === true)
      bytes += await sizeOfPaths((await readdir(path)).map((name) => join(path, name)))
    else if (entry?.isFile() === true) bytes += entry.size
  }
  return bytes
}

const BEGINS_LIKE = /^(ST|LT|EQ|SR|RD|PA)([A-Z]{2})(\d{4})[^.]*\.(dbc|dbf)(\.gz)?$/i

/**
 * A file that is no area's by its name may still be a month's: LTSP2307_retificado.dbf. Passing over it would leave out a correction
 * unseen. @throws ImportError where its name begins like a published one and its columns are those of such a file
 */
async function refuseLongerName({ name, path, shown }: FoundFile): Promise<void> {
  const [, group = '', uf = '', month = '', ending = ''] = BEGINS_LIKE.exec(name) ?? []
  if (!STATES.some((state) => state.uf === uf.toUpperCase())) return
  const head = beginOf(await readHead(path))
  const kind = isDbase(head) ? kindOfColumns(readDbfColumns(head).map((column) => column.name)) : null
  if (kind?.kinds.includes(group.toUpperCase()) !== true) return
  const published = `${group}${uf}${month}.${ending}`
  throw new ImportError(
    shown,
    `has the columns of ${kind.what} and a name that goes on behind ${group}${uf}${month}, so that it would be passed over`,
    `Name it ${published} if it is the month's file, or take it out`,
  )
}

/** The first bytes of a table, unpacked where they are gzip. */
function beginOf(head: Buffer): Buffer {
  if (head[0] !== 0x1f || head[1] !== 0x8b) return head
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 ** 26 })
  } catch {
    return Buffer.alloc(0)
  }
}

/** @returns the error about a file that the operator named and nothing is made of */
export async function notRecognised({ path, name, shown }: FoundFile): Promise<ImportError> {
  const remedy = 'Give it the files DATASUS and IBGE publish, unchanged and with their published names'
  if (/\.zip$/i.test(name)) return new ImportError(shown, 'holds no file this importer knows', remedy)
  const looks = /\.xlsx?$/i.test(name)
    ? { what: 'a workbook without a table of IBGE that is read', remedy: null }
    : looksLike(await readHead(path))
  return new ImportError(
    shown,
    `is no file this importer knows by this name; it looks like ${looks.what}`,
    looks.remedy ?? remedy,
  )
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
    if ((await stat(path)).size > TEXT_BYTES_MAX) throw new RangeError('too large')
    notes = parseJson(await readFile(path), path) as typeof notes
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
