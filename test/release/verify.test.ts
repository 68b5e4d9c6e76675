/** A release that is not what its name says is refused by name of the file, and the one in service stays. */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readPointer } from '../../src/release/pointer.ts'
import { previousRelease, promoteRelease } from '../../src/release/promote.ts'
import { openStore } from '../../src/release/store.ts'
import { ReleaseRefused, verifyRelease } from '../../src/release/verify.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const cnes = small.result.cnes ?? ''
const BEDS = 'bed_capacity/reference_period=202605/part-0.parquet'
const TYPES = 'bed_types/part-0.parquet'

const CHANGES: [name: string, file: string, change: (folder: string) => void][] = [
  ['one byte of one file', BEDS, (folder) => flip(join(folder, BEDS))],
  ['a file cut', BEDS, (folder) => truncateSync(join(folder, BEDS), 100)],
  ['a file gone', TYPES, (folder) => rmSync(join(folder, TYPES))],
  [
    'a file added',
    'bed_types/part-1.parquet',
    (folder) => cpSync(join(folder, TYPES), join(folder, 'bed_types/part-1.parquet')),
  ],
  ['bytes after the end of a file', TYPES, (folder) => appendFileSync(join(folder, TYPES), 'x')],
  ['a hidden file added', '.notes', (folder) => writeFileSync(join(folder, '.notes'), '')],
  ['a link added', 'more', (folder) => symlinkSync('..', join(folder, 'more'))],
  [
    'two files swapped',
    'bed_categories/part-0.parquet',
    (folder) => {
      renameSync(join(folder, TYPES), join(folder, 'x'))
      renameSync(join(folder, 'bed_categories/part-0.parquet'), join(folder, TYPES))
      renameSync(join(folder, 'x'), join(folder, 'bed_categories/part-0.parquet'))
    },
  ],
  [
    'a link out',
    TYPES,
    (folder) => {
      cpSync(join(folder, TYPES), join(folder, '../elsewhere.parquet'))
      rmSync(join(folder, TYPES))
      symlinkSync('../../elsewhere.parquet', join(folder, TYPES))
    },
  ],
  ['an emptied manifest', 'manifest.json', (folder) => writeFileSync(join(folder, 'manifest.json'), '')],
  [
    'a changed manifest',
    'manifest.json',
    (folder) =>
      writeFileSync(
        join(folder, 'manifest.json'),
        readFileSync(join(folder, 'manifest.json'), 'utf8').replace('"synthetic":true', '"synthetic":false'),
      ),
  ],
  [
    'a changed file whose digest was written into the manifest',
    'manifest.json',
    (folder) => {
      const manifest = readFileSync(join(folder, 'manifest.json'), 'utf8')
      const digestOf = (): string =>
        createHash('sha256')
          .update(readFileSync(join(folder, TYPES)))
          .digest('hex')
      const before = digestOf()
      flip(join(folder, TYPES))
      writeFileSync(join(folder, 'manifest.json'), manifest.replace(before, digestOf()))
    },
  ],
  [
    'a manifest of another layout of the same values',
    'manifest.json',
    (folder) => {
      const path = join(folder, 'manifest.json')
      writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, 'utf8')), null, 2))
    },
  ],
  [
    'a manifest of another release',
    'manifest.json',
    (folder) =>
      cpSync(
        join(small.releasesDir, small.result.demography ?? '', 'manifest.json'),
        join(folder, 'manifest.json'),
      ),
  ],
]

function flip(path: string): void {
  const bytes = readFileSync(path)
  const middle = Math.floor(bytes.length / 2)
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  writeFileSync(path, bytes)
}

function copyReleases(): string {
  const folder = join(temporaryFolder('verify'), 'releases')
  mkdirSync(folder)
  // Copies, not links: a change must not reach the original.
  cpSync(small.releasesDir, folder, { recursive: true })
  return folder
}

