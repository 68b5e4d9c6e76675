/**
 * Completes the coverage of a state and month from the written partitions of a file, which is of a month or a year: dimensions
 * without any code, and files without rows. It also finds empty files whose neighbouring months have rows. Only rows are inspected,
 * so no layout has to be listed. A dimension counts as not carried if its column is missing, blank in every row of the file, or
 * filled with codes of another table (CID-9, procedures before SIGTAP).
 */
import { join } from 'node:path'
import { type DimensionCode, dimensionOf, isAddedUp } from '../model/dimensions.ts'
import { codedDimensionsOf, codelessOf, type Table } from '../model/required-tables.ts'
import { ALL_STATES } from '../release/coverage.ts'
import type { Coverage } from '../release/manifest.ts'
import { formatPeriod } from '../release/view.ts'
import { quoteName, quoteText, type Session } from './session.ts'
import { partOf } from './write-parquet.ts'

function hasCode(code: DimensionCode): string {
  const column = quoteName(dimensionOf(code).column)
  const { unknown, digits } = codelessOf(code)
  if (digits !== undefined) return `length(${column}) = ${digits}`
  return unknown === undefined ? `${column} IS NOT NULL` : `${column} <> ${quoteText(unknown)}`
}

/** State of the file → dimensions without a code in any row. States without rows are absent. */
export type UncodedDimensions = ReadonlyMap<string, readonly DimensionCode[]>

/** @param periods partitions that hold the rows of a published file: one month, or the months of a year and its month 00 */
export async function findUncoded(
  session: Session,
  staging: string,
  table: Table,
  periods: readonly number[],
): Promise<UncodedDimensions> {
  const files = periods.map((period) => quoteText(join(staging, partOf(table, period))))
  const dimensions = codedDimensionsOf(table)
  const state = isAddedUp(table) ? 'processing_uf' : 'uf'
  const rows = await session.rows(
    `SELECT CAST(${state} AS VARCHAR) AS uf, ${dimensions.map((code) => `coalesce(bool_or(${hasCode(code)}), false) AS ${quoteName(code)}`).join(', ')}
     FROM read_parquet([${files.join(', ')}], hive_partitioning = false) GROUP BY ALL ORDER BY ALL`,
  )
  return new Map(rows.map((row) => [String(row.uf), dimensions.filter((code) => row[code] !== true)]))
}

/** Files of residents abroad and of an unknown state are of no state, and tell nothing of what the files of a month carry. */
const isOfStates = (uf: string): boolean => uf === 'BR' || ALL_STATES.has(uf)

/**
 * @param uncoded result of `findUncoded` for the files of the month
 * @param covered coverage entry of a table and month
 * @param empty states whose published file has no rows; 'all' for a national table
 * @returns the entry with `not_carried` and `empty` added where they apply
 */
export function describeContents(
  uncoded: UncodedDimensions,
  covered: Coverage,
  empty: Coverage['states'],
): Coverage {
  const ofStates = [...uncoded].filter(([uf]) => isOfStates(uf))
  const statesByDimension = new Map<DimensionCode, string[]>()
  for (const [uf, dimensions] of ofStates)
    for (const code of dimensions) statesByDimension.set(code, [...(statesByDimension.get(code) ?? []), uf])
  // A national table carries a dimension if any state has a code of it.
  const notCarried =
    covered.states === 'all'
      ? [...statesByDimension]
          .filter(([, states]) => states.length === ofStates.length)
          .map(([code]) => [code, 'all'])
      : [...statesByDimension].map(([code, states]) => [code, states.sort()])
  return {
    ...covered,
    ...(notCarried.length === 0 ? {} : { not_carried: Object.fromEntries(notCarried) }),
    ...(empty.length === 0 ? {} : { empty: empty === 'all' ? empty : [...empty].sort() }),
  }
}

/** Row count of a published file. A national table has the uf 'BR'. */
export interface PublishedRows {
  readonly table: Table
  readonly uf: string
  readonly period: number
  readonly rows: number
}
export interface EmptiedFile extends Omit<PublishedRows, 'rows'> {
  /** Row count of the smaller neighbouring file: the least number of rows that are probably missing. */
  readonly expected: number
}

/** Maximum distance in months at which files are compared. */
const MONTHS_AROUND = 12
const monthsBetween = (left: number, right: number): number =>
  Math.abs(Math.floor(left / 100) * 12 + (left % 100) - Math.floor(right / 100) * 12 - (right % 100))

/** @returns empty files with a non-empty file of the same table and state up to a year before or after */
export function findEmptied(files: readonly PublishedRows[]): EmptiedFile[] {
  return files
    .filter(({ rows }) => rows === 0)
    .flatMap(({ table, uf, period }) => {
      const nonEmpty = files
        .filter(
          (other) =>
            other.table === table &&
            other.uf === uf &&
            other.rows > 0 &&
            monthsBetween(other.period, period) <= MONTHS_AROUND,
        )
        .sort((left, right) => left.period - right.period)
      const neighbours = [
        nonEmpty.findLast((other) => other.period <= period),
        nonEmpty.find((other) => other.period >= period),
      ].flatMap((other) => other ?? [])
      return neighbours.length === 0
        ? []
        : [{ table, uf, period, expected: Math.min(...neighbours.map(({ rows }) => rows)) }]
    })
}

export const absentRows = (emptied: readonly EmptiedFile[]): number =>
  emptied.reduce((sum, { expected }) => sum + expected, 0)

const NAMED_MAX = 5
export function describeEmptied(emptied: readonly EmptiedFile[]): string {
  const descriptions = emptied
    .slice(0, NAMED_MAX)
    .map(
      ({ table, uf, period, expected }) =>
        `${table} ${formatPeriod(period)} of ${uf} (${expected} rows or more around it)`,
    )
  const more = emptied.length - descriptions.length
  return [...descriptions, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
