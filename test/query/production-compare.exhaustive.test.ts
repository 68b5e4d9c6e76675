/**
 * Two releases of which one has a state's month of production, and a government's report, as they were published again: what compare
 * says of quantities, of money and of a quotient, that a part which comes later changes its month alone, and that the list of accounts
 * of either release is its own.
 */
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { writePointer } from '../../src/release/writer.ts'
import { walkList } from '../fixtures/area-lists.ts'
import { changeDbf } from '../fixtures/changed-dbf.ts'
import { openClient } from '../fixtures/client.ts'
import { type ComparedGroup, comparing } from '../fixtures/compared.ts'
import { createDraws } from '../fixtures/draws.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('production')
const { releasesDir, snapshots } = small
const before = small.result.analytics

// Published again, part b of Acre's 2026-05: two rows are gone, ten more of one are approved, and 2.50 more are paid for another.
const folder = join(small.folder, 'again')
for (const name of ['sia', 'sigtap']) cpSync(join(snapshots, name), join(folder, name), { recursive: true })
const path = join(folder, 'sia/202605/PAAC2605b.dbf')
const bytes = readFileSync(path)
const { rows, cell, put, remove } = changeDbf(bytes)
const rowsOfFacility = new Map<string, number>()
for (const row of rows)
  rowsOfFacility.set(cell(row, 'PA_CODUNI'), (rowsOfFacility.get(cell(row, 'PA_CODUNI')) ?? 0) + 1)
// A facility that loses two rows has others, so that it stays a group.
const isPlain = (row: number): boolean =>
  cell(row, 'PA_INDICA') === '5' &&
  cell(row, 'PA_CMP') === '202605' &&
  Number(cell(row, 'PA_QTDAPR')) > 20 &&
  (rowsOfFacility.get(cell(row, 'PA_CODUNI')) ?? 0) > 2
const [gone = 0, gone2 = 0, more = 0, dearer = 0] = rows.filter(isPlain)
const cents = (value: string): number => Math.round(Number(value) * 100)
const lost = [gone, gone2].map((row) => ({
  approved: Number(cell(row, 'PA_QTDAPR')),
  cents: cents(cell(row, 'PA_VALAPR')),
}))
for (const row of [gone, gone2]) remove(row)
const price = cents(cell(more, 'NU_PA_TOT'))
for (const name of ['PA_QTDPRO', 'PA_QTDAPR']) put(more, name, String(Number(cell(more, name)) + 10))
put(more, 'PA_VALAPR', ((cents(cell(more, 'PA_VALAPR')) + 10 * price) / 100).toFixed(2))
for (const name of ['PA_VALAPR', 'PA_VL_CL'])
  put(dearer, name, ((cents(cell(dearer, name)) + 250) / 100).toFixed(2))
writeFileSync(path, bytes)
const imported = await importPaths([folder], { releasesDir, maxRejected: 0 })
writePointer(releasesDir, imported.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())

const QUANTITY = 10 - lost.reduce((sum, { approved }) => sum + approved, 0)
const CENTS = 250 + 10 * price - lost.reduce((sum, row) => sum + row.cents, 0)

const compare = comparing(client, before)
const inAcre = { dimension: 'state', operator: 'EQ', value: 'AC' }
const inMay = { dimension: 'reference_period', operator: 'EQ', value: '2026-05' }

t.test('the month of the state alone is another, and the other areas are the same', async (t) => {
  t.not(imported.sia, small.result.sia)
  t.equal(imported.sih, null, 'admissions are those in service')
  const months = await compare({
    metrics: ['outpatient_quantity_approved', 'outpatient_value_approved'],
    group_by: ['state', 'reference_period'],
  })
  t.same(
    months.map(({ dimensions }) => [dimensions.state?.code, dimensions.reference_period?.code]),
    [['AC', '2026-05']],
  )
  t.same(await compare({ metrics: ['admissions'], group_by: ['state', 'reference_period'] }), [])
})

t.test('quantity and money, with causes that add up', async (t) => {
  const [row] = await compare({
    metrics: ['outpatient_quantity_approved', 'outpatient_value_approved', 'outpatient_approval_share'],
    filters: [inAcre, inMay],
  })
  const { outpatient_quantity_approved: quantity, outpatient_value_approved: value } = row?.metrics ?? {}
  t.equal(quantity?.delta, QUANTITY)
  t.equal(Math.round((value?.delta ?? 0) * 100), CENTS)
  t.equal(
    Math.round((value?.causes ?? []).reduce((sum, cause) => sum + cause.delta, 0) * 100),
    CENTS,
    'in reais, too',
  )
  const { causes = [] } = row?.metrics.outpatient_approval_share ?? {}
  for (const side of ['numerator', 'denominator'])
    t.equal(
      causes.filter((cause) => cause.side === side).reduce((sum, cause) => sum + cause.delta, 0),
      QUANTITY,
      side,
    )
  const perHead = await compare({ metrics: ['outpatient_value_per_capita'], filters: [inAcre, inMay] })
  t.ok(perHead[0]?.metrics.outpatient_value_per_capita?.causes.every(({ side }) => side === 'numerator'))
})

