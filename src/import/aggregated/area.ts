/**
 * What areas have in common whose rows are added up from published files: the places that codes are mapped to, the published file
 * that a row is of, and sums. In: an area's staged tables. Out: SQL and what is written.
 *
 * Published municipality codes have six digits; the list has seven. An old code is that of today where DATASUS's table was
 * imported, 53xxxx is Brasília, and a code that is none of the list the ignored municipality of its state.
 */
import { STATES } from '../../model/territory/states.ts'
import { createSetAside } from '../rejected-rows.ts'
import { quoteText, type Session } from '../session.ts'

/** Areas of one import share a session: tables begin with their name. */
export type AddedUpArea = 'sih' | 'sia'

/** Of the published file that a row was added up from. */
export const BATCH = 'processing_uf VARCHAR, source_file VARCHAR, source_sha256 VARCHAR, source_rows INTEGER'
export const BATCH_COLUMNS =
  'processing_uf, any_value(source_file) AS source_file, any_value(source_sha256) AS source_sha256, any_value(source_rows) AS source_rows'
const STATE_CODES = STATES.map(({ ibge_code, uf }) => `('${ibge_code}', '${uf}')`).join(', ')

/** @param municipalities Parquet of the municipality list */
export const createPlaces = (session: Session, area: AddedUpArea, municipalities: string): Promise<void> =>
  session.run(
    `CREATE TABLE ${area}_places AS SELECT ibge_code, lpad(CAST(ibge_code // 10 AS VARCHAR), 6, '0') AS code6, name, uf
       FROM read_parquet(${quoteText(municipalities)}) WHERE territorial_type <> 'ADMINISTRATIVE_REGION';
     CREATE TABLE ${area}_states AS SELECT * FROM (VALUES ${STATE_CODES}) AS states(code, uf);
     ${createSetAside(setAsideOf(area))};
     CREATE TABLE ${area}_codes (list VARCHAR, code VARCHAR)`,
  )

/** Table of rows that could not be loaded. */
export const setAsideOf = (area: AddedUpArea): string => `${area}_set_aside`

/** Table of the codes that municipalities had before: code6, and target6, the code of today. */
export const oldCodesOf = (area: AddedUpArea): string => `${area}_old_codes`

/** The code of today where the published one is none of the list, and the table of old codes has it. */
const ofToday = (area: AddedUpArea, table: string): string =>
  `(SELECT own.* REPLACE (coalesce(CASE WHEN own.published6 NOT IN (SELECT code6 FROM ${area}_places) THEN old.target6 END, own.published6) AS published6)
    FROM ${table} AS own LEFT JOIN ${oldCodesOf(area)} AS old ON old.code6 = own.published6)`

/** The state of the file, for codes that name none. */
export const stateOfFile = (area: AddedUpArea): string =>
  `(SELECT code FROM ${area}_states WHERE ${area}_states.uf = processing_uf)`

/**
 * The place of a published code: of the list, else the ignored one of its state.
 * @param table has published6 @param state SQL of the state where the code names none
 */
export const placed = (area: AddedUpArea, table: string, state: string): string =>
  `(SELECT own.*, coalesce(place.ibge_code, ignored.ibge_code) AS place_code, coalesce(place.name, ignored.name) AS place_name, coalesce(place.uf, ignored.uf) AS place_uf
    FROM (SELECT *, coalesce((SELECT code FROM ${area}_states WHERE code = left(published6, 2)), ${state}) AS state_code FROM ${ofToday(area, table)}) AS own
    LEFT JOIN ${area}_places AS place ON place.code6 = CASE WHEN own.state_code = '53' THEN '530010' ELSE own.published6 END
    LEFT JOIN ${area}_places AS ignored ON ignored.code6 = own.state_code || '0000')`

export const addUp = (measures: readonly string[]): string =>
  measures.map((measure) => `CAST(sum(${measure}) AS BIGINT) AS ${measure}`).join(', ')

/** Group and subgroup of a procedure; null for codes that are not of SIGTAP. */
export const ofSigtap = (digits: number): string =>
  `CASE WHEN length(procedure_code) = 10 THEN left(procedure_code, ${digits}) END`

/** @returns the sum of each measure over a table */
export async function sumsOf(
  session: Session,
  table: string,
  measures: readonly string[],
): Promise<number[]> {
  const [row = {}] = await session.rows(
    `SELECT ${measures.map((measure) => `coalesce(sum(${measure}), 0) AS ${measure}`).join(', ')} FROM ${table}`,
  )
  return measures.map((measure) => Number(row[measure]))
}
