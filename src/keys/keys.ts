/**
 * Creates, lists, revokes and rotates API keys, for the command line and the server.
 *
 * Input: the keys file and a change. Output: the new file, and the secret of a new key, which is returned only once. A revoked key
 * stays in the file, so that its id and name still explain old logs.
 */
import { CAPABILITIES, type Capability } from '../model/capabilities.ts'
import { hashKeyText, makeKeyText } from './key-text.ts'
import { KeysError } from './keys-error.ts'
import { type KeyRecord, RATE_MAX, readKeysFile, updateKeysFile } from './keys-file.ts'
import { readLastUsed } from './last-used.ts'

export { type Key, type KeyStore, type KeyStoreOptions, openKeyStore } from './key-store.ts'
export { KeysError } from './keys-error.ts'

export interface KeyRequest {
  /** Purpose or holder of the key, 1 to 100 characters. */
  readonly name: string
  readonly capabilities: readonly Capability[]
  /** YYYY-MM-DD (last valid day, UTC) or a time such as 2027-01-31T12:00:00Z. */
  readonly expires?: string
  /** Requests per minute. */
  readonly rate?: number
}

/** A key as lists show it, without its secret and hash. */
export interface KeyInfo {
  readonly id: string
  readonly name: string
  readonly capabilities: readonly Capability[]
  readonly state: 'active' | 'expired' | 'revoked'
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly rate_per_minute: number | null
  /** To the minute; null when no server has seen the key. */
  readonly last_used_at: string | null
}

/** A new key; its secret is stored nowhere. */
export interface NewKey {
  readonly id: string
  readonly secret: string
}

const HOUR_MS = 3_600_000
const OVERLAP_HOURS = 24
const OVERLAP_HOURS_MAX = 24 * 365

/** @throws KeysError for an invalid argument or an unusable file */
export function createKey(file: string, request: KeyRequest): NewKey {
  const { name, rate } = request
  if (name.trim() === '' || name.length > 100 || /\p{Cc}/u.test(name))
    throw new KeysError('The name of a key has 1 to 100 characters and no control characters.')
  const unknown = request.capabilities.find((capability) => !CAPABILITIES.includes(capability))
  if (unknown !== undefined || request.capabilities.length === 0)
    throw new KeysError(`A key has one or more of these capabilities: ${CAPABILITIES.join(', ')}.`)
  if (rate !== undefined && !(Number.isInteger(rate) && rate >= 1 && rate <= RATE_MAX))
    throw new KeysError(`The rate of a key is a whole number of requests a minute from 1 to ${RATE_MAX}.`)
  const terms = {
    name,
    capabilities: CAPABILITIES.filter((capability) => request.capabilities.includes(capability)),
    expires_at: request.expires === undefined ? null : parseExpiry(request.expires),
    rate_per_minute: rate ?? null,
  }
  return updateKeysFile(file, (records) => {
    const { key, record } = makeKey(records, terms)
    return { records: [...records, record], result: key }
  })
}

/** @returns keys in order of creation; empty when the file does not exist @throws KeysError */
export function listKeys(file: string): KeyInfo[] {
  const lastUsed = readLastUsed(file)
  return readKeysFile(file).map(({ sha256: _sha256, ...shown }) => ({
    ...shown,
    state: stateOf(shown),
    last_used_at: lastUsed[shown.id] ?? null,
  }))
}

/** Revokes a key immediately, even on a full disk. Revoking it again changes nothing. @throws KeysError when the id is unknown */
export function revokeKey(file: string, id: string): void {
  const revoke = (records: readonly KeyRecord[]) => {
    const old = findKey(records, id)
    const revoked = { ...old, revoked_at: old.revoked_at ?? new Date().toISOString() }
    return { records: replaceRecord(records, revoked), result: undefined }
  }
  updateKeysFile(file, revoke, true)
}

/**
 * Creates a key with the name, capabilities, expiry and rate of an old one. The old key expires after the overlap, unless it
 * expires earlier anyway.
 * @param options overlapHours 0 to 8760, 24 by default
 * @throws KeysError when the id is unknown, or its key is revoked or expired
 */
export function rotateKey(file: string, id: string, options: { overlapHours?: number } = {}): NewKey {
  const { overlapHours = OVERLAP_HOURS } = options
  if (!(overlapHours >= 0 && overlapHours <= OVERLAP_HOURS_MAX))
    throw new KeysError(`The overlap is a number of hours from 0 to ${OVERLAP_HOURS_MAX}.`)
  return updateKeysFile(file, (records) => {
    const old = findKey(records, id)
    const state = stateOf(old)
    if (state !== 'active') throw new KeysError(`The key ${id} is ${state}; create a new one instead.`)
    const { key, record } = makeKey(records, old)
    const end = Math.min(
      Date.now() + overlapHours * HOUR_MS,
      old.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(old.expires_at),
    )
    const expiring = { ...old, expires_at: new Date(end).toISOString() }
    return { records: [...replaceRecord(records, expiring), record], result: key }
  })
}

type Terms = Pick<KeyRecord, 'name' | 'capabilities' | 'expires_at' | 'rate_per_minute'>

function makeKey(records: readonly KeyRecord[], terms: Terms): { key: NewKey; record: KeyRecord } {
  let key = makeKeyText()
  // Ids of 40 random bits can collide, and a key must never shadow another.
  while (records.some(({ id }) => id === key.id)) key = makeKeyText()
  const record = {
    id: key.id,
    name: terms.name,
    capabilities: [...terms.capabilities],
    sha256: hashKeyText(key.secret).toString('hex'),
    created_at: new Date().toISOString(),
    expires_at: terms.expires_at,
    revoked_at: null,
    rate_per_minute: terms.rate_per_minute,
  }
  return { key, record }
}

function findKey(records: readonly KeyRecord[], id: string): KeyRecord {
  const found = records.find((record) => record.id === id)
  // Do not repeat the invalid id, because it may be a complete key pasted by mistake.
  if (found === undefined)
    throw new KeysError('There is no key with this id; the command keys list shows them.')
  return found
}

const replaceRecord = (records: readonly KeyRecord[], record: KeyRecord): KeyRecord[] =>
  records.map((other) => (other.id === record.id ? record : other))

function stateOf(key: Pick<KeyRecord, 'expires_at' | 'revoked_at'>): KeyInfo['state'] {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? 'expired' : 'active'
}

/** @returns the end of a day, or a time, in UTC @throws KeysError */
export function parseExpiry(text: string): string {
  const [, day, clock] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? []
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day ?? ' ')
  const end = clock === undefined ? midnight + 24 * HOUR_MS : Date.parse(text)
  if (!isDay || Number.isNaN(end))
    throw new KeysError(
      'A key expires on a day (2027-01-31) or at a time with its zone (2027-01-31T12:00:00Z).',
    )
  return new Date(end).toISOString()
}
