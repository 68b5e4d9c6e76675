/** Fetched files become the same releases as files placed by hand, and acquisition facts stand beside them. */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { createDraws } from '../fixtures/draws.ts'
import { startFtpServer } from '../fixtures/ftp-server.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { fetchInto, GROUPS, pathOf, publishMonth, TIME } from '../fixtures/snapshots.ts'

type Client = Awaited<ReturnType<typeof openClient>>
const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const JUNE = 202606
const small = await makeSmallRelease()
const server = await startFtpServer()
t.teardown(() => server.close())
publishMonth(server, JUNE)
const env = { SUS_SOURCE_DATASUS: server.url }

const childEnv = {
  PATH: process.env.PATH,
  ...env,
  SUS_FETCH_PAUSE_MS: '5',
  SUS_FETCH_IDLE_MS: '2000',
}

/** Runs the command in a process of its own, while the server of this process answers it. */
const run = (args: readonly string[], children: ReturnType<typeof spawn>[] = []) =>
  new Promise<{ stdout: string; stderr: string; status: number | null }>((resolve) => {
    const child = spawn(process.execPath, [bin, ...args], { env: childEnv })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text) => {
      stdout += text
    })
    child.stderr.on('data', (text) => {
      stderr += text
    })
    child.once('close', (status) => resolve({ stdout, stderr, status }))
    children.push(child)
  })

