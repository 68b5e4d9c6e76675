/**
 * Verifies a report. Building a report twice gives the same bytes, so it is rebuilt and compared by bytes. A file that another
 * program saved is compared with the rebuilt one cell by cell. Without the release, the content is checked against the manifest.
 *
 * Input: a manifest or a parsed report. Output: the differences, most important first; empty when there are none.
 */
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fingerprintOf } from '../query/analytics/fingerprint.ts'
import { sha256Hex } from '../release/digest.ts'
import { checkProof, parseProof } from '../trust/checkpoint.ts'
import { decodeEntry } from '../trust/log-entry.ts'
import { NoteError, type Verifier } from '../trust/note.ts'
import { writeCells } from './build.ts'
import { digestManifest, type ReportManifest } from './manifest.ts'
import { readReport } from './reading/read.ts'
import type { ReadReport } from './reading/report.ts'
import { type Cell, digestLine } from './table.ts'
import { csvHeader, csvLine } from './writers/csv.ts'

export type CheckSignature = (publicKey: string, fingerprint: string, value: string) => boolean

/** @returns the problems of a manifest that show without its release */
export function checkManifest(manifest: ReportManifest, isSigned: CheckSignature): string[] {
  const found: string[] = []
  if (digestManifest(manifest) !== manifest.manifest_sha256)
    found.push('the manifest was changed: its own digest (manifest_sha256) is another')
  const { release_id, query, rows_sha256, catalog_version, fingerprint, signature } = manifest
  if (fingerprintOf(release_id, query, rows_sha256, catalog_version) !== fingerprint)
    found.push('the fingerprint does not follow from release, catalog version, query and rows_sha256')
  if (signature !== null && !isSigned(signature.public_key, fingerprint, signature.value))
    found.push('the signature was not made by the key it names over this fingerprint')
  return found
}

/** @returns the differences between the table and its manifest */
function checkTable(report: ReadReport): string[] {
  const { manifest, header, rows, problems } = report
  const { columns } = manifest
  const found = [...problems]
  const names = columns.map(({ name }) => name)
  if (!isDeepStrictEqual(header, names))
    found.push(`the columns are ${listNames(header)}; the manifest says ${listNames(names)}`)
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
  return found
}

/** Result of checking a file without its release. */
export interface AloneVerdict {
  readonly differences: readonly string[]
  /** Whether the file equals the one rebuilt from its manifest and cells; null for JSON, which contains more than those. */
  readonly isFileMade: boolean | null
}

