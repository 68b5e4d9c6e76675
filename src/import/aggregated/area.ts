/**
 * SQL shared by the areas whose rows are aggregated from published files: municipality mapping, source file columns and sums.
 * Published municipality codes have six digits, and the municipality list has seven. Old codes become current ones if DATASUS's
 * table was imported. 53xxxx becomes Brasília. Other unknown codes become the ignored municipality of their state.
 */
import type { DATASETS } from '../../model/datasets.ts'
import type { AddedUpTable } from '../../model/dimensions.ts'
import { STATES } from '../../model/territory/states.ts'
import { createSetAside } from '../rejected-rows.ts'
import { quoteText, type Session } from '../session.ts'

/** Prefix of the area's tables, because all areas of an import share one session. */
export type AggregatedAreaName = (typeof DATASETS)[AddedUpTable]['area']

/** Columns that identify the published file of an aggregated row. */
export const SOURCE_FILE_COLUMNS =
  'processing_uf VARCHAR, source_file VARCHAR, source_sha256 VARCHAR, source_rows INTEGER'
export const SOURCE_FILE_SELECT =
  'processing_uf, any_value(source_file) AS source_file, any_value(source_sha256) AS source_sha256, any_value(source_rows) AS source_rows'
const STATE_CODES = STATES.map(({ ibge_code, uf }) => `('${ibge_code}', '${uf}')`).join(', ')

/** @param municipalities Parquet of the municipality list */
export const createMunicipalityTables = (
  session: Session,
  area: AggregatedAreaName,
  municipalities: string,
): Promise<void> =>
  session.run(
    `CREATE TABLE ${area}_places AS SELECT ibge_code, lpad(CAST(ibge_code // 10 AS VARCHAR), 6, '0') AS code6, name, uf
       FROM read_parquet(${quoteText(municipalities)}) WHERE territorial_type <> 'ADMINISTRATIVE_REGION';
     CREATE TABLE ${area}_states AS SELECT * FROM (VALUES ${STATE_CODES}) AS states(code, uf);
     ${createSetAside(rejectedRowsTable(area))};
     CREATE TABLE ${area}_codes (list VARCHAR, code VARCHAR)`,
  )

export const rejectedRowsTable = (area: AggregatedAreaName): string => `${area}_set_aside`

/** @returns name of the table of old municipality codes: code6 (old) and target6 (current) */
export const oldCodesTable = (area: AggregatedAreaName): string => `${area}_old_codes`

/** @returns SQL that replaces unlisted codes by current ones from the table of old codes */
const replaceOldCodes = (area: AggregatedAreaName, table: string): string =>
  `(SELECT own.* REPLACE (coalesce(CASE WHEN own.published6 NOT IN (SELECT code6 FROM ${area}_places) THEN old.target6 END, own.published6) AS published6)
    FROM ${table} AS own LEFT JOIN ${oldCodesTable(area)} AS old ON old.code6 = own.published6)`

/** @returns SQL of the state of the file, for codes without a valid state */
export const fileStateCode = (area: AggregatedAreaName): string =>
  `(SELECT code FROM ${area}_states WHERE ${area}_states.uf = processing_uf)`

/**
 * Returns SQL that maps each published code to a listed municipality, or else to the ignored municipality of its state.
 * @param table table with the column published6
 * @param state SQL of the state for codes without a valid state
 */
export const mapMunicipalities = (area: AggregatedAreaName, table: string, state: string): string =>
  `(SELECT own.*, coalesce(place.ibge_code, ignored.ibge_code) AS place_code, coalesce(place.name, ignored.name) AS place_name, coalesce(place.uf, ignored.uf) AS place_uf
    FROM (SELECT *, coalesce((SELECT code FROM ${area}_states WHERE code = left(published6, 2)), ${state}) AS state_code FROM ${replaceOldCodes(area, table)}) AS own
    LEFT JOIN ${area}_places AS place ON place.code6 = CASE WHEN own.state_code = '53' THEN '530010' ELSE own.published6 END
    LEFT JOIN ${area}_places AS ignored ON ignored.code6 = own.state_code || '0000')`

export const sumMeasures = (measures: readonly string[]): string =>
  measures.map((measure) => `CAST(sum(${measure}) AS BIGINT) AS ${measure}`).join(', ')

/** @returns SQL of the first digits of a SIGTAP procedure code; null for other codes */
export const sigtapPrefix = (digits: number): string =>
  `CASE WHEN length(procedure_code) = 10 THEN left(procedure_code, ${digits}) END`

export async function readSums(
  session: Session,
  table: string,
  measures: readonly string[],
): Promise<number[]> {
  const [row = {}] = await session.rows(
    `SELECT ${measures.map((measure) => `coalesce(sum(${measure}), 0) AS ${measure}`).join(', ')} FROM ${table}`,
  )
  return measures.map((measure) => Number(row[measure]))
}
