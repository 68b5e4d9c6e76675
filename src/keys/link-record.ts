/**
 * Records which releases links name, so that pruning keeps them while the links work. In: links as they are made. Out: a small
 * file beside the keys file. A link itself is not stored: of each key and release the file has only when its last link ends.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { replaceFile, withFileLock } from '../files.ts'
import { listKeys } from './keys.ts'
import { KeysError } from './keys-error.ts'

const DAY_MS = 86_400_000
/** Release id → key id → day on which the last link ends. */
const recordSchema = z.record(z.string(), z.record(z.string(), z.iso.datetime()))
type LinkRecord = z.infer<typeof recordSchema>

const fileOf = (keysFile: string): string => `${keysFile}.links`

/**
 * Ends are rounded up to a day, so that a client that makes many links causes one write a day.
 * @param releaseIds releases that the link names
 * @throws KeysError when the file is damaged; FileLockError; an error of the file system when it cannot be written
 */
export function recordLink(
  keysFile: string,
  { releaseIds, keyId, expiresMs }: { releaseIds: readonly string[]; keyId: string; expiresMs: number },
  now = Date.now(),
): void {
  const end = new Date(Math.ceil(expiresMs / DAY_MS) * DAY_MS).toISOString()
  const isRecorded = (record: LinkRecord): boolean =>
    releaseIds.every((id) => (record[id]?.[keyId] ?? '') >= end)
  if (isRecorded(readRecord(keysFile))) return
  withFileLock(fileOf(keysFile), (assertHeld) => {
    const record = readRecord(keysFile)
    if (isRecorded(record)) return
    for (const id of releaseIds) {
      const ends = record[id] ?? {}
      if ((ends[keyId] ?? '') < end) record[id] = { ...ends, [keyId]: end }
    }
    const living = Object.entries(record).flatMap(([id, ends]) => {
      const left = Object.entries(ends).filter(([, time]) => Date.parse(time) > now)
      return left.length === 0 ? [] : [[id, Object.fromEntries(left)]]
    })
    replaceFile(fileOf(keysFile), `${JSON.stringify(Object.fromEntries(living))}\n`, {
      mode: 0o600,
      beforeRename: assertHeld,
    })
  })
}

/**
 * @returns releases named by links that still work, with the end of the last one (milliseconds since 1970)
 * @throws KeysError when the record or the keys cannot be read
 */
export function readLinkedReleases(keysFile: string, now = Date.now()): Map<string, number> {
  const record = readRecord(keysFile)
  if (Object.keys(record).length === 0) return new Map()
  const isActive = new Set(listKeys(keysFile).flatMap(({ id, state }) => (state === 'active' ? [id] : [])))
  const ends = Object.entries(record).map(([id, keys]): [string, number] => [
    id,
    Math.max(0, ...Object.entries(keys).map(([key, end]) => (isActive.has(key) ? Date.parse(end) : 0))),
  ])
  return new Map(ends.filter(([, end]) => end > now))
}

function readRecord(keysFile: string): LinkRecord {
  const file = fileOf(keysFile)
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new KeysError(
      code === undefined
        ? `${file} is damaged; it lists the releases that links name. Without it, a link may lose its release.`
        : `${file} cannot be read (${code}).`,
    )
  }
}
