/**
 * Real files by state that leave states and months out: beds alone, equipment alone, and states of which each has another table.
 * Totals are held to tables of value or null, made of the records and sums of each file as a plain reader counts them.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

type Total = number | null

async function open(t: Test, ...files: string[]): Promise<Client> {
  const releasesDir = join(temporaryFolder('gaps-lists'), 'releases')
  const paths = [sharedPath('ibge'), ...files.map((file) => sharedPath(`cnes/dbc/${file}`))]
  const { analytics } = await importPaths(paths, { releasesDir, maxRejected: 0.001, makesRows: true })
  await promoteRelease(releasesDir, analytics)
  const client = await openClient(releasesDir, 1, { rows: true })
  t.teardown(() => client.close())
  return client
}

const FACILITIES = '/v1/facilities?'
const BEDS = '/v1/bed-capacity?'
const EQUIPMENT = '/v1/equipment-inventory?'
const SERVICES = '/v1/specialized-service-offerings?'

/** @param rows url, month of the answer (undefined: the release has none of the table), total */
async function checkLists(
  t: Test,
  client: Client,
  rows: readonly (readonly [url: string, month: string | undefined, total: Total])[],
): Promise<void> {
  for (const [url, month, total] of rows) {
    const { body, text } = await client.get(`${url}status=all&count=true&limit=1`)
    t.equal(body.pagination?.total, total, `${url} ${text}`)
    t.equal(body.meta.reference_period, month, url)
    t.equal('notes' in body.meta, total === null, `${url}: a note where it is null, and only there`)
  }
}

async function checkMetrics(
  t: Test,
  client: Client,
  filters: readonly object[],
  values: Readonly<Record<string, Total>>,
): Promise<void> {
  const { body, text, status } = await client.query({ metrics: Object.keys(values), filters })
  t.equal(status, 200, text)
  t.strictSame(body.data[0].metrics, values, JSON.stringify(filters))
}
const inState = (value: string) => [{ dimension: 'state', operator: 'EQ', value }]

t.test('Roraima, beds of 2006-10 alone', { skip: skipWithoutShared }, async (t) => {
  const client = await open(t, 'LTRR0610.dbc')
  await checkLists(t, client, [
    [BEDS, '2006-10', 102],
    [`${BEDS}uf=RR&`, '2006-10', 102],
    [`${BEDS}uf=AC&`, '2006-10', null],
    [`${BEDS}region_code=1&`, '2006-10', null],
    [FACILITIES, '2006-10', null],
    [`${FACILITIES}has_equipment=true&`, '2006-10', null],
    [EQUIPMENT, undefined, null],
    [SERVICES, undefined, null],
  ])
  const known = { bed_capacity_existing: 652, bed_capacity_sus: 635, facilities_with_beds: 17 }
  const unknown = {
    facilities_count: null,
    facilities_sus: null,
    facilities_linked_sus: null,
    facilities_with_equipment: null,
    equipment_existing: null,
    service_offerings: null,
  }
  for (const filters of [[], inState('RR')]) await checkMetrics(t, client, filters, { ...known, ...unknown })
  const nothing = Object.fromEntries(Object.keys({ ...known, ...unknown }).map((metric) => [metric, null]))
  await checkMetrics(t, client, inState('AC'), nothing)
})

t.test('Alagoas, equipment of 2015-09 alone', { skip: skipWithoutShared }, async (t) => {
  const client = await open(t, 'EQAL1509.dbc')
  await checkLists(t, client, [
    [EQUIPMENT, '2015-09', 7128],
    [`${EQUIPMENT}uf=AL&`, '2015-09', 7128],
    [`${EQUIPMENT}uf=SE&`, '2015-09', null],
    [FACILITIES, '2015-09', null],
    [BEDS, undefined, null],
    [SERVICES, undefined, null],
  ])
  await checkMetrics(t, client, [], {
    equipment_existing: 15_122,
    equipment_in_use: 14_696,
    facilities_with_beds: null,
    facilities_sus: null,
    bed_capacity_existing: null,
    service_offerings_outsourced: null,
  })
})

