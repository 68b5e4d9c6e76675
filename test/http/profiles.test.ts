/** Profiles of places: every number equals that of the query beside it; what a key may not read is left out; refusals. */
import t, { type Test } from 'tap'
import { PROFILE_INDICATORS, PROFILE_LEVELS } from '../../src/model/profiles/index.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const PLACES = countOf(8, 2)

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())

interface Indicator {
  readonly metric: string
  readonly kind: string
  readonly period: { readonly from: string; readonly to: string; readonly months: number } | null
  readonly value: number | null
  readonly lower: number | null
  readonly upper: number | null
  readonly comparator: number | null
  readonly ratio: number | null
  readonly significance: string | null
  readonly peers: {
    readonly places: number
    readonly rank: number
    readonly percentile: number
    readonly distribution: Readonly<Record<string, number>>
    readonly query: object
  } | null
  readonly course: {
    readonly points: readonly { readonly period: string; readonly value: number | null }[]
    readonly query: object
  } | null
  readonly query: object
}
interface Answered {
  readonly data: readonly {
    readonly dimensions: Readonly<Record<string, { readonly code: string | number }>>
    readonly metrics: Readonly<Record<string, number | string | null>>
  }[]
  readonly meta: { readonly notes: readonly Note[] }
}

interface Note {
  readonly code: string
  readonly metric?: string
  readonly metrics?: readonly string[]
}

const ask = async (query: object): Promise<Answered> => {
  const { status, body, text } = await client.query(query)
  if (status !== 200) throw new Error(text)
  return body as Answered
}
const askAll = async (query: object): Promise<Answered['data']> => (await ask(query)).data
const indicatorsOf = (profile: {
  readonly blocks: readonly { readonly indicators: readonly Indicator[] }[]
}): readonly Indicator[] => profile.blocks.flatMap(({ indicators }) => indicators)

/** @returns whether a note of a profile says what a note of one metric's answer says; it may say it of other metrics, too */
const saysAsMuch = (note: Note, alone: Note): boolean =>
  note.code === alone.code &&
  note.metric === alone.metric &&
  (alone.metrics ?? []).every((metric) => note.metrics?.length === 0 || note.metrics?.includes(metric))

/**
 * Compares an indicator with the answers of its own queries.
 * @param notes those of the profile
 * @param hasPeers also reads the values of all places
 */
async function compare(
  t: Test,
  indicator: Indicator,
  notes: readonly Note[],
  hasPeers: boolean,
): Promise<void> {
  const { metric, value, lower, upper, comparator, ratio, significance, peers, course, query } = indicator
  const answer = await ask(query)
  const [row] = answer.data
  const alone = row?.metrics ?? {}
  for (const note of answer.meta.notes)
    t.ok(
      notes.some((other) => saysAsMuch(other, note)),
      `${metric}: ${JSON.stringify(note)}`,
    )
  t.same(
    { value, lower, upper },
    {
      value: alone[metric] ?? null,
      lower: alone[`${metric}__lower`] ?? null,
      upper: alone[`${metric}__upper`] ?? null,
    },
    metric,
  )
  t.same(
    { comparator, ratio, significance },
    {
      comparator: alone[`${metric}__comparator`] ?? null,
      ratio: alone[`${metric}__ratio`] ?? null,
      significance: alone[`${metric}__significance`] ?? null,
    },
    `${metric}: comparator`,
  )
  if (course !== null)
    t.same(
      course.points,
      (await askAll(course.query)).map(({ dimensions, metrics }) => ({
        period: dimensions.reference_period?.code,
        value: metrics[metric],
      })),
      `${metric}: course`,
    )
  if (peers === null || !hasPeers) return
  const rows = await askAll(peers.query)
  const values = rows.flatMap(({ metrics }) => (typeof metrics[metric] === 'number' ? [metrics[metric]] : []))
  t.equal(peers.places, values.length, `${metric}: places`)
  t.equal(peers.rank, 1 + values.filter((other) => other > (value ?? 0)).length, `${metric}: rank`)
  // Percentiles follow unrounded values, so that places with equal shown values may have unequal ones.
  const code = Object.values(row?.dimensions ?? {})[0]?.code
  const same = rows.find(({ dimensions }) => Object.values(dimensions)[0]?.code === code)
  t.equal(peers.percentile, same?.metrics[`${metric}__percentile`], `${metric}: percentile`)
  const ascending = values.toSorted((left, right) => left - right)
  t.equal(peers.distribution.min, ascending[0])
  t.equal(peers.distribution.p50, ascending[Math.ceil(values.length / 2) - 1], `${metric}: median`)
  t.equal(peers.distribution.max, ascending.at(-1))
}

