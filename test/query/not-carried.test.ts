/**
 * What a month's files do not carry is null, and stands in the group without a code; an empty file counts as 0, with a note. Files of
 * outpatient production in the layouts of 2007 and of 2008, of Roraima and Acre, and one without rows.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { PRODUCTION_COLUMNS, type ProductionCells } from '../../tools/demo/production.ts'
import { runPromotionChecks } from '../../tools/promotion/checks.ts'
import { openClient } from '../fixtures/client.ts'
import { PLAIN_PRODUCTION, productionDbf } from '../fixtures/production-files.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease()
/** Files since 2008 have these columns. */
const SINCE_2008 = ['PA_TPFIN', 'PA_NIVCPL']
const rows = (
  uf: 'AC' | 'RR',
  month: string,
  cells: readonly (readonly [procedure: string, quantity: number])[],
): ProductionCells[] =>
  cells.map(([procedure, quantity]) => ({
    ...PLAIN_PRODUCTION,
    PA_GESTAO: uf === 'RR' ? '140000' : '120000',
    PA_UFMUN: uf === 'RR' ? '140010' : '120040',
    PA_MVM: month,
    PA_CMP: month,
    PA_PROC_ID: procedure,
    PA_QTDPRO: String(quantity),
    PA_QTDAPR: String(quantity),
    PA_VALPRO: (quantity * 6.3).toFixed(2),
    PA_VALAPR: (quantity * 6.3).toFixed(2),
  }))
const OLD = PRODUCTION_COLUMNS.filter(({ name }) => !SINCE_2008.includes(name))
const FILES: readonly (readonly [name: string, bytes: Buffer])[] = [
  [
    'PARR0712.dbf',
    productionDbf(
      rows('RR', '200712', [
        ['0701101', 5],
        ['0702103', 2],
      ]),
      OLD,
    ),
  ],
  [
    'PARR0801.dbf',
    productionDbf(
      rows('RR', '200801', [
        ['0301010048', 3],
        ['0202010120', 4],
      ]),
    ),
  ],
  ['PAAC0712.dbf', productionDbf(rows('AC', '200712', [['0701101', 11]]), OLD)],
  ['PAAC0801.dbf', productionDbf(rows('AC', '200801', [['0301010048', 13]]))],
]
const EMPTY = productionDbf([])
const write = (name: string, files: readonly (readonly [string, Buffer])[]): string => {
  const path = join(folder, name)
  mkdirSync(path)
  for (const [file, bytes] of files) writeFileSync(join(path, file), bytes)
  return path
}
const made = await importPaths([write('sia', [...FILES, ['PAAP0712.dbf', EMPTY]])], {
  releasesDir,
  maxRejected: 0,
  makesRows: true,
})
await promoteRelease(releasesDir, made.analytics)
const client = await openClient(releasesDir, 1, { rows: true })
t.teardown(() => client.close())

type Filters = readonly (readonly [dimension: string, operator: string, value: unknown])[]
const METRIC = 'outpatient_quantity_approved'
const ask = async (group_by: readonly string[], filters: Filters, more: object = {}) => {
  const { status, body, text } = await client.query({
    metrics: [METRIC],
    group_by,
    filters: filters.map(([dimension, operator, value]) => ({ dimension, operator, value })),
    ...more,
  })
  if (status !== 200) throw new Error(text)
  return body
}
interface AnswerRow {
  readonly dimensions: Record<string, { readonly code: string | null }>
  readonly metrics: Record<string, number | null>
}
/** Codes of each row, and its value. */
const valuesOf = (data: readonly AnswerRow[], metric = METRIC): unknown[] =>
  data.map(({ dimensions, metrics }) => [
    ...Object.values(dimensions).map(({ code }) => code),
    metrics[metric],
  ])
const RR = ['state', 'EQ', 'RR'] as const
const OLD_MONTH = ['reference_period', 'EQ', '2007-12'] as const
const NEW_MONTH = ['reference_period', 'EQ', '2008-01'] as const
const BOTH = ['reference_period', 'IN', ['2007-12', '2008-01']] as const

