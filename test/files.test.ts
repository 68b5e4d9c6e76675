/** Files that are replaced and made: all of the new content or all of the old, and nothing else stays. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFile, removeStaleFiles, replaceFile, temporaryTarget, withFileLock } from '../src/files.ts'

t.test('a file is replaced whole, or stays as it was', async (t) => {
  const folder = t.testdir({ file: 'old' })
  const file = join(folder, 'file')
  const stop = (): never => {
    throw new Error('stop')
  }
  t.throws(() => replaceFile(file, 'new', { beforeRename: stop }), /stop/)
  t.equal(readFileSync(file, 'utf8'), 'old')
  replaceFile(file, 'new', { mode: 0o600 })
  t.equal(readFileSync(file, 'utf8'), 'new')
  if (process.platform !== 'win32') t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(readdirSync(folder), ['file'])
})

t.test('a file is made once', async (t) => {
  const folder = t.testdir()
  createFile(join(folder, 'key'), 'first', 0o600)
  t.throws(() => createFile(join(folder, 'key'), 'second', 0o600), { code: 'EEXIST' })
  t.equal(readFileSync(join(folder, 'key'), 'utf8'), 'first')
  t.same(readdirSync(folder), ['key'])
})

t.test('what ended processes left is removed, and nothing else', async (t) => {
  const gone = spawn(process.execPath, ['-e', ''])
  await once(gone, 'exit')
  const folder = t.testdir()
  const write = (name: string, isOld: boolean): void => {
    writeFileSync(join(folder, name), '')
    const at = new Date(Date.now() - (isOld ? 3_600_000 : 0))
    utimesSync(join(folder, name), at, at)
  }
  const left = [
    `ours.${gone.pid}.tmp`,
    `ours.${gone.pid}.0123abcd.tmp`,
    'ours.11111111-2222-3333-4444-555555555555',
  ]
  const stays = ['ours', 'ours.tmp', `theirs.${gone.pid}.tmp`]
  for (const name of [...left, ...stays]) write(name, true)
  // Another process is writing it now.
  write('ours.1.89abcdef.tmp', false)
  symlinkSync(`${gone.pid} left`, join(folder, 'ours.lock'))
  symlinkSync('1 held', join(folder, 'held.lock'))
  removeStaleFiles(folder, (name) => ['ours', 'held'].includes(name))
  t.same(readdirSync(folder).sort(), [...stays, 'held.lock', 'ours.1.89abcdef.tmp'].sort())
  t.same(left.map(temporaryTarget), ['ours', 'ours', 'ours'])
  t.equal(temporaryTarget('manifest.json'), null)
})

t.test('a lock that another process took over stops the change', async (t) => {
  const file = join(t.testdir(), 'file')
  t.throws(
    () =>
      withFileLock(file, (assertHeld) => {
        replaceFile(`${file}.lock`, '1 other')
        assertHeld()
      }),
    { name: 'FileLockError', message: /took over/ },
  )
})
