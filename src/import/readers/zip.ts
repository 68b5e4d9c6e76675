/** Lists and extracts published zip archives with yauzl. This file checks the CRC-32 of entries, because yauzl does not. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { dirname, normalize } from 'node:path/posix'
import { PassThrough, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { type Entry, open as openZip, type ZipFile } from 'yauzl'
import { ImportError } from '../import-error.ts'
import { createTranscoder } from './transcode.ts'
import { refuseUnpacked } from './unpack-limits.ts'

const MAX_ENTRY_BYTES = 8 * 2 ** 30
/** Maximum number of entries. A month of the national base has 109. */
const MAX_ENTRIES = 10_000
/** Maximum length of a file name on common file systems, and of the path of an entry below the scratch folder. */
const MAX_NAME_BYTES = 255
const MAX_PATH_BYTES = 1024
const REMEDY = 'Fetch the archive again; a zip that was cut does not open'

/** Maximum unpacked size of a workbook. The largest of IBGE, with all municipalities and years, has 4 MB. */
const MAX_WORKBOOK_BYTES = 16 * 2 ** 20

export interface Extracted {
  readonly bytes: number
  readonly sha256: string
  /** True if the text was UTF-8 instead of the expected ISO-8859-1. */
  readonly wasUtf8: boolean
}

export interface ExtractOptions {
  readonly isText?: boolean
  readonly onEntry?: (name: string, extracted: Extracted) => void
}

export interface ZipEntry {
  readonly name: string
  readonly bytes: number
}

/** @returns the entries that are files; @throws ImportError if the archive is invalid or unpacks to more than the limit */
export async function listZip(path: string, file: string): Promise<ZipEntry[]> {
  const entries: ZipEntry[] = []
  const { size } = await stat(path)
  let unpacked = 0
  await visitEntries(path, file, async (entry) => {
    unpacked += entry.uncompressedSize
    refuseUnpacked(file, size, unpacked)
    if (entries.length >= MAX_ENTRIES)
      throw new ImportError(file, `holds more than ${MAX_ENTRIES} files`, REMEDY)
    if (!entry.fileName.endsWith('/')) entries.push({ name: entry.fileName, bytes: entry.uncompressedSize })
  })
  return entries
}

/**
 * Checks that every entry can be extracted to a file with its name.
 * @throws ImportError if a name is repeated, too long, empty, or the name of a file and of a folder
 */
export function checkEntryNames(names: readonly string[], file: string): void {
  const paths = new Set<string>()
  const folders = new Set(['.'])
  const refuse = (name: string, problem: string): never => {
    throw new ImportError(`${file}/${name.slice(0, 80)}`, problem, 'Unpack the archive and import its files')
  }
  for (const name of names) {
    const path = normalize(name)
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) refuse(name, `has a path above ${MAX_PATH_BYTES} bytes`)
    if (path.split('/').some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES))
      refuse(name, `has a name above ${MAX_NAME_BYTES} bytes`)
    if (path.includes('\0')) refuse(name, 'has a name that no file can have')
    if (paths.has(path)) refuse(name, 'is there twice, so the right one is unknown')
    paths.add(path)
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder)
  }
  for (const path of paths) if (folders.has(path)) refuse(path, 'is a file and a folder at once')
}

/**
 * Unpacks a workbook and discards the result, so that only workbooks with correct sizes reach the library, which trusts them.
 * @throws ImportError if its parts unpack to more than the limit, or to other sizes than stated
 */
export async function checkWorkbookParts(path: string, file: string): Promise<void> {
  // Workbooks of Excel 97 are not compressed.
  if (!(await beginsLikeZip(path))) return
  let unpacked = 0
  await visitEntries(path, file, async (entry, zip) => {
    unpacked += entry.uncompressedSize
    if (unpacked > MAX_WORKBOOK_BYTES)
      throw new ImportError(
        file,
        `unpacks to more than ${MAX_WORKBOOK_BYTES / 2 ** 20} MiB`,
        'Fetch the workbook again',
      )
    if (entry.isEncrypted()) throw new ImportError(file, 'is encrypted', 'Import the workbook as published')
    // Read to the end: yauzl fails if a part has more or fewer bytes than stated.
    for await (const _ of await openEntry(zip, entry));
  })
}

/**
 * Extracts selected entries one after another.
 * @param destinations entry name → destination path
 * @param options isText converts ISO-8859-1 to UTF-8; onEntry is called after each complete entry
 * @returns size and SHA-256 of the published bytes, by entry name
 * @throws ImportError with archive and entry if an entry is truncated, encrypted or has a wrong CRC-32
 */
