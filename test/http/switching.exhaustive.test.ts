/**
 * 32 connections over all kinds of routes while releases are promoted and rolled back, SIGHUPs arrive and the server hands
 * over to another: no request fails, and no answer mixes two releases.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { writePointer } from '../../src/release/writer.ts'
import { freePort } from '../../tools/free-port.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const CONNECTIONS = 32
const SWITCHES = countOf(20, 4)
const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const small = await makeSmallRelease(2)
const { releasesDir } = small
const older = await importPaths([join(small.snapshots, 'cnes/2026-04'), join(small.snapshots, 'ibge')], {
  releasesDir,
  maxRejected: 0.001,
})
const key = createKey(join(releasesDir, 'keys.json'), {
  name: 'load',
  capabilities: CAPABILITIES,
  rate: 10_000_000,
}).secret

const servers: ChildProcess[] = []
t.teardown(() => {
  for (const server of servers) server.kill('SIGKILL')
})
async function startOn(port: number): Promise<ChildProcess> {
  const server = spawn(process.execPath, [bin, 'serve'], {
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir, PORT: String(port), SUS_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  servers.push(server)
  for (let turn = 0; turn < 200; turn += 1) {
    const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return server
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the server does not start')
}

const QUESTION = JSON.stringify({
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['state'],
})
const ROUTES: readonly (readonly [path: string, body: string | null])[] = [
  ['/health', null],
  ['/v1/states', null],
  ['/v1/municipalities?state=RR', null],
  ['/v1/facilities?limit=20', null],
  ['/v1/facilities?search=sao&limit=5', null],
  ['/v1/bed-capacity?limit=20', null],
  ['/v1/equipment-types', null],
  ['/v1/specialized-service-offerings?limit=10', null],
  ['/v1/demography/population/1400100', null],
  ['/v1/analytics/catalog', null],
  ['/v1/analytics/dimensions/bed_type/values?counts=true', null],
  ['/v1/analytics/query', QUESTION],
  ['/v1/analytics/explain', QUESTION],
  ['/v1/releases', null],
]

t.test('requests, promotes, rollbacks, SIGHUPs and a hand-over', async (t) => {
  const port = await freePort()
  const nextPort = await freePort()
  let target = port
  let isOver = false
  const failures: string[] = []
  const answersOf = new Map<string, Set<string>>()
  let count = 0
  const first = await startOn(port)
  const known = new Map<string, string>([
    [small.result.analytics, 'new'],
    [small.result.cnes ?? '', 'new'],
    [older.analytics, 'old'],
    [older.cnes ?? '', 'old'],
  ])
  async function client(index: number): Promise<void> {
    for (let turn = index; !isOver; turn += 1) {
      const [path, body] = ROUTES[turn % ROUTES.length] as (typeof ROUTES)[number]
      const base = `http://127.0.0.1:${target}`
      try {
        const answer = await fetch(base + path, {
          method: body === null ? 'GET' : 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            ...(body === null ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === null ? {} : { body }),
        })
        const text = await answer.text()
        count += 1
        if (answer.status !== 200) {
          failures.push(`${answer.status} ${path} ${text.slice(0, 200)}`)
          continue
        }
        const { data, meta } = JSON.parse(text) as {
          data: unknown
          meta: { release_id?: string; components?: { cnes: string } }
        }
        const id = answer.headers.get('x-data-release-id') ?? answer.headers.get('x-analytics-release-id')
        if (id === null || !known.has(id) || path === '/v1/releases') continue
        if (meta.release_id !== id)
          failures.push(`${path}: ${meta.release_id} in the body, ${id} in the header`)
        if (meta.components !== undefined && known.get(meta.components.cnes) !== known.get(id))
          failures.push(`${path}: mixes releases`)
        // The same question on one release has one answer: a mixture would be another.
        const name = `${known.get(id)} ${path}`
        const seen = answersOf.get(name) ?? new Set()
        answersOf.set(name, seen.add(JSON.stringify(data)))
      } catch (error) {
        failures.push(
          `${path}: ${error instanceof Error ? `${error.message} ${String(error.cause)}` : error}`,
        )
      }
    }
  }
  const clients = Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => client(index)))
  for (let turn = 0; turn < SWITCHES; turn += 1) {
    writePointer(releasesDir, turn % 2 === 0 ? older.analytics : small.result.analytics)
    if (turn % 3 === 0) first.kill('SIGHUP')
    await new Promise((resolve) => setTimeout(resolve, turn % 3 === 0 ? 300 : 700))
  }
  // Hand-over as behind a balancer: the second is ready before the first is told to stop; what runs on it ends well.
  const second = await startOn(nextPort)
  target = nextPort
  first.kill('SIGTERM')
  const code = await new Promise((resolve) => first.once('exit', resolve))
  await new Promise((resolve) => setTimeout(resolve, 500))
  isOver = true
  await clients
  t.equal(code, 0, 'the first server ends in good order')
  t.same(failures.slice(0, 5), [], `${count} requests`)
  const mixed = [...answersOf].filter(([, answers]) => answers.size !== 1).map(([name]) => name)
  t.same(mixed, [], 'one answer for each question and release')
  t.ok(
    [...answersOf.keys()].some((name) => name.startsWith('old')),
    'both releases were in service',
  )
  t.ok([...answersOf.keys()].some((name) => name.startsWith('new')))
  second.kill('SIGTERM')
})
