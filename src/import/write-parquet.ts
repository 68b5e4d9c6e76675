/**
 * One dataset (or one partition of it) → one Parquet file in key order: the bytes depend on the rows alone.
 *
 * In: a SELECT over staged tables. Out: path, rows and schema for the manifest.
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

/** Writes a declared dataset. @param select SQL that yields its stored columns by name, in any order */
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

/** 'sorted': the SELECT yields its rows in the order of the key, which is checked; 'sort': they are sorted here. */
export type RowOrder = 'sort' | 'sorted'

export interface TableShape {
  readonly name: string
  readonly key: readonly string[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** Total order of the rows. */
  readonly order: readonly string[]
}

/** @returns where a table, or its partition of a month, is in a release */
export const partOf = (table: string, period: number | null): string =>
  `${table}/${period === null ? '' : `reference_period=${period}/`}part-0.parquet`

/** Writes any table of a release: datasets, and the provenance tables beside them. */
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
  await session.run(
    `COPY (SELECT ${columns.join(', ')} FROM (${select})${rowOrder === 'sort' ? ` ORDER BY ${shape.order.map(quoteName).join(', ')}` : ''})
     TO ${quoteText(target)} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
  )
  const rows = await session.number(`SELECT sum(num_rows) FROM parquet_file_metadata(${quoteText(target)})`)
  if (rowOrder === 'sorted') {
    const source = `read_parquet(${quoteText(target)}, hive_partitioning = false)`
    const wrong = await countDisorder(session, source, shape.order)
    // A defect, never the data's fault.
    if (wrong > 0) throw new Error(`${target}: ${wrong} rows are not in the order of their key`)
  }
  const fields = shape.columns.map(({ name, type }) => ({ name, type }))
  return {
    name: shape.name,
    entry: { key: [...shape.key], fields, rows, periods: period === null ? [] : [period] },
    files: new Map([[path, rows]]),
  }
}

/**
 * Rows of a Parquet file that do not come after the row before them: out of order, or with a key that is there already. Nulls
 * are last.
 *
 * @param source SQL that reads the file
 */
export function countDisorder(session: Session, source: string, key: readonly string[]): Promise<number> {
  const columns = key.map(quoteName)
  const before = columns.map((_, index) => `before_${index}`)
  const notAfter = columns.reduceRight(
    (rest, column, index) =>
      `${column} < ${before[index]} OR (${column} IS NOT NULL AND ${before[index]} IS NULL) OR (${column} IS NOT DISTINCT FROM ${before[index]} AND (${rest}))`,
    'true',
  )
  return session.number(
    `SELECT count(*) FROM (
       SELECT ${columns.join(', ')}, ${columns.map((column, index) => `lag(${column}) OVER () AS ${before[index]}`).join(', ')}, row_number() OVER () AS place
       FROM ${source}
     ) WHERE place > 1 AND (${notAfter})`,
  )
}

/** Joins partitions of one dataset into one entry. */
export function mergeOutputs(outputs: readonly DatasetOutput[]): {
  datasets: Manifest['datasets']
  rowsByFile: Map<string, number>
} {
  const datasets: Manifest['datasets'] = {}
  const rowsByFile = new Map<string, number>()
  for (const { name, entry, files } of outputs) {
    const before = datasets[name]
    // Provenance tables keep the published columns: the entry lists those of every partition.
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
