/**
 * Reports that prove themselves. In: bytes of a report. Out: its manifest, and what was checked of it; the first thing that is wrong
 * is a SusDataError. A CSV report is checked to its last cell, a JSON report for its manifest; workbooks, Parquet and Arrow are
 * checked by `sus-data verify-report`.
 */
import type { components } from './api.ts'
import { bytesOf, digestJson, isSigned, sha256 } from './digest.ts'
import { checkLogProof, type LogProof } from './note.ts'
import { refuse } from './request.ts'

export type ReportManifest = components['schemas']['ReportManifest']

export interface VerifiedReport {
  readonly manifest: ReportManifest
  /** The table itself was checked, not its manifest alone. */
  readonly table: boolean
  /** By the operator's key, which the caller gave. */
  readonly signed: boolean
  /** Where the operator's log names the release of the report; null where no verifier key was given. */
  readonly log: LogProof | null
}

const CSV_MARK = '# sus-data-report '

/**
 * @param publicKey of the operator (base64), from a place that is trusted; without it signatures are not checked
 * @param verifierKey of the operator's log (name+keyid+key); without it the proof that the log names the release is not checked
 */
export async function verifyReport(
  bytes: Uint8Array<ArrayBuffer>,
  publicKey?: string,
  verifierKey?: string,
): Promise<VerifiedReport> {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const isCsv = new TextDecoder('latin1').decode(bytes.subarray(0, CSV_MARK.length)) === CSV_MARK
  const end = isCsv ? bytes.indexOf(0x0d) : 0
  if (isCsv && end < 0) throw refuse('the report has no table')
  const manifest: ReportManifest = isCsv
    ? JSON.parse(text.decode(bytes.subarray(CSV_MARK.length, end)))
    : JSON.parse(text.decode(bytes)).manifest
  if (manifest?.format !== 'sus-data-report-1') throw refuse('this is no report of sus-data')
  const { manifest_sha256, ...body } = manifest
  if ((await digestJson(body)) !== manifest_sha256) throw refuse('the manifest was changed')
  const { release_id, catalog_version, query, rows_sha256, fingerprint } = manifest
  const asked = { format: 'sus-data-query-1', release_id, catalog_version, query, rows_sha256 }
  if ((await digestJson(asked)) !== fingerprint) throw refuse('the fingerprint is not that of the query')
  if (isCsv && (await sha256(bytes.slice(end + 2))) !== manifest.table_sha256)
    throw refuse('the table was changed')
  const { signature, log_proof: proof } = manifest
  if (publicKey !== undefined) {
    if (signature === null) throw refuse('the report is not signed')
    if (!(await isSigned(fingerprint, bytesOf(signature.value), bytesOf(publicKey))))
      throw refuse('the report is not signed by this key')
  }
  if (verifierKey !== undefined && proof === undefined)
    throw refuse('the report has no proof that the log names its release')
  const log =
    verifierKey === undefined || proof === undefined
      ? null
      : await checkLogProof(proof, release_id, verifierKey)
  return { manifest, table: isCsv, signed: publicKey !== undefined, log }
}
