/**
 * Builds a report: request and release in, one file with its digest and fingerprint out.
 *
 * All export routes and `verify-report` use this module. Rows are regrouped into batches of a fixed size, so the bytes depend only
 * on the rows. Memory holds a batch, never the complete report.
 */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import {
  type AnswerParts,
  type AnswerSummary,
  type PreparedQuery,
  prepareQuery,
  printQuery,
  summarise,
} from '../analytics/query.ts'
import type { EngineName, Row, RunOptions } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { printRowCount } from '../query/analytics/dialect/duckdb/statement.ts'
import { estimateAnswer } from '../query/analytics/estimate.ts'
import { parseReport, REPORT_ROWS_MAX } from '../query/analytics/request.ts'
import { digestFile } from '../release/digest.ts'
import type { ReleaseView } from '../release/view.ts'
import type { ReportFormat } from './formats.ts'
import { describeReport, type ReportManifest, type Sign } from './manifest.ts'
import { type Cell, type Column, cellsOf, columnsOf, type Language } from './table.ts'
import { createArrowWriter } from './writers/arrow.ts'
import { csvHeader, csvLine } from './writers/csv.ts'
import { type Batch, FileSink, type TableWriter, UNKNOWN_DIGEST } from './writers/index.ts'
import { createJsonStatWriter } from './writers/json-stat.ts'
import { createParquetWriter } from './writers/parquet.ts'
import { createCsvWriter, createJsonWriter } from './writers/text.ts'
import { createXlsxWriter } from './writers/xlsx.ts'

export interface ReportParts extends AnswerParts, Pick<RunOptions, 'onEngine'> {
  readonly sign: Sign | null
  /** Proof that the log contains the release. It was made with the release, so a report's bytes stay the same while the log grows. */
  readonly logProof?: string | null
  readonly repeated?: ReportManifest
}

export interface BuiltReport {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly fingerprint: string
  /** Base64 of the Ed25519 signature; null without a key. */
  readonly signature: string | null
  readonly referencePeriod: string | null
  /** The engine that aggregated the facts; null when there is only one engine. */
  readonly engine: EngineName | null
}

const BATCH_ROWS = 4096

/**
 * @param body unchecked request of a report @param file must not exist; removed on failure
 * @throws AppError like a query; 'too_many_rows'
 */
export async function buildReport(
  body: unknown,
  format: ReportFormat,
  file: string,
  context: ReportParts,
): Promise<BuiltReport> {
  let engine: EngineName | null = null
  const onEngine = (name: EngineName): void => {
    engine = context.engine.distributed === undefined ? null : name
  }
  const { title, table } = await openTable(body, { ...context, onEngine })
  try {
    return { ...(await writeTable(table, title, format, file, context)), engine }
  } finally {
    await table.close()
  }
}

async function writeTable(
  { prepared, summary, columns, batches }: ReportTable,
  title: string | null,
  format: ReportFormat,
  file: string,
  context: ReportParts,
): Promise<Omit<BuiltReport, 'engine'>> {
  const { language, sign, logProof, repeated } = context
  const sink = await FileSink.create(file)
  try {
    const writer = createWriter(format, sink, prepared, columns, language)
    const digest = createHash('sha256').update(csvHeader(columns))
    const describe = (tableSha256: string): ReturnType<typeof describeReport> =>
      describeReport({
        prepared,
        summary,
        view: reportedView(context),
        columns,
        title,
        language,
        tableSha256,
        sign,
        logProof: logProof ?? null,
        repeated: repeated ?? null,
        isStandIn: repeated !== undefined && repeated.release_id !== context.view.id,
      })
    await writer.begin({ ...describe(UNKNOWN_DIGEST), manifest_sha256: UNKNOWN_DIGEST })
    for await (const batch of batches) {
      digest.update(batch.cells.map((cells) => csvLine(cells, columns)).join(''))
      await writer.rows(batch)
    }
    const manifest = describe(digest.digest('hex'))
    await writer.end(manifest)
    await sink.close()
    return {
      file,
      ...(await digestFile(file)),
      rows: manifest.row_count,
      fingerprint: manifest.fingerprint,
      signature: manifest.signature?.value ?? null,
      referencePeriod: manifest.reference_period,
    }
  } catch (error) {
    await sink.close().catch(() => undefined)
    await rm(file, { force: true })
    throw error
  }
}

function createWriter(
  format: ReportFormat,
  sink: FileSink,
  { plan }: PreparedQuery,
  columns: readonly Column[],
  language: Language,
): TableWriter {
  switch (format) {
    case 'json':
      return createJsonWriter(sink, plan, language)
    case 'json-stat':
      return createJsonStatWriter(sink, plan, columns, language)
    default:
      return createCellWriter(format, sink, columns)
  }
}

