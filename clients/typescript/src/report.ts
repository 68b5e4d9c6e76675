/**
 * Reports that prove themselves. In: bytes of a report. Out: its manifest, and what was checked of it; the first thing that is wrong
 * is a SusDataError. A CSV report is checked to its last cell, a JSON report for its manifest; workbooks, Parquet and Arrow are
 * checked by `sus-data verify-report`.
 */
import type { components } from './api.ts'
import { digestJson, isSigned, sha256 } from './digest.ts'
import { SusDataError } from './request.ts'

export type ReportManifest = components['schemas']['ReportManifest']

export interface VerifiedReport {
  readonly manifest: ReportManifest
  /** The table itself was checked, not its manifest alone. */
  readonly table: boolean
  /** By the operator's key, which the caller gave. */
  readonly signed: boolean
}

const CSV_MARK = '# sus-data-report '

const refuse = (message: string): SusDataError => new SusDataError(message, { code: 'not_verified' })

/** @param publicKey of the operator (base64), from a place that is trusted; without it signatures are not checked */
export async function verifyReport(
  bytes: Uint8Array<ArrayBuffer>,
  publicKey?: string,
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
  const { signature } = manifest
  if (publicKey === undefined) return { manifest, table: isCsv, signed: false }
  if (signature === null) throw refuse('the report is not signed')
  if (!(await isSigned(fingerprint, signature.value, publicKey)))
    throw refuse('the report is not signed by this key')
  return { manifest, table: isCsv, signed: true }
}
