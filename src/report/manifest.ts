/**
 * The manifest of a report: the query, the release, and the digests with which anybody can check the result. Pure.
 *
 * Input: a prepared query and the digests of its rows. Output: a JSON value that every report file carries. It does not depend on
 * time or machine. `manifest_sha256` covers the manifest itself, so that any change in it is detected.
 */
import { z } from 'zod'
import { type AnswerSummary, componentsOf, type PreparedQuery } from '../analytics/query.ts'
import type { JsonValue } from '../engine/types.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { sentenceOf, writeNotes } from '../model/note-sentences.ts'
import type { Note } from '../model/notes.ts'
import { withoutPage } from '../query/analytics/fingerprint.ts'
import { componentRef, documentedAs } from '../query/text-schemas.ts'
import { digestJson } from '../release/digest.ts'
import type { ReleaseView } from '../release/view.ts'
import type { Column, Language } from './table.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const columnSchema = z.strictObject({
  name: z.string(),
  type: z.enum(['text', 'integer', 'decimal']),
  decimals: z.number().int().min(0).max(18),
  digested: z.boolean(),
  label: z.string(),
  unit: z.string(),
  formula: z.string(),
  source: z.string(),
})

/** Reports made before notes had codes contain only English sentences. */
const noteSchema = documentedAs(
  z.union([z.looseObject({ code: z.string(), message: z.string() }), z.string()]),
  componentRef('Note'),
)

export const reportManifestSchema = z.strictObject({
  format: z.literal('sus-data-report-1'),
  title: z.string().nullable(),
  language: z.enum(['pt', 'en']),
  release_id: z.string(),
  /** Content id of the release; absent when the release has none, and in older reports. */
  content_id: sha256.optional(),
  components: z.record(z.string(), z.string().nullable()),
  catalog_version: z.string(),
  reference_period: z.string().nullable(),
  synthetic: z.boolean(),
  query: documentedAs(z.record(z.string(), z.json()), componentRef('NormalisedQuery')),
  columns: z.array(columnSchema),
  /** Rows of the table, including totals. */
  row_count: z.number().int().nonnegative(),
  /** Digest over codes and values of all rows. */
  rows_sha256: sha256,
  /** Digest over the table as CSV, including names. */
  table_sha256: sha256,
  fingerprint: sha256,
  notes: z.array(noteSchema),
  /** Citation of the rows; absent in older reports. */
  citation: z.strictObject({ abnt: z.string(), bibtex: z.string() }).optional(),
  /** Ed25519 over the 64 characters of the fingerprint; null when the operator has no key. */
  signature: z
    .strictObject({ algorithm: z.literal('Ed25519'), public_key: z.string(), value: z.string() })
    .nullable(),
  /** C2SP tlog-proof that the operator's log contains the release; absent without a log, and in older reports. */
  log_proof: z.string().optional(),
  how_to_verify: z.string(),
  manifest_sha256: sha256,
})
export type ReportManifest = z.infer<typeof reportManifestSchema>

export type Sign = (fingerprint: string) => { readonly public_key: string; readonly value: string }

interface ManifestInput {
  readonly prepared: PreparedQuery
  readonly summary: AnswerSummary
  readonly view: ReleaseView
  readonly columns: readonly Column[]
  readonly title: string | null
  readonly language: Language
  readonly tableSha256: string
  readonly sign: Sign | null
  readonly logProof: string | null
  /** The report's own release was replaced by another one with the same content. */
  readonly isStandIn?: boolean
  /**
   * Manifest of a report that is rebuilt. The new one repeats its signature and proof, and omits fields that an older manifest
   * lacks.
   */
  readonly repeated?: ReportManifest | null
}

export function describeReport(input: ManifestInput): ReportManifest {
  const {
    prepared,
    summary,
    view,
    columns,
    title,
    language,
    tableSha256,
    sign,
    repeated = null,
    isStandIn = false,
  } = input
  const signature = repeated === null ? (sign?.(summary.fingerprint) ?? null) : repeated.signature
  const logProof = repeated === null ? input.logProof : (repeated.log_proof ?? null)
  const contentId = repeated === null ? view.contentId : repeated.content_id
  const hasCitation = repeated === null || repeated.citation !== undefined
  return sealManifest({
    format: 'sus-data-report-1',
    title,
    language,
    release_id: view.id,
    ...(contentId === undefined || contentId === null ? {} : { content_id: contentId }),
    // Another release of the same content has other components, so keep the ids of the original report.
    components: repeated !== null && isStandIn ? repeated.components : componentsOf(view),
    catalog_version: CATALOG_VERSION,
    reference_period: prepared.plan.referencePeriod,
    synthetic: view.synthetic,
    query: withoutPage(prepared.normalised) as Record<string, z.util.JSONType>,
    columns: [...columns],
    row_count: summary.tableRows,
    rows_sha256: summary.rowsSha256,
    table_sha256: tableSha256,
    fingerprint: summary.fingerprint,
    notes: notesOf(summary.notes, language, repeated),
    ...(hasCitation ? { citation: { ...summary.citation } } : {}),
    signature: signature === null ? null : { ...signature, algorithm: 'Ed25519' },
    ...(logProof === null ? {} : { log_proof: logProof }),
    how_to_verify: 'sus-data verify-report FILE',
  })
}

/** @returns the notes in the report's language, or as English sentences when an older report with sentences is rebuilt */
const notesOf = (
  notes: readonly Note[],
  language: Language,
  repeated: ReportManifest | null,
): ReportManifest['notes'] =>
  repeated?.notes.some((note) => typeof note === 'string')
    ? notes.map((note) => sentenceOf(note, 'en'))
    : writeNotes(notes, language)

export const messagesOf = ({ notes }: Pick<ReportManifest, 'notes'>): string[] =>
  notes.map((note) => (typeof note === 'string' ? note : note.message))

export const sealManifest = (body: Omit<ReportManifest, 'manifest_sha256'>): ReportManifest => ({
  ...body,
  manifest_sha256: digestManifest(body),
})

/** @returns SHA-256 of the canonical JSON of a manifest without its digest */
export function digestManifest(manifest: Omit<ReportManifest, 'manifest_sha256'>): string {
  const { manifest_sha256: _digest, ...body } = manifest as ReportManifest
  return digestJson(body as unknown as JsonValue)
}
