/**
 * Signed files beside a release's manifest: `manifest.sig` (the signatures of the release) and `attestations/*.note` (who
 * rebuilt the same release from the snapshots). They are signed notes over the release's id, the digest of all of it. In: a
 * release's folder and the keys to verify with. Out: who signed. Rebuilding a release is done elsewhere.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../files.ts'
import { canonicalJson } from '../release/digest.ts'
import { RELEASE_ID } from '../release/manifest.ts'
import { ReleaseRefused, TRUST_FILE } from '../release/verify.ts'
import { checkStoredProof } from './checkpoint.ts'
import {
  type Note,
  NoteError,
  type NoteSigner,
  readNote,
  signatureLineOf,
  signNote,
  type Verifier,
} from './note.ts'

export const SIGNATURE_FILE = 'manifest.sig'
export const PROOF_FILE = 'log.tlog-proof'
const ATTESTATIONS = 'attestations'
const NOTE_SUFFIX = '.note'

/** First lines of notes. They state the meaning of the signature, so that one kind of note cannot be used as another. */
const RELEASE_LINE = 'sus-data release'
const ATTESTATION_LINE = 'sus-data attestation'

/** The rebuild that an attestation describes. */
const rebuildSchema = z.strictObject({
  time: z.iso.datetime(),
  duckdb_version: z.string(),
  importer_version: z.string(),
  catalog_version: z.string(),
  platform: z.string(),
  /** Absent in notes made before content ids existed; then the bytes were the same. */
  result: z.enum(['same bytes', 'same content']).optional(),
  content_id: z.string().optional(),
})
export type Rebuild = z.infer<typeof rebuildSchema>

export interface Signature {
  readonly name: string
  readonly key_id: string
  /** True when a verifier's key made the signature; signatures by other keys are not checked. */
  readonly trusted: boolean
}

export interface Attestation extends Signature, Rebuild {
  /** The signed note, so that owners of the key can verify it. */
  readonly note: string
}

const releaseText = (id: string): string => `${RELEASE_LINE}\n${id}\n`

/**
 * @param before current content of manifest.sig, whose signatures by other keys stay
 * @returns the new content; a valid signature of this key stays as it is, because Ed25519 gives the same bytes again
 * @throws ReleaseRefused when `before` is no signed note
 */
export function signRelease(id: string, signer: NoteSigner, before: string | null = null): string {
  const text = releaseText(id)
  if (before === null) return signNote(text, signer)
  const note = readNoteOf(id, before)
  if (note.text !== text) return signNote(text, signer)
  const { name, keyId } = signer.verifier
  const line = signer.signatureLine(text)
  const lines = note.signatures.map((signature) =>
    signature.name === name && signature.keyId === keyId ? line : signatureLineOf(signature, signature.bytes),
  )
  return `${text}\n${[...new Set([...lines, line])].join('')}`
}

function readNoteOf(id: string, text: string): Note {
  try {
    return readNote(text, [])
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    const remedy = `remove the file, and sus-data sign ${id} makes it again`
    throw new ReleaseRefused(id, SIGNATURE_FILE, `${error.message}; ${remedy}`)
  }
}

/**
 * @returns who signed a release; empty without manifest.sig
 * @throws ReleaseRefused when the file does not sign this release, or a verifier's signature is invalid
 */
export function readSignatures(releasesDir: string, id: string, verifiers: readonly Verifier[]): Signature[] {
  const text = readOrNull(join(releasesDir, id, SIGNATURE_FILE))
  return text === null ? [] : parseSignatures(id, text, verifiers)
}

function parseSignatures(id: string, text: string, verifiers: readonly Verifier[]): Signature[] {
  try {
    const note = readNote(text, verifiers)
    if (note.text !== releaseText(id)) throw new NoteError('is the signature of another release')
    return signaturesOf(note)
  } catch (error) {
    if (error instanceof NoteError) throw new ReleaseRefused(id, SIGNATURE_FILE, error.message)
    throw error
  }
}

/**
 * Requires the signature of a trusted key. @param trusted if empty, signatures only need to be valid
 * @throws ReleaseRefused
 */
export function checkTrust(releasesDir: string, id: string, trusted: readonly Verifier[]): Signature[] {
  return requireSignature(id, readOrNull(join(releasesDir, id, SIGNATURE_FILE)), trusted)
}

/** Like checkTrust, for a release that is not in a folder yet. @param text of manifest.sig; null when it is missing */
export function requireSignature(id: string, text: string | null, trusted: readonly Verifier[]): Signature[] {
  const signatures = text === null ? [] : parseSignatures(id, text, trusted)
  if (trusted.length === 0 || signatures.some((signature) => signature.trusted)) return signatures
  const by = signatures.map(({ name, key_id }) => `${name}+${key_id}`).join(', ')
  throw new ReleaseRefused(
    id,
    SIGNATURE_FILE,
    by === ''
      ? 'is missing, and SUS_TRUSTED_KEYS wants releases signed; sus-data sign signs this one'
      : `has signatures of ${by} alone, none of the keys in SUS_TRUSTED_KEYS`,
  )
}

