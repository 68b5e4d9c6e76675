/**
 * Deaths by the place where they happened, against plain SQL over what was drawn: each death is drawn with its cells and with what they
 * mean, so nothing of src/import decodes the table. The dead live in all states, and die in two of them, abroad, or nobody knows where.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { findPublishedRows } from '../../src/import/published-rows.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { writePointer } from '../../src/release/writer.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { createDraws } from '../fixtures/draws.ts'
import { prepareImports } from '../fixtures/file-imports.ts'
import { peersOf } from '../fixtures/peers.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>
type Meaning = Readonly<Record<string, string | number | null>>
interface Drawn {
  readonly cells: Cells
  readonly meaning: Meaning
}

const { draw, pick } = createDraws(41)
const twoDigits = (number: number): string => String(number).padStart(2, '0')
/** Published place of the death → state, major region and municipality. */
const PLACES = [
  ['140010', 'RR', 1, 1_400_100],
  ['1400100', 'RR', 1, 1_400_100],
  ['140002', 'RR', 1, 1_400_027],
  ['120040', 'AC', 1, 1_200_401],
  ['1200203', 'AC', 1, 1_200_203],
  ['530010', 'DF', 5, 5_300_108],
  // Administrative regions of Brasília have codes of their own.
  ['530020', 'DF', 5, 5_300_108],
  ['120000', 'AC', 1, 1_200_000],
  ['', null, null, null],
  ['0000000', null, null, null],
  ['900126', null, null, null],
] as const
/** Published cause → category and chapter. */
const CAUSES = [
  ['I219', 'I21', '09'],
  ['C509', 'C50', '02'],
  ['R99', 'R99', '18'],
  ['X954', 'X95', '20'],
  ['', null, null],
] as const
/** Published sex and age → their codes. */
const SEXES = [
  ['1', 'M'],
  ['2', 'F'],
  ['0', null],
] as const
const AGES = [
  ['470', '70-74', null],
  ['206', '00-04', 'early_neonatal'],
  ['207', '00-04', 'late_neonatal'],
  ['', null, null],
] as const
const RESIDENCES: Readonly<Record<string, string>> = { RR: '140010', AC: '120040' }

interface Parts {
  readonly month: number | null
  readonly place: (typeof PLACES)[number]
  readonly cause: (typeof CAUSES)[number]
  readonly sex: (typeof SEXES)[number]
  readonly age: (typeof AGES)[number]
  readonly place_of_death: string
}
function makeDeath(
  file: string,
  residence: string,
  { month, place, cause, sex, age, place_of_death }: Parts,
): Drawn {
  const date = `15${month === null ? '00' : twoDigits(month)}2021`
  return {
    cells: {
      ...{
        TIPOBITO: '2',
        DTOBITO: date,
        IDADE: age[0],
        SEXO: sex[0],
        CODMUNRES: residence,
        CODMUNOCOR: place[0],
      },
      ...{ LOCOCOR: place_of_death, CAUSABAS: cause[0], RACACOR: '1' },
    },
    meaning: {
      ...{ file, period: month === null ? null : `2021-${twoDigits(month)}`, year: 2021, place_of_death },
      ...{
        uf: place[1],
        region: place[2],
        municipality: place[3],
        category: cause[1],
        chapter: cause[2],
        sex: sex[1],
      },
      ...{ age_group: age[1], infant_age: age[2] },
    },
  }
}
const drawDeath = (file: string, residence: string): Drawn =>
  makeDeath(file, residence, {
    month: draw(20) === 0 ? null : 1 + draw(12),
    ...{ place: pick(PLACES), cause: pick(CAUSES), sex: pick(SEXES), age: pick(AGES) },
    place_of_death: pick(['1', '3', '4', '9']),
  })
/** A death of known codes, because files whose rows of a month have no code of a dimension do not carry it. */
const codedDeath = (file: string, residence: string, month: number): Drawn =>
  makeDeath(file, residence, {
    month,
    place: PLACES[0],
    cause: CAUSES[0],
    sex: SEXES[0],
    age: AGES[0],
    place_of_death: '1',
  })