t.test('each state another table and month', { skip: skipWithoutShared }, async (t) => {
  const client = await open(t, 'EQAL1509.dbc', 'SRMT1509.dbc', 'SRDF1511.dbc')
  await checkLists(t, client, [
    [EQUIPMENT, '2015-09', null],
    [`${EQUIPMENT}uf=AL&`, '2015-09', 7128],
    [`${EQUIPMENT}uf=MT&`, '2015-09', null],
    [`${EQUIPMENT}uf=AL,MT&`, '2015-09', null],
    [SERVICES, '2015-11', null],
    [`${SERVICES}uf=DF&`, '2015-11', 6522],
    // The newest month of Mato Grosso, not of the Federal District.
    [`${SERVICES}uf=MT&`, '2015-09', 14_085],
    [`${SERVICES}uf=MT&reference_period=2015-11&`, '2015-11', null],
    [`${SERVICES}uf=MT&reference_period=all&`, 'all', 14_085],
    [`${SERVICES}uf=DF&reference_period=all&`, 'all', 6522],
    // Nothing of services was collected of Alagoas: the month in which something else was.
    [`${SERVICES}uf=AL&`, '2015-09', null],
    [`${SERVICES}uf=MT&provider_kind=CNES&`, '2015-09', null],
    [`${SERVICES}region_code=5&`, '2015-11', null],
    [`${FACILITIES}uf=AL&`, '2015-09', null],
    [`${FACILITIES}uf=DF&`, '2015-11', null],
    [`${BEDS}uf=AL&`, undefined, null],
  ])
  const TABLE: Readonly<Record<string, Readonly<Record<string, Total>>>> = {
    AL: { equipment_existing: 15_122, service_offerings: null },
    MT: { equipment_existing: null, service_offerings: 14_085 },
    DF: { equipment_existing: null, service_offerings: 6522 },
    SP: { equipment_existing: null, service_offerings: null },
  }
  for (const [state, values] of Object.entries(TABLE))
    await checkMetrics(t, client, inState(state), {
      ...values,
      service_offerings_outsourced: null,
      facilities_sus: null,
    })
  // One facility of each state, and its totals by table.
  const FACILITY: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
    AL: { 'equipment-inventory': '2015-09', 'specialized-services': null, 'bed-capacity': null },
    MT: { 'equipment-inventory': null, 'specialized-services': '2015-09', 'bed-capacity': null },
    DF: { 'equipment-inventory': null, 'specialized-services': '2015-11', 'bed-capacity': null },
  }
  for (const [state, tables] of Object.entries(FACILITY)) {
    const { body: list } = await client.get(`${FACILITIES}uf=${state}&limit=1`)
    const code = list.data[0].cnes_code
    t.equal((await client.get(`/v1/facilities/${code}`)).body.data.uf, state)
    for (const [path, month] of Object.entries(tables)) {
      const { body, text } = await client.get(`/v1/facilities/${code}/${path}`)
      const totals = Object.values(body.data?.totals ?? { none: text })
      t.equal(
        totals.every((total) => total === null),
        month === null,
        `${state} ${path} ${text}`,
      )
      if (month === null)
        t.match(body.meta.notes, [{ code: 'not_collected', states: [state], effect: 'null_totals' }])
      else t.equal(body.meta.reference_period, month)
    }
  }
  const { body } = await client.get('/v1/analytics/dimensions/state/values?counts=true&limit=50')
  const facts = Object.fromEntries(
    body.data.map((row: { code: string; facts: object }) => [row.code, row.facts]),
  )
  const none = { facilities: null, bed_capacity: null }
  // Without a state in the question, the newest month of any.
  t.strictSame(facts.DF, { ...none, equipment_inventory: null, specialized_services: 6522 })
  t.strictSame(facts.AL, { ...none, equipment_inventory: 7128, specialized_services: null })
  t.strictSame(facts.SP, { ...none, equipment_inventory: null, specialized_services: null })
})
