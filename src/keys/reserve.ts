/**
 * Reserves disk space, so that a key can be revoked while the disk is full. `<file>.reserve` is a file of random bytes, a little
 * larger than the keys file. Overwriting it needs no further blocks. Copy-on-write file systems (Btrfs, ZFS) may still fail;
 * revoking then works as without a reserve.
 */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'

/** Extra bytes beyond the current keys file; each revocation adds about twenty bytes. */
const EXTRA_BYTES = 4096
const reserveOf = (file: string): string => `${file}.reserve`

/** Creates the reserve when it is missing or too small. Best effort: on a full disk there is none until space is free. */
export function keepReserve(file: string, bytes: number): void {
  const reserve = reserveOf(file)
  try {
    const { size = 0 } = statSync(reserve, { throwIfNoEntry: false }) ?? {}
    if (size >= bytes + EXTRA_BYTES / 2) return
    rmSync(reserve, { force: true })
    writeFileSync(reserve, randomBytes(bytes + EXTRA_BYTES), { flag: 'wx', mode: 0o600, flush: true })
  } catch {
    rmSync(reserve, { force: true })
  }
}

/**
 * Overwrites the reserve with a text and renames it to the target. A reserve that is too small stays unchanged.
 * @returns false when there is no reserve large enough
 */
export function writeInReserve(file: string, target: string, text: string): boolean {
  const reserve = reserveOf(file)
  const bytes = Buffer.from(text)
  const size = statSync(reserve, { throwIfNoEntry: false })?.size ?? 0
  if (size < bytes.length) return false
  renameSync(reserve, target)
  const handle = openSync(target, 'r+')
  try {
    writeFileSync(handle, bytes)
    ftruncateSync(handle, bytes.length)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return true
}
