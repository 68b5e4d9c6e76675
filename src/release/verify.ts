/**
 * Is this folder the release that it is named after? In: a folder. Out: its manifest, or the first file that differs and why.
 *
 * Names, sizes, digests and the declared schema are checked without opening a file with DuckDB, which trusts what it
 * reads. Absent on purpose: counting rows inside the files; `sus-data verify` does that afterwards, with DuckDB.
 */
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { temporaryTarget } from '../files.ts'
import { digestFile } from './digest.ts'
import { settledState } from './file-state.ts'
import { type Manifest, manifestSchema, manifestText, RELEASE_ID, releaseIdOf } from './manifest.ts'

/** Files that say something of a release from outside its hash: who signed it, that it is in the log, who made it again. */
export const TRUST_FILE = /^(manifest\.sig|log\.tlog-proof|attestations\/[0-9a-f]{8}\.note)$/

/** Files that may be in a release and are not listed in its manifest. */
const UNLISTED = /^(manifest|acquisition|content)\.json$/

/** Why a release is refused. `file` is relative to the release's folder. */
export class ReleaseRefused extends Error {
  readonly releaseId: string
  readonly file: string

  constructor(releaseId: string, file: string, reason: string) {
    super(`${releaseId}/${file}: ${reason}`)
    this.name = 'ReleaseRefused'
    this.releaseId = releaseId
    this.file = file
  }
}

/**
 * @param releasesDir folder of releases; @param id name of one
 * @param states is filled with the state of each file when it was read, by its path in the release
 * @returns the checked manifest
 * @throws ReleaseRefused naming the first file and the reason
 */
export async function verifyRelease(
  releasesDir: string,
  id: string,
  states?: Map<string, string>,
): Promise<Manifest> {
  const folder = join(releasesDir, id)
  states?.set('manifest.json', await settledState(join(folder, 'manifest.json')))
  const manifest = await readManifest(releasesDir, id)
  const listed = new Map(manifest.files.map((file) => [file.path, file]))
  if (listed.size !== manifest.files.length)
    throw new ReleaseRefused(id, 'manifest.json', 'names a file twice')
  for (const path of await listFiles(folder, id)) {
    // A signature may be written now, or a command that wrote one was killed: the next one removes its temporary file.
    const name = temporaryTarget(path) ?? path
    if (UNLISTED.test(name) || TRUST_FILE.test(name)) continue
    if (!listed.has(path)) throw new ReleaseRefused(id, path, 'is not in the manifest')
  }
  for (const [dataset, entry] of Object.entries(manifest.datasets)) {
    const files = manifest.files.filter((file) => file.path.startsWith(`${dataset}/`))
    const rows = files.reduce((sum, file) => sum + file.rows, 0)
    if (rows !== entry.rows)
      throw new ReleaseRefused(id, 'manifest.json', `${dataset}: rows of files and dataset differ`)
  }
  for (const file of manifest.files) {
    const path = join(folder, file.path)
    const stat = await lstat(path).catch(() => null)
    if (stat === null || !stat.isFile())
      throw new ReleaseRefused(id, file.path, 'is missing or not a plain file')
    if (stat.size !== file.bytes)
      throw new ReleaseRefused(id, file.path, `has ${stat.size} bytes where the manifest says ${file.bytes}`)
    states?.set(file.path, await settledState(path))
    const { sha256 } = await digestFile(path)
    if (sha256 !== file.sha256)
      throw new ReleaseRefused(id, file.path, 'does not have the SHA-256 of the manifest')
  }
  return manifest
}

/**
 * Reads and checks a manifest alone: shape, canonical text, and that its digest is the folder's name.
 * @throws ReleaseRefused
 */
export async function readManifest(releasesDir: string, id: string): Promise<Manifest> {
  if (!RELEASE_ID.test(id)) throw new ReleaseRefused(id, '', 'is not a release id')
  const folder = join(releasesDir, id)
  const stat = await lstat(folder).catch(() => null)
  if (stat === null || !stat.isDirectory()) throw new ReleaseRefused(id, '', 'is not a folder here')
  const path = join(folder, 'manifest.json')
  const fileStat = await lstat(path).catch(() => null)
  if (fileStat === null || !fileStat.isFile()) throw new ReleaseRefused(id, 'manifest.json', 'is missing')
  const text = await readFile(path, 'utf8')
  let manifest: Manifest
  try {
    manifest = manifestSchema.parse(JSON.parse(text))
  } catch {
    throw new ReleaseRefused(id, 'manifest.json', 'is not a manifest')
  }
  if (manifestText(manifest) !== text)
    throw new ReleaseRefused(id, 'manifest.json', 'is not in canonical form')
  if (manifest.release_id !== id || releaseIdOf(manifest) !== id)
    throw new ReleaseRefused(id, 'manifest.json', 'does not have the digest of the release id')
  return manifest
}

async function listFiles(folder: string, id: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files: string[] = []
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')
    if (entry.isFile()) files.push(path)
    else if (!entry.isDirectory()) throw new ReleaseRefused(id, path, 'is not a plain file')
  }
  return files
}
