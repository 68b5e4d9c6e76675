/**
 * Verifies signed notes (C2SP signed-note) and proofs of inclusion in the operator's log (C2SP tlog-proof, hashes of RFC 6962). In: the
 * texts stored with a release, and a verifier key (name+keyid+key) from a trusted source. Out: the signed content, or a SusDataError with
 * the code not_verified.
 */
import { bytesOf, digest, hexOf, isSigned } from './digest.ts'
import { notVerified } from './request.ts'

export interface LogProof {
  readonly entry: {
    readonly kind: 'release' | 'promotion'
    readonly release_id: string
    readonly time: string
  }
  readonly index: number
  readonly size: number
  /** Base64. */
  readonly root: string
}

const ED25519 = 1
const LEAF = new Uint8Array([0])
const NODE = new Uint8Array([1])
const VERIFIER = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u
const WHOLE_NUMBER = /^(0|[1-9]\d{0,14})$/
const PROOF_FORMAT = 'c2sp.org/tlog-proof@v1'
const HASH_BYTES = 32
const KEY_ID_BYTES = 4

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const concat = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => [...part]))

/** @returns the decoded bytes; null for text that is not canonical base64 */
function exactBytes(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = bytesOf(text)
    return base64Of(bytes) === text ? bytes : null
  } catch {
    return null
  }
}

/** @throws SusDataError when the key is malformed, or its id does not match name and key */
async function readVerifier(
  verifierKey: string,
): Promise<{ name: string; keyId: string; key: Uint8Array<ArrayBuffer> }> {
  const [, name = '', keyId = '', text = ''] = VERIFIER.exec(verifierKey) ?? []
  const key = exactBytes(text)
  if (key?.length !== HASH_BYTES + 1 || key[0] !== ED25519)
    throw notVerified('a verifier key is name+keyid+key')
  if (hexOf((await digest(concat(utf8(`${name}\n`), key))).subarray(0, KEY_ID_BYTES)) !== keyId)
    throw notVerified('the key id of the verifier key is not that of its name and key')
  return { name, keyId, key: key.subarray(1) }
}

/** @returns the text of a note that the key signed; signatures by other keys are ignored. @throws SusDataError */
async function openNote(note: string, verifierKey: string): Promise<string> {
  const { name, keyId, key } = await readVerifier(verifierKey)
  const split = note.lastIndexOf('\n\n')
  if (split < 0 || !note.endsWith('\n')) throw notVerified('this is no signed note')
  const text = note.slice(0, split + 1)
  let isVerified = false
  for (const line of note.slice(split + 2, -1).split('\n')) {
    const [, signer, encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
    const bytes = exactBytes(encoded)
    if (signer === undefined || bytes === null)
      throw notVerified('the note has a line of a signature that is none')
    if (signer !== name || hexOf(bytes.subarray(0, KEY_ID_BYTES)) !== keyId) continue
    if (!(await isSigned(text, bytes.subarray(KEY_ID_BYTES), key)))
      throw notVerified(`the note was not signed by the key ${name}, which it names`)
    isVerified = true
  }
  if (!isVerified) throw notVerified(`the note is not signed by the key ${name}`)
  return text
}

/** @param note content of manifest.sig; @throws SusDataError unless the key signed this release */
export async function checkSignature(note: string, release: string, verifierKey: string): Promise<void> {
  if ((await openNote(note, verifierKey)) !== `sus-data release\n${release}\n`)
    throw notVerified(`the note is no signature of ${release}`)
}

/**
 * @param proof content of log.tlog-proof, or a report's log_proof
 * @returns the log's entry of the release; @throws SusDataError unless the key signed a log that contains the release
 */
export async function checkLogProof(proof: string, release: string, verifierKey: string): Promise<LogProof> {
  const split = proof.indexOf('\n\n')
  const [format, extra = '', indexLine = '', ...hashes] = proof.slice(0, Math.max(split, 0)).split('\n')
  const bytes = exactBytes(/^extra (.+)$/.exec(extra)?.[1] ?? '')
  const index = /^index (.+)$/.exec(indexLine)?.[1] ?? ''
  const path = hashes.map(exactBytes)
  const areHashes = path.every((hash) => hash?.length === HASH_BYTES)
  if (format !== PROOF_FORMAT || bytes === null || !WHOLE_NUMBER.test(index) || !areHashes)
    throw notVerified('this is no proof of inclusion')
  const { name } = await readVerifier(verifierKey)
  const [origin, size = '', root = ''] = (await openNote(proof.slice(split + 2), verifierKey)).split('\n')
  if (origin !== name || !WHOLE_NUMBER.test(size))
    throw notVerified('the proof ends with no checkpoint of this log')
  const computedRoot = await rootOf(bytes, Number(index), Number(size), path as Uint8Array[])
  if (computedRoot === null || base64Of(computedRoot) !== root)
    throw notVerified('the proof does not lead from its entry to the root of its checkpoint')
  const entry = JSON.parse(new TextDecoder().decode(bytes))
  if (entry.kind !== 'release' || entry.release_id !== release)
    throw notVerified(`the log's entry is not that of ${release}`)
  return { entry, index: Number(index), size: Number(size), root }
}

/** Computes the root from an entry and the hashes of its proof (RFC 9162, 2.1.3.2). @returns null for a malformed proof */
async function rootOf(
  entry: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Promise<Uint8Array | null> {
  if (index >= size) return null
  let [position, last, hash] = [index, size - 1, await digest(concat(LEAF, entry))]
  for (const sibling of path) {
    if (last === 0) return null
    const isRight = position % 2 === 1 || position === last
    hash = await digest(isRight ? concat(NODE, sibling, hash) : concat(NODE, hash, sibling))
    if (isRight)
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2)
        last = Math.floor(last / 2)
      }
    position = Math.floor(position / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? hash : null
}
