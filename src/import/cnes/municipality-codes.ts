/**
 * Which municipality a facility is in, where the published code alone does not say: old codes by DATASUS's own table, and the
 * state of facilities that carry no code.
 *
 * In: br_municip.cnv, the states of files by state. Out: old_mun (a code, the code that the table puts it under, and where the
 * table says so), and the SQL of a facility's state. Municipalities themselves are the demography release's.
 */

import type { Family } from '../../model/cnes/lineage.ts'
import { STATES } from '../../model/territory/states.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { readCnv } from '../readers/cnv.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import { quoteText, type Session } from '../session.ts'

const PUBLISHER = 'DATASUS'

export const isMunicipalityTable = (fileName: string): boolean => /^br_municip\.cnv$/i.test(fileName)

export interface MunicipalityTable {
  readonly snapshots: readonly Snapshot[]
  /** Lines that do not fit the layout: set aside. */
  readonly unread: readonly { readonly file: string; readonly row: number }[]
}

/**
 * Makes old_mun, empty without a table. The last line that names a code decides, as TabWin does.
 *
 * @param name of the table that is made
 * @throws ImportError where there are two tables: which one is newer, nothing in them says
 */
export async function stageMunicipalityCodes(
  session: Session,
  files: readonly FoundFile[],
  name = 'old_mun',
): Promise<MunicipalityTable> {
  await session.run(
    `CREATE TABLE ${name} (code6 VARCHAR, target6 VARCHAR, label VARCHAR, source_file VARCHAR, source_row INTEGER)`,
  )
  const [found, another] = files
  if (found === undefined) return { snapshots: [], unread: [] }
  if (another !== undefined)
    throw new ImportError(
      another.shown,
      `is there twice (${found.shown}), and nothing in such a table says which is newer`,
      'Import one of the two',
    )
  const bytes = await readTextFile(found.path, found.shown)
  const table = readCnv(bytes, found.name)
  const appender = await session.connection.createAppender(name)
  const codes = new Map<string, { target: string; label: string; row: number }>()
  for (const { label, row, codes: ranges } of table.lines) {
    const target = /^\d{6}(?= )/.exec(label)?.[0]
    if (target === undefined) continue
    for (const { from, to } of ranges)
      for (let code = Number(from); /^\d{6}$/.test(from) && code <= Number(to); code += 1)
        codes.set(String(code).padStart(6, '0'), { target, label, row })
  }
  for (const [code, { target, label, row }] of codes) {
    for (const text of [code, target, label, found.name]) appender.appendVarchar(text)
    appender.appendInteger(row)
    appender.endRow()
  }
  appender.closeSync()
  return {
    snapshots: [
      {
        publisher: PUBLISHER,
        file: found.name,
        archive: found.archive,
        bytes: bytes.length,
        sha256: sha256Hex(bytes),
        rows: table.lines.length + table.unread.length,
      },
    ],
    unread: table.unread.map((row) => ({ file: found.name, row })),
  }
}

/** Makes st_states: the state of each file by state, which the rows without a municipality code belong to. */
export async function stageFileStates(
  session: Session,
  files: readonly { readonly name: string; readonly uf: string }[],
): Promise<void> {
  const rows = files.map(({ name, uf }) => {
    const code = STATES.find((state) => state.uf === uf)?.ibge_code
    return `(${quoteText(name)}, '${code}')`
  })
  await session.run(
    `CREATE TABLE st_states AS SELECT * FROM (VALUES ${rows.join(', ')}) AS states(source_file, state_code)`,
  )
}

const STATE_CODES = STATES.map(({ ibge_code }) => `'${ibge_code}'`).join(', ')

/** SQL: the first two of some digits where they are a state's code, else null. */
const stateIn = (text: string): string =>
  `CASE WHEN left(${text}, 2) IN (${STATE_CODES}) THEN left(${text}, 2) END`

/**
 * SQL of the state that a row of st_fac (named s) says it is in beside its municipality code, as two digits.
 *
 * @param managing SQL of the managing state; @param unit SQL of the facility's unit code; both of the national base
 */
export const stateOfRow = (family: Family, managing: string, unit: string): string =>
  family === 'base'
    ? `CASE WHEN length(${managing}) = 2 AND ${stateIn(managing)} IS NOT NULL THEN ${managing} ELSE ${stateIn(unit)} END`
    : '(SELECT state_code FROM st_states WHERE st_states.source_file = s.source_file)'

/** SQL of a municipality code without its check digit; null where the cell holds none. */
const sixDigits = (cell: string): string =>
  `CASE WHEN regexp_full_match(${cell}, '[0-9]{6,7}') THEN left(${cell}, 6) END`

/** SQL of the code that stands for all of the Federal District, and of any other code as it is. */
const asListed = (code6: string): string =>
  `CASE WHEN starts_with(${code6}, '53') THEN '530010' ELSE ${code6} END`

/**
 * SQL of columns that placeJoins() reads, of a row of st_fac. @param cell SQL of the municipality code
 * @param state stateOfRow()
 */
export const placeColumns = (cell: string, state: string): string =>
  `${sixDigits(cell)} AS published6, ${stateIn('published6')} AS code_state, coalesce(code_state, ${state}) AS row_state`

/** Where the row's municipality is found: its own code, an old code's, the ignored one of its state. */
export const placeJoins = (rows: string): string =>
  `LEFT JOIN mun ON mun.code6 = ${asListed(`${rows}.published6`)}
     LEFT JOIN (SELECT old_mun.*, mun.ibge_code, mun.name, mun.uf FROM old_mun JOIN mun ON mun.code6 = ${asListed('old_mun.target6')}) AS old ON old.code6 = ${rows}.published6
     LEFT JOIN mun AS ignored ON ignored.code6 = ${asListed(`(${rows}.row_state || '0000')`)}`

const place = (column: string): string => `coalesce(mun.${column}, old.${column}, ignored.${column})`

/** What placeJoins() found: the municipality, how it was found, and the line of the table that an old code is in. */
export const PLACE = `${place('ibge_code')} AS municipality_ibge_code, ${place('name')} AS municipality_name, ${place('uf')} AS uf,
       mun.ibge_code IS NULL AND old.ibge_code IS NULL AS is_unknown_municipality, is_unknown_municipality AND code_state IS NULL AS has_no_municipality_code,
       mun.ibge_code IS NULL AND old.ibge_code IS NOT NULL AS has_old_municipality_code,
       CASE WHEN has_old_municipality_code THEN old.label END AS old_label, CASE WHEN has_old_municipality_code THEN old.source_row END AS old_row`
