/** Fetching from a server that behaves like the publisher's: what is stored, what is not fetched again, and every failure. */
import {
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { mock } from 'node:test'
import { zipSync } from 'fflate'
import t from 'tap'
import type { FetchOptions, FetchReport } from '../../src/acquire/fetch.ts'
import { ALL_STATES } from '../../src/acquire/plan.ts'
import { hasEqualChecksums } from '../../src/acquire/probe.ts'
import { openFolder } from '../../src/acquire/remotes/folder.ts'
import { normaliseTime } from '../../src/acquire/remotes/ftp.ts'
import { takeRunLock } from '../../src/acquire/run-lock.ts'
import { openSnapshots } from '../../src/acquire/snapshots.ts'
import { sha256Hex } from '../../src/release/digest.ts'
import { makeDbf, makeLargeDbc } from '../fixtures/dbf-builder.ts'
import { type Faults, startFtpServer } from '../fixtures/ftp-server.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { dbcOf, fetchInto, GROUPS, pathOf, publishMonth, TIME } from '../fixtures/snapshots.ts'

const JUNE = 202606
const MAY = 202605
const local = (into: string, group: string, period = JUNE): string =>
  join(into, 'datasus', pathOf(group, period))

async function startPublisher(t: Tap, faults: Faults = {}) {
  const server = await startFtpServer()
  t.teardown(() => server.close())
  publishMonth(server, MAY)
  publishMonth(server, JUNE)
  Object.assign(server.faults, faults)
  const into = temporaryFolder('fetch')
  const env = { SUS_SOURCE_DATASUS: server.url }
  return { server, into, env, fetch: () => fetchInto(into, env) }
}
type Tap = Pick<typeof t, 'teardown'>

/** @returns names in the folder of ST that are no records */
const namesOf = (into: string): string[] =>
  readdirSync(dirname(local(into, 'ST')))
    .filter((name) => name !== 'acquisition.json')
    .sort()

t.test('the newest whole month is fetched, with facts beside it, and never again', async (t) => {
  const { server, into, fetch } = await startPublisher(t)
  server.files.set(`/dissemin/publicos/CNES/200508_/Dados/ST/STRR2607.dbc`, {
    content: dbcOf('ST', 202607),
    time: TIME,
  })
  const report = await fetch()
  t.same(report.failures, [])
  t.equal(report.newest.cnes, 202607)
  t.same(
    report.files.map(({ path, status }) => [path, status]),
    GROUPS.map((group) => [join('datasus', pathOf(group, JUNE)), 'fetched']),
    'July has only one of four files, so June is the newest whole month',
  )
  const bytes = readFileSync(local(into, 'ST'))
  t.ok(bytes.equals(dbcOf('ST', JUNE)))
  t.equal(statSync(local(into, 'ST')).mtime.toISOString(), '2026-06-15T09:30:00.000Z')
  const { files } = JSON.parse(readFileSync(join(dirname(local(into, 'ST')), 'acquisition.json'), 'utf8'))
  t.match(files['STRR2606.dbc'], {
    publisher: 'DATASUS',
    url: `${server.url}${pathOf('ST', JUNE)}`,
    bytes: bytes.length,
    server_time: '2026-06-15T09:30',
    sha256: sha256Hex(bytes),
  })
  t.equal(report.paths.length, 4)
  t.ok(server.mostConnections() <= 2)
  const again = await fetch()
  t.ok(again.files.every(({ status }) => status === 'present'))
  t.equal(server.retrievals.length, 4, 'nothing is fetched twice')
  t.notOk(server.commands.some((line) => /^(MLSD|PORT|EPRT)/.test(line)))
})

t.test('times of MS-DOS listings', async (t) => {
  t.equal(normaliseTime('01-19-26 12:05AM'), '2026-01-19T00:05')
  t.equal(normaliseTime('01-19-26 12:05PM'), '2026-01-19T12:05')
  t.equal(normaliseTime('02-24-98 11:38PM'), '1998-02-24T23:38')
})

t.test('a changed file stands beside the older one; a new date alone changes nothing', async (t) => {
  const { server, into, fetch } = await startPublisher(t)
  await fetch()
  const older = readFileSync(local(into, 'ST'))
  const time = '07-01-26  11:00PM'
  const content = dbcOf('ST', JUNE, { CNES: '2000002' })
  t.equal(content.length, older.length, 'an equal size is no proof that nothing changed')
  server.files.set(pathOf('ST', JUNE), { content, time })
  server.files.set(pathOf('LT', JUNE), { content: dbcOf('LT', JUNE), time })
  const report = await fetch()
  t.same(
    report.files.map(({ status }) => status),
    ['replaced', 'unchanged', 'present', 'present'],
  )
  t.ok(readFileSync(local(into, 'ST')).equals(content))
  const [version = '', ...others] = readdirSync(join(dirname(local(into, 'ST')), '.versions'))
  t.same(others, [])
  t.equal(version, `STRR2606.dbc.${sha256Hex(older).slice(0, 12)}`)
  t.ok(readFileSync(join(dirname(local(into, 'ST')), '.versions', version)).equals(older))
  t.ok((await fetch()).files.every(({ status }) => status === 'present'))
})

t.test('a listing with new times for all files: large ones are compared by their checksums', async (t) => {
  const { server, into, fetch } = await startPublisher(t)
  const large = (cell: string): Buffer =>
    makeLargeDbc(
      makeDbf({ columns: [['CNES', 50]], rows: Array.from({ length: 6000 }, () => ({ CNES: cell })) }),
    )
  const content = large('a')
  t.ok(content.length > 256 * 1024)
  server.files.set(pathOf('ST', JUNE), { content, time: TIME })
  await fetch()
  const time = '07-01-26  11:00PM'
  for (const [path, file] of server.files) server.files.set(path, { ...file, time })
  const { files, bytes } = await fetch()
  t.same(
    files.map(({ status }) => status),
    GROUPS.map(() => 'unchanged'),
  )
  t.ok(bytes < content.length, `${bytes} bytes: the large file is not fetched again`)
  t.equal(statSync(local(into, 'ST')).mtime.toISOString(), '2026-07-01T23:00:00.000Z')
  const retrievals = server.retrievals.length
  t.ok((await fetch()).files.every(({ status }) => status === 'present'))
  t.equal(server.retrievals.length, retrievals)
  const changed = large('b')
  t.equal(changed.length, content.length)
  server.files.set(pathOf('ST', JUNE), { content: changed, time: '07-02-26  11:00PM' })
  t.equal((await fetch()).files[0]?.status, 'replaced', 'an equal size with another CRC-32 is fetched')
  t.ok(readFileSync(local(into, 'ST')).equals(changed))
})

t.test('checksums in a zip, and files that have none', secondRing, async (t) => {
  const folder = temporaryFolder('probe')
  const noise = (seed: number): Uint8Array =>
    Uint8Array.from({ length: 300_000 }, (_, index) => ((index * 7919 + seed) >> 3) & 255)
  const zip = (seed: number): Buffer => Buffer.from(zipSync({ 'a.csv': noise(seed) }, { level: 0 }))
  const remote = openFolder(`file://${folder}`)
  const [here, there] = [join(folder, 'here.zip'), join(folder, 'there.zip')]
  const cases = [
    [zip(1), zip(1), true],
    [zip(1), zip(2), false],
    [Buffer.from(noise(1)), Buffer.from(noise(1)), false],
    [Buffer.from('PK'), Buffer.from('PK'), false],
  ] as const
  for (const [one, other, isEqual] of cases) {
    writeFileSync(here, one)
    writeFileSync(there, other)
    t.equal(await hasEqualChecksums(remote, '/there.zip', here), isEqual)
  }
})

t.test('a range, its gaps, and a dry run', secondRing, async (t) => {
  const { server, into, env } = await startPublisher(t)
  server.files.delete(pathOf('EQ', MAY))
  const options = { from: 202604, to: JUNE }
  const dry = await fetchInto(into, env, { ...options, isDry: true })
  t.equal(dry.files.filter(({ status }) => status === 'planned').length, 7)
  t.same(
    dry.missing.filter(({ period }) => period === MAY),
    [{ source: 'cnes-eq', period: MAY, uf: 'RR' }],
  )
  t.equal(dry.missing.filter(({ period }) => period === 202604).length, 4)
  t.same(readdirSync(into), [], 'a dry run writes nothing')
  t.equal(server.retrievals.length, 0)
  const report = await fetchInto(into, env, options)
  t.equal(report.files.filter(({ status }) => status === 'fetched').length, 7)
  t.same(report.missing, dry.missing)
})

const SURVIVED: readonly (readonly [string, Faults])[] = [
  ['a data connection that never opens', { neverOpens: 1 }],
  ['a closed data port', { closedPort: 2 }],
  ['a reset in the middle', { resetAfter: { bytes: 300, times: 2 } }],
  ['a stall with an open socket', { stallAfter: { bytes: 300, times: 1 } }],
  ['success without a byte', { endAfter: { bytes: 0, times: 2 } }],
  ['success before the end', { endAfter: { bytes: 300, times: 2 } }],
  ['a short listing', { shortList: { entries: 0, times: 1 } }],
  ['one connection only', { maxConnections: 1 }],
  ['a private address in PASV', { noEpsv: true, pasvHost: '10.20.2.8' }],
  ['a wrong size', { wrongSize: { by: 7, times: 1 } }],
]
for (const [name, faults] of SURVIVED)
  t.test(`survived: ${name}`, secondRing, async (t) => {
    const { into, fetch } = await startPublisher(t, faults)
    const report = await fetch()
    t.same(report.failures, [])
    t.same(
      report.files.map(({ status, reason }) => reason ?? status),
      GROUPS.map(() => 'fetched'),
    )
    t.same(namesOf(into), ['STRR2606.dbc'], 'no part is left')
    t.ok(readFileSync(local(into, 'ST')).equals(dbcOf('ST', JUNE)))
  })

t.test('an interrupted transfer resumes, also in a later run', secondRing, async (t) => {
  const { server, into, fetch } = await startPublisher(t, { resetAfter: { bytes: 300, times: 1000 } })
  const failed = await fetch()
  t.ok(failed.files.some(({ status }) => status === 'failed'))
  t.notOk(namesOf(into).includes('STRR2606.dbc'), 'nothing half has a final name')
  server.faults.resetAfter = { bytes: 0, times: 0 }
  server.retrievals.length = 0
  const report = await fetch()
  t.ok(report.files.every(({ status }) => ['fetched', 'present'].includes(status)))
  t.ok(
    server.retrievals.every(({ offset }) => offset > 0),
    'it continues',
  )
  t.ok(readFileSync(local(into, 'ST')).equals(dbcOf('ST', JUNE)))
})

t.test(
  'a file that is replaced between LIST and RETR, and one that is cut at the publisher',
  secondRing,
  async (t) => {
    const { server, into, fetch } = await startPublisher(t)
    const newer = { content: dbcOf('ST', JUNE, { CNES: '2000002', NAT_JUR: '1' }), time: '07-01-26  11:00PM' }
    const bytes = Buffer.concat([newer.content, Buffer.from([0x1a])])
    let isReplaced = false
    server.faults.beforeRetr = (path) => {
      if (isReplaced || !path.includes('/ST/')) return
      isReplaced = true
      server.files.set(pathOf('ST', JUNE), { ...newer, content: bytes.subarray(0, -1) })
    }
    server.files.set(pathOf('SR', JUNE), { content: dbcOf('SR', JUNE).subarray(0, -30), time: TIME })
    const report = await fetch()
    const [st, , , sr] = report.files
    t.equal(st?.status, 'fetched')
    t.match(sr, { status: 'failed', reason: /cut|unpacked/ })
    t.notOk(existsSync(local(into, 'SR')))
    t.equal(
      server.retrievals.filter(({ path }) => path === pathOf('SR', JUNE)).length,
      2,
      'the same cut bytes are not fetched a third time',
    )
    t.same((await fetch()).files.map(({ status }) => status).slice(0, 3), ['present', 'present', 'present'])
  },
)

t.test(
  'a listing that shrank deletes nothing and is named until it comes again a day later',
  secondRing,
  async (t) => {
    const { server, into, fetch } = await startPublisher(t)
    await fetch()
    server.files.delete(pathOf('ST', JUNE))
    const report = await fetch()
    t.match(report.failures, [
      /Dados\/ST: the server lists 1 files where it listed 2; nothing is taken as deleted/,
    ])
    t.ok(existsSync(local(into, 'ST')))
    const path = join(into, '.listings.json')
    const seen = JSON.parse(readFileSync(path, 'utf8'))
    for (const entry of Object.values(seen) as { short?: { at: string } }[])
      if (entry.short !== undefined) entry.short.at = new Date(Date.now() - 25 * 3_600_000).toISOString()
    writeFileSync(path, JSON.stringify(seen))
    t.same((await fetch()).failures, [], 'the same listing a day later is believed')
    t.ok(existsSync(local(into, 'ST')), 'and nothing is deleted')
  },
)

t.test('a listing of equal length that lacks a file: the file that is here is used', async (t) => {
  const { server, into, env } = await startPublisher(t)
  const scope = { from: MAY }
  const before = await fetchInto(into, env, scope)
  server.files.delete(pathOf('ST', JUNE))
  server.files.set(pathOf('ST', JUNE).replace('STRR', 'STAC'), { content: dbcOf('ST', JUNE), time: TIME })
  const report = await fetchInto(into, env, scope)
  t.same(report.failures, [])
  t.same([...report.paths].sort(), [...before.paths].sort(), 'an import reads the same files')
  t.match(
    report.files.filter(({ reason }) => reason !== undefined),
    [{ path: join('datasus', pathOf('ST', JUNE)), status: 'present', reason: /is no longer listed/ }],
  )
  t.same(
    report.missing.filter(({ source }) => source === 'cnes-st'),
    [],
    'what is used is not said to be missing',
  )
  t.equal(
    (await fetchInto(into, env, { from: MAY, to: MAY })).paths.length,
    4,
    'others stay out of the scope',
  )
})

t.test(
  'parts of outpatient production that are joined anew take the older letters away',
  secondRing,
  async (t) => {
    const { server, into, env } = await startPublisher(t)
    const folder = '/dissemin/publicos/SIASUS/200801_/Dados'
    const publish = (letters: readonly string[], time: string): void => {
      for (const [path] of server.files) if (path.startsWith(folder)) server.files.delete(path)
      for (const letter of letters)
        server.files.set(`${folder}/PARR2606${letter}.dbc`, {
          content: dbcOf('ST', JUNE, { CNES: time === TIME ? '2000003' : '2000002' }),
          time,
        })
      // Another month, so that the listing does not shrink.
      for (let index = letters.length; index < 4; index += 1)
        server.files.set(`${folder}/PARR260${index}.dbc`, { content: dbcOf('ST', JUNE), time: TIME })
    }
    const options = { areas: ['sia'] as const, from: JUNE, to: JUNE }
    env.SUS_SOURCE_DATASUS = server.url
    const withSigtap = { ...env, SUS_SOURCE_SIGTAP: server.url }
    server.files.set('/public/sistemas/tup/downloads/readme.txt', { content: Buffer.from('x'), time: TIME })
    publish(['a', 'b', 'c'], TIME)
    t.same((await fetchInto(into, withSigtap, options)).missing, [])
    publish(['a', 'b'], TIME)
    await fetchInto(into, withSigtap, options)
    t.ok(existsSync(join(into, 'datasus', folder, 'PARR2606c.dbc')), 'a listing may lack a part by mistake')
    publish(['a', 'b'], '07-10-26  09:30AM')
    const report = await fetchInto(into, withSigtap, options)
    t.match(report.warnings.at(-1), /PARR2606c\.dbc is replaced by what is published now/)
    const names = readdirSync(join(into, 'datasus', folder))
    t.same(names.filter((name) => name.startsWith('PARR')).sort(), ['PARR2606a.dbc', 'PARR2606b.dbc'])
    t.ok(readdirSync(join(into, 'datasus', folder, '.versions')).some((name) => name.startsWith('PARR2606c')))
    publish(['a', 'c'], '07-10-26  09:30AM')
    t.match((await fetchInto(into, withSigtap, options)).missing, [{ uf: 'RR', period: JUNE }], 'b lacks')
  },
)

t.test('years of deaths: a final file takes the place of the preliminary one', secondRing, async (t) => {
  const { server, into, env } = await startPublisher(t)
  const folder = '/dissemin/publicos/SIM'
  const publish = (name: string, time: string, seed: string): void =>
    void server.files.set(`${folder}/${name}`, { content: dbcOf('ST', JUNE, { CNES: seed }), time })
  publish('CID10/DORES/DORR2023.dbc', TIME, '2000001')
  publish('CID10/DORES/DOBR2023.dbc', TIME, '2000001')
  publish('CID10/DORES/DOSP2024.dbc', TIME, '2000001')
  publish('PRELIM/DORES/DORR2024.dbc', TIME, '2000001')
  publish('CID9/DORES/DORRR79.DBC', TIME, '2000001')
  // Files of the country come along for the years of the states, and are missed nowhere.
  publish('CID10/DOFET/DOFET23.dbc', TIME, '2000003')
  publish('CID10/DOFET/DOREXT23.dbc', TIME, '2000003')
  publish('CID10/DOFET/DOINF23.dbc', TIME, '2000003')
  publish('PRELIM/DOFET/DOFET24.dbc', TIME, '2000003')
  publish('PRELIM/DOFET/DOFET25.dbc', TIME, '2000003')
  const fetchDeaths = (scope: { from: number | null }) => fetchInto(into, env, { areas: ['sim'], ...scope })
  const pathsOf = (report: Awaited<ReturnType<typeof fetchInto>>): string[] =>
    report.files.map(({ path, status }) => `${status} ${path.slice('datasus/dissemin/publicos/SIM/'.length)}`)
  const newest = await fetchDeaths({ from: null })
  t.same(newest.failures, [])
  t.same(pathsOf(newest).sort(), ['fetched PRELIM/DOFET/DOFET24.dbc', 'fetched PRELIM/DORES/DORR2024.dbc'])
  t.equal(newest.newest.sim, 2024)
  // Two listings with equal numbers of files: the final year came, and the preliminary one is not gone yet. Its time is not later.
  publish('CID10/DORES/DORR2024.dbc', TIME, '2000002')
  const all = await fetchDeaths({ from: 197901 })
  t.same(pathsOf(all).sort(), [
    'fetched CID10/DOFET/DOFET23.dbc',
    'fetched CID10/DOFET/DOREXT23.dbc',
    'fetched CID10/DORES/DORR2023.dbc',
    'fetched CID10/DORES/DORR2024.dbc',
    'fetched CID9/DORES/DORRR79.DBC',
    'present PRELIM/DOFET/DOFET24.dbc',
  ])
  t.equal(all.missing.length, 2022 - 1979)
  const local = join(into, 'datasus', folder)
  t.notOk(
    existsSync(join(local, 'PRELIM/DORES/DORR2024.dbc')),
    'an import finds one file of a state and year',
  )
  t.equal(readdirSync(join(local, 'PRELIM/DORES/.versions')).length, 1)
  t.match(all.paths.join(), /CID10\/DORES\/DORR2024/)
})

t.test(
  'a preliminary year keeps its name until the final one is whole, and gives way without a listing',
  async (t) => {
    const { server, into, env } = await startPublisher(t)
    const folder = '/dissemin/publicos/SIM'
    const local = join(into, 'datasus', folder)
    const content = (seed: string): Buffer => dbcOf('ST', JUNE, { CNES: seed })
    const publish = (name: string, bytes = content('2000002')): void =>
      void server.files.set(`${folder}/${name}`, { content: bytes, time: TIME })
    const [deaths, fetal, other] = ['DORES/DORR2024.dbc', 'DOFET/DOFET24.dbc', 'DORES/DOAC2024.dbc'] as const
    const names = [deaths, fetal, other]
    const states = ALL_STATES.filter(({ uf }) => ['RR', 'AC'].includes(uf))
    const fetchDeaths = (options: Partial<FetchOptions> = {}) =>
      fetchInto(into, env, { areas: ['sim'], from: 202401, states, ...options })
    const preliminaryHere = (): string[] => names.filter((name) => existsSync(join(local, 'PRELIM', name)))
    const movesOf = ({ warnings }: FetchReport): string[] =>
      warnings.filter((warning) => warning.includes('PRELIM')).sort()
    const recordsOf = (name: string): string[] =>
      Object.keys(JSON.parse(readFileSync(join(local, name, 'acquisition.json'), 'utf8')).files)
    for (const name of ['CID10/DORES/DORR2023.dbc', 'CID10/DOFET/DOFET23.dbc']) publish(name)
    for (const name of names) publish(`PRELIM/${name}`, content('2000001'))
    await fetchDeaths()
    t.same(preliminaryHere(), names)
    for (const name of names) {
      server.files.delete(`${folder}/PRELIM/${name}`)
      publish(`CID10/${name}`)
    }
    publish(`CID10/${deaths}`, content('2000002').subarray(0, -30))
    const dry = await fetchDeaths({ isDry: true })
    const move = (name: string): string =>
      `${folder}/PRELIM/${name} would be replaced by the final file ${folder}/CID10/${name}, and kept in .versions`
    t.same(movesOf(dry), names.map(move).sort())
    t.same(preliminaryHere(), names, 'a dry run moves nothing')
    await fetchDeaths()
    t.same(preliminaryHere(), [deaths], 'the final file of Roraima is cut, so the preliminary one stays')
    publish(`CID10/${deaths}`)
    const report = await fetchDeaths()
    t.same(movesOf(report), [
      `${folder}/PRELIM/${deaths} is replaced by the final file ${folder}/CID10/${deaths}; it is kept in .versions`,
    ])
    t.same(preliminaryHere(), [])
    t.same([...report.paths].sort(), names.map((name) => join(local, 'CID10', name)).sort())
    t.same(recordsOf('PRELIM/DORES'), [])
    t.same(recordsOf('CID10/DORES').sort(), ['DOAC2024.dbc', 'DORR2024.dbc'])
    const versions = join(local, 'PRELIM/DORES/.versions')
    t.equal(readdirSync(versions).length, 2)
    for (const name of readdirSync(versions))
      t.ok(readFileSync(join(versions, name)).equals(content('2000001')), name)

    await t.test('a fetch of another scope mends what a killed one left', async (t) => {
      publish('CID10/DORES/DOAC2025.dbc')
      writeFileSync(join(local, 'PRELIM', deaths), content('2000001'))
      await fetchDeaths({ from: null, states: states.filter(({ uf }) => uf === 'AC') })
      t.same(preliminaryHere(), [])
    })
    await t.test('a damaged final file replaces nothing', async (t) => {
      writeFileSync(join(local, 'PRELIM', deaths), content('2000001'))
      const path = join(local, 'CID10', deaths)
      const bytes = readFileSync(path)
      writeFileSync(path, Buffer.from(bytes).fill(0xff, bytes.length - 20))
      t.match(movesOf(await fetchDeaths()), [
        /DORR2024\.dbc keeps its name, because .*CID10.* is damaged; delete/,
      ])
      t.same(preliminaryHere(), [deaths])
      rmSync(path)
      await fetchDeaths()
      t.same(preliminaryHere(), [])
      t.ok(readFileSync(path).equals(bytes))
    })
    await t.test('a listing that lacks the final file brings no preliminary one back', async (t) => {
      server.files.delete(`${folder}/CID10/${deaths}`)
      // Listings that shrink are not trusted, so each folder gets another file.
      for (const name of ['CID10', 'PRELIM']) publish(`${name}/DORES/DOSP2024.dbc`)
      publish(`PRELIM/${deaths}`, content('2000001'))
      const begun = server.retrievals.length
      const report = await fetchDeaths()
      t.equal(server.retrievals.length, begun)
      t.ok(report.paths.includes(join(local, 'CID10', deaths)))
    })
  },
)

t.test('a folder of preliminary years may be missing or empty, beside a final one', async (t) => {
  const areas = [
    ['sim', 'SIM/CID10/DORES', 'SIM/PRELIM/DORES', 'DORR2024.dbc'],
    ['sinasc', 'SINASC/1996_/Dados/DNRES', 'SINASC/PRELIM/DNRES', 'DNRR2024.dbc'],
  ] as const
  for (const [area, final, preliminary, name] of areas) {
    const mirror = temporaryFolder('mirror')
    const pathIn = (folder: string): string => join(mirror, 'dissemin/publicos', folder)
    const into = temporaryFolder('fetch')
    /** Two sources list the same folders of births. */
    const failuresOf = async (): Promise<readonly string[]> => {
      const { failures } = await fetchInto(
        into,
        { SUS_SOURCE_DATASUS: `file://${mirror}` },
        { areas: [area] },
      )
      return [...new Set(failures)]
    }
    mkdirSync(pathIn(final), { recursive: true })
    writeFileSync(join(pathIn(final), name), dbcOf('ST', JUNE))
    t.same(await failuresOf(), [])
    t.ok(existsSync(join(into, 'datasus/dissemin/publicos', final, name)))
    mkdirSync(pathIn(preliminary), { recursive: true })
    t.same(await failuresOf(), [], 'an empty one')
    rmSync(join(pathIn(final), name))
    const lists = 'the server lists no file'
    t.same(
      (await failuresOf()).filter((failure) => failure.includes(lists)),
      [final, preliminary].map((folder) => `/dissemin/publicos/${folder}: ${lists}`),
      'an empty final folder is a failure',
    )
    writeFileSync(join(pathIn(preliminary), name), dbcOf('ST', JUNE))
    rmdirSync(pathIn(final))
    t.match(await failuresOf(), [`/dissemin/publicos/${final}: the publisher has no`], 'so is a missing one')
    rmSync(mirror, { recursive: true })
    t.equal((await failuresOf()).length, 2, 'and a mirror that is not there')
  }
})

t.test('an empty listing of preliminary years is believed once the years are final', async (t) => {
  const { server, into, env } = await startPublisher(t)
  const [preliminary, final] = ['PRELIM', 'CID10'].map((name) => `/dissemin/publicos/SIM/${name}/DORES`)
  const publish = (folder = '', year = 2024): void =>
    void server.files.set(`${folder}/DORR${year}.dbc`, { content: dbcOf('ST', JUNE), time: TIME })
  const fetchDeaths = () => fetchInto(into, env, { areas: ['sim'], from: 202401 })
  publish(final, 2023)
  publish(preliminary)
  // This server answers a listing of a missing folder as one of an empty folder.
  const fetal = '/dissemin/publicos/SIM/CID10/DOFET/DOFET23.dbc'
  server.files.set(fetal, { content: dbcOf('ST', JUNE), time: TIME })
  t.same((await fetchDeaths()).failures, [])
  server.files.delete(`${preliminary}/DORR2024.dbc`)
  publish(final, 2022)
  const doubt = `${preliminary}: the server lists 0 files where it listed 1; nothing is taken as deleted`
  t.same((await fetchDeaths()).failures, [doubt], 'nothing took the place of the file that is here')
  publish(final)
  t.same((await fetchDeaths()).failures, [])
  const { failures, files } = await fetchDeaths()
  t.same(failures, [])
  t.match(files, [{ path: /CID10/, status: 'present' }])
})

t.test('a record goes before its file, so that a killed fetch leaves no record without a file', async (t) => {
  const folder = temporaryFolder('retired')
  const names = ['DOAC2024.dbc', 'DORR2024.dbc']
  const files = Object.fromEntries(names.map((name) => [name, { publisher: 'DATASUS' }]))
  writeFileSync(join(folder, 'acquisition.json'), JSON.stringify({ format: 1, files }))
  for (const name of names) writeFileSync(join(folder, name), name)
  const snapshots = openSnapshots()
  for (const name of names) await snapshots.retire(join(folder, name))
  for (const name of names) t.equal(openSnapshots().recordOf(join(folder, name)), null, name)
  t.equal(readdirSync(join(folder, '.versions')).length, 2)
})

t.test('a narrower scope takes no edition away, and all years of population come', secondRing, async (t) => {
  const { server, into, env } = await startPublisher(t)
  const [population, sigtap] = ['/dissemin/publicos/IBGE/POPSVS', '/public/sistemas/tup/downloads']
  const publish = (path: string, time: string): void =>
    void server.files.set(path, { content: Buffer.from(zipSync({ 'a.txt': Buffer.from(path) })), time })
  // The publisher dates years of one edition differently.
  publish(`${population}/POPSBR22.zip`, '01-07-25  09:30AM')
  publish(`${population}/POPSBR23.zip`, '01-10-25  09:30AM')
  publish(`${population}/POPSBR24.zip`, '02-01-25  09:30AM')
  for (const year of [2023, 2024, 2025, 2026])
    publish(`/territorio/tabelas/${year}/base_territorial_1.zip`, TIME)
  const newest = 'TabelaUnificada_202205_v2205.zip'
  for (const name of ['TabelaUnificada_202203_v2203.zip', newest]) publish(`${sigtap}/${name}`, TIME)
  publishMonth(server, 202203)
  const folder = '/dissemin/publicos/SIHSUS/200801_/Dados'
  for (const month of ['2203', '2204'])
    server.files.set(`${folder}/RDRR${month}.dbc`, { content: dbcOf('ST', 202203), time: TIME })
  const withSigtap = { ...env, SUS_SOURCE_SIGTAP: server.url }
  const nothing = `file://${temporaryFolder('fetch')}`
  Object.assign(env, { SUS_SOURCE_IBGE: nothing, SUS_SOURCE_SIDRA: nothing })
  const populationHere = (): string[] =>
    readdirSync(join(into, 'datasus', population)).filter((name) => name.startsWith('POPSBR'))
  const scopes = [{ from: 202201 }, {}, { to: 202301 }]
  for (const scope of scopes) {
    const { failures, warnings } = await fetchInto(into, env, { areas: ['demography'], ...scope })
    t.same(failures, [])
    t.notMatch(warnings.join(), /is replaced/)
    t.same(populationHere().sort(), ['POPSBR22.zip', 'POPSBR23.zip', 'POPSBR24.zip'])
  }
  // An import refuses years of two editions, so those of the older one give way, and a note says so.
  publish(`${population}/POPSBR25.zip`, '10-29-25  09:30AM')
  const { warnings } = await fetchInto(into, env, { areas: ['demography'], from: 202201 })
  t.match(
    warnings.join(),
    /POPSBR22\.zip, POPSBR23\.zip, POPSBR24\.zip: of another edition than POPSBR25\.zip/,
  )
  t.match(warnings.join(), /POPSBR23\.zip is replaced by what is published now/)
  t.same(populationHere(), ['POPSBR25.zip'])
  const fetchAdmissions = (scope: object) => fetchInto(into, withSigtap, { areas: ['sih'], ...scope })
  await fetchAdmissions({})
  await fetchAdmissions({ from: 202203, to: 202203 })
  const editions = () => readdirSync(join(into, 'sigtap', sigtap)).filter((name) => name.startsWith('Tabela'))
  t.same(editions(), [newest], 'an import has one edition, the newest')
  publish(`${sigtap}/TabelaUnificada_202206_v2206.zip`, TIME)
  t.match(
    (await fetchAdmissions({})).warnings.join(),
    /202205_v2205\.zip is replaced by what is published now/,
  )
  t.same(editions(), ['TabelaUnificada_202206_v2206.zip'])
})

t.test('a file that the publisher renamed in case only takes the older name away', async (t) => {
  const { server, into, fetch } = await startPublisher(t)
  await fetch()
  const [name, renamed] = ['STRR2606.dbc', 'STRR2606.DBC']
  server.files.delete(pathOf('ST', JUNE))
  server.files.set(pathOf('ST', JUNE).replace(name, renamed), { content: dbcOf('ST', JUNE), time: TIME })
  t.match((await fetch()).warnings.at(-1), /STRR2606.dbc is replaced by what is published now/)
  t.same(namesOf(into), ['.versions', renamed])
})

t.test('a lock of a process id that belongs to another program', async (t) => {
  const { into, fetch } = await startPublisher(t)
  const lock = join(into, '.fetch.lock')
  // Process 1 always runs.
  symlinkSync('1', lock)
  await t.rejects(fetch(), {
    message: `another fetch into this folder (process 1) is running; wait for its end, or remove ${lock} if process 1 is another program`,
  })
  lutimesSync(lock, new Date(), new Date(Date.now() - 6 * 60_000))
  t.same((await fetch()).failures, [], 'a lock that no command refreshes is a leftover')
  t.notOk(readdirSync(into).includes('.fetch.lock'))
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const release = takeRunLock(lock, 'a fetch')
  lutimesSync(lock, new Date(), new Date(Date.now() - 6 * 60_000))
  mock.timers.tick(30_000)
  t.ok(Date.now() - lstatSync(lock).mtimeMs < 60_000, 'a running command refreshes its lock')
  release()
})

t.test('a folder takes the place of the server', secondRing, async (t) => {
  const { into, fetch } = await startPublisher(t)
  await fetch()
  const copy = temporaryFolder('fetch')
  const report = await fetchInto(copy, { SUS_SOURCE_DATASUS: `file://${join(into, 'datasus')}` })
  t.same(
    report.files.map(({ status }) => status),
    GROUPS.map(() => 'fetched'),
  )
  t.ok(readFileSync(local(copy, 'EQ')).equals(dbcOf('EQ', JUNE)))
})

t.test('the address of a mirror hides its password', secondRing, async (t) => {
  const { server, into } = await startPublisher(t)
  const report = await fetchInto(into, { SUS_SOURCE_DATASUS: server.url.replace('//', '//user:secret@') })
  t.equal(report.files[0]?.status, 'fetched')
  const text = readFileSync(join(dirname(local(into, 'ST')), 'acquisition.json'), 'utf8')
  t.notMatch(`${text}${JSON.stringify(report)}`, /secret/)
})
