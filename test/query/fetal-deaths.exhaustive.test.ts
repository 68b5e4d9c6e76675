/**
 * Fetal deaths against what was drawn: each row is drawn with its cells and with what they mean. They come from a file of the country,
 * so they are known for every state, with or without the files of other deaths.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPublishedRows } from '../../src/import/published-rows.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { createDraws } from '../fixtures/draws.ts'
import { prepareImports } from '../fixtures/file-imports.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>

const { draw, pick } = createDraws(43)
const twoDigits = (number: number): string => String(number).padStart(2, '0')
const keyOf = (codes: readonly unknown[]): string => codes.map((code) => code ?? '-').join('|')
const IN_2021 = { dimension: 'reference_year', operator: 'EQ', value: 2021 }
const dbf = (rows: readonly Cells[]): Buffer =>
  makeDbf({ columns: Object.keys(rows[0] ?? {}).map((name) => [name, 10] as const), rows })
const small = await makeSmallRelease('admissions')
const { importRows } = await prepareImports<Cells>(small.snapshots, 'sim', dbf)

const SEXES = [
  ['1', 'M'],
  ['2', 'F'],
  ['0', null],
] as const
/** Deaths of residents of Roraima. */
const DEATHS = Array.from(
  { length: 30 },
  (_, index): Cells => ({
    ...{
      TIPOBITO: '2',
      DTOBITO: `15${twoDigits(1 + (index % 12))}2021`,
      IDADE: '470',
      SEXO: '1',
      CODMUNRES: '140010',
      CODMUNOCOR: '140010',
    },
    ...{ LOCOCOR: '1', CAUSABAS: 'I219', RACACOR: '1' },
  }),
)
const FETAL_CELLS = [
  ['1', '00-21'],
  ['2', '22-27'],
  ['5', '37-41'],
  ['8', '28-36'],
  ['7', null],
  ['A', null],
  ['9', null],
  ['', null],
] as const
/** Fetal deaths of residents of four states, with the meaning of their cells. */
const fetal = Array.from({ length: 600 }, () => {
  const month = draw(20) === 0 ? null : 1 + draw(12)
  const [gestationCell, gestation] = pick(FETAL_CELLS)
  const [sexCell, sex] = pick(SEXES)
  const [residence, uf] = pick([
    ['140010', 'RR'],
    ['1200401', 'AC'],
    ['350000', 'SP'],
    ['', null],
  ] as const)
  return {
    cells: {
      ...{ TIPOBITO: '1', DTOBITO: `15${month === null ? '00' : twoDigits(month)}2021`, SEXO: sexCell },
      ...{
        CODMUNRES: residence,
        LOCOCOR: '1',
        CAUSABAS: pick(['P95', 'Q000']),
        RACACOR: '4',
        GESTACAO: gestationCell,
      },
      DTNASC: '23091947',
    },
    meaning: { period: month === null ? null : `2021-${twoDigits(month)}`, uf, gestation, sex },
  }
})

