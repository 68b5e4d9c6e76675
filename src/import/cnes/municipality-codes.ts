/**
 * Finds the municipality of a facility when its published code is old or missing.
 * br_municip.cnv, a table of DATASUS, maps old codes. A facility without a code gets the state of its row or file.
 * In: br_municip.cnv and the state of each state file. Out: old_mun (old code, target code, source line) and SQL fragments.
 * The list of municipalities comes from the demography release.
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
  readonly unread: readonly { readonly file: string; readonly row: number }[]
}

/**
 * Makes old_mun, which stays empty without a table. The last line that lists a code wins, as in TabWin.
 * @param name name of the table to create
 * @throws ImportError if there are two tables, because their content does not show which is newer
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
  await session.append(name, (appender) => {
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
  })
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

/** Makes st_states, the state of each state file. Rows without a municipality code belong to it. */
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

/** SQL of the first two digits if they are a state's code, else null. */
const stateIn = (text: string): string =>
  `CASE WHEN left(${text}, 2) IN (${STATE_CODES}) THEN left(${text}, 2) END`

/** SQL of the state of an st_fac row (alias s) as two digits, derived without its municipality code. */
export const stateOfRow = (family: Family, managing: string, unit: string): string =>
  family === 'base'
    ? `CASE WHEN length(${managing}) = 2 AND ${stateIn(managing)} IS NOT NULL THEN ${managing} ELSE ${stateIn(unit)} END`
    : '(SELECT state_code FROM st_states WHERE st_states.source_file = s.source_file)'

/** SQL of a municipality code without its check digit, or null if the cell holds no code. */
const sixDigits = (cell: string): string =>
  `CASE WHEN regexp_full_match(${cell}, '[0-9]{6,7}') THEN left(${cell}, 6) END`

/** SQL that maps every code of the Federal District to its one listed municipality and leaves other codes unchanged. */
const listedCode = (code6: string): string =>
  `CASE WHEN starts_with(${code6}, '53') THEN '530010' ELSE ${code6} END`

/** SQL of the columns that municipalityJoins() reads. @param cell SQL of the municipality code @param state result of stateOfRow() */
export const municipalityColumns = (cell: string, state: string): string =>
  `${sixDigits(cell)} AS published6, ${stateIn('published6')} AS code_state, coalesce(code_state, ${state}) AS row_state`

/** SQL joins that find a row's municipality: by its code, by the old-code table, else the state's "ignored" municipality. */
export const municipalityJoins = (rows: string): string =>
  `LEFT JOIN mun ON mun.code6 = ${listedCode(`${rows}.published6`)}
     LEFT JOIN (SELECT old_mun.*, mun.ibge_code, mun.name, mun.uf FROM old_mun JOIN mun ON mun.code6 = ${listedCode('old_mun.target6')}) AS old ON old.code6 = ${rows}.published6
     LEFT JOIN mun AS ignored ON ignored.code6 = ${listedCode(`(${rows}.row_state || '0000')`)}`

const firstFound = (column: string): string => `coalesce(mun.${column}, old.${column}, ignored.${column})`

/** SQL columns of municipalityJoins()'s result: the municipality, how it was found, and the line that maps an old code. */
export const MUNICIPALITY = `${firstFound('ibge_code')} AS municipality_ibge_code, ${firstFound('name')} AS municipality_name, ${firstFound('uf')} AS uf,
       mun.ibge_code IS NULL AND old.ibge_code IS NULL AS is_unknown_municipality, is_unknown_municipality AND code_state IS NULL AS has_no_municipality_code,
       mun.ibge_code IS NULL AND old.ibge_code IS NOT NULL AS has_old_municipality_code,
       CASE WHEN has_old_municipality_code THEN old.label END AS old_label, CASE WHEN has_old_municipality_code THEN old.source_row END AS old_row`
