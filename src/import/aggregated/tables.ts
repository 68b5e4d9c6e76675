/**
 * Stages the groups of aggregated files in DuckDB and writes them as partitions. An area declares its tables (StagedTable) and
 * the rest is the same for all areas: published municipality codes are mapped (area.ts), rows that get the same codes are summed,
 * so keys are unique, and the sums are compared with the totals of the files.
 */
import {
  BIGINT,
  type DuckDBAppender,
  DuckDBDataChunk,
  type DuckDBValue,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api'
import type { AddedUpTable } from '../../model/dimensions.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, writeDataset } from '../write-parquet.ts'
import {
  type AggregatedAreaName,
  fileStateCode,
  mapMunicipalities,
  readSums,
  SOURCE_FILE_COLUMNS,
  SOURCE_FILE_SELECT,
  sumMeasures,
} from './area.ts'
import type { Sums } from './code-groups.ts'

export interface StagedTable {
  readonly dataset: AddedUpTable
  /** Member of a decoded file that holds the groups. */
  readonly groups: string
  /** Dataset of another table whose staged groups it sums, too, by fewer or other codes. They are then staged once. */
  readonly stagedAs?: AddedUpTable
  /** Attribute of a file that is a text column of every row: its column. */
  readonly fileAttribute?: { readonly attribute: string; readonly column: string }
  /**
   * Text columns of the codes of a group, in their order. One of them is published6, the municipality. With reference_period
   * (YYYYMM) among them, a file has rows of several partitions.
   */
  readonly codes: readonly string[]
  readonly measures: readonly string[]
  /** @returns SQL of the rows to map, for a table whose rows have a second municipality; otherwise the staged rows */
  readonly mapFirst?: (staged: string) => string
  /** SQL of the selected columns except measures and those of the file; place_code, place_name and place_uf are the municipality. */
  readonly columns: string
  /** State of rows whose municipality code names no state: that of the file, or none. */
  readonly stateWithoutCode: 'file' | 'none'
}

/** Keeps with every row whether the publisher calls its file final or preliminary. */
export const PUBLICATION_STATUS = {
  attribute: 'publication_status',
  column: 'publication_status',
  select: "nullif(any_value(publication_status), '') AS publication_status",
} as const

const stagedTable = (area: AggregatedAreaName, { dataset, stagedAs = dataset }: StagedTable): string =>
  `${area}_staged_${stagedAs}`
/** @returns name of the table with the files of staged groups, by number */
const filesTable = (staged: string): string => `${staged}_files`
/** @returns the tables with staged groups of their own */
const stagedOnce = (tables: readonly StagedTable[]): readonly StagedTable[] =>
  tables.filter(({ stagedAs }) => stagedAs === undefined)
/** @returns name of the table that holds the rows of a batch, from createRows to dropRows */
export const rowsTable = (area: AggregatedAreaName, dataset: AddedUpTable): string =>
  `${area}_rows_${dataset}`

/** Creates the tables that hold the groups of one batch of files: the codes of a group are one text, split by stagedRows. */
export async function createStagedTables(
  session: Session,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
): Promise<void> {
  for (const table of stagedOnce(tables)) {
    const staged = stagedTable(area, table)
    const attribute = table.fileAttribute === undefined ? '' : `, ${table.fileAttribute.column} VARCHAR`
    await session.run(
      `CREATE TABLE ${filesTable(staged)} (file_number INTEGER, ${SOURCE_FILE_COLUMNS}${attribute});
       CREATE TABLE ${staged} (file_number INTEGER, group_codes VARCHAR, ${table.measures.map((measure) => `${measure} BIGINT`).join(', ')})`,
    )
  }
}

interface DecodedFile {
  readonly uf: string
  readonly file: string
  readonly sha256: string
  readonly rows: number
}
type Group = Pick<Sums<readonly string[]>, 'key' | 'values'>

/** @param number number of the file among those of the batch */
export async function appendFile(
  session: Session,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
  number: number,
  read: DecodedFile,
): Promise<void> {
  const members = read as unknown as Readonly<Record<string, unknown>>
  for (const { fileAttribute, ...table } of stagedOnce(tables)) {
    const staged = stagedTable(area, table)
    await session.append(filesTable(staged), (appender) => {
      appender.appendInteger(number)
      for (const text of [read.uf, read.file, read.sha256]) appender.appendVarchar(text)
      appender.appendInteger(read.rows)
      if (fileAttribute !== undefined) appender.appendVarchar(String(members[fileAttribute.attribute]))
      appender.endRow()
    })
    await session.append(staged, (appender) =>
      appendGroups(appender, number, members[table.groups] as Iterable<Group>, table.measures.length),
    )
  }
}

/** Rows of the largest chunk that DuckDB takes. */
const CHUNK_ROWS = 2048

/** Appends groups in chunks, because a national month has more than a million, and each value would be a call of the driver. */
function appendGroups(
  appender: DuckDBAppender,
  number: number,
  groups: Iterable<Group>,
  measures: number,
): void {
  const types = [INTEGER, VARCHAR, ...Array.from({ length: measures }, () => BIGINT)]
  let columns: DuckDBValue[][] = types.map(() => [])
  const flush = (): void => {
    const chunk = DuckDBDataChunk.create(types)
    chunk.setColumns(columns)
    appender.appendDataChunk(chunk)
    columns = types.map(() => [])
  }
  for (const { key, values } of groups) {
    columns[0]?.push(number)
    columns[1]?.push(key)
    for (let index = 0; index < measures; index += 1)
      columns[index + 2]?.push(BigInt(values[index] as number))
    if (columns[0]?.length === CHUNK_ROWS) flush()
  }
  if (columns[0]?.length !== 0) flush()
}

/** @returns SQL of staged groups with their file and a column for each code; an empty code becomes null */
function stagedRows(staged: string, { codes, measures }: StagedTable): string {
  const columns = codes.map((code, index) => `nullif(parts[${index + 1}], '') AS ${code}`)
  return `(SELECT files.* EXCLUDE (file_number), ${columns.join(', ')}, ${measures.join(', ')}
    FROM (SELECT *, string_split(group_codes, '|') AS parts FROM ${staged}) JOIN ${filesTable(staged)} AS files USING (file_number))`
}

/**
 * Sums the staged groups into the rows of the datasets. Groups are dropped after their last use. If they were only deleted,
 * DuckDB would keep the memory of up to three batches.
 */
export async function createRows(
  session: Session,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
): Promise<void> {
  for (const [index, table] of tables.entries()) {
    const staged = stagedTable(area, table)
    const state = table.stateWithoutCode === 'file' ? fileStateCode(area) : 'NULL'
    await session.run(
      `CREATE TABLE ${rowsTable(area, table.dataset)} AS
       SELECT ${table.columns}, ${SOURCE_FILE_SELECT}, ${sumMeasures(table.measures)}
       FROM ${mapMunicipalities(area, (table.mapFirst ?? String)(stagedRows(staged, table)), state)}
       GROUP BY ALL`,
    )
    const isLastUse = tables.slice(index + 1).every((later) => stagedTable(area, later) !== staged)
    if (isLastUse) await session.run(`DROP TABLE ${staged}; DROP TABLE ${filesTable(staged)}`)
  }
}

/** Writes the partitions of one period. */
export async function writeRows(
  session: Session,
  staging: string,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
  period: number,
): Promise<DatasetOutput[]> {
  const outputs: DatasetOutput[] = []
  for (const { dataset, codes } of tables) {
    const ofPeriod = codes.includes('reference_period') ? ` WHERE reference_period = '${period}'` : ''
    outputs.push(
      await writeDataset(session, staging, dataset, period, `FROM ${rowsTable(area, dataset)}${ofPeriod}`),
    )
  }
  return outputs
}

/** @throws Error if rows of a batch are in no partition, which comparisons of sums do not notice: a defect of the importer */
export async function requireWritten(
  session: Session,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
  outputs: readonly DatasetOutput[],
): Promise<void> {
  for (const { dataset } of tables) {
    const rows = await session.number(`SELECT count(*) FROM ${rowsTable(area, dataset)}`)
    const written = outputs.reduce((sum, { name, entry }) => sum + (name === dataset ? entry.rows : 0), 0)
    if (written !== rows) throw new Error(`${dataset}: ${written} of ${rows} rows are in partitions`)
  }
}

/** @returns absolute difference between the sums of the rows and those of the files, over all measures */
export async function compareSums(
  session: Session,
  area: AggregatedAreaName,
  { dataset, measures }: StagedTable,
  totalsOfFiles: readonly (readonly number[])[],
): Promise<number> {
  const written = await readSums(session, rowsTable(area, dataset), measures)
  return written.reduce(
    (sum, value, index) =>
      sum + Math.abs(value - totalsOfFiles.reduce((total, totals) => total + (totals[index] ?? 0), 0)),
    0,
  )
}

/** Drops the rows of a batch. */
export async function dropRows(
  session: Session,
  area: AggregatedAreaName,
  tables: readonly StagedTable[],
): Promise<void> {
  for (const table of tables) await session.run(`DROP TABLE ${rowsTable(area, table.dataset)}`)
}
