/**
 * Lists, a facility's totals and counts of members over a release of files by state in which tables and months are missing:
 * null and a note where nobody looked, 0 where somebody looked and found none. Row files and engine answer alike.
 */

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { type Context, callTool } from '../../src/mcp/tools.ts'
import { writePointer } from '../../src/release/writer.ts'
import { changeBase, IBGE, importChanged } from '../fixtures/changed-base.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { writeStateFile } from '../fixtures/state-month.ts'

const folder = temporaryFolder('not-collected')
const releasesDir = join(folder, 'releases')
const [HOSPITAL, CLINIC] = ['2000001', '2000002']
const files = [
  // March: facilities and beds. Only the hospital is linked to SUS and has beds.
  writeStateFile(folder, 'ST', 202603, [{ CNES: HOSPITAL }, { CNES: CLINIC, VINC_SUS: '0' }]),
  writeStateFile(folder, 'LT', 202603, [{ CNES: HOSPITAL, QT_EXIST: '   7' }]),
  // April: equipment and services alone.
  writeStateFile(folder, 'EQ', 202604, [{ CNES: HOSPITAL, QT_EXIST: '   3' }]),
  writeStateFile(folder, 'SR', 202604, [{ CNES: HOSPITAL, CNESTERC: '' }]),
  // Files by state of 2009 name the provider of a third party's service.
  writeStateFile(folder, 'SR', 200912, [
    { CNES: HOSPITAL, CNESTERC: '' },
    { CNES: HOSPITAL, SERV_ESP: '102', CARACTER: '2', CNESTERC: CLINIC },
  ]),
]
const { analytics, cnes } = await importPaths([IBGE, ...files], {
  releasesDir,
  maxRejected: 0,
  makesRows: true,
})
/** The same as a version of before made it: facilities without is_linked_sus. */
const FACILITIES = 'facilities/reference_period=202603/part-0.parquet'
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
await connection.run(
  `COPY (SELECT * EXCLUDE (is_linked_sus) FROM read_parquet('${join(releasesDir, cnes ?? '', FACILITIES)}', hive_partitioning = false))
   TO '${join(folder, 'facilities.parquet')}' (FORMAT parquet)`,
)
connection.closeSync()
instance.closeSync()
const old = await joinForged(
  releasesDir,
  analytics,
  await forgeRelease(releasesDir, cnes ?? '', (forged, manifest) => {
    const { facilities } = manifest.datasets
    if (facilities === undefined) throw new Error('no facilities')
    facilities.fields = facilities.fields.filter(({ name }) => name !== 'is_linked_sus')
    cpSync(join(folder, 'facilities.parquet'), join(forged, FACILITIES))
  }),
)
writePointer(releasesDir, analytics)
const plain = await openClient(releasesDir)
const written = await openClient(releasesDir, 1, { rows: true })
t.teardown(async () => {
  await plain.close()
  await written.close()
})
const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')
async function ask(t: Test, url: string): Promise<Reply['body']> {
  const [expected, found] = [await plain.get(url), await written.get(url)]
  t.equal(expected.status, 200, url)
  t.equal(strip(found.text), strip(expected.text), `row files and engine: ${url}`)
  return found.body
}
const missing = (dataset: string, periods: readonly string[], states: readonly string[]) => ({
  code: 'not_collected',
  effect: 'incomplete_list',
  dataset,
  periods,
  states,
})