t.test(`profiles agree with single queries: ${PLACES} drawn places, every number equal`, async (t) => {
  const { draw, pick } = createDraws(39)
  const codes: Record<string, string[]> = { country: ['BR'] }
  for (const level of PROFILE_LEVELS.filter((name) => name !== 'country')) {
    // Places in the three states that have facilities, and places elsewhere.
    const offset = ['state', 'region'].includes(level) ? 0 : draw(4) * 20
    const { body } = await client.get(`/v1/analytics/dimensions/${level}/values?limit=250&offset=${offset}`)
    const local = await client.get(`/v1/analytics/dimensions/${level}/values?limit=250&search=14`)
    codes[level] = [...body.data, ...local.body.data, ...local.body.data].flatMap(({ code }) =>
      code === null ? [] : [String(code)],
    )
    t.not(codes[level].length, 0, level)
  }
  for (let count = 0; count < PLACES; count += 1) {
    const level = count === 0 ? 'municipality' : pick(PROFILE_LEVELS)
    const code = pick(codes[level] ?? [])
    const { status, body, text } = await client.get(`/v1/profiles/${level}/${code}`)
    t.equal(status, 200, `${level} ${code} ${text.slice(0, 300)}`)
    const indicators = indicatorsOf(body.data)
    t.ok(indicators.length >= 12, `${level} ${code}: ${indicators.length}`)
    const drawn = draw(indicators.length)
    for (const [index, indicator] of indicators.entries())
      await compare(t, indicator, body.meta.notes, index === drawn)
    const { population_by_age: ages } = body.data
    t.same(
      ages.groups,
      (await askAll(ages.query)).map(({ dimensions, metrics }) => ({
        sex: dimensions.sex?.code,
        age_group: dimensions.age_group?.code,
        population: metrics.population_by_age,
      })),
      'ages',
    )
  }
})

t.test('residents of an unknown municipality are no place among the others', async (t) => {
  const { body } = await client.get('/v1/profiles/municipality/1400100')
  const { peers } = indicatorsOf(body.data).find(({ metric }) => metric === 'icsap_share') ?? {}
  const codesOf = (rows: Answered['data']) =>
    rows.map(({ dimensions }) => String(dimensions.residence_municipality?.code ?? ''))
  const isListed = (code: string): boolean => /^\d{7}$/.test(code) && !/^\d\d00000$/.test(code)
  const all = codesOf(await askAll({ ...peers?.query, include_ignored: true }))
  const codes = codesOf(await askAll(peers?.query ?? {}))
  t.notOk(all.every(isListed), 'the demonstration has such residents')
  t.same(codes.toSorted(), all.filter(isListed).toSorted())
})

t.test('a health region that is not known is no place among the others', async (t) => {
  const regions = await client.get('/v1/analytics/dimensions/health_region/values?limit=250')
  const code = regions.body.data.find(({ code }: { code: unknown }) => String(code).startsWith('14'))?.code
  const { body } = await client.get(`/v1/profiles/health_region/${code}`)
  const { peers } = indicatorsOf(body.data).find(({ metric }) => metric === 'icsap_share') ?? {}
  const codesOf = (rows: Answered['data']) =>
    rows.map(({ dimensions }) => dimensions.residence_health_region?.code ?? null)
  const all = codesOf(await askAll({ ...peers?.query, include_ignored: true }))
  const codes = codesOf(await askAll(peers?.query ?? {}))
  t.ok(all.includes(null), 'the demonstration has residents without one')
  t.same(
    codes,
    all.filter((region) => region !== null),
  )
  const { body: rows } = await client.query({
    metrics: ['icsap_admissions'],
    group_by: ['residence_health_region', 'residence_municipality'],
    totals: [['residence_health_region'], []],
    include_ignored: false,
    limit: 1,
  })
  const byRegion: Answered['data'] =
    rows.totals.find((total: { group_by: string[] }) => total.group_by.length === 1)?.data ?? []
  t.same(codesOf(byRegion).filter((region) => region === null).length, 1, 'totals count those of no region')
})

