/**
 * Copies releases from a place into a folder of releases. In: a place and the id of a release. Out: the release and those that it
 * joins, in the folder, verified.
 *
 * Files are collected in a hidden folder. A file gets its name there once its bytes have the SHA-256 of the manifest, and the
 * release gets its name once all of its files and its signature are verified. A file that another release in the
 * folder has already is linked instead of copied. A copy that ended early goes on from the bytes that it had.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, renameSync } from 'node:fs'
import { copyFile, link, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { isFullDisk, isRunning, replaceFile } from '../files.ts'
import { digestFile } from '../release/digest.ts'
import { type Manifest, type ManifestFile, manifestText, RELEASE_ID } from '../release/manifest.ts'
import { checkFileList, parseManifest, ReleaseRefused, verifyRelease } from '../release/verify.ts'
import { findFilesByDigest, moveIntoPlace } from '../release/writer.ts'
import type { Verifier } from '../trust/note.ts'
import { checkBeside, PROOF_FILE, requireSignature, SIGNATURE_FILE } from '../trust/release-notes.ts'
import { reasonOf } from './http.ts'
import { copyInLanes } from './lanes.ts'
import { type Place, PlaceError } from './place.ts'

/** Attempts to read on when a connection ends in the middle of a file, and the pause before the second one. */
const ATTEMPTS = 4
const PAUSE_MS = 250
/** Hidden folder of a copy: process id and release id. */
export const STAGING = /^\.pull-(?<pid>\d+)-(?<id>.+)$/

export interface FetchOptions {
  /** Keys of which one must have signed each release; without any, no signature is demanded. */
  readonly trusted: readonly Verifier[]
  /** Called before anything is copied, with releases that are not here yet. A throw stops the copy. */
  readonly onPlan?: (missing: readonly Manifest[]) => unknown
  /** Called with the number of bytes that were copied or linked. */
  readonly onBytes?: (bytes: number) => void
  readonly signal?: AbortSignal
}

export interface FetchedRelease {
  readonly release_id: string
  /** True when the folder had the release before. */
  readonly present: boolean
  readonly copied_bytes: number
  readonly linked_bytes: number
}

/**
 * @param id a release of any area; those that it joins are copied first
 * @throws PlaceError when the place cannot be read or lacks a file; ReleaseRefused when something does not verify
 */
export async function fetchRelease(
  place: Place,
  releasesDir: string,
  id: string,
  options: FetchOptions,
): Promise<FetchedRelease[]> {
  await mkdir(releasesDir, { recursive: true })
  const manifests = new Map<string, Manifest>()
  await collectManifests(place, releasesDir, id, manifests)
  const missing = [...manifests.values()].filter(
    ({ release_id }) => !existsSync(join(releasesDir, release_id)),
  )
  await options.onPlan?.(missing)
  const existing = missing.length === 0 ? new Map<string, string>() : await findFilesByDigest(releasesDir)
  const fetched: FetchedRelease[] = []
  for (const manifest of manifests.values()) {
    const { release_id, files } = manifest
    if (!missing.includes(manifest)) {
      fetched.push({ release_id, present: true, copied_bytes: 0, linked_bytes: 0 })
      continue
    }
    fetched.push(await fetchOne(place, releasesDir, manifest, existing, options))
    for (const { sha256, path } of files) existing.set(sha256, join(releasesDir, release_id, path))
  }
  return fetched
}

/**
 * Copies one file of a release, or its manifest, anew over a damaged one. Readers see the damaged file or the right one. The manifest
 * of the place says what is right: its digest is the release id, and the one in the folder may be the damaged file.
 * @throws PlaceError when the place cannot be read or lacks the file; ReleaseRefused when its file is damaged, too
 */
