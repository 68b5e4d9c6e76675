/** What needs a file system: a release in a folder, as the server holds it. Not for browsers. */
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
import { refuse } from './request.ts'

/**
 * Downloads a release and, of an analytics release, those that it joins, into folders of their ids, with their signatures and proofs.
 * Files that are there already and are what the manifest says are not sent again; every other one is checked before it takes its name.
 * @returns manifests, that of the release first
 * @throws SusDataError for what does not verify
 */
export async function downloadRelease(
  client: SusData,
  release: string,
  folder: string,
  options?: RequestOptions,
): Promise<Manifest[]> {
  const text = await client.text(release, 'manifest.json', options)
  const manifest = await manifestOf(text, release)
  const own = join(folder, release)
  await mkdir(own, { recursive: true })
  for (const file of manifest.files) {
    const path = inside(own, file.path)
    if ((await digestOf(path)) === file.sha256) continue
    const bytes = await client.file(release, file, options)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(`${path}.part`, bytes)
    await rename(`${path}.part`, path)
  }
  for (const beside of [SIGNATURE, LOG_PROOF]) {
    const vouches = await client.text(release, beside, options)
    if (vouches !== null) await writeFile(join(own, beside), vouches)
  }
  // Last, so that a folder with a manifest is a whole release.
  await writeFile(join(own, 'manifest.json'), text ?? '')
  const joined = []
  for (const id of componentsOf(manifest))
    joined.push(...(await downloadRelease(client, id, folder, options)))
  return [manifest, ...joined]
}

/**
 * Checks a copy of a release, and of those that it joins, which lie beside it: every file, and who vouches for them.
 * @param verifierKey of who must have signed each of them, and the log that names them; without it neither is checked
 * @returns the release first; @throws SusDataError
 */
export async function verifyRelease(folder: string, verifierKey?: string): Promise<VerifiedRelease[]> {
  const beside = dirname(resolve(folder))
  const read = (id: string, path: string): Promise<string | null> =>
    readFile(join(beside, id, path), 'utf8').catch(() => null)
  const verified = await checkRelease(read, basename(resolve(folder)), verifierKey)
  for (const { manifest } of verified)
    for (const { path, sha256: digest } of manifest.files)
      if ((await digestOf(inside(join(beside, manifest.release_id), path))) !== digest)
        throw refuse(`${path} of ${manifest.release_id} is not what the manifest names`)
  return verified
}

/** A server that is not trusted must not write outside of the folder. */
function inside(folder: string, path: string): string {
  if (path.split('/').some((part) => ['', '.', '..'].includes(part) || /[\\:]/.test(part)))
    throw refuse(`${JSON.stringify(path)} is no path inside of a release`)
  return join(folder, path)
}

const digestOf = async (path: string): Promise<string | null> => {
  const bytes = await readFile(path).catch(() => null)
  return bytes === null ? null : sha256(new Uint8Array(bytes))
}
