/**
 * Times first-time queries over a year of national admissions in one release: from memory, compressed, and from files as just
 * after a start.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { awaitPreparation, type Server } from './children.ts'
import { type Bench, inMs, median, report, type Scenario } from './context.ts'

/** Goal in milliseconds for a grouped query that is not cached. */
const GOAL_MS = 60

const OF_HOSPITALS = [
  ['admissions', 'average_stay_days'],
  ['days_of_stay', 'hospital_mortality_share'],
  ['admissions_value', 'icu_days'],
] as const
const RATES = [['admissions_per_10k']] as const
const STANDARDIZED = [['admissions_per_10k_standardized']] as const
const OCCUPANCY = [['bed_occupancy_share'], ['bed_occupancy_share', 'bed_capacity_sus']] as const

interface Shape {
  readonly group_by: readonly string[]
  /** Each list of metrics becomes one query. */
  readonly metrics: readonly (readonly string[])[]
  readonly filters?: readonly object[]
  /** Restricts the query to the newest month, because beds exist only for that month. */
  readonly isOfMonth?: boolean
}
const shape = (metrics: Shape['metrics'], group_by: string, options: Partial<Shape> = {}): Shape => ({
  metrics,
  group_by: group_by.split(' ').filter((code) => code !== ''),
  ...options,
})
const within = (dimension: string, value: string): object => ({ dimension, operator: 'EQ', value })

const SHAPES: readonly Shape[] = [
  ...[
    '',
    'state',
    'region',
    'municipality',
    'health_region',
    'reference_period',
    'state reference_period',
    'health_region reference_period',
    'procedure_group',
    'procedure_subgroup',
    'procedure_form',
    'procedure',
    'care_character',
    'complexity financing_kind',
    'state procedure_group',
    'municipality procedure_group',
    'facility',
  ].map((groups) => shape(OF_HOSPITALS, groups)),
  shape(OF_HOSPITALS, 'facility', { filters: [within('state', 'SP')] }),
  shape(OF_HOSPITALS, 'facility reference_period', { filters: [within('state', 'MG')] }),
  shape(OF_HOSPITALS, 'municipality', { filters: [within('procedure_group', '04')] }),
  ...[
    'residence_state',
    'residence_municipality',
    'residence_health_region',
    'diagnosis_chapter',
    'diagnosis_category',
    'age_group',
    'sex',
    'age_group sex',
    'residence_state diagnosis_chapter',
    'residence_state age_group sex',
    'diagnosis_chapter age_group',
    'residence_municipality diagnosis_chapter',
    'diagnosis_chapter reference_period',
  ].map((groups) => shape(OF_HOSPITALS, groups)),
  ...['residence_state', 'residence_municipality', 'residence_health_region', 'diagnosis_chapter'].flatMap(
    (groups) => [shape(RATES, groups), shape(STANDARDIZED, groups)],
  ),
  ...['', 'state', 'health_region', 'municipality', 'facility'].map((groups) =>
    shape(OCCUPANCY, groups, { isOfMonth: true }),
  ),
]

export interface Question {
  readonly name: string
  readonly body: string
}

/** Builds every query once. @param months of the release, ascending */
function questionsOf(months: readonly string[]): Question[] {
  return SHAPES.flatMap(({ group_by, metrics, filters = [], isOfMonth }) =>
    metrics.map((codes) => ({
      name: `${group_by.join(' × ') || 'everything'}${filters.length > 0 ? ', filtered' : ''}: ${codes.join(', ')}`,
      body: JSON.stringify({
        metrics: codes,
        group_by,
        filters: [
          ...filters,
          { dimension: 'reference_period', operator: 'IN', value: isOfMonth ? months.slice(-1) : months },
        ],
        limit: 10_000,
      }),
    })),
  )
}

interface Timed {
  readonly name: string
  readonly ms: number
  readonly rows: number
  /** Rows of the complete answer, of which a page may show some. */
  readonly total: number
  readonly bytes: number
  readonly timing: string
}

/** Asks one question after another. @throws when an answer is an error */
export async function timeQuestions(
  server: Server,
  questions: readonly Question[],
  encoding: string,
): Promise<Timed[]> {
  const timed: Timed[] = []
  for (const { name, body } of questions) {
    const startedAt = performance.now()
    const response = await fetch(`${server.address}/v1/analytics/query`, {
      method: 'POST',
      headers: { ...server.headers, 'content-type': 'application/json', 'accept-encoding': encoding },
      body,
    })
    const text = await response.text()
    const ms = performance.now() - startedAt
    if (response.status !== 200) throw new Error(`${name} is ${response.status}: ${text.slice(0, 300)}`)
    const { data, pagination } = JSON.parse(text) as {
      readonly data: readonly unknown[]
      readonly pagination: { readonly total_rows: number }
    }
    const timing = response.headers.get('server-timing') ?? ''
    timed.push({ name, ms, rows: data.length, total: pagination.total_rows, bytes: text.length, timing })
  }
  return timed
}

