/**
 * Creates and reads the secret that signs cursors. It is a file beside the keys file, created atomically. Cursors thus survive a
 * restart and are valid on every instance that shares the keys.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createFile } from '../files.ts'

const CURSOR_SECRET = /^[0-9a-f]{64}$/

/** @returns the secret; null when it cannot be read or created, or the file has other content */
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
    // Another instance created it first, or the folder is read-only.
  }
}
