/**
 * Room on the disk for one more list of keys, so that a key can be revoked while the disk is full: `<file>.reserve`, a file of
 * random bytes that is a little larger than the file of keys. Its blocks are taken already; what is written over them needs no
 * others. In: the file of keys, and what is to be written. Out: whether there was room. Absent on purpose: file systems that
 * never write a block in place (Btrfs, ZFS) may still refuse; then it is as without a reserve.
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

/** More than the keys take now: each revocation adds some twenty bytes. */
const MORE_BYTES = 4096
const reserveOf = (file: string): string => `${file}.reserve`

/** Makes the reserve, where it is not there or too small. Best effort: a disk that is full now has none until it is not. */
export function keepReserve(file: string, bytes: number): void {
  const reserve = reserveOf(file)
  try {
    const { size = 0 } = statSync(reserve, { throwIfNoEntry: false }) ?? {}
    if (size >= bytes + MORE_BYTES / 2) return
    rmSync(reserve, { force: true })
    writeFileSync(reserve, randomBytes(bytes + MORE_BYTES), { flag: 'wx', mode: 0o600, flush: true })
  } catch {
    rmSync(reserve, { force: true })
  }
}

/**
 * Turns the reserve into a file that holds a text and nothing else. A reserve that is too small stays what it is.
 * @returns false where there is no reserve that it fits into
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
