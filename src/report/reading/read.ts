/**
 * Reads a report file of any format into manifest, header and cells, exactly as they are in the file. It uses other libraries than
 * the writers and trusts nothing: a file that is not one of our reports throws `ReportUnreadable` with the reason. The inflated
 * size is limited here; `src/workers/report-check.ts` limits time and memory.
 */
import { lstat, open } from 'node:fs/promises'
import { DataType, RecordBatchReader, type Schema, type Table, tableFromIPC } from 'apache-arrow'
import { type FileMetaData, parquetMetadata, parquetReadObjects } from 'hyparquet'
import { REPORT_ROWS_MAX } from '../../query/analytics/request.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { ReportFormat } from '../formats.ts'
import type { ReportManifest } from '../manifest.ts'
import { parseManifest } from '../manifest-sheet.ts'
import type { Cell } from '../table.ts'
import { MANIFEST_KEY } from '../writers/arrow.ts'
import { CSV_MANIFEST_MARK } from '../writers/text.ts'
import { checkArrowTypes, checkParquetTypes } from './column-types.ts'
import { jsonHead, readJson } from './json.ts'
import { parseJson } from './json-values.ts'
import { cellOf, type ReadReport, type ReportHead, recordReport } from './report.ts'
import { ReportUnreadable } from './unreadable.ts'
import { readWorkbook, readWorkbookManifest } from './workbook.ts'

/**
 * Largest file whose cells are read, because cells take several times the memory of their file. Larger ones are only compared by
 * bytes.
 */
const READ_BYTES_MAX = 128 * 2 ** 20
/** The manifest lies within this distance of one end of the file. */
const END_BYTES = 8 * 2 ** 20

/** @throws ReportUnreadable */
export const readReport = (path: string): Promise<ReadReport> =>
  readByFormat(path, {
    xlsx: async ({ all }) => readWorkbook(await all()),
    parquet: async ({ all }) => readParquet(await all()),
    csv: async ({ all }) => readCsv(await all()),
    json: async ({ all }) => readJson(await all()),
    arrow: async ({ all }) => readArrow(await all()),
  })

/**
 * @returns format and manifest of a report without reading its rows; null when another program rewrote a JSON so that the manifest
 * is not at its end
 * @throws ReportUnreadable
 */
export const readHead = (path: string): Promise<ReportHead | null> => {
  const headOf = (format: ReportFormat, manifest: ReportManifest): ReportHead => ({ format, manifest })
  return readByFormat<ReportHead | null>(path, {
    xlsx: async ({ all }) => headOf('xlsx', await readWorkbookManifest(await all())),
    parquet: async ({ end }) =>
      headOf('parquet', parquetManifest(parquetMetadata(arrayBufferOf(await end())))),
    csv: async ({ start }) => headOf('csv', csvManifest(start)),
    json: async ({ end }) => jsonHead(await end()),
    arrow: async ({ start }) => headOf('arrow', arrowManifest(RecordBatchReader.from(start).open().schema)),
  })
}

/** A file that is read only as far as needed. */
interface ReportFile {
  readonly start: Buffer
  readonly end: () => Promise<Buffer>
  /** Reads the complete file. @throws ReportUnreadable when it is too large */
  readonly all: () => Promise<Buffer>
}

type Readers<Result> = Readonly<
  Record<Exclude<ReportFormat, 'json-stat'>, (file: ReportFile) => Promise<Result>>
>

