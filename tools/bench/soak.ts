/**
 * A long load at a share of the server's capacity, with promotions: failures, trend of the 99th percentile, and memory and
 * descriptors over time. `--minutes 60 --share 0.7` is promise 24 of docs/security.md.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from './children.ts'
import { type Bench, inMs, perSecond, report, residentMb, type Scenario, walkFacilities } from './context.ts'
import { linkReleases, openDirect } from './fixture.ts'
import { chooseKinds, mixKinds } from './kinds.ts'
import { type Group, type GroupResult, groupOf } from './load.ts'
import { heavyRequests, REPORT, slopeOf, sumStatuses } from './operations.ts'
import { QUERIES } from './rival-analytics.ts'

/** The load is measured in windows of a minute, with a promotion in every fifth. */
const WINDOW_SECONDS = 60
const PROMOTE_EVERY = 5
const CALIBRATION_SECONDS = 20
const CONNECTIONS = { lookups: 12, analytics: 2 }

const failuresIn = (results: readonly GroupResult[]): number =>
  sumStatuses(results, (status) => status !== 200) + results.reduce((sum, { errors }) => sum + errors, 0)

async function soak(bench: Bench): Promise<void> {
  const pair = await bench.pair()
  const fixture = await linkReleases(pair, join(bench.folder, 'soak'), true)
  const server = await bench.start('soak', {}, fixture)
  const [direct, other] = [await openDirect(pair), await openDirect(pair, pair.other)]
  // Either month may be in service, so request only facilities of both.
  const common = new Set(await other.texts('SELECT cnes_code FROM facilities'))
  const kinds = await chooseKinds(direct, await walkFacilities(server), null, (code) => common.has(code))
  direct.close()
  other.close()
  const lookups = mixKinds(kinds, 400_000)
  const analytics = [
    ...QUERIES.map(({ body }) => ({
      method: 'POST' as const,
      path: '/v1/analytics/query',
      body: JSON.stringify(body),
    })),
    ...heavyRequests(50),
  ]
  const full = [
    groupOf(server, lookups, CONNECTIONS.lookups),
    groupOf(server, analytics, CONNECTIONS.analytics),
  ]
  const capacity = await bench.load.run({ groups: full, seconds: bench.quick ? 3 : CALIBRATION_SECONDS })
  const groups: Group[] = full.map((group, index) => ({
    ...group,
    perSecond: (capacity[index]?.perSecond ?? 1) * bench.share,
  }))
  groups.push(groupOf(server, [REPORT], 1, { perSecond: 0.1 }))
  groups.push(groupOf(server, [{ path: '/health' }], 1, { perSecond: 10 }))
  const windows: GroupResult[][] = []
  const memory: [number, number][] = []
  const descriptors: number[] = []
  const count = Math.max(1, Math.round((bench.minutes * 60) / WINDOW_SECONDS))
  const releaseIds = [pair.other, pair.release]
  let promotions = 0
  for (let window = 0; window < count; window += 1) {
    const running = bench.load.run({
      groups: groups.map((group) => ({
        ...group,
        from: Math.floor((window * group.requests.length) / count),
      })),
      seconds: bench.quick ? 3 : WINDOW_SECONDS,
    })
    if (window % PROMOTE_EVERY === PROMOTE_EVERY - 1) {
      await runTool(['promote', releaseIds[promotions % 2] ?? '', '--force', 'soak', '--json'], {
        SUS_RELEASES_DIR: fixture.releasesDir,
      })
      promotions += 1
    }
    windows.push(await running)
    memory.push([(window + 1) * WINDOW_SECONDS, residentMb(server)])
    descriptors.push(readdirSync(`/proc/${server.pid}/fd`).length)
    const [first] = windows.at(-1) ?? []
    bench.say(
      `soak: minute ${window + 1} of ${count}, p99 ${inMs(first?.p99 ?? 0)}, ${memory.at(-1)?.[1]} MB, ${descriptors.at(-1)} descriptors, ${failuresIn(windows.at(-1) ?? [])} failed`,
    )
  }
  await server.stop()
  const results = windows.flat()
  const requests = results.reduce((sum, result) => sum + result.requests, 0)
  const failed = failuresIn(results)
  const medianOf = (windowsOfPart: readonly GroupResult[][]): number => {
    const sorted = windowsOfPart.map(([lookup]) => lookup?.p99 ?? 0).sort((left, right) => left - right)
    return sorted[Math.floor(sorted.length / 2)] ?? 0
  }
  const third = Math.max(1, Math.floor(count / 3))
  const [early, late] = [medianOf(windows.slice(0, third)), medianOf(windows.slice(-third))]
  const load = perSecond(groups.reduce((sum, group) => sum + (group.perSecond ?? 0), 0))
  report(
    bench,
    {
      scenario: `soak: failed requests in ${bench.minutes} min at ${load} (${bench.share} of capacity), ${promotions} promotions`,
      ours: `${failed} of ${requests}`,
      value: failed,
    },
    { atMost: 0 },
    { capacity, windows, descriptors },
  )
  report(
    bench,
    {
      scenario: 'soak: p99 of look-ups, median minute of the last third beside the first',
      ours: inMs(late),
      against: inMs(early),
      value: late / early,
    },
    { atMost: 1.1 },
    { early, late },
  )
  // During the first half, caches and the engine's buffers fill.
  const slope = slopeOf(memory.slice(Math.floor(memory.length / 2)))
  report(
    bench,
    {
      scenario: 'soak: memory over the second half, as a share an hour',
      ours: `${slope.toFixed(0)} MB an hour`,
      against: `${memory.at(-1)?.[1] ?? 0} MB at the end`,
      value: slope / (memory.at(-1)?.[1] ?? 1),
    },
    { atMost: 0.05 },
    memory,
  )
}

export const SOAK: readonly Scenario[] = [
  {
    name: 'soak',
    what: 'A mixed load for --minutes at --share of capacity, with a promotion every five: failures, p99, memory over time.',
    isExtra: true,
    run: soak,
  },
]
