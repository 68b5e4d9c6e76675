/**
 * Verifies releases. In: a function that reads files of a release, its id, and a verifier key. Out: verified manifests of the release and
 * its components, with log proofs. The first mismatch throws a SusDataError.
 */
import type { components } from './api.ts'
import { digestJson } from './digest.ts'
import { checkLogProof, checkSignature, type LogProof } from './note.ts'
import { notVerified } from './request.ts'

export type Manifest = components['schemas']['ReleaseManifest']

export interface VerifiedRelease {
  readonly manifest: Manifest
  /** Entry of the release in the operator's log; null without a verifier key. */
  readonly log: LogProof | null
}

/** @returns the text of a release's file; null when the file is missing */
export type ReadText = (release: string, path: string) => Promise<string | null>

export const SIGNATURE = 'manifest.sig'
export const LOG_PROOF = 'log.tlog-proof'
const RELEASE_ID = /^[a-z0-9-]+-[0-9a-f]{64}$/

function parse(text: string): Manifest | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** @throws SusDataError unless the release id is the digest of the manifest */
export async function manifestOf(text: string | null, release: string): Promise<Manifest> {
  const manifest = parse(text ?? '')
  const { release_id, ...body } = manifest ?? {}
  if (
    manifest === null ||
    release_id !== release ||
    !RELEASE_ID.test(release) ||
    !release.endsWith(await digestJson(body))
  )
    throw notVerified(`the manifest is not that of ${release}`)
  return manifest
}

/** @returns ids of the releases that an analytics release joins, without missing areas */
export const componentsOf = (manifest: Manifest): string[] =>
  manifest.area === 'analytics' ? Object.values(manifest.components).filter((id) => id !== null) : []

/**
 * @param verifierKey key that must have signed the release, its components, and the log that lists them
 * @returns the release first; @throws SusDataError
 */
export async function checkRelease(
  read: ReadText,
  release: string,
  verifierKey?: string,
): Promise<VerifiedRelease[]> {
  const manifest = await manifestOf(await read(release, 'manifest.json'), release)
  const readRequired = async (path: string, missing: string): Promise<string> => {
    const text = await read(release, path)
    if (text === null) throw notVerified(`${release} ${missing}`)
    return text
  }
  let log: LogProof | null = null
  if (verifierKey !== undefined) {
    await checkSignature(await readRequired(SIGNATURE, 'is not signed'), release, verifierKey)
    log = await checkLogProof(await readRequired(LOG_PROOF, 'is in no log'), release, verifierKey)
  }
  const verified = [{ manifest, log }]
  for (const id of componentsOf(manifest)) verified.push(...(await checkRelease(read, id, verifierKey)))
  return verified
}
