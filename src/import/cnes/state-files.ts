/**
 * Reads the monthly CNES files of one state (ST, LT, EQ, SR; .dbc or .dbf, optionally gzipped) and CADGER, the name table.
 * In: file name and bytes. Out: raw cells of the requested columns by row number (header = 1, first record = 2).
 * Every row must match the state and month in the file name. Personal data stops here: only the columns listed below
 * can be read, and CPF_CNPJ reads as empty if it holds a CPF.
 */
import { CADGER_LINEAGE, FACILITY_LINEAGE, FACT_LINEAGE } from '../../model/cnes/lineage.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Lineage } from '../../model/types.ts'
import { rowUnlikeName } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import { decodeDbc, isDbc } from '../readers/dbc.ts'
import { type DbfColumn, isWholeDbf, openDbf } from '../readers/dbf.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { isDbase } from '../readers/looks-like.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'
import { gunzipWithin, refuseLargeTable } from '../readers/unpack-limits.ts'
import { decodeText } from '../readers/windows-1252.ts'

export type StateGroup = 'ST' | 'LT' | 'EQ' | 'SR' | 'CADGER'

export interface StateRow {
  readonly row: number
  readonly values: readonly string[]
}

export interface StateFile {
  readonly group: StateGroup
  readonly uf: string
  /** YYYYMM; null for CADGER, which has no month. */
  readonly period: number | null
  readonly published: readonly string[]
  readonly columns: readonly string[]
  /** Number of records without the deleted ones. */
  readonly rows: number
  readonly deleted: readonly number[]
  /** @param columns columns to read; a column that the file lacks reads as '' */
  read(columns: readonly string[]): Iterable<StateRow>
}

interface RawTable {
  readonly columns: readonly string[]
  readonly records: Iterable<{ row: number; cell: (column: string) => string }>
  readonly rows: number
  readonly deleted: readonly number[]
}

const names = (lineage: readonly Lineage[]): string[] => lineage.map(({ column }) => column)
const COMMON = [...names(FACILITY_LINEAGE.state), 'COMPETEN', 'CODUFMUN', 'PF_PJ']
const GROUPS: Readonly<
  Record<StateGroup, { readonly columns: readonly string[]; readonly required: readonly string[] }>
> = {
  ST: {
    columns: names(FACILITY_LINEAGE.state),
    required: ['CNES', 'CODUFMUN', 'TP_UNID', 'TPGESTAO', 'COMPETEN', 'VINC_SUS'],
  },
  LT: {
    columns: names(FACT_LINEAGE.bed_capacity.state),
    required: ['CNES', 'CODUFMUN', 'COMPETEN', 'CODLEITO', 'TP_LEITO', 'QT_EXIST', 'QT_SUS'],
  },
  EQ: {
    columns: names(FACT_LINEAGE.equipment_inventory.state),
    required: ['CNES', 'CODUFMUN', 'COMPETEN', 'TIPEQUIP', 'CODEQUIP', 'QT_EXIST', 'QT_USO', 'IND_SUS'],
  },
  SR: {
    columns: names(FACT_LINEAGE.specialized_services.state),
    required: ['CNES', 'CODUFMUN', 'COMPETEN', 'SERV_ESP', 'CLASS_SR', 'CARACTER', 'AMB_SUS', 'HOSP_SUS'],
  },
  CADGER: {
    columns: [...names(CADGER_LINEAGE), 'CODUFMUN', 'EXCLUIDO'],
    required: ['CNES', 'FANTASIA', 'RAZ_SOCI', 'CODUFMUN'],
  },
}

/** Published file names. A suffix such as " (1)", which browsers add to repeated downloads, is accepted. */
const FILE_NAME = new RegExp(
  `^(ST|LT|EQ|SR)([A-Z]{2})(\\d{2})(\\d{2})${COPY_MARK}\\.(dbc|dbf|csv)(\\.gz)?$`,
  'i',
)
/** Largest number of records, to limit memory and time: 1.7 million equal records in 4 MB took 750 MiB and 29 s. */
const RECORDS_MAX = 1_500_000
const CADGER_NAME = /^cadger_?([A-Z]{2})?.*\.(dbc|dbf|csv)(\.gz)?$/i

/** @returns group, state and month in the file name, or null if the name matches no CNES state file */
export function recogniseStateFile(
  fileName: string,
): { group: StateGroup; uf: string | null; period: number | null } | null {
  const match = FILE_NAME.exec(fileName)
  if (match !== null) {
    const [, group, uf, year, month] = match as unknown as [string, string, string, string, string]
    return {
      group: group.toUpperCase() as StateGroup,
      uf: uf.toUpperCase(),
      period: 200000 + Number(year) * 100 + Number(month),
    }
  }
  const cadger = CADGER_NAME.exec(fileName)
  return cadger === null ? null : { group: 'CADGER', uf: cadger[1]?.toUpperCase() ?? null, period: null }
}

