/**
 * The manifest of a release: its files, datasets, sources and coverage, and the id, which is the digest of all of it. In: the
 * JSON of `manifest.json`. Out: a checked value. It contains no time, so equal snapshots give an equal id on any machine.
 * The place and time at which a snapshot was fetched are in acquisition.json, outside the hash.
 */
import { z } from 'zod'
import { AREA_NAMES } from '../model/areas.ts'
import { canonicalJson, digestJson } from './digest.ts'

/** Areas, and the release that joins them. */
export const RELEASE_AREAS = [...AREA_NAMES, 'analytics'] as const

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** Relative path without dot segments, so that a manifest cannot name a file outside its folder. */
const filePath = z.string().regex(/^[a-z_]+(\/reference_period=\d{6})?\/part-\d+\.parquet$/)
/** Files of a release that clients may request: listed files, the manifest, and signatures and proofs. */
export const RELEASE_FILE =
  /^([a-z_]+(\/reference_period=\d{6})?\/part-\d+\.parquet|manifest\.(json|sig)|log\.tlog-proof|attestations\/[0-9a-f]{8}\.note)$/
const period = z.number().int().min(190001).max(299912)

export const fileSchema = z.strictObject({
  path: filePath,
  bytes: z.number().int().positive(),
  sha256,
  rows: z.number().int().nonnegative(),
  /** Digest of the rows, independent of the writer; absent in older releases. */
  rows_sha256: sha256.optional(),
})

const snapshotSchema = z.strictObject({
  publisher: z.string(),
  file: z.string(),
  archive: z.strictObject({ file: z.string(), bytes: z.number().int(), sha256 }).nullable(),
  bytes: z.number().int().nonnegative(),
  sha256,
  rows: z.number().int().nonnegative(),
})

const statesSchema = z.union([z.literal('all'), z.array(z.string().length(2))])
const coverageSchema = z.strictObject({
  /** 'base': the national monthly base. 'state': files by state. 'derived': facilities that only fact rows mention. */
  family: z.enum(['base', 'state', 'derived']),
  /** States (two letters) collected for the period; all of them for a national base. */
  states: statesSchema,
  /** Dimension → states whose files of the month have rows but no code of the dimension. */
  not_carried: z.record(z.string(), statesSchema).optional(),
  /** States whose published file of the month has no rows. */
  empty: statesSchema.optional(),
  /** State → whether its file of the period is final or preliminary, where the publisher's folder says so. */
  status: z.record(z.string(), z.enum(['final', 'preliminary'])).optional(),
})

export const manifestSchema = z.strictObject({
  format: z.literal(1),
  release_id: z.string(),
  area: z.enum(RELEASE_AREAS),
  scope: z.string().regex(/^[a-z]{2}$/),
  /** Newest month (YYYYMM); for demography, January of the newest year. */
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
  /** Dataset → period (YYYYMM as string) → coverage. */
  coverage: z.record(z.string(), z.record(z.string(), coverageSchema)),
  /** Headers of the published tables, one entry per distinct header. Absent before v1.2.0. */
  headers: z
    .array(
      z.strictObject({
        files: z.array(z.string()),
        columns: z.array(z.string()),
        /** Columns that the importer does not read. */
        unread: z.array(z.string()),
        /** Column of the release's provenance tables → its published name, when they differ. */
        renamed: z.record(z.string(), z.string()),
      }),
    )
    .optional(),
  counts: z.record(z.string(), z.number().int()),
  set_aside: z.array(
    z.strictObject({ file: z.string(), reason: z.string(), rows: z.number().int().positive() }),
  ),
  checks: z.array(z.strictObject({ name: z.string(), violations: z.number().int() })),
  /** Area → release that this one was built with (cnes: the municipality list) or joins (analytics). */
  components: z.record(z.string(), z.string()),
  /** Content digest (content.ts), independent of the writer; absent in older releases. */
  content_id: sha256.optional(),
  /** Area → content id of the release in `components`. */
  component_content_ids: z.record(z.string(), sha256).optional(),
  /** For demography: the newest census year, whose population is the denominator of rates. */
  census_year: z.number().int().nullable(),
  /** For demography: edition of the territorial base with its health regions; absent without one. */
  territory_edition: z.string().optional(),
})

export type Manifest = z.infer<typeof manifestSchema>
export type ManifestFile = z.infer<typeof fileSchema>
export type Snapshot = z.infer<typeof snapshotSchema>
export type Coverage = z.infer<typeof coverageSchema>

export const RELEASE_ID = new RegExp(`^(demo-)?(${RELEASE_AREAS.join('|')})-[a-z]{2}-\\d{6}-[0-9a-f]{64}$`)

/** @returns the release ids in a text, such as the address of a link */
export const releaseIdsIn = (text: string): string[] => [
  ...new Set(text.match(new RegExp(RELEASE_ID.source.replaceAll(/[$^]/g, ''), 'g')) ?? []),
]

/** @returns the id that a manifest must have: a prefix from its fields, and the digest of its canonical JSON without the id */
export function releaseIdOf(manifest: Omit<Manifest, 'release_id'>): string {
  const { area, scope, month, synthetic } = manifest
  const { release_id: _id, ...body } = manifest as Manifest
  return `${synthetic ? 'demo-' : ''}${area}-${scope}-${month}-${digestJson(body)}`
}

/** @returns the text of manifest.json, canonical so that the file is reproducible */
export const manifestText = (manifest: Manifest): string => `${canonicalJson(manifest)}\n`
