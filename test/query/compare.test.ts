/** Two releases that differ by planted changes: each is found with its cause, and nothing else is. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { columnOf, readZip, splitTable } from '../fixtures/raw-base.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const { releasesDir, snapshots } = small
const before = small.result.analytics
const csv = temporaryFolder('compare')
const folder = join(csv, 'month')
mkdirSync(folder)
for (const [name, bytes] of await readZip(join(snapshots, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP')))
  writeFileSync(join(folder, name), bytes)
cpSync(join(snapshots, 'ibge'), join(csv, 'ibge'), { recursive: true })

const BEDS = 'rlEstabComplementar202605.csv'
const FACILITIES = 'tbEstabelecimento202605.csv'
const beds = splitTable(readFileSync(join(folder, BEDS)))
const facilities = splitTable(readFileSync(join(folder, FACILITIES)))
const [unit, existing, sus] = ['CO_UNIDADE', 'QT_EXIST', 'QT_SUS'].map((name) => columnOf(beds, name)) as [
  number,
  number,
  number,
]
const facilityUnit = columnOf(facilities, 'CO_UNIDADE')
const place = columnOf(facilities, 'CO_MUNICIPIO_GESTOR')
const closing = columnOf(facilities, 'CO_MOTIVO_DESAB')
const facilityOf = new Map(facilities.rows.map((row) => [row[facilityUnit], row]))
/** Active facilities of Roraima with beds, each once, with their rows. */
const hospitals = [...new Set(beds.rows.map((row) => row[unit] ?? ''))]
  .filter((id) => {
    const row = facilityOf.get(id)
    return row !== undefined && row[closing] === '' && row[place]?.startsWith('14')
  })
  .map((id) => ({ id, rows: beds.rows.filter((row) => row[unit] === id && Number(row[existing]) > 0) }))
  .filter(({ rows }) => rows.length > 1)
const [revised, removed, added, moved, closed] = hospitals
if (!revised || !removed || !added || !moved || !closed)
  throw new Error('the demonstration has too few hospitals')
const sumOf = (rows: readonly (readonly string[])[], column: number): number =>
  rows.reduce((sum, row) => sum + Number(row[column]), 0)

// Planted: 7 beds more in one record; one record gone; one record new (a bed type the hospital did not have); a hospital
// in another municipality; a hospital closed.
const AWAY = '140002'
const away = moved.rows[0] === undefined ? '' : (facilityOf.get(moved.id)?.[place] ?? '')
if (away === AWAY) throw new Error('the hospital is there already')
const typeColumn = columnOf(beds, 'CO_LEITO')
const types = new Set(beds.rows.filter((row) => row[unit] === added.id).map((row) => row[typeColumn]))
const template = beds.rows.find((row) => !types.has(row[typeColumn])) ?? []
const newRow = template.map((cell, index) =>
  index === unit ? added.id : index === existing ? '11' : index === sus ? '5' : cell,
)
const quote = (row: readonly string[]): string =>
  row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(';')
const write = (file: string, columns: readonly string[], rows: readonly (readonly string[])[]): void =>
  writeFileSync(
    join(folder, file),
    Buffer.from(`${[columns, ...rows].map(quote).join('\r\n')}\r\n`, 'latin1'),
  )
write(BEDS, beds.columns, [
  ...beds.rows
    .filter((row) => row !== removed.rows[0])
    .map((row) =>
      row === revised.rows[0]
        ? row.map((cell, index) => (index === existing ? String(Number(cell) + 7) : cell))
        : row,
    ),
  newRow,
])
write(
  FACILITIES,
  facilities.columns,
  facilities.rows.map((row) =>
    row[facilityUnit] === moved.id
      ? row.map((cell, index) => (index === place ? AWAY : cell))
      : row[facilityUnit] === closed.id
        ? row.map((cell, index) => (index === closing ? '01' : cell))
        : row,
  ),
)
const imported = await importPaths([folder, join(csv, 'ibge'), join(snapshots, 'territory')], {
  releasesDir,
  maxRejected: 0.001,
})
const after = imported.analytics
writePointer(releasesDir, after)
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const compare = (body: Record<string, unknown>) =>
  client.post('/v1/analytics/compare', { old_release_id: before, ...body })
