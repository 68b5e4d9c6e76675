/**
 * Published zips. In: a path. Out: the names inside, and entries extracted to files with size, CRC-32 and SHA-256
 * checked. yauzl reads the format; it does not check the CRC, so this file does.
 */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { PassThrough, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { type Entry, open as openZip, type ZipFile } from 'yauzl'
import { ImportError } from '../import-error.ts'
import { createTranscoder } from './transcode.ts'
import { refuseUnpacked } from './unpack-limits.ts'

const MAX_ENTRY_BYTES = 8 * 2 ** 30
/** A month of the national base has 109 tables. */
const MAX_ENTRIES = 10_000
const REMEDY = 'Fetch the archive again; a zip that was cut does not open'

/** Workbooks of IBGE with all municipalities and years unpack to 4 MB. */
const MAX_WORKBOOK_BYTES = 16 * 2 ** 20

export interface Extracted {
  readonly bytes: number
  readonly sha256: string
  /** The text was UTF-8 where ISO-8859-1 is expected. */
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

/** @returns the plain files inside; @throws ImportError when the archive does not open, or would unpack to too much */
export async function listZip(path: string, file: string): Promise<ZipEntry[]> {
  const entries: ZipEntry[] = []
  const { size } = await stat(path)
  let unpacked = 0
  await walk(path, file, async (entry) => {
    unpacked += entry.uncompressedSize
    refuseUnpacked(file, size, unpacked)
    if (entries.length >= MAX_ENTRIES)
      throw new ImportError(file, `holds more than ${MAX_ENTRIES} files`, REMEDY)
    if (!entry.fileName.endsWith('/')) entries.push({ name: entry.fileName, bytes: entry.uncompressedSize })
  })
  return entries
}

/**
 * Unpacks a workbook to nothing, so that a library that trusts stated sizes gets no other ones.
 * @throws ImportError where its parts unpack to more than a table of a workbook has, or to other sizes than they state
 */
export async function checkWorkbookParts(path: string, file: string): Promise<void> {
  // Workbooks of Excel 97 are packed in no way.
  if (!(await beginsLikeZip(path))) return
  let unpacked = 0
  await walk(path, file, async (entry, zip) => {
    unpacked += entry.uncompressedSize
    if (unpacked > MAX_WORKBOOK_BYTES)
      throw new ImportError(
        file,
        `unpacks to more than ${MAX_WORKBOOK_BYTES / 2 ** 20} MiB`,
        'Fetch the workbook again',
      )
    if (entry.isEncrypted()) throw new ImportError(file, 'is encrypted', 'Import the workbook as published')
    // yauzl fails where a part has more or fewer bytes than it states.
    for await (const _ of await openEntry(zip, entry));
  })
}

/**
 * Extracts some entries, one after another.
 * @param wanted entry name → destination path
 * @param options isText: ISO-8859-1 becomes UTF-8 on the way, digests are always of the published bytes; onEntry: called as
 *   soon as an entry is whole
 * @returns bytes and SHA-256 by entry name
 * @throws ImportError naming archive and entry: cut, encrypted, wrong CRC-32
 */
export async function extractZip(
  path: string,
  file: string,
  wanted: ReadonlyMap<string, string>,
  { isText = false, onEntry }: ExtractOptions = {},
): Promise<Map<string, Extracted>> {
  const extracted = new Map<string, Extracted>()
  await walk(path, file, async (entry, zip) => {
    const destination = wanted.get(entry.fileName)
    if (destination === undefined) return
    const name = `${file}/${entry.fileName}`
    if (entry.isEncrypted()) throw new ImportError(name, 'is encrypted', 'Import the archive as published')
    if (entry.uncompressedSize > MAX_ENTRY_BYTES) throw new ImportError(name, 'is larger than 8 GiB', REMEDY)
    const hash = createHash('sha256')
    let check = 0
    let bytes = 0
    const digest = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk)
        check = crc32(chunk, check)
        bytes += chunk.length
        done(null, chunk)
      },
    })
    const transcoder = createTranscoder()
    const through = isText ? transcoder.stream : new PassThrough()
    try {
      await pipeline(await openEntry(zip, entry), digest, through, createWriteStream(destination))
    } catch (error) {
      // A full disk is not the archive's fault.
      if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
      throw new ImportError(name, 'cannot be unpacked', REMEDY)
    }
    if (bytes !== entry.uncompressedSize || check !== entry.crc32)
      throw new ImportError(name, 'does not have the size and CRC-32 the archive states', REMEDY)
    const whole = { bytes, sha256: hash.digest('hex'), wasUtf8: transcoder.wasUtf8() }
    extracted.set(entry.fileName, whole)
    onEntry?.(entry.fileName, whole)
  })
  return extracted
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

function walk(
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
