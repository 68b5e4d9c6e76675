/**
 * Releases that prove themselves. In: where the files of a release are read from (a server, a folder), its id, and a verifier key.
 * Out: manifests of it and of the releases that it joins, with what vouches for them; the first thing that is wrong is a SusDataError.
 */
import type { components } from './api.ts'
import { digestJson } from './digest.ts'
import { checkLogProof, checkSignature, type LogProof } from './note.ts'
import { refuse } from './request.ts'

export type Manifest = components['schemas']['ReleaseManifest']

export interface VerifiedRelease {
  readonly manifest: Manifest
  /** Where the operator's log names it; null where no verifier key was given. */
  readonly log: LogProof | null
}

/** @returns the text of a file of a release; null where it has none of that name */
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

/** @throws SusDataError unless the id is the digest of what the manifest says */
export async function manifestOf(text: string | null, release: string): Promise<Manifest> {
  const manifest = parse(text ?? '')
  const { release_id, ...body } = manifest ?? {}
  if (
    manifest === null ||
    release_id !== release ||
    !RELEASE_ID.test(release) ||
    !release.endsWith(await digestJson(body))
  )
    throw refuse(`the manifest is not that of ${release}`)
  return manifest
}

/** @returns ids of the releases that a release joins; those of areas that it does not hold are not among them */
export const componentsOf = (manifest: Manifest): string[] =>
  manifest.area === 'analytics' ? Object.values(manifest.components).filter((id) => id !== null) : []

/**
 * @param verifierKey of who must have signed the release, those that it joins, and the log that names each
 * @returns the release first; @throws SusDataError
 */
export async function checkRelease(
  read: ReadText,
  release: string,
  verifierKey?: string,
): Promise<VerifiedRelease[]> {
  const manifest = await manifestOf(await read(release, 'manifest.json'), release)
  const vouched = async (path: string, missing: string): Promise<string> => {
    const text = await read(release, path)
    if (text === null) throw refuse(`${release} ${missing}`)
    return text
  }
  let log: LogProof | null = null
  if (verifierKey !== undefined) {
    await checkSignature(await vouched(SIGNATURE, 'is not signed'), release, verifierKey)
    log = await checkLogProof(await vouched(LOG_PROOF, 'is in no log'), release, verifierKey)
  }
  const verified = [{ manifest, log }]
  for (const id of componentsOf(manifest)) verified.push(...(await checkRelease(read, id, verifierKey)))
  return verified
}