t.test('every difference of every group is that of plain SQL', async (t) => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  for (const [dimension, column] of [
    ['procedure', 'procedure_code'],
    ['facility', 'cnes_code'],
    ['care_period', 'care_period'],
  ] as const) {
    const sums = (id: string | null): string =>
      `(SELECT ${column} AS code, sum(quantity_approved) AS n, sum(value_approved_cents) AS v FROM read_parquet('${join(releasesDir, id ?? '', 'outpatient_production/*/*.parquet')}', hive_partitioning = true) WHERE reference_period = 202605 AND uf = 'AC' GROUP BY 1)`
    const wanted = (
      await connection.runAndReadAll(
        `SELECT code, CAST(coalesce(newer.n, 0) - coalesce(older.n, 0) AS INTEGER) AS n, CAST(coalesce(newer.v, 0) - coalesce(older.v, 0) AS INTEGER) AS v
         FROM ${sums(small.result.sia)} AS older FULL JOIN ${sums(imported.sia)} AS newer USING (code) ORDER BY code`,
      )
    )
      .getRows()
      .filter(([, n, v]) => n !== 0 || v !== 0)
    const found = await compare({
      metrics: ['outpatient_quantity_approved', 'outpatient_value_approved'],
      group_by: [dimension],
      filters: [inAcre, inMay],
    })
    const changed = found.map(({ dimensions, metrics }) => [
      dimensions[dimension]?.code,
      metrics.outpatient_quantity_approved?.delta ?? 0,
      Math.round((metrics.outpatient_value_approved?.delta ?? 0) * 100),
    ])
    t.same(
      changed.sort((left, right) => (String(left[0]) < String(right[0]) ? -1 : 1)),
      wanted,
      dimension,
    )
    t.ok(wanted.length > 0, dimension)
  }
})

t.test('of drawn questions, a difference is between what either release answers', async (t) => {
  const { draw, pick, shuffle } = createDraws(2311)
  const DIMENSIONS = [
    'state',
    'municipality',
    'health_region',
    'facility',
    'care_period',
    'procedure_group',
    'procedure',
    'complexity',
    'financing_kind',
    'reference_period',
  ]
  const SUMS = ['outpatient_quantity_approved', 'outpatient_quantity_presented', 'outpatient_value_approved']
  let differences = 0
  for (let turn = 0; turn < 16; turn += 1) {
    const group_by = shuffle(DIMENSIONS).slice(0, draw(4))
    const metrics = shuffle([...SUMS, 'outpatient_approval_share']).slice(0, 1 + draw(3))
    const filters = pick([[inAcre], [inMay], [inAcre, inMay]])
    const question = { metrics, group_by, filters }
    const answerOf = async (release: string): Promise<Map<string, Record<string, number | null>>> => {
      const { status, body } = await client.query({
        ...question,
        limit: 10_000,
        expected_release_id: release,
      })
      if (status !== 200) throw new Error(`${JSON.stringify(question)}: ${JSON.stringify(body)}`)
      return new Map(
        body.data.map((row: ComparedGroup) => [
          JSON.stringify(group_by.map((code) => row.dimensions[code]?.code ?? null)),
          row.metrics,
        ]),
      )
    }
    const [older, newer] = [await answerOf(before), await answerOf(imported.analytics)]
    const answered = new Map(
      (await compare(question)).map(({ dimensions, metrics: of }) => [
        JSON.stringify(group_by.map((code) => dimensions[code]?.code ?? null)),
        of,
      ]),
    )
    for (const key of new Set([...older.keys(), ...newer.keys()])) {
      const [was, is, row] = [older.get(key), newer.get(key), answered.get(key)]
      // A group of one release alone is 0 in the other, because Acre was collected in both.
      const differs = metrics.some((code) => (was?.[code] ?? 0) !== (is?.[code] ?? 0))
      if (differs !== (row !== undefined))
        t.fail(`${JSON.stringify(question)} ${key}: answered ${row !== undefined}`)
      for (const code of row === undefined ? [] : metrics) {
        differences += 1
        const empty = SUMS.includes(code) ? 0 : null
        const [wasValue, isValue] = [was, is].map((side) => (side === undefined ? empty : side[code]))
        if (row?.[code]?.old !== wasValue || row?.[code]?.new !== isValue)
          t.fail(`${JSON.stringify(question)} ${key} ${code}: ${JSON.stringify(row?.[code])}`)
      }
    }
  }
  t.ok(differences > 50, `${differences} differences`)
})