t.test('filters by what the files do not carry are null, and a note says which', async (t) => {
  const table: readonly (readonly [Filters, number | null, dimension?: string])[] = [
    [[RR, OLD_MONTH], 7],
    [[RR, BOTH], 14],
    ...(['EQ', 'NEQ'] as const).flatMap((operator) =>
      (
        [
          ['procedure_group', '03'],
          ['procedure_subgroup', '0301'],
          ['procedure_form', '030101'],
          ['procedure', '0301010048'],
          ['complexity', '02'],
          ['financing_kind', '06'],
          ['facility', '2566168'],
        ] as const
      ).map(([dimension, code]) => [[RR, OLD_MONTH, [dimension, operator, code]], null, dimension] as const),
    ),
    [[RR, OLD_MONTH, ['complexity', 'IN', ['00', '02']]], null, 'complexity'],
    [[RR, OLD_MONTH, ['complexity', 'NOT_IN', ['00']]], null, 'complexity'],
    // The code that stands for none is what all rows have.
    [[RR, OLD_MONTH, ['complexity', 'EQ', '00']], 7],
    [[RR, OLD_MONTH, ['facility', 'EQ', '0000000']], 7],
    // Codes of the older table are published.
    [[RR, OLD_MONTH, ['procedure', 'EQ', '0701101']], 5],
    [[RR, OLD_MONTH, ['procedure', 'NEQ', '0701101']], 2],
    [[RR, OLD_MONTH, ['procedure', 'IN', ['0701101', '0301010048']]], null, 'procedure'],
    [[RR, NEW_MONTH, ['procedure_group', 'EQ', '03']], 3],
    [[RR, NEW_MONTH, ['procedure_group', 'EQ', '04']], 0],
    [[RR, NEW_MONTH, ['procedure_group', 'NEQ', '03']], 4],
    // A sum over a month that does not carry it.
    [[RR, BOTH, ['procedure_group', 'EQ', '03']], null, 'procedure_group'],
    [[['state', 'IN', ['AC', 'RR']], BOTH, ['procedure_group', 'EQ', '03']], null, 'procedure_group'],
    [[['state', 'IN', ['AC', 'RR']], NEW_MONTH, ['procedure_group', 'EQ', '03']], 16],
  ]
  for (const [filters, value, dimension] of table) {
    const { data, meta } = await ask([], filters)
    t.same(valuesOf(data), [[value]], JSON.stringify(filters))
    const notes = meta.notes.filter(({ code }: WrittenNote) => code === 'not_carried')
    t.equal(notes.length, dimension === undefined ? 0 : 1, JSON.stringify(meta.notes))
    if (dimension !== undefined)
      t.match(notes[0], { dataset: 'outpatient_production', periods: ['2007-12'], dimension })
    if (dimension !== undefined) t.equal(notes[0].states.at(-1), 'RR')
  }
})

t.test('grouped, rows of such months are in the group without a code', async (t) => {
  const group = 'procedure_group'
  const note = { code: 'not_carried', periods: ['2007-12'], states: ['RR'], dimension: group }
  const one = await ask([group], [RR, OLD_MONTH], { totals: [[]] })
  t.same(valuesOf(one.data), [[null, 7]])
  t.same(valuesOf(one.totals[0].data), [[7]], 'a total counts every row')
  t.match(one.meta.notes, [note])
  const both = await ask([group], [RR, BOTH], { totals: [[]], share_of: [] })
  t.same(valuesOf(both.data), [
    ['02', null],
    ['03', null],
    [null, 7],
  ])
  t.same(valuesOf(both.data, `${METRIC}__share`), [
    ['02', null],
    ['03', null],
    [null, 50],
  ])
  t.same(valuesOf(both.totals[0].data), [[14]])
  const byMonth = await ask(['reference_period', group], [RR, BOTH], { totals: [['reference_period']] })
  t.same(valuesOf(byMonth.data), [
    ['2007-12', null, 7],
    ['2008-01', '02', 4],
    ['2008-01', '03', 3],
  ])
  t.same(valuesOf(byMonth.totals[0].data), [
    ['2007-12', 7],
    ['2008-01', 7],
  ])
  t.same(valuesOf((await ask(['complexity'], [RR, BOTH])).data), [
    ['00', 7],
    ['02', null],
  ])
  t.same(valuesOf((await ask(['state', 'complexity'], [['state', 'IN', ['AC', 'RR']], OLD_MONTH])).data), [
    ['AC', '00', 11],
    ['RR', '00', 7],
  ])
  t.same(
    valuesOf((await ask(['procedure'], [RR, BOTH])).data),
    [
      ['0202010120', null],
      ['0301010048', null],
      ['0701101', 5],
      ['0702103', 2],
    ],
    'codes of an older table are codes',
  )
  const ranked = await ask([group], [RR, BOTH], { order_by: [`-${METRIC}`], rank: true })
  t.same(
    valuesOf(ranked.data).map((row) => (row as unknown[])[0]),
    [null, '02', '03'],
  )
  const changed = await ask([group], [RR, NEW_MONTH], { change: { to: 'previous' } })
  t.same(valuesOf(changed.data, `${METRIC}__base`), [
    ['02', null],
    ['03', null],
    [null, 7],
  ])
  t.same(valuesOf(changed.data, `${METRIC}__change`), [
    ['02', null],
    ['03', null],
    [null, -7],
  ])
})