const many = (count: number, make: () => Drawn): Drawn[] => Array.from({ length: count }, make)
const FILES: Readonly<Record<string, readonly Drawn[]>> = {
  ...Object.fromEntries(
    STATES.map(({ uf, ibge_code }) => {
      const residence = RESIDENCES[uf] ?? `${ibge_code}0000`
      const drawn = many(uf in RESIDENCES ? 900 : 40, () => drawDeath(uf, residence))
      const ofEachMonth = Array.from({ length: 12 }, (_, index) => codedDeath(uf, residence, index + 1))
      return [`DO${uf}2021.dbf`, [...ofEachMonth, ...drawn]]
    }),
  ),
  'DOREXT21.dbf': many(60, () => drawDeath('EX', '900126')),
}
const cellsOf = (names: readonly string[]): Record<string, readonly Cells[]> =>
  Object.fromEntries(names.map((name) => [name, (FILES[name] ?? []).map(({ cells }) => cells)]))
const dbf = (rows: readonly Cells[]): Buffer =>
  makeDbf({ columns: Object.keys(rows[0] ?? {}).map((name) => [name, 10] as const), rows })

const connection = await (await DuckDBInstance.create(':memory:')).connect()
const json = join(temporaryFolder('occurrences'), 'deaths.json')
writeFileSync(
  json,
  JSON.stringify(Object.values(FILES).flatMap((drawn) => drawn.map(({ meaning }) => meaning))),
)
await connection.run(`CREATE TABLE deaths AS SELECT * FROM read_json('${json}')`)

const small = await makeSmallRelease('admissions')
const { importRows } = await prepareImports<Cells>(small.snapshots, 'sim', dbf)
async function open(names: readonly string[]) {
  const imported = await importRows(cellsOf(names))
  await writePointer(imported.releasesDir, imported.result.analytics)
  const client = await openClient(imported.releasesDir)
  t.teardown(() => client.close())
  return { ...imported, client }
}
const { client, manifest } = await open(Object.keys(FILES))
const partial = await open(['DORR2021.dbf', 'DOAC2021.dbf'])

/** Dimension → column of the drawn deaths. */
const COLUMNS: Readonly<Record<string, string>> = {
  reference_period: 'period',
  state: 'uf',
  municipality: 'municipality',
  region: 'region',
  sex: 'sex',
  age_group: 'age_group',
  infant_age: 'infant_age',
  cause_chapter: 'chapter',
  cause_category: 'category',
  place_of_death: 'place_of_death',
}
const IN_2021 = { dimension: 'reference_year', operator: 'EQ', value: 2021 }
const inState = (uf: string) => ({ dimension: 'state', operator: 'EQ', value: uf })

/** Codes of municipalities are numbers, those of regions texts. */
const keyOf = (codes: readonly unknown[]): string => codes.map((code) => code ?? '-').join('|')

async function question(reader: Client, group_by: readonly string[], filters: readonly unknown[] = []) {
  const { status, body, text } = await reader.query({
    metrics: ['deaths_by_occurrence'],
    group_by,
    filters: [IN_2021, ...filters],
    limit: 10_000,
  })
  t.equal(status, 200, text.slice(0, 300))
  const rows = new Map<string, number | null>(
    body.data.map(
      (row: { dimensions: Record<string, { code: unknown }>; metrics: Record<string, number | null> }) => [
        keyOf(group_by.map((code) => row.dimensions[code]?.code)),
        row.metrics.deaths_by_occurrence,
      ],
    ),
  )
  return { rows, notes: body.meta.notes as readonly Record<string, unknown>[] }
}
async function count(group_by: readonly string[], where: string): Promise<ReadonlyMap<string, number>> {
  const columns = group_by.map((code) => COLUMNS[code] ?? '')
  const rows = await connection.runAndReadAll(
    `SELECT ${[...columns, 'count(*) AS counted'].join(', ')} FROM deaths WHERE ${where} ${group_by.length === 0 ? '' : 'GROUP BY ALL'}`,
  )
  return new Map(
    rows.getRowObjectsJson().map((row) => [keyOf(columns.map((column) => row[column])), Number(row.counted)]),
  )
}

