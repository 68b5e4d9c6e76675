/**
 * How much a file may unpack to, so that a small one fills neither disk nor memory. In: packed and unpacked sizes. Out: an error that
 * names the file, before anything is unpacked where the file states its size.
 *
 * Of 100 published files the most packed one unpacks to 20 times its size, archives to 8 times. The limit is twice the most.
 */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../import-error.ts'

const RATIO_MAX = 40
/** Small files may unpack to this much at any ratio: a table of blanks is packed to nearly nothing. */
const UNPACKED_FREE_BYTES = 32 * 2 ** 20
/** A table of one state, which is held in memory. */
const TABLE_BYTES_MAX = 512 * 2 ** 20
/** Files that are read as one text: lists, tables of codes, answers of interfaces. */
export const TEXT_BYTES_MAX = 128 * 2 ** 20
const TEXT_LINES_MAX = 4_000_000
const REMEDY = 'Fetch the file again; published files are packed to no less than a twentieth'

/** @returns bytes that a file or archive may unpack to */
export const unpackedMax = (packedBytes: number): number =>
  Math.max(UNPACKED_FREE_BYTES, packedBytes * RATIO_MAX)

/** @throws ImportError where a file would unpack to more than it may */
export function refuseUnpacked(file: string, packedBytes: number, unpackedBytes: number): void {
  const max = unpackedMax(packedBytes)
  if (unpackedBytes > max)
    throw new ImportError(
      file,
      `unpacks to ${toMebibytes(unpackedBytes)} MiB or more, over ${RATIO_MAX} times its size`,
      REMEDY,
    )
}

/** @throws ImportError where a table is too large for memory */
export function refuseLargeTable(file: string, bytes: number): void {
  if (bytes > TABLE_BYTES_MAX)
    throw new ImportError(
      file,
      `holds ${toMebibytes(bytes)} MiB, more than a file of one state has`,
      'Fetch the file again',
    )
}

const toMebibytes = (bytes: number): number => Math.floor(bytes / 2 ** 20)

/**
 * Unpacks gzip. The bytes are counted first and then unpacked into one buffer: pieces that are put together take twice the memory.
 * @throws ImportError where they are cut, or are more than they may be
 */
export async function gunzipWithin(packed: Buffer, file: string): Promise<Buffer> {
  let size = 0
  for await (const chunk of gunzipped(packed, file)) {
    size += chunk.length
    refuseUnpacked(file, packed.length, size)
    refuseLargeTable(file, size)
  }
  const unpacked = Buffer.allocUnsafe(size)
  let offset = 0
  for await (const chunk of gunzipped(packed, file)) offset += chunk.copy(unpacked, offset)
  return unpacked
}

async function* gunzipped(packed: Buffer, file: string): AsyncGenerator<Buffer> {
  const source = Readable.from([packed], { objectMode: false })
  const gunzip = createGunzip()
  try {
    yield* source.pipe(gunzip) as AsyncIterable<Buffer>
  } catch {
    throw new ImportError(file, 'is not a whole gzip file', 'Fetch the file again')
  } finally {
    gunzip.destroy()
  }
}

/**
 * Reads a file that becomes one text or one object.
 * @throws ImportError where it has more bytes or lines than any published one: each line becomes a text of its own
 */
export async function readTextFile(path: string, file: string): Promise<Buffer> {
  const { size } = await stat(path)
  const tooLarge = (what: string): ImportError =>
    new ImportError(file, `has more than ${what}`, 'Fetch the file again; no published one is as large')
  if (size > TEXT_BYTES_MAX) throw tooLarge(`${toMebibytes(TEXT_BYTES_MAX)} MiB`)
  let lines = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) lines += 1
  if (lines > TEXT_LINES_MAX) throw tooLarge(`${TEXT_LINES_MAX} lines`)
  return readFile(path)
}

/** Cells of one table that is read as a list of rows; IBGE's largest has 300,000. */
const CELLS_MAX = 5_000_000
const tooManyCells = (file: string): ImportError =>
  new ImportError(
    file,
    `has more than ${CELLS_MAX} cells`,
    'Fetch the file again; no published one has as many',
  )

/** @throws ImportError where a workbook has a few cells so far to the right that its rows would hold millions of empty ones */
export function refuseWideGrid(file: string, rows: readonly (readonly unknown[] | undefined)[]): void {
  let cells = 0
  for (const row of rows) cells += 1 + (row?.length ?? 0)
  if (cells > CELLS_MAX) throw tooManyCells(file)
}

/** @throws ImportError where a text has more cells than a published table */
export function refuseManyCells(file: string, bytes: Buffer, separator: ';' | ','): void {
  const mark = separator.charCodeAt(0)
  let cells = 0
  for (const byte of bytes) {
    if (byte === mark) cells += 1
    if (cells > CELLS_MAX) throw tooManyCells(file)
  }
}