/** Says which questions were slowest, and how many take longer than the goal. */
export function reportTimed(bench: Bench, scenario: string, timed: readonly Timed[]): void {
  const slowest = [...timed].sort((left, right) => right.ms - left.ms)
  const above = slowest.filter(({ ms }) => ms > GOAL_MS)
  for (const { name, ms, rows, timing } of slowest.slice(0, 12))
    bench.say(`  ${inMs(ms)} ${name}, ${rows} rows (${timing})`)
  report(
    bench,
    {
      scenario,
      ours: `median ${inMs(median(timed.map(({ ms }) => ms)))}, ${above.length} above ${GOAL_MS} ms`,
      against: `slowest ${inMs(slowest[0]?.ms ?? 0)}: ${slowest[0]?.name}`,
      value: above.length,
    },
    { atMost: 0, unit: ` above ${GOAL_MS} ms` },
    timed,
  )
}

/** Warm-up queries: the first query of any kind is slower in a new process. */
const FIRST: readonly Question[] = ['facilities_count', 'population_census'].map((metric) => ({
  name: metric,
  body: JSON.stringify({ metrics: [metric], group_by: ['state'] }),
}))

async function firstQuestions(bench: Bench): Promise<void> {
  const fixture = await bench.admissions()
  const folder = join(bench.folder, 'admissions')
  mkdirSync(folder, { recursive: true })
  for (const [mode, env, encoding] of [
    ['from memory', {}, 'identity'],
    ['from memory, gzip', {}, 'gzip'],
    ['from files', { SUS_RESIDENT_BYTES: '0' }, 'identity'],
  ] as const) {
    const server = await bench.start(`admissions ${mode}`, env, fixture)
    if (mode !== 'from files') await awaitPreparation(server, bench.logOf(server.name))
    await timeQuestions(server, FIRST, encoding)
    const timed = await timeQuestions(server, questionsOf(fixture.months), encoding)
    await server.stop()
    reportTimed(bench, `admissions: ${timed.length} questions about a year, ${mode}`, timed)
  }
}

/** Options of a month of all municipalities, and how many times its time each may take. */
const ADDED: readonly (readonly [
  name: string,
  added: (months: readonly string[]) => object,
  goal: number,
])[] = [
  ['limits', () => ({ limits: 0.95 }), 1.3],
  ['the state as comparator', () => ({ compare_to: { with: 'state' } }), 1.3],
  ['limits and comparator', () => ({ limits: 0.95, compare_to: { with: 'state' } }), 1.3],
  ['peers as comparator', () => ({ compare_to: { with: 'peers' } }), 1.3],
  [
    'a year',
    (months) => ({
      group_by: ['residence_municipality', 'reference_year'],
      filters: [{ dimension: 'reference_period', operator: 'IN', value: months }],
    }),
    1.5,
  ],
]

/** Each question is asked in turn with the plain one, which alone is a month of all municipalities. A limit of its own makes it new. */
async function addedOptions(bench: Bench): Promise<void> {
  const fixture = await bench.admissions()
  const server = await bench.start('options', {}, fixture)
  await awaitPreparation(server, bench.logOf(server.name))
  const month = fixture.months.slice(-1)
  const plain = {
    metrics: ['icsap_share'],
    group_by: ['residence_municipality', 'reference_period'],
    filters: [{ dimension: 'reference_period', operator: 'IN', value: month }],
  }
  let limit = 6000
  const ask = async (name: string, added: object): Promise<number> => {
    limit += 1
    const [timed] = await timeQuestions(
      server,
      [{ name, body: JSON.stringify({ ...plain, ...added, limit }) }],
      'identity',
    )
    return timed?.ms ?? 0
  }
  const turns = bench.quick ? 7 : 25
  for (const [name, added, goal] of ADDED) {
    const [without, times]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < turns; turn += 1) {
      without.push(await ask('a month', {}))
      times.push(await ask(name, added(fixture.months)))
    }
    // The first turns compile what later ones use.
    const [ours, against] = [median(times.slice(3)), median(without.slice(3))]
    report(
      bench,
      {
        scenario: `options: ${name}, all municipalities`,
        ours: inMs(ours),
        against: `a month without it ${inMs(against)}`,
        ratio: ours / against,
      },
      { atMost: goal },
      { times, without },
    )
  }
  await server.stop()
}

export const ADMISSIONS: readonly Scenario[] = [
  {
    name: 'admissions',
    what: 'Questions about a year of national admissions that were not asked before, from memory, compressed, and from files.',
    isExtra: true,
    run: firstQuestions,
  },
  {
    name: 'options',
    what: 'A month of all municipalities with limits, comparators, and a year instead of it, in turn with the month alone.',
    isExtra: true,
    run: addedOptions,
  },
]
