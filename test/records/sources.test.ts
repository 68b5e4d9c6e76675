/** Row files and the engine answer every question about records with the same bytes, and one stands in for the other. */
import t from 'tap'
import type { Engine } from '../../src/engine/types.ts'
import { DATASETS, type Dataset, type DatasetName } from '../../src/model/datasets.ts'
import type { PeriodChoice } from '../../src/query/lists/list.ts'
import { loadRecordRelease } from '../../src/records/release.ts'
import { type RecordSource, type Records, sourceOf } from '../../src/records/source.ts'
import { latestPeriod, type ReleaseView } from '../../src/release/view.ts'
import { type PageQuery, parseRow, type RowStore } from '../../src/rows/row-store.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir, 1, { rows: true })
t.teardown(() => client.close())
const view = client.store.current() as ReleaseView
const release = await loadRecordRelease(view, client.engine)
const { signal } = new AbortController()
const recordsWith = (rows: RowStore | null): Records => ({
  release,
  rows,
  engine: client.engine,
  signal: () => signal,
})
const month = latestPeriod(view, 'facilities')
const sourcesOf = (dataset: DatasetName, period: PeriodChoice): [RecordSource, RecordSource] => [
  sourceOf(recordsWith(client.rows), dataset, period),
  sourceOf(recordsWith(null), dataset, period),
]
const plainPage: PageQuery = { filters: {}, after: null, limit: 40, counts: true }

t.test('records, records of facilities and pages are the same from both sources', async (t) => {
  for (const [name, period] of [
    ['facilities', month],
    ['facilities', 'all'],
    ['bed_capacity', month],
    ['specialized_services', 'all'],
    ['municipalities', null],
    ['population', null],
  ] as const) {
    const dataset: Dataset = DATASETS[name]
    const [rows, engine] = sourcesOf(name, period)
    const page = await engine.page(plainPage)
    t.same(await rows.page(plainPage), page, `${name} ${period}`)
    t.equal(page.count, 40)
    const next = { ...plainPage, after: page.next, wantsItems: true }
    t.same(await rows.page(next), await engine.page(next))
    const shown = (parseRow(page.json) as Record<string, string | number>[]).slice(0, 3)
    for (const row of period === 'all' ? [] : shown) {
      const key = dataset.key.map((column) => row[column] ?? '')
      t.equal(await rows.record(key), await engine.record(key))
    }
    const [first = ''] = dataset.key.map((column) => shown[0]?.[column])
    const [found, expected] = [await rows.recordsOf([first]), await engine.recordsOf([first])]
    t.ok(expected.length > 0)
    t.same(found, expected)
  }
  for (const source of sourcesOf('facilities', month)) {
    t.equal(await source.record(['9999999']), null)
    t.same(await source.recordsOf([]), [])
  }
})

t.test('the engine answers what a row file cannot', async (t) => {
  const rows = client.rows as RowStore
  const cannotAnswer = { find: () => undefined, record: () => null, recordsOf: () => null, page: () => null }
  const damaged: RowStore = { ...rows, find: () => ({ rows: 0, ...cannotAnswer }) }
  const [source, engine] = [
    sourceOf(recordsWith(damaged), 'facilities', month),
    sourcesOf('facilities', month)[1],
  ]
  const page = await engine.page(plainPage)
  t.same(await source.page(plainPage), page)
  const [{ cnes_code = '' } = {}] = parseRow(page.json) as { cnes_code: string }[]
  t.equal(await source.record([cnes_code]), await engine.record([cnes_code]))
  t.same(await source.recordsOf([cnes_code]), await engine.recordsOf([cnes_code]))
})

t.test('a dataset or month that the release lacks has no records', async (t) => {
  for (const [name, period] of [
    ['outpatient_production', 202605],
    ['facilities', 199901],
  ] as const)
    for (const source of sourcesOf(name, period)) {
      t.equal(await source.record(['0000001']), null)
      t.same(await source.recordsOf(['0000001']), [])
      t.match(await source.page(plainPage), { json: '[]', count: 0, next: null, total: 0 })
    }
})

t.test('what is constant for a release is read once, and again after a failure', async (t) => {
  let runs = 0
  let isFailing = true
  const engine: Engine = {
    ...client.engine,
    run: (...args) => {
      runs += 1
      return isFailing ? Promise.reject(new Error('no time')) : client.engine.run(...args)
    },
  }
  const other = { ...view }
  await t.rejects(loadRecordRelease(other, engine), { message: 'no time' })
  isFailing = false
  const loaded = await loadRecordRelease(other, engine)
  const after = runs
  t.equal(await loadRecordRelease(other, engine), loaded)
  t.equal(runs, after)
  t.same(loaded, { ...release, view: other })
  t.ok((loaded.boxes?.size ?? 0) > 5000)
  t.equal(loaded.incomplete.has('facilities'), false)
  const regions = loaded.territories.get('health_region_code') ?? new Map()
  t.ok(regions.size > 400)
})