const gone = Number(removed.rows[0]?.[existing])
const leaving = sumOf(closed.rows, existing)

t.test('every planted change of the country’s beds, and nothing else', async (t) => {
  const { status, body } = await compare({ metrics: ['bed_capacity_existing'] })
  t.equal(status, 200)
  t.equal(body.data.length, 1)
  const { old: was, new: is, delta, causes } = body.data[0].metrics.bed_capacity_existing
  t.equal(delta, 7 + 11 - gone - leaving)
  t.equal(is - was, delta)
  t.same(causes, [
    { side: 'numerator', cause: 'added', records: 1, delta: 11 },
    { side: 'numerator', cause: 'removed', records: 1, delta: -gone },
    { side: 'numerator', cause: 'revised', records: 1, delta: 7 },
    { side: 'numerator', cause: 'reclassified', records: closed.rows.length, delta: -leaving },
  ])
  t.same([body.meta.old.release_id, body.meta.new.release_id], [before, after])
  t.equal(body.meta.same_content, false)
  const same = await compare({ metrics: ['bed_capacity_existing'], old_release_id: after })
  t.match(same.body.meta, { same_content: true, changed_rows: 0 })
})

t.test('by municipality: only those that a change touches', async (t) => {
  const { body } = await compare({ metrics: ['bed_capacity_existing'], group_by: ['municipality'] })
  const touched = [revised, removed, added, moved, closed].map(({ id }) => facilityOf.get(id)?.[place])
  const codes = body.data.map(({ dimensions }: { dimensions: { municipality: { code: number } } }) =>
    String(dimensions.municipality.code).slice(0, 6),
  )
  t.same([...codes].sort(), [...new Set([...touched, AWAY])].sort())
  for (const { metrics } of body.data) {
    const { old: was, new: is, delta, causes } = metrics.bed_capacity_existing
    t.equal(
      causes.reduce((sum: number, cause: { delta: number }) => sum + cause.delta, 0),
      delta,
      'causes add up',
    )
    t.equal(is - was, delta)
  }
  const arrived = body.data[codes.indexOf(AWAY)].metrics.bed_capacity_existing.causes
  t.ok(
    arrived.some(
      ({ cause, delta }: { cause: string; delta: number }) =>
        cause === 'reclassified' && delta === sumOf(moved.rows, existing),
    ),
    'the hospital that moved',
  )
  const all = await compare({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality'],
    only_changed: false,
    limit: 10_000,
  })
  t.ok(all.body.pagination.total_rows >= 5571, 'rows without a difference when they are asked for')
})

t.test('rates, distinct counts and facilities', async (t) => {
  const { body } = await compare({
    metrics: ['beds_existing_per_100k', 'facilities_with_beds', 'facilities_count', 'beds_per_facility'],
    group_by: ['state'],
  })
  t.same(
    body.data.map(({ label }: { label: string }) => label),
    ['Roraima'],
  )
  const { metrics } = body.data[0]
  t.same(metrics.facilities_count.causes, [
    { side: 'numerator', cause: 'reclassified', records: 1, delta: -1 },
  ])
  t.equal(metrics.facilities_count.delta, -1)
  t.same(metrics.facilities_with_beds.causes, [
    { side: 'numerator', cause: 'reclassified', records: 1, delta: -1 },
  ])
  const rate = metrics.beds_existing_per_100k
  t.equal(rate.delta, Math.round((rate.new - rate.old) * 100) / 100)
  t.ok(
    rate.causes.every(({ side }: { side: string }) => side === 'numerator'),
    'the people did not change',
  )
  t.same(
    [...new Set(metrics.beds_per_facility.causes.map(({ side }: { side: string }) => side))],
    ['numerator', 'denominator'],
  )
})