t.test('lineage, lists and counts beside members', async (t) => {
  const filters = [RR, BOTH].map(([dimension, operator, value]) => ({ dimension, operator, value }))
  for (const [code, value, records] of [
    ['03', null, 0],
    [null, 7, 2],
  ] as const) {
    const { body } = await client.post('/v1/analytics/lineage', {
      metrics: [METRIC],
      group_by: ['procedure_group'],
      filters,
      key: { procedure_group: code },
    })
    t.equal(body.meta.value, value)
    t.equal(body.meta.total, value)
    t.equal(body.pagination.total_rows, records)
  }
  for (const [query, total, note] of [
    ['reference_period=2007-12&uf=RR', 2, null],
    [
      'reference_period=2007-12&uf=RR&procedure_code=0301',
      null,
      { code: 'not_carried', dimension: 'procedure' },
    ],
    ['reference_period=2007-12&uf=RR&procedure_code=0701101', 1, null],
    [
      'reference_period=2007-12&uf=RR&complexity_code=02',
      null,
      { code: 'not_carried', dimension: 'complexity' },
    ],
    [
      'reference_period=2007-12&uf=RR&cnes_code=2566168',
      null,
      { code: 'not_carried', dimension: 'facility' },
    ],
    ['reference_period=2008-01&uf=RR&procedure_code=0301', 1, null],
    ['reference_period=2007-12&uf=AP', 0, { code: 'empty_file', states: ['AP'] }],
  ] as const) {
    const { body, text } = await client.get(`/v1/sia/monthly?${query}&count=true`)
    t.equal(body.pagination?.total, total, `${query} ${text}`)
    if (note === null) t.notOk('notes' in body.meta, query)
    else t.match(body.meta.notes, [note])
  }
  const { body } = await client.get(
    `/v1/analytics/dimensions/complexity/values?counts=true&filters=${encodeURIComponent(JSON.stringify([RR, OLD_MONTH].map(([dimension, operator, value]) => ({ dimension, operator, value }))))}`,
  )
  const counted = new Map(
    body.data.map((member: { code: string; facts: Record<string, number | null> }) => [
      member.code,
      member.facts.outpatient_production,
    ]),
  )
  t.equal(counted.get('00'), 2)
  t.equal(counted.get('02'), null)
})

t.test('an empty file counts as 0 and is said; between files with rows it is refused', async (t) => {
  for (const [filters, value] of [
    [[['state', 'EQ', 'AP'], OLD_MONTH], 0],
    [[['state', 'IN', ['AP', 'RR']], OLD_MONTH], 7],
    [[['state', 'EQ', 'AP'], OLD_MONTH, ['procedure_group', 'EQ', '03']], 0],
  ] as const) {
    const { data, meta } = await ask([], filters as Filters)
    t.match(
      meta.notes.find(({ code }: WrittenNote) => code === 'empty_file'),
      { dataset: 'outpatient_production', periods: ['2007-12'], states: ['AP'] },
    )
    t.same(valuesOf(data), [[value]])
  }
  t.notOk((await ask([], [RR, OLD_MONTH])).meta.notes.some(({ code }: WrittenNote) => code === 'empty_file'))
  const gap = write('gap', [...FILES.slice(0, 1), ['PARR0801.dbf', EMPTY]])
  await t.rejects(
    importPaths([gap], { releasesDir, maxRejected: 0.001 }),
    /files without any row.*outpatient_production 2008-01 of RR \(2 rows or more around it\)/,
  )
  const allowed = await importPaths([gap], { releasesDir, maxRejected: 0.5 })
  await promoteRelease(releasesDir, allowed.analytics)
  const other = await openClient(releasesDir)
  t.teardown(() => other.close())
  const view = other.store.current()
  if (view === null) throw new Error('no release')
  const report = await runPromotionChecks(other.engine, view, null)
  const check = report.checks.find(({ name }) => name === 'empty files')
  t.equal(check?.met, false)
  t.equal(check?.detail, 'outpatient_production 2008-01: RR')
})
