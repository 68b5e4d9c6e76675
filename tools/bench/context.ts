/** The context of every scenario: fixtures, servers that start on first use, load, and reporting. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Server } from './children.ts'
import type { AdmissionsFixture, Direct, Fixture, PairFixture } from './fixture.ts'
import { type Answer, ask, type GroupResult, groupOf, type Load, type Request } from './load.ts'

export interface Row {
  readonly scenario: string
  readonly ours: string
  readonly against: string
  readonly ratio: number | null
  readonly goal: string
  /** Null without a goal, or without anything to compare with. */
  readonly met: boolean | null
}

export interface Bench {
  readonly quick: boolean
  readonly seconds: number
  readonly runs: number
  readonly minutes: number
  /** Share of the server's capacity that a long load uses. */
  readonly share: number
  /** Temporary folder of this run, removed at its end. */
  readonly folder: string
  readonly keysFile: string
  readonly fixture: Fixture
  readonly direct: Direct
  readonly load: Load
  /** The server with default settings: one process for the whole run. */
  ours(): Promise<Server>
  uncached(): Promise<Server>
  /** Null without PostgreSQL. */
  rival(): Promise<Server | null>
  bare(): Promise<Server>
  /** Starts a separate server for a scenario and returns when it is ready. */
  start(
    name: string,
    env: Readonly<Record<string, string>>,
    fixture: Pick<Fixture, 'releasesDir'>,
  ): Promise<Server>
  /** Like start, but from the checkout of --against and fully prepared; null without --against. */
  startOther(name: string, fixture: Pick<Fixture, 'releasesDir'>): Promise<Server | null>
  /** Another fixture, made on first use. */
  fixtureOf(scale: Fixture['scale'], periods: number): Promise<Fixture>
  pair(): Promise<PairFixture>
  admissions(): Promise<AdmissionsFixture>
  /** A year of deaths and births. */
  vitalRecords(): Promise<Fixture>
  logOf(name: string): string
  /** Every page of the facilities, read once for all scenarios. */
  walk(): Promise<Walk>
  /** @param runs raw results of the row, for the JSON file */
  row(row: Row, runs: unknown): void
  say(text: string): void
}

export interface Scenario {
  readonly name: string
  readonly what: string
  /** The scenario takes long and runs only when --only names it. */
  readonly isExtra?: boolean
  run(bench: Bench): Promise<void>
}

export const CONNECTIONS = 32
export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0
export const perSecond = (value: number): string => `${value < 100 ? value.toFixed(1) : Math.round(value)}/s`
export const inMs = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

