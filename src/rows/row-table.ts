/**
 * Answers lists and records of a dataset from its row files, for one period or for all periods in order. Input: filters, a position
 * to continue from, a limit. Output: the page's JSON. Everything here is synchronous and never calls the engine.
 */
import type { LRUCache } from 'lru-cache'
import type { Row } from '../engine/types.ts'
import type { Dataset } from '../model/datasets.ts'
import { codesIn, placesIn, searchWords } from '../query/lists/filters.ts'
import type { SortTerm } from '../query/lists/order.ts'
import { chordFrom, distanceOf, type Place } from '../query/lists/places.ts'
import { formatPeriod } from '../release/view.ts'
import { filterColumn, findMatchingRows } from './filter-index.ts'
import { INTEGER_WIDTH, type KeyValue } from './keys.ts'
import { type ByteString, toByteString } from './phrases.ts'
import { parseRow, type RowFile } from './row-file.ts'
import { findRowsIn, sortRowsByDistance } from './row-places.ts'
import { collectRows, countOf, everyRow, intersect, nextRows, type RowSet } from './row-sets.ts'
import { type SortIndex, sortRows } from './sort-index.ts'

export interface PageQuery {
  /** Valid parameters, name → text. */
  readonly filters: Readonly<Record<string, string>>
  /** Key of the last row of the previous page. */
  readonly after: readonly KeyValue[] | null
  readonly limit: number
  readonly counts: boolean
  /** Sort terms that precede the key. */
  readonly sort?: readonly SortTerm[]
  /** Area filter. Rows near a point are sorted by distance unless `sort` is set. */
  readonly place?: Place | null
  /** Return rows as separate items with their coordinates, instead of one JSON array. */
  readonly wantsItems?: boolean
}

export interface RowItem {
  readonly json: ByteString
  readonly point: readonly [number, number] | null
  /** Kilometres to the point of the area filter. */
  readonly distance: number | null
}

export interface RowPage {
  /** JSON array; empty when the rows are in `items`. */
  readonly json: ByteString
  /** The rows as items, when `wantsItems` requests them. */
  readonly items: readonly RowItem[]
  readonly count: number
  /** Key of the last row when more rows follow. */
  readonly next: readonly KeyValue[] | null
  readonly total: number | null
}

export interface RowTable {
  readonly rows: number
  /** Finds the position of a key; null when no row has it, undefined when the engine must answer. */
  find(key: readonly KeyValue[]): number | null | undefined
  /** JSON of one record with every field; null when the engine must answer. */
  record(position: number): ByteString | null
  /** Parsed records whose key starts with a value; null when the engine must answer. */
  recordsOf(first: KeyValue): readonly Row[] | null
  /** One page; null when the row files cannot answer a condition. */
  page(query: PageQuery): RowPage | null
}

/** Source that answers a filter: an index by its number, the key order, or the text index. */
type IndexName = number | 'key' | 'search'
type Params = readonly (readonly [name: string, text: string])[]

/** A table of one period, which can be joined with others. Its functions throw RowFileDamaged when the engine must answer. */
export interface PeriodTable extends RowTable {
  find(key: readonly KeyValue[]): number | null
  /** Rows that meet the filters; null when no index covers one of them. */
  select(filters: PageQuery['filters']): RowSet | null
  /** First position after a key, whether or not a row has that key. */
  after(key: readonly KeyValue[]): number
  list(positions: readonly number[], opening?: ByteString): ByteString
  /** Null when only the engine can answer a row's coordinates. */
  items(positions: readonly number[], area: Place | null, opening?: ByteString): RowItem[] | null
  keyAt(position: number): KeyValue[]
}

