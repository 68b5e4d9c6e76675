/**
 * Tables of an analytics answer over all places of a level. They hold what profiles show of each place, and the distribution
 * that its value stands in. Profiles of places of one level share them, because one query gives them all.
 */
import { LRUCache } from 'lru-cache'
import type { ProfilePeers } from '../../answers/profiles.ts'
import type { JsonValue, Row } from '../../engine/types.ts'
import { type DimensionCode, dimensionOf } from '../../model/dimensions.ts'
import { shownValues } from '../../query/analytics/dialect/duckdb/measured.ts'
import type { AnswerParts } from '../query.ts'
import { answerPage } from '../query.ts'

export interface PeerTable {
  /** Place's code as text → position of its row. The only row of the country has the code ''. */
  readonly positions: ReadonlyMap<string, number>
  /** Value by name (`beds`, `beds__lower`) and position; null where there is none. */
  readonly value: (name: string, position: number) => number | null
  readonly significance: (name: string, position: number) => Significance | null
  /** Values of a metric over all places, ascending, without nulls. */
  readonly sorted: (metric: string) => Float64Array
}

/** Tables in memory. The largest, of municipalities, takes about 1 MB. */
const TABLES_MAX = 64
const tables = new LRUCache<string, Promise<PeerTable>>({ max: TABLES_MAX })

/** @param body body of an analytics query @param place grouped dimension of the places; null for the country */
export function peerTable(
  body: Readonly<Record<string, JsonValue>>,
  place: DimensionCode | null,
  parts: AnswerParts,
): Promise<PeerTable> {
  const key = `${parts.view.id} ${JSON.stringify(body)}`
  const cached = tables.get(key)
  if (cached !== undefined) return cached
  // Ignore the client's abort signal: other requests may wait for the same table.
  const { signal: _signal, ...shared } = parts
  const loading = readTable(body, place, shared)
  tables.set(key, loading)
  loading.catch(() => tables.delete(key))
  return loading
}

const SIGNIFICANCES = ['lower', 'similar', 'higher', 'not_compared'] as const
type Significance = (typeof SIGNIFICANCES)[number]

async function readTable(
  body: Readonly<Record<string, JsonValue>>,
  place: DimensionCode | null,
  parts: AnswerParts,
): Promise<PeerTable> {
  const codes: string[] = []
  const columns = new Map<string, number[]>()
  await answerPage(body, parts, (rows, plan) => {
    const shown = shownValues(plan)
    for (const { code } of shown) if (!columns.has(code)) columns.set(code, [])
    const column = place === null ? null : dimensionOf(place).column
    for (const row of rows) {
      codes.push(column === null ? '' : String(row[column] ?? ''))
      for (const { code, kind, column: name } of shown)
        columns.get(code)?.push(numberOf(row, name, kind === 'significance'))
    }
  })
  const numbers = new Map([...columns].map(([name, values]) => [name, Float64Array.from(values)]))
  const sortedByMetric = new Map<string, Float64Array>()
  const read = (name: string, position: number): number | null => {
    const value = numbers.get(name)?.[position] ?? Number.NaN
    return Number.isNaN(value) ? null : value
  }
  return {
    positions: new Map(codes.map((code, position) => [code, position])),
    value: read,
    significance: (name, position) => SIGNIFICANCES[read(name, position) ?? -1] ?? null,
    sorted: (metric) => {
      const values =
        sortedByMetric.get(metric) ??
        (numbers.get(metric) ?? new Float64Array()).filter((value) => !Number.isNaN(value)).sort()
      sortedByMetric.set(metric, values)
      return values
    },
  }
}

/** @returns the value as a number; a significance is its position in SIGNIFICANCES, null is NaN */
function numberOf(row: Row, column: string, isSignificance: boolean): number {
  const value = row[column] ?? null
  if (value === null) return Number.NaN
  return isSignificance ? SIGNIFICANCES.indexOf(value as Significance) : Number(value)
}

/**
 * @param values ascending
 * @returns rank from the largest value on, which equal values share, and the distribution: values that places have, by
 * nearest rank
 */
export function describeAmong(
  values: Float64Array,
  value: number,
): Omit<ProfilePeers, 'percentile' | 'query'> {
  const larger = values.length - upperBound(values, value)
  const at = (percent: number): number =>
    values[Math.max(0, Math.ceil((percent * values.length) / 100) - 1)] ?? value
  return {
    places: values.length,
    rank: larger + 1,
    distribution: {
      min: at(0),
      p05: at(5),
      p25: at(25),
      p50: at(50),
      p75: at(75),
      p95: at(95),
      max: at(100),
    },
  }
}

/** @returns number of values that are not larger than `value` */
function upperBound(values: Float64Array, value: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((values[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low
}
