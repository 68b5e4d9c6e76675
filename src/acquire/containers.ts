/**
 * Checks that a transferred file is whole by what its container says about itself: dBase header and CRC-32, zip directory, JSON.
 * A file without such a statement is checked for its size only, by the caller.
 */
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { ImportError } from '../import/import-error.ts'
import { readDbfRecords } from '../import/readers/dbf-records.ts'
import { parseJson } from '../import/readers/json.ts'
import { TEXT_BYTES_MAX } from '../import/readers/unpack-limits.ts'
import { listZip } from '../import/readers/zip.ts'
import { digestFile } from '../release/digest.ts'
import { FetchError } from './types.ts'

/**
 * @param path transferred file, which may have another name than the published one
 * @param name published name, whose ending tells the container
 * @returns size and SHA-256
 * @throws FetchError if the file is empty or cut
 */
export async function checkContainer(path: string, name: string): Promise<{ bytes: number; sha256: string }> {
  try {
    if (/\.db[cf]$/i.test(name)) {
      const { bytes, sha256 } = await readDbfRecords(path, name, () => () => undefined)
      return { bytes, sha256 }
    }
    const digest = await digestFile(path)
    if (digest.bytes === 0) throw new FetchError('the transfer ended with success and no bytes')
    if (/\.(zip|xlsx)$/i.test(name)) {
      if ((await firstBytes(path, 2)) !== 'PK')
        throw new FetchError('the file is no zip archive: it does not begin with PK')
      await listZip(path, name)
    } else if (/\.json$/i.test(name)) {
      if (digest.bytes > TEXT_BYTES_MAX) throw new FetchError('the answer is too large for JSON')
      const value = parseJson(await readFile(path), name)
      if (value === null || typeof value !== 'object') throw new FetchError('the answer is no list or object')
      if (Array.isArray(value) && value.length === 0) throw new FetchError('the answer is an empty list')
    } else if (/\.gz$/i.test(name)) await checkGzip(path)
    return digest
  } catch (error) {
    // The remedy of an import error is to fetch the file again, which is what the caller does.
    if (error instanceof ImportError) throw new FetchError(`the file ${error.problem}`)
    throw error
  }
}

async function checkGzip(path: string): Promise<void> {
  const { createGunzip } = await import('node:zlib')
  const unpacked = createReadStream(path).pipe(createGunzip())
  try {
    for await (const _ of unpacked);
  } catch {
    throw new FetchError('the file is cut: it does not unpack')
  }
}

async function firstBytes(path: string, count: number): Promise<string> {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
