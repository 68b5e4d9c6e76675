/**
 * Searches the operator's paths, including folders and zips, and assigns each file to the area that recognises it. It returns the
 * files of each area, the notes of snapshot.json, and the files that no area recognises. An unrecognised file that the operator
 * named explicitly is an error. Only small files are read in full; the areas read the rest.
 */
import { lstat, mkdir, open, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { temporaryTarget } from '../files.ts'
import { STATES } from '../model/territory/states.ts'
import { ACQUISITION_FILE, type AcquiredFile, type Acquisition, toFacts } from '../release/acquisition.ts'
import { digestFile } from '../release/digest.ts'
import { readAcquisitionFile, VERSIONS_FOLDER } from './acquisition.ts'
import { ImportError } from './import-error.ts'
import { readDbfColumns } from './readers/dbf.ts'
import { parseJson } from './readers/json.ts'
import { isDbase, looksLike } from './readers/looks-like.ts'
import { kindOfColumns } from './readers/table-kinds.ts'
import { refuseUnpacked, TEXT_BYTES_MAX } from './readers/unpack-limits.ts'
import { checkEntryNames, extractZip, listZip } from './readers/zip.ts'

export interface Archive {
  /** Name of the archive. A nested archive has the names of its outer archives in front. */
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** A file on disk or inside an archive. In an archive, `path` is the path of the archive. */
export interface FoundFile {
  readonly name: string
  readonly path: string
  readonly archive: Archive | null
  /** Path on disk or inside the archive, for messages. */
  readonly shown: string
}

export interface Recogniser {
  /** Tells whether a file belongs to the area. @param readHead reads the first bytes, for ambiguous names */
  recognises(name: string, readHead: () => Promise<Buffer>): boolean | Promise<boolean>
  /** Tells whether the area also reads a file that another area recognises. */
  alsoReads?(name: string): boolean
  /**
   * Decides whether an archive entry is extracted (the default), read in place or skipped.
   * @throws ImportError if the entry cannot belong to the archive
   */
  placeOf?(entry: string, archive: string): 'in place' | 'left out' | 'extracted'
}

export interface Discovery<Area> {
  readonly files: ReadonlyMap<Area, readonly FoundFile[]>
  readonly unknown: readonly string[]
  readonly named: readonly FoundFile[]
  /** Facts from acquisition.json or from the operator's notes. No digest includes them. */
  readonly acquisitions: readonly Acquisition[]
  readonly synthetic: boolean
}

/** A file with this name marks an archive as generated for the demonstration. */
const DEMONSTRATION_MEMBER = 'sus-data-demonstration.txt'
const HEAD_BYTES = 65_536
/** Maximum nesting of archives. Deeper archives are listed as unknown. */
const MAX_DEPTH = 4

const WORK_FILE = /^\.(fetch|update)\.lock(\.lock|\.next)?$|^\..*\.part$|-(p\d+|again)\.json\.part$/

/** True for locks, partial files and temporary files of `sus-data fetch` and `update`, which may run during an import. */
const isWorkFile = (name: string): boolean =>
  WORK_FILE.test(name) || [ACQUISITION_FILE, '.listings.json'].includes(temporaryTarget(name) ?? '')

/**
 * @param areas the first area that recognises a file gets it
 * @param scratch folder for small files extracted from archives
 * @throws ImportError if a path does not exist, or the content of a file contradicts its name
 */
export async function discover<Area extends Recogniser>(
  paths: readonly string[],
  areas: readonly Area[],
  scratch: string,
): Promise<Discovery<Area>> {
  const filesByArea = new Map<Area, FoundFile[]>(areas.map((area) => [area, []]))
  const unknown: string[] = []
  const named: FoundFile[] = []
  const acquisitions: Acquisition[] = []
  let synthetic = false
  /** Real path of each visited file → whether an area recognised it. */
  const recognisedByPath = new Map<string, boolean>()
  /** Real paths of visited folders. Symbolic links can form a loop. */
  const visitedFolders = new Set<string>()
  /** Outermost archive → its packed size, and the unpacked size of all archives inside. */
  const sizesByOutermost = new Map<string, { readonly packed: number; readonly bytes: number }>()

  const acquiredByFolder = new Map<string, Readonly<Record<string, AcquiredFile>>>()
  const acquiredIn = (folder: string): Readonly<Record<string, AcquiredFile>> => {
    const facts = acquiredByFolder.get(folder) ?? readAcquisitionFile(join(folder, ACQUISITION_FILE))
    acquiredByFolder.set(folder, facts)
    return facts
  }

  /** @returns whether an area recognised the file or one of its entries */
  const visitFile = async (file: FoundFile, depth: number): Promise<boolean> => {
    const { name, path } = file
    for (const [area, found] of filesByArea)
      if (await area.recognises(name, () => readHead(path))) {
        found.push(file)
        for (const [other, files] of filesByArea)
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
    // All nested archives count toward the limit of the outermost archive.
    const outermost = file.split('/')[0] ?? file
    if (outer === null) sizesByOutermost.delete(outermost)
    const total =
      (sizesByOutermost.get(outermost)?.bytes ?? 0) + entries.reduce((sum, { bytes }) => sum + bytes, 0)
    const packed = sizesByOutermost.get(outermost)?.packed ?? (await stat(path)).size
    sizesByOutermost.set(outermost, { packed, bytes: total })
    refuseUnpacked(file, packed, total)
    const { bytes, sha256 } = await digestFile(path)
    const archive: Archive = { file, bytes, sha256 }
    const destinations = new Map<string, string>()
    const folder = join(scratch, `zip-${sha256.slice(0, 16)}`)
    const read: string[] = []
    let recognised = false
    for (const { name: entry } of entries) {
      if (basename(entry) === DEMONSTRATION_MEMBER) synthetic = true
      const placements = areas.map((area) => area.placeOf?.(entry, name) ?? 'extracted')
      const reader = areas[placements.indexOf('in place')]
      if (reader !== undefined || !placements.includes('left out')) read.push(entry)
      if (reader !== undefined) {
        filesByArea.get(reader)?.push({ name: entry, path, archive, shown: `${file}/${entry}` })
        recognised = true
      }
      // Keep the folders of the archive, so that files with the same name do not collide.
      else if (!placements.includes('left out')) destinations.set(entry, join(folder, entry))
    }
    checkEntryNames(read, file)
    if (destinations.size === 0) return recognised
    for (const destination of destinations.values()) await mkdir(dirname(destination), { recursive: true })
    await extractZip(path, file, destinations)
    for (const [entry, destination] of destinations) {
      const found = { name: basename(entry), path: destination, archive, shown: `${file}/${entry}` }
      recognised = (await visitFile(found, depth)) || recognised
    }
    return recognised
  }
  const visitPath = async (path: string, isNamed: boolean): Promise<void> => {
    const entry = await stat(path).catch(async () => {
      const isLink = (await lstat(path).catch(() => null))?.isSymbolicLink() === true
      throw isLink
        ? new ImportError(path, 'is a symbolic link that leads nowhere', 'Restore its target, or take it out')
        : new ImportError(path, 'does not exist', 'Check the path')
    })
    if (entry.isDirectory()) {
      const resolvedFolder = await realpath(path)
      if (visitedFolders.has(resolvedFolder)) return
      visitedFolders.add(resolvedFolder)
      // Older versions of files that changed at the publisher are kept, not imported.
      for (const name of (await readdir(path)).sort())
        if (name !== VERSIONS_FOLDER && !isWorkFile(name)) await visitPath(join(path, name), false)
      return
    }
    // Reject pipes and devices, because reading them may never end.
    if (!entry.isFile())
      throw new ImportError(
        path,
        'is no plain file (a pipe, a device or a socket)',
        'Give it a file or a folder',
      )
    const file: FoundFile = { name: basename(path), path, archive: null, shown: path }
    if (file.name === ACQUISITION_FILE) return
    const facts = acquiredIn(dirname(path))[file.name]
    if (facts !== undefined) acquisitions.push({ file: file.name, ...facts })
    if (isNamed) named.push(file)
    // Visit each file once, even if it is named twice or lies in a named folder.
    const resolvedPath = await realpath(path)
    const recognised = recognisedByPath.get(resolvedPath) ?? (await visitFile(file, 0))
    recognisedByPath.set(resolvedPath, recognised)
    if (!recognised && isNamed) throw await createUnrecognisedError(file)
  }
  for (const path of paths) await visitPath(path, true)
  return { files: filesByArea, unknown, named, acquisitions, synthetic }
}

/** @param seen real paths that are counted already @returns total bytes of the files at or below the paths; missing paths count 0 */
export async function sizeOfPaths(paths: readonly string[], seen = new Set<string>()): Promise<number> {
  let bytes = 0
  for (const path of paths) {
    const resolvedPath = await realpath(path).catch(() => path)
    if (seen.has(resolvedPath)) continue
    seen.add(resolvedPath)
    const entry = await stat(path).catch(() => null)
    if (entry?.isDirectory() === true)
      bytes += await sizeOfPaths(
        (await readdir(path)).map((name) => join(path, name)),
        seen,
      )
    else if (entry?.isFile() === true) bytes += entry.size
  }
  return bytes
}

const MONTHLY_NAME = /^(ST|LT|EQ|SR|RD|PA)([A-Z]{2})(\d{4})[^.]*\.(dbc|dbf)(\.gz)?$/i

/**
 * Rejects a monthly file with a longer name, such as LTSP2307_retificado.dbf. Skipping it would silently omit a correction.
 * @throws ImportError if the name begins like a published one and the columns match that kind of file
 */
async function refuseLongerName({ name, path, shown }: FoundFile): Promise<void> {
  const [, group = '', uf = '', month = '', ending = ''] = MONTHLY_NAME.exec(name) ?? []
  if (!STATES.some((state) => state.uf === uf.toUpperCase())) return
  const head = unpackHead(await readHead(path))
  const kind = isDbase(head) ? kindOfColumns(readDbfColumns(head).map((column) => column.name)) : null
  if (kind?.kinds.includes(group.toUpperCase()) !== true) return
  const published = `${group}${uf}${month}.${ending}`
  throw new ImportError(
    shown,
    `has the columns of ${kind.what} and a name that goes on behind ${group}${uf}${month}, so that it would be passed over`,
    `Name it ${published} if it is the month's file, or take it out`,
  )
}

function unpackHead(head: Buffer): Buffer {
  if (head[0] !== 0x1f || head[1] !== 0x8b) return head
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 ** 26 })
  } catch {
    return Buffer.alloc(0)
  }
}

export async function createUnrecognisedError({ path, name, shown }: FoundFile): Promise<ImportError> {
  const remedy = 'Give it the files DATASUS and IBGE publish, unchanged and with their published names'
  if (/\.zip$/i.test(name)) return new ImportError(shown, 'holds no file this importer knows', remedy)
  const appearance = /\.xlsx?$/i.test(name)
    ? { what: 'a workbook without a table of IBGE that is read', remedy: null }
    : looksLike(await readHead(path))
  return new ImportError(
    shown,
    `is no file this importer knows by this name; it looks like ${appearance.what}`,
    appearance.remedy ?? remedy,
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

/** Adds the notes to `acquisitions`. @returns whether they mark the snapshot as synthetic */
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
  for (const [file, { url, retrieved_at }] of Object.entries(notes.files ?? {}))
    acquisitions.push({ file, ...toFacts({ publisher: notes.publisher, url, retrieved_at }) })
  return notes.synthetic === true
}
