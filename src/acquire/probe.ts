/**
 * Tells whether a file whose time changed at the publisher still has the bytes that are here, without fetching it: it compares the
 * part of the container that holds its checksums. In a .dbc that is the header with the CRC-32 of all records; in a zip it is the
 * directory with the CRC-32 of each entry. Servers give new times to many files at once, up to 250 MB each, that did not change.
 */
import { open, stat } from 'node:fs/promises'
import { isDbc } from '../import/readers/dbc.ts'
import type { Remote } from './types.ts'

/** Least size of a file that is probed. Smaller ones are fetched and compared by SHA-256, which takes no longer than a new connection. */
const PROBED_FROM_BYTES = 256 * 1024
const DIRECTORY_BYTES_MAX = 4 * 2 ** 20
/** Longest end record of a zip: 22 bytes and a comment. */
const END_RECORD_BYTES_MAX = 22 + 0xffff
const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const ZIP64 = 0xffffffff

/**
 * @param address path at the publisher, which states the size of the file at `local`
 * @returns false if the bytes differ, or if only a transfer can tell
 */
export async function hasEqualChecksums(remote: Remote, address: string, local: string): Promise<boolean> {
  const range = await findChecksums(local)
  if (range === null) return false
  const [start, length] = range
  const published = await remote.readRange(address, start, length)
  return published?.equals(await readRange(local, start, length)) === true
}

/** @returns offset and length of the checksums in a file, or null if it has none or is small */
async function findChecksums(path: string): Promise<readonly [start: number, length: number] | null> {
  const size = (await stat(path).catch(() => null))?.size ?? 0
  if (size < PROBED_FROM_BYTES) return null
  const head = await readRange(path, 0, 32)
  const headerLength = head.readUInt16LE(8)
  if (isDbc(await readRange(path, 0, headerLength + 6))) return [0, headerLength + 4]
  if (head.toString('latin1', 0, 2) !== 'PK') return null
  const tail = await readRange(path, Math.max(0, size - END_RECORD_BYTES_MAX), END_RECORD_BYTES_MAX)
  const end = tail.lastIndexOf(END_RECORD)
  if (end < 0 || end + 22 > tail.length) return null
  const directory = tail.readUInt32LE(end + 16)
  if (directory === ZIP64 || directory >= size || size - directory > DIRECTORY_BYTES_MAX) return null
  return [directory, size - directory]
}

async function readRange(path: string, start: number, length: number): Promise<Buffer> {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
