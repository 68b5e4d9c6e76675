/**
 * Checks cosignatures of checkpoints (C2SP tlog-cosignature). A witness signs a checkpoint with the time after checking that
 * the tree extends the one it signed before. An operator who shows different logs to different people needs a different
 * witness for each. In: the note of a checkpoint and the keys of witnesses. Out: who cosigned it, when, and whether the
 * cosignature is valid. note.ts checks the signature of the log itself. Nothing here contacts a witness.
 */
import { createHash } from 'node:crypto'
import { isSignedBy, KEY_NAME, readNote, type Verifier } from './note.ts'

/** Public key of a witness, which cosigns checkpoints. */
export interface Witness {
  readonly name: string
  readonly keyId: string
  readonly publicKey: string
}

export interface Cosignature {
  readonly name: string
  readonly key_id: string
  /** 'unknown' means that the witness's key is not configured. */
  readonly status: 'valid' | 'invalid' | 'unknown'
  /** Signing time in UTC; null when it cannot be verified. */
  readonly time: string | null
}

/** Signature type of Ed25519 cosignatures, part of the key id. */
const COSIGNATURE = 4
const PUBLIC_KEY_BYTES = 32
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
/** Last second of the year 9999. */
const TIME_MAX = 253_402_300_799n

/** @param text name+keyid+key; @returns null when it is not a witness key or its key id does not match */
export function parseWitness(text: string): Witness | null {
  const [, name = '', keyId = '', encoded = ''] =
    /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  if (!KEY_NAME.test(name) || bytes.toString('base64') !== encoded) return null
  if (bytes.length !== PUBLIC_KEY_BYTES + 1 || bytes[0] !== COSIGNATURE) return null
  const digest = createHash('sha256').update(`${name}\n`).update(bytes).digest('hex')
  return digest.startsWith(keyId) ? { name, keyId, publicKey: bytes.subarray(1).toString('base64') } : null
}

/** @param verifiers keys of the log, whose signatures are not cosignatures @throws NoteError as readNote */
export function readCosignatures(
  note: string,
  verifiers: readonly Verifier[],
  witnesses: readonly Witness[],
): Cosignature[] {
  const { text, signatures } = readNote(note, verifiers)
  return signatures
    .filter(({ verified }) => !verified)
    .map(({ name, keyId, bytes }) => {
      const witness = witnesses.find((each) => each.name === name && each.keyId === keyId)
      if (witness === undefined) return { name, key_id: keyId, status: 'unknown', time: null }
      const time = timeOf(text, witness, bytes)
      return { name, key_id: keyId, status: time === null ? 'invalid' : 'valid', time }
    })
}

/** @returns the time at which a witness signed a checkpoint; null when the bytes are not its signature */
function timeOf(text: string, { publicKey }: Witness, bytes: Buffer): string | null {
  if (bytes.length !== TIME_BYTES + SIGNATURE_BYTES) return null
  const seconds = bytes.readBigUInt64BE()
  const signature = bytes.subarray(TIME_BYTES).toString('base64')
  if (seconds > TIME_MAX || !isSignedBy(publicKey, `cosignature/v1\ntime ${seconds}\n${text}`, signature))
    return null
  return new Date(Number(seconds) * 1000).toISOString()
}

/** @returns problems with the cosignatures of required witnesses, as clauses about the checkpoint */
export function checkCosignatures(
  cosignatures: readonly Cosignature[],
  witnesses: readonly Witness[],
): string[] {
  return witnesses.flatMap(({ name, keyId }) => {
    const witnessSignatures = cosignatures.filter((each) => each.name === name && each.key_id === keyId)
    if (witnessSignatures.some(({ status }) => status === 'invalid'))
      return [`was not cosigned by ${name}, whose cosignature it carries`]
    return witnessSignatures.length === 0 ? [`is not cosigned by ${name}`] : []
  })
}
