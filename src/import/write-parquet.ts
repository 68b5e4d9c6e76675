/**
 * Writes a dataset or one of its partitions to a Parquet file in key order, so that the bytes depend only on the rows. It takes a
 * SELECT over staged tables and returns path, row count and schema for the manifest.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type DatasetName, datasetOf, storedColumns } from '../model/datasets.ts'
import { sqlTypeOf } from '../model/stored-columns.ts'
import type { Manifest } from '../release/manifest.ts'
import { quoteName, quoteText, ROW_GROUP_ROWS, type Session } from './session.ts'

export interface NamedCheck {
  readonly name: string
  readonly violations: number
}

type DatasetEntry = Manifest['datasets'][string]

export interface DatasetOutput {
  readonly name: string
  readonly entry: DatasetEntry
  /** path → rows */
  readonly files: ReadonlyMap<string, number>
}

export { sqlTypeOf } from '../model/stored-columns.ts'

/** Writes a dataset of the model. @param select SQL that returns its stored columns by name, in any order */
export function writeDataset(
  session: Session,
  staging: string,
  dataset: DatasetName,
  period: number | null,
  select: string,
  rows: RowOrder = 'sort',
): Promise<DatasetOutput> {
  const declared = datasetOf(dataset)
  const columns = storedColumns(declared).map((field) => ({ name: field, type: sqlTypeOf(field) }))
  return writeParquet(
    session,
    staging,
    { name: dataset, key: declared.key, columns, order: declared.key },
    period,
    select,
    rows,
  )
}

/** 'sort' sorts the rows by key. 'sorted' means that the SELECT returns them in key order, which is then verified. */
export type RowOrder = 'sort' | 'sorted'

export interface TableShape {
  readonly name: string
  readonly key: readonly string[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** Columns that order the rows without ties. */
  readonly order: readonly string[]
}

/** @returns path in a release of a table or of its partition of a month */
export const partOf = (table: string, period: number | null): string =>
  `${table}/${period === null ? '' : `reference_period=${period}/`}part-0.parquet`

export async function writeParquet(
  session: Session,
  staging: string,
  shape: TableShape,
  period: number | null,
  select: string,
  rowOrder: RowOrder = 'sort',
): Promise<DatasetOutput> {
  const path = partOf(shape.name, period)
  const target = join(staging, path)
  await mkdir(dirname(target), { recursive: true })
  const columns = shape.columns.map(
    ({ name, type }) => `CAST(${quoteName(name)} AS ${type}) AS ${quoteName(name)}`,
  )
  // COPY returns the number of rows.
  const rows = await session.number(
    `COPY (SELECT ${columns.join(', ')} FROM (${select})${rowOrder === 'sort' ? ` ORDER BY ${shape.order.map(quoteName).join(', ')}` : ''})
     TO ${quoteText(target)} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
  )
  if (rowOrder === 'sorted') {
    const source = `read_parquet(${quoteText(target)}, hive_partitioning = false)`
    const misplaced = await countDisorder(session, source, shape.order)
    // This is a defect of the importer, not of the data.
    if (misplaced > 0) throw new Error(`${target}: ${misplaced} rows are not in the order of their key`)
  }
  const fields = shape.columns.map(({ name, type }) => ({ name, type }))
  return {
    name: shape.name,
    entry: { key: [...shape.key], fields, rows, periods: period === null ? [] : [period] },
    files: new Map([[path, rows]]),
  }
}

/**
 * Counts the rows of a Parquet file that are out of key order or repeat the key of the row before. Nulls sort last.
 * @param source SQL that reads the file
 */
export function countDisorder(session: Session, source: string, key: readonly string[]): Promise<number> {
  const columns = key.map(quoteName)
  const before = columns.map((_, index) => `before_${index}`)
  const isNotAfter = columns.reduceRight(
    (rest, column, index) =>
      `${column} < ${before[index]} OR (${column} IS NOT NULL AND ${before[index]} IS NULL) OR (${column} IS NOT DISTINCT FROM ${before[index]} AND (${rest}))`,
    'true',
  )
  return session.number(
    `SELECT count(*) FROM (
       SELECT ${columns.join(', ')}, ${columns.map((column, index) => `lag(${column}) OVER () AS ${before[index]}`).join(', ')}, row_number() OVER () AS place
       FROM ${source}
     ) WHERE place > 1 AND (${isNotAfter})`,
  )
}

export function mergeOutputs(outputs: readonly DatasetOutput[]): {
  datasets: Manifest['datasets']
  rowsByFile: Map<string, number>
} {
  const datasets: Manifest['datasets'] = {}
  const rowsByFile = new Map<string, number>()
  for (const { name, entry, files } of outputs) {
    const before = datasets[name]
    // Provenance tables keep published columns, which vary by month. The entry lists the columns of all partitions.
    const fields = [
      ...(before?.fields ?? []),
      ...entry.fields.filter((field) => before?.fields.every((other) => other.name !== field.name) ?? true),
    ]
    datasets[name] = {
      key: entry.key,
      fields,
      rows: (before?.rows ?? 0) + entry.rows,
      periods: [...(before?.periods ?? []), ...entry.periods].sort((left, right) => left - right),
    }
    for (const [path, rows] of files) rowsByFile.set(path, rows)
  }
  return { datasets, rowsByFile }
}
