/**
 * When each key was last used, to the minute: what an operator needs to take an unused key away. In: ids as they are
 * used. Out: a small file beside the keys, written now and then; several servers of one folder add to the same file.
 *
 * Best effort on purpose: a use that is not written (a full disk, a kill) costs nothing but the note.
 */
import { readFileSync } from 'node:fs'
import { replaceFile } from '../files.ts'

const MINUTE_MS = 60_000

export interface LastUsed {
  note(id: string): void
  /** Writes what is new. */
  flush(): void
  close(): void
}

const fileOf = (keysFile: string): string => `${keysFile}.used`

/** @returns key id → time of last use (ISO 8601); none where nothing was noted */
export function readLastUsed(keysFile: string): Readonly<Record<string, string>> {
  try {
    const value: unknown = JSON.parse(readFileSync(fileOf(keysFile), 'utf8'))
    return Object.fromEntries(
      Object.entries(value as object).filter(
        ([, at]) => typeof at === 'string' && !Number.isNaN(Date.parse(at)),
      ),
    )
  } catch {
    return {}
  }
}

export function trackLastUsed(keysFile: string, now: () => number = Date.now): LastUsed {
  const used = new Map<string, number>()
  const flush = (): void => {
    if (used.size === 0) return
    const merged: Record<string, string> = { ...readLastUsed(keysFile) }
    for (const [id, at] of used) {
      const text = new Date(at).toISOString()
      if ((merged[id] ?? '') < text) merged[id] = text
    }
    used.clear()
    try {
      replaceFile(fileOf(keysFile), `${JSON.stringify(merged)}\n`, { mode: 0o600 })
    } catch {
      // Where the folder cannot be written there is no note.
    }
  }
  const timer = setInterval(flush, MINUTE_MS)
  timer.unref()
  return {
    note: (id) => void used.set(id, now()),
    flush,
    close() {
      clearInterval(timer)
      flush()
    },
  }
}
