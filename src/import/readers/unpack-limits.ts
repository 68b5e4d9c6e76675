/**
 * Limits on unpacked size, lines and cells, so that a small file cannot fill disk or memory. If a file states its unpacked size,
 * it is checked before unpacking. Among 100 published files, the largest ratio of unpacked to packed size is 20, and 8 for
 * archives. The limit is twice the largest.
 */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../import-error.ts'

const RATIO_MAX = 40
/** Unpacked size that is accepted at any ratio, because a table of blanks compresses to almost nothing. */
const UNPACKED_FREE_BYTES = 32 * 2 ** 20
/** Maximum size of a table of one state, which is held in memory. */
const TABLE_BYTES_MAX = 512 * 2 ** 20
/** Maximum size of a file that is read as one string: lists, code tables, API responses. */
export const TEXT_BYTES_MAX = 128 * 2 ** 20
const TEXT_LINES_MAX = 4_000_000
const REMEDY = 'Fetch the file again; published files are packed to no less than a twentieth'

export const unpackedMax = (packedBytes: number): number =>
  Math.max(UNPACKED_FREE_BYTES, packedBytes * RATIO_MAX)

export function refuseUnpacked(file: string, packedBytes: number, unpackedBytes: number): void {
  const max = unpackedMax(packedBytes)
  if (unpackedBytes > max)
    throw new ImportError(
      file,
      `unpacks to ${toMebibytes(unpackedBytes)} MiB or more, over ${RATIO_MAX} times its size`,
      REMEDY,
    )
}

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
 * Unpacks gzip. It counts the bytes first and then unpacks into one buffer, because concatenating chunks takes twice the memory.
 * @throws ImportError if the data is truncated or exceeds a limit
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
 * Reads a file that becomes one string or one object.
 * @throws ImportError if it has more bytes or lines than any published file; lines count because each becomes a string
 */
export async function readTextFile(path: string, file: string): Promise<Buffer> {
  const { size } = await stat(path)
  const tooLarge = (what: string): ImportError =>
    new ImportError(file, `has more than ${what}`, 'Fetch the file again; no published one is as large')
  if (size > TEXT_BYTES_MAX) throw tooLarge(`${toMebibytes(TEXT_BYTES_MAX)} MiB`)
  let lines = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)
    for (let position = chunk.indexOf(0x0a); position >= 0; position = chunk.indexOf(0x0a, position + 1))
      lines += 1
  if (lines > TEXT_LINES_MAX) throw tooLarge(`${TEXT_LINES_MAX} lines`)
  return readFile(path)
}

/** Maximum number of cells of a table that is read as a list of rows. The largest of IBGE has 300,000. */
const CELLS_MAX = 5_000_000
const tooManyCells = (file: string): ImportError =>
  new ImportError(
    file,
    `has more than ${CELLS_MAX} cells`,
    'Fetch the file again; no published one has as many',
  )

/** @throws ImportError if a few cells far to the right would create millions of empty cells in a workbook */
export function refuseWideGrid(file: string, rows: readonly (readonly unknown[] | undefined)[]): void {
  let cells = 0
  for (const row of rows) cells += 1 + (row?.length ?? 0)
  if (cells > CELLS_MAX) throw tooManyCells(file)
}

export function refuseManyCells(file: string, bytes: Buffer, separator: ';' | ','): void {
  const separatorByte = separator.charCodeAt(0)
  let cells = 0
  for (const byte of bytes) {
    if (byte === separatorByte) cells += 1
    if (cells > CELLS_MAX) throw tooManyCells(file)
  }
}