async function readByFormat<Result>(path: string, readers: Readers<Result>): Promise<Result> {
  const stats = await lstat(path).catch(() => null)
  if (stats === null) throw new ReportUnreadable(`${path} cannot be read`)
  if (!stats.isFile()) throw new ReportUnreadable('is no regular file')
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const read = async (from: number, length: number): Promise<Buffer> => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, from)
      return buffer.subarray(0, bytesRead)
    }
    const endBytes = Math.min(size, END_BYTES)
    const file: ReportFile = {
      start: await read(0, endBytes),
      end: () => read(size - endBytes, endBytes),
      all() {
        if (size > READ_BYTES_MAX)
          throw new ReportUnreadable(
            `is larger than ${READ_BYTES_MAX / 2 ** 20} MiB, so that its cells cannot be read`,
          )
        return read(0, size)
      },
    }
    const { start } = file
    if (start.subarray(0, 2).toString('latin1') === 'PK') return await readers.xlsx(file)
    if (start.subarray(0, 4).toString('latin1') === 'PAR1') return await readers.parquet(file)
    if (start.subarray(0, CSV_MANIFEST_MARK.length).toString() === CSV_MANIFEST_MARK)
      return await readers.csv(file)
    if (start[0] === 0x7b) return await readers.json(file)
    if (start.subarray(0, 4).equals(ARROW_MARK)) return await readers.arrow(file)
  } catch (error) {
    if (error instanceof ReportUnreadable) throw error
    // V8 throws a RangeError when the stack overflows.
    if (error instanceof RangeError) throw new ReportUnreadable('is nested deeper than a report')
    const { name, message } = error instanceof Error ? error : { name: '', message: String(error) }
    // A parser's message only names a position, neither the file nor a remedy.
    if (/SyntaxError|ZodError/.test(name) || /at position \d+/.test(message))
      throw new ReportUnreadable(`${path} was cut or changed: it is not the JSON of a report. Get it again.`)
    throw new ReportUnreadable(message)
  } finally {
    await handle.close()
  }
  throw new ReportUnreadable(
    'is neither a workbook nor a CSV, JSON, JSON-stat, Parquet or Arrow report of sus-data',
  )
}
/** Start of every message in an Arrow stream. */
const ARROW_MARK = Buffer.from('ffffffff', 'hex')

const csvManifest = (bytes: Buffer): ReportManifest =>
  parseManifest(parseJson(bytes.subarray(CSV_MANIFEST_MARK.length, csvManifestEnd(bytes))))

function csvManifestEnd(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n')
  if (end < 0) throw new ReportUnreadable('the line of the manifest does not end with CR LF')
  return end
}

/** A cell and its terminator; quotes are doubled within quotes. */
const CSV_CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y

/** Largest number of cells that fit into the memory of the reading process. */
const CELLS_MAX = 10_000_000
const [LINE_FEED, COMMA] = [0x0a, 0x2c]

/** Accepts exactly what the writer produces: RFC 4180 with CR LF. */
function readCsv(bytes: Buffer): ReadReport {
  const manifest = csvManifest(bytes)
  const tableBytes = bytes.subarray(csvManifestEnd(bytes) + 2)
  let [lineFeeds, commas] = [0, 0]
  for (const byte of tableBytes) {
    if (byte === LINE_FEED) lineFeeds += 1
    else if (byte === COMMA) commas += 1
    if (lineFeeds > REPORT_ROWS_MAX + 1 || commas > CELLS_MAX)
      throw new ReportUnreadable('has more rows or cells than can be read of a report')
  }
  const text = tableBytes.toString()
  const lines: Cell[][] = [[]]
  CSV_CELL.lastIndex = 0
  while (CSV_CELL.lastIndex < text.length) {
    const found = CSV_CELL.exec(text)
    if (found === null) throw new ReportUnreadable(`line ${lines.length + 1} is no CSV as reports have it`)
    const cell = (found[1]?.replaceAll('""', '"') ?? found[2]) || null
    lines.at(-1)?.push(cell)
    if (found[3] === '\r\n') lines.push([])
  }
  if (lines.at(-1)?.length !== 0)
    throw new ReportUnreadable(`line ${lines.length + 1} does not end with CR LF`)
  const table = lines.slice(0, -1)
  const [header = [], ...rows] = table
  const oddLine = table.findIndex((cells) => cells.length !== manifest.columns.length)
  return {
    format: 'csv',
    manifest,
    header: header.map((cell) => cell ?? ''),
    rows,
    // Line 1 is the manifest and line 2 the header.
    placeOf: (row, column) => `line ${row + 3}, ${manifest.columns[column]?.name ?? column}`,
    tableSha256: sha256Hex(tableBytes),
    problems: oddLine < 0 ? [] : [`line ${oddLine + 2} has ${table[oddLine]?.length} cells`],
    others: [],
  }
}

