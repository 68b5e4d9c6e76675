/**
 * Who vouches for a release, and that the operator's log names it: signed notes (C2SP signed-note) and proofs of inclusion (C2SP
 * tlog-proof, hashes of RFC 6962). In: the texts that stand beside a release, and a verifier key (name+keyid+key) that the caller has
 * from a place that is trusted. Out: what was signed, or a SusDataError with the code not_verified.
 */
import { bytesOf, digest, hexOf, isSigned } from './digest.ts'
import { refuse } from './request.ts'

/** A proof that held: entry and place in the log, and the tree right after it. */
export interface LogProof {
  /** What the log says: kind, release_id and the time of the entry. */
  readonly entry: {
    readonly kind: 'release' | 'promotion'
    readonly release_id: string
    readonly time: string
  }
  readonly index: number
  readonly size: number
  /** Root of the tree, base64. */
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
const joined = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => [...part]))

/** @returns bytes of a text that is base64 in its one form; null for any other */
function exactBytes(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = bytesOf(text)
    return base64Of(bytes) === text ? bytes : null
  } catch {
    return null
  }
}

/** @throws SusDataError where it is none, or its key id is not that of its name and key */
async function readVerifier(
  verifierKey: string,
): Promise<{ name: string; keyId: string; key: Uint8Array<ArrayBuffer> }> {
  const [, name = '', keyId = '', text = ''] = VERIFIER.exec(verifierKey) ?? []
  const key = exactBytes(text)
  if (key?.length !== HASH_BYTES + 1 || key[0] !== ED25519) throw refuse('a verifier key is name+keyid+key')
  if (hexOf((await digest(joined(utf8(`${name}\n`), key))).subarray(0, KEY_ID_BYTES)) !== keyId)
    throw refuse('the key id of the verifier key is not that of its name and key')
  return { name, keyId, key: key.subarray(1) }
}

/** @returns the text of a note, signed by the key; lines of other keys are passed over. @throws SusDataError */
async function openNote(note: string, verifierKey: string): Promise<string> {
  const { name, keyId, key } = await readVerifier(verifierKey)
  const split = note.lastIndexOf('\n\n')
  if (split < 0 || !note.endsWith('\n')) throw refuse('this is no signed note')
  const text = note.slice(0, split + 1)
  let isBy = false
  for (const line of note.slice(split + 2, -1).split('\n')) {
    const [, signer, encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
    const bytes = exactBytes(encoded)
    if (signer === undefined || bytes === null)
      throw refuse('the note has a line of a signature that is none')
    if (signer !== name || hexOf(bytes.subarray(0, KEY_ID_BYTES)) !== keyId) continue
    if (!(await isSigned(text, bytes.subarray(KEY_ID_BYTES), key)))
      throw refuse(`the note was not signed by the key ${name}, which it names`)
    isBy = true
  }
  if (!isBy) throw refuse(`the note is not signed by the key ${name}`)
  return text
}

/** @param note of manifest.sig; @throws SusDataError unless it is of this release, and signed by the key */
export async function checkSignature(note: string, release: string, verifierKey: string): Promise<void> {
  if ((await openNote(note, verifierKey)) !== `sus-data release\n${release}\n`)
    throw refuse(`the note is no signature of ${release}`)
}

/**
 * @param proof of log.tlog-proof, or a report's log_proof
 * @returns what the log says of the release; @throws SusDataError unless a log that the key has signed names the release there
 */
export async function checkLogProof(proof: string, release: string, verifierKey: string): Promise<LogProof> {
  const split = proof.indexOf('\n\n')
  const [format, extra = '', place = '', ...hashes] = proof.slice(0, Math.max(split, 0)).split('\n')
  const bytes = exactBytes(/^extra (.+)$/.exec(extra)?.[1] ?? '')
  const index = /^index (.+)$/.exec(place)?.[1] ?? ''
  const path = hashes.map(exactBytes)
  const isWhole = path.every((hash) => hash?.length === HASH_BYTES)
  if (format !== PROOF_FORMAT || bytes === null || !WHOLE_NUMBER.test(index) || !isWhole)
    throw refuse('this is no proof of inclusion')
  const { name } = await readVerifier(verifierKey)
  const [origin, size = '', root = ''] = (await openNote(proof.slice(split + 2), verifierKey)).split('\n')
  if (origin !== name || !WHOLE_NUMBER.test(size))
    throw refuse('the proof ends with no checkpoint of this log')
  const found = await rootOf(bytes, Number(index), Number(size), path as Uint8Array[])
  if (found === null || base64Of(found) !== root)
    throw refuse('the proof does not lead from its entry to the root of its checkpoint')
  const entry = JSON.parse(new TextDecoder().decode(bytes))
  if (entry.kind !== 'release' || entry.release_id !== release)
    throw refuse(`the log's entry is not that of ${release}`)
  return { entry, index: Number(index), size: Number(size), root }
}

/** Goes up from an entry by the hashes of its proof (RFC 9162, 2.1.3.2). @returns null where the proof has not the shape of one */
async function rootOf(
  entry: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Promise<Uint8Array | null> {
  if (index >= size) return null
  let [place, last, hash] = [index, size - 1, await digest(joined(LEAF, entry))]
  for (const beside of path) {
    if (last === 0) return null
    const isRight = place % 2 === 1 || place === last
    hash = await digest(isRight ? joined(NODE, beside, hash) : joined(NODE, hash, beside))
    if (isRight)
      while (place % 2 === 0 && place !== 0) {
        place = Math.floor(place / 2)
        last = Math.floor(last / 2)
      }
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? hash : null
}