/** @param checked manifest whose signature and proof were checked, if any @throws ReportUnreadable */
export async function checkAlone(file: string, checked?: ReportManifest): Promise<AloneVerdict> {
  const report = await readReport(file)
  const { format, manifest, rows } = report
  const differences = [...findOtherManifest(report, checked), ...checkTable(report)]
  if (differences.length > 0 || format === 'json' || format === 'json-stat')
    return { differences, isFileMade: null }
  const folder = await mkdtemp(join(tmpdir(), 'sus-data-report-'))
  try {
    const rebuilt = join(folder, 'again')
    await writeCells(format, rebuilt, manifest, rows)
    return { differences, isFileMade: await isSameFile(file, rebuilt) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The manifest is found at the end of a JSON and by its member; a forged file could have a true one at one of the two. */
const findOtherManifest = ({ manifest }: ReadReport, checked = manifest): string[] =>
  isDeepStrictEqual(manifest, checked) ? [] : ['the file has two manifests']

/**
 * Compares a file that another program saved with the rebuilt report.
 * @param checked manifest whose signature and proof were checked
 * @returns the first difference and everything else that a reader would see differently; empty when the cells agree
 * @throws ReportUnreadable
 */
export async function compareReports(file: string, made: string, checked: ReportManifest): Promise<string[]> {
  const [report, expected] = [await readReport(file), await readReport(made)]
  const difference =
    differentCell(report, expected) ?? differentText(new Map(report.others), new Map(expected.others))
  return [
    ...(difference === null ? [] : [difference]),
    ...findOtherManifest(report, checked),
    ...report.problems,
  ]
}

function differentCell({ manifest, header, rows, placeOf }: ReadReport, expected: ReadReport): string | null {
  if (!isDeepStrictEqual(header, expected.header))
    return `the query gives the columns ${listNames(expected.header)}; the report has ${listNames(header)}`
  for (const [row, cells] of expected.rows.entries()) {
    const reported = rows[row]
    if (reported === undefined) return `the report ends at row ${row}; the release has more`
    for (const [column, cell] of cells.entries())
      if ((reported[column] ?? null) !== cell)
        return `${placeOf(row, column)} (${header[column]}) is ${formatCell(reported[column])}; the release says ${formatCell(cell)}`
  }
  if (rows.length > expected.rows.length)
    return `the report has ${rows.length} rows; the release gives ${expected.rows.length}`
  const names = Object.keys({ ...manifest, ...expected.manifest }) as (keyof ReportManifest)[]
  const other = names.find(
    (name) =>
      JSON.stringify(manifest[name]) !== JSON.stringify(expected.manifest[name]) && !DIGESTS.has(name),
  )
  return other === undefined
    ? null
    : `${other} of the manifest is not what this version makes of the query and the release`
}

/** Fields that depend only on the other fields. */
const DIGESTS = new Set(['manifest_sha256'])

function differentText(
  report: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, string>,
): string | null {
  for (const [position, text] of expected)
    if (report.get(position) !== text)
      return `${position} is ${report.get(position) ?? 'missing'}; the release says ${text}`
  for (const position of report.keys())
    if (!expected.has(position)) return `${position} is no part of the report that was made`
  return null
}

export async function isSameFile(left: string, right: string): Promise<boolean> {
  if ((await stat(left)).size !== (await stat(right)).size) return false
  const others = createReadStream(right, { highWaterMark: COMPARE_CHUNK_BYTES })[Symbol.asyncIterator]()
  for await (const chunk of createReadStream(left, { highWaterMark: COMPARE_CHUNK_BYTES })) {
    const other = await others.next()
    if (other.done === true || !(other.value as Buffer).equals(chunk as Buffer)) return false
  }
  return true
}
const COMPARE_CHUNK_BYTES = 1 << 20

/** The entry of the log that names a report's release. */
export interface LogPosition {
  readonly origin: string
  readonly index: number
  readonly time: string
  /** One of the trusted keys signed the log. */
  readonly trusted: boolean
}

/**
 * Checks offline, with the proof in the report, that the operator's log names the release.
 * @param trustedKeys keys of logs @param isDemanded the report must carry a proof signed by one of them
 * @returns the log entry; null when the report has no proof and needs none @throws NoteError with the problem
 */
export function checkLogProof(
  { release_id, log_proof }: ReportManifest,
  trustedKeys: readonly Verifier[],
  isDemanded: boolean,
): LogPosition | null {
  if (log_proof === undefined) {
    if (isDemanded) throw new NoteError('is missing')
    return null
  }
  const proof = parseProof(log_proof)
  const { origin, trusted } = checkProof(proof, trustedKeys, isDemanded)
  const entry = decodeEntry(proof.entry)
  if (entry?.kind !== 'release' || entry.release_id !== release_id)
    throw new NoteError('is not of the release of this report')
  return { origin, index: proof.index, time: entry.time, trusted }
}

/** Sorts by bytes, like the statement: by code points, not by UTF-16 units. */
const sortByBytes = (lines: readonly string[]): string[] =>
  lines
    .map((line) => Buffer.from(line))
    .sort(Buffer.compare)
    .map(String)

/** Quotes a name with a comma, so that it does not look like two names. */
const listNames = (names: readonly string[]): string =>
  names.map((name) => (name.includes(',') ? JSON.stringify(name) : name)).join(', ')

const formatCell = (cell: Cell | undefined): string =>
  cell === null || cell === undefined ? 'empty' : JSON.stringify(cell)