t.test('drawn questions over the files of all states', async (t) => {
  for (let index = 0; index < countOf(40, 20); index += 1) {
    const group_by = [...new Set([pick(Object.keys(COLUMNS)), pick(Object.keys(COLUMNS))])].slice(0, draw(3))
    const uf = pick([null, 'RR', 'AC', 'DF', 'SP'])
    const name = `by ${group_by.join()} in ${uf ?? 'Brazil'}`
    const { rows, notes } = await question(client, group_by, uf === null ? [] : [inState(uf)])
    const ofMonths = group_by.includes('reference_period') ? ' AND period IS NOT NULL' : ''
    const counted = await count(group_by, `${uf === null ? 'true' : `uf = '${uf}'`}${ofMonths}`)
    for (const [key, value] of counted) t.equal(rows.get(key), value, `${name}: ${key}`)
    const sum = (values: Iterable<number | null>): number =>
      [...values].reduce<number>((all, value) => all + (value ?? 0), 0)
    t.equal(sum(rows.values()), sum(counted.values()), `sum of ${name}`)
    t.notOk(
      notes.some(({ code }) => code === 'partial_occurrence'),
      name,
    )
  }
})

t.test('deaths by occurrence and by residence are the same deaths', async (t) => {
  const { body } = await client.query({
    metrics: ['deaths', 'deaths_by_occurrence'],
    group_by: ['sex'],
    filters: [IN_2021],
  })
  for (const { metrics } of body.data) t.equal(metrics.deaths_by_occurrence, metrics.deaths)
  t.equal(
    manifest.checks.find(({ name }) => name === 'deaths_by_occurrence_sums_equal_snapshot_2021')?.violations,
    0,
  )
  const [unknown] = [...(await count([], 'uf IS NULL')).values()]
  t.equal(manifest.counts.deaths_at_unknown_places_2021, unknown)
})

t.test(
  'without the files of all states, a note says what is missing, and other states are null',
  async (t) => {
    const { rows, notes } = await question(partial.client, ['state'])
    for (const uf of ['RR', 'AC']) {
      const [counted] = [...(await count([], `uf = '${uf}' AND file IN ('RR', 'AC')`)).values()]
      t.equal(rows.get(uf), counted, uf)
    }
    t.equal(rows.get('DF'), null, 'residents of two states died there, and those of others nobody knows')
    t.ok(notes.some(({ code }) => code === 'partial_occurrence'))
    t.same([...(await question(partial.client, [])).rows.values()], [null], 'the country is not known')
    const { client: ofOneState } = await open(['DORR2021.dbf'])
    const [ofRoraima] = [...(await question(ofOneState, [], [inState('RR')])).rows.values()]
    t.equal(ofRoraima, [...(await count([], "uf = 'RR' AND file = 'RR'")).values()][0])
    t.same(
      [...(await question(ofOneState, [])).rows.values()],
      [null],
      'the dead of one state did not all die in it, so a release of one state says nothing without a place',
    )
    t.notOk(
      (
        await partial.client.query({ metrics: ['deaths'], group_by: ['residence_state'], filters: [IN_2021] })
      ).body.meta.notes.some(({ code }: { code: string }) => code === 'partial_occurrence'),
      'deaths by residence are complete',
    )
  },
)

t.test('rows add up to their totals, with a row of the deaths at unknown places', async (t) => {
  const { body } = await client.query({
    metrics: ['deaths_by_occurrence'],
    group_by: ['state', 'municipality'],
    filters: [IN_2021],
    totals: true,
    limit: 10_000,
  })
  const values = body.data.map(
    ({ metrics }: { metrics: Record<string, number> }) => metrics.deaths_by_occurrence,
  )
  const sum = values.reduce((all: number, value: number) => all + value, 0)
  t.equal(sum, [...(await count([], 'true')).values()][0])
  t.match(JSON.stringify(body.totals), new RegExp(`"deaths_by_occurrence":${sum}\\b`))
  const placeless = body.data.filter(
    ({ dimensions }: { dimensions: Record<string, { code: unknown }> }) => dimensions.state?.code === null,
  )
  t.equal(placeless.length, 1)
  const change = await client.query({
    ...{ metrics: ['deaths_by_occurrence'], group_by: ['state'] },
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2021-06' }],
    change: { to: 'previous' },
  })
  t.equal(change.status, 200, change.text.slice(0, 300))
  t.equal(
    change.body.data.reduce(
      (all: number, { metrics }: { metrics: Record<string, number> }) =>
        all + (metrics.deaths_by_occurrence__base ?? 0),
      0,
    ),
    [...(await count([], "period = '2021-05'")).values()][0],
  )
})

