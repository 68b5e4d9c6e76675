/**
 * Two releases of one month in files by state: the older one lacks the beds of Roraima, and two beds of Acre are of another type. A group
 * that one release alone has is 0 in the other where its state was collected, and null without causes where it was not.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { changeDbf } from '../fixtures/changed-dbf.ts'
import { openClient } from '../fixtures/client.ts'
import { type Compared, type ComparedGroup, comparing } from '../fixtures/compared.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const { releasesDir, snapshots, result } = await makeSmallRelease('gaps')
const older = temporaryFolder('older')
cpSync(snapshots, older, { recursive: true })
rmSync(join(older, 'cnes/2026-05/LTRR2605.dbf'))
const acre = join(older, 'cnes/2026-05/LTAC2605.dbf')
const bytes = readFileSync(acre)
const beds = changeDbf(bytes)
const typesOf = (facility: string): string[] =>
  beds.rows.filter((row) => beds.cell(row, 'CNES') === facility).map((row) => beds.cell(row, 'CODLEITO'))
/** A record whose facility has no other one of its type, and a type of the same category that the facility lacks. */
const [FROM, TO] = ['42', '46']
const row = beds.rows.find(
  (candidate) =>
    beds.cell(candidate, 'CODLEITO') === FROM &&
    Number(beds.cell(candidate, 'QT_EXIST')) > 0 &&
    typesOf(beds.cell(candidate, 'CNES')).filter((type) => type === FROM).length === 1 &&
    !typesOf(beds.cell(candidate, 'CNES')).includes(TO),
)
if (row === undefined) throw new Error('the demonstration has no such record')
const [facility, count] = [beds.cell(row, 'CNES'), Number(beds.cell(row, 'QT_EXIST'))]
beds.put(row, 'CODLEITO', TO)
writeFileSync(acre, bytes)
const { analytics: before } = await importPaths([older], { releasesDir, maxRejected: 0.01 })
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const compare = comparing(client, before)

const MAY = { dimension: 'reference_period', operator: 'EQ', value: '2026-05' }
const sumOf = ({ causes }: Compared): number => causes.reduce((sum, { delta }) => sum + delta, 0)

for (const place of [['facility'], ['state', 'facility'], ['state'], ['municipality']])
  t.test(`by ${place.join(', ')} and type of bed`, async (t) => {
    const groups = await compare({
      new_release_id: result.analytics,
      metrics: ['bed_capacity_existing', 'beds_sus_share'],
      group_by: [...place, 'bed_type'],
      filters: [MAY],
    })
    const isOfRoraima = ({ dimensions: { state, municipality, facility: of } }: ComparedGroup): boolean =>
      state?.code === 'RR' ||
      String(municipality?.code).startsWith('14') ||
      (place.join() === 'facility' && of?.code !== facility)
    const ofRoraima = groups.filter(isOfRoraima)
    t.ok(ofRoraima.length > 10)
    for (const { metrics } of ofRoraima) {
      t.match(metrics.bed_capacity_existing, { old: null, delta: null })
      t.same(metrics.bed_capacity_existing?.causes, [])
      t.same(metrics.beds_sus_share?.causes, [])
    }
    const others = groups.filter((group) => !isOfRoraima(group))
    t.same(others.map(({ dimensions }) => dimensions.bed_type?.code).sort(), [FROM, TO].sort())
    for (const { dimensions, metrics } of others) {
      const { bed_capacity_existing: value } = metrics
      if (value === undefined) throw new Error('no value')
      t.equal(value.delta, dimensions.bed_type?.code === FROM ? count : -count)
      t.equal(value.delta, (value.new ?? Number.NaN) - (value.old ?? Number.NaN))
      t.equal(sumOf(value), value.delta, 'causes add up')
      if (place.includes('facility'))
        t.same([value.old, value.new].sort(), [0, count], 'the facility has no other bed of the type')
    }
  })

t.test('a month of one release alone is null in the other, without causes', async (t) => {
  const months = await compare({
    old_release_id: (await importMay()).analytics,
    new_release_id: result.analytics,
    metrics: ['bed_capacity_existing'],
    group_by: ['reference_period', 'bed_type'],
    filters: [
      { dimension: 'state', operator: 'EQ', value: 'AC' },
      { dimension: 'reference_period', operator: 'GTE', value: '2026-04' },
    ],
  })
  t.same([...new Set(months.map(({ dimensions }) => dimensions.reference_period?.code))], ['2026-04'])
  for (const { metrics } of months)
    t.match(metrics.bed_capacity_existing, { old: null, delta: null, causes: [] })
  t.ok(months.every(({ metrics }) => metrics.bed_capacity_existing?.causes.length === 0))
})

async function importMay() {
  const may = temporaryFolder('may')
  cpSync(snapshots, may, {
    recursive: true,
    filter: (path) => !/cnes.\d{4}-\d{2}/.test(path) || path.includes('2026-05'),
  })
  return importPaths([may], { releasesDir, maxRejected: 0.01 })
}
