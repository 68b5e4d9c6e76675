/**
 * The operator's Ed25519 signing key, in a separate file (PKCS#8 PEM, mode 0600).
 *
 * It signs fingerprints of reports, releases, and the log of releases. Without the file, nothing is signed and there is no log. The
 * public key is published raw (32 bytes, base64), and with its name in signed notes, in the forms that other libraries accept.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { createFile, removeStaleFiles } from '../files.ts'
import { type NoteSigner, SPKI_PREFIX, signatureLineOf, verifierOf } from '../trust/note.ts'
import { KeysError } from './keys-error.ts'

export { isSignedBy } from '../trust/note.ts'

export interface Signed {
  /** 32 bytes, base64. */
  readonly public_key: string
  /** 64 bytes, base64. */
  readonly value: string
}

/** Creates a key. @returns its public key @throws KeysError when the file already exists */
export function createSigningKey(file: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  mkdirSync(dirname(file), { recursive: true })
  removeStaleFiles(dirname(file), (name) => name === basename(file))
  try {
    createFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new KeysError(`${file} is there already; move it away to make a new key`)
    throw error
  }
  return rawKey(publicKey)
}

const rawKey = (key: KeyObject): string =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64')

const cachedKeys = new Map<string, { readonly stamp: string; readonly key: KeyObject }>()

/** Reads the current key from disk, but only when the file changed. */
function readKey(file: string): KeyObject | null {
  let stamp: string
  try {
    const { mtimeMs, size, ino } = statSync(file)
    stamp = `${mtimeMs} ${size} ${ino}`
  } catch {
    return null
  }
  const cached = cachedKeys.get(file)
  if (cached?.stamp === stamp) return cached.key
  const key = parseKey(file)
  if (key.asymmetricKeyType !== 'ed25519') throw new KeysError(`${file} holds no Ed25519 key`)
  cachedKeys.set(file, { stamp, key })
  return key
}

/** Replaces the parser's error, which names neither the file nor a remedy. @throws KeysError */
function parseKey(file: string): KeyObject {
  const pem = readFileSync(file)
  try {
    return createPrivateKey(pem)
  } catch {
    throw new KeysError(
      `${file} is not a private key (PKCS#8 PEM); put it back from your copy, or move it away to go on without signing.`,
    )
  }
}

/** @returns a function that signs a fingerprint (its 64 characters); null without a key */
export function loadSigner(file: string): ((fingerprint: string) => Signed) | null {
  const key = readKey(file)
  if (key === null) return null
  const publicKey = rawKey(createPublicKey(key))
  return (fingerprint) => ({
    public_key: publicKey,
    value: signBytes(null, Buffer.from(fingerprint), key).toString('base64'),
  })
}

export function readPublicKey(file: string): string | null {
  const key = readKey(file)
  return key === null ? null : rawKey(createPublicKey(key))
}

/**
 * Loads the key as a signer of notes: of releases, checkpoints of the log, and attestations.
 * @param name of the key in notes, and of the log; null derives a name from the public key
 * @returns null without a key
 */
export function loadNoteSigner(file: string, name: string | null): NoteSigner | null {
  const key = readKey(file)
  if (key === null) return null
  const publicKey = rawKey(createPublicKey(key))
  const verifier = verifierOf(name ?? nameOf(publicKey), publicKey)
  return {
    verifier,
    signatureLine: (text) => signatureLineOf(verifier, signBytes(null, Buffer.from(text), key)),
  }
}

const nameOf = (publicKey: string): string =>
  `sus-data/${createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 16)}`