/** @throws ImportError if a column is missing or a row belongs to another state or month than the name states */
export async function openStateFile(fileName: string, bytes: Buffer): Promise<StateFile> {
  const named = recogniseStateFile(fileName)
  if (named === null)
    throw new ImportError(
      fileName,
      'is not named like a CNES file by state',
      'Give it its published name, e.g. LTSP2307.dbc',
    )
  if (bytes.length === 0) throw new ImportError(fileName, 'is empty', 'Fetch the file again')
  const table = await openRaw(fileName, bytes)
  const { columns: groupColumns, required } = GROUPS[named.group]
  refuseOtherTable(fileName, named.group, table.columns)
  const missing = required.filter((column) => !table.columns.includes(column))
  if (missing.length > 0)
    throw new ImportError(
      fileName,
      `lacks the column ${missing.join(', ')} of a ${named.group} file`,
      'Check that the file has its published name, or fetch it again',
    )
  const allowed = new Set(named.group === 'CADGER' ? groupColumns : [...COMMON, ...groupColumns])
  const uf = checkRows(fileName, table, named)
  return {
    group: named.group,
    uf,
    period: named.period,
    published: table.columns,
    columns: table.columns.filter((column) => allowed.has(column)),
    rows: table.rows,
    deleted: table.deleted,
    *read(columns) {
      const forbidden = columns.find((column) => !allowed.has(column))
      if (forbidden !== undefined) throw new TypeError(`${forbidden} is not read from CNES files`)
      const present = columns.map((column) => table.columns.includes(column))
      for (const { row, cell } of table.records) {
        const values = columns.map((column, index) => {
          if (present[index] !== true) return ''
          return column === 'CPF_CNPJ' && cell('PF_PJ').trim() === '1' ? '' : cell(column)
        })
        yield { row, values }
      }
    },
  }
}

function checkRows(
  fileName: string,
  table: RawTable,
  named: { group: StateGroup; uf: string | null; period: number | null },
): string {
  let state = named.uf === null ? null : STATES.find(({ uf }) => uf === named.uf)
  if (named.uf !== null && state === undefined)
    throw new ImportError(fileName, `names no state (${named.uf})`, 'Keep the published name')
  let isFirst = true
  for (const { row, cell } of table.records) {
    const code = cell('CODUFMUN').slice(0, 2)
    const rowState = STATES.find(({ ibge_code }) => String(ibge_code) === code)
    state ??= rowState
    // A row with a blank code, 000000 or 999999 names no state and belongs to the file's state.
    if (rowState !== undefined && rowState !== state)
      throw rowUnlikeName(fileName, { row, column: 'CODUFMUN', what: 'state', isFirst })
    if (named.period !== null && cell('COMPETEN').trim() !== String(named.period))
      throw rowUnlikeName(fileName, { row, column: 'COMPETEN', what: 'month', isFirst })
    isFirst = false
  }
  if (state === null || state === undefined)
    throw new ImportError(fileName, 'has no row to tell its state', 'Fetch the file again')
  return state.uf
}

async function openRaw(fileName: string, published: Buffer): Promise<RawTable> {
  let bytes = published
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await gunzipWithin(bytes, fileName)
  refuseLargeTable(fileName, bytes.length)
  const plainName = fileName.replace(/\.gz$/i, '')
  // Detect the format from the bytes. The extension decides only if the bytes match neither format.
  if (isDbc(bytes)) return openDbfTable(await decodeDbc(bytes, fileName), fileName)
  if (isDbase(bytes) && !/\.dbc$/i.test(plainName)) return openDbfTable(bytes, fileName)
  if (isDbase(bytes) && isWholeDbf(bytes)) return openDbfTable(bytes, fileName)
  if (/\.csv$/i.test(plainName)) return openCsv(fileName, bytes)
  return openDbfTable(/\.dbc$/i.test(plainName) ? await decodeDbc(bytes, fileName) : bytes, fileName)
}

/** True if the file starts like a dBase or gzip file, false for plain text under such a name. */
export const isStateTable = (head: Buffer): boolean => isDbase(head) || (head[0] === 0x1f && head[1] === 0x8b)

function openDbfTable(bytes: Buffer, fileName: string): RawTable {
  const dbf = openDbf(bytes, fileName)
  if (dbf.records > RECORDS_MAX)
    throw new ImportError(
      fileName,
      `holds ${dbf.records} records, more than a file of one state has`,
      'Fetch the file again',
    )
  const byName = new Map<string, DbfColumn>(dbf.columns.map((column) => [column.name, column]))
  const present: number[] = []
  const deleted: number[] = []
  for (let record = 0; record < dbf.records; record += 1)
    if (dbf.isDeleted(record)) deleted.push(record + 2)
    else present.push(record)
  return {
    columns: dbf.columns.map(({ name }) => name),
    rows: present.length,
    deleted,
    records: {
      *[Symbol.iterator]() {
        for (const record of present)
          yield {
            row: record + 2,
            cell: (column: string) => {
              const found = byName.get(column)
              return found === undefined ? '' : dbf.text(record, found)
            },
          }
      },
    },
  }
}

/** Opens CADGER as text: `;` between cells, one record per line, no quotes. The last line break is optional. */
function openCsv(fileName: string, bytes: Buffer): RawTable {
  const lines = decodeText(bytes).split(/\r?\n/)
  const columns = (lines[0] ?? '').split(';')
  const last = lines.at(-1) === '' ? lines.length - 1 : lines.length
  const cells = (lines[last - 1] ?? '').split(';').length
  if (last === lines.length && cells < columns.length)
    throw new ImportError(
      fileName,
      `is cut: its last line has ${cells} of ${columns.length} values`,
      'Fetch the file again',
    )
  return {
    columns,
    rows: Math.max(last - 1, 0),
    deleted: [],
    records: {
      *[Symbol.iterator]() {
        for (let index = 1; index < last; index += 1) {
          const cells = (lines[index] ?? '').split(';')
          yield { row: index + 1, cell: (column: string) => cells[columns.indexOf(column)] ?? '' }
        }
      },
    },
  }
}
