/**
 * A report's file, in any of its formats → manifest, header and cells, as they stand in the file. Reads by other libraries
 * than those that wrote it, and trusts nothing: what is not a report of ours is a `ReportUnreadable` that says why.
 */
import { readFile } from 'node:fs/promises'
import { type CellObject, read as readWorkbook, utils, type WorkBook, type WorkSheet } from '@e965/xlsx'
import { type Table, tableFromIPC } from 'apache-arrow'
import { type FileMetaData, parquetMetadata, parquetReadObjects } from 'hyparquet'
import { TOTAL_LABEL } from '../query/result.ts'
import { sha256Hex } from '../release/digest.ts'
import { MANIFEST_KEY } from './arrow.ts'
import type { ReportFormat } from './formats.ts'
import { TOTAL_CATEGORY, UNKNOWN_CATEGORY } from './json-stat.ts'
import type { ReportManifest } from './manifest.ts'
import { parseManifest, readManifestRows } from './manifest-sheet.ts'
import { type Cell, type Column, TOTAL_COLUMN } from './table.ts'
import { CSV_MANIFEST_MARK } from './text-writers.ts'
import { describeColumns, SHEETS } from './xlsx.ts'

/** What keeps a file from being read as a report. The message is for the auditor. */
export class ReportUnreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ReportUnreadable'
  }
}

export interface ReadReport {
  readonly format: ReportFormat
  readonly manifest: ReportManifest
  readonly header: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  /** Where a cell of the table is, as a reader would say it: row and column count from 0. */
  readonly placeOf: (row: number, column: number) => string
  /** SHA-256 of the table as it stands in a CSV file; null for the other formats. */
  readonly tableSha256: string | null
  /** What is wrong around the table: formulas, a dictionary that is not that of the manifest. */
  readonly problems: readonly string[]
}

/** @throws ReportUnreadable */
export async function readReport(path: string): Promise<ReadReport> {
  const bytes = await readFile(path).catch(() => {
    throw new ReportUnreadable(`${path} cannot be read`)
  })
  try {
    if (bytes.subarray(0, 2).toString('latin1') === 'PK') return readXlsx(bytes)
    if (bytes.subarray(0, 4).toString('latin1') === 'PAR1') return await readParquet(bytes)
    if (bytes.subarray(0, CSV_MANIFEST_MARK.length).toString() === CSV_MANIFEST_MARK) return readCsv(bytes)
    if (bytes[0] === 0x7b) return readJson(bytes)
    if (bytes.subarray(0, 4).every((byte) => byte === 0xff)) return readArrow(bytes)
  } catch (error) {
    if (error instanceof ReportUnreadable) throw error
    throw new ReportUnreadable(error instanceof Error ? error.message : String(error))
  }
  throw new ReportUnreadable(
    'is neither a workbook nor a CSV, JSON, JSON-stat, Parquet or Arrow report of sus-data',
  )
}

/** A value as text: a number with the decimals its column has. */
const cellOf = (value: unknown, { decimals }: Column): Cell =>
  value === null || value === undefined
    ? null
    : typeof value === 'number'
      ? value.toFixed(decimals)
      : String(value)

function readXlsx(bytes: Buffer): ReadReport {
  const book = readWorkbook(bytes, { type: 'buffer', dense: true, cellFormula: true })
  const manifest = readManifestRows(textGrid(book, SHEETS.manifest))
  const problems: string[] = []
  const grid = gridOf(book, SHEETS.data)
  for (const [r, row] of grid.entries())
    for (const [c, cell] of row.entries())
      if (cell?.f !== undefined) problems.push(`${SHEETS.data}!${utils.encode_cell({ r, c })} is a formula`)
  const dictionary = textGrid(book, SHEETS.dictionary)
  const expected = describeColumns(manifest.columns, manifest.language)
  for (let row = 0; row < Math.max(dictionary.length, expected.length); row += 1)
    for (let column = 0; column < 5; column += 1)
      if ((dictionary[row]?.[column] ?? '') !== (expected[row]?.[column] ?? ''))
        problems.push(
          `${SHEETS.dictionary}!${utils.encode_cell({ r: row, c: column })} is not what the manifest says of the column`,
        )
  return {
    format: 'xlsx',
    manifest,
    header: (grid[0] ?? []).map((cell) => String(cell?.v ?? '')),
    rows: grid.slice(1).map((row) => manifest.columns.map((column, index) => cellOf(row[index]?.v, column))),
    placeOf: (row, column) => `${SHEETS.data}!${utils.encode_cell({ r: row + 1, c: column })}`,
    tableSha256: null,
    problems,
  }
}

