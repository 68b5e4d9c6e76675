/**
 * Lists and records of a dataset from its row files: of one period, or of all of them one behind the other. In: filters, a place
 * to go on from, a limit. Out: the page's JSON. Nothing here waits, and nothing asks an engine.
 */
import type { LRUCache } from 'lru-cache'
import type { Row } from '../engine/types.ts'
import type { Dataset } from '../model/datasets.ts'
import { codesIn, placesIn, searchWords } from '../query/filters.ts'
import { formatPeriod } from '../release/view.ts'
import { filterColumn, rowsMeeting } from './filter-index.ts'
import { INTEGER_WIDTH, type KeyValue } from './keys.ts'
import { type ByteString, toByteString } from './phrases.ts'
import { parseRow, type RowFile } from './row-file.ts'
import { collectRows, countOf, everyRow, intersect, nextRows, type RowSet } from './row-sets.ts'

export interface PageQuery {
  /** Parameter name → text, already valid. */
  readonly filters: Readonly<Record<string, string>>
  /** Key of the last row of the page before. */
  readonly after: readonly KeyValue[] | null
  readonly limit: number
  readonly counts: boolean
}

export interface RowPage {
  /** JSON array. */
  readonly json: ByteString
  readonly count: number
  /** Key of the last row where more follow. */
  readonly next: readonly KeyValue[] | null
  readonly total: number | null
}

export interface RowTable {
  readonly rows: number
  /** Key columns → position, or null. */
  find(key: readonly KeyValue[]): number | null
  /** JSON of one record with every field; null where only the engine writes it exactly. */
  record(position: number): ByteString | null
  /** Records whose key begins with a value, parsed; null where the engine must answer. */
  recordsOf(first: KeyValue): readonly Row[] | null
  /** One page; null where a condition cannot be answered from the row files. */
  page(query: PageQuery): RowPage | null
}

/** What answers a filter: an index by its number, the order of the keys, or the text index. */
type IndexName = number | 'key' | 'search'
type Params = readonly (readonly [name: string, text: string])[]

/** A table that can be walked with others. */
export interface PeriodTable extends RowTable {
  /** Rows that meet filters; null where they cannot be found. */
  select(filters: PageQuery['filters']): RowSet | null
  /** First position behind a key, whether a row has it or not. */
  after(key: readonly KeyValue[]): number
  list(positions: readonly number[], begin?: ByteString): ByteString
  keyAt(position: number): KeyValue[]
}

