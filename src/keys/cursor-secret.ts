/**
 * The secret that signs cursors. Cursors outlive a restart and are understood by every instance that shares the keys, so it
 * stands beside the keys file, made once, whole or not at all.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createFile } from '../files.ts'

const CURSOR_SECRET = /^[0-9a-f]{64}$/

/** @returns null where there is none and none can be made; a file that holds something else is not taken for a secret */
export function sharedCursorSecret(keysFile: string): Buffer | null {
  const file = `${keysFile}.cursor`
  const read = (): string | null => {
    try {
      return readFileSync(file, 'utf8').trim()
    } catch {
      return null
    }
  }
  if (read() === null) makeSecret(file)
  const text = read() ?? ''
  return CURSOR_SECRET.test(text) ? createHash('sha256').update(text).digest() : null
}

function makeSecret(file: string): void {
  try {
    createFile(file, randomBytes(32).toString('hex'), 0o600)
  } catch {
    // Another instance was faster, or the folder cannot be written.
  }
}
