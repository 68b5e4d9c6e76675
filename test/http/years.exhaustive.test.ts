/** Lists refuse years that the release does not hold, because an empty list would look like zero. */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir } = await makeSmallRelease('financing')
const client = await openClient(releasesDir)
t.teardown(() => client.close())

for (const list of [
  '/v1/demography/population?',
  '/v1/demography/population-by-age?state=RR&',
  '/v1/health-financing/sources?',
])
  t.test(list, async (t) => {
    const [row] = (await client.get(`${list}limit=1`)).body.data
    const year: number = row.reference_year
    for (const years of ['1999', `1999,${year}`]) {
      const { status, body } = await client.get(`${list}reference_year=${years}&count=true`)
      t.equal(status, 400, years)
      const [error] = body.errors
      t.equal(error.parameter, 'reference_year')
      if (years === '1999') t.ok(error.allowed.includes(year), 'the refusal lists the years')
    }
    const { status, body } = await client.get(`${list}reference_year=${year}&count=true`)
    t.equal(status, 200)
    t.ok(body.pagination.total > 0)
  })