t.test('residents beside their peers: the comparator is the answer of the group', async (t) => {
  const census = await client.query({
    metrics: ['population_census'],
    group_by: ['region', 'municipality'],
    limit: 10_000,
  })
  const { groupOf, groups } = peersOf(census.body.data)
  const metrics = ['deaths', 'ill_defined_deaths_share', 'deaths_per_100k']
  const [rows, grouped] = await Promise.all([
    client.query({
      ...{ metrics, group_by: ['residence_municipality'], filters: [IN_2021], limit: 10_000 },
      compare_to: { with: 'peers' },
    }),
    client.query({
      ...{ metrics, group_by: ['g'], filters: [IN_2021], limit: 10_000 },
      groupings: { g: { dimension: 'residence_municipality', groups, others: 'group' } },
    }),
  ])
  t.equal(grouped.status, 200, grouped.text.slice(0, 300))
  type Row = { dimensions: Record<string, { code: unknown }>; metrics: Record<string, number | null> }
  const values = new Map(
    (grouped.body.data as Row[]).map((row) => [String(row.dimensions.g?.code), row.metrics]),
  )
  let compared = 0
  const differences: string[] = []
  for (const row of rows.body.data as Row[]) {
    const code = Number(row.dimensions.residence_municipality?.code)
    const expected = values.get(groupOf.get(code) ?? '')
    for (const metric of metrics) {
      const found = row.metrics[`${metric}__comparator`] ?? null
      if (found !== (expected?.[metric] ?? null)) differences.push(`${code} ${metric}: ${found}`)
      if (found !== null) compared += 1
    }
  }
  t.same(differences.slice(0, 5), [])
  t.ok(compared > 5_000, `${compared} values`)
})

t.test('deaths without a month are noted for the files of every state', async (t) => {
  const { notes } = await question(client, [], [inState('RR')])
  const noted = notes.filter(({ code }) => code === 'deaths_without_month')
  const [expected] = [...(await count([], 'period IS NULL')).values()]
  const files = await connection.runAndReadAll(
    'SELECT DISTINCT file FROM deaths WHERE period IS NULL ORDER BY file',
  )
  const states = files.getRowObjectsJson().map(({ file }) => file)
  t.ok(states.includes('AC') && states.includes('EX'))
  t.match(
    noted,
    [{ year: 2021, states, deaths: expected }],
    'residents of Acre and of other countries may have died in Roraima',
  )
})

t.test('lineage names the published rows', async (t) => {
  const { status, body, text } = await client.post('/v1/analytics/lineage', {
    ...{ metrics: ['deaths_by_occurrence'], group_by: [], key: {}, rows: true, limit: 1000 },
    filters: [IN_2021, { dimension: 'municipality', operator: 'EQ', value: 1_400_100 }],
  })
  t.equal(status, 200, text.slice(0, 300))
  const folder = temporaryFolder('published')
  let compared = 0
  for (const { published_rows, sources } of body.data.slice(0, 60)) {
    const path = join(folder, sources[0].file)
    writeFileSync(path, dbf(cellsOf([sources[0].file])[sources[0].file] ?? []))
    const found = await findPublishedRows(path, published_rows.where, { limit: 5, offset: 0 })
    t.equal(found.count, published_rows.count, JSON.stringify(published_rows))
    compared += 1
  }
  t.ok(compared > 20)
})

t.test('the list has the deaths of a place, with the files of the states where the dead lived', async (t) => {
  const { status, body, text } = await client.get(
    '/v1/sim/occurrence?occurrence_municipality_code=1400100&reference_period=2021-03&limit=100',
  )
  t.equal(status, 200, text.slice(0, 300))
  const [counted] = [...(await count([], "municipality = 1400100 AND period = '2021-03'")).values()]
  t.equal(
    body.data.reduce((sum: number, { deaths }: { deaths: number }) => sum + deaths, 0),
    counted,
  )
  t.ok(new Set(body.data.map(({ source_file }: { source_file: string }) => source_file)).size > 1)
  for (const row of body.data) t.same([row.uf, row.municipality_name], ['RR', 'Boa Vista'])
  const list = '/v1/sim/occurrence?uf=RR&reference_period=2021-03&count=true'
  const [complete, some] = [await client.get(list), await partial.client.get(list)]
  t.ok(complete.body.pagination.total > 0)
  t.notOk('notes' in complete.body.meta)
  t.equal(some.body.pagination.total, null, 'residents of states without a file may have died there')
  t.match(some.body.meta.notes, [{ code: 'not_collected', dataset: 'deaths_by_occurrence' }])
})