export async function extractZip(
  path: string,
  file: string,
  destinations: ReadonlyMap<string, string>,
  { isText = false, onEntry }: ExtractOptions = {},
): Promise<Map<string, Extracted>> {
  const extracted = new Map<string, Extracted>()
  await visitEntries(path, file, async (entry, zip) => {
    const destination = destinations.get(entry.fileName)
    if (destination === undefined) return
    const name = `${file}/${entry.fileName}`
    if (entry.isEncrypted()) throw new ImportError(name, 'is encrypted', 'Import the archive as published')
    if (entry.uncompressedSize > MAX_ENTRY_BYTES) throw new ImportError(name, 'is larger than 8 GiB', REMEDY)
    const hash = createHash('sha256')
    let checksum = 0
    let bytes = 0
    const digest = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk)
        checksum = crc32(chunk, checksum)
        bytes += chunk.length
        done(null, chunk)
      },
    })
    const transcoder = createTranscoder()
    const conversion = isText ? transcoder.stream : new PassThrough()
    try {
      await pipeline(await openEntry(zip, entry), digest, conversion, createWriteStream(destination))
    } catch (error) {
      // Do not blame the archive for errors of the file system, such as a full disk.
      if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
      throw new ImportError(name, 'cannot be unpacked', REMEDY)
    }
    if (bytes !== entry.uncompressedSize || checksum !== entry.crc32)
      throw new ImportError(name, 'does not have the size and CRC-32 the archive states', REMEDY)
    const result = { bytes, sha256: hash.digest('hex'), wasUtf8: transcoder.wasUtf8() }
    extracted.set(entry.fileName, result)
    onEntry?.(entry.fileName, result)
  })
  return extracted
}

/**
 * Yields the bytes of one entry.
 * @throws ImportError if the entry is missing, encrypted, cut, or has a wrong CRC-32
 */
export async function* readEntry(path: string, file: string, name: string): AsyncGenerator<Buffer> {
  const { zip, entry } = await findEntry(path, file, name)
  try {
    let checksum = 0
    for await (const chunk of (await openEntry(zip, entry)) as AsyncIterable<Buffer>) {
      checksum = crc32(chunk, checksum)
      yield chunk
    }
    if (checksum !== entry.crc32)
      throw new ImportError(`${file}/${name}`, 'does not have the CRC-32 the archive states', REMEDY)
  } catch (error) {
    if (error instanceof ImportError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw new ImportError(`${file}/${name}`, 'cannot be unpacked', REMEDY)
  } finally {
    zip.close()
  }
}

/** @returns an entry in its open archive, which the caller closes */
function findEntry(path: string, file: string, name: string): Promise<{ zip: ZipFile; entry: Entry }> {
  return new Promise((resolve, reject) => {
    openZip(path, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) {
        reject(new ImportError(file, 'is not a whole zip archive', REMEDY))
        return
      }
      const fail = (problem: string): void => {
        zip.close()
        reject(new ImportError(`${file}/${name}`, problem, REMEDY))
      }
      zip.on('error', () => fail('cannot be unpacked'))
      zip.on('end', () => fail('is missing in the archive'))
      zip.on('entry', (entry: Entry) => {
        if (entry.fileName !== name) zip.readEntry()
        else if (entry.isEncrypted()) fail('is encrypted')
        else resolve({ zip, entry })
      })
      zip.readEntry()
    })
  })
}

async function beginsLikeZip(path: string): Promise<boolean> {
  const handle = await open(path)
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return buffer.toString('latin1') === 'PK'
  } finally {
    await handle.close()
  }
}

function openEntry(zip: ZipFile, entry: Entry): Promise<NodeJS.ReadableStream> {
  return new Promise((resolve, reject) =>
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream))),
  )
}

function visitEntries(
  path: string,
  file: string,
  visit: (entry: Entry, zip: ZipFile) => Promise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    openZip(path, { lazyEntries: true, autoClose: true }, (error, zip) => {
      if (error) {
        reject(new ImportError(file, 'is not a whole zip archive', REMEDY))
        return
      }
      const fail = (cause: unknown): void => {
        zip.close()
        reject(
          cause instanceof ImportError || (cause as NodeJS.ErrnoException).syscall !== undefined
            ? cause
            : new ImportError(file, 'is not a whole zip archive', REMEDY),
        )
      }
      zip.on('error', fail)
      zip.on('end', resolve)
      zip.on('entry', (entry: Entry) => {
        visit(entry, zip).then(() => zip.readEntry(), fail)
      })
      zip.readEntry()
    })
  })
}
