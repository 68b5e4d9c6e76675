/**
 * Is a report what it says it is? Its digests are computed from its content, its signature is checked, its query is run again.
 *
 * In: a report as read, and the release it names where it is here. Out: what differs, first things first; nothing when the
 * report is whole. Offline the content is checked against the manifest, the manifest against itself; with the release the
 * query runs again and every cell is compared.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Engine } from '../engine/types.ts'
import { CAPABILITIES } from '../model/capabilities.ts'
import { fingerprintOf } from '../query/fingerprint.ts'
import { sha256Hex } from '../release/digest.ts'
import type { ReleaseView } from '../release/view.ts'
import { checkProof, parseProof } from '../trust/checkpoint.ts'
import { decodeEntry } from '../trust/log-entry.ts'
import { NoteError, type Verifier } from '../trust/note.ts'
import { openTable, type ReportTable } from './build.ts'
import { csvHeader, csvLine, csvText } from './csv.ts'
import { digestManifest } from './manifest.ts'
import type { ReadReport } from './read.ts'
import { type Cell, digestLine } from './table.ts'

/** Checks a signature over a fingerprint. */
export type CheckSignature = (publicKey: string, fingerprint: string, value: string) => boolean

/** @returns what is wrong with the content by itself, without any release */
export function checkContent(report: ReadReport, isSigned: CheckSignature): string[] {
  const { manifest, header, rows, problems } = report
  const { columns } = manifest
  const found = [...problems]
  if (digestManifest(manifest) !== manifest.manifest_sha256)
    found.push('the manifest was changed: its own digest (manifest_sha256) is another')
  const names = columns.map(({ name }) => name)
  if (header.join() !== names.join())
    found.push(`the columns are ${header.join(', ')}; the manifest says ${names.join(', ')}`)
  if (rows.length !== manifest.row_count)
    found.push(`the table has ${rows.length} rows; the manifest says ${manifest.row_count}`)
  const lines = rows.map((cells) => digestLine(cells, columns))
  if (sha256Hex(sortByBytes(lines).join('\n')) !== manifest.rows_sha256)
    found.push('the codes and values are not those the manifest was made of (rows_sha256)')
  const table =
    report.tableSha256 ??
    sha256Hex(csvHeader(columns) + rows.map((cells) => csvLine(cells, columns)).join(''))
  if (table !== manifest.table_sha256)
    found.push('the table is not the one the manifest was made of (table_sha256)')
  const { release_id, query, rows_sha256, catalog_version, fingerprint, signature } = manifest
  if (fingerprintOf(release_id, query, rows_sha256, catalog_version) !== fingerprint)
    found.push('the fingerprint does not follow from release, catalog version, query and rows_sha256')
  if (signature !== null && !isSigned(signature.public_key, fingerprint, signature.value))
    found.push('the signature was not made by the key it names over this fingerprint')
  return found
}

/** Where the log names the release of a report. */
export interface LogPlace {
  readonly origin: string
  readonly index: number
  readonly time: string
  /** One of the known keys has signed the log. */
  readonly trusted: boolean
}

/**
 * Checks, offline, that the operator's log names the release: by the proof that the report carries.
 * @param known keys of logs; @param isDemanded the report must carry a proof that one of them has signed
 * @returns the place, or null where the report has no proof and needs none; @throws NoteError that says what is wrong
 */
export function checkLogProof(
  { release_id, log_proof }: ReadReport['manifest'],
  known: readonly Verifier[],
  isDemanded: boolean,
): LogPlace | null {
  if (log_proof === undefined) {
    if (isDemanded) throw new NoteError('is missing')
    return null
  }
  const proof = parseProof(log_proof)
  const { origin, trusted } = checkProof(proof, known, isDemanded)
  const entry = decodeEntry(proof.entry)
  if (entry?.kind !== 'release' || entry.release_id !== release_id)
    throw new NoteError('is not of the release of this report')
  return { origin, index: proof.index, time: entry.time, trusted }
}

/** Byte order, as the statement's: by code points, not by UTF-16 units. */
const sortByBytes = (lines: readonly string[]): string[] =>
  lines
    .map((line) => Buffer.from(line))
    .sort(Buffer.compare)
    .map(String)

/** Runs the query of the report again. @returns the first difference, or null; @throws AppError as the query */
export async function replay(
  report: ReadReport,
  parts: { readonly engine: Engine; readonly view: ReleaseView },
): Promise<string | null> {
  const { manifest } = report
  const { table } = await openTable(
    { ...manifest.query, title: manifest.title },
    { ...parts, capabilities: CAPABILITIES, language: manifest.language, sign: null },
  )
  try {
    return await firstDifference(report, table)
  } finally {
    await table.close()
  }
}

async function firstDifference(report: ReadReport, table: ReportTable): Promise<string | null> {
  const { manifest, rows, placeOf, format } = report
  const { columns, summary } = table
  const names = columns.map(({ name }) => name)
  const reported = manifest.columns.map(({ name }) => name)
  if (names.join() !== reported.join())
    return `the query gives the columns ${names.join(', ')}; the report has ${reported.join(', ')}`
  let row = 0
  for await (const { cells } of table.batches)
    for (const expected of cells) {
      const reportRow = rows[row]
      if (reportRow === undefined) return `the report ends at row ${row}; the release has more`
      for (const [column, cell] of expected.entries()) {
        const isText = columns[column]?.type === 'text'
        const shown = format === 'csv' && isText ? csvText(cell) : cell
        if ((reportRow[column] ?? null) !== shown)
          return `${placeOf(row, column)} (${names[column]}) is ${show(reportRow[column])}; the release says ${show(shown)}`
      }
      row += 1
    }
  if (row < rows.length) return `the report has ${rows.length} rows; the release gives ${row}`
  if (summary.fingerprint !== manifest.fingerprint)
    return `the fingerprint is ${manifest.fingerprint}; the release gives ${summary.fingerprint}`
  if (JSON.stringify(columns) !== JSON.stringify(manifest.columns))
    return 'the manifest describes the columns otherwise than this version does'
  // Reports made before it was there have no citation.
  const { citation } = manifest
  if (citation !== undefined && !isDeepStrictEqual(citation, summary.citation))
    return 'the manifest cites the rows otherwise than this version does'
  return null
}

const show = (cell: Cell | undefined): string =>
  cell === null || cell === undefined ? 'empty' : JSON.stringify(cell)
