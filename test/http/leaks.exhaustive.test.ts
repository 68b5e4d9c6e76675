/**
 * A server that has answered thousands of requests and changed its release many times holds no more descriptors and threads than before,
 * and its memory does not grow with the requests. `SUS_TESTS_FACTOR=5` makes it 10,000 requests and 100 changes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { writePointer } from '../../src/release/writer.ts'
import { countOf } from '../fixtures/rings.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const REQUESTS = countOf(2000, 500)
const SWITCHES = countOf(20, 4)
const CONNECTIONS = 8
/** Files of the releases that are held open change with what was asked last; a leak is one for every request or change. */
const DESCRIPTORS_MORE = 10
const THREADS_MORE = 4
/** The first half of the requests fills heap and caches; what the second half adds is growth. */
const GROWTH_MB = 60

const QUESTION = { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['municipality'] }
const PATHS: readonly (readonly [path: string, body: object | null])[] = [
  ['/health', null],
  ['/ready', null],
  ['/v1/states', null],
  ['/v1/facilities?limit=50', null],
  ['/v1/facilities?search=sao&limit=5', null],
  ['/v1/bed-capacity?limit=20&count=true', null],
  ['/v1/facilities?limit=999', null],
  ['/v1/nothing', null],
  ['/v1/analytics/query', { ...QUESTION, totals: true }],
  ['/v1/analytics/query', { ...QUESTION, metrics: ['nothing'] }],
  ['/v1/analytics/export?format=csv', QUESTION],
]

t.test(
  'requests and changes of the release leave nothing behind',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const small = await makeSmallRelease(2)
    const { releasesDir } = small
    const older = await importPaths([join(small.snapshots, 'cnes/2026-04'), join(small.snapshots, 'ibge')], {
      releasesDir,
      maxRejected: 0.001,
    })
    const key = createKey(join(releasesDir, 'keys.json'), {
      name: 'leaks',
      capabilities: CAPABILITIES,
      rate: 10_000_000,
    }).secret
    const { child, port, residentMb } = await startServerProcess(releasesDir)
    t.teardown(() => child.kill('SIGKILL'))
    const descriptors = (): number => readdirSync(`/proc/${child.pid}/fd`).length
    const threads = (): number =>
      Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0)

    let statuses = 0
    const ask = async (count: number): Promise<void> => {
      let next = 0
      const client = async (): Promise<void> => {
        while (next < count) {
          const turn = next
          next += 1
          const [path, body] = PATHS[turn % PATHS.length] as (typeof PATHS)[number]
          const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
            method: body === null ? 'GET' : 'POST',
            headers: {
              authorization: `Bearer ${key}`,
              ...(body === null ? {} : { 'content-type': 'application/json' }),
            },
            // Half of the questions are new ones.
            ...(body === null
              ? {}
              : { body: JSON.stringify(turn % 2 === 0 ? body : { ...body, title: undefined }) }),
          })
          await answer.arrayBuffer()
          if (answer.status >= 500) t.fail(`${path} is ${answer.status}`)
          statuses += 1
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
    }
    const inService = async (): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${port}/ready`)
      return ((await answer.json()) as { data: { release_id: string } }).data.release_id
    }
    const switchOver = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn += 1) {
        const id = turn % 2 === 0 ? older.analytics : small.result.analytics
        writePointer(releasesDir, id)
        for (let look = 0; (await inService()) !== id; look += 1) {
          if (look > 500) throw new Error('the release does not come into service')
          await wait(20)
        }
      }
    }
    // Every path has been gone and both releases have been open once before anything is counted.
    await ask(200)
    await switchOver(4)
    await ask(200)
    await wait(3000)
    const before = { descriptors: descriptors(), threads: threads(), mb: residentMb() }
    await ask(REQUESTS / 2)
    const middle = residentMb()
    await switchOver(SWITCHES)
    await ask(REQUESTS / 2)
    await wait(3000)
    const after = { descriptors: descriptors(), threads: threads(), mb: residentMb() }
    t.comment(`${statuses} requests, ${SWITCHES} changes`, { before, middle, after })
    t.ok(
      after.descriptors <= before.descriptors + DESCRIPTORS_MORE,
      `${before.descriptors} → ${after.descriptors} descriptors`,
    )
    t.ok(after.threads <= before.threads + THREADS_MORE, `${before.threads} → ${after.threads} threads`)
    t.ok(
      after.mb <= middle + GROWTH_MB,
      `${before.mb.toFixed(0)} → ${middle.toFixed(0)} → ${after.mb.toFixed(0)} MB`,
    )
  },
)