for (const [name, file, change] of CHANGES)
  t.test(name, async (t) => {
    const releasesDir = copyReleases()
    change(join(releasesDir, cnes))
    const error = await verifyRelease(releasesDir, cnes).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    t.ok(error instanceof ReleaseRefused)
    t.match(String(error), `${cnes}/${file}`, 'names the file')
    const store = await openStore({ releasesDir })
    t.equal(store.current(), null, 'is not served')
    const problem = store.problems().find(({ release_id }) => release_id === cnes)
    t.match(problem?.reason, file, 'is named, with its file')
    t.ok(
      store.problems().some(({ release_id }) => release_id === small.result.analytics),
      'and so is the release that joins it',
    )
    store.close()
  })

t.test('one byte of any file of any release', async (t) => {
  const releasesDir = copyReleases()
  let files = 0
  for (const id of [small.result.demography ?? '', cnes]) {
    const { files: listed } = await verifyRelease(releasesDir, id)
    for (const { path } of listed) {
      files += 1
      const place = join(releasesDir, id, path)
      flip(place)
      const error = await verifyRelease(releasesDir, id).catch((thrown: unknown) => thrown)
      if (!(error instanceof ReleaseRefused) || error.file !== path) t.fail(`${path} was changed unseen`)
      flip(place)
    }
    t.ok(await verifyRelease(releasesDir, id), 'put back, it is whole again')
  }
  t.ok(files > 15, `${files} files`)
})

t.test('what stands outside the digest may change; what is no release is none', async (t) => {
  const releasesDir = copyReleases()
  writeFileSync(join(releasesDir, cnes, 'acquisition.json'), '[]\n')
  t.ok(await verifyRelease(releasesDir, cnes))
  renameSync(join(releasesDir, cnes), join(releasesDir, 'elsewhere'))
  symlinkSync('elsewhere', join(releasesDir, cnes))
  await t.rejects(verifyRelease(releasesDir, cnes), /is not a folder here/, 'a link to a release')
  const renamed = cnes.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  rmSync(join(releasesDir, cnes))
  renameSync(join(releasesDir, 'elsewhere'), join(releasesDir, renamed))
  await t.rejects(verifyRelease(releasesDir, renamed), /digest of the release id/, 'under another name')
  for (const id of ['', '.', '..', `../${cnes}`, `${cnes}/`, 'elsewhere'])
    await t.rejects(verifyRelease(releasesDir, id), /is not a release id/, id)
})

t.test('releases are opened before they are asked for', async (t) => {
  const releasesDir = copyReleases()
  const forge = (month: number): Promise<string> =>
    forgeRelease(releasesDir, small.result.analytics, (_folder, manifest) => {
      manifest.month = month
    })
  const [january, march, february] = [await forge(202601), await forge(202603), await forge(202602)]
  const prepared: string[] = []
  const store = await openStore({
    releasesDir,
    keepOpen: 3,
    prepare: async ({ id }) => void prepared.push(id),
  })
  t.teardown(() => store.close())
  const next = async (): Promise<string | null> => (await store.openNext())?.id ?? null
  t.equal(store.findOpen(march), null)
  t.equal(await next(), march, 'the newest first')
  t.equal(store.findOpen(march)?.id, march)
  t.equal(await next(), february)
  t.equal(await next(), null, 'as many as are kept open')
  t.equal(store.findOpen(january), null)
  const damaged = await forge(202604)
  const { files } = JSON.parse(readFileSync(join(releasesDir, damaged, 'manifest.json'), 'utf8'))
  flip(join(releasesDir, damaged, files[0].path))
  const come = await forge(202512)
  t.equal(await next(), come, 'one that comes, whatever its month')
  t.match(store.problems(), [{ release_id: damaged }])
  t.equal(await next(), null, 'each is tried once')
  prepared.length = 0
  await promoteRelease(releasesDir, come)
  await store.refresh()
  t.equal(store.current()?.id, come)
  t.same(prepared, [come], 'row files may have been made since it was opened')
})