t.test('fetal deaths come from a file of the country, and count among no other deaths', async (t) => {
  const {
    releasesDir,
    result,
    manifest: withFetal,
  } = await importRows({
    'DORR2021.dbf': DEATHS,
    'DOFET21.dbf': fetal.map(({ cells }) => cells),
  })
  await writePointer(releasesDir, result.analytics)
  const reader = await openClient(releasesDir)
  t.teardown(() => reader.close())
  const ask = async (metric: string, group_by: readonly string[], filters: readonly unknown[] = []) => {
    const { status, body, text } = await reader.query({
      metrics: [metric],
      group_by,
      filters: [IN_2021, ...filters],
      limit: 1000,
    })
    t.equal(status, 200, text.slice(0, 300))
    const rows = body.data as {
      dimensions: Record<string, { code: unknown }>
      metrics: Record<string, number | null>
    }[]
    return {
      rows: new Map(
        rows.map(({ dimensions, metrics }) => [
          keyOf(group_by.map((code) => dimensions[code]?.code)),
          metrics[metric],
        ]),
      ),
      notes: body.meta.notes as readonly Record<string, unknown>[],
    }
  }
  const withMonth = fetal.filter(({ meaning }) => meaning.period !== null)
  for (const [group_by, members] of [
    [[], fetal.map(() => '')],
    [['gestation'], fetal.map(({ meaning }) => keyOf([meaning.gestation]))],
    [['sex', 'gestation'], fetal.map(({ meaning }) => keyOf([meaning.sex, meaning.gestation]))],
    [['reference_period'], withMonth.map(({ meaning }) => keyOf([meaning.period]))],
  ] as const) {
    const expected = new Map<string, number>()
    for (const member of members) expected.set(member, (expected.get(member) ?? 0) + 1)
    const { rows, notes } = await ask('fetal_deaths', group_by)
    for (const [key, value] of expected) t.equal(rows.get(key), value, `${group_by.join()}: ${key}`)
    t.equal(
      [...rows.values()].reduce<number>((sum, value) => sum + (value ?? 0), 0),
      members.length,
      group_by.join(),
    )
    t.equal(
      notes.find(({ code }) => code === 'fetal_deaths_without_month')?.fetal_deaths,
      fetal.length - withMonth.length,
    )
  }
  const { rows } = await ask('fetal_deaths', ['residence_state'])
  for (const uf of ['RR', 'AC', 'SP'])
    t.equal(rows.get(uf), fetal.filter(({ meaning }) => meaning.uf === uf).length, uf)
  t.equal(rows.get('BA'), 0, 'the file is of the country, so a state without rows has none')
  t.equal(
    (await ask('deaths', ['residence_state'])).rows.get('BA') ?? null,
    null,
    'files of deaths are by state',
  )
  t.equal(
    (await ask('deaths', [], [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }])).rows.get(''),
    DEATHS.length,
  )
  t.equal(withFetal.coverage.fetal_deaths?.['202103']?.states, 'all')
  t.same(withFetal.coverage.deaths?.['202103']?.states, ['RR'])

  const listed = await reader.get('/v1/sim/fetal?uf=AC&reference_period=2021-03&limit=100')
  t.equal(
    listed.body.data.reduce((sum: number, row: { fetal_deaths: number }) => sum + row.fetal_deaths, 0),
    fetal.filter(({ meaning }) => meaning.uf === 'AC' && meaning.period === '2021-03').length,
  )
  t.notMatch(listed.text, '23091947')
  const lineage = await reader.post('/v1/analytics/lineage', {
    ...{ metrics: ['fetal_deaths'], group_by: [], key: {}, rows: true, limit: 1000 },
    filters: [IN_2021, { dimension: 'residence_municipality', operator: 'EQ', value: 1_400_100 }],
  })
  const path = join(temporaryFolder('published'), 'DOFET21.dbf')
  writeFileSync(path, dbf(fetal.map(({ cells }) => cells)))
  t.ok(lineage.body.data.length > 20)
  for (const { published_rows } of lineage.body.data.slice(0, 40)) {
    const found = await findPublishedRows(path, published_rows.where, { limit: 5, offset: 0 })
    t.equal(found.count, published_rows.count, JSON.stringify(published_rows))
    t.notMatch(JSON.stringify(found.rows), /DTOBITO|DTNASC/)
  }
})

t.test('fetal deaths without files of deaths', async (t) => {
  const { releasesDir, result } = await importRows({ 'DOFET21.dbf': fetal.map(({ cells }) => cells) })
  await writePointer(releasesDir, result.analytics)
  const reader = await openClient(releasesDir)
  t.teardown(() => reader.close())
  const { body } = await reader.query({
    metrics: ['deaths', 'fetal_deaths'],
    group_by: [],
    filters: [IN_2021],
  })
  t.same(body.data[0].metrics, { deaths: null, fetal_deaths: fetal.length })
})