function gridOf(book: WorkBook, name: string): (CellObject | undefined)[][] {
  const sheet = book.Sheets[name]
  if (sheet === undefined) throw new ReportUnreadable(`the workbook has no sheet ${name}`)
  return cellsOf(sheet)
}

const cellsOf = (sheet: WorkSheet | undefined): (CellObject | undefined)[][] =>
  Array.from((sheet?.['!data'] ?? []) as (CellObject[] | undefined)[], (row) => Array.from(row ?? []))

const textGrid = (book: WorkBook, name: string): string[][] =>
  gridOf(book, name).map((row) => row.map((cell) => String(cell?.v ?? '')))

function readCsv(bytes: Buffer): ReadReport {
  const end = bytes.indexOf('\r\n')
  const manifest = parseManifest(JSON.parse(bytes.subarray(CSV_MANIFEST_MARK.length, end).toString()))
  const table = bytes.subarray(end + 2)
  // raw keeps every cell as the text it is.
  const sheet = readWorkbook(table.toString(), { type: 'string', raw: true, dense: true }).Sheets.Sheet1
  const [header = [], ...rows] = cellsOf(sheet).map((row) =>
    row.map((cell): Cell => (cell?.v === undefined || cell.v === '' ? null : String(cell.v))),
  )
  return {
    format: 'csv',
    manifest,
    header: header.map((cell) => cell ?? ''),
    rows: rows.map((row) => manifest.columns.map((_, index) => row[index] ?? null)),
    // The manifest and the header are the first two lines.
    placeOf: (row, column) => `line ${row + 3}, ${manifest.columns[column]?.name ?? column}`,
    tableSha256: sha256Hex(table),
    problems: [],
  }
}

interface JsonRow {
  readonly label?: unknown
  readonly rank?: unknown
  readonly dimensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly metrics?: Readonly<Record<string, unknown>>
}

function readJson(bytes: Buffer): ReadReport {
  const report = JSON.parse(bytes.toString()) as JsonStat & {
    data?: JsonRow[]
    totals?: { group_by: string[]; data: JsonRow[] }[]
    manifest?: unknown
  }
  if (report.class === 'dataset') return readJsonStat(report)
  if (report.manifest === undefined) throw new ReportUnreadable('the JSON carries no manifest of sus-data')
  const manifest = parseManifest(report.manifest)
  if (!Array.isArray(report.data)) throw new ReportUnreadable('the report has no data')
  const levels = [{ mark: null, data: report.data }, ...(report.totals ?? []).map(readTotal)]
  const rows = levels.flatMap(({ mark, data }) =>
    data.map((row) =>
      manifest.columns.map((column) =>
        column.name === TOTAL_COLUMN ? mark : cellOf(memberOf(row, column.name), column),
      ),
    ),
  )
  const names = manifest.columns.map(({ name }) => name)
  return recordReport('json', manifest, names, rows)
}

/** Of a cube, what its rows are made of again. */
interface JsonStat {
  readonly class?: string
  readonly id?: readonly string[]
  readonly size?: readonly number[]
  readonly dimension?: Readonly<
    Record<
      string,
      {
        readonly category: {
          readonly index: readonly string[]
          readonly label: Readonly<Record<string, string>>
        }
        readonly extension?: Readonly<Record<string, Readonly<Record<string, Cell>>>>
      }
    >
  >
  readonly value?: readonly (number | null)[] | Readonly<Record<string, number>>
  readonly extension?: { readonly rows?: readonly number[] | null; readonly manifest?: unknown }
}

