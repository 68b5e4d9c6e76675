/**
 * Verifies reports. In: bytes of a report. Out: its manifest, and what was checked. The first mismatch throws a SusDataError.
 * Every byte of a CSV report is checked, and only the manifest of a JSON report. `sus-data verify-report` checks workbooks, Parquet and Arrow.
 */
import type { components } from './api.ts'
import { bytesOf, digestJson, isSigned, sha256 } from './digest.ts'
import { checkLogProof, type LogProof } from './note.ts'
import { notVerified } from './request.ts'

export type ReportManifest = components['schemas']['ReportManifest']

export interface VerifiedReport {
  readonly manifest: ReportManifest
  /** True when the table was checked, not only the manifest. */
  readonly table: boolean
  /** True when the operator's signature was checked. */
  readonly signed: boolean
  /** Entry of the report's release in the operator's log; null without a verifier key. */
  readonly log: LogProof | null
}

const CSV_MARK = '# sus-data-report '

/**
 * @param publicKey the operator's key (base64), from a trusted source; without it the signature is not checked
 * @param verifierKey key of the operator's log (name+keyid+key); without it the log proof is not checked
 */
export async function verifyReport(
  bytes: Uint8Array<ArrayBuffer>,
  publicKey?: string,
  verifierKey?: string,
): Promise<VerifiedReport> {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const isCsv = new TextDecoder('latin1').decode(bytes.subarray(0, CSV_MARK.length)) === CSV_MARK
  const end = isCsv ? bytes.indexOf(0x0d) : 0
  if (isCsv && end < 0) throw notVerified('the report has no table')
  const manifest: ReportManifest = isCsv
    ? JSON.parse(text.decode(bytes.subarray(CSV_MARK.length, end)))
    : JSON.parse(text.decode(bytes)).manifest
  if (manifest?.format !== 'sus-data-report-1') throw notVerified('this is no report of sus-data')
  const { manifest_sha256, ...body } = manifest
  if ((await digestJson(body)) !== manifest_sha256) throw notVerified('the manifest was changed')
  const { release_id, catalog_version, query, rows_sha256, fingerprint } = manifest
  const fingerprintInput = { format: 'sus-data-query-1', release_id, catalog_version, query, rows_sha256 }
  if ((await digestJson(fingerprintInput)) !== fingerprint)
    throw notVerified('the fingerprint is not that of the query')
  if (isCsv && (await sha256(bytes.slice(end + 2))) !== manifest.table_sha256)
    throw notVerified('the table was changed')
  const { signature, log_proof: proof } = manifest
  if (publicKey !== undefined) {
    if (signature === null) throw notVerified('the report is not signed')
    if (!(await isSigned(fingerprint, bytesOf(signature.value), bytesOf(publicKey))))
      throw notVerified('the report is not signed by this key')
  }
  if (verifierKey !== undefined && proof === undefined)
    throw notVerified('the report has no proof that the log names its release')
  const log =
    verifierKey === undefined || proof === undefined
      ? null
      : await checkLogProof(proof, release_id, verifierKey)
  return { manifest, table: isCsv, signed: publicKey !== undefined, log }
}
