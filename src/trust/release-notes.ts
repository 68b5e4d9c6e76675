/**
 * What is signed of a release, in files beside its manifest: `manifest.sig` (who vouches for it) and `attestations/*.note` (who
 * made the same release again from the snapshots). Signed notes over the release's id, which is the digest of all of it.
 *
 * In: a release's folder and the keys that are known. Out: who signed. Not responsible for: making the release again.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../files.ts'
import { canonicalJson } from '../release/digest.ts'
import { ReleaseRefused, TRUST_FILE } from '../release/verify.ts'
import { checkProof, parseProof } from './checkpoint.ts'
import { decodeEntry } from './log-entry.ts'
import { type Note, NoteError, type NoteSigner, readNote, signNote, type Verifier } from './note.ts'

export const SIGNATURE_FILE = 'manifest.sig'
export const PROOF_FILE = 'log.tlog-proof'
const ATTESTATIONS = 'attestations'

/** Kinds of notes: the first line says what the signature means, so that none can stand for another. */
const RELEASE_LINE = 'sus-data release'
const ATTESTATION_LINE = 'sus-data attestation'

/** What an attestation says of the rebuild. */
const rebuildSchema = z.strictObject({
  time: z.iso.datetime(),
  duckdb_version: z.string(),
  importer_version: z.string(),
  catalog_version: z.string(),
  platform: z.string(),
  /** Absent in notes made before there were content ids; then the bytes were the same. */
  result: z.enum(['same bytes', 'same content']).optional(),
  content_id: z.string().optional(),
})
export type Rebuild = z.infer<typeof rebuildSchema>

export interface Signature {
  readonly name: string
  readonly key_id: string
  /** Made by a key that is known here; of other keys the signature was not checked. */
  readonly trusted: boolean
}

export interface Attestation extends Signature, Rebuild {
  /** The signed note, for those who know the key. */
  readonly note: string
}

const releaseText = (id: string): string => `${RELEASE_LINE}\n${id}\n`

/** @returns the content of manifest.sig: @param before what stands there, whose signatures by other keys stay */
export function signRelease(id: string, signer: NoteSigner, before: string | null = null): string {
  const text = releaseText(id)
  const others = before === null ? [] : readNote(before, []).signatures
  if (before === null || readNote(before, []).text !== text) return signNote(text, signer)
  const { name, keyId } = signer.verifier
  if (others.some((other) => other.name === name && other.keyId === keyId)) return before
  return `${before}${signer.signatureLine(text)}`
}

/**
 * @returns who signed a release; nobody where there is no manifest.sig
 * @throws ReleaseRefused where the file is no signature of this release, or one by a known key does not fit
 */
export function readSignatures(releasesDir: string, id: string, known: readonly Verifier[]): Signature[] {
  const text = readOrNull(join(releasesDir, id, SIGNATURE_FILE))
  return text === null ? [] : parseSignatures(id, text, known)
}

function parseSignatures(id: string, text: string, known: readonly Verifier[]): Signature[] {
  try {
    const note = readNote(text, known)
    if (note.text !== releaseText(id)) throw new NoteError('is the signature of another release')
    return signaturesOf(note)
  } catch (error) {
    if (error instanceof NoteError) throw new ReleaseRefused(id, SIGNATURE_FILE, error.message)
    throw error
  }
}

/**
 * Demands the signature of a trusted key. @param trusted none: nothing is demanded but that what is signed is well signed
 * @throws ReleaseRefused
 */
export function checkTrust(releasesDir: string, id: string, trusted: readonly Verifier[]): Signature[] {
  const signatures = readSignatures(releasesDir, id, trusted)
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

/** @returns the note: "I rebuilt the same release" */
export const attest = (id: string, rebuild: Rebuild, signer: NoteSigner): string =>
  signNote(`${ATTESTATION_LINE}\n${id}\n${canonicalJson(rebuild)}\n`, signer)

/** Puts a signer's attestation beside the release, in place of an earlier one of the same key. @returns its path */
export function writeAttestation(releasesDir: string, id: string, note: string, signer: NoteSigner): string {
  const folder = join(releasesDir, id, ATTESTATIONS)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${signer.verifier.keyId}.note`)
  replaceFile(path, note)
  return path
}

/** @returns attestations that stand beside a release; what is none of this release, or forged in a known name, is left out */
export function readAttestations(releasesDir: string, id: string, known: readonly Verifier[]): Attestation[] {
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
      return parseAttestations(id, text, known) ?? []
    })
}

/** @returns null for what is no attestation of this release, or forged in a known name */
function parseAttestations(id: string, text: string, known: readonly Verifier[]): Attestation[] | null {
  try {
    const note = readNote(text, known)
    const [kind, of, rebuild = '', ...more] = note.text.split('\n')
    if (kind !== ATTESTATION_LINE || of !== id || more.join() !== '') return null
    const rebuilt = rebuildSchema.parse(JSON.parse(rebuild))
    return signaturesOf(note).map((signature) => ({ ...signature, ...rebuilt, note: text }))
  } catch {
    return null
  }
}

/** @returns where the log names a release as made, by the proof beside it; null where there is none */
export function readLogPlace(
  releasesDir: string,
  id: string,
): { origin: string; index: number; time: string } | null {
  const text = readOrNull(join(releasesDir, id, PROOF_FILE))
  return text === null ? null : parseLogPlace(id, text)
}

/**
 * Is a file beside a release what its name says, as far as the keys that are known can tell?
 * @param name of the file, in the release; @throws ReleaseRefused where it is not
 */
export function checkBeside(id: string, name: string, text: string, known: readonly Verifier[]): void {
  if (name === SIGNATURE_FILE) parseSignatures(id, text, known)
  else if (
    name === PROOF_FILE ? parseLogPlace(id, text) === null : parseAttestations(id, text, known) === null
  )
    throw new ReleaseRefused(
      id,
      name,
      `is no ${name === PROOF_FILE ? 'proof' : 'attestation'} of this release`,
    )
}

function parseLogPlace(id: string, text: string): { origin: string; index: number; time: string } | null {
  try {
    const proof = parseProof(text)
    const { origin } = checkProof(proof, [])
    const entry = decodeEntry(proof.entry)
    return entry?.release_id === id ? { origin, index: proof.index, time: entry.time } : null
  } catch {
    return null
  }
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