t.test(
  'a month is whole with all of its parts: one without them is refused, one part more is a difference',
  async (t) => {
    const own = join(small.folder, 'parts')
    cpSync(folder, own, { recursive: true })
    const month = join(own, 'sia/202605')
    renameSync(join(month, 'PAAC2605b.dbf'), join(month, 'PAAC2605c.dbf'))
    const refused = await importPaths([own], { releasesDir, maxRejected: 0 }).then(
      () => null,
      (error: unknown) => error,
    )
    t.ok(refused instanceof ImportError)
    t.match(String(refused), /PAAC2605c\.dbf: is part c of its month, and part b is not there/)
    // A last part that did not come cannot be told from the names: it is there when it is.
    rmSync(join(month, 'PAAC2605c.dbf'))
    const less = await importPaths([own], { releasesDir, maxRejected: 0 })
    const [row] = await compare({
      old_release_id: less.analytics,
      new_release_id: imported.analytics,
      metrics: ['outpatient_quantity_approved'],
      group_by: ['state', 'reference_period'],
    })
    t.same([row?.dimensions.state?.code, row?.dimensions.reference_period?.code], ['AC', '2026-05'])
    t.ok((row?.metrics.outpatient_quantity_approved?.delta ?? 0) > 0)
    const manifest = JSON.parse(readFileSync(join(releasesDir, less.sia ?? '', 'manifest.json'), 'utf8'))
    t.equal(manifest.counts.production_parts_AC_202605, 1, 'the manifest says how many parts were read')
  },
)

t.test('a report that was delivered again is another release, whose list says what changed', async (t) => {
  const funds = await makeSmallRelease('financing')
  const again = join(funds.folder, 'again')
  cpSync(join(funds.snapshots, 'financing'), again, { recursive: true })
  const name = readdirSync(join(again, 'siconfi')).find((file) => file.endsWith('.csv')) ?? ''
  const lines = readFileSync(join(again, 'siconfi', name), 'utf8').split(/(?<=\n)/)
  const at = lines.findIndex(
    (line) => /DESPESAS LIQUIDADAS AT. O BIMESTRE/.test(line) && /;Saúde;/.test(line),
  )
  t.ok(at > 0, name)
  const restated = (lines[at] ?? '').replace(
    /;(\d+(?:\.\d+)?)(\r?\n)$/,
    (_, value: string, end: string) => `;${(Number(value) + 1000.5).toFixed(2)}${end}`,
  )
  t.not(restated, lines[at])
  writeFileSync(
    join(again, 'siconfi', name),
    [...lines.slice(0, at), restated, ...lines.slice(at + 1)].join(''),
  )
  const second = await importPaths([again], { releasesDir: funds.releasesDir, maxRejected: 0 })
  t.not(second.financing, funds.result.financing)
  writePointer(funds.releasesDir, second.analytics)
  const lists = await openClient(funds.releasesDir)
  t.teardown(() => lists.close())
  const accounts = async (release: string): Promise<Map<string, Record<string, unknown>>> =>
    new Map(
      (
        await walkList(
          lists,
          `/v1/health-financing/sources?source=siconfi_rreo_02&expected_release_id=${release}`,
          100,
        )
      ).map((row) => [
        [row.entity_code, row.reference_year, row.period, row.stage, row.category_path].join('|'),
        row,
      ]),
    )
  const [older, newer] = [await accounts(funds.result.analytics), await accounts(second.analytics)]
  t.same([...newer.keys()], [...older.keys()])
  const changed = [...newer].filter(([key, row]) => row.amount_cents !== older.get(key)?.amount_cents)
  t.equal(changed.length, 1)
  const [[key = '', row] = []] = changed
  t.equal(Number(row?.amount_cents) - Number(older.get(key)?.amount_cents), 100_050)
  t.not(row?.source_sha256, older.get(key)?.source_sha256, 'each names its own file')
  t.same(
    (
      await lists.post('/v1/analytics/compare', {
        old_release_id: funds.result.analytics,
        metrics: ['federal_health_transfers'],
        group_by: ['state', 'reference_period'],
      })
    ).body.data,
    [],
    'transfers are what they were',
  )
})