t.test('equal release ids, and facts of each file beside the release', async (t) => {
  const into = temporaryFolder('fetched')
  const report = await fetchInto(into, env)
  const byHand = join(into, 'by-hand')
  mkdirSync(byHand)
  // The list and the census alone: outlines take longer than everything else.
  for (const name of ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'])
    cpSync(join(small.snapshots, 'ibge', name), join(byHand, name))
  const folder = temporaryFolder('by-hand')
  mkdirSync(join(folder, 'month'))
  for (const group of GROUPS)
    writeFileSync(
      join(folder, 'month', `${group}RR2606.dbc`),
      server.files.get(pathOf(group, JUNE))?.content as Buffer,
    )
  const releasesDir = temporaryFolder('releases')
  const fetched = await importPaths([...report.paths, byHand], { releasesDir, maxRejected: 0.001 })
  const other = temporaryFolder('releases')
  const placed = await importPaths([join(folder, 'month'), byHand], {
    releasesDir: other,
    maxRejected: 0.001,
  })
  t.equal(fetched.analytics, placed.analytics)
  t.equal(fetched.cnes, placed.cnes)
  const facts = JSON.parse(readFileSync(join(releasesDir, fetched.cnes ?? '', 'acquisition.json'), 'utf8'))
  t.equal(facts.length, GROUPS.length)
  t.match(facts[0], { publisher: 'DATASUS', server_time: '2026-06-15T09:30', sha256: /^[0-9a-f]{64}$/ })

  await t.test('answers about sources show the facts; tags of data do not depend on them', async (t) => {
    const clients = []
    for (const [dir, id] of [
      [releasesDir, fetched.analytics],
      [other, placed.analytics],
    ] as const) {
      await promoteRelease(dir, id)
      const client = await openClient(dir)
      t.teardown(() => client.close())
      clients.push(client)
    }
    const [withFacts, without] = clients as [Client, Client]
    for (const path of ['/v1/facilities/2000001', '/v1/bed-capacity?uf=RR']) {
      const answer = await withFacts.get(path)
      t.equal(answer.status, 200)
      t.equal(answer.headers.etag, (await without.get(path)).headers.etag, path)
    }
    const path = '/v1/facilities/2000001/provenance'
    const shown = await withFacts.get(path)
    const { acquisitions } = shown.body.meta
    t.match(acquisitions, [{ file: 'STRR2606.dbc' }])
    for (const { file, ...facts } of acquisitions) {
      const records = join(into, 'datasus', pathOf(file.slice(0, 2), JUNE), '../acquisition.json')
      t.same(facts, JSON.parse(readFileSync(records, 'utf8')).files[file], file)
    }
    const bare = await without.get(path)
    t.same(bare.body.meta.acquisitions, [])
    t.same(shown.body.data, bare.body.data)
    t.not(shown.headers.etag, bare.headers.etag, 'other bytes have another tag')
    const again = await withFacts.get(path, { 'if-none-match': String(shown.headers.etag) })
    t.equal(again.status, 304)
  })
  // Facts of other bytes do not go with a file that took the name by hand.
  const path = join(into, 'datasus', pathOf('ST', JUNE))
  const records = join(path, '..', 'acquisition.json')
  const changed = JSON.parse(readFileSync(records, 'utf8'))
  changed.files['STRR2606.dbc'].sha256 = '0'.repeat(64)
  writeFileSync(records, JSON.stringify(changed))
  const last = temporaryFolder('releases')
  const again = await importPaths([into], { releasesDir: last, maxRejected: 0.001 })
  t.equal(again.analytics, placed.analytics, 'the whole folder imports, too')
  const rest = JSON.parse(readFileSync(join(last, again.cnes ?? '', 'acquisition.json'), 'utf8'))
  t.equal(rest.length, GROUPS.length - 1)
})

t.test('the folder of snapshots imports after a year became final', async (t) => {
  const shared = { SEXO: '1', RACACOR: '4', CODMUNRES: '140010' }
  const deaths = {
    ...{ ...shared, TIPOBITO: '2', DTOBITO: '10052022', IDADE: '470', CODMUNOCOR: '140010', LOCOCOR: '1' },
    ...{ CAUSABAS: 'I219', OBITOGRAV: '2', OBITOPUERP: '3' },
  }
  const births = {
    ...{ ...shared, IDADEMAE: '25', PESO: '3200', GESTACAO: '5', CONSULTAS: '4', PARTO: '1' },
    ...{ DTNASC: '17052022', APGAR5: '00' },
  }
  const areas = [
    ['sim', 'DORR2022.dbc', 'SIM/PRELIM/DORES', 'SIM/CID10/DORES', deaths],
    ['sinasc', 'DNRR2022.dbc', 'SINASC/PRELIM/DNRES', 'SINASC/1996_/Dados/DNRES', births],
  ] as const
  for (const [area, name, preliminary, final, cells] of areas) {
    const into = temporaryFolder('final')
    const columns = Object.keys(cells).map((column) => [column, 12] as const)
    const content = makeDbc(makeDbf({ columns, rows: [cells] }))
    const pathIn = (folder: string): string => `/dissemin/publicos/${folder}/${name}`
    server.files.set(pathIn(final).replace('2022', '2021'), { content, time: TIME })
    for (const folder of [preliminary, final]) {
      server.files.delete(pathIn(preliminary))
      server.files.set(pathIn(folder), { content, time: TIME })
      await fetchInto(into, env, { areas: [area], from: 202201 })
    }
    const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json']
    const releasesDir = temporaryFolder('releases')
    const paths = [into, ...ibge.map((file) => join(small.snapshots, 'ibge', file))]
    const release = await importPaths(paths, { releasesDir, maxRejected: 0.001 })
    const facts = JSON.parse(readFileSync(join(releasesDir, release[area] ?? '', 'acquisition.json'), 'utf8'))
    t.match(facts, [{ file: name, url: `${server.url}${pathIn(final)}` }])
  }
})

t.test(
  'killed at any moment, a fetch continues; nothing half has a name, nothing whole is fetched again',
  async (t) => {
    const kills = countOf(8, 8)
    const { draw } = createDraws(11)
    const into = temporaryFolder('killed')
    // Slow enough that most kills fall into a transfer.
    server.faults.bytesPerSecond = 40_000
    for (let index = 0; index < 12; index += 1) publishMonth(server, 202501 + index)
    const args = [
      'fetch',
      'cnes',
      '--states',
      'RR',
      '--from',
      '2025-01',
      '--to',
      '2025-12',
      '--into',
      into,
      '--json',
    ]
    const stored = new Map<string, number>()
    for (let kill = 0; kill < kills; kill += 1) {
      const child = spawn(process.execPath, [bin, ...args], { env: childEnv, stdio: 'ignore' })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      // Begin to count when the fetch connects: a loaded machine takes seconds to start a process.
      const before = server.commands.length
      while (server.commands.length === before && child.exitCode === null) await wait(5)
      await wait(draw(900))
      child.kill('SIGKILL')
      await ended
      for (const group of GROUPS)
        for (const name of readNames(join(into, 'datasus', '/dissemin/publicos/CNES/200508_/Dados', group))) {
          const content = server.files.get(pathOf(group, 200000 + Number(name.slice(4, 8))))
            ?.content as Buffer
          const path = join(into, 'datasus', '/dissemin/publicos/CNES/200508_/Dados', group, name)
          if (!readFileSync(path).equals(content)) t.fail(`${name} is not whole`)
          if (!stored.has(path)) stored.set(path, server.retrievals.length)
        }
    }
    server.faults.bytesPerSecond = 10_000_000
    const begun = server.retrievals.length
    const { stdout, status } = await run(args)
    t.equal(status, 0)
    const report = JSON.parse(stdout)
    t.equal(report.files.length, 48)
    const present = report.files.filter((file: { status: string }) => file.status === 'present').length
    t.equal(present, stored.size, 'files that were stored before a kill are not fetched again')
    // A part that was complete when its process was killed only gets its name.
    const retrieved = server.retrievals.length - begun
    t.ok(retrieved <= 48 - stored.size, `${retrieved} files are retrieved`)
    t.comment(`${kills} kills, ${stored.size} files stored before the last run`)
  },
)

const readNames = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => /^[A-Z]{4}\d{4}\.dbc$/.test(name))
  } catch {
    return []
  }
}

