/**
 * Reads the tables that name procedures and diagnoses. SIGTAP publishes groups, subgroups, forms of organisation and procedures
 * (fixed width with a layout file each). CID-10 has chapters and categories (CSV). Codes of a missing table have no name, except
 * chapters, which the model names.
 */

import { dirname } from 'node:path'
import { chapterOf, DIAGNOSIS_CHAPTERS } from '../../model/sih/code-lists.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { readFixedWidth, readLayout } from '../readers/fixed-width.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import { decodeWindows1252 } from '../readers/windows-1252.ts'

const PUBLISHER = 'DATASUS'

export type CodeList =
  | 'procedures'
  | 'procedure_groups'
  | 'procedure_subgroups'
  | 'procedure_forms'
  | 'diagnosis_chapters'
  | 'diagnosis_categories'
  | 'cause_categories'

/** A code with its name. File and row are null for names of the model. */
export interface NamedCode {
  readonly code: string
  readonly name: string | null
  readonly file: string | null
  /** Row number: the first line is row 1 in both formats, which is the header of a CSV. */
  readonly row: number | null
}

export interface CodeTables {
  readonly codes: ReadonlyMap<CodeList, ReadonlyMap<string, NamedCode>>
  readonly snapshots: readonly Snapshot[]
  readonly unread: readonly { readonly file: string; readonly row: number }[]
}

const SIGTAP: Readonly<Record<string, { list: CodeList; key: readonly string[]; name: string }>> = {
  tb_grupo: { list: 'procedure_groups', key: ['CO_GRUPO'], name: 'NO_GRUPO' },
  tb_sub_grupo: {
    list: 'procedure_subgroups',
    key: ['CO_GRUPO', 'CO_SUB_GRUPO'],
    name: 'NO_SUB_GRUPO',
  },
  tb_forma_organizacao: {
    list: 'procedure_forms',
    key: ['CO_GRUPO', 'CO_SUB_GRUPO', 'CO_FORMA_ORGANIZACAO'],
    name: 'NO_FORMA_ORGANIZACAO',
  },
  tb_procedimento: { list: 'procedures', key: ['CO_PROCEDIMENTO'], name: 'NO_PROCEDIMENTO' },
}
const SIGTAP_FILE = /^(tb_grupo|tb_sub_grupo|tb_forma_organizacao|tb_procedimento)(_layout)?\.txt$/i
const CID_FILE = /^CID-10-(CAPITULOS|CATEGORIAS)\.CSV$/i

export const isProcedureTable = (name: string): boolean => SIGTAP_FILE.test(name)
export const isCodeTable = (name: string): boolean => isProcedureTable(name) || CID_FILE.test(name)

/** @throws ImportError if a table occurs twice, lacks its layout, or is invalid */
export async function readCodeTables(files: readonly FoundFile[]): Promise<CodeTables> {
  const codes = new Map<CodeList, Map<string, NamedCode>>()
  const snapshots: Snapshot[] = []
  const unread: { file: string; row: number }[] = []
  const filesByName = new Map<string, FoundFile>()
  const addCode = (list: CodeList, code: NamedCode): void => {
    const codesOfList = codes.get(list) ?? new Map<string, NamedCode>()
    if (!codesOfList.has(code.code)) codesOfList.set(code.code, code)
    codes.set(list, codesOfList)
  }
  for (const file of files) {
    const key = file.name.toLowerCase()
    const duplicate = filesByName.get(key)
    if (duplicate !== undefined)
      throw new ImportError(
        file.shown,
        `is there twice: ${duplicate.shown} is the same table`,
        'Import one of them',
      )
    filesByName.set(key, file)
    const bytes = await readTextFile(file.path, file.shown)
    const [, table = '', isLayout] = SIGTAP_FILE.exec(file.name) ?? []
    const rows =
      table === ''
        ? readCid(file, bytes, addCode)
        : isLayout === undefined
          ? await readSigtap(file, table.toLowerCase(), bytes, files, addCode, unread)
          : bytes.toString('latin1').trim().split('\n').length - 1
    snapshots.push({
      publisher: PUBLISHER,
      file: file.name,
      archive: file.archive,
      bytes: bytes.length,
      sha256: sha256Hex(bytes),
      rows,
    })
  }
  return { codes, snapshots, unread }
}