t.test('a release against itself, and back', async (t) => {
  const same = await compare({
    metrics: ['bed_capacity_existing', 'population_census'],
    group_by: ['state'],
    new_release_id: before,
  })
  t.same(same.body.data, [])
  const back = await compare({
    metrics: ['bed_capacity_existing'],
    old_release_id: after,
    new_release_id: before,
  })
  const { causes, delta } = back.body.data[0].metrics.bed_capacity_existing
  t.equal(delta, -(7 + 11 - gone - leaving))
  t.same(
    causes.map(({ cause, records }: { cause: string; records: number }) => [cause, records]),
    [
      ['added', 1],
      ['removed', 1],
      ['revised', 1],
      ['reclassified', closed.rows.length],
    ],
  )
})

t.test(
  'the causes of a denominator add up where the years of the estimates differ',
  secondRing,
  async (t) => {
    const folder = join(temporaryFolder('earlier'), 'ibge')
    cpSync(join(snapshots, 'ibge'), folder, {
      recursive: true,
      filter: (path) => !/9324_2025|malha|snapshot/.test(path),
    })
    const { analytics: earlier } = await importPaths([folder], { releasesDir, maxRejected: 0.001 })
    for (const group_by of [[], ['state'], ['reference_period']]) {
      const { status, body } = await compare({
        metrics: [
          'beds_existing_per_100k',
          ...(group_by.includes('reference_period') ? [] : ['population_estimated']),
        ],
        group_by,
        filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
        population_basis: 'estimate_of_period',
        old_release_id: earlier,
        new_release_id: after,
      })
      t.equal(status, 200, JSON.stringify(body).slice(0, 200))
      t.equal(body.data.length, group_by.includes('state') ? 2 : 1)
      for (const { metrics } of body.data) {
        const causes = metrics.beds_existing_per_100k.causes.filter(
          ({ side }: { side: string }) => side === 'denominator',
        )
        t.ok(causes.length > 0 && causes.every(({ cause }: { cause: string }) => cause === 'revised'))
        const sum = causes.reduce((total: number, { delta }: { delta: number }) => total + delta, 0)
        t.not(sum, 0)
        if (metrics.population_estimated !== undefined) t.equal(sum, metrics.population_estimated.delta)
      }
    }
    const body = {
      metrics: ['beds_existing_per_100k'],
      population_basis: 'estimate_of_period',
      old_release_id: earlier,
      new_release_id: after,
    }
    const limited = await client.post('/v1/analytics/compare', body, {
      authorization: `Bearer ${client.keyWithout('demography.read')}`,
    })
    const { beds_existing_per_100k: full } = (await compare(body)).body.data[0].metrics
    const { beds_existing_per_100k: partial } = limited.body.data[0].metrics
    t.ok(full.causes.some(({ side }: { side: string }) => side === 'denominator'))
    t.same(partial, {
      ...full,
      causes: full.causes.filter(({ side }: { side: string }) => side !== 'denominator'),
    })
  },
)

t.test('what is refused', async (t) => {
  const missing = await client.post('/v1/analytics/compare', { metrics: ['bed_capacity_existing'] })
  t.equal(missing.status, 400)
  t.equal(missing.body.errors[0].pointer, '/old_release_id')
  const absent = before.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  for (const body of [{ old_release_id: absent }, { new_release_id: absent }]) {
    const answer = await compare({ metrics: ['bed_capacity_existing'], ...body })
    t.equal(answer.status, 409)
    t.equal(answer.body.expected, absent)
  }
  const mean = await compare({ metrics: ['bed_capacity_existing'], over_period: 'avg' })
  t.equal(mean.status, 400)
  t.equal((await compare({ metrics: ['bed_capacity_existing'], group_by: ['provider_kind'] })).status, 400)
})