/** A report rebuilt on another release with the same content keeps the id of its original release. */
const reportedView = ({ view, repeated }: ReportParts): ReleaseView =>
  repeated === undefined || repeated.release_id === view.id ? view : { ...view, id: repeated.release_id }

/** Formats that contain only the table's cells and the manifest. */
export type CellFormat = Exclude<ReportFormat, 'json' | 'json-stat'>

function createCellWriter(format: CellFormat, sink: FileSink, columns: readonly Column[]): TableWriter {
  switch (format) {
    case 'csv':
      return createCsvWriter(sink, columns)
    case 'arrow':
      return createArrowWriter(sink, columns)
    case 'parquet':
      return createParquetWriter(sink, columns)
    case 'xlsx':
      return createXlsxWriter(sink, columns)
  }
}

/** Writes a report again from its parsed content. @param file must not exist */
export async function writeCells(
  format: CellFormat,
  file: string,
  manifest: ReportManifest,
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  const sink = await FileSink.create(file)
  try {
    const writer = createCellWriter(format, sink, manifest.columns)
    await writer.begin(manifest)
    for (let from = 0; from < rows.length; from += BATCH_ROWS)
      await writer.rows({ rows: [], cells: rows.slice(from, from + BATCH_ROWS) })
    await writer.end(manifest)
  } finally {
    await sink.close()
  }
}

export interface ReportTable {
  readonly prepared: PreparedQuery
  readonly summary: AnswerSummary
  readonly columns: readonly Column[]
  /** All rows in order; can be read once. */
  readonly batches: AsyncIterable<Batch>
  /** Releases the engine's result, read or not. The caller of `openTable` must call it. */
  close(): Promise<void>
}

/** Runs the query of a report and returns its rows. @throws AppError like buildReport */
export async function openTable(
  body: unknown,
  context: ReportParts,
): Promise<{ readonly title: string | null; readonly table: ReportTable }> {
  const { engine, view, language } = context
  const { query, title } = parseReport(body)
  const prepared = await prepareQuery(query, context)
  const options: RunOptions = {
    ...(context.signal === undefined ? {} : { signal: context.signal }),
    ...(context.onEngine === undefined ? {} : { onEngine: context.onEngine }),
  }
  // Count the rows first when the estimate exceeds a report's limit, so that no other work is wasted. With conditions on values,
  // only the result shows how many rows there are.
  const plans = [prepared.plan, ...prepared.plan.totals]
  const isUnfiltered = query.having.length === 0 && query.include_ignored
  if (isUnfiltered && estimateAnswer(prepared.plan, view) > REPORT_ROWS_MAX) {
    let rows = 0
    for (const plan of plans) {
      const [row] = await engine.run(printRowCount(plan), view, options)
      rows += Number(row?.total_rows ?? 0)
    }
    rejectTooMany(rows)
  }
  const source = engine.runInBatches(printQuery(prepared, view), view, options)[Symbol.asyncIterator]()
  const close = async (): Promise<void> => void (await source.return?.())
  try {
    const first = await source.next()
    const firstRows = first.done === true ? [] : first.value
    const summary = summarise(firstRows[0], prepared, reportedView(context))
    rejectTooMany(summary.tableRows)
    const { plan } = prepared
    const batches = async function* () {
      let pendingRows: Row[] = []
      const takeBatches = function* (size: number) {
        while (pendingRows.length >= size && pendingRows.length > 0) {
          const rows = pendingRows.slice(0, BATCH_ROWS)
          pendingRows = pendingRows.slice(BATCH_ROWS)
          yield { rows, cells: rows.map((row) => cellsOf(row, plan, language)) }
        }
      }
      for (let rows: Row[] = firstRows; ; ) {
        pendingRows.push(...rows.filter((row) => row.in_page !== null))
        yield* takeBatches(BATCH_ROWS)
        const next = await source.next()
        if (next.done === true) break
        rows = next.value
      }
      yield* takeBatches(1)
    }
    const columns = columnsOf(plan, language)
    return { title, table: { prepared, summary, columns, batches: batches(), close } }
  } catch (error) {
    await close()
    throw error
  }
}

function rejectTooMany(rows: number): void {
  if (rows > REPORT_ROWS_MAX)
    throw new AppError('too_many_rows', {
      detail: both(
        `O relatório teria ${rows} linhas; o máximo é ${REPORT_ROWS_MAX}.`,
        `The report would have ${rows} rows; ${REPORT_ROWS_MAX} are allowed.`,
      ),
      extra: { rows, allowed: REPORT_ROWS_MAX },
    })
}
