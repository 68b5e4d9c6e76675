/**
 * Copies releases from a folder into storage of objects. In: a verified release. Out: its objects in the storage, the manifest
 * last, so that a reader who sees a manifest finds all of its files. Objects that are there with their size are not sent again,
 * and content that another release has there is copied within the storage. A missing object of a release whose
 * manifest is there is sent: it was deleted because it was damaged, and the same content of another release may be damaged, too.
 */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { sha256Hex } from '../release/digest.ts'
import { type ManifestFile, manifestText } from '../release/manifest.ts'
import { parseManifest, ReleaseRefused, verifyRelease } from '../release/verify.ts'
import { PROOF_FILE, SIGNATURE_FILE } from '../trust/release-notes.ts'
import { folderPlace } from './folder.ts'
import { copyInLanes } from './lanes.ts'
import { type Content, type ObjectStore, PlaceError } from './place.ts'

export interface StoredRelease {
  readonly release_id: string
  readonly sent_bytes: number
  /** Bytes that the storage copied from another release. */
  readonly copied_bytes: number
}

/** @returns path of an object by the SHA-256 that a manifest in the storage states for it; the object has the size in the manifest */
export async function findObjectsByDigest(store: ObjectStore): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const present = await store.sizes('')
  for (const id of await store.list()) {
    const text = (await store.read(`${id}/manifest.json`))?.toString() ?? ''
    try {
      for (const { path, bytes, sha256 } of parseManifest(id, text).files)
        if (present.get(`${id}/${path}`) === bytes) found.set(sha256, `${id}/${path}`)
    } catch (error) {
      // A damaged manifest in the storage only means that nothing is copied from its release.
      if (!(error instanceof ReleaseRefused)) throw error
    }
  }
  return found
}

/**
 * @param objects what the storage has by digest; receives the objects of this release
 * @throws ReleaseRefused when the release does not verify here; PlaceError
 */
export async function storeRelease(
  releasesDir: string,
  store: ObjectStore,
  id: string,
  objects: Map<string, string>,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<StoredRelease> {
  const manifest = await verifyRelease(releasesDir, id)
  const present = await store.sizes(id)
  const isRepair = present.has(`${id}/manifest.json`)
  let sent = 0
  let copied = 0
  const put = async ({ path, bytes, sha256 }: ManifestFile, signal: AbortSignal): Promise<void> => {
    const target = `${id}/${path}`
    const source = objects.get(sha256)
    if (present.get(target) !== bytes) {
      if (!isRepair && source !== undefined && (await tryCopy(store, source, target, signal))) copied += bytes
      else {
        await store.write(target, fileContent(join(releasesDir, target), bytes, sha256), signal)
        sent += bytes
      }
    }
    objects.set(sha256, target)
    onBytes(bytes)
  }
  await copyInLanes(manifest.files, put)
  const attestations = await folderPlace(releasesDir).attestations(id)
  for (const name of ['acquisition.json', PROOF_FILE, ...attestations, SIGNATURE_FILE]) {
    const text = await readFile(join(releasesDir, id, name)).catch(() => null)
    if (text === null || (await store.read(`${id}/${name}`))?.equals(text) === true) continue
    await store.write(`${id}/${name}`, bytesContent(text))
  }
  const text = Buffer.from(manifestText(manifest))
  if (present.get(`${id}/manifest.json`) !== text.length)
    await store.write(`${id}/manifest.json`, bytesContent(text))
  return { release_id: id, sent_bytes: sent, copied_bytes: copied }
}

/** @returns false when the storage does not copy the object, such as one that was deleted meanwhile */
async function tryCopy(
  store: ObjectStore,
  source: string,
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await store.copy(source, target, signal)
    return true
  } catch (error) {
    if (error instanceof PlaceError) return false
    throw error
  }
}

export const bytesContent = (bytes: Buffer): Content => ({
  bytes: bytes.length,
  sha256: sha256Hex(bytes),
  open: () => Readable.from([bytes]),
})

const fileContent = (path: string, bytes: number, sha256: string): Content => ({
  bytes,
  sha256,
  open: () => createReadStream(path, { highWaterMark: 1 << 20 }),
})
