/**
 * Verifies that a folder is the release that its name states. In: a folder. Out: its manifest, or the first file that differs
 * and why. Names, sizes, digests and the declared schema are checked without DuckDB, which trusts what it reads. `sus-data
 * verify` additionally counts rows with DuckDB.
 */
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { temporaryTarget } from '../files.ts'
import { digestFile } from './digest.ts'
import { settledState } from './file-state.ts'
import { type Manifest, manifestSchema, manifestText, RELEASE_ID, releaseIdOf } from './manifest.ts'

/** Files about a release outside its hash: signature, proof of the log entry, attestations of rebuilds. */
export const TRUST_FILE = /^(manifest\.sig|log\.tlog-proof|attestations\/[0-9a-f]{8}\.note)$/

/** Other files that a manifest does not list. */
const UNLISTED = /^(manifest|acquisition|content)\.json$/

/** Reports why a release is refused. `file` is relative to the release's folder. */
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
 * @param states receives the state of each file when it was read, by path in the release
 * @returns the checked manifest
 * @throws ReleaseRefused naming the first file that differs
 */
export async function verifyRelease(
  releasesDir: string,
  id: string,
  states?: Map<string, string>,
): Promise<Manifest> {
  const folder = join(releasesDir, id)
  states?.set('manifest.json', await settledState(join(folder, 'manifest.json')))
  const manifest = await readManifest(releasesDir, id)
  checkFileList(manifest)
  const listed = new Set(manifest.files.map((file) => file.path))
  for (const path of await listFiles(folder, id)) {
    // A temporary file of a signature is accepted: a command may be writing it, or was killed and the next one removes it.
    const name = temporaryTarget(path) ?? path
    if (UNLISTED.test(name) || TRUST_FILE.test(name)) continue
    if (!listed.has(path)) throw new ReleaseRefused(id, path, 'is not in the manifest')
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

/** Checks that a manifest names each file once, and that rows of files and datasets agree. @throws ReleaseRefused */
export function checkFileList({ release_id: id, files, datasets }: Manifest): void {
  if (new Set(files.map(({ path }) => path)).size !== files.length)
    throw new ReleaseRefused(id, 'manifest.json', 'names a file twice')
  for (const [dataset, entry] of Object.entries(datasets)) {
    const rows = files
      .filter((file) => file.path.startsWith(`${dataset}/`))
      .reduce((sum, file) => sum + file.rows, 0)
    if (rows !== entry.rows)
      throw new ReleaseRefused(id, 'manifest.json', `${dataset}: rows of files and dataset differ`)
  }
}

/** Checks only the manifest: shape, canonical text, and that its digest matches the folder's name. @throws ReleaseRefused */
export async function readManifest(releasesDir: string, id: string): Promise<Manifest> {
  if (!RELEASE_ID.test(id)) throw new ReleaseRefused(id, '', 'is not a release id')
  const folder = join(releasesDir, id)
  const stat = await lstat(folder).catch(() => null)
  if (stat === null || !stat.isDirectory()) throw new ReleaseRefused(id, '', 'is not a folder here')
  const path = join(folder, 'manifest.json')
  const fileStat = await lstat(path).catch(() => null)
  if (fileStat === null || !fileStat.isFile()) throw new ReleaseRefused(id, 'manifest.json', 'is missing')
  return parseManifest(id, await readFile(path, 'utf8'))
}

/** @param id that the manifest must have @throws ReleaseRefused */
export function parseManifest(id: string, text: string): Manifest {
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
