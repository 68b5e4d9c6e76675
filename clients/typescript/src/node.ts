/** What needs a file system: a release in a folder, as the server holds it. Not for browsers. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { canonicalJson, sha256 } from './digest.ts'
import type { Manifest, RequestOptions, SusData } from './index.ts'

/**
 * Downloads a release and, of an analytics release, those that it joins, into folders of their ids. Files that are there already
 * and are what the manifest says are not sent again; every other one is checked before it takes its name.
 * @returns manifests, that of the release first
 * @throws SusDataError for what does not verify
 */
export async function downloadRelease(
  client: SusData,
  release: string,
  folder: string,
  options?: RequestOptions,
): Promise<Manifest[]> {
  const manifest = await client.manifest(release, options)
  const own = join(folder, release)
  for (const file of manifest.files) {
    const path = join(own, file.path)
    if (await isThere(path, file.sha256)) continue
    const bytes = await client.file(release, file, options)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(`${path}.part`, bytes)
    await rename(`${path}.part`, path)
  }
  await mkdir(own, { recursive: true })
  await writeFile(join(own, 'manifest.json'), `${canonicalJson(manifest)}\n`)
  const joined = []
  if (manifest.area === 'analytics')
    for (const id of Object.values(manifest.components))
      joined.push(...(await downloadRelease(client, id, folder, options)))
  return [manifest, ...joined]
}

async function isThere(path: string, digest: string): Promise<boolean> {
  try {
    return (await sha256(new Uint8Array(await readFile(path)))) === digest
  } catch {
    return false
  }
}