export async function repairFile(
  place: Place,
  releasesDir: string,
  id: string,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const folder = join(releasesDir, id)
  if (!existsSync(folder)) return
  const manifest = await readManifestOf(place, id)
  if (path === 'manifest.json') {
    replaceFile(join(folder, path), manifestText(manifest))
    return
  }
  const file = manifest.files.find((each) => each.path === path)
  if (file === undefined) return
  const staging = await openStaging(releasesDir, id)
  try {
    await fetchFile(place, staging, id, file, signal)
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await rename(join(staging, path), join(folder, path))
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/**
 * Verifies a release of the folder, and copies files anew that are damaged or missing.
 * @returns paths of the copied files
 * @throws PlaceError when a copy mends nothing, or the place cannot be read; ReleaseRefused when its file is damaged, too
 */
export async function repairRelease(place: Place, releasesDir: string, id: string): Promise<string[]> {
  const repaired: string[] = []
  for (;;) {
    try {
      await verifyRelease(releasesDir, id)
      return repaired
    } catch (error) {
      if (!(error instanceof ReleaseRefused)) throw error
      if (repaired.includes(error.file))
        throw new PlaceError(`${error.message}; move ${join(releasesDir, id)} away and pull again.`)
      await repairFile(place, releasesDir, id, error.file)
      repaired.push(error.file)
    }
  }
}

/** @returns the manifest of a release at a place, whose digest is the id @throws PlaceError without one; ReleaseRefused */
async function readManifestOf(place: Place, id: string): Promise<Manifest> {
  const text = (await place.read(`${id}/manifest.json`))?.toString()
  if (text === undefined) throw new PlaceError(`${place.name} has no release ${id}.`)
  return parseManifest(id, text)
}

/** Collects the manifests of a release and of those that it joins, components first. */
async function collectManifests(
  place: Place,
  releasesDir: string,
  id: string,
  found: Map<string, Manifest>,
): Promise<void> {
  if (found.has(id)) return
  if (!RELEASE_ID.test(id)) throw new ReleaseRefused(id, '', 'is not a release id')
  const manifest = await readManifestOf(place, id)
  checkFileList(manifest)
  for (const component of Object.values(manifest.components))
    await collectManifests(place, releasesDir, component, found)
  found.set(id, manifest)
}

async function fetchOne(
  place: Place,
  releasesDir: string,
  manifest: Manifest,
  existing: ReadonlyMap<string, string>,
  options: FetchOptions,
): Promise<FetchedRelease> {
  const id = manifest.release_id
  // Check the signature first, so that no file of a release without one is copied.
  const notes = await readNotes(place, id, options.trusted)
  const staging = await openStaging(releasesDir, id)
  let copied = 0
  let linked = 0
  try {
    const copy = async (file: ManifestFile, signal: AbortSignal): Promise<void> => {
      if (await linkFile(existing.get(file.sha256), join(staging, file.path), file)) linked += file.bytes
      else {
        const bytes = await fetchFile(place, staging, id, file, signal)
        copied += bytes
      }
      options.onBytes?.(file.bytes)
    }
    await copyInLanes(manifest.files, copy, options.signal)
    for (const [path, text] of notes) {
      await mkdir(dirname(join(staging, path)), { recursive: true })
      await writeFile(join(staging, path), text, { flush: true })
    }
    await writeFile(join(staging, 'manifest.json'), manifestText(manifest))
    await moveIntoPlace(releasesDir, { manifest, staging })
  } catch (error) {
    // Copied bytes stay for the next attempt, unless they fill the disk.
    if (isFullDisk(error)) await rm(staging, { recursive: true, force: true }).catch(() => undefined)
    throw error
  }
  return { release_id: id, present: false, copied_bytes: copied, linked_bytes: linked }
}

/** Reads what stands beside a manifest. @throws ReleaseRefused when a signature, proof or attestation does not verify */
async function readNotes(
  place: Place,
  id: string,
  trusted: readonly Verifier[],
): Promise<ReadonlyMap<string, string>> {
  const notes = new Map<string, string>()
  for (const path of [SIGNATURE_FILE, PROOF_FILE, ...(await place.attestations(id))]) {
    const text = (await place.read(`${id}/${path}`))?.toString()
    if (text === undefined) continue
    checkBeside(id, path, text, trusted)
    notes.set(path, text)
  }
  requireSignature(id, notes.get(SIGNATURE_FILE) ?? null, trusted)
  const acquisition = (await place.read(`${id}/acquisition.json`))?.toString()
  if (acquisition !== undefined) notes.set('acquisition.json', acquisition)
  return notes
}

/**
 * Removes hidden folders of copies that ended early, of this process and of ended ones.
 * @param kept ids whose copies go on from their folders
 */
export async function removeStagings(releasesDir: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of readdirSync(releasesDir)) {
    const { pid, id = '' } = STAGING.exec(name)?.groups ?? {}
    if (pid === undefined || kept.has(id) || (Number(pid) !== process.pid && isRunning(Number(pid)))) continue
    await rm(join(releasesDir, name), { recursive: true, force: true })
  }
}

/** @returns the hidden folder of a copy, with what a copy that ended early left in it */
async function openStaging(releasesDir: string, id: string): Promise<string> {
  const staging = join(releasesDir, `.pull-${process.pid}-${id}`)
  for (const name of readdirSync(releasesDir)) {
    const { pid = '', id: stagedId } = STAGING.exec(name)?.groups ?? {}
    if (stagedId !== id || Number(pid) === process.pid || isRunning(Number(pid))) continue
    try {
      renameSync(join(releasesDir, name), staging)
      break
    } catch {
      // Another process took it over, or this one has a folder already.
    }
  }
  await mkdir(staging, { recursive: true })
  return staging
}

/** Links a file of another release when its bytes are right. @returns false when they are not, or there is none */
async function linkFile(source: string | undefined, target: string, file: ManifestFile): Promise<boolean> {
  if (source === undefined || existsSync(target)) return false
  const digest = await digestFile(source).catch(() => null)
  if (digest?.sha256 !== file.sha256) return false
  await mkdir(dirname(target), { recursive: true })
  // Some file systems have no hard links.
  await link(source, target).catch(() => copyFile(source, target))
  return true
}

/** @returns the number of bytes that were read from the place */
async function fetchFile(
  place: Place,
  staging: string,
  id: string,
  file: ManifestFile,
  signal: AbortSignal | undefined,
): Promise<number> {
  const target = join(staging, file.path)
  // An earlier copy gave the file its name, so its bytes were right; a kill may have kept some from the disk.
  if (existsSync(target) && (await digestFile(target)).sha256 === file.sha256) return 0
  const part = `${target}.part`
  await mkdir(dirname(target), { recursive: true })
  let copied = 0
  let isRestarted = false
  for (let attempt = 1; ; attempt += 1) {
    const { hash, bytes } = await digestPart(part, file.bytes)
    let size = bytes
    try {
      if (size < file.bytes)
        size += await appendFrom(
          place,
          `${id}/${file.path}`,
          part,
          { size, sizeMax: file.bytes },
          hash,
          signal,
        )
      copied += size - bytes
    } catch (error) {
      if (signal?.aborted === true || !(error instanceof PlaceError) || !error.isAway || attempt >= ATTEMPTS)
        throw error
      await wait(PAUSE_MS * 2 ** (attempt - 1), undefined, { signal })
      continue
    }
    if (size === file.bytes && hash.digest('hex') === file.sha256) break
    await rm(part)
    // Bytes of an earlier attempt may be wrong, so the file is read once more from its beginning.
    if (isRestarted)
      throw new ReleaseRefused(
        id,
        file.path,
        size === file.bytes
          ? `does not have the SHA-256 of the manifest at ${place.name}`
          : `has ${size > file.bytes ? `more than ${file.bytes}` : size} bytes at ${place.name} where the manifest says ${file.bytes}`,
      )
    isRestarted = true
  }
  await rename(part, target)
  return copied
}

/** @returns the digest so far and the size of a partial file, which is emptied when it is too long */
async function digestPart(part: string, bytesMax: number): Promise<{ hash: Hash; bytes: number }> {
  const hash = createHash('sha256')
  const bytes = (await stat(part).catch(() => null))?.size ?? 0
  if (bytes > bytesMax) {
    await rm(part)
    return { hash, bytes: 0 }
  }
  if (bytes > 0)
    for await (const chunk of createReadStream(part, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
  return { hash, bytes }
}

/**
 * Appends the rest of a file, and stops once it is longer than it may be: a place that sends without end must not fill the disk.
 * @returns the number of bytes that were appended @throws PlaceError when the place cannot be read to the end
 */
async function appendFrom(
  place: Place,
  path: string,
  part: string,
  { size, sizeMax }: { readonly size: number; readonly sizeMax: number },
  hash: Hash,
  signal: AbortSignal | undefined,
): Promise<number> {
  const body = await place.open(path, size, signal)
  if (body === null) throw new PlaceError(`${path} is missing at ${place.name}.`)
  const handle = await open(part, 'a')
  let bytes = 0
  try {
    // An aborted signal also ends a connection on which nothing moves.
    if (signal !== undefined) addAbortSignal(signal, body)
    for await (const chunk of body as AsyncIterable<Buffer>) {
      // A nearly full disk may take only a part of a chunk. Appending goes on until the disk has all of it, or fails.
      await handle.appendFile(chunk)
      hash.update(chunk)
      bytes += chunk.length
      if (size + bytes > sizeMax) break
    }
  } catch (error) {
    if (signal?.aborted === true || (error as NodeJS.ErrnoException).syscall === 'write') throw error
    throw new PlaceError(`${place.name} cannot be reached (${reasonOf(error)}).`, true)
  } finally {
    body.destroy()
    await handle.close()
  }
  return bytes
}
