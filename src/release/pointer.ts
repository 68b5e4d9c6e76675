/**
 * Reads `current.json`, which names the release in service. Out: the id, or the problem with the file. Whether the release
 * can be served is not checked here.
 */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RELEASE_ID } from './manifest.ts'

export const POINTER = 'current.json'

export interface Pointer {
  readonly id: string | null
  /** Problem with the file; null when it is valid or missing. */
  readonly problem: string | null
}

export const lookAtPointer = (releasesDir: string): Promise<Pointer> =>
  readFile(join(releasesDir, POINTER), 'utf8').then(parsePointer, unreadable)

/** Synchronous lookAtPointer, for callers that must not be interrupted. */
export function lookAtPointerSync(releasesDir: string): Pointer {
  let text: string
  try {
    text = readFileSync(join(releasesDir, POINTER), 'utf8')
  } catch (error) {
    return unreadable(error)
  }
  return parsePointer(text)
}

/** @returns the id in current.json, or null when the file is missing or invalid */
export const readPointer = async (releasesDir: string): Promise<string | null> =>
  (await lookAtPointer(releasesDir)).id

const damaged = (problem: string): Pointer => ({ id: null, problem })

function unreadable(error: unknown): Pointer {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? { id: null, problem: null } : damaged(`cannot be read (${code})`)
}

/** @param text of a pointer file */
export function parsePointer(text: string): Pointer {
  try {
    const id = (JSON.parse(text) as { analytics?: unknown } | null)?.analytics
    if (typeof id === 'string' && RELEASE_ID.test(id)) return { id, problem: null }
    return damaged('does not name an analytics release')
  } catch {
    return damaged('is not JSON')
  }
}
