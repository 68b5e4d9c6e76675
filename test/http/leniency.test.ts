/** What is understood where nothing is ambiguous: states by their letters, months without the line, codes of six digits. */
import t, { type Test } from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
const withRows = await openClient(small.releasesDir, 1, { rows: true })
t.teardown(async () => {
  await client.close()
  await withRows.close()
})

const same = async (t: Test, lax: string, strict: string): Promise<void> => {
  for (const own of [client, withRows]) {
    const [one, two] = [await own.get(lax), await own.get(strict)]
    t.equal(one.status, 200, `${lax}: ${one.text.slice(0, 200)}`)
    t.same(one.body.data, two.body.data, lax)
    t.equal(one.body.meta.reference_period, two.body.meta.reference_period)
  }
}

for (const [lax, strict] of [
  ['/v1/states/BA', '/v1/states/29'],
  ['/v1/states/ba', '/v1/states/29'],
  ['/v1/states/rr/municipalities', '/v1/states/RR/municipalities'],
  ['/v1/municipalities?state=ba&limit=3', '/v1/municipalities?state=BA&limit=3'],
  ['/v1/municipalities/140010', '/v1/municipalities/1400100'],
  ['/v1/demography/population/140010', '/v1/demography/population/1400100'],
  ['/v1/facilities?uf=rr&limit=3', '/v1/facilities?uf=RR&limit=3'],
  ['/v1/facilities?uf=RR&uf=AC&limit=3', '/v1/facilities?uf=RR,AC&limit=3'],
  ['/v1/facilities?sort=uf&sort=-trade_name&limit=3', '/v1/facilities?sort=uf,-trade_name&limit=3'],
  ['/v1/facilities?near=2.82&near=-60.67&limit=3', '/v1/facilities?near=2.82,-60.67&limit=3'],
  ['/v1/bed-capacity?reference_period=202604&limit=3', '/v1/bed-capacity?reference_period=2026-04&limit=3'],
] as const)
  t.test(`${lax} is ${strict}`, (t) => same(t, lax, strict))

t.test('what cannot be meant is not there, or refused', async (t) => {
  for (const path of [
    '/v1/states/XX',
    '/v1/states/b',
    '/v1/municipalities/14001',
    '/v1/municipalities/999999',
  ])
    for (const own of [client, withRows]) t.equal((await own.get(path)).status, 404, path)
  t.equal((await client.get('/v1/demography/population/99999')).status, 404)
  t.equal((await client.get('/v1/bed-capacity?reference_period=202613')).status, 400)
})
