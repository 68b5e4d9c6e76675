/**
 * What a release says, apart from who wrote its bytes: `content_id`, the digest of its rows, its snapshots and its rules. Releases
 * with the same content id say the same, whatever version of DuckDB or of the importer wrote them.
 *
 * In: a manifest and the digests of its files' rows. Out: the content id. Manifests made from now on carry both; a release made
 * before has them in `content.json`, outside the hash. Absent on purpose: computing digests of rows (import/row-digests.ts).
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
  /** Area → content id of the release that is joined. */
  readonly components: Readonly<Record<string, string>>
  /** Path → digest of the rows of the file. */
  readonly rows: ReadonlyMap<string, string>
}

/**
 * @param rows digest of the rows by path; @param components content id by area
 * @returns the content with its id: the SHA-256 of the canonical JSON of the manifest without its id, its writers' versions and the
 * bytes of its files, and with content ids in place of the ids of its components
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

/** @returns the content that a manifest states; null for a release made before manifests had it */
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
 * @returns the content of a release, from its manifest or from content.json beside it; null where it has neither
 * @throws ReleaseRefused where what is stated does not fit the manifest; the rows themselves are not read
 */
export async function readContent(releasesDir: string, manifest: Manifest): Promise<Content | null> {
  const stated = contentInManifest(manifest)
  if (stated !== null) return stated
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

/** @returns the text of content.json */
export const contentText = (releaseId: string, { contentId, components, rows }: Content): string =>
  `${canonicalJson({
    format: CONTENT_FORMAT,
    release_id: releaseId,
    content_id: contentId,
    component_content_ids: components,
    files: [...rows].sort().map(([path, rows_sha256]) => ({ path, rows_sha256 })),
  })}\n`

/** @returns the content id that a release states; null where it states none, or content.json does not fit the manifest */
export async function contentIdOf(releasesDir: string, manifest: Manifest): Promise<string | null> {
  if (manifest.content_id !== undefined) return manifest.content_id
  const content = await readContent(releasesDir, manifest).catch(() => null)
  return content?.contentId ?? null
}

const namesComponents = (manifest: Manifest, contents: Readonly<Record<string, string>>): boolean =>
  Object.keys(manifest.components).sort().join() === Object.keys(contents).sort().join()
