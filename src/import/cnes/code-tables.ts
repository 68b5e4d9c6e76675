/**
 * Reads code tables that DATASUS publishes apart from the national base: services, classifications and bed types of SIGTAP,
 * legal natures (natjur.cnv) and facility names (TCNES…DBF). In: files. Out: codes and names with their row and column.
 * code-lists.ts decides which table names a code in which month.
 */

import { dirname } from 'node:path'
import type { DatasetName } from '../../model/datasets.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { CNV_LABEL_COLUMN, readCnv } from '../readers/cnv.ts'
import { decodeDbc } from '../readers/dbc.ts'
import { openDbf } from '../readers/dbf.ts'
import { readFixedWidth, readLayout } from '../readers/fixed-width.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import type { TableCode } from './code-lists.ts'

const PUBLISHER = 'DATASUS'

interface SigtapTable {
  readonly dataset: DatasetName
  readonly key: readonly string[]
  readonly name: string
  readonly isIncluded: (code: string) => boolean
}

/**
 * First bed type with the same meaning in SIGTAP and in the facility registry. From 51 on (intensive and intermediate
 * care, burns) the lists agree. Below 51 they differ: 01 is surgical in SIGTAP and oral surgery in the registry.
 */
const FIRST_COMMON_BED_TYPE = '51'

const SIGTAP: Readonly<Record<string, SigtapTable>> = {
  tb_servico: {
    dataset: 'specialized_service_types',
    key: ['CO_SERVICO'],
    name: 'NO_SERVICO',
    isIncluded: () => true,
  },
  tb_servico_classificacao: {
    dataset: 'specialized_service_classifications',
    key: ['CO_SERVICO', 'CO_CLASSIFICACAO'],
    name: 'NO_CLASSIFICACAO',
    isIncluded: () => true,
  },
  tb_tipo_leito: {
    dataset: 'bed_types',
    key: ['CO_TIPO_LEITO'],
    name: 'NO_TIPO_LEITO',
    isIncluded: (code) => code >= FIRST_COMMON_BED_TYPE,
  },
}
const SIGTAP_FILE = /^(tb_servico|tb_servico_classificacao|tb_tipo_leito)(_layout)?\.txt$/i
const FACILITY_NAME_COLUMN = 'NOMEFANT'
const FACILITY_NAMES_FILE = /^TCNES[A-Z]{2}\.(dbf|dbc)$/i

export interface FacilityName {
  readonly cnes: string
  readonly name: string
  readonly file: string
  readonly row: number
}

export interface CodeTables {
  readonly codes: ReadonlyMap<DatasetName, readonly TableCode[]>
  readonly facilityNames: readonly FacilityName[]
  readonly snapshots: readonly Snapshot[]
  readonly headers: readonly TableHeader[]
  /** Rows that do not fit their layout and are rejected. */
  readonly unread: readonly { readonly file: string; readonly row: number }[]
}

export interface TableHeader {
  readonly file: string
  readonly columns: readonly string[]
  readonly read: readonly string[]
}

export const isCodeTable = (fileName: string): boolean =>
  SIGTAP_FILE.test(fileName) || /^natjur\.cnv$/i.test(fileName) || FACILITY_NAMES_FILE.test(fileName)

export async function readCodeTables(files: readonly FoundFile[]): Promise<CodeTables> {
  const codes = new Map<DatasetName, TableCode[]>()
  const facilityNames: FacilityName[] = []
  const snapshots: Snapshot[] = []
  const headers: TableHeader[] = []
  const unread: { file: string; row: number }[] = []
  const shownNames = distinguishNames(files)
  for (const found of files) {
    const bytes = await readTextFile(found.path, found.shown)
    const file = shownNames.get(found) ?? found.name
    const sigtap = SIGTAP_FILE.exec(found.name)
    let rows = 0
    if (sigtap?.[2] !== undefined) rows = readLayout(bytes, file).length
    else if (sigtap !== null) {
      const table = SIGTAP[sigtap[1]?.toLowerCase() ?? ''] as SigtapTable
      const read = await readSigtap(table, bytes, file, found, files)
      headers.push({ file, columns: read.columns, read: read.wanted })
      rows = read.rows
      codes.set(table.dataset, [...(codes.get(table.dataset) ?? []), ...read.codes])
      unread.push(...read.unread.map((row) => ({ file, row })))
    } else if (FACILITY_NAMES_FILE.test(found.name)) {
      const read = await readFacilityNames(bytes, file)
      rows = read.names.length
      facilityNames.push(...read.names)
      headers.push({ file, columns: read.columns, read: ['CNES', FACILITY_NAME_COLUMN] })
    } else {
      const table = readCnv(bytes, file)
      rows = table.lines.length + table.unread.length
      codes.set('legal_natures', [...(codes.get('legal_natures') ?? []), ...legalNatures(table.lines, file)])
      unread.push(...table.unread.map((row) => ({ file, row })))
    }
    snapshots.push({
      publisher: PUBLISHER,
      file,
      archive: found.archive,
      bytes: bytes.length,
      sha256: sha256Hex(bytes),
      rows,
    })
  }
  return { codes, facilityNames, snapshots, headers, unread }
}

