/**
 * Equal snapshots, equal bytes: with any number of threads, in any order of paths, on a machine with another clock; a
 * second import changes nothing, and a new month costs a month.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const { snapshots } = small
const ids = ({ cnes, demography, analytics }: typeof small.result): (string | null)[] => [
  cnes,
  demography,
  analytics,
]
const expected = ids(small.result)
const importInto = (releasesDir: string, paths: readonly string[], threads?: number) =>
  importPaths(paths, {
    releasesDir,
    maxRejected: 0.001,
    makesRows: true,
    ...(threads === undefined ? {} : { threads }),
  })

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
/** path → digest of every file of the releases; the pointer is not a part of them. */
const digests = (folder: string): Record<string, string> =>
  Object.fromEntries(
    listFiles(folder)
      .filter((path) => !path.endsWith('current.json'))
      .map((path) => [relative(folder, path), createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )
const bytes = digests(small.releasesDir)
t.ok(Object.keys(bytes).length > 20, `${Object.keys(bytes).length} files`)

for (const threads of cases([1, 2, 6], []))
  t.test(`${threads} thread${threads > 1 ? 's' : ''}`, async (t) => {
    const releasesDir = join(temporaryFolder('threads'), 'releases')
    t.same(ids(await importInto(releasesDir, [snapshots], threads)), expected)
    t.same(digests(releasesDir), bytes)
  })

t.test('paths one by one, the newest first, from another folder', secondRing, async (t) => {
  const folder = temporaryFolder('order')
  const copy = join(folder, 'copied')
  cpSync(snapshots, copy, { recursive: true })
  const paths = listFiles(copy).reverse()
  const releasesDir = join(folder, 'releases')
  t.same(ids(await importInto(releasesDir, paths)), expected)
  // acquisition.json tells what the operator knows of the files; it stands outside the hash.
  const { ...found } = digests(releasesDir)
  for (const path of Object.keys(bytes).filter((name) => !name.endsWith('acquisition.json')))
    if (found[path] !== bytes[path]) t.fail(path)
})

t.test('another time zone and language, by the command', async (t) => {
  const releasesDir = join(temporaryFolder('zone'), 'releases')
  const command = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const output = execFileSync(
    process.execPath,
    [command, 'import', snapshots, '--releases', releasesDir, '--json'],
    { env: { ...process.env, TZ: 'Pacific/Auckland', LANG: 'pt_BR.UTF-8', LC_ALL: 'pt_BR.UTF-8' } },
  )
  t.same(ids(JSON.parse(output.toString('utf8'))), expected)
  t.same(digests(releasesDir), bytes)
})

t.test('again into the same folder: nothing changes', async (t) => {
  const state = (): (string | number)[][] =>
    listFiles(small.releasesDir)
      .filter((path) => !path.includes('/.derived/'))
      .map((path) => {
        const { ino, mtimeMs, size } = statSync(path)
        return [relative(small.releasesDir, path), ino, mtimeMs, size]
      })
  const before = state()
  t.same(ids(await importInto(small.releasesDir, [snapshots])), expected)
  t.same(state(), before, 'not one file is new or touched')
  t.same(
    readdirSync(small.releasesDir).filter((name) => name.startsWith('.')),
    ['.derived'],
    'row files stay, no staging folder does',
  )
})

t.test('one more month shares every partition of the month before', async (t) => {
  const releasesDir = join(temporaryFolder('months'), 'releases')
  const month = (name: string): string => join(snapshots, 'cnes', name)
  const places = ['ibge', 'datasus', 'territory'].map((folder) => join(snapshots, folder))
  const first = await importInto(releasesDir, [...places, month('2026-04')])
  const before = digests(releasesDir)
  const second = await importInto(releasesDir, [...places, month('2026-04'), month('2026-05')])
  t.not(second.cnes, first.cnes)
  t.equal(second.demography, first.demography)
  const { files } = JSON.parse(
    readFileSync(join(releasesDir, first.cnes ?? '', 'manifest.json'), 'utf8'),
  ) as Manifest
  const partitions = files.map(({ path }) => path).filter((path) => path.includes('reference_period='))
  t.equal(partitions.length, 9)
  for (const path of partitions)
    t.equal(
      statSync(join(releasesDir, second.cnes ?? '', path)).ino,
      statSync(join(releasesDir, first.cnes ?? '', path)).ino,
      path,
    )
  const after = digests(releasesDir)
  t.same(
    Object.keys(before).filter((path) => after[path] !== before[path]),
    [],
    'the older release is as it was',
  )
  t.same(ids(second), expected, 'month by month or at once: one release')
})

t.test('two imports of the same files at the same time', secondRing, async (t) => {
  const releasesDir = join(temporaryFolder('race'), 'releases')
  mkdirSync(releasesDir)
  const results = await Promise.all([
    importInto(releasesDir, [snapshots]),
    importInto(releasesDir, [snapshots]),
  ])
  for (const result of results) t.same(ids(result), expected)
  t.same(digests(releasesDir), bytes)
  t.equal(readdirSync(releasesDir).filter((name) => !name.startsWith('.')).length, 3)
})
