/** A change across a month that was never collected: March and May are there, April is not. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { writePointer } from '../../src/release/writer.ts'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { openClient } from '../fixtures/client.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('gap')
const out = join(folder, 'data')
await writeDemonstration({ out, scale: 'small', periods: 3, seed: 1 })
for (const path of readdirSync(out, { recursive: true, encoding: 'utf8' }))
  if (/2026-?04/.test(path)) rmSync(join(out, path), { recursive: true, force: true })
const releasesDir = join(folder, 'releases')
const result = await importPaths([out], { releasesDir, maxRejected: 0.001 })
writePointer(releasesDir, result.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())

const metrics = ['bed_capacity_existing', 'beds_existing_per_100k']
const ask = async (body: Record<string, unknown>) => {
  const { status, body: answer, text } = await client.query({ metrics, ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
interface MonthRow {
  readonly label: string
  readonly metrics: Readonly<Record<string, number | null>>
}

t.test('the month before is that of the calendar: no change reaches over the gap', async (t) => {
  const { data, totals, meta } = await ask({
    group_by: ['reference_period', 'state'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'AC' }],
    totals: [['reference_period']],
    change: { to: 'previous' },
  })
  t.equal(data.length, 2)
  for (const { metrics: values } of [...data, ...totals[0].data] as MonthRow[]) {
    t.ok((values.bed_capacity_existing ?? 0) > 0)
    t.equal(values.bed_capacity_existing__base, null)
    t.equal(values.bed_capacity_existing__change, null)
    t.equal(values.beds_existing_per_100k__change_percent, null)
  }
  t.match(
    meta.notes.find(
      (note: WrittenNote) => note.code === 'change_not_collected' && note.base_period === '2026-04',
    ),
    { dataset: 'bed_capacity', periods: ['2026-05'] },
  )
})

t.test('two months before is there, and a month that is named', async (t) => {
  const back = await ask({ group_by: ['reference_period'], change: { to: '-2' } })
  const [march, may] = back.data as MonthRow[]
  t.equal(march?.metrics.bed_capacity_existing__base, null)
  t.equal(may?.metrics.bed_capacity_existing__base, march?.metrics.bed_capacity_existing)
  t.equal(
    may?.metrics.bed_capacity_existing__change,
    (may?.metrics.bed_capacity_existing ?? 0) - (march?.metrics.bed_capacity_existing ?? 0),
  )
  const named = await ask({ group_by: [], change: { to: '2026-03' } })
  t.equal(
    named.data[0].metrics.bed_capacity_existing__base,
    march?.metrics.bed_capacity_existing,
    'of the newest month, which no filter names',
  )
  const each = await ask({ group_by: ['reference_period'], change: { to: '2026-03' } })
  for (const { metrics: values } of each.data as MonthRow[])
    t.equal(
      values.bed_capacity_existing__base,
      march?.metrics.bed_capacity_existing,
      'of every month, read once',
    )
  const itself = await ask({ group_by: [], change: { to: '2026-05' } })
  t.equal(itself.data[0].metrics.bed_capacity_existing__change, 0)
})
