/** `sus-data update` over simulated months: new, revised, one that fails a check, one that is still arriving; a server answers throughout. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { writePointer } from '../../src/release/writer.ts'
import { startFtpServer } from '../fixtures/ftp-server.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import {
  dbcOf,
  fetchInto,
  pathOf,
  publishAdmissions,
  publishMonth,
  writeIbge,
} from '../fixtures/snapshots.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const small = await makeSmallRelease()
const publisher = await startFtpServer()
t.teardown(() => publisher.close())
const into = temporaryFolder('snapshots')
const releasesDir = temporaryFolder('releases')
const keysFile = join(temporaryFolder('update-keys'), 'keys.json')
const key = createKey(keysFile, { name: 'update', capabilities: CAPABILITIES, rate: 10_000 }).secret
const env = {
  SUS_SOURCE_DATASUS: publisher.url,
  SUS_SOURCE_SIGTAP: publisher.url,
  SUS_SNAPSHOTS_DIR: into,
  SUS_RELEASES_DIR: releasesDir,
  SUS_KEYS_FILE: keysFile,
}

/** Runs a command that prints one line of JSON, while this process answers as the publisher. */
const run = (...args: string[]) =>
  new Promise<{ status: number | null; result: Record<string, unknown>; stderr: string }>((resolve) => {
    const child = spawn(process.execPath, [bin, ...args], {
      env: { PATH: process.env.PATH, ...env, SUS_FETCH_PAUSE_MS: '5', SUS_FETCH_ATTEMPTS: '2' },
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text) => {
      stdout += text
    })
    child.stderr.on('data', (text) => {
      stderr += text
    })
    child.once('close', (status) =>
      resolve({ status, result: stdout === '' ? {} : JSON.parse(stdout), stderr }),
    )
  })
const update = (...args: string[]) => run('update', ...args)
const prune = async (...args: string[]) =>
  (await run('prune', ...args, '--json')).result as { removable: unknown[]; freed_bytes: number }