export const attest = (id: string, rebuild: Rebuild, signer: NoteSigner): string =>
  signNote(`${ATTESTATION_LINE}\n${id}\n${canonicalJson(rebuild)}\n`, signer)

/** Stores an attestation beside the release, replacing an earlier one of the same key. @returns its path */
export function writeAttestation(releasesDir: string, id: string, note: string, signer: NoteSigner): string {
  const folder = join(releasesDir, id, ATTESTATIONS)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${signer.verifier.keyId}${NOTE_SUFFIX}`)
  replaceFile(path, note)
  return path
}

/** @returns valid attestations beside a release; those of other releases, or forged in a verifier's name, are left out */
export function readAttestations(
  releasesDir: string,
  id: string,
  verifiers: readonly Verifier[],
): Attestation[] {
  let names: string[]
  try {
    names = readdirSync(join(releasesDir, id, ATTESTATIONS)).sort()
  } catch {
    return []
  }
  return names
    .filter((name) => TRUST_FILE.test(`${ATTESTATIONS}/${name}`))
    .flatMap((name) => {
      const text = readOrNull(join(releasesDir, id, ATTESTATIONS, name)) ?? ''
      return parseAttestations(id, `${ATTESTATIONS}/${name}`, text, verifiers) ?? []
    })
}

/**
 * @param name `attestations/<id of the key>.note`
 * @returns null when the text does not attest this release, lacks the signature of the key in its name, or is forged in a verifier's name
 */
function parseAttestations(
  id: string,
  name: string,
  text: string,
  verifiers: readonly Verifier[],
): Attestation[] | null {
  try {
    const note = readNote(text, verifiers)
    const [kind, releaseId, rebuild = '', ...rest] = note.text.split('\n')
    if (kind !== ATTESTATION_LINE || releaseId !== id || rest.join() !== '') return null
    const rebuilt = rebuildSchema.parse(JSON.parse(rebuild))
    const signer = note.signatures.find(({ keyId }) => name === `${ATTESTATIONS}/${keyId}${NOTE_SUFFIX}`)
    const isTrusted = verifiers.some(({ keyId }) => keyId === signer?.keyId)
    if (signer === undefined || (isTrusted && !signer.verified)) return null
    return signaturesOf(note).map((signature) => ({ ...signature, ...rebuilt, note: text }))
  } catch {
    return null
  }
}

/** @returns the position of the release's entry in the log, from the proof beside it; null without a proof */
export function readLogPlace(
  releasesDir: string,
  id: string,
  verifiers: readonly Verifier[],
): { origin: string; index: number; time: string } | null {
  const text = readOrNull(join(releasesDir, id, PROOF_FILE))
  if (text === null) return null
  try {
    const { origin, index, entry } = checkStoredProof({ releaseId: id, text }, verifiers)
    return { origin, index, time: entry.time }
  } catch (error) {
    if (error instanceof NoteError) return null
    throw error
  }
}

/**
 * Checks a signature, proof or attestation beside a release, as far as the verifiers can.
 * @param name file name in the release
 * @throws ReleaseRefused when the content does not match the name
 */
export function checkBeside(id: string, name: string, text: string, verifiers: readonly Verifier[]): void {
  if (name === SIGNATURE_FILE) parseSignatures(id, text, verifiers)
  else if (name === PROOF_FILE)
    try {
      checkStoredProof({ releaseId: id, text }, verifiers)
    } catch (error) {
      if (error instanceof NoteError) throw new ReleaseRefused(id, name, error.message)
      throw error
    }
  else if (parseAttestations(id, name, text, verifiers) === null)
    throw new ReleaseRefused(
      id,
      name,
      'is no attestation of this release by the key that the file is named by',
    )
}

/** A signed file beside a release's manifest. */
export interface StoredNote {
  readonly releaseId: string
  /** Name in the release's folder. */
  readonly name: string
  readonly text: string
}

/** @returns the signatures and attestations beside all releases of a folder */
export function readNotes(releasesDir: string): StoredNote[] {
  const namesIn = (folder: string): string[] => {
    try {
      return readdirSync(join(releasesDir, folder)).sort()
    } catch {
      return []
    }
  }
  return namesIn('')
    .filter((name) => RELEASE_ID.test(name))
    .flatMap((releaseId) =>
      [SIGNATURE_FILE, ...namesIn(join(releaseId, ATTESTATIONS)).map((name) => `${ATTESTATIONS}/${name}`)]
        .filter((name) => TRUST_FILE.test(name))
        .flatMap((name) => {
          const text = readOrNull(join(releasesDir, releaseId, name))
          return text === null ? [] : [{ releaseId, name, text }]
        }),
    )
}

const signaturesOf = (note: Note): Signature[] =>
  note.signatures.map(({ name, keyId, verified }) => ({ name, key_id: keyId, trusted: verified }))

export function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