type AddCode = (list: CodeList, code: NamedCode) => void

async function readSigtap(
  file: FoundFile,
  table: string,
  bytes: Buffer,
  files: readonly FoundFile[],
  addCode: AddCode,
  unread: { file: string; row: number }[],
): Promise<number> {
  const layoutName = `${table}_layout.txt`
  const layoutFiles = files.filter(({ name }) => name.toLowerCase() === layoutName)
  const layout = layoutFiles.find(({ path }) => dirname(path) === dirname(file.path)) ?? layoutFiles[0]
  const declared = SIGTAP[table]
  if (layout === undefined || declared === undefined)
    throw new ImportError(
      file.shown,
      `comes without its layout file (${layoutName}), which says where its columns are`,
      'Import the table and its layout of one edition',
    )
  const columns = readLayout(await readTextFile(layout.path, layout.shown), layout.name)
  const read = readFixedWidth(bytes, file.name, columns, [...declared.key, declared.name])
  for (const { row, cells } of read.lines) {
    const code = declared.key.map((column) => (cells[column] ?? '').trim()).join('')
    const name = (cells[declared.name] ?? '').trim()
    if (code !== '') addCode(declared.list, { code, name: name === '' ? null : name, file: file.name, row })
  }
  for (const row of read.unread) unread.push({ file: file.name, row })
  return read.lines.length + read.unread.length
}

/** Reads a table of CID-10: separated by semicolons, without quotes, in Windows-1252. */
function readCid(file: FoundFile, bytes: Buffer, addCode: AddCode): number {
  const lines = decodeWindows1252(bytes)
    .split(/\r?\n/)
    .map((line) => line.split(';'))
  const header = (lines[0] ?? []).map((title) => title.trim().toUpperCase())
  const isChapters = /CAPITULOS/i.test(file.name)
  const requiredTitles = isChapters ? ['CAPITULO', 'DESCRICAO'] : ['LETRA', 'NÚMERO', 'DESCRICAO']
  const columnIndexes = requiredTitles.map((title) => header.indexOf(title))
  if (columnIndexes.some((index) => index < 0))
    throw new ImportError(
      file.shown,
      `lacks the column ${requiredTitles.filter((_, index) => (columnIndexes[index] ?? -1) < 0).join(', ')}`,
      'Import the tables of CID-10 as DATASUS publishes them',
    )
  let rows = 0
  lines.forEach((cells, index) => {
    if (index === 0 || cells.every((cell) => cell.trim() === '')) return
    rows += 1
    const [first = '', second = '', third = ''] = columnIndexes.map((columnIndex) =>
      (cells[columnIndex] ?? '').trim(),
    )
    const source = { file: file.name, row: index + 1 }
    // Ignore the letters in the table of chapters: D and H occur in two chapters, and W, X and Y in none.
    if (isChapters) addCode('diagnosis_chapters', { code: first.padStart(2, '0'), name: second, ...source })
    else
      for (const list of ['diagnosis_categories', 'cause_categories'] as const)
        addCode(list, { code: `${first}${second.padStart(2, '0')}`, name: third, ...source })
  })
  return rows
}

export const DERIVED_COLUMNS: Readonly<
  Record<CodeList, Readonly<Record<string, (code: string) => string | null>>>
> = {
  procedures: {
    procedure_group_code: (code) => (code.length === 10 ? code.slice(0, 2) : null),
    procedure_subgroup_code: (code) => (code.length === 10 ? code.slice(0, 4) : null),
    procedure_form_code: (code) => (code.length === 10 ? code.slice(0, 6) : null),
  },
  procedure_groups: {},
  procedure_subgroups: { procedure_group_code: (code) => code.slice(0, 2) },
  procedure_forms: {
    procedure_group_code: (code) => code.slice(0, 2),
    procedure_subgroup_code: (code) => code.slice(0, 4),
  },
  diagnosis_chapters: {},
  diagnosis_categories: { diagnosis_chapter_code: chapterOf },
  cause_categories: {},
}

/** @returns names of the model, used for codes that no table names */
export const builtInCodes = (list: CodeList): readonly NamedCode[] =>
  list === 'diagnosis_chapters'
    ? DIAGNOSIS_CHAPTERS.map(({ code, name }) => ({ code, name, file: null, row: null }))
    : []