t.test('totals of lists', async (t) => {
  const LISTS: readonly (readonly [url: string, month: string, total: number | null, note: object | null])[] =
    [
      ['/v1/facilities?', '2026-03', 2, null],
      ['/v1/facilities?uf=RR&', '2026-03', 2, null],
      ['/v1/facilities?has_beds=true&', '2026-03', 1, null],
      ['/v1/facilities?has_beds=false&', '2026-03', 1, null],
      [
        '/v1/facilities?has_equipment=true&',
        '2026-03',
        null,
        missing('equipment_inventory', ['2026-03'], ['RR']),
      ],
      [
        '/v1/facilities?offers_any_sus=true&',
        '2026-03',
        null,
        missing('specialized_services', ['2026-03'], ['RR']),
      ],
      [
        '/v1/facilities?reference_period=2026-04&',
        '2026-04',
        null,
        missing('facilities', ['2026-04'], ['RR']),
      ],
      ['/v1/bed-capacity?', '2026-03', 1, null],
      ['/v1/bed-capacity?bed_type_code=99&', '2026-03', 0, null],
      ['/v1/bed-capacity?municipality_ibge_code=140010&', '2026-03', 1, null],
      ['/v1/bed-capacity?uf=AC&', '2026-03', null, missing('bed_capacity', ['2026-03'], ['AC'])],
      [
        '/v1/bed-capacity?region_code=1&',
        '2026-03',
        null,
        missing('bed_capacity', ['2026-03'], ['AC', 'AM', 'AP', 'PA', 'RO', 'TO']),
      ],
      [`/v1/bed-capacity?cnes_code=${CLINIC}&`, '2026-03', 0, null],
      [
        `/v1/bed-capacity?cnes_code=${CLINIC}&uf=SP&`,
        '2026-03',
        null,
        missing('bed_capacity', ['2026-03'], ['SP']),
      ],
      [
        '/v1/bed-capacity?reference_period=all&',
        'all',
        null,
        missing('bed_capacity', ['2009-12', '2026-04'], ['RR']),
      ],
      ['/v1/equipment-inventory?', '2026-04', 1, null],
      [
        '/v1/equipment-inventory?uf=SP&',
        '2026-04',
        null,
        missing('equipment_inventory', ['2026-04'], ['SP']),
      ],
      ['/v1/specialized-service-offerings?', '2026-04', 1, null],
      [
        '/v1/specialized-service-offerings?provider_kind=CNES&',
        '2026-04',
        null,
        { code: 'not_carried', dimension: 'provider_kind', effect: 'incomplete_list' },
      ],
      ['/v1/specialized-service-offerings?reference_period=2009-12&provider_kind=CNES&', '2009-12', 1, null],
    ]
  for (const [url, month, total, note] of LISTS) {
    const body = await ask(t, `${url}count=true`)
    t.equal(body.meta.reference_period, month, url)
    t.equal(body.pagination.total, total, url)
    if (note === null) t.notOk('notes' in body.meta, url)
    else
      t.match(
        body.meta.notes.find(({ code, dataset }: { code: string; dataset: string }) =>
          'dataset' in note ? note.dataset === dataset : code === 'not_carried',
        ),
        note,
        url,
      )
    const uncounted = await ask(t, url.slice(0, -1))
    t.notOk('total' in uncounted.pagination, 'a total that is not asked for is not there')
    t.same(uncounted.meta.notes, body.meta.notes, 'the note is')
    const csv = await written.get(`${url}count=true`, { accept: 'text/csv' })
    t.equal(csv.headers['x-total-count'], total === null ? undefined : String(total), url)
  }
})

t.test('totals of one facility: the newest month of its state that was collected', async (t) => {
  const beds = await ask(t, `/v1/facilities/${HOSPITAL}/bed-capacity`)
  t.equal(beds.meta.reference_period, '2026-03')
  t.equal(beds.data.totals.beds_existing, 7)
  const none = await ask(t, `/v1/facilities/${CLINIC}/bed-capacity`)
  t.strictSame(none.data.totals, { bed_types: 0, beds_existing: 0, beds_sus: 0, beds_non_sus: 0 })
  t.notOk('notes' in none.meta, 'somebody looked and found none')
  const equipment = await ask(t, `/v1/facilities/${CLINIC}/equipment-inventory`)
  t.equal(equipment.data.totals.quantity_existing, 0, 'of April, which knows the clinic no more')
  const url = `/v1/facilities/${HOSPITAL}/specialized-services?reference_period=all`
  t.match((await ask(t, url)).meta.notes, [
    { ...missing('specialized_services', ['2026-03'], ['RR']), effect: 'null_totals' },
  ])
  const english = await written.get(url, { 'accept-language': 'en' })
  t.match(english.body.meta.notes, [
    { message: 'specialized_services 2026-03: not collected for RR; totals are null.' },
  ])
})

