/** The secret of cursors beside the keys: made once and whole, the same for all, never guessed from a broken file. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sharedCursorSecret } from '../../src/keys/cursor-secret.ts'

t.test('made once, the same for every instance', async (t) => {
  const folder = t.testdir()
  const first = sharedCursorSecret(join(folder, 'keys.json'))
  t.equal(first?.length, 32)
  t.same(sharedCursorSecret(join(folder, 'keys.json')), first)
  t.same(readdirSync(folder), ['keys.json.cursor'], 'nothing else stays')
  t.equal(statSync(join(folder, 'keys.json.cursor')).mode & 0o077, 0)
  t.match(readFileSync(join(folder, 'keys.json.cursor'), 'utf8'), /^[0-9a-f]{64}$/)
})
t.test('one that an operator made, with its line end', async (t) => {
  const folder = t.testdir({ 'keys.json.cursor': `${'ab'.repeat(32)}\n` })
  t.equal(sharedCursorSecret(join(folder, 'keys.json'))?.length, 32)
})
t.test('a file that holds no secret is none', async (t) => {
  for (const text of ['', 'short', 'z'.repeat(64)]) {
    const folder = t.testdir({ 'keys.json.cursor': text })
    t.equal(sharedCursorSecret(join(folder, 'keys.json')), null)
  }
})
t.test('a folder that is not there or not one', async (t) => {
  const folder = t.testdir()
  t.equal(sharedCursorSecret(join(folder, 'absent', 'keys.json')), null)
  mkdirSync(join(folder, 'x'))
  writeFileSync(join(folder, 'x', 'file'), '')
  t.equal(sharedCursorSecret(join(folder, 'x', 'file', 'keys.json')), null)
})