/** @param name prefix of this file's keys in both caches @param sets cache of row sets @param sorts cache of sort orders by field */
export function openTable(
  dataset: Dataset,
  file: RowFile,
  name: string,
  sets: LRUCache<string, RowSet>,
  sorts: LRUCache<string, SortIndex>,
): PeriodTable {
  const { rows } = file.head
  const engineRows = new Set(file.head.odd)
  const getCached = (groups: readonly Params[], find: () => RowSet | null): RowSet | null => {
    const key = `${name}\n${JSON.stringify(groups)}`
    const cachedSet = sets.get(key)
    if (cachedSet !== undefined) return cachedSet
    const found = find()
    if (found !== null) sets.set(key, found)
    return found
  }
  const search = (text: string): RowSet | null =>
    file.text?.find(searchWords(text).map(toByteString), (add) => {
      for (const prefix of listCodePrefixes(text.trim())) {
        const to = file.bound(prefix, true)
        for (let row = file.bound(prefix, false); row < to; row += 1) add(row)
      }
    }) ?? null
  /**
   * Key prefixes for codes that start with a text. An integer code may have any number of further digits, so each padding is one
   * prefix.
   */
  const listCodePrefixes = (text: string): string[] => {
    if (file.head.widths[0] !== null) return /^[\x21-\x7e]+$/.test(text) ? [text] : []
    if (!/^[1-9]\d*$/.test(text) || text.length > INTEGER_WIDTH) return []
    return Array.from({ length: INTEGER_WIDTH - text.length + 1 }, (_, zeros) => '0'.repeat(zeros) + text)
  }
  /** Rows whose key starts with one of the codes of a filter. */
  const findRowsByKey = (parameter: string, text: string): RowSet => {
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
  /** Rows that meet one condition, or all conditions that one index answers together. */
  const find = (index: IndexName, params: Params): RowSet | null => {
    const [[, text] = ['', '']] = params
    if (index === 'search') return search(text)
    if (index === 'key')
      return intersect(
        rows,
        params.map(([name, value]) => findRowsByKey(name, value)),
      )
    const filter = file.filters[index]
    return filter === undefined ? null : findMatchingRows(dataset, rows, file.file, filter, params)
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
    return getCached([...groups.values()], () => {
      const matches: RowSet[] = []
      for (const [index, params] of groups) {
        const match = groups.size === 1 ? find(index, params) : getCached([params], () => find(index, params))
        if (match === null) return null
        matches.push(match)
      }
      return intersect(rows, matches)
    })
  }
  const selectIn = (filters: PageQuery['filters'], area: Place): RowSet | null => {
    const degrees = file.coordinates()
    const set = select(filters)
    const text = JSON.stringify(area)
    const rowsInArea =
      degrees === null || set === null
        ? null
        : getCached([[['place', text]]], () => findRowsIn(degrees, area))
    if (set === null || rowsInArea === null) return null
    return getCached([[['place', text]], Object.entries(filters)], () => intersect(rows, [rowsInArea, set]))
  }
  const sortIndex = (field: string): SortIndex | null => {
    const key = `${name}\n${field}`
    const cachedIndex = sorts.get(key)
    if (cachedIndex !== undefined) return cachedIndex
    const index = file.sortIndex(field)
    if (index !== null) sorts.set(key, index)
    return index
  }
  /** Rows sorted by terms or by distance, after a key; null when the file cannot answer. */
  const orderRows = (set: RowSet, query: PageQuery): number[] | null => {
    const { sort = [], place: area = null, after, limit, filters } = query
    // Without the last row of the previous page, the position of the next row is unknown.
    const lastRow = after === null ? null : table.find(after)
    if (after !== null && lastRow === null) return null
    const terms = sort.flatMap(({ field, isDescending }) => {
      const index = sortIndex(field)
      return index === null ? [] : [{ index, isDescending }]
    })
    if (terms.length < sort.length) return null
    if (terms.length > 0) return sortRows(set, terms, lastRow, limit + 1)
    const near = area?.near ?? null
    const degrees = file.coordinates()
    if (near === null || degrees === null) return null
    const groups = [[['distance', JSON.stringify(area)]], Object.entries(filters)] as const
    const key = `${name}\n${JSON.stringify(groups)}`
    const order = sets.get(key)?.list ?? sortRowsByDistance(degrees, set, near)
    // Cached as the list of a set, although its rows are sorted by distance and not by number.
    sets.set(key, { rows, list: order, bits: null, check: null })
    const start = lastRow === null ? 0 : order.indexOf(lastRow) + 1
    return [...order.subarray(start, start + limit + 1)]
  }
  const record = (position: number): ByteString | null =>
    engineRows.has(position) ? null : file.record(position)
  const table: PeriodTable = {
    rows,
    select,
    record,
    list: (positions, opening) => file.list(positions, opening),
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
    items(positions, area, opening) {
      const degrees = file.coordinates()
      const near = area?.near ?? null
      const chord = near === null ? null : chordFrom(near)
      if (degrees !== null && positions.some((position) => engineRows.has(position))) return null
      return file.each(positions, opening).map((json, at): RowItem => {
        const position = positions[at] ?? 0
        const latitude = degrees?.[2 * position] ?? Number.NaN
        const longitude = degrees?.[2 * position + 1] ?? Number.NaN
        if (Number.isNaN(latitude)) return { json, point: null, distance: null }
        const distance = chord === null ? null : distanceOf(chord(latitude, longitude))
        return { json, point: [latitude, longitude], distance }
      })
    },
    page(query) {
      const { filters, after, limit, counts, sort = [], place: area = null, wantsItems = false } = query
      const set = area === null ? select(filters) : selectIn(filters, area)
      if (set === null) return null
      const isOrdered = sort.length > 0 || area?.near != null
      const positions = isOrdered
        ? orderRows(set, query)
        : nextRows(set, after === null ? 0 : table.after(after), limit + 1)
      if (positions === null) return null
      const isLast = positions.length <= limit
      const shown = isLast ? positions : positions.slice(0, limit)
      const shownItems = wantsItems || isOrdered ? table.items(shown, area) : []
      if (shownItems === null) return null
      return {
        json: wantsItems
          ? ''
          : isOrdered
            ? `[${shownItems.map(({ json }) => json).join(',')}]`
            : file.list(shown),
        items: shownItems,
        count: shown.length,
        next: isLast ? null : file.keyAt(shown.at(-1) ?? 0),
        total: counts ? countOf(set) : null,
      }
    },
  }
  return table
}

/** Joins the tables of all periods in order: a key starts with its period (YYYYMM). */
export function joinPeriods(
  dataset: Dataset,
  tables: readonly { readonly period: number; readonly table: PeriodTable }[],
): RowTable {
  // The period is part of the order, so rows show it. It comes first in datasets that otherwise omit it.
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
      let rowInTable = position
      for (const { table } of tables) {
        if (rowInTable < table.rows) return table.record(rowInTable)
        rowInTable -= table.rows
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
    page({ filters, after, limit, counts, sort = [], place: area = null, wantsItems = false }) {
      // Ranks are only comparable within one month.
      if (sort.length > 0 || area !== null) return null
      const items: RowItem[] = []
      const [from = 0, ...key] = after ?? []
      const pages: ByteString[] = []
      let [count, total] = [0, 0]
      let last: KeyValue[] = []
      let hasMore = false
      for (const { period, table } of tables) {
        const isReached = period >= Number(from)
        if (!counts && (hasMore || !isReached)) continue
        const set = table.select(filters)
        if (set === null) return null
        if (counts) total += countOf(set)
        if (hasMore || !isReached) continue
        const start = after !== null && period === from ? table.after(key) : 0
        const positions = nextRows(set, start, limit - count + 1)
        hasMore = positions.length > limit - count
        const shown = hasMore ? positions.slice(0, limit - count) : positions
        if (shown.length === 0) continue
        const opening = isShown ? '{' : `{"reference_period":"${formatPeriod(period)}",`
        if (wantsItems) {
          const shownItems = table.items(shown, null, opening)
          if (shownItems === null) return null
          items.push(...shownItems)
        } else pages.push(table.list(shown, opening).slice(1, -1))
        count += shown.length
        last = [period, ...table.keyAt(shown.at(-1) ?? 0)]
      }
      return {
        json: wantsItems ? '' : `[${pages.join(',')}]`,
        items,
        count,
        next: hasMore ? last : null,
        total: counts ? total : null,
      }
    },
  }
}