t.test('a municipality: where it lies, flows of the collected months, stocks of the newest', async (t) => {
  const { body } = await client.get('/v1/profiles/municipality/140010')
  const { place, comparator, blocks } = body.data
  t.match(place, { level: 'municipality', code: 1400100, name: 'Boa Vista' })
  t.same(
    place.parents.map(({ level }: { level: string }) => level),
    ['health_region', 'health_macroregion', 'state', 'region', 'country'],
  )
  t.match(comparator, { level: 'state', code: 'RR' })
  t.same(
    blocks.map(({ code }: { code: string }) => code),
    ['population', 'capacity', 'use', 'production', 'money'],
    'blocks without data are left out',
  )
  const byMetric = new Map(indicatorsOf(body.data).map((indicator) => [indicator.metric, indicator]))
  t.match(byMetric.get('admissions_per_10k')?.period, { from: '2026-03', to: '2026-05', months: 3 })
  t.match(byMetric.get('beds_existing_per_100k')?.period, { from: '2026-05', to: '2026-05', months: 1 })
  t.equal(byMetric.get('beds_existing_per_100k')?.course?.points.length, 3)
  t.equal(byMetric.get('facilities_count')?.comparator, null, 'counts of unequal places are not compared')
  const again = await client.get('/v1/profiles/municipality/1400100')
  t.same(again.body.data, body.data, 'six digits name the same place')
})

t.test('a state stands beside the country in the same months, as far as the country has some', async (t) => {
  const { sih } = small.result
  if (sih === null || sih === undefined) throw new Error('the release has admissions')
  const states = STATES.map(({ uf }) => uf)
  const complete = await forgeRelease(small.releasesDir, sih, (_folder, manifest) => {
    // In April all states were collected, in May Acre and Roraima.
    for (const coverage of Object.values(manifest.coverage))
      if (coverage[202604] !== undefined) Object.assign(coverage, { 202604: { ...coverage[202604], states } })
  })
  const analytics = await forgeRelease(small.releasesDir, small.result.analytics, (_folder, manifest) => {
    manifest.components.sih = complete
  })
  const periodOf = async (place: string) => {
    const { status, body, text } = await client.get(`/v1/profiles/${place}?expected_release_id=${analytics}`)
    t.equal(status, 200, text.slice(0, 300))
    const { period, comparator } =
      indicatorsOf(body.data).find(({ metric }) => metric === 'admissions_per_10k') ?? {}
    return { period, hasComparator: typeof comparator === 'number' }
  }
  const april = { from: '2026-04', to: '2026-04', months: 1 }
  t.match(await periodOf('country/BR'), { period: april, hasComparator: false })
  t.match(await periodOf('state/RR'), { period: april, hasComparator: true })
  t.match(await periodOf('municipality/1400100'), {
    period: { from: '2026-03', to: '2026-05', months: 3 },
    hasComparator: true,
  })
})

t.test('only what the key may read; English; validators; refusals', async (t) => {
  const withoutBeds = await client.get('/v1/profiles/state/rr', {
    authorization: `Bearer ${client.keyWithout('bed_capacity.read')}`,
    'accept-language': 'en',
  })
  t.equal(withoutBeds.status, 200)
  const metrics = indicatorsOf(withoutBeds.body.data).map(({ metric }) => metric)
  t.ok(metrics.includes('facilities_count'))
  t.notOk(metrics.some((metric) => /beds/.test(metric)))
  t.equal(withoutBeds.body.data.blocks[0].label, 'Population')
  const { status, headers, body } = await client.get('/v1/profiles/state/RR')
  t.equal(status, 200)
  t.ok(indicatorsOf(body.data).some(({ metric }) => /beds/.test(metric)))
  t.equal(headers['x-analytics-release-id'], body.meta.release_id)
  const tag = String(headers.etag)
  t.equal((await client.get('/v1/profiles/state/RR', { 'if-none-match': tag })).status, 304)
  const pinned = await client.get(`/v1/profiles/state/RR?expected_release_id=${body.meta.release_id}`)
  t.match(pinned.headers['cache-control'], /immutable/)
  const refused = async (path: string, status: number, detail: RegExp) => {
    const answer = await client.get(`/v1/profiles/${path}`)
    t.equal(answer.status, status, path)
    t.match(answer.body.detail, detail, path)
  }
  await refused('planet/1', 404, /municipality, health_region/)
  await refused('municipality/9999999', 404, /9999999.*municipality/)
  await refused('state/XX', 404, /XX.*state/)
  const lacking = { authorization: `Bearer ${client.keyWithout('analytics.query.read')}` }
  t.equal((await client.get('/v1/profiles/state/RR', lacking)).status, 403)
})

t.test('no indicator is declared twice', (t) => {
  t.equal(new Set(PROFILE_INDICATORS.map(({ metric }) => metric)).size, PROFILE_INDICATORS.length)
  t.end()
})
