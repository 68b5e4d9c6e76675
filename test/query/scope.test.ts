/**
 * Which months, states and places a question is about: a range is every month of it, a facility lies in one state, and a place of
 * residence has a row with facts or without. Production of Roraima and Acre of months with holes, and the demonstration's admissions.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import type { ProductionCells } from '../../tools/demo/production.ts'
import { openClient } from '../fixtures/client.ts'
import { PLAIN_PRODUCTION, productionDbf } from '../fixtures/production-files.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('admissions')
/** Facilities that no month of the registry names. */
const [OF_RORAIMA, OF_ACRE, NONE] = ['9900014', '9900012', '0000000']
const rows = (uf: 'AC' | 'RR', month: string, quantity: number, facility: string): ProductionCells => ({
  ...PLAIN_PRODUCTION,
  PA_CODUNI: facility,
  PA_GESTAO: uf === 'RR' ? '140000' : '120000',
  PA_UFMUN: uf === 'RR' ? '140010' : '120040',
  PA_MVM: month,
  PA_CMP: month,
  PA_QTDPRO: String(quantity),
  PA_QTDAPR: String(quantity),
  PA_VALPRO: (quantity * 6.3).toFixed(2),
  PA_VALAPR: (quantity * 6.3).toFixed(2),
})
/** Acre has no file of 2018-05; nobody has any of 2018-02 and 2018-04. */
const FILES: readonly (readonly [name: string, rows: readonly ProductionCells[]])[] = [
  ['PARR1801.dbf', [rows('RR', '201801', 3, OF_RORAIMA), rows('RR', '201801', 5, NONE)]],
  ['PAAC1801.dbf', [rows('AC', '201801', 20, OF_ACRE), rows('AC', '201801', 40, NONE)]],
  ['PARR1803.dbf', [rows('RR', '201803', 7, OF_RORAIMA)]],
  ['PAAC1803.dbf', [rows('AC', '201803', 60, OF_ACRE)]],
  ['PARR1805.dbf', [rows('RR', '201805', 11, OF_RORAIMA), rows('RR', '201805', 13, NONE)]],
]
const path = join(folder, 'production-with-holes')
mkdirSync(path)
for (const [name, cells] of FILES) writeFileSync(join(path, name), productionDbf(cells))
const made = await importPaths([path], { releasesDir, maxRejected: 0, makesRows: true })
await promoteRelease(releasesDir, made.analytics)
const client = await openClient(releasesDir, 1, { rows: true })
t.teardown(() => client.close())

