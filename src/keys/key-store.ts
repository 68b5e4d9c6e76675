/**
 * The keys that a running server accepts: an in-memory copy of the keys file, reloaded when the file changes.
 *
 * Input: the keys file. Output: `authenticate`. The file is polled, because file watching misses replaced files on some systems.
 * When the file becomes unusable, the last valid list stays in use and `onProblem` is called once. A removed file means no valid
 * keys and is also reported. Unknown, malformed, revoked and expired keys all give null, without a reason.
 */
import { timingSafeEqual } from 'node:crypto'
import { basename } from 'node:path'
import type { Capability } from '../model/capabilities.ts'
import { hashKeyText, keyIdOf } from './key-text.ts'
import { fileVersion, type KeyRecord, readKeysFile } from './keys-file.ts'
import { trackLastUsed } from './last-used.ts'

/** An authenticated key and its permissions. */
export interface Key {
  readonly id: string
  readonly name: string
  readonly capabilities: readonly Capability[]
  /** Requests per minute; null for the server's default. */
  readonly rate_per_minute: number | null
}

export interface KeyStore {
  /**
   * @param secret ASCII characters
   * @returns the active key with this text; null when it is unknown, revoked or expired
   */
  authenticate(secret: string): Key | null
  /** @returns the key with this id, unless it is revoked or expired; used by links, whose signature covers the id */
  find(id: string): Key | null
  /** @returns the current problem with the file, or null; without secrets and folder names */
  problem(): string | null
  close(): void
}

export interface KeyStoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly pollMs?: number
  /** Record when each key was last used, in a file beside the keys file. */
  readonly notesUse?: boolean
  /** Called with a sentence when a changed file cannot be used; it contains no secret. */
  readonly onProblem?: (message: string) => void
}

interface Entry {
  readonly key: Key
  readonly hash: Buffer
  readonly revoked: boolean
  readonly expiresMs: number
}

/** Hash for unknown ids, so that they take as long as known ones. */
const NO_HASH = Buffer.alloc(32)

/**
 * @param file path of the keys; while it is missing, no key is valid
 * @throws KeysError when the file exists but is unusable, because a server must not start with it
 */
export function openKeyStore(file: string, options: KeyStoreOptions = {}): KeyStore {
  const { now = Date.now, pollMs = 1000, onProblem = () => undefined } = options
  let version = fileVersion(file)
  let entries = indexKeys(readKeysFile(file))

  let problem = ''
  const report = (message: string): void => {
    if (message !== problem && message !== '') onProblem(message)
    problem = message
  }
  const poll = (): void => {
    try {
      const currentVersion = fileVersion(file)
      if (currentVersion === version) return
      entries = indexKeys(readKeysFile(file))
      // Set only after a successful read, so that a failed one is retried at every poll.
      version = currentVersion
      report(currentVersion === '' ? `${file} is missing: no key is valid until it is put back.` : '')
    } catch (error) {
      report(error instanceof Error ? error.message : String(error))
    }
  }
  const timer = setInterval(poll, pollMs)
  timer.unref()
  const lastUsed = options.notesUse === true ? trackLastUsed(file, now) : null

  /** @returns the entry with this text, or null, in a time that does not depend on the text */
  const findByText = (secret: string): Entry | null => {
    const hash = hashKeyText(secret)
    const entry = entries.get(keyIdOf(secret) ?? '')
    const isEqual = timingSafeEqual(hash, entry?.hash ?? NO_HASH)
    return entry === undefined || !isEqual ? null : entry
  }
  const activeKey = (entry: Entry | null): Key | null => {
    if (entry === null || entry.revoked || entry.expiresMs <= now()) return null
    lastUsed?.note(entry.key.id)
    return entry.key
  }

  return {
    authenticate: (secret) => activeKey(findByText(secret)),
    find: (id) => activeKey(entries.get(id) ?? null),
    // /ready is public, so hide the server's folders.
    problem: () => (problem === '' ? null : problem.replaceAll(file, basename(file))),
    close() {
      clearInterval(timer)
      lastUsed?.close()
    },
  }
}

function indexKeys(records: readonly KeyRecord[]): ReadonlyMap<string, Entry> {
  return new Map(
    records.map(({ id, name, capabilities, rate_per_minute, sha256, revoked_at, expires_at }) => [
      id,
      {
        key: Object.freeze({ id, name, capabilities: Object.freeze([...capabilities]), rate_per_minute }),
        hash: Buffer.from(sha256, 'hex'),
        revoked: revoked_at !== null,
        expiresMs: expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at),
      },
    ]),
  )
}
