/**
 * What the files of a state and month hold, as far as coverage says it: dimensions that no row has a code of, and files without
 * any row. In: a written partition, and how many rows each file published. Out: entries of coverage, and files that are empty
 * although those of the months around them are not.
 *
 * A file is judged by its rows, not by its name or month, so that no layout has to be listed: a column that is missing, blank in
 * every row, or filled with codes of another table (CID-9, procedures before SIGTAP) says nothing of its dimension.
 */
import { join } from 'node:path'
import { type DimensionCode, dimensionOf, isAddedUp } from '../model/dimensions.ts'
import { codedDimensionsOf, codelessOf, type Table } from '../model/required-tables.ts'
import type { Coverage } from '../release/manifest.ts'
import { formatPeriod } from '../release/view.ts'
import { quoteName, quoteText, type Session } from './session.ts'
import { partOf } from './write-parquet.ts'

/** SQL: has a row a code of the dimension? */
function hasCode(code: DimensionCode): string {
  const column = quoteName(dimensionOf(code).column)
  const { unknown, digits } = codelessOf(code)
  if (digits !== undefined) return `length(${column}) = ${digits}`
  return unknown === undefined ? `${column} IS NOT NULL` : `${column} <> ${quoteText(unknown)}`
}

/** @returns state of the file → dimensions that none of its rows has a code of; states without rows are absent */
async function uncodedDimensions(
  session: Session,
  staging: string,
  table: Table,
  period: number,
): Promise<Map<string, DimensionCode[]>> {
  const dimensions = codedDimensionsOf(table)
  const state = isAddedUp(table) ? 'processing_uf' : 'uf'
  const rows = await session.rows(
    `SELECT CAST(${state} AS VARCHAR) AS uf, ${dimensions.map((code) => `coalesce(bool_or(${hasCode(code)}), false) AS ${quoteName(code)}`).join(', ')}
     FROM read_parquet(${quoteText(join(staging, partOf(table, period)))}, hive_partitioning = false) GROUP BY ALL ORDER BY ALL`,
  )
  return new Map(rows.map((row) => [String(row.uf), dimensions.filter((code) => row[code] !== true)]))
}

/**
 * @param covered the entry of a table and month whose partition is written
 * @param empty states whose published file has no row; 'all': a national table without rows
 * @returns the entry with the dimensions that its files do not carry, and those that are empty
 */
export async function describeContents(
  session: Session,
  staging: string,
  table: Table,
  period: number,
  covered: Coverage,
  empty: Coverage['states'],
): Promise<Coverage> {
  const uncoded = await uncodedDimensions(session, staging, table, period)
  const lacking = new Map<DimensionCode, string[]>()
  for (const [uf, dimensions] of uncoded)
    for (const code of dimensions) lacking.set(code, [...(lacking.get(code) ?? []), uf])
  // A national table carries a dimension where any state has a code of it.
  const notCarried =
    covered.states === 'all'
      ? [...lacking].filter(([, states]) => states.length === uncoded.size).map(([code]) => [code, 'all'])
      : [...lacking].map(([code, states]) => [code, states.sort()])
  return {
    ...covered,
    ...(notCarried.length === 0 ? {} : { not_carried: Object.fromEntries(notCarried) }),
    ...(empty.length === 0 ? {} : { empty: empty === 'all' ? empty : [...empty].sort() }),
  }
}

/** Rows that a published file of a table, state and month has; uf 'BR' is a national table. */
export interface PublishedRows {
  readonly table: Table
  readonly uf: string
  readonly period: number
  readonly rows: number
}
/** A file without rows between files that have some. */
export interface EmptiedFile extends Omit<PublishedRows, 'rows'> {
  /** Rows of the smaller of the files around it: as many as it lacks, at the least. */
  readonly expected: number
}

/** Files that lie further apart say nothing of each other. */
const MONTHS_AROUND = 12
const monthsBetween = (left: number, right: number): number =>
  Math.abs(Math.floor(left / 100) * 12 + (left % 100) - Math.floor(right / 100) * 12 - (right % 100))

/** @returns files without rows, where the nearest file of the same table and state within a year, before or after, has rows */
export function findEmptied(files: readonly PublishedRows[]): EmptiedFile[] {
  return files
    .filter(({ rows }) => rows === 0)
    .flatMap(({ table, uf, period }) => {
      const others = files
        .filter(
          (other) =>
            other.table === table &&
            other.uf === uf &&
            other.rows > 0 &&
            monthsBetween(other.period, period) <= MONTHS_AROUND,
        )
        .sort((left, right) => left.period - right.period)
      const around = [
        others.findLast((other) => other.period <= period),
        others.find((other) => other.period >= period),
      ].flatMap((other) => other ?? [])
      return around.length === 0
        ? []
        : [{ table, uf, period, expected: Math.min(...around.map(({ rows }) => rows)) }]
    })
}

/** @returns rows that empty files lack, at the least */
export const absentRows = (emptied: readonly EmptiedFile[]): number =>
  emptied.reduce((sum, { expected }) => sum + expected, 0)

/** Files that a message names one by one. */
const NAMED_MAX = 5
/** @returns tables, months and states of empty files, with the rows around them */
export function describeEmptied(emptied: readonly EmptiedFile[]): string {
  const named = emptied
    .slice(0, NAMED_MAX)
    .map(
      ({ table, uf, period, expected }) =>
        `${table} ${formatPeriod(period)} of ${uf} (${expected} rows or more around it)`,
    )
  const more = emptied.length - named.length
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
