/**
 * What an operator's paths hold: each file recognised by name and content, folders and zips searched.
 *
 * In: paths. Out: national base months, files by state, IBGE files, the notes of snapshot.json, and a list of what is not
 * known. Nothing is read in full here but small files; nothing is changed.
 */
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { digestFile } from '../release/digest.ts'
import { tableOfFile } from './cnes/published-tables.ts'
import { recogniseStateFile } from './cnes/state-files.ts'
import { recogniseIbge } from './demography/files.ts'
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

/** Where and when a file was fetched, as far as the operator says; outside every hash. */
export interface Acquisition {
  readonly file: string
  readonly publisher: string | null
  readonly url: string | null
  readonly retrieved_at: string | null
}

export interface Discovery {
  /** Tables of the national base by month. */
  readonly base: ReadonlyMap<number, readonly FoundFile[]>
  readonly state: readonly FoundFile[]
  readonly ibge: readonly FoundFile[]
  readonly unknown: readonly string[]
  readonly acquisitions: readonly Acquisition[]
  readonly synthetic: boolean
}

const DEMONSTRATION_MEMBER = 'sus-data-demonstration.txt'
const BASE_ARCHIVE = /^BASE_DE_DADOS_CNES_(\d{6})\.zip$/i
const HEAD_BYTES = 65_536

/** @param scratch folder for small files that come inside archives */
export async function discover(paths: readonly string[], scratch: string): Promise<Discovery> {
  const base = new Map<number, FoundFile[]>()
  const state: FoundFile[] = []
  const ibge: FoundFile[] = []
  const unknown: string[] = []
  const acquisitions: Acquisition[] = []
  let synthetic = false

  const addBase = (period: number, file: FoundFile): void => {
    const month = base.get(period) ?? []
    // By table: inside an archive it may stand in two folders.
    const tableOf = ({ name }: FoundFile): string | undefined => tableOfFile(basename(name))?.table.name
    const twice = month.find((other) => tableOf(other) === tableOf(file))
    if (twice !== undefined)
      throw new ImportError(file.name, 'is there twice', 'Import one copy of each table')
    base.set(period, [...month, file])
  }
  const visitFile = async (path: string, archive: Archive | null): Promise<void> => {
    const name = basename(path)
    const table = tableOfFile(name)
    if (table !== null) addBase(table.period, { name, path, archive })
    else if (recogniseStateFile(name) !== null) state.push({ name, path, archive })
    else if (recogniseIbge(name, await readHead(path))) ibge.push({ name, path, archive })
    else if (/\.zip$/i.test(name) && archive === null) await visitZip(path)
    else if (name === 'snapshot.json') synthetic = (await readSnapshotNotes(path, acquisitions)) || synthetic
    else if (!name.startsWith('.') && !/^readme/i.test(name) && name !== DEMONSTRATION_MEMBER)
      unknown.push(name)
  }
  const visitZip = async (path: string): Promise<void> => {
    const file = basename(path)
    const entries = await listZip(path, file)
    const { bytes, sha256 } = await digestFile(path)
    const archive: Archive = { file, bytes, sha256 }
    const month = BASE_ARCHIVE.exec(file)?.[1]
    const small = new Map<string, string>()
    const folder = join(scratch, `zip-${sha256.slice(0, 16)}`)
    for (const { name } of entries) {
      const plain = basename(name)
      const table = tableOfFile(plain)
      if (plain === DEMONSTRATION_MEMBER) synthetic = true
      if (table !== null) {
        if (month !== undefined && Number(month) !== table.period)
          throw new ImportError(
            `${file}/${plain}`,
            `is of ${table.period} inside an archive of ${month}`,
            'Fetch the archive of the month again',
          )
        addBase(table.period, { name, path, archive })
      } else if (month === undefined) small.set(name, join(folder, plain))
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
  if (base.size + state.length + ibge.length === 0)
    throw new ImportError(
      paths.join(', '),
      `holds no file this importer knows${unknown.length > 0 ? ` (not known: ${unknown.slice(0, 10).join(', ')})` : ''}`,
      'Give it the files DATASUS and IBGE publish, unchanged and with their published names',
    )
  return { base, state, ibge, unknown, acquisitions, synthetic }
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