/** Prefixes equal file names with their archive or folder, because SIGTAP's files have the same names every month. */
function distinguishNames(files: readonly FoundFile[]): ReadonlyMap<FoundFile, string> {
  const containerOf = (file: FoundFile): string =>
    file.archive?.file ?? (dirname(file.path).split(/[\\/]/).at(-1) as string)
  const shown = new Map<FoundFile, string>()
  for (const file of files) {
    const sameName = files.filter(({ name }) => name.toLowerCase() === file.name.toLowerCase())
    const name = sameName.length === 1 ? file.name : `${containerOf(file)}/${file.name}`
    const twin = [...shown].find(([, other]) => other === name)?.[0]
    if (twin !== undefined)
      throw new ImportError(
        file.shown,
        `is there twice: ${twin.shown} is the same table`,
        'Import one copy of each table',
      )
    shown.set(file, name)
  }
  return shown
}

async function readSigtap(
  table: SigtapTable,
  bytes: Buffer,
  file: string,
  found: FoundFile,
  files: readonly FoundFile[],
): Promise<{
  codes: TableCode[]
  rows: number
  unread: readonly number[]
  columns: readonly string[]
  wanted: readonly string[]
}> {
  const layoutName = found.name.replace(/\.txt$/i, '_layout.txt').toLowerCase()
  const layoutFile = files.find(
    ({ name, path }) => name.toLowerCase() === layoutName && dirname(path) === dirname(found.path),
  )
  if (layoutFile === undefined)
    throw new ImportError(
      file,
      'comes without its layout file',
      `Put ${found.name.replace(/\.txt$/i, '_layout.txt')} beside it, as SIGTAP publishes it`,
    )
  const layout = readLayout(await readTextFile(layoutFile.path, layoutFile.shown), layoutFile.name)
  const wanted = [...table.key, table.name, 'DT_COMPETENCIA']
  const { lines, unread } = readFixedWidth(bytes, file, layout, wanted)
  const codes = lines.flatMap(({ row, cells }): TableCode[] => {
    const key = table.key.map((column) => (cells[column] ?? '').trim())
    const raw = cells[table.name] ?? ''
    const edition = /^\d{6}$/.test(cells.DT_COMPETENCIA ?? '') ? Number(cells.DT_COMPETENCIA) : null
    if (key.some((code) => code === '') || raw.trim() === '' || !table.isIncluded(key[0] ?? '')) return []
    return [{ key, values: [{ value: raw.trim(), raw, column: table.name }], file, row, edition }]
  })
  return {
    codes,
    rows: lines.length + unread.length,
    unread,
    columns: layout.map(({ name }) => name),
    wanted,
  }
}

/** Reads the names of codes and groups. A line with a range names a group, whose code is the first of the range. */
function legalNatures(lines: ReturnType<typeof readCnv>['lines'], file: string): TableCode[] {
  return lines.flatMap(({ row, label, codes }) =>
    codes
      .filter(({ from }) => /^\d{4}$/.test(from))
      .map(({ from }) => ({
        key: [from],
        values: [{ value: label, raw: label, column: CNV_LABEL_COLUMN }],
        file,
        row,
        edition: null,
      })),
  )
}

async function readFacilityNames(
  bytes: Buffer,
  file: string,
): Promise<{ names: FacilityName[]; columns: readonly string[] }> {
  const dbf = openDbf(/\.dbc$/i.test(file) ? await decodeDbc(bytes, file) : bytes, file)
  const [code, name] = ['CNES', FACILITY_NAME_COLUMN].map((wanted) =>
    dbf.columns.find((column) => column.name === wanted),
  )
  if (code === undefined || name === undefined)
    throw new ImportError(
      file,
      `lacks the column ${code === undefined ? 'CNES' : FACILITY_NAME_COLUMN}`,
      'Import the table of facility names as DATASUS publishes it',
    )
  const names: FacilityName[] = []
  for (let record = 0; record < dbf.records; record += 1)
    if (!dbf.isDeleted(record))
      names.push({ cnes: dbf.text(record, code), name: dbf.text(record, name), file, row: record + 2 })
  return { names, columns: dbf.columns.map((column) => column.name) }
}
