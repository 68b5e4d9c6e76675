/**
 * `current.json`, which names the release in service. In: the folder of releases. Out: the id, or what is wrong with the file. Not
 * responsible for: whether the release can be served.
 */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RELEASE_ID } from './manifest.ts'

export const POINTER = 'current.json'

export interface Pointer {
  readonly id: string | null
  /** What is wrong with the file; null where it is good, and where there is none. */
  readonly problem: string | null
}

/** @returns what current.json says now */
export const lookAtPointer = (releasesDir: string): Promise<Pointer> =>
  readFile(join(releasesDir, POINTER), 'utf8').then(parsePointer, unreadable)

/** As lookAtPointer, for changes that nothing may come between. */
export function lookAtPointerSync(releasesDir: string): Pointer {
  let text: string
  try {
    text = readFileSync(join(releasesDir, POINTER), 'utf8')
  } catch (error) {
    return unreadable(error)
  }
  return parsePointer(text)
}

/** @returns the id current.json names, or null when there is none or it cannot be read */
export const readPointer = async (releasesDir: string): Promise<string | null> =>
  (await lookAtPointer(releasesDir)).id

const damaged = (problem: string): Pointer => ({ id: null, problem })

function unreadable(error: unknown): Pointer {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? { id: null, problem: null } : damaged(`cannot be read (${code})`)
}

function parsePointer(text: string): Pointer {
  try {
    const id = (JSON.parse(text) as { analytics?: unknown } | null)?.analytics
    if (typeof id === 'string' && RELEASE_ID.test(id)) return { id, problem: null }
    return damaged('does not name an analytics release')
  } catch {
    return damaged('is not JSON')
  }
}
