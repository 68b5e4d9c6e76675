/**
 * Opens the zip package of a workbook: lists its parts and inflates those that are read, within a limit.
 *
 * Input: the bytes of an untrusted file. Output: names and streams of parts. A package that different readers could interpret
 * differently (a duplicate name, a contradicting local header, leading bytes) is rejected.
 */
import type { Readable } from 'node:stream'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'
import { ReportUnreadable } from './unreadable.ts'

/** Our workbooks have twelve parts; those saved by other programs have a few more. */
const PARTS_MAX = 100
/** Largest total size of all parts after inflating. */
export const INFLATED_MAX = 512 * 2 ** 20
/** Extra field that names a part a second time, which only some programs read. */
const UNICODE_PATH = 0x7075
const LOCAL_HEADER = 0x04034b50
const STORED = 0
const DEFLATED = 8

export interface Package {
  readonly names: readonly string[]
  /** @param maxBytes largest accepted size after inflating @throws ReportUnreadable when the part is larger or missing */
  readPart(name: string, maxBytes: number): Promise<AsyncIterable<Buffer>>
}

/** @throws ReportUnreadable */
export async function openPackage(bytes: Buffer): Promise<Package> {
  const { zip, entries } = await listEntries(bytes)
  const parts = new Map<string, Entry>()
  let inflated = 0
  let first = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    const { fileName, relativeOffsetOfLocalHeader: offset, compressionMethod } = entry
    if (parts.has(fileName)) throw new ReportUnreadable(`the workbook has the part ${fileName} twice`)
    if (entry.isEncrypted()) throw new ReportUnreadable('the workbook is encrypted')
    if (compressionMethod !== STORED && compressionMethod !== DEFLATED)
      throw new ReportUnreadable(`the part ${fileName} is compressed by a method that workbooks do not use`)
    if (entry.extraFields.some(({ id }) => id === UNICODE_PATH))
      throw new ReportUnreadable(`the part ${fileName} has a second name in an extra field`)
    if (localNameAt(bytes, offset) !== fileName)
      throw new ReportUnreadable(`the part ${fileName} has another name where it stands in the file`)
    parts.set(fileName, entry)
    inflated += entry.uncompressedSize
    first = Math.min(first, offset)
  }
  if (first !== 0) throw new ReportUnreadable('the workbook has bytes in front of its first part')
  if (inflated > INFLATED_MAX)
    throw new ReportUnreadable(`the workbook inflates to more than ${INFLATED_MAX / 2 ** 20} MiB`)
  return {
    names: [...parts.keys()],
    async readPart(name, maxBytes) {
      const entry = parts.get(name)
      if (entry === undefined) throw new ReportUnreadable(`the workbook has no part ${name}`)
      if (entry.uncompressedSize > maxBytes)
        throw new ReportUnreadable(`the part ${name} inflates to more than ${maxBytes / 2 ** 20} MiB`)
      // yauzl ends the stream with an error when a part inflates to another size than its entry states.
      return openEntry(zip, entry)
    },
  }
}

function listEntries(bytes: Buffer): Promise<{ zip: ZipFile; entries: Entry[] }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(new ReportUnreadable(`is no whole workbook: ${error.message}`))
    fromBuffer(bytes, { lazyEntries: true }, (error, zip) => {
      if (error) return fail(error)
      const entries: Entry[] = []
      zip.on('error', fail)
      zip.on('end', () => resolve({ zip, entries }))
      zip.on('entry', (entry: Entry) => {
        entries.push(entry)
        if (entries.length > PARTS_MAX) fail(new Error(`it has more than ${PARTS_MAX} parts`))
        else zip.readEntry()
      })
      zip.readEntry()
    })
  })
}

const openEntry = (zip: ZipFile, entry: Entry): Promise<AsyncIterable<Buffer>> =>
  new Promise((resolve, reject) =>
    zip.openReadStream(entry, (error, stream) =>
      // Do not destroy the stream on early return: a buffer's stream never emits `close`, so that would wait forever.
      error ? reject(error) : resolve((stream as Readable).iterator({ destroyOnReturn: false })),
    ),
  )

/** @returns the name in the local header of a part; null when there is no such header */
function localNameAt(bytes: Buffer, offset: number): string | null {
  if (offset + 30 > bytes.length || bytes.readUInt32LE(offset) !== LOCAL_HEADER) return null
  return bytes.toString('utf8', offset + 30, offset + 30 + bytes.readUInt16LE(offset + 26))
}