/** Resident memory of a server and its child processes, in MB. */
export const residentMb = ({ pid }: Pick<Server, 'pid'>): number => {
  const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8')
  const memory = Number(/VmRSS:\s+(\d+)/.exec(read('status'))?.[1] ?? 0) / 1024
  const children = read(`task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number)
  return Math.round(memory + children.reduce((sum, child) => sum + residentMb({ pid: child }), 0))
}

export interface Side {
  readonly server: Server
  readonly requests: readonly Request[]
  readonly status?: number
}

/** Requires that every response has the expected status, because a fast refusal is not speed. */
export function checkAnswers(result: GroupResult, name: string, status = 200): void {
  const wrong = Object.keys(result.statuses).filter((code) => Number(code) !== status)
  if (wrong.length > 0 || result.errors > 0 || result.requests === 0)
    throw new Error(`${name}: ${result.errors} lost connections, answers ${JSON.stringify(result.statuses)}`)
}

/** Runs one side once. @throws when a response has an unexpected status */
export async function measure(
  bench: Bench,
  side: Side,
  seconds: number,
  { from = 0, connections = CONNECTIONS } = {},
): Promise<GroupResult> {
  const [result] = await bench.load.run({
    groups: [groupOf(side.server, side.requests, connections, { from })],
    seconds,
  })
  if (result === undefined) throw new Error('the load generator gave nothing')
  checkAnswers(result, side.server.name, side.status)
  return result
}

/** Goal of a row: bounds for its ratio or another value. */
export interface Goal {
  readonly atLeast?: number
  readonly atMost?: number
  readonly unit?: string
}

/** Prints one row. @param value compared with the goal; the ratio by default */
export function report(
  bench: Bench,
  row: Pick<Row, 'scenario' | 'ours'> & Partial<Pick<Row, 'against' | 'ratio'>> & { readonly value?: number },
  { atLeast, atMost, unit = '' }: Goal,
  runs: unknown,
): void {
  const { value = row.ratio ?? null, against = '–', ratio = null } = row
  const met =
    value === null || (atLeast ?? atMost) === undefined
      ? null
      : value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY)
  const goal =
    atLeast !== undefined ? `≥ ${atLeast}${unit}` : atMost !== undefined ? `≤ ${atMost}${unit}` : '–'
  bench.row({ scenario: row.scenario, ours: row.ours, against, ratio, goal, met }, runs)
}

/**
 * Runs all sides in turn several times, starting with another one each time, because earlier runs affect caches and clock
 * speed. @returns the runs of each side, in its order
 */
export async function duel(
  bench: Bench,
  sides: readonly Side[],
  connections = CONNECTIONS,
): Promise<GroupResult[][]> {
  const once = (side: Side, seconds: number, from: number): Promise<GroupResult> =>
    measure(bench, side, seconds, { from, connections })
  const results: GroupResult[][] = sides.map(() => [])
  for (const side of sides) await once(side, Math.min(1, bench.seconds / 2), 104_729)
  for (let run = 0; run < bench.runs; run += 1)
    for (let offset = 0; offset < sides.length; offset += 1) {
      const index = (run + offset) % sides.length
      const side = sides[index]
      if (side !== undefined) results[index]?.push(await once(side, bench.seconds, run * 7919))
    }
  return results
}

export const rateOf = (runs: readonly GroupResult[] | undefined): number =>
  median((runs ?? []).map((run) => run.perSecond))
export const describeRuns = (runs: readonly GroupResult[] | undefined): string =>
  `${perSecond(rateOf(runs))}, p99 ${inMs(median((runs ?? []).map(({ p99 }) => p99)))}`

/** Sends both sides the same requests and requires equal data, so that the rival is comparable. */
export async function checkEqual(left: Side, right: Side, count = 25): Promise<void> {
  const step = Math.max(1, Math.floor(left.requests.length / count))
  for (let index = 0; index < left.requests.length; index += step) {
    const [leftRequest, rightRequest] = [left.requests[index], right.requests[index]]
    if (leftRequest === undefined || rightRequest === undefined)
      throw new Error('both sides need the same requests')
    const [a, b] = [await ask(left.server, leftRequest), await ask(right.server, rightRequest)]
    const sizes = (answer: Answer): unknown => {
      const { next_cursor: _, ...rest } = answer.pagination ?? {}
      return rest
    }
    // The server derives this from the outlines of municipalities, which the rival does not have.
    for (const record of [a.data].flat()) delete (record as Record<string, unknown>).coordinates_suspect
    if (!isDeepStrictEqual(a.data, b.data) || !isDeepStrictEqual(sizes(a), sizes(b)))
      throw new Error(
        `${left.server.name} and ${right.server.name} differ on ${leftRequest.path} ${leftRequest.body ?? ''}: ${firstDifference([a.data, sizes(a)], [b.data, sizes(b)])}`,
      )
  }
}

function firstDifference(left: unknown, right: unknown, path = ''): string {
  if (isDeepStrictEqual(left, right)) return ''
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null
  if (isObject(left) && isObject(right))
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const found = firstDifference(left[name], right[name], `${path}/${name}`)
      if (found !== '') return found
    }
  return `${path}: ${JSON.stringify(left)?.slice(0, 200)} and ${JSON.stringify(right)?.slice(0, 200)}`
}

export interface Walk {
  readonly seconds: number
  readonly pages: number
  readonly rows: number
  /** Start of each page but the first: its cursor, and the key that the cursor encodes. */
  readonly starts: readonly { readonly cursor: string; readonly after: string }[]
}

/** Reads all facilities by cursors, 250 per page, one page after another. @param pin a release that is not in service */
export async function walkFacilities(server: Server, pin: string | null = null): Promise<Walk> {
  const first = `/v1/facilities?limit=250${pin === null ? '' : `&expected_release_id=${pin}`}`
  const starts: { cursor: string; after: string }[] = []
  let rows = 0
  let pages = 0
  let path: string | null = first
  const startedAt = performance.now()
  while (path !== null) {
    const { data, pagination } = await ask(server, { path })
    const page = data as readonly { readonly cnes_code: string }[]
    pages += 1
    rows += page.length
    const cursor: string | null = pagination?.next_cursor ?? null
    const after = page.at(-1)?.cnes_code
    if (cursor !== null && after !== undefined) starts.push({ cursor, after })
    path = cursor === null ? null : `${first}&cursor=${cursor}`
  }
  return { seconds: (performance.now() - startedAt) / 1000, pages, rows, starts }
}
