/**
 * The keys a running server accepts: the file in memory, read again when it changes.
 *
 * In: the file of keys. Out: `authenticate`. The file is polled, because file watching misses replaced files on some
 * systems. A file that turns unusable changes nothing: the last good list stays, and `onProblem` is called once; a file
 * that is removed means no keys, which is a problem, too. Absent on purpose: reasons. Unknown, malformed, revoked and expired keys all give null.
 */
import { timingSafeEqual } from 'node:crypto'
import { basename } from 'node:path'
import type { Capability } from '../model/capabilities.ts'
import { hashKeyText, keyIdOf } from './key-text.ts'
import { fileVersion, type KeyRecord, readKeysFile } from './keys-file.ts'
import { trackLastUsed } from './last-used.ts'

/** What a request may do. */
export interface Key {
  readonly id: string
  readonly name: string
  readonly capabilities: readonly Capability[]
  /** Requests a minute, or null for the server's default. */
  readonly rate_per_minute: number | null
}

export interface KeyStore {
  /**
   * @param secret of ASCII characters
   * @param connection it came by: a key seen on it before is compared by its text, which costs less than its hash
   * @returns the key whose text this is, if there is one, not revoked and not expired
   */
  authenticate(secret: string, connection?: object): Key | null
  /** @returns the key of an id, if it is neither revoked nor expired: of links, which are signed for it */
  find(id: string): Key | null
  /** @returns what is wrong with the file now, or null; it holds no secret and no folder */
  problem(): string | null
  close(): void
}

export interface KeyStoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly pollMs?: number
  /** Writes when each key was last used, beside the file. */
  readonly notesUse?: boolean
  /** Called with a sentence when a changed file cannot be used; it holds no secret. */
  readonly onProblem?: (message: string) => void
}

interface Entry {
  readonly key: Key
  readonly hash: Buffer
  readonly revoked: boolean
  readonly expiresMs: number
}

/** A key that was authenticated on a connection. */
interface SeenKey {
  readonly text: Buffer
  readonly entry: Entry
  /** Of the file as it was then. */
  readonly entries: ReadonlyMap<string, Entry>
}

/** Compared against when there is no such key, so that an unknown id takes as long as an existing one. */
const NO_HASH = Buffer.alloc(32)

/**
 * @param file path of the keys; a missing file means no keys, until there is one
 * @throws KeysError when the file is there and cannot be used: a server must not start on it
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
      const found = fileVersion(file)
      if (found === version) return
      entries = indexKeys(readKeysFile(file))
      // Set only after a good read: a file that could not be read is tried again at every poll.
      version = found
      report(found === '' ? `${file} is missing: no key is valid until it is put back.` : '')
    } catch (error) {
      report(error instanceof Error ? error.message : String(error))
    }
  }
  const timer = setInterval(poll, pollMs)
  timer.unref()
  const lastUsed = options.notesUse === true ? trackLastUsed(file, now) : null

  const seen = new WeakMap<object, SeenKey>()
  /** @returns the entry whose text this is, or null, in a time that does not depend on the text */
  const findByText = (secret: string): Entry | null => {
    const hash = hashKeyText(secret)
    const entry = entries.get(keyIdOf(secret) ?? '')
    const equal = timingSafeEqual(hash, entry?.hash ?? NO_HASH)
    return entry === undefined || !equal ? null : entry
  }
  const findAgain = (secret: string, connection: object): Entry | null => {
    const text = Buffer.from(secret, 'latin1')
    const before = seen.get(connection)
    if (
      before?.entries === entries &&
      before.text.length === text.length &&
      timingSafeEqual(before.text, text)
    )
      return before.entry
    const entry = findByText(secret)
    if (entry !== null) seen.set(connection, { text, entry, entries })
    return entry
  }

  const activeKey = (entry: Entry | null): Key | null => {
    if (entry === null || entry.revoked || entry.expiresMs <= now()) return null
    lastUsed?.note(entry.key.id)
    return entry.key
  }

  return {
    authenticate: (secret, connection) =>
      activeKey(connection === undefined ? findByText(secret) : findAgain(secret, connection)),
    find: (id) => activeKey(entries.get(id) ?? null),
    // Anybody may read it in /ready: folders of the server are nobody else's business.
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
