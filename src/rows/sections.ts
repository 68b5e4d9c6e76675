/**
 * The container of a row file: parts of bytes one behind the other, and at the end a line of JSON that says where they stand.
 * In: bytes in the order they come. Out: the file with its SHA-256; and back, parts read by name or in place.
 *
 * The last 16 bytes are the length of the JSON as 8 hexadecimal digits and the name of the format.
 */
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'

/** Version of the row file format: the name of the folder row files stand in. Any change of the bytes needs a new one. */
export const ROW_FORMAT = 'rows-2'

const MARK = 'susrows2'
const TAIL_BYTES = 16
const BUFFER_BYTES = 1 << 20
/** Places are 32 bits. */
const FILE_BYTES_MAX = 2 ** 32 - 1

/** Where a part stands: first byte, bytes. */
export type Place = readonly [at: number, bytes: number]

export interface SectionWriter {
  /** Bytes written so far. */
  size(): number
  write(bytes: Uint8Array): void
  /** Writes one part whole. */
  put(bytes: ArrayBufferView): Place
  /** Writes the description and closes the file, which is then on disk. */
  finish(head: unknown): { readonly bytes: number; readonly sha256: string }
  /** Closes the file after an error. */
  abandon(): void
}

export function writeSections(path: string): SectionWriter {
  const file = openSync(path, 'wx', 0o644)
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  let [filled, size] = [0, 0]
  const flush = (bytes: Uint8Array): void => {
    hash.update(bytes)
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
  }
  const write = (bytes: Uint8Array): void => {
    size += bytes.length
    if (size > FILE_BYTES_MAX) throw new RangeError('a row file beyond 4 GiB')
    if (filled + bytes.length > BUFFER_BYTES) {
      flush(buffer.subarray(0, filled))
      filled = 0
    }
    if (bytes.length > BUFFER_BYTES) flush(bytes)
    else {
      buffer.set(bytes, filled)
      filled += bytes.length
    }
  }
  return {
    size: () => size,
    write,
    put({ buffer: memory, byteOffset, byteLength }) {
      const at = size
      write(new Uint8Array(memory, byteOffset, byteLength))
      return [at, byteLength]
    },
    finish(head) {
      const text = Buffer.from(JSON.stringify(head))
      write(text)
      write(Buffer.from(text.length.toString(16).padStart(8, '0') + MARK))
      flush(buffer.subarray(0, filled))
      fsyncSync(file)
      closeSync(file)
      return { bytes: size, sha256: hash.digest('hex') }
    },
    abandon: () => closeSync(file),
  }
}

/** @returns exactly the bytes of a place; @throws when the file is shorter */
export function readPlace(file: number, [at, bytes]: Place): Buffer {
  const target = Buffer.allocUnsafeSlow(bytes)
  for (let done = 0; done < bytes; ) {
    const read = readSync(file, target, done, bytes - done, at + done)
    if (read === 0) throw new RangeError('a row file that is cut off')
    done += read
  }
  return target
}

export function readNumbers(file: number, place: Place): Uint32Array {
  const { buffer, byteOffset, byteLength } = readPlace(file, place)
  return new Uint32Array(buffer as ArrayBuffer, byteOffset, byteLength / 4)
}

/** @param size of the file; @returns the description at its end; @throws for what is no row file of this format */
export function readHead(file: number, size: number): unknown {
  const tail = size < TAIL_BYTES ? '' : readPlace(file, [size - TAIL_BYTES, TAIL_BYTES]).toString('latin1')
  const length = Number.parseInt(tail.slice(0, 8), 16)
  if (tail.slice(8) !== MARK || !(length <= size - TAIL_BYTES))
    throw new RangeError('not a row file of this version')
  return JSON.parse(readPlace(file, [size - TAIL_BYTES - length, length]).toString('utf8'))
}
