/**
 * Computes `content_id`, the digest of a release's rows, snapshots and rules, independent of the bytes of its files. Releases
 * with equal content ids hold the same data, whichever version of DuckDB or of the importer wrote them. In: a manifest and
 * the digests of its files' rows. Out: the content id. New manifests hold both; an older release has them in `content.json`,
 * outside the hash. import/row-digests.ts computes the digests of rows.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { canonicalJson, digestJson } from './digest.ts'
import type { Manifest } from './manifest.ts'
import { ReleaseRefused } from './verify.ts'

export const CONTENT_FILE = 'content.json'
const CONTENT_FORMAT = 'sus-data-content-1'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const contentSchema = z.strictObject({
  format: z.literal(CONTENT_FORMAT),
  release_id: z.string(),
  content_id: sha256,
  component_content_ids: z.record(z.string(), sha256),
  files: z.array(z.strictObject({ path: z.string(), rows_sha256: sha256 })),
})

export interface Content {
  readonly contentId: string
  /** Area → content id of the component release. */
  readonly components: Readonly<Record<string, string>>
  /** Path → digest of the file's rows. */
  readonly rows: ReadonlyMap<string, string>
}

/**
 * @param rows digest of the rows by path
 * @param components content id by area
 * @returns the content with its id: the SHA-256 of the manifest's canonical JSON without id, writers' versions and bytes of
 * files, and with content ids instead of component ids
 */
export function describeContent(
  manifest: Omit<Manifest, 'release_id'>,
  rows: ReadonlyMap<string, string>,
  components: Readonly<Record<string, string>>,
): Content {
  const {
    release_id: _id,
    content_id: _content,
    component_content_ids: _components,
    duckdb_version: _duckdb,
    importer_version: _importer,
    ...rest
  } = manifest as Manifest
  const files = manifest.files.map(({ path, rows: count }) => ({
    path,
    rows: count,
    rows_sha256: rows.get(path) ?? '',
  }))
  const contentId = digestJson({ ...rest, format: CONTENT_FORMAT, files, components })
  return { contentId, components, rows }
}

/** @returns the content that a manifest states, or null for a release older than content ids */
export function contentInManifest(manifest: Manifest): Content | null {
  if (manifest.content_id === undefined) return null
  const rows = new Map(manifest.files.map(({ path, rows_sha256 }) => [path, rows_sha256 ?? '']))
  const content = describeContent(manifest, rows, manifest.component_content_ids ?? {})
  if ([...rows.values()].includes('') || !namesComponents(manifest, content.components))
    throw new ReleaseRefused(manifest.release_id, 'manifest.json', 'lacks a digest of rows')
  if (content.contentId !== manifest.content_id)
    throw new ReleaseRefused(manifest.release_id, 'manifest.json', 'does not have the content id it states')
  return content
}

/**
 * @returns the content from the manifest or from content.json beside it; null when neither has it
 * @throws ReleaseRefused when the stated content does not match the manifest; the rows themselves are not read
 */
export async function readContent(releasesDir: string, manifest: Manifest): Promise<Content | null> {
  const contentFromManifest = contentInManifest(manifest)
  if (contentFromManifest !== null) return contentFromManifest
  const { release_id } = manifest
  let text: string
  try {
    text = await readFile(join(releasesDir, release_id, CONTENT_FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const refuse = (reason: string): ReleaseRefused => new ReleaseRefused(release_id, CONTENT_FILE, reason)
  let parsed: z.infer<typeof contentSchema>
  try {
    parsed = contentSchema.parse(JSON.parse(text))
  } catch {
    throw refuse('is not a list of content digests')
  }
  const rows = new Map(parsed.files.map(({ path, rows_sha256 }) => [path, rows_sha256]))
  const isOfRelease =
    parsed.release_id === release_id &&
    parsed.files.length === manifest.files.length &&
    manifest.files.every(({ path }) => rows.has(path)) &&
    namesComponents(manifest, parsed.component_content_ids)
  if (!isOfRelease) throw refuse('does not list the files of this release')
  const content = describeContent(manifest, rows, parsed.component_content_ids)
  if (content.contentId !== parsed.content_id) throw refuse('does not have the content id it states')
  return content
}

export const contentText = (releaseId: string, { contentId, components, rows }: Content): string =>
  `${canonicalJson({
    format: CONTENT_FORMAT,
    release_id: releaseId,
    content_id: contentId,
    component_content_ids: components,
    files: [...rows].sort().map(([path, rows_sha256]) => ({ path, rows_sha256 })),
  })}\n`

/** @returns the stated content id; null when there is none or content.json does not match the manifest */
export async function contentIdOf(releasesDir: string, manifest: Manifest): Promise<string | null> {
  if (manifest.content_id !== undefined) return manifest.content_id
  const content = await readContent(releasesDir, manifest).catch(() => null)
  return content?.contentId ?? null
}

const namesComponents = (manifest: Manifest, contents: Readonly<Record<string, string>>): boolean =>
  Object.keys(manifest.components).sort().join() === Object.keys(contents).sort().join()