const arrayBufferOf = (bytes: Buffer): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer

function parquetManifest({ key_value_metadata = [] }: FileMetaData): ReportManifest {
  const manifests = key_value_metadata.filter(({ key }) => key === MANIFEST_KEY)
  if (manifests.length > 1) throw new ReportUnreadable('the Parquet file carries two manifests')
  return manifestIn(manifests[0]?.value, 'the Parquet file')
}

async function readParquet(bytes: Buffer): Promise<ReadReport> {
  const file = arrayBufferOf(bytes)
  const metadata = parquetMetadata(file)
  const manifest = parquetManifest(metadata)
  if (Number(metadata.num_rows) > REPORT_ROWS_MAX)
    throw new ReportUnreadable(
      `says that it has ${metadata.num_rows} rows; a report has ${REPORT_ROWS_MAX} at most`,
    )
  const fields = metadata.schema.slice(1)
  const isDecimal = new Set(
    fields.flatMap(({ name, converted_type, logical_type }) =>
      converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL' ? [name] : [],
    ),
  )
  // hyparquet returns a decimal as the nearest double. Without the declaration, it returns the stored integer.
  const schema = metadata.schema.map((element) => {
    const { converted_type, logical_type, ...stored } = element
    return isDecimal.has(element.name) ? stored : element
  })
  const records = await parquetReadObjects({ file, metadata: { ...metadata, schema }, utf8: false })
  const rows = records.map((record) =>
    manifest.columns.map((column): Cell => {
      const value: unknown = record[column.name]
      return isDecimal.has(column.name) && value !== null && value !== undefined
        ? decimalText(unscaledOf(value as bigint | number | Uint8Array), column.decimals)
        : cellOf(value, column)
    }),
  )
  return {
    ...recordReport(
      'parquet',
      manifest,
      fields.map(({ name }) => name),
      rows,
    ),
    problems: checkParquetTypes(metadata, manifest.columns),
  }
}

const arrowManifest = ({ metadata }: Schema): ReportManifest =>
  manifestIn(metadata.get(MANIFEST_KEY), 'the Arrow stream')

function readArrow(bytes: Buffer): ReadReport {
  const table: Table = tableFromIPC(bytes)
  const manifest = arrowManifest(table.schema)
  const { fields } = table.schema
  for (const { name, type } of fields)
    if (DataType.isDecimal(type) && type.bitWidth !== 128)
      throw new ReportUnreadable(`has decimals of ${type.bitWidth} bits in ${name}, not of 128`)
  const header = fields.map(({ name }) => name)
  const columns = header.map((_, index) => table.getChildAt(index))
  const rows = Array.from({ length: table.numRows }, (_, row) =>
    columns.map((column, index): Cell => {
      const value = column?.get(row)
      if (value === null || value === undefined) return null
      return DataType.isDecimal(fields[index]?.type)
        ? decimalText(unscaledOf(value as Uint32Array), manifest.columns[index]?.decimals ?? 0)
        : String(value)
    }),
  )
  return {
    ...recordReport('arrow', manifest, header, rows),
    problems: checkArrowTypes(table.schema, manifest.columns),
  }
}

/** @param value integer, its big-endian bytes, or its little-endian words of 32 bits, both in two's complement */
function unscaledOf(value: bigint | number | Uint8Array | Uint32Array): bigint {
  if (typeof value === 'bigint' || typeof value === 'number') return BigInt(value)
  const bytes =
    value instanceof Uint32Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toReversed()
      : value
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
}

/** 29842n with 2 decimals → '298.42'. */
function decimalText(unscaled: bigint, decimals: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${decimals === 0 ? '' : '.'}${digits.slice(point)}`
}

function manifestIn(text: string | undefined, where: string): ReportManifest {
  if (text === undefined) throw new ReportUnreadable(`${where} carries no manifest of sus-data`)
  return parseManifest(parseJson(Buffer.from(text)))
}
