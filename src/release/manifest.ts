/**
 * The manifest of a release: what it holds, what it was made from, and the id that is the digest of both.
 *
 * In: the JSON of `manifest.json`. Out: a checked value. No clock enters it, so equal snapshots give an equal id on any
 * machine. Absent on purpose: where and when a snapshot was fetched (that is in acquisition.json, outside the hash).
 */
import { z } from 'zod'
import { canonicalJson, digestJson } from './digest.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** Relative, forward slashes, no dot segments: a manifest can never name a file outside its folder. */
const filePath = z.string().regex(/^[a-z_]+(\/reference_period=\d{6})?\/part-\d+\.parquet$/)
/** What may be asked for of a release: a file that the manifest lists, the manifest, or what is signed of it. */
export const RELEASE_FILE =
  /^([a-z_]+(\/reference_period=\d{6})?\/part-\d+\.parquet|manifest\.(json|sig)|log\.tlog-proof|attestations\/[0-9a-f]{8}\.note)$/
const period = z.number().int().min(190001).max(299912)

export const fileSchema = z.strictObject({
  path: filePath,
  bytes: z.number().int().positive(),
  sha256,
  rows: z.number().int().nonnegative(),
  /** Digest of the rows, whatever wrote the file; absent in releases made before. */
  rows_sha256: sha256.optional(),
})

const snapshotSchema = z.strictObject({
  publisher: z.string(),
  file: z.string(),
  /** The archive the file was in, when it came in one. */
  archive: z.strictObject({ file: z.string(), bytes: z.number().int(), sha256 }).nullable(),
  bytes: z.number().int().nonnegative(),
  sha256,
  /** Data rows the file publishes. */
  rows: z.number().int().nonnegative(),
})

const statesSchema = z.union([z.literal('all'), z.array(z.string().length(2))])
const coverageSchema = z.strictObject({
  /** 'base': the national monthly base; 'state': files by state; 'derived': facilities known only from fact rows. */
  family: z.enum(['base', 'state', 'derived']),
  /** Two-letter states the period was collected for; every state for a national base. */
  states: statesSchema,
  /** Dimension → states whose files of the month have rows, and no code of the dimension in any of them; absent: none. */
  not_carried: z.record(z.string(), statesSchema).optional(),
  /** States whose published file of the month has no row at all; absent: none. */
  empty: statesSchema.optional(),
})

export const manifestSchema = z.strictObject({
  format: z.literal(1),
  release_id: z.string(),
  area: z.enum(['cnes', 'demography', 'sih', 'sia', 'financing', 'analytics']),
  scope: z.string().regex(/^[a-z]{2}$/),
  /** Newest month (YYYYMM) of the release; of demography, January of the newest year. */
  month: period,
  synthetic: z.boolean(),
  importer_version: z.string(),
  duckdb_version: z.string(),
  catalog_version: z.string(),
  datasets: z.record(
    z.string(),
    z.strictObject({
      key: z.array(z.string()),
      fields: z.array(z.strictObject({ name: z.string(), type: z.string() })),
      rows: z.number().int().nonnegative(),
      periods: z.array(period),
    }),
  ),
  files: z.array(fileSchema),
  snapshots: z.array(snapshotSchema),
  /** dataset → period (YYYYMM as text) → what was collected. */
  coverage: z.record(z.string(), z.record(z.string(), coverageSchema)),
  /** Headers of the published tables, one entry for all tables with the same. Releases made before v1.2.0 have none. */
  headers: z
    .array(
      z.strictObject({
        files: z.array(z.string()),
        /** As published, in order. */
        columns: z.array(z.string()),
        /** Those that nothing is read from. */
        unread: z.array(z.string()),
        /** Column of the release's provenance tables → its published name, where they differ. */
        renamed: z.record(z.string(), z.string()),
      }),
    )
    .optional(),
  counts: z.record(z.string(), z.number().int()),
  set_aside: z.array(
    z.strictObject({ file: z.string(), reason: z.string(), rows: z.number().int().positive() }),
  ),
  checks: z.array(z.strictObject({ name: z.string(), violations: z.number().int() })),
  /** Releases this one was made with (cnes: the municipality list) or joins (analytics). */
  components: z.record(z.string(), z.string()),
  /** Digest of what the release says, whatever wrote its files (content.ts); absent in releases made before. */
  content_id: sha256.optional(),
  /** Area → content id of the release in `components`. */
  component_content_ids: z.record(z.string(), sha256).optional(),
  /** demography: the newest census year, the denominator of rates. */
  census_year: z.number().int().nullable(),
  /** demography: edition of the territorial base that its health regions are of; absent where it has none. */
  territory_edition: z.string().optional(),
})

export type Manifest = z.infer<typeof manifestSchema>
export type ManifestFile = z.infer<typeof fileSchema>
export type Snapshot = z.infer<typeof snapshotSchema>
export type Coverage = z.infer<typeof coverageSchema>

export const RELEASE_ID =
  /^(demo-)?(cnes|demography|sih|sia|financing|analytics)-[a-z]{2}-\d{6}-[0-9a-f]{64}$/

/** @returns the id a manifest must have: prefix from its own fields, hex from the canonical JSON without the id */
export function releaseIdOf(manifest: Omit<Manifest, 'release_id'>): string {
  const { area, scope, month, synthetic } = manifest
  const { release_id: _ignored, ...body } = manifest as Manifest
  return `${synthetic ? 'demo-' : ''}${area}-${scope}-${month}-${digestJson(body)}`
}

/** Text of manifest.json: canonical, so the file itself is reproducible. */
export const manifestText = (manifest: Manifest): string => `${canonicalJson(manifest)}\n`