function readJsonStat({ id = [], size = [], dimension = {}, value = [], extension }: JsonStat): ReadReport {
  if (extension?.manifest === undefined)
    throw new ReportUnreadable('the JSON-stat carries no manifest of sus-data')
  const manifest = parseManifest(extension.manifest)
  const groups = id.slice(0, -1)
  const metrics = dimension[id.at(-1) ?? '']?.category.index ?? []
  const values = value as Readonly<Record<number, number | null>>
  const places = extension.rows ?? Array.from({ length: manifest.row_count }, (_, place) => place)
  const rows = places.map((place) => {
    const members = new Map<string, string>()
    let rest = place
    for (let index = groups.length - 1; index >= 0; index -= 1) {
      const width = size[index] ?? 1
      members.set(groups[index] ?? '', dimension[groups[index] ?? '']?.category.index[rest % width] ?? '')
      rest = Math.floor(rest / width)
    }
    const isTotal = [...members.values()].includes(TOTAL_CATEGORY) || (groups.length === 0 && place > 0)
    const level = groups.filter((code) => members.get(code) !== TOTAL_CATEGORY)
    return manifest.columns.map((column) => {
      if (column.name === TOTAL_COLUMN)
        return isTotal ? (level.length === 0 ? 'Total' : `Total: ${level.join(', ')}`) : null
      if (column.name === 'label') return TOTAL_LABEL
      const metric = metrics.indexOf(column.name)
      if (metric >= 0) return cellOf(values[place * metrics.length + metric], column)
      const code = groups
        .filter((group) => column.name === group || column.name.startsWith(`${group}_`))
        .sort((left, right) => right.length - left.length)[0]
      const member = members.get(code ?? '') ?? ''
      if (code === undefined || member === TOTAL_CATEGORY) return null
      const part = column.name.slice(code.length + 1)
      if (part === 'code' || part === '') return member === UNKNOWN_CATEGORY ? null : member
      const described = dimension[code]
      return (
        (part === 'name' ? described?.category.label : described?.extension?.[column.name])?.[member] ?? null
      )
    })
  })
  return recordReport(
    'json-stat',
    manifest,
    manifest.columns.map(({ name }) => name),
    rows,
  )
}

function readTotal({ group_by, data }: { group_by: string[]; data: JsonRow[] }): {
  mark: string
  data: JsonRow[]
} {
  if (!Array.isArray(group_by) || !Array.isArray(data))
    throw new ReportUnreadable('the totals of the report have no rows')
  return { mark: group_by.length === 0 ? 'Total' : `Total: ${group_by.join(', ')}`, data }
}

/** municipality_uf → dimensions.municipality.uf */
function memberOf({ label, rank, dimensions = {}, metrics = {} }: JsonRow, name: string): unknown {
  if (name === 'label') return label
  if (name === 'rank') return rank
  if (name in metrics) return metrics[name]
  if (name in dimensions) return dimensions[name]?.code
  const dimension = Object.keys(dimensions)
    .filter((code) => name.startsWith(`${code}_`))
    .sort((left, right) => right.length - left.length)[0]
  return dimension === undefined ? null : dimensions[dimension]?.[name.slice(dimension.length + 1)]
}

async function readParquet(bytes: Buffer): Promise<ReadReport> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const metadata: FileMetaData = parquetMetadata(file)
  const text = metadata.key_value_metadata?.find(({ key }) => key === MANIFEST_KEY)?.value
  const manifest = manifestIn(text, 'the Parquet file')
  const records = await parquetReadObjects({ file, metadata })
  const header = metadata.schema.slice(1).map(({ name }) => name)
  const rows = records.map((record) => manifest.columns.map((column) => cellOf(record[column.name], column)))
  return recordReport('parquet', manifest, header, rows)
}

function readArrow(bytes: Buffer): ReadReport {
  const table: Table = tableFromIPC(bytes)
  const manifest = manifestIn(table.schema.metadata.get(MANIFEST_KEY), 'the Arrow stream')
  const header = table.schema.fields.map(({ name }) => name)
  const columns = header.map((_, index) => table.getChildAt(index))
  const rows = Array.from({ length: table.numRows }, (_, row) =>
    columns.map((column, index): Cell => {
      const value = column?.get(row)
      if (value === null || value === undefined) return null
      const { type, decimals = 0 } = manifest.columns[index] ?? {}
      return type === 'decimal' ? decimalText(value as Uint32Array, decimals) : String(value)
    }),
  )
  return recordReport('arrow', manifest, header, rows)
}

/** 128 bits, little-endian → '298.42'. */
function decimalText(words: Uint32Array, decimals: number): string {
  const unsigned = [...words].reduce((sum, word, index) => sum + (BigInt(word) << BigInt(32 * index)), 0n)
  const unscaled = BigInt.asIntN(128, unsigned)
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(decimals + 1, '0')
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

function manifestIn(text: string | undefined, where: string): ReportManifest {
  if (text === undefined) throw new ReportUnreadable(`${where} carries no manifest of sus-data`)
  return parseManifest(JSON.parse(text))
}

/** A report of a format that holds nothing but the table and the manifest. */
const recordReport = (
  format: ReportFormat,
  manifest: ReportManifest,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): ReadReport => ({
  format,
  manifest,
  header,
  rows,
  placeOf: (row, column) => `row ${row + 1}, ${header[column] ?? column}`,
  tableSha256: null,
  problems: [],
})
