/**
 * Computes the content of a release from its files and compares it with the recorded content. It writes content.json for a
 * release that was made before manifests had content digests.
 */
import { join } from 'node:path'
import { replaceFile } from '../files.ts'
import { CONTENT_FILE, type Content, contentText, describeContent, readContent } from '../release/content.ts'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ReleaseRefused, readManifest } from '../release/verify.ts'
import { digestRows } from './row-digests.ts'

export async function digestRowsOf(
  folder: string,
  files: readonly ManifestFile[],
  threads?: number,
): Promise<Map<string, string>> {
  // Start with the largest file, so that parallel lanes finish at about the same time.
  const paths = [...files].sort((left, right) => right.bytes - left.bytes).map(({ path }) => path)
  const digests = await digestRows(
    paths.map((path) => join(folder, path)),
    threads,
  )
  return new Map(paths.map((path, index) => [path, digests[index] ?? '']))
}

/**
 * Returns the recorded content of a release. If none is recorded, it is computed and written to content.json, also for
 * components.
 * @throws ReleaseRefused
 */
export async function ensureContent(releasesDir: string, id: string, threads?: number): Promise<Content> {
  const manifest = await readManifest(releasesDir, id)
  const recorded = await readContent(releasesDir, manifest)
  if (recorded !== null) return recorded
  const content = await computeContent(
    releasesDir,
    manifest,
    (componentId) => ensureContent(releasesDir, componentId, threads),
    threads,
  )
  replaceFile(join(releasesDir, id, CONTENT_FILE), contentText(id, content))
  return content
}

/**
 * Reads every row of a release and of its components, and compares their digests with the recorded ones.
 * @param checked contents of releases that were read before; the result is added
 * @throws ReleaseRefused with the first file whose rows differ
 */
export async function checkContent(
  releasesDir: string,
  id: string,
  checked: Map<string, Content> = new Map(),
): Promise<Content> {
  const previous = checked.get(id)
  if (previous !== undefined) return previous
  const manifest = await readManifest(releasesDir, id)
  const recorded = await readContent(releasesDir, manifest)
  const computed = await computeContent(releasesDir, manifest, (componentId) =>
    checkContent(releasesDir, componentId, checked),
  )
  if (recorded !== null && recorded.contentId !== computed.contentId) {
    const path = manifest.files.find(
      (file) => recorded.rows.get(file.path) !== computed.rows.get(file.path),
    )?.path
    throw new ReleaseRefused(id, path ?? 'manifest.json', 'does not have the content digest that is stated')
  }
  checked.set(id, computed)
  return computed
}

async function computeContent(
  releasesDir: string,
  manifest: Manifest,
  contentOf: (id: string) => Promise<Content>,
  threads?: number,
): Promise<Content> {
  const components: Record<string, string> = {}
  for (const [area, componentId] of Object.entries(manifest.components))
    components[area] = (await contentOf(componentId)).contentId
  const rows = await digestRowsOf(join(releasesDir, manifest.release_id), manifest.files, threads)
  return describeContent(manifest, rows, components)
}

export async function describeExisting(
  releasesDir: string,
  manifest: Manifest,
  threads?: number,
): Promise<{ readonly manifest: Manifest; readonly folder: string; readonly contentId: string }> {
  const { contentId } = await ensureContent(releasesDir, manifest.release_id, threads)
  return { manifest, folder: join(releasesDir, manifest.release_id), contentId }
}

/** @returns the manifest with row digests and content id; @param components releases that it joins, by area */
export async function withContent(
  folder: string,
  components: Iterable<readonly [string, { readonly contentId: string }]>,
  threads: number | undefined,
  body: Omit<Manifest, 'release_id'>,
): Promise<Omit<Manifest, 'release_id'>> {
  const rows = await digestRowsOf(folder, body.files, threads)
  const contents = Object.fromEntries([...components].map(([area, { contentId }]) => [area, contentId]))
  return {
    ...body,
    files: body.files.map((file) => ({ ...file, rows_sha256: rows.get(file.path) ?? '' })),
    content_id: describeContent(body, rows, contents).contentId,
    component_content_ids: contents,
  }
}