t.test('the release in service stays when the next one is refused; a repaired one is taken', async (t) => {
  const { engine, store, close } = await openReleases(small.releasesDir)
  const before = store.current()?.id
  const other = await makeSmallRelease(2)
  for (const id of readdirSync(other.releasesDir).filter((id) => id.startsWith('demo-')))
    cpSync(join(other.releasesDir, id), join(small.releasesDir, id), { recursive: true })
  const beds = join(small.releasesDir, other.result.cnes ?? '', BEDS)
  const whole = readFileSync(beds)
  flip(beds)
  await promoteRelease(small.releasesDir, other.result.analytics)
  await store.refresh()
  t.equal(store.current()?.id, before)
  writeFileSync(beds, whole)
  await store.refresh()
  t.equal(store.current()?.id, other.result.analytics)
  t.equal((await store.pin(before ?? ''))?.id, before, 'the old one can be pinned')
  t.equal(
    (await store.pin(other.result.cnes ?? ''))?.id,
    other.result.analytics,
    'a component finds the release that joins it',
  )
  t.equal(await store.pin('demo-cnes-br-202605-'.padEnd(84, '0')), null)
  t.equal(await previousRelease(small.releasesDir), before)
  await promoteRelease(small.releasesDir, before ?? '')
  t.equal(await readPointer(small.releasesDir), before)
  t.ok(engine)
  await close()
})

t.test('a damaged line of promotions.log is named where it may hide a promotion', async (t) => {
  const [first, second] = ['a', 'b'].map((digit) => `analytics-br-202605-${digit.repeat(64)}`)
  const releasesDir = t.testdir({ 'current.json': JSON.stringify({ analytics: second }) })
  const lines = [
    `2026-11-24T10:00:00.000Z ${first} ${second}`,
    `2026-11-24T11:00:00.000Z ${second} ${first}`,
    `2026-11-24T12:00:00.000Z removed cnes-br-202605-${'d'.repeat(64)}`,
    `2026-11-24T13:00:00.000Z ${first} ${second}`,
  ]
  const write = (damaged: number, text: string): void =>
    writeFileSync(
      join(releasesDir, 'promotions.log'),
      `${lines.map((line, at) => (at === damaged ? text : line)).join('\n')}\n`,
    )
  write(-1, '')
  t.equal(await previousRelease(releasesDir), first)
  for (const change of [
    (line: string) => line.replace('Z ', 'X '),
    (line: string) => line.slice(0, -1),
    (line: string) => line.replace('analytics', 'anal\u0000tics'),
    (line: string) => line.replace(' ', '\n'),
  ]) {
    write(3, change(lines[3] ?? ''))
    await t.rejects(previousRelease(releasesDir), /promotions\.log: line [45] is no promotion/)
    write(1, change(lines[1] ?? ''))
    t.equal(await previousRelease(releasesDir), first, 'the last line says enough')
  }
  // The line of the last promotion was cut: the pointer says that it took place.
  writeFileSync(join(releasesDir, 'promotions.log'), `${lines[0]}\n${lines[1]}\n${lines[3]?.slice(0, 100)}`)
  await t.rejects(previousRelease(releasesDir), /line 3 is no promotion/)
})

t.test('a line of promotions.log that a full disk tore is passed over', async (t) => {
  const [first, second, third] = ['a', 'b', 'c'].map((digit) => `analytics-br-202605-${digit.repeat(64)}`)
  const releasesDir = t.testdir({
    'current.json': JSON.stringify({ analytics: second }),
    [third ?? '']: { 'manifest.json': '{}' },
  })
  const log = join(releasesDir, 'promotions.log')
  const line = `2026-11-24T10:00:00.000Z ${first} ${second}\n`
  const torn = `2026-11-24T11:00:00.000Z ${second} analytics-br-2026`
  writeFileSync(log, line + torn)
  t.equal(await previousRelease(releasesDir), first)
  await promoteRelease(releasesDir, third ?? '', 'beds of AC - recounted')
  t.equal(await previousRelease(releasesDir), second)
  // Earlier versions appended to the torn line.
  writeFileSync(log, `${line}${torn}2026-11-24T12:00:00.000Z ${second} ${third}\n`)
  t.equal(await previousRelease(releasesDir), second)
})
