/**
 * Stages, counts and writes rejected rows: rows that could not be loaded, with their file, row number and reason. Every area
 * writes them as a table of its release and counts them by file and reason in its manifest.
 */
import type { Manifest } from '../release/manifest.ts'
import { NAMED_ROWS, type NamedNumbers } from './import-error.ts'
import type { Session } from './session.ts'
import { type DatasetOutput, writeParquet } from './write-parquet.ts'

export interface SetAsideRow {
  /** Row number in the file; the header is row 1. */
  readonly row: number
  readonly reason: string
}

/**
 * Reasons that do not count against --max-rejected, because no data is lost: exact duplicates of another row, rows that the
 * publisher marked as deleted, and fetal deaths among deaths.
 */
const HARMLESS: ReadonlySet<string> = new Set(['duplicate_identical', 'deleted', 'fetal_death', 'not_fetal'])

/** Counts rejected rows by file and reason for an area without a table of them, and keeps the first of each for messages. */
export class RejectedCounts {
  readonly #counts = new Map<string, Manifest['set_aside'][number]>()
  readonly #first = new Map<string, NamedNumbers>()

  /** @param rows the rejected rows, or only their number where no row can be named */
  add(
    file: string,
    reason: string,
    rows: number | readonly number[],
    noun: NamedNumbers['noun'] = 'row',
  ): void {
    const count = typeof rows === 'number' ? rows : rows.length
    if (count === 0) return
    const key = setAsideKey(file, reason)
    this.#counts.set(key, { file, reason, rows: (this.#counts.get(key)?.rows ?? 0) + count })
    if (typeof rows === 'number') return
    // Keep one more than messages show, so that a message can indicate that there are others.
    const numbers = [...(this.#first.get(key)?.numbers ?? []), ...rows.slice(0, NAMED_ROWS + 1)]
    this.#first.set(key, { noun, numbers: numbers.slice(0, NAMED_ROWS + 1) })
  }

  /** @returns counts in the order of file and reason */
  list(): Manifest['set_aside'] {
    return [...this.#counts.values()].sort((left, right) =>
      `${left.file} ${left.reason}` < `${right.file} ${right.reason}` ? -1 : 1,
    )
  }

  /** @returns the first rejected rows by setAsideKey() */
  first(): ReadonlyMap<string, NamedNumbers> {
    return this.#first
  }
}

export const setAsideKey = (file: string, reason: string): string => `${file}\u0000${reason}`

export const countsAsRejected = (reason: string): boolean => !HARMLESS.has(reason)

/** @returns number of rows that count against --max-rejected */
export const rejectedRows = (setAside: Manifest['set_aside']): number =>
  setAside.reduce((sum, { reason, rows }) => sum + (countsAsRejected(reason) ? rows : 0), 0)

export const createSetAside = (table: string): string =>
  `CREATE TABLE ${table} (dataset VARCHAR, source_file VARCHAR, source_row INTEGER, reason VARCHAR)`

export async function noteAside(
  session: Session,
  table: string,
  dataset: string,
  file: string,
  rows: readonly SetAsideRow[],
): Promise<void> {
  await session.append(table, (appender) => {
    for (const { row, reason } of rows) {
      appender.appendVarchar(dataset)
      appender.appendVarchar(file)
      appender.appendInteger(row)
      appender.appendVarchar(reason)
      appender.endRow()
    }
  })
}

export async function listSetAside(session: Session, table: string): Promise<Manifest['set_aside']> {
  const rows = await session.rows(
    `SELECT source_file AS file, reason, count(*) AS n FROM ${table} GROUP BY ALL ORDER BY ALL`,
  )
  return rows.map(({ file, reason, n }) => ({ file: String(file), reason: String(reason), rows: Number(n) }))
}

/** @param name table name in the release; areas use different names, because a release may join several areas */
export const writeSetAside = (
  session: Session,
  staging: string,
  table: string,
  name: string,
): Promise<DatasetOutput> =>
  writeParquet(
    session,
    staging,
    {
      name,
      key: ['source_file', 'source_row', 'dataset'],
      order: ['source_file', 'source_row', 'dataset', 'reason'],
      columns: [
        { name: 'dataset', type: 'VARCHAR' },
        { name: 'source_file', type: 'VARCHAR' },
        { name: 'source_row', type: 'INTEGER' },
        { name: 'reason', type: 'VARCHAR' },
      ],
    },
    null,
    `SELECT * FROM ${table}`,
  )