type Filters = readonly (readonly [dimension: string, operator: string, value: unknown])[]
const METRIC = 'outpatient_quantity_approved'
const bodyOf = (group_by: readonly string[], filters: Filters, more: object = {}) => ({
  metrics: [METRIC],
  group_by,
  filters: filters.map(([dimension, operator, value]) => ({ dimension, operator, value })),
  ...more,
})
const ask = async (group_by: readonly string[], filters: Filters, more: object = {}) => {
  const { status, body, text } = await client.query(bodyOf(group_by, filters, more))
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
const MONTH = 'reference_period'
const monthsOf = (notes: readonly WrittenNote[]): string[] =>
  notes.flatMap((note) =>
    note.code === 'not_collected' && note.dataset === 'outpatient_production' ? note.periods : [],
  )

t.test('a range is every month of it that the publisher has, collected or not', async (t) => {
  const table: readonly (readonly [Filters, number | null, string[]])[] = [
    [[[MONTH, 'BETWEEN', ['2018-01', '2018-05']]], null, ['2018-02', '2018-04']],
    [[[MONTH, 'IN', ['2018-01', '2018-02', '2018-03', '2018-04', '2018-05']]], null, ['2018-02', '2018-04']],
    [[[MONTH, 'BETWEEN', ['2018-01', '2018-01']]], 8, []],
    // The newest month here ends a range.
    [[[MONTH, 'BETWEEN', ['2018-05', '2030-12']]], 24, []],
    [[[MONTH, 'GTE', '2018-05']], 24, []],
    [[[MONTH, 'GT', '2018-04']], 24, []],
    [[[MONTH, 'GT', '2018-03']], null, ['2018-04']],
    [[[MONTH, 'GTE', '2017-12']], null, ['2017-12', '2018-02', '2018-04']],
    // Without a begin, the oldest month here does.
    [[[MONTH, 'LTE', '2018-01']], 8, []],
    [[[MONTH, 'LT', '2018-02']], 8, []],
    [[[MONTH, 'LTE', '2018-02']], null, ['2018-02']],
    [
      [
        [MONTH, 'GTE', '2018-03'],
        [MONTH, 'LT', '2018-05'],
        [MONTH, 'NEQ', '2018-04'],
      ],
      7,
      [],
    ],
  ]
  for (const [filters, value, missing] of table) {
    const name = JSON.stringify(filters)
    const { data, meta } = await ask([], [RR, ...filters])
    t.same(valuesOf(data), [[value]], name)
    t.same(monthsOf(meta.notes), missing, name)
  }
  const { data, meta } = await ask([], [RR, [MONTH, 'BETWEEN', ['1990-01', '1994-07']]])
  t.same(valuesOf(data), [[null]], 'one month that the publisher has')
  t.same(monthsOf(meta.notes), ['1994-07'])
  t.match(meta.notes, [{ code: 'range_narrowed', first: '1994-07', last: '1994-07' }])
  const before = await ask([], [RR, [MONTH, 'LT', '1994-07']])
  t.same(valuesOf(before.data), [[null]])
  t.match(before.meta.notes, [{ code: 'range_without_months' }])
})

t.test('by month, a month that was not collected is a row with null', async (t) => {
  const expected = [
    ['2018-01', 8],
    ['2018-02', null],
    ['2018-03', 7],
    ['2018-04', null],
    ['2018-05', 24],
  ]
  const five = expected.map(([month]) => month)
  for (const filter of [
    [MONTH, 'BETWEEN', ['2018-01', '2018-05']],
    [MONTH, 'LTE', '2018-05'],
    [MONTH, 'GTE', '2018-01'],
    [MONTH, 'IN', five],
  ] as const) {
    const { data, meta } = await ask([MONTH], [RR, filter])
    t.same(valuesOf(data), expected, filter[1])
    t.same(monthsOf(meta.notes), ['2018-02', '2018-04'], filter[1])
    const byState = await ask([MONTH, 'state'], [['state', 'IN', ['AC', 'RR']], filter])
    t.equal(byState.data.length, 10)
  }
  const { totals } = await ask([MONTH], [RR, [MONTH, 'BETWEEN', ['2018-01', '2018-05']]], { totals: [[]] })
  t.same(valuesOf(totals[0].data), [[null]], 'a total needs all months of its rows')
  const all = await ask([MONTH], [RR])
  t.same(
    valuesOf(all.data),
    expected.filter(([, value]) => value !== null),
    'without a filter: the months here',
  )
})

t.test('lineage, exports and values of dimensions mean the same months', async (t) => {
  const range = [MONTH, 'BETWEEN', ['2018-01', '2018-05']] as const
  const lineage = await client.post('/v1/analytics/lineage', { ...bodyOf([], [RR, range]), key: {} })
  t.equal(lineage.status, 200, lineage.text)
  t.same([lineage.body.meta.value, lineage.body.meta.total, lineage.body.data], [null, null, []])
  const ofMonth = await client.post('/v1/analytics/lineage', {
    ...bodyOf([MONTH], [RR, range]),
    key: { [MONTH]: '2018-02' },
  })
  t.same([ofMonth.status, ofMonth.body.meta?.value, ofMonth.body.data], [200, null, []])
  const csv = await client.post('/v1/analytics/query', bodyOf([MONTH], [RR, range]), { accept: 'text/csv' })
  t.equal(csv.text.trim().split('\n').length, 6, 'five months and a header')
})

t.test('lineage says how the published rows of a record are found', async (t) => {
  const question = { ...bodyOf([], [RR, [MONTH, 'EQ', '2018-05']]), key: {} }
  const { status, body, text } = await client.post('/v1/analytics/lineage', { ...question, rows: true })
  t.equal(status, 200, text)
  const found = body.data.map(({ published_rows: { count, where, is_exact } }: { published_rows: never }) => [
    count,
    is_exact,
    (where as { columns: string[]; pattern: string }[]).find(({ columns }) => columns[0] === 'PA_CODUNI')
      ?.pattern,
  ])
  t.same(found, [
    [1, true, '^0000000$|^(?!\\d{7}$)'],
    [1, true, `^${OF_RORAIMA}$`],
  ])
  const plain = await client.post('/v1/analytics/lineage', question)
  t.notOk('published_rows' in plain.body.data[0], 'where it is not asked for, it is not there')
})

t.test('a facility lies in a state, and needs that state alone', async (t) => {
  const of = (facility: unknown, operator = 'EQ') => ['facility', operator, facility] as const
  const may = [MONTH, 'EQ', '2018-05'] as const
  const january = [MONTH, 'EQ', '2018-01'] as const
  // No file of Acre in May, and none of the other states in any month.
  const table: readonly (readonly [string[], Filters, unknown[]])[] = [
    [[], [may, of(OF_RORAIMA)], [[11]]],
    [[], [may, of([OF_RORAIMA], 'IN')], [[11]]],
    [[MONTH], [may, of(OF_RORAIMA)], [['2018-05', 11]]],
    [['procedure_group'], [may, of(OF_RORAIMA)], [['03', 11]]],
    [['facility'], [may, of(OF_RORAIMA)], [[OF_RORAIMA, 11]]],
    [[], [may, of(OF_ACRE)], [[null]]],
    [[], [may, of([OF_ACRE, OF_RORAIMA], 'IN')], [[null]]],
    [[], [january, of([OF_ACRE, OF_RORAIMA], 'IN')], [[23]]],
    // Who is in no file may be in one that was not collected.
    [[], [may, of('9999999')], [[null]]],
    // Files that name no facility are of all states.
    [[], [january, of(NONE)], [[null]]],
    [['facility'], [january, of(NONE)], [[NONE, null]]],
    [
      ['facility'],
      [january, of([NONE, OF_ACRE], 'IN')],
      [
        [NONE, null],
        [OF_ACRE, 20],
      ],
    ],
    [['facility'], [january, of(NONE), ['state', 'IN', ['AC', 'RR']]], [[NONE, 45]]],
    [['facility'], [may, of(NONE), ['state', 'IN', ['AC', 'RR']]], [[NONE, null]]],
    [['facility', 'state'], [may, of(NONE), RR], [[NONE, 'RR', 13]]],
  ]
  for (const [groups, filters, expected] of table) {
    const { data, meta } = await ask(groups, filters, {
      order_by: groups.includes('facility') ? ['facility'] : [],
    })
    const sorted = valuesOf(data).sort((left, right) =>
      JSON.stringify(left) < JSON.stringify(right) ? -1 : 1,
    )
    t.same(sorted, expected, JSON.stringify([groups, filters]))
    t.equal(
      meta.notes.some(({ code }: WrittenNote) => code === 'not_collected'),
      expected.some((row) => (row as unknown[]).at(-1) === null),
      JSON.stringify([groups, filters, meta.notes]),
    )
  }
  // A list counts by the same rule.
  const totalOf = async (facility: string) =>
    (await client.get(`/v1/sia/monthly?count=true&reference_period=2018-05&cnes_code=${facility}`)).body
      .pagination.total
  t.equal(await totalOf(OF_RORAIMA), 1)
  t.equal(await totalOf(OF_ACRE), null)
  t.equal(await totalOf(NONE), null)
})

t.test('an area where no filtered facility lies says the same as its states', async (t) => {
  const filters: Filters = [
    [MONTH, 'EQ', '2018-05'],
    ['facility', 'EQ', OF_RORAIMA],
    ['state', 'IN', ['AC', 'RR', 'SP']],
  ]
  const valueAt = async (group_by: string[], code: string | number | null, more: object = {}) => {
    const { data } = await ask(group_by, filters, { limit: 10_000, ...more })
    return data.find(
      ({ dimensions }: AnswerRow) => String(dimensions[group_by[0] ?? '']?.code ?? null) === String(code),
    )?.metrics[METRIC]
  }
  t.equal(await valueAt(['state'], 'RR'), 11)
  t.equal(await valueAt(['state'], 'SP'), null)
  t.equal(await valueAt(['state'], 'AC'), null)
  t.equal(await valueAt(['region'], 3), null, 'the region of SP, as SP')
  t.equal(await valueAt(['region'], 1), 11, 'the region of the facility, whatever else lies there')
  const groups = [
    { code: 'N', name: 'Norte', members: ['AC', 'RR'] },
    { code: 'S', name: 'Sudeste', members: ['SP'] },
  ]
  const of = (others: string) => ({ groupings: { g: { dimension: 'state', groups, others } } })
  t.equal(await valueAt(['g'], 'N', of('group')), 11)
  t.equal(await valueAt(['g'], 'S', of('group')), null)
})

t.test('filters that leave no place are 0 where anybody collected the month, else null', async (t) => {
  const nowhere: Filters = [
    ['municipality', 'EQ', 1200401],
    ['health_region', 'EQ', '14001'],
  ]
  const collected = await ask([], [...nowhere, [MONTH, 'EQ', '2018-05']])
  t.same([valuesOf(collected.data), monthsOf(collected.meta.notes)], [[[0]], []])
  const { data, meta } = await ask([], [...nowhere, [MONTH, 'EQ', '2018-02']])
  t.same(valuesOf(data), [[null]])
  const [note] = meta.notes.filter(({ code }: WrittenNote) => code === 'not_collected')
  t.equal(note.states.length, 27)
  t.match(note.message, 'não coletado em nenhum estado')
  const beds = await ask([], [...nowhere, ['reference_year', 'EQ', 2024]], {
    metrics: ['sus_bed_days'],
  })
  t.same(valuesOf(beds.data, 'sus_bed_days'), [[null]])
  t.match(
    beds.meta.notes.filter(({ code }: WrittenNote) => code === 'not_collected'),
    [{ dataset: 'bed_capacity', message: 'não coletado em nenhum estado' }],
  )
})

t.test('a place of residence has a row, with admissions or without', async (t) => {
  const residents = (group_by: string[], filters: Filters, metric = 'admissions', more: object = {}) =>
    ask(group_by, filters, { metrics: [metric], limit: 10_000, ...more })
  const residentRows = async (...args: Parameters<typeof residents>) =>
    valuesOf((await residents(...args)).data, args[2] ?? 'admissions')
  const may = [MONTH, 'EQ', '2026-05'] as const
  t.same(await residentRows(['residence_state'], [may, ['residence_state', 'EQ', 'DF']]), [['DF', null]])
  const both = await residentRows(['residence_state'], [may, ['residence_state', 'IN', ['DF', 'RR']]])
  t.same(
    (both as unknown[][]).map(([code]) => code),
    ['DF', 'RR'],
  )
  t.equal((both as unknown[][])[0]?.[1], null)
  t.ok(Number((both as unknown[][])[1]?.[1]) > 0)
  // Without admissions of a kind, residents of a state whose files were collected have 0.
  t.same(
    await residentRows(
      ['residence_state'],
      [may, ['residence_state', 'EQ', 'RR'], ['diagnosis_chapter', 'EQ', 'XXII']],
    ),
    [['RR', 0]],
  )
  const towns = await residentRows(['residence_municipality'], [may, ['residence_state', 'EQ', 'RR']])
  t.ok((towns as unknown[][]).filter(([code]) => String(code).startsWith('14')).length >= 15)
  const regions = await residentRows(
    ['residence_health_region', MONTH],
    [may, ['residence_state', 'EQ', 'DF']],
  )
  t.ok((regions as unknown[][]).length > 0 && (regions as unknown[][]).every(([, , value]) => value === null))
  // Residents of Roraima whose municipality is ignored have no health region, and their region needs no file of the Federal District.
  const ignored = await residentRows(
    ['residence_region', 'residence_health_region'],
    [may, ['residence_state', 'IN', ['DF', 'RR']]],
    'admissions',
    { include_ignored: true },
  )
  const ofRoraima = (ignored as unknown[][]).filter(([region]) => region === 1)
  t.match(
    ofRoraima.find(([, code]) => code === null),
    [1, null, Number],
  )
  t.ok(ofRoraima.every(([, , value]) => Number(value) > 0))
  const states = await residents(['residence_state'], [may], 'admissions_per_10k')
  t.ok(states.data.length >= 27, 'each state is a row')
})

t.test('both sides of a ratio of the query are of the same months', async (t) => {
  const threeStates = [{ dimension: 'state', operator: 'IN', value: ['AC', 'AP', 'RR'] }]
  const valuesIn = async (body: object): Promise<AnswerRow['metrics'][]> => {
    const { status, body: answer, text } = await client.query(body)
    if (status !== 200) throw new Error(text)
    return answer.data.map(({ metrics }: AnswerRow) => metrics)
  }
  const ofRoraima = {
    metric: 'admissions',
    as: 'of_roraima',
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
  }
  const share = { as: 'part', ratio: ['of_roraima', 'admissions'], scale: 100 }
  const question = { metrics: ['admissions', ofRoraima, share], filters: threeStates }
  const { body } = await client.query(question)
  t.match(
    body.meta.notes.find(({ code }: WrittenNote) => code === 'newest_periods_differ'),
    { newest: { admissions: '2026-04', of_roraima: '2026-05', part: '2026-04' } },
    'Amapá has no file of May, Roraima has one',
  )
  const april = { dimension: MONTH, operator: 'EQ', value: '2026-04' }
  const [inApril] = await valuesIn({ ...question, filters: [...threeStates, april] })
  t.equal(body.data[0].metrics.part, inApril?.part)
  t.equal(
    inApril?.part,
    Math.round((1e4 * Number(inApril?.of_roraima)) / Number(inApril?.admissions)) / 100,
    'divided by hand',
  )
  const occupancy = {
    metrics: [
      'bed_occupancy_share',
      'days_of_stay',
      'sus_bed_days',
      { as: 'own', ratio: ['days_of_stay', 'sus_bed_days'], scale: 100 },
    ],
    filters: threeStates,
    over_period: 'avg',
  }
  for (const more of [
    {},
    { group_by: ['state'] },
    { group_by: ['reference_year'], incomplete: 'allow' },
    { group_by: ['reference_period', 'state'], incomplete: 'allow', window: { months: 2 } },
  ]) {
    const rows = await valuesIn({ ...occupancy, ...more })
    if ('group_by' in more) t.ok(rows.some(({ own }) => own !== null))
    for (const { own, bed_occupancy_share } of rows)
      t.equal(own, bed_occupancy_share, `as the catalog’s ratio of the same: ${JSON.stringify(more)}`)
  }
})

t.test('a total of flows is of the months of its rows, whatever stands beside them', async (t) => {
  const year = {
    group_by: ['reference_year'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['AC', 'AP', 'RR'] }],
    incomplete: 'allow',
    over_period: 'avg',
    status: true,
    totals: [[]],
  }
  const totalOf = async (metrics: readonly string[], more: object = {}) => {
    const { body } = await client.query({ ...year, metrics, ...more })
    return { row: body.data.at(-1), total: body.totals[0].data[0] }
  }
  for (const metrics of [['days_of_stay'], ['days_of_stay', 'bed_capacity_sus']]) {
    const { row, total } = await totalOf(metrics)
    t.equal(row.status.days_of_stay, 'partial', 'May is left out')
    t.equal(total.metrics.days_of_stay, row.metrics.days_of_stay, metrics.join())
    t.equal(total.status.days_of_stay, 'partial', metrics.join())
  }
  const byState = await totalOf(['admissions'], { group_by: ['reference_year', 'state'] })
  t.equal(byState.total.status.admissions, 'partial')
  const roraima = await totalOf(['admissions'], {
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
  })
  t.equal(roraima.total.status.admissions, 'partial', 'the year has months to come')
})