t.test('the command line: summary, exit codes, one fetch at a time, ctrl-C', async (t) => {
  const into = temporaryFolder('command')
  const children: ReturnType<typeof spawn>[] = []
  const call = (...words: string[]) => run(['fetch', ...words, '--into', into], children)
  const month = ['cnes', '--states', 'rr', '--from', '2026-06', '--to', '2026-06']
  const dry = await call(...month, '--dry-run')
  t.match(dry, { status: 0, stdout: /would fetch 4 files, \d+ B|kB/ })
  const first = await call(...month)
  t.match(first, { status: 0, stdout: /fetched 4 files/ })
  t.match(first.stdout, /by hand: names of facilities/)
  t.match(await call(...month), {
    status: 0,
    stdout: /nothing new: all 4 files are here already; delete a damaged one/,
  })
  t.match(await call('cnez'), { status: 2, stderr: /unknown area "cnez"; areas: cnes, / })
  t.match(await call('cnes', '--states', 'XX'), { status: 2, stderr: /--states names "XX"/ })
  t.match(await call('cnes', '--from', '2026'), {
    status: 2,
    stderr: /--from is "2026", but must be a month/,
  })
  server.faults.endAfter = { bytes: 10, times: 1000 }
  publishMonth(server, JUNE, { CNES: '2000003' }, '07-20-26  09:30AM')
  const failed = await call(...month)
  t.match(failed, { status: 1, stdout: /FAILED datasus\/.*STRR2606\.dbc: only \d+ of \d+ bytes arrived/ })
  t.match(failed.stdout, /Run the same command again/)
  server.faults.endAfter = { bytes: 0, times: 0 }
  // The first block of a file takes as long as the second command does.
  server.faults.bytesPerSecond = 500
  const slow = call(...month)
  const begun = server.retrievals.length
  for (let turn = 0; turn < 400 && server.retrievals.length === begun; turn += 1)
    await new Promise((resolve) => setTimeout(resolve, 25))
  t.match(await call(...month), { status: 1, stderr: /another fetch into this folder .* is running/ })
  children.at(-2)?.kill('SIGINT')
  const ended = await slow
  server.faults.bytesPerSecond = 10_000_000
  t.not(ended.status, 0)
  t.match(ended.stderr, /the fetch was ended; the next run continues it/)
  t.match(await call(...month), { status: 0 })
})
