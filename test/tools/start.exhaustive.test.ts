/** `npm start` with its output in a file: the key of the demonstration is in a file of mode 0600, and not in that output. */
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '../../tools/free-port.ts'
import { startFtpServer } from '../fixtures/ftp-server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { publishMonth, writeIbge } from '../fixtures/snapshots.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const KEY = /sus_[0-9a-z]{8}_[0-9A-Za-z]{20,}/

t.test('a first start', async (t) => {
  const releasesDir = temporaryFolder('start')
  const child = spawn(process.execPath, [bin, 'start', '--scale', 'small'], {
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  for (let turn = 0; turn < 4800 && !output.includes('Try it'); turn += 1) await wait(50)
  const keyFile = join(releasesDir, 'demonstration-key')
  t.match(output, `A key that may read everything is in ${keyFile} (mode 0600).`)
  t.notMatch(output, KEY)
  t.equal(statSync(keyFile).mode & 0o777, 0o600)
  const key = readFileSync(keyFile, 'utf8').trim()
  t.match(key, KEY)
  const [, address] = /Explorer: (\S+)\//.exec(output) ?? []
  t.equal((await fetch(`${address}/v1/states`, { headers: { authorization: `Bearer ${key}` } })).status, 200)
  const ask = async (path: string, body?: unknown) => {
    const response = await fetch(`${address}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    return ((await response.json()) as { data: unknown }).data
  }
  for (const path of ['/v1/sim/monthly?limit=1', '/v1/sinasc/monthly?limit=1'])
    t.match(await ask(path), [{ reference_period: /^2025-/ }], path)
  const rows = (await ask('/v1/analytics/query', {
    metrics: ['deaths_per_100k', 'births_per_1000'],
    group_by: ['residence_state', 'reference_year'],
    filters: [{ dimension: 'residence_state', operator: 'IN', value: ['RR', 'AC', 'AP'] }],
  })) as { metrics: Record<string, number> }[]
  t.equal(rows.length, 6, 'three states, two years')
  for (const { metrics } of rows) {
    t.ok(
      Number(metrics.deaths_per_100k) > 500 && Number(metrics.deaths_per_100k) < 800,
      JSON.stringify(metrics),
    )
    t.ok(
      Number(metrics.births_per_1000) > 10 && Number(metrics.births_per_1000) < 15,
      JSON.stringify(metrics),
    )
  }
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

t.test(
  'a first start with published data of a state, and one sentence where a publisher does not answer',
  async (t) => {
    const { snapshots } = await makeSmallRelease()
    const ibge = temporaryFolder('ibge')
    writeIbge(ibge, join(snapshots, 'ibge/RELATORIO_DTB_BRASIL_MUNICIPIO.csv'))
    const publisher = await startFtpServer()
    t.teardown(() => publisher.close())
    publishMonth(publisher, 202606)
    const releasesDir = temporaryFolder('start')
    const start = async (datasus: string) =>
      spawn(process.execPath, [bin, 'start', '--real', 'rr'], {
        env: {
          PATH: process.env.PATH,
          SUS_RELEASES_DIR: releasesDir,
          SUS_SNAPSHOTS_DIR: temporaryFolder('snapshots'),
          SUS_SOURCE_DATASUS: datasus,
          SUS_SOURCE_IBGE: `file://${ibge}`,
          SUS_SOURCE_SIDRA: `file://${ibge}`,
          SUS_FETCH_ATTEMPTS: '2',
          SUS_FETCH_PAUSE_MS: '5',
          PORT: String(await freePort()),
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    const nowhere = await start(`ftp://127.0.0.1:${await freePort()}`)
    let refusal = ''
    nowhere.stderr?.on('data', (chunk: Buffer) => {
      refusal += chunk.toString()
    })
    t.equal(await new Promise((resolve) => nowhere.once('close', resolve)), 1)
    t.match(
      refusal,
      /sus-data: The publishers cannot be reached .*no connection to 127\.0\.0\.1.*npm start\.\n$/s,
    )
    const child = await start(publisher.url)
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    for (let turn = 0; turn < 2400 && !output.includes('Try it') && child.exitCode === null; turn += 1)
      await wait(50)
    t.match(output, /Published data of Roraima, \d+ files: analytics-rr-202606-/)
    const [, address] = /Explorer: (\S+)\//.exec(output) ?? []
    const key = readFileSync(join(releasesDir, 'demonstration-key'), 'utf8').trim()
    const answer = await fetch(`${address}/v1/facilities?uf=RR`, {
      headers: { authorization: `Bearer ${key}` },
    })
    t.match(await answer.json(), { data: [{ cnes_code: '2000001' }], meta: { synthetic: false } })
  },
)
