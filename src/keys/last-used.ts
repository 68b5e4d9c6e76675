/**
 * Records when each key was last used, to the minute, so that operators can revoke unused keys. Input: ids of used keys. Output: a
 * small file beside the keys file, which several servers of one folder update.
 *
 * This is best effort: a failed write (full disk, kill, power cut) only loses the time of use.
 */
import { readFileSync } from 'node:fs'
import { replaceFile } from '../files.ts'

const MINUTE_MS = 60_000

export interface LastUsed {
  note(id: string): void
  flush(): void
  close(): void
}

const fileOf = (keysFile: string): string => `${keysFile}.used`

/** @returns key id → time of last use (ISO 8601); empty when nothing was recorded */
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
      replaceFile(fileOf(keysFile), `${JSON.stringify(merged)}\n`, { mode: 0o600, isSynced: false })
    } catch {
      // A read-only folder gets no record of use.
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
