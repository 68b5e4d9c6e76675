/**
 * Signed notes (C2SP signed-note): a text, an empty line, and signature lines, each by a named key. Handles the format and
 * Ed25519 verification, without files or private keys. In: the text of a note and the keys to verify with. Out: the signed
 * text, and who signed it. A signature by another key is neither valid nor invalid. An invalid signature in the name of one
 * of the keys refuses the whole note.
 */
import { createHash, createPublicKey, verify } from 'node:crypto'

/** Reports a note that is malformed or lacks a required signature. The message is a clause about the note. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NoteError'
  }
}

/** Public half of a key that signs notes, with its name. */
export interface Verifier {
  readonly name: string
  /** Eight hex digits, derived from name and key. */
  readonly keyId: string
  readonly publicKey: string
  /** Name, key id and key in one string, the format of other implementations of signed notes. */
  readonly verifierKey: string
}

export interface NoteSigner {
  readonly verifier: Verifier
  /** @param text ends with a line feed; @returns the signature line, line feed included */
  signatureLine(text: string): string
}

interface NoteSignature {
  readonly name: string
  readonly keyId: string
  /** False when the key is not among the verifiers. */
  readonly verified: boolean
  /** Signature bytes without the key id. */
  readonly bytes: Buffer
}

export interface Note {
  /** The signed text with its last line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Signature type of Ed25519, part of the key id. */
const ED25519 = 1
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const KEY_ID_BYTES = 4
/** Far above the length of a checkpoint with its witnesses. */
const NOTE_CHARACTERS_MAX = 100_000
const SIGNATURES_MAX = 100
/** The bytes that precede the 32 of an Ed25519 key in its SPKI form. */
export const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export const KEY_NAME = /^[^\s+]{1,200}$/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a note may not hold
const CONTROL = /[\x00-\x09\x0b-\x1f]/
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u

/** @param publicKey 32 bytes, base64 */
export function verifierOf(name: string, publicKey: string): Verifier {
  const encoded = Buffer.concat([Buffer.from([ED25519]), Buffer.from(publicKey, 'base64')])
  const keyId = createHash('sha256')
    .update(`${name}\n`)
    .update(encoded)
    .digest()
    .subarray(0, KEY_ID_BYTES)
    .toString('hex')
  return { name, keyId, publicKey, verifierKey: `${name}+${keyId}+${encoded.toString('base64')}` }
}

/** @param text name+keyid+key; @returns null when it is malformed or its key id does not match */
export function parseVerifier(text: string): Verifier | null {
  const [, name, , encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  if (name === undefined || !KEY_NAME.test(name)) return null
  if (bytes.length !== PUBLIC_KEY_BYTES + 1 || bytes[0] !== ED25519) return null
  const verifier = verifierOf(name, bytes.subarray(1).toString('base64'))
  return verifier.verifierKey === text ? verifier : null
}

/** @param publicKey 32 bytes, base64 @param signature base64 */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'base64')])
    const key = createPublicKey({ key: der, type: 'spki', format: 'der' })
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** @param signature 64 bytes @returns the signature line for a note */
export const signatureLineOf = (
  { name, keyId }: Pick<Verifier, 'name' | 'keyId'>,
  signature: Buffer,
): string => `— ${name} ${Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64')}\n`

export const signNote = (text: string, signer: NoteSigner): string => `${text}\n${signer.signatureLine(text)}`

/**
 * Reads a note and checks the signatures of the given verifiers.
 * @throws NoteError when it is malformed, or a signature in a verifier's name is invalid
 */
export function readNote(note: string, verifiers: readonly Verifier[]): Note {
  if (note.length > NOTE_CHARACTERS_MAX) throw new NoteError('is too long for a signed note')
  const split = note.lastIndexOf('\n\n')
  if (split < 0 || !note.endsWith('\n') || CONTROL.test(note)) throw new NoteError('is not a signed note')
  const text = note.slice(0, split + 1)
  const lines = note.slice(split + 2, -1).split('\n')
  if (lines.length > SIGNATURES_MAX) throw new NoteError(`has more than ${SIGNATURES_MAX} signatures`)
  const signatures = lines.map((line): NoteSignature => {
    const [, name, encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    if (name === undefined || bytes.length <= KEY_ID_BYTES || bytes.toString('base64') !== encoded)
      throw new NoteError('has a line of a signature that is none')
    const keyId = bytes.subarray(0, KEY_ID_BYTES).toString('hex')
    const signature = bytes.subarray(KEY_ID_BYTES)
    const verifier = verifiers.find((key) => key.name === name && key.keyId === keyId)
    if (verifier === undefined) return { name, keyId, verified: false, bytes: signature }
    if (
      signature.length !== SIGNATURE_BYTES ||
      !isSignedBy(verifier.publicKey, text, signature.toString('base64'))
    )
      throw new NoteError(`was not signed by the key ${name}, which it names`)
    return { name, keyId, verified: true, bytes: signature }
  })
  return { text, signatures }
}

/** @throws NoteError as readNote, and when none of the verifiers signed the note */
export function openNote(note: string, verifiers: readonly Verifier[]): Note {
  const opened = readNote(note, verifiers)
  if (opened.signatures.some(({ verified }) => verified)) return opened
  const names = opened.signatures.map(({ name, keyId }) => `${name}+${keyId}`).join(', ')
  throw new NoteError(`is signed by ${names}, none of the keys that are known`)
}
