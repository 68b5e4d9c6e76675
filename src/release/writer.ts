/**
 * Turns a folder of Parquet files into a release: digests every file, names the folder by its manifest's digest, renames it
 * into place. In: a staging folder on the same file system, and the rest of the manifest. Out: the release id. A crash leaves
 * either a staging folder, which the next import removes, or a complete release.
 */
import { link, mkdir, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isRunning, removeStaleFiles, replaceFile, syncPath } from '../files.ts'
import { digestFile } from './digest.ts'
import { type Manifest, type ManifestFile, manifestText, RELEASE_ID, releaseIdOf } from './manifest.ts'
import { POINTER } from './pointer.ts'
import { readManifest, TRUST_FILE } from './verify.ts'

/** Staging folders of imports, releases being removed, and temporary files that earlier versions wrote for current.json. */
const LEFTOVER = /^\.(?:staging|removed|current)-(\d+)[-.]/
/** File with one line per promotion. */
export const PROMOTIONS = 'promotions.log'

/** @returns a new empty folder in the releases folder, named after this process */
export async function createStaging(releasesDir: string): Promise<string> {
  await mkdir(releasesDir, { recursive: true })
  const path = join(releasesDir, `.staging-${process.pid}-${Math.random().toString(36).slice(2)}`)
  await mkdir(path)
  return path
}

/**
 * Removes leftovers of ended processes from the releases folder: staging folders, locks, and temporary files of current.json,
 * the log, signatures and proofs. Files of running processes stay.
 */
export async function cleanReleases(releasesDir: string): Promise<void> {
  for (const name of await readdir(releasesDir).catch(() => [])) {
    const pid = LEFTOVER.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(releasesDir, name), { recursive: true, force: true })
    if (!RELEASE_ID.test(name)) continue
    removeStaleFiles(join(releasesDir, name), (file) => TRUST_FILE.test(file))
    removeStaleFiles(join(releasesDir, name, 'attestations'), (file) =>
      TRUST_FILE.test(`attestations/${file}`),
    )
  }
  removeStaleFiles(releasesDir, (name) => name === POINTER || name === PROMOTIONS)
  const log = join(releasesDir, 'log')
  removeStaleFiles(log, () => true)
  for (const folder of await readdir(log, { recursive: true, withFileTypes: true }).catch(() => []))
    if (folder.isDirectory()) removeStaleFiles(join(folder.parentPath, folder.name), () => true)
}

/** @returns manifest entries of finished files; @param rows row count by path */
export async function digestFiles(
  staging: string,
  rows: ReadonlyMap<string, number>,
): Promise<ManifestFile[]> {
  const files: ManifestFile[] = []
  for (const path of [...rows.keys()].sort()) {
    const { bytes, sha256 } = await digestFile(join(staging, path))
    files.push({ path, bytes, sha256, rows: rows.get(path) ?? 0 })
  }
  return files
}

export interface PreparedRelease {
  readonly manifest: Manifest
  readonly staging: string
}

/**
 * Writes manifest.json, and outside the hash acquisition.json and manifest.sig, into the staging folder.
 * @param sign returns the content of manifest.sig; null leaves the release unsigned
 * @returns the manifest with its id
 */
export async function prepareRelease(
  staging: string,
  body: Omit<Manifest, 'release_id'>,
  acquisition: unknown,
  sign: ((releaseId: string) => string) | null = null,
): Promise<PreparedRelease> {
  const manifest: Manifest = { ...body, release_id: releaseIdOf(body) }
  await writeFile(join(staging, 'manifest.json'), manifestText(manifest))
  if (sign !== null)
    await writeFile(join(staging, 'manifest.sig'), sign(manifest.release_id), { flush: true })
  if (acquisition !== null)
    await writeFile(join(staging, 'acquisition.json'), `${JSON.stringify(acquisition, null, 2)}\n`)
  return { manifest, staging }
}

/**
 * Renames a prepared release into place, or removes the staging folder when the release exists. Files that another release
 * already holds become hard links, so a new month takes the space of one month.
 */
export async function commitRelease(
  releasesDir: string,
  { manifest, staging }: PreparedRelease,
): Promise<Manifest> {
  const target = join(releasesDir, manifest.release_id)
  if (await stat(target).catch(() => null)) {
    await rm(staging, { recursive: true, force: true })
    return manifest
  }
  await linkEqualFiles(releasesDir, staging, manifest)
  return moveIntoPlace(releasesDir, { manifest, staging })
}

/** Renames a prepared release, whose files are final, into place. It removes the staging folder when the release exists. */
export async function moveIntoPlace(
  releasesDir: string,
  { manifest, staging }: PreparedRelease,
): Promise<Manifest> {
  const target = join(releasesDir, manifest.release_id)
  syncTree(staging, manifest)
  try {
    await rename(staging, target)
  } catch (error) {
    // Another import of the same files was faster. Equal names mean equal bytes, so this copy is not needed.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await rm(staging, { recursive: true, force: true })
  }
  syncPath(releasesDir)
  return manifest
}

/** Replaces current.json atomically. @param id analytics release */
export function writePointer(releasesDir: string, id: string): void {
  replaceFile(join(releasesDir, POINTER), `${JSON.stringify({ analytics: id })}\n`)
}

/** @returns path of a file of a release here by the SHA-256 that its manifest states; the file itself may be damaged */
export async function findFilesByDigest(releasesDir: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const id of (await readdir(releasesDir)).filter((name) => RELEASE_ID.test(name))) {
    const manifest = await readManifest(releasesDir, id).catch(() => null)
    for (const file of manifest?.files ?? []) found.set(file.sha256, join(releasesDir, id, file.path))
  }
  return found
}

async function linkEqualFiles(releasesDir: string, staging: string, manifest: Manifest): Promise<void> {
  const existing = await findFilesByDigest(releasesDir)
  for (const file of manifest.files) {
    const source = existing.get(file.sha256)
    if (source === undefined) continue
    // Verify the other release's file before sharing it, so that a damaged copy does not spread.
    const { sha256 } = await digestFile(source).catch(() => ({ sha256: '' }))
    if (sha256 !== file.sha256) continue
    const path = join(staging, file.path)
    const spare = `${path}.spare`
    await rename(path, spare)
    try {
      await link(source, path)
      await unlink(spare)
    } catch {
      await rename(spare, path)
    }
  }
}

function syncTree(staging: string, manifest: Manifest): void {
  const folders = new Set<string>([staging])
  for (const { path } of manifest.files) {
    syncPath(join(staging, path))
    folders.add(dirname(join(staging, path)))
  }
  syncPath(join(staging, 'manifest.json'))
  for (const folder of folders) syncPath(folder)
}