/** @param sets rows by what they were found for; @param name what the file is called among them */
export function openTable(
  dataset: Dataset,
  file: RowFile,
  name: string,
  sets: LRUCache<string, RowSet>,
): PeriodTable {
  const { rows } = file.head
  const odd = new Set(file.head.odd)
  const cached = (groups: readonly Params[], find: () => RowSet | null): RowSet | null => {
    const key = `${name}\n${JSON.stringify(groups)}`
    const known = sets.get(key)
    if (known !== undefined) return known
    const found = find()
    if (found !== null) sets.set(key, found)
    return found
  }
  const search = (text: string): RowSet | null =>
    file.text?.find(searchWords(text).map(toByteString), (add) => {
      for (const prefix of codePrefixes(text.trim())) {
        const to = file.bound(prefix, true)
        for (let row = file.bound(prefix, false); row < to; row += 1) add(row)
      }
    }) ?? null
  /** What codes that begin with a text look like among the keys: integers may have any number of digits behind. */
  const codePrefixes = (text: string): string[] => {
    if (file.head.widths[0] !== null) return /^[\x21-\x7e]+$/.test(text) ? [text] : []
    if (!/^[1-9]\d*$/.test(text) || text.length > INTEGER_WIDTH) return []
    return Array.from({ length: INTEGER_WIDTH - text.length + 1 }, (_, zeros) => '0'.repeat(zeros) + text)
  }
  /** Rows whose key begins with one of the codes of a filter. */
  const keyRows = (parameter: string, text: string): RowSet => {
    const filter = dataset.filters?.[parameter]
    const found = collectRows(rows)
    for (const code of filter?.kind === 'within' ? placesIn(text) : codesIn(text)) {
      const isPrefix = filter?.kind === 'municipality' && code.length < 7
      const key = isPrefix ? code : file.keyText([code])
      if (key === null) continue
      const to = file.bound(key, true)
      for (let row = file.bound(key, false); row < to; row += 1) found.add(row)
    }
    return found.finish()
  }
  /** One condition, or those that one index answers together. */
  const find = (index: IndexName, params: Params): RowSet | null => {
    const [[, text] = ['', '']] = params
    if (index === 'search') return search(text)
    if (index === 'key')
      return intersect(
        rows,
        params.map(([name, value]) => keyRows(name, value)),
      )
    const filter = file.filters[index]
    return filter === undefined ? null : rowsMeeting(dataset, rows, file.file, filter, params)
  }
  const groupsOf = (filters: PageQuery['filters']): Map<IndexName, [string, string][]> | null => {
    const groups = new Map<IndexName, [string, string][]>()
    for (const [parameter, text] of Object.entries(filters)) {
      const filter = dataset.filters?.[parameter]
      if (filter === undefined || (filter.kind === 'status' && text === 'all')) continue
      const column = filterColumn(dataset, parameter)
      const index =
        filter.kind === 'search'
          ? 'search'
          : column === null
            ? 'key'
            : file.filters.findIndex(({ columns }) => columns.includes(column))
      if (index === -1) return null
      const group = groups.get(index)
      if (group === undefined) groups.set(index, [[parameter, text]])
      else group.push([parameter, text])
    }
    return groups
  }
  const select = (filters: PageQuery['filters']): RowSet | null => {
    const groups = groupsOf(filters)
    if (groups === null) return null
    if (groups.size === 0 || rows === 0) return everyRow(rows)
    return cached([...groups.values()], () => {
      const parts: RowSet[] = []
      for (const [index, params] of groups) {
        const part = groups.size === 1 ? find(index, params) : cached([params], () => find(index, params))
        if (part === null) return null
        parts.push(part)
      }
      return intersect(rows, parts)
    })
  }
  const record = (position: number): ByteString | null => (odd.has(position) ? null : file.record(position))
  const table: PeriodTable = {
    rows,
    select,
    record,
    list: (positions, begin) => file.list(positions, begin),
    keyAt: (position) => file.keyAt(position),
    after(key) {
      const text = file.keyText(key)
      if (text === null || key.length !== dataset.key.length) throw new RangeError('not a key of these rows')
      return file.bound(text, true)
    },
    find(key) {
      const text = file.keyText(key)
      if (text === null || key.length !== dataset.key.length) return null
      const position = file.bound(text, false)
      return position < rows && file.keyText(file.keyAt(position)) === text ? position : null
    },
    recordsOf(first) {
      const text = file.keyText([first])
      if (text === null) return []
      const found: Row[] = []
      const to = file.bound(text, true)
      for (let position = file.bound(text, false); position < to; position += 1) {
        const json = record(position)
        if (json === null) return null
        found.push(parseRow(json) as Row)
      }
      return found
    },
    page({ filters, after, limit, counts }) {
      const set = select(filters)
      if (set === null) return null
      const positions = nextRows(set, after === null ? 0 : table.after(after), limit + 1)
      const isLast = positions.length <= limit
      const shown = isLast ? positions : positions.slice(0, limit)
      return {
        json: file.list(shown),
        count: shown.length,
        next: isLast ? null : file.keyAt(shown.at(-1) ?? 0),
        total: counts ? countOf(set) : null,
      }
    },
  }
  return table
}

/** Periods one behind the other, in order: a key begins with its period (YYYYMM). */
export function joinPeriods(
  dataset: Dataset,
  tables: readonly { readonly period: number; readonly table: PeriodTable }[],
): RowTable {
  // The period is part of the order, so it is shown, first where the dataset does not show it anyway.
  const isShown = dataset.fields.includes('reference_period')
  const rows = tables.reduce((sum, { table }) => sum + table.rows, 0)
  return {
    rows,
    find(key) {
      let base = 0
      for (const { table } of tables) {
        const position = table.find(key)
        if (position !== null) return base + position
        base += table.rows
      }
      return null
    },
    record(position) {
      let left = position
      for (const { table } of tables) {
        if (left < table.rows) return table.record(left)
        left -= table.rows
      }
      return null
    },
    recordsOf(first) {
      const all: Row[] = []
      for (const { table } of tables) {
        const found = table.recordsOf(first)
        if (found === null) return null
        all.push(...found)
      }
      return all
    },
    page({ filters, after, limit, counts }) {
      const [from = 0, ...key] = after ?? []
      const pages: ByteString[] = []
      let [count, total] = [0, 0]
      let last: KeyValue[] = []
      let isMore = false
      for (const { period, table } of tables) {
        const isBehind = period >= Number(from)
        if (!counts && (isMore || !isBehind)) continue
        const set = table.select(filters)
        if (set === null) return null
        if (counts) total += countOf(set)
        if (isMore || !isBehind) continue
        const start = after !== null && period === from ? table.after(key) : 0
        const positions = nextRows(set, start, limit - count + 1)
        isMore = positions.length > limit - count
        const shown = isMore ? positions.slice(0, limit - count) : positions
        if (shown.length === 0) continue
        const begin = isShown ? '{' : `{"reference_period":"${formatPeriod(period)}",`
        pages.push(table.list(shown, begin).slice(1, -1))
        count += shown.length
        last = [period, ...table.keyAt(shown.at(-1) ?? 0)]
      }
      return { json: `[${pages.join(',')}]`, count, next: isMore ? last : null, total: counts ? total : null }
    },
  }
}
