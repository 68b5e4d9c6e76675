/** Scenarios of the first seconds: after a start, on a pinned release, during a promotion, without row files. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { runTool } from './children.ts'
import {
  CONNECTIONS,
  checkAnswers,
  describeRuns,
  inMs,
  measure,
  median,
  perSecond,
  report,
  type Scenario,
  walkFacilities,
} from './context.ts'
import { linkReleases, openDirect } from './fixture.ts'
import { chooseKinds, mixKinds, partOf } from './kinds.ts'
import { groupOf } from './load.ts'
import { recordRequests } from './routes.ts'

export const FIRST_REQUESTS: readonly Scenario[] = [
  {
    name: 'cold-start',
    what: 'Five kinds of look-ups in the first seconds after ready, beside the same a minute later.',
    async run(bench) {
      const kinds = await chooseKinds(bench.direct, await bench.walk(), null)
      const bare = await bench.bare()
      for (const kind of kinds) {
        // Warm up the load generator, so that only the server is new.
        await measure(bench, { server: bare, requests: [{ path: '/static' }] }, 1)
        const server = await bench.start('cold start', {}, bench.fixture)
        const readyAt = performance.now()
        const first = await measure(bench, { server, requests: partOf(kind, 0, 2) }, bench.seconds)
        await pause(Math.max(0, readyAt + (bench.quick ? 5000 : 60_000) - performance.now()))
        const later = await measure(bench, { server, requests: partOf(kind, 1, 2) }, bench.seconds)
        await server.stop()
        report(
          bench,
          {
            scenario: `cold-start: ${kind.name}, first ${bench.seconds} s`,
            ours: describeRuns([first]),
            against: `a minute later ${describeRuns([later])}`,
            ratio: first.perSecond / later.perSecond,
          },
          { atLeast: 0.8 },
          { first, later },
        )
      }
    },
  },
  {
    name: 'pinned',
    what: 'The same look-ups on a release that is here but not in service, from its first request.',
    async run(bench) {
      const pair = await bench.pair()
      const walker = await bench.start('pinned, cursors', {}, pair)
      const other = await openDirect(pair, pair.other)
      const direct = await openDirect(pair)
      const pinned = await chooseKinds(other, await walkFacilities(walker, pair.other), pair.other)
      const current = await chooseKinds(direct, await walkFacilities(walker), null)
      await walker.stop()
      for (const [index, kind] of pinned.entries()) {
        const same = current[index] ?? kind
        const server = await bench.start('pinned', {}, pair)
        // Requests to the release in service are warm, those to the other are not. Both get equally many distinct requests.
        await measure(bench, { server, requests: partOf(same, 0, 2) }, bench.seconds)
        const pinnedResult = await measure(bench, { server, requests: partOf(kind, 1, 2) }, bench.seconds)
        const currentResult = await measure(bench, { server, requests: partOf(same, 1, 2) }, bench.seconds)
        await server.stop()
        report(
          bench,
          {
            scenario: `pinned: ${kind.name}`,
            ours: describeRuns([pinnedResult]),
            against: `in service ${describeRuns([currentResult])}`,
            ratio: pinnedResult.perSecond / currentResult.perSecond,
          },
          { atLeast: 0.8 },
          { pinned: pinnedResult, current: currentResult },
        )
      }
      other.close()
      direct.close()
    },
  },
  {
    name: 'promote-under-load',
    what: 'Another release is promoted by the command while a mixed load runs: every second around it.',
    async run(bench) {
      const pair = await bench.pair()
      const folder = join(bench.folder, 'promote')
      const fixture = await linkReleases(pair, folder, true)
      const server = await bench.start('promote', {}, fixture)
      const [direct, other] = [await openDirect(pair), await openDirect(pair, pair.other)]
      // After promotion the other month responds, so request only facilities of both months.
      const common = new Set(await other.texts('SELECT cnes_code FROM facilities'))
      const kinds = await chooseKinds(direct, await walkFacilities(server), null, (code) => common.has(code))
      direct.close()
      other.close()
      const requests = mixKinds(kinds, 400_000)
      await measure(bench, { server, requests: requests.slice(-50_000) }, bench.quick ? 2 : 10)
      const half = bench.quick ? 8 : 60
      const running = bench.load.run({ groups: [groupOf(server, requests, CONNECTIONS)], seconds: half * 2 })
      await pause(half * 1000)
      const promotedAt = performance.now()
      await runTool(['promote', pair.other, '--force', 'benchmark', '--json'], {
        SUS_RELEASES_DIR: fixture.releasesDir,
      })
      const readInService = async (): Promise<string> => {
        const answer = (await (await fetch(`${server.address}/ready`)).json()) as {
          data: { release_id: string }
        }
        return answer.data.release_id
      }
      while ((await readInService()) !== pair.other) {
        if (performance.now() - promotedAt > 180_000)
          throw new Error('the release promoted does not come into service')
        await pause(100)
      }
      const took = (performance.now() - promotedAt) / 1000
      if (took > half)
        bench.say('the release came into service after the load ended, which says nothing then')
      const [result] = await running
      await server.stop()
      if (result === undefined) throw new Error('the load generator gave nothing')
      const before = median(result.timeline.slice(0, half))
      const worst = Math.min(...result.timeline.slice(0, half * 2 - 1))
      const failed = result.requests - (result.statuses[200] ?? 0) + result.errors
      report(
        bench,
        {
          scenario: 'promote-under-load: the worst second',
          ours: perSecond(worst),
          against: `before ${perSecond(before)}; in service ${took.toFixed(1)} s after the command began`,
          ratio: worst / before,
        },
        { atLeast: 0.5 },
        result,
      )
      report(
        bench,
        {
          scenario: 'promote-under-load: failed requests',
          ours: `${failed} of ${result.requests}`,
          value: failed,
        },
        { atMost: 0 },
        result.statuses,
      )
      report(
        bench,
        {
          scenario: 'promote-under-load: p99',
          ours: inMs(result.p99),
          against: `slowest ${inMs(result.max)}`,
          value: result.p99,
        },
        { atMost: 100, unit: ' ms' },
        result.p99,
      )
    },
  },
  {
    name: 'no-row-store',
    what: 'Records of a release that has no row store, each by a statement over Parquet.',
    async run(bench) {
      const fixture = await linkReleases(bench.fixture, join(bench.folder, 'no-rows'), false)
      const server = await bench.start('no row store', {}, fixture)
      const requests = await recordRequests(bench, 100_000, 'no-row-store')
      const runs = []
      for (let run = 1; run <= bench.runs; run += 1)
        runs.push(await measure(bench, { server, requests }, bench.seconds, { from: run * 15_000 }))
      await server.stop()
      for (const result of runs) checkAnswers(result, server.name)
      const rate = median(runs.map((run) => run.perSecond))
      const p99 = median(runs.map((run) => run.p99))
      report(
        bench,
        { scenario: 'no-row-store: records', ours: `${perSecond(rate)}, p99 ${inMs(p99)}`, value: rate },
        {},
        runs,
      )
    },
  },
]
