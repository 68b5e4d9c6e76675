/**
 * The operator's signing key: Ed25519, in a file of its own (PKCS#8 PEM, mode 0600).
 *
 * A report's fingerprint is signed where the file is there; where it is not, reports say that they are not signed. The
 * public key is handed out raw (32 bytes, base64), as other libraries take it.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { KeysError } from './keys-error.ts'

export interface Signed {
  /** 32 bytes, base64. */
  readonly public_key: string
  /** 64 bytes, base64. */
  readonly value: string
}

/** The bytes before the 32 of an Ed25519 key in its SPKI form. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** Makes a key. @returns its public half; @throws KeysError when the file is there already */
export function createSigningKey(file: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  mkdirSync(dirname(file), { recursive: true })
  let handle: number
  try {
    handle = openSync(file, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new KeysError(`${file} is there already; move it away to make a new key`)
    throw error
  }
  writeSync(handle, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  closeSync(handle)
  return rawKey(publicKey)
}

const rawKey = (key: KeyObject): string =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64')

const loaded = new Map<string, { readonly stamp: string; readonly key: KeyObject }>()

/** The key as it is on disk now; read again only when the file changed. */
function readKey(file: string): KeyObject | null {
  let stamp: string
  try {
    const { mtimeMs, size, ino } = statSync(file)
    stamp = `${mtimeMs} ${size} ${ino}`
  } catch {
    return null
  }
  const before = loaded.get(file)
  if (before?.stamp === stamp) return before.key
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType !== 'ed25519') throw new KeysError(`${file} holds no Ed25519 key`)
  loaded.set(file, { stamp, key })
  return key
}

/** @returns a function that signs a fingerprint (its 64 characters), or null where there is no key */
export function loadSigner(file: string): ((fingerprint: string) => Signed) | null {
  const key = readKey(file)
  if (key === null) return null
  const publicKey = rawKey(createPublicKey(key))
  return (fingerprint) => ({
    public_key: publicKey,
    value: signBytes(null, Buffer.from(fingerprint), key).toString('base64'),
  })
}

/** @returns the public key (32 bytes, base64), or null where there is none */
export function readPublicKey(file: string): string | null {
  const key = readKey(file)
  return key === null ? null : rawKey(createPublicKey(key))
}

/** @returns whether a signature over a fingerprint was made by the private half of a public key */
export function isSignedBy(publicKey: string, fingerprint: string, value: string): boolean {
  try {
    const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'base64')])
    const key = createPublicKey({ key: der, type: 'spki', format: 'der' })
    return verifyBytes(null, Buffer.from(fingerprint), key, Buffer.from(value, 'base64'))
  } catch {
    return false
  }
}
