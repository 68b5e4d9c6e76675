/**
 * The content of a release computed from its files. In: folder and id. Out: the content, whether it fits what the release states,
 * and content.json for a release made before manifests had content digests.
 */
import { join } from 'node:path'
import { replaceFile } from '../files.ts'
import { CONTENT_FILE, type Content, contentText, describeContent, readContent } from '../release/content.ts'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ReleaseRefused, readManifest } from '../release/verify.ts'
import { digestRows } from './row-digests.ts'

/** @returns digests of the rows of a release's files, by path */
export async function digestRowsOf(
  folder: string,
  files: readonly ManifestFile[],
  threads?: number,
): Promise<Map<string, string>> {
  // The largest first: two lanes end at about the same time.
  const paths = [...files].sort((left, right) => right.bytes - left.bytes).map(({ path }) => path)
  const digests = await digestRows(
    paths.map((path) => join(folder, path)),
    threads,
  )
  return new Map(paths.map((path, index) => [path, digests[index] ?? '']))
}

/**
 * @returns the content that a release states; one made before manifests stated it gets content.json, and so do its components
 * @throws ReleaseRefused
 */
export async function ensureContent(releasesDir: string, id: string, threads?: number): Promise<Content> {
  const manifest = await readManifest(releasesDir, id)
  const stated = await readContent(releasesDir, manifest)
  if (stated !== null) return stated
  const content = await computeContent(
    releasesDir,
    manifest,
    (part) => ensureContent(releasesDir, part, threads),
    threads,
  )
  replaceFile(join(releasesDir, id, CONTENT_FILE), contentText(id, content))
  return content
}

/**
 * Reads every row of a release and of its components.
 * @param checked contents of releases that were read already; this one's is added
 * @returns the content
 * @throws ReleaseRefused naming the first file whose rows are not those that are stated
 */
export async function checkContent(
  releasesDir: string,
  id: string,
  checked: Map<string, Content> = new Map(),
): Promise<Content> {
  const before = checked.get(id)
  if (before !== undefined) return before
  const manifest = await readManifest(releasesDir, id)
  const stated = await readContent(releasesDir, manifest)
  const found = await computeContent(releasesDir, manifest, (part) =>
    checkContent(releasesDir, part, checked),
  )
  if (stated !== null && stated.contentId !== found.contentId) {
    const path = manifest.files.find((file) => stated.rows.get(file.path) !== found.rows.get(file.path))?.path
    throw new ReleaseRefused(id, path ?? 'manifest.json', 'does not have the content digest that is stated')
  }
  checked.set(id, found)
  return found
}

async function computeContent(
  releasesDir: string,
  manifest: Manifest,
  contentOf: (id: string) => Promise<Content>,
  threads?: number,
): Promise<Content> {
  const components: Record<string, string> = {}
  for (const [area, part] of Object.entries(manifest.components))
    components[area] = (await contentOf(part)).contentId
  const rows = await digestRowsOf(join(releasesDir, manifest.release_id), manifest.files, threads)
  return describeContent(manifest, rows, components)
}

/** @returns a release that is here and is joined by one that is made now */
export async function describeExisting(
  releasesDir: string,
  manifest: Manifest,
  threads?: number,
): Promise<{ readonly manifest: Manifest; readonly folder: string; readonly contentId: string }> {
  const { contentId } = await ensureContent(releasesDir, manifest.release_id, threads)
  return { manifest, folder: join(releasesDir, manifest.release_id), contentId }
}

/** @returns a manifest with the digests of its rows and its content id; @param components releases it is made with, by area */
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
