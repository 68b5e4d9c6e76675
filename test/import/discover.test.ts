/** Folders and archives as they lie on disk → the files of each area, or an error that names what is wrong. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { takeRunLock } from '../../src/acquire/run-lock.ts'
import { discover, sizeOfPaths } from '../../src/import/discover.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { pack, zipOf } from '../fixtures/bombs.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const AREA = { recognises: (name: string) => /\.dbc$/i.test(name) }

/** @returns names of found and unknown files */
async function find(...paths: readonly string[]) {
  const { files, unknown } = await discover(paths, [AREA], temporaryFolder('scratch'))
  return { found: files.get(AREA)?.map(({ shown }) => shown), unknown }
}
async function refuses(t: Test, path: string, message: RegExp): Promise<void> {
  const error = await find(path).catch((thrown: unknown) => thrown)
  t.ok(error instanceof ImportError, String(error))
  t.match(String(error), message)
}

t.test('a folder that a fetch is writing into, or was killed in', async (t) => {
  const folder = temporaryFolder('snapshots')
  const release = takeRunLock(join(folder, '.fetch.lock'), 'another fetch')
  t.teardown(release)
  symlinkSync('99999999', join(folder, '.update.lock'))
  symlinkSync('99999999 x', join(folder, '.fetch.lock.lock'))
  for (const name of [
    '.RDRR2402.dbc.20240101.part',
    'rreo-2025-6-anexo02-12-p1.json.part',
    'rreo-2025-6-anexo02-12-again.json.part',
    'acquisition.json.123.00c0ffee.tmp',
    '.listings.json',
    '.listings.json.123.00c0ffee.tmp',
    'RDRR2401.dbc',
    'RDRR2403.dbc.part',
  ])
    writeFileSync(join(folder, name), 'x')
  t.same(await find(folder), { found: [join(folder, 'RDRR2401.dbc')], unknown: ['RDRR2403.dbc.part'] })
})

t.test('another link that leads nowhere is named, because its file would be missing', async (t) => {
  const folder = temporaryFolder('links')
  const target = join(temporaryFolder('elsewhere'), 'RDRR2401.dbc')
  writeFileSync(target, 'x')
  const link = join(folder, 'RDRR2401.dbc')
  symlinkSync(target, link)
  t.same((await find(folder)).found, [link])
  rmSync(target)
  const message = /RDRR2401\.dbc: is a symbolic link that leads nowhere\. Restore its target, or take it out/
  await refuses(t, folder, message)
  await refuses(t, link, message)
  renameSync(link, join(folder, 'RDRR2402.dbc'))
  await refuses(t, link, /does not exist/)
  symlinkSync('self', join(folder, 'self'))
  await refuses(t, join(folder, 'self'), /leads nowhere/)
})

t.test('links in a loop end, and each file is read and counted once', { timeout: 20_000 }, async (t) => {
  const folder = temporaryFolder('loop')
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  writeFileSync(join(folder, 'RDRR2401.dbc'), 'four')
  writeFileSync(join(inner, 'RDRR2402.dbc'), 'four')
  for (const name of ['a', 'b', 'c']) {
    symlinkSync('.', join(folder, name))
    symlinkSync('..', join(inner, name))
  }
  symlinkSync('inner', join(folder, 'other'))
  symlinkSync('RDRR2401.dbc', join(folder, 'copy.dbc'))
  t.equal((await find(folder)).found?.length, 2)
  t.equal((await find(folder, inner, folder)).found?.length, 2)
  t.equal(await sizeOfPaths([folder, inner, join(folder, 'a')]), 8)
})

t.test('entries of an archive that cannot all be files with their names', async (t) => {
  const folder = temporaryFolder('zips')
  const zip = (...names: readonly string[]): string => {
    const path = join(folder, 'one.zip')
    writeFileSync(path, zipOf(names.map((name) => pack({ name, filler: name, times: 1 }))))
    return path
  }
  const name = `${'x'.repeat(251)}.dbc`
  const found = await find(zip('RDRR2401.dbc', 'a/RDRR2401.dbc', 'rdrr2401.txt', name))
  t.equal(found.found?.length, 3)
  for (const [names, message] of [
    [['RDRR2401.dbc', 'RDRR2401.dbc'], /one\.zip\/RDRR2401\.dbc: is there twice.*Unpack the archive/],
    [['a/RDRR2401.dbc', './a//RDRR2401.dbc'], /is there twice/],
    [[`a/x${name}`], /has a name above 255 bytes/],
    [[`${'ç'.repeat(126)}.dbc`], /has a name above 255 bytes/],
    [[`${'abc/'.repeat(260)}RDRR2401.dbc`], /has a path above 1024 bytes/],
    [
      ['RDRR2401.dbc', 'RDRR2401.dbc/RDRR2402.dbc'],
      /one\.zip\/RDRR2401\.dbc: is a file and a folder at once/,
    ],
    [['a/b/c.dbc', 'a'], /one\.zip\/a: is a file and a folder at once/],
    [['a\0.dbc'], /has a name that no file can have/],
    [['.'], /is a file and a folder at once/],
  ] as const)
    await refuses(t, zip(...names), message)
})
