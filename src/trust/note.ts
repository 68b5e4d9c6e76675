/**
 * Signed notes (C2SP signed-note): a text, an empty line, and lines of signatures, each by a key that has a name. Format and
 * Ed25519 verification; no files and no private key.
 *
 * In: the text of a note and the keys that are known. Out: the text that was signed, and by whom. A signature by a key that is
 * not known is neither good nor bad; one that names a known key and does not fit refuses the whole note.
 */
import { createHash, createPublicKey, verify } from 'node:crypto'

/** A note that is not well-formed, or not signed as it must be. The message is a clause about the note. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NoteError'
  }
}

/** The public half of a key that signs notes, and its name. */
export interface Verifier {
  readonly name: string
  /** Eight hex digits, of name and key. */
  readonly keyId: string
  /** 32 bytes, base64. */
  readonly publicKey: string
  /** Name, key id and key in one text, as other implementations of signed notes take it. */
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
  /** false: its key is not among those that are known. */
  readonly verified: boolean
  /** Without the key id. */
  readonly bytes: Buffer
}

export interface Note {
  /** What was signed, with its last line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Signature type of Ed25519 in names of keys. */
const ED25519 = 1
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const KEY_ID_BYTES = 4
/** Far above what a checkpoint with its witnesses has. */
const NOTE_CHARACTERS_MAX = 100_000
const SIGNATURES_MAX = 100
/** The bytes before the 32 of an Ed25519 key in its SPKI form. */
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

/** @param text name+keyid+key; @returns null where it is none, or its key id is not that of its name and key */
export function parseVerifier(text: string): Verifier | null {
  const [, name, , encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  if (name === undefined || !KEY_NAME.test(name)) return null
  if (bytes.length !== PUBLIC_KEY_BYTES + 1 || bytes[0] !== ED25519) return null
  const verifier = verifierOf(name, bytes.subarray(1).toString('base64'))
  return verifier.verifierKey === text ? verifier : null
}

/** @returns whether a signature (base64) over a text was made by the private half of a public key (32 bytes, base64) */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'base64')])
    const key = createPublicKey({ key: der, type: 'spki', format: 'der' })
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** @returns the line of a signature over a note's text; @param signature 64 bytes */
export const signatureLineOf = ({ name, keyId }: Verifier, signature: Buffer): string =>
  `— ${name} ${Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64')}\n`

/** @returns the note of a text by one key */
export const signNote = (text: string, signer: NoteSigner): string => `${text}\n${signer.signatureLine(text)}`

/**
 * Reads a note and checks the signatures of the keys that are known.
 * @throws NoteError where it is not well-formed, or a signature that names a known key was not made by it
 */
export function readNote(note: string, known: readonly Verifier[]): Note {
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
    const verifier = known.find((key) => key.name === name && key.keyId === keyId)
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

/** @returns the note; @throws NoteError as readNote, or where none of the known keys has signed it */
export function openNote(note: string, known: readonly Verifier[]): Note {
  const opened = readNote(note, known)
  if (opened.signatures.some(({ verified }) => verified)) return opened
  const names = opened.signatures.map(({ name, keyId }) => `${name}+${keyId}`).join(', ')
  throw new NoteError(`is signed by ${names}, none of the keys that are known`)
}
