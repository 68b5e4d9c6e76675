/** Scenarios of record, list and catalog routes: the server with and without cached responses, against the rival. */
import { type Bench, checkEqual, describeRuns, duel, rateOf, type Scenario, type Side } from './context.ts'
import { searchTexts, seeded } from './kinds.ts'
import { getAll, type Request } from './load.ts'

interface Requests {
  readonly ours: readonly Request[]
  readonly rival?: readonly Request[]
}

/** Goal without caching, for every route that has a goal. */
const UNCACHED_GOAL = 1.5

/** A scenario whose goal is a ratio of requests per second. */
const against = (
  name: string,
  what: string,
  goal: number | null,
  choose: (bench: Bench) => Promise<Requests>,
): Scenario => ({
  name,
  what,
  async run(bench) {
    const { ours: requests, rival: rivalRequests = requests } = await choose(bench)
    const [ours, uncached, rival] = [await bench.ours(), await bench.uncached(), await bench.rival()]
    const sides: Side[] = [
      { server: ours, requests },
      { server: uncached, requests },
    ]
    if (rival !== null) {
      const side = { server: rival, requests: rivalRequests }
      await checkEqual({ server: ours, requests }, side)
      sides.push(side)
    }
    const [oursRuns, uncachedRuns, rivalRuns] = await duel(bench, sides)
    const goalText = goal === null ? '–' : `≥ ${goal}`
    if (rivalRuns === undefined) {
      const missing = 'skipped: PostgreSQL is not installed'
      bench.row(
        {
          scenario: name,
          ours: describeRuns(oursRuns),
          against: missing,
          ratio: null,
          goal: goalText,
          met: null,
        },
        { mine: oursRuns, cold: uncachedRuns },
      )
      return
    }
    const ratio = rateOf(oursRuns) / rateOf(rivalRuns)
    bench.row(
      {
        scenario: name,
        ours: describeRuns(oursRuns),
        against: `PostgreSQL ${describeRuns(rivalRuns)}`,
        ratio,
        goal: goalText,
        met: goal === null ? null : ratio >= goal,
      },
      { ours: oursRuns, rival: rivalRuns },
    )
    bench.row(
      {
        scenario: `${name}, nothing cached`,
        ours: describeRuns(uncachedRuns),
        against: 'the same',
        ratio: rateOf(uncachedRuns) / rateOf(rivalRuns),
        goal: goal === null ? '–' : `≥ ${UNCACHED_GOAL}`,
        met: goal === null ? null : rateOf(uncachedRuns) / rateOf(rivalRuns) >= UNCACHED_GOAL,
      },
      { ours: uncachedRuns },
    )
  },
})

/** @param seed pass a different one to scenarios that must not share cached responses */
export const recordRequests = async (bench: Bench, count = 20_000, seed = 'bench'): Promise<Request[]> =>
  getAll(
    (
      await bench.direct.texts(
        `SELECT cnes_code FROM facilities ORDER BY ${seeded('cnes_code', seed)}, cnes_code LIMIT ${count}`,
      )
    ).map((code) => `/v1/facilities/${code}`),
  )

export const ROUTES: readonly Scenario[] = [
  against('record', 'A facility by its key, 20,000 seeded keys.', 2, async (bench) => ({
    ours: await recordRequests(bench),
  })),
  against('page', 'A page of 50 facilities from anywhere in the list.', 3, async (bench) => {
    const { starts } = await bench.walk()
    const shuffled = starts.map(
      (_, index) => starts[(index * 7919) % starts.length] ?? { cursor: '', after: '' },
    )
    return {
      ours: getAll(shuffled.map(({ cursor }) => `/v1/facilities?limit=50&cursor=${cursor}`)),
      rival: getAll(
        shuffled.map(
          ({ after }) => `/v1/facilities?limit=50&cursor=${Buffer.from(after).toString('base64url')}`,
        ),
      ),
    }
  }),
  against('filtered', 'A page of 50 facilities of a state and a type.', 3, async ({ direct }) => {
    const pairs = await direct.rows(
      `SELECT uf, facility_type_code AS type FROM facilities WHERE is_active AND facility_type_code IS NOT NULL
       GROUP BY uf, facility_type_code ORDER BY ${seeded('uf || facility_type_code')}, uf, type`,
    )
    return { ours: getAll(pairs.map(({ uf, type }) => `/v1/facilities?uf=${uf}&facility_type_code=${type}`)) }
  }),
  against('search', 'Facilities whose names hold a text, accents or not.', 8, async (bench) => ({
    ours: getAll((await searchTexts(bench.direct, 2000)).map((text) => `/v1/facilities?search=${text}`)),
  })),
  against('scoped', 'The beds of a facility and their totals.', null, async ({ direct }) => ({
    ours: getAll(
      (
        await direct.texts(
          `SELECT DISTINCT cnes_code FROM bed_capacity ORDER BY ${seeded('cnes_code')}, cnes_code LIMIT 20000`,
        )
      ).map((code) => `/v1/facilities/${code}/bed-capacity`),
    ),
  })),
  against('population', 'The population of a municipality.', null, async ({ direct }) => ({
    ours: getAll(
      (
        await direct.texts(
          `SELECT DISTINCT municipality_code FROM population WHERE population_type = 'ESTIMATED_POPULATION' ORDER BY ${seeded('municipality_code')}, 1`,
        )
      ).map((code) => `/v1/demography/population/${code}`),
    ),
  })),
  against(
    'dimension-values',
    'Members of dimensions, a page at a time and by name.',
    null,
    async ({ direct }) => {
      const values = '/v1/analytics/dimensions'
      const words = await direct.texts(
        `SELECT DISTINCT left(name, 5) AS word FROM municipalities WHERE territorial_type = 'MUNICIPALITY' AND name NOT LIKE '%''%' ORDER BY ${seeded('word')} LIMIT 100`,
      )
      return {
        ours: getAll([
          ...Array.from(
            { length: 100 },
            (_, page) => `${values}/municipality/values?limit=50&offset=${page * 50}`,
          ),
          ...words.map((word) => `${values}/municipality/values?search=${encodeURIComponent(word.trim())}`),
          ...[
            'state',
            'bed_type',
            'equipment_type',
            'specialized_service_classification',
            'legal_nature',
          ].flatMap((code) => [
            `${values}/${code}/values`,
            `${values}/${code}/values?limit=10`,
            `${values}/${code}/values?limit=20&offset=10`,
          ]),
        ]),
      }
    },
  ),
]
