/** Downloads and verifies releases in a folder with the server's layout. Needs a file system, so it does not run in browsers. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { sha256 } from './digest.ts'
import type { Manifest, RequestOptions, SusData } from './index.ts'
import {
  checkRelease,
  componentsOf,
  LOG_PROOF,
  manifestOf,
  SIGNATURE,
  type VerifiedRelease,
} from './release.ts'
import { notVerified } from './request.ts'

/**
 * Downloads a release and its components into folders named for their ids, with signatures and proofs. Files that already match the
 * manifest are not downloaded again. Every other file is checked before it gets its final name.
 * @returns manifests, that of the release first
 * @throws SusDataError when something does not verify
 */
export async function downloadRelease(
  client: SusData,
  release: string,
  folder: string,
  options?: RequestOptions,
): Promise<Manifest[]> {
  const text = await client.text(release, 'manifest.json', options)
  const manifest = await manifestOf(text, release)
  const target = join(folder, release)
  await mkdir(target, { recursive: true })
  for (const file of manifest.files) {
    const path = inside(target, file.path)
    if ((await digestOf(path)) === file.sha256) continue
    const bytes = await client.file(release, file, options)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(`${path}.part`, bytes)
    await rename(`${path}.part`, path)
  }
  for (const name of [SIGNATURE, LOG_PROOF]) {
    const content = await client.text(release, name, options)
    if (content !== null) await writeFile(join(target, name), content)
  }
  // Write the manifest last, so that a folder with a manifest is a complete release.
  await writeFile(join(target, 'manifest.json'), text ?? '')
  const components = []
  for (const id of componentsOf(manifest))
    components.push(...(await downloadRelease(client, id, folder, options)))
  return [manifest, ...components]
}

/**
 * Checks a local copy of a release and of its components, which are in sibling folders: every file, signature and log proof.
 * @param verifierKey the operator's key; without it neither signatures nor proofs are checked
 * @returns the release first; @throws SusDataError
 */
export async function verifyRelease(folder: string, verifierKey?: string): Promise<VerifiedRelease[]> {
  const parent = dirname(resolve(folder))
  const read = (id: string, path: string): Promise<string | null> =>
    readFile(join(parent, id, path), 'utf8').catch(() => null)
  const verified = await checkRelease(read, basename(resolve(folder)), verifierKey)
  for (const { manifest } of verified)
    for (const { path, sha256: digest } of manifest.files)
      if ((await digestOf(inside(join(parent, manifest.release_id), path))) !== digest)
        throw notVerified(`${path} of ${manifest.release_id} is not what the manifest names`)
  return verified
}

/** Rejects paths that lead out of the folder, because the server may be malicious. */
function inside(folder: string, path: string): string {
  if (path.split('/').some((segment) => ['', '.', '..'].includes(segment) || /[\\:]/.test(segment)))
    throw notVerified(`${JSON.stringify(path)} is no path inside of a release`)
  return join(folder, path)
}

const digestOf = async (path: string): Promise<string | null> => {
  const bytes = await readFile(path).catch(() => null)
  return bytes === null ? null : sha256(new Uint8Array(bytes))
}
