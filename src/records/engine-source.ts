/** Answers questions about records by statements, where a release has no row file that can. */
import type { Row } from '../engine/types.ts'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import {
  type ListQuestion,
  orderOf,
  type PeriodChoice,
  planCount,
  planKeys,
  planList,
  planPoints,
  planRecords,
  planSorted,
  positionValue,
} from '../query/lists/list.ts'
import { chordFrom, distanceOf, type Near, reachOf } from '../query/lists/places.ts'
import { type KeyValue, type PageQuery, type RowItem, type RowPage, toByteString } from '../rows/row-store.ts'
import type { Sql } from '../sql.ts'
import type { RecordSource, Records } from './source.ts'

type Run = (statement: Sql) => Promise<Row[]>
type Chord = ReturnType<typeof chordFrom>

const COORDINATES: readonly FieldName[] = ['latitude', 'longitude']

export function createEngineSource(
  { engine, release, signal }: Records,
  name: DatasetName,
  period: PeriodChoice,
): RecordSource {
  const dataset = datasetOf(name)
  const [firstColumn] = dataset.key
  const run: Run = (statement) => engine.run(statement, release.view, { signal: signal() })
  const everyField = [...dataset.fields, ...(dataset.detail ?? [])]
  return {
    async record(key) {
      const values = dataset.key.map((column, index) => [column, [key[index] ?? '']] as const)
      const [row] = await run(planRecords(dataset, values, period, everyField))
      return row === undefined ? null : toByteString(JSON.stringify(row))
    },
    recordsOf: async (values, fields = everyField) =>
      firstColumn === undefined || values.length === 0
        ? []
        : run(planRecords(dataset, [[firstColumn, values]], period, fields)),
    page(query) {
      const { filters, sort = [], place = null } = query
      const question: ListQuestion = { dataset, filters, period, sort, place }
      return place?.near == null
        ? pageInOrder(question, query, run)
        : pageNear(question, place.near, query, run)
    },
  }
}

/** @returns fields of items in addition to those that lists show: the coordinates, where a dataset has them */
const itemFields = ({ dataset }: ListQuestion, { wantsItems = false }: PageQuery): readonly FieldName[] =>
  wantsItems && dataset.detail?.includes('latitude') === true ? COORDINATES : []

async function pageInOrder(question: ListQuestion, query: PageQuery, run: Run): Promise<RowPage> {
  const { limit, after, counts, sort = [] } = query
  const plan = sort.length > 0 ? planSorted : planList
  const rows = await run(plan(question, limit, after, itemFields(question, query)))
  const total = counts ? Number((await run(planCount(question)))[0]?.total ?? 0) : null
  return pageOf(rows.slice(0, limit), rows.length > limit, total, question, query, null)
}

/** Finds the nearest rows. The engine returns candidate rows and the rows of the page; distances are computed here. */
async function pageNear(question: ListQuestion, near: Near, query: PageQuery, run: Run): Promise<RowPage> {
  const { limit, after, counts, sort = [] } = query
  const order = orderOf(question)
  const chord = chordFrom(near)
  const reach = reachOf(near)
  const candidates = (await run(planPoints(question))).flatMap((row) => {
    const distance = chord(Number(row.latitude), Number(row.longitude))
    return distance <= reach ? [{ key: keyOf(row, order), distance }] : []
  })
  // Rows arrive in key order, and the stable sort keeps that order for equal distances.
  if (sort.length === 0) candidates.sort((left, right) => left.distance - right.distance)
  const last = JSON.stringify(after)
  const start = after === null ? 0 : candidates.findIndex(({ key }) => JSON.stringify(key) === last) + 1
  const pageKeys = candidates.slice(start, start + limit).map(({ key }) => key)
  const rows =
    pageKeys.length === 0 ? [] : await run(planKeys(question, pageKeys, itemFields(question, query)))
  const byKey = new Map(rows.map((row) => [JSON.stringify(keyOf(row, order)), row]))
  const orderedRows = pageKeys.flatMap((key): Row[] => {
    const row = byKey.get(JSON.stringify(key))
    return row === undefined ? [] : [row]
  })
  const hasMore = candidates.length > start + limit
  return pageOf(orderedRows, hasMore, counts ? candidates.length : null, question, query, chord)
}

function pageOf(
  rows: readonly Row[],
  hasMore: boolean,
  total: number | null,
  question: ListQuestion,
  { wantsItems = false }: PageQuery,
  chord: Chord | null,
): RowPage {
  const order = orderOf(question)
  const last = rows.at(-1)
  // Keys that only order the rows are in the cursor, not in the answer, as with row files.
  const hidden = order.filter((column) => question.dataset.internal?.includes(column))
  const shown = hidden.length === 0 ? rows : rows.map((row) => withoutColumns(row, hidden))
  return {
    json: wantsItems ? '' : toByteString(JSON.stringify(shown)),
    items: wantsItems ? shown.map((row) => itemOf(row, chord)) : [],
    count: rows.length,
    next: hasMore && last !== undefined ? keyOf(last, order) : null,
    total,
  }
}

const withoutColumns = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)))

function itemOf({ latitude = null, longitude = null, ...row }: Row, chord: Chord | null): RowItem {
  const json = toByteString(JSON.stringify(row))
  if (typeof latitude !== 'number' || typeof longitude !== 'number')
    return { json, point: null, distance: null }
  return {
    json,
    point: [latitude, longitude],
    distance: chord === null ? null : distanceOf(chord(latitude, longitude)),
  }
}

/** @returns the position of a row, as cursors hold it */
const keyOf = (row: Row, order: readonly FieldName[]): KeyValue[] =>
  order.map((column) => {
    const value = row[column] as string | number | null
    return column === 'reference_period'
      ? Number(String(value).replace('-', ''))
      : positionValue(column, value)
  })
