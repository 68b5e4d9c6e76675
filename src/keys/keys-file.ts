/**
 * Reads and replaces the keys file: JSON, mode 0600, SHA-256 hashes only. It is always replaced as a whole, never edited in place.
 * It contains no secrets, so a lost key must be rotated.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { z } from 'zod'
import { removeStaleFiles, replaceFile, withFileLock } from '../files.ts'
import { CAPABILITIES } from '../model/capabilities.ts'
import { KEY_ID } from './key-text.ts'
import { KeysError } from './keys-error.ts'
import { keepReserve, writeInReserve } from './reserve.ts'

/** Largest rate of a key, requests per minute. */
export const RATE_MAX = 100_000_000
const KEYS_MAX = 100_000

const time = z.iso.datetime()
const recordSchema = z.strictObject({
  id: z.string().regex(KEY_ID),
  name: z.string().min(1).max(100),
  capabilities: z.array(z.enum(CAPABILITIES)),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  rate_per_minute: z.int().min(1).max(RATE_MAX).nullable(),
})
const fileSchema = z.strictObject({ format: z.literal(1), keys: z.array(recordSchema).max(KEYS_MAX) })

export type KeyRecord = Readonly<z.infer<typeof recordSchema>>

/** @returns a text that changes whenever the file does; '' when there is none */
export function fileVersion(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
}

/**
 * @returns the records; empty when the file does not exist
 * @throws KeysError when others may read the file, or it is not a keys file
 */
export function readKeysFile(file: string): readonly KeyRecord[] {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw new KeysError(`${file} cannot be read (${code}).`)
  }
  try {
    const stat = fstatSync(handle)
    if (!stat.isFile()) throw new KeysError(`${file} is not a file.`)
    // Windows has no such modes; every file appears readable by everybody there.
    if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
      throw new KeysError(`${file} has mode ${mode}, so others can reach it; run chmod 600 on it.`)
    }
    return parseKeys(file, readFileSync(handle, 'utf8'))
  } finally {
    closeSync(handle)
  }
}

/**
 * Changes the list under a lock and replaces the file atomically, so that a reader sees either the old or the new list.
 * @param change receives the records and returns the new ones with a result
 * @param usesReserve write into the reserve when the disk is full
 * @throws KeysError like readKeysFile; FileLockError when another command holds the lock
 */
export function updateKeysFile<Result>(
  file: string,
  change: (records: readonly KeyRecord[]) => { records: readonly KeyRecord[]; result: Result },
  usesReserve = false,
): Result {
  mkdirSync(dirname(file), { recursive: true })
  const name = basename(file)
  removeStaleFiles(dirname(file), (other) => other === name || other.startsWith(`${name}.`))
  return withFileLock(file, (assertHeld) => {
    const { records, result } = change(readKeysFile(file))
    if (records.length > KEYS_MAX) throw new KeysError(`${file} holds ${KEYS_MAX} keys already.`)
    const text = `${JSON.stringify({ format: 1, keys: records }, null, 2)}\n`
    replaceFile(file, text, {
      mode: 0o600,
      beforeRename: assertHeld,
      ...(usesReserve ? { onFullDisk: (temporary) => writeInReserve(file, temporary, text) } : {}),
    })
    keepReserve(file, Buffer.byteLength(text))
    return result
  })
}

function parseKeys(file: string, text: string): readonly KeyRecord[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's message would quote the text, including hashes.
    throw new KeysError(`${file} is not JSON.`)
  }
  const parsed = fileSchema.safeParse(value)
  if (!parsed.success) {
    const pointer = parsed.error.issues[0]?.path.join('/') ?? ''
    throw new KeysError(`${file} is not a file of keys (at /${pointer}).`)
  }
  const { keys } = parsed.data
  if (new Set(keys.map(({ id }) => id)).size !== keys.length)
    throw new KeysError(`${file} holds two keys with the same id.`)
  return keys
}