/** @returns bytes of releases and their row files, hard links once */
function sizeOf(folder: string): number {
  const sizes = new Map<number, number>()
  for (const name of readdirSync(folder).filter(
    (entry) => entry === '.derived' || /-[0-9a-f]{64}$/.test(entry),
  ))
    for (const entry of readdirSync(join(folder, name), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const { ino, size } = statSync(join(entry.parentPath, entry.name))
        sizes.set(ino, size)
      }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

t.test('four months', async (t) => {
  t.match(await update(), { status: 2, stderr: /no release is in service/ })
  publishMonth(publisher, 202605)
  publishAdmissions(publisher, 100, '07-07-26  09:30AM')
  writeIbge(join(into, 'by-hand'), join(small.snapshots, 'ibge/RELATORIO_DTB_BRASIL_MUNICIPIO.csv'))
  const { paths } = await fetchInto(into, env, { areas: ['cnes', 'sih'] })
  const { analytics: first } = await importPaths(paths, { releasesDir, maxRejected: 0, makesRows: true })
  writePointer(releasesDir, first)
  const server = await startServerProcess(releasesDir, { env: { SUS_KEYS_FILE: keysFile } })
  t.teardown(() => server.child.kill('SIGKILL'))
  const answers: number[] = []
  const refusals: number[] = []
  const watch = setInterval(() => {
    fetch(`http://127.0.0.1:${server.port}/ready`).then(
      ({ status }) => void (status === 200 ? answers.push(status) : refusals.push(status)),
      () => void refusals.push(0),
    )
  }, 100)
  t.teardown(() => clearInterval(watch))

  const post = (path: string, body: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const pin = async (release: unknown): Promise<number> =>
    (await post('/v1/analytics/query', { metrics: ['bed_capacity_existing'], expected_release_id: release }))
      .status

  const countAdmissions = async (release: unknown): Promise<unknown> => {
    const answer = await post('/v1/analytics/query', {
      metrics: ['admissions'],
      expected_release_id: release,
    })
    const { data } = (await answer.json()) as { data: { metrics: Record<string, unknown> }[] }
    return data[0]?.metrics.admissions
  }

  t.match(await update(), { status: 0, result: { result: 'nothing new', release_id: first } })

  publishMonth(publisher, 202606)
  t.match(await update('--dry-run'), { status: 0, result: { result: 'dry run', fetched: { files: 4 } } })
  const june = await update()
  t.match(june, { status: 0, result: { result: 'promoted', fetched: { files: 4 } } })
  t.equal(await readPointer(releasesDir), june.result.release_id)
  t.match(await update(), { status: 0, result: { result: 'nothing new', fetched: { files: 0 } } })

  // The publisher revises June: another shift of the same facility.
  publisher.files.set(pathOf('ST', 202606), {
    content: dbcOf('ST', 202606, { TURNO_AT: '03' }),
    time: '07-10-26  09:30AM',
  })
  const revised = await update()
  t.match(revised, { status: 0, result: { result: 'promoted', fetched: { files: 1 } } })
  t.not(revised.result.release_id, june.result.release_id)

  // The publisher revises May's admissions, as it does every month until a month is 13 months old.
  publishAdmissions(publisher, 104, '08-07-26  09:30AM')
  const admissions = await update()
  t.match(admissions, { status: 0, result: { result: 'promoted', fetched: { files: 1 } } })
  t.equal(await countAdmissions(admissions.result.release_id), 104)
  t.equal(await countAdmissions(revised.result.release_id), 100, 'the release of before keeps its month')
  t.equal(readdirSync(join(into, 'datasus/dissemin/publicos/SIHSUS/200801_/Dados/.versions')).length, 1)

  // July has ten times the beds.
  publishMonth(publisher, 202607, { QT_EXIST: '  10', QT_SUS: '  10' })
  const failed = await update()
  t.match(failed, { status: 1, result: { result: 'stopped', at: 'promotion checks' } })
  t.match(JSON.stringify(failed.result.reasons), /drift of bed_capacity_existing.*1 → 10/)
  t.match(failed.result.remedy, /the old release stays in service; .*promote analytics-\S+ --force REASON/)
  t.equal(await readPointer(releasesDir), admissions.result.release_id, 'the old release stays in service')
  t.match(await update(), { status: 1, result: { result: 'stopped', candidate: failed.result.candidate } })
  const earlier = [first, june.result.release_id, revised.result.release_id, admissions.result.release_id]
  for (const release of earlier) t.equal(await pin(release), 200, 'old releases can be pinned')
  const linked = await post('/v1/links', { address: `/v1/releases/${first}` })
  t.equal(linked.status, 200)
  const { link } = ((await linked.json()) as { data: { link: string } }).data
  const said = await prune('--keep', '2')
  const before = sizeOf(releasesDir)
  const removed = await prune('--keep', '2', '--apply')
  t.same(removed.removable, said.removable)
  t.ok(said.freed_bytes > 0)
  t.equal(before - sizeOf(releasesDir), said.freed_bytes, 'it frees what it said')
  t.notOk(
    existsSync(join(releasesDir, june.result.release_id as string)),
    'June before its revision is removed',
  )
  for (const release of [revised.result.release_id, admissions.result.release_id])
    t.equal(await pin(release), 200, 'the release in service and the one before are kept')
  t.equal((await fetch(link)).status, 200, 'a link that lives keeps its release')
  publishMonth(publisher, 202607, {}, '08-20-26  09:30AM')
  const july = await update('--keep', '2')
  t.match(july, { status: 0, result: { result: 'promoted' } })
  t.ok((july.result.pruned as { releases: number }).releases > 0)
  t.notOk(existsSync(join(releasesDir, revised.result.release_id as string)))
  t.equal(await pin(admissions.result.release_id), 200, 'the release of before is kept')
  t.equal((await fetch(link)).status, 200, 'a link that lives keeps its release')

  // A listing of equal length lacks May's admissions.
  const [lost, content] = ['/dissemin/publicos/SIHSUS/200801_/Dados/RDRR2605.dbc', dbcOf('ST', 202605)]
  publisher.files.delete(lost)
  publisher.files.set(lost.replace('RDRR', 'RDAC'), { content, time: '08-20-26  09:30AM' })
  publisher.files.set(pathOf('ST', 202607), {
    content: dbcOf('ST', 202607, { TURNO_AT: '03' }),
    time: '08-21-26  09:30AM',
  })
  const unlisted = await update('--keep', '2')
  t.match(unlisted, {
    status: 0,
    result: {
      result: 'promoted',
      notes: [/RDRR2605.dbc is no longer listed; the file that is here is kept and used/],
    },
  })
  t.equal(await countAdmissions(unlisted.result.release_id), 104, 'the release keeps the month')

  // The operator puts a file into the folder of files fetched by hand.
  const population = join(into, 'by-hand/api/v3/agregados/9514-2022.json')
  writeFileSync(population, readFileSync(population, 'utf8').replaceAll('"1000"', '"1001"'))
  const links = readFileSync(`${keysFile}.links`, 'utf8')
  writeFileSync(`${keysFile}.links`, `nonsense\n${links}`)
  const byHand = await update('--keep', '2')
  t.match(byHand, {
    status: 0,
    result: { result: 'promoted', fetched: { files: 0 }, notes: [/RDRR2605/, /Pruning failed: .*links/] },
  })
  writeFileSync(`${keysFile}.links`, links)

  // August begins to arrive.
  publisher.files.set(pathOf('ST', 202608), { content: dbcOf('ST', 202608), time: '09-15-26  09:30AM' })
  t.match(await update(), {
    status: 0,
    result: { result: 'nothing new', waiting: [{ area: 'cnes', month: 202608, missing: 3 }] },
  })
  publisher.faults.endAfter = { bytes: 0, times: 1000 }
  publishMonth(publisher, 202608)
  t.match(await update(), { status: 1, result: { result: 'stopped', at: 'fetch', reasons: [/no bytes/] } })
  t.equal(await readPointer(releasesDir), byHand.result.release_id)
  t.same(refusals, [], 'the server answered throughout')
  t.ok(answers.length > 10)
})