t.test('records of members', async (t) => {
  const values = async (path: string) => {
    const body = await ask(t, `/v1/analytics/dimensions/${path}`)
    return { facts: body.data.map((row: { code: string; facts: object }) => [row.code, row.facts]), body }
  }
  const states = await values('state/values?counts=true&limit=50')
  const facts = Object.fromEntries(states.facts)
  t.strictSame(facts.RR, { facilities: 2, bed_capacity: 1, equipment_inventory: 1, specialized_services: 1 })
  t.strictSame(facts.AC, {
    facilities: null,
    bed_capacity: null,
    equipment_inventory: null,
    specialized_services: null,
  })
  const beds = states.body.meta.notes.find(({ dataset }: { dataset: string }) => dataset === 'bed_capacity')
  t.match(beds, { code: 'not_collected', periods: ['2026-03'] })
  t.same([beds.states.length, beds.states.includes('RR'), beds.metrics], [26, false, ['facts.bed_capacity']])
  // Of a facility of Roraima too: nobody looked in Acre.
  const named = encodeURIComponent(
    JSON.stringify([{ dimension: 'facility', operator: 'EQ', value: HOSPITAL }]),
  )
  const ofHospital = Object.fromEntries((await values(`state/values?filters=${named}&limit=50`)).facts)
  t.strictSame([ofHospital.RR.facilities, ofHospital.AC.facilities], [1, null])
  const months = Object.fromEntries((await values('reference_period/values?counts=true')).facts)
  t.strictSame(months['2026-03'], {
    facilities: 2,
    bed_capacity: 1,
    equipment_inventory: null,
    specialized_services: null,
  })
  const kinds = await values('provider_kind/values?counts=true')
  t.ok(
    kinds.facts.every(
      ([, { specialized_services }]: [string, Record<string, unknown>]) => specialized_services === null,
    ),
  )
  t.match(kinds.body.meta.notes, [{ code: 'not_carried', dimension: 'provider_kind' }])
  const filters = encodeURIComponent(
    JSON.stringify([{ dimension: 'reference_period', operator: 'EQ', value: '2009-12' }]),
  )
  const before = Object.fromEntries((await values(`provider_kind/values?filters=${filters}`)).facts)
  t.equal(before.CNES.specialized_services, 1)
  t.equal(before.NOT_APPLICABLE.specialized_services, 1, 'an own service has no third party')
  t.equal(before.CNPJ.specialized_services, 0)
})

t.test('who provides a service: said by state before 2010, null since', async (t) => {
  const kindsOf = async (month: string) =>
    (await ask(t, `/v1/specialized-service-offerings?reference_period=${month}`)).data.map(
      (row: { provider_kind: string | null }) => row.provider_kind,
    )
  t.strictSame(await kindsOf('2009-12'), ['NOT_APPLICABLE', 'CNES'])
  t.strictSame(await kindsOf('2026-04'), [null])
  const outsourced = async (value: string) => {
    const { body } = await plain.query({
      metrics: ['service_offerings', 'service_offerings_outsourced'],
      filters: [{ dimension: 'reference_period', operator: 'EQ', value }],
    })
    return body.data[0].metrics
  }
  t.strictSame(await outsourced('2009-12'), { service_offerings: 2, service_offerings_outsourced: 1 })
  t.strictSame(await outsourced('2026-04'), { service_offerings: 1, service_offerings_outsourced: null })
})

t.test('an own service without a third party, in the national base', secondRing, async (t) => {
  const cells = { CO_SERVICO: '145', TP_CARACTERISTICA: '1', CO_END_COMPL: '0' }
  const base = changeBase({
    rlEstabServClass(table) {
      for (const [index, cell] of ['NAO INFORMADO', '', 'NAO SE APLICA'].entries())
        table.add(2, { ...cells, CO_CLASSIFICACAO: `90${index}`, CO_CNPJCPF: cell })
    },
  })
  const { select } = await importChanged([base])
  t.same(
    await select('provider_kind', 'specialized_services', "WHERE classification_code LIKE '90_'"),
    Array.from({ length: 3 }, () => ({ provider_kind: 'NOT_APPLICABLE' })),
  )
})

t.test('a release of before, without is_linked_sus', async (t) => {
  const metrics = ['facilities_count', 'facilities_linked_sus']
  const { body } = await plain.query({ metrics })
  t.strictSame(body.data[0].metrics, { facilities_count: 2, facilities_linked_sus: 1 })
  const { body: answer, status, text } = await plain.query({ metrics, expected_release_id: old })
  t.equal(status, 200, text)
  t.strictSame(answer.data[0].metrics, { facilities_count: 2, facilities_linked_sus: null })
  t.match(answer.meta.notes, [{ code: 'sus_link_not_published' }])
})

t.test('the MCP tool of facilities passes on why a total is null', async (t) => {
  const api = { get: async (path: string) => (await plain.get(path)).body } as Context['api']
  const call = async (args: object) =>
    (await callTool('facility', args, { api, origin: '', version: '0' }))?.structuredContent
  t.match(await call({ uf: 'AC' }), { total: null, notes: [{ code: 'not_collected', message: /AC/ }] })
  t.match(await call({ uf: 'RR' }), { total: 2, notes: undefined })
})
