/** When a key was last used: noted by the server, kept over restarts and between servers, shown by the list. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKey, listKeys, openKeyStore } from '../../src/keys/keys.ts'
import { trackLastUsed } from '../../src/keys/last-used.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

t.test('noted, merged, listed; refused keys are not noted', async (t) => {
  const file = join(temporaryFolder('used'), 'keys.json')
  const one = createKey(file, { name: 'one', capabilities: ['geo.read'] })
  const two = createKey(file, { name: 'two', capabilities: ['geo.read'] })
  t.same(
    listKeys(file).map(({ last_used_at }) => last_used_at),
    [null, null],
  )
  const at = Date.parse('2026-05-01T10:00:00Z')
  const store = openKeyStore(file, { notesUse: true, now: () => at })
  t.ok(store.authenticate(one.secret))
  t.notOk(store.authenticate(`${two.secret.slice(0, -1)}?`))
  store.close()
  t.same(
    listKeys(file).map(({ last_used_at }) => last_used_at),
    ['2026-05-01T10:00:00.000Z', null],
  )
  const late = trackLastUsed(file, () => at + 60_000)
  const early = trackLastUsed(file, () => at - 60_000)
  late.note(two.id)
  early.note(one.id)
  late.close()
  early.close()
  t.same(
    listKeys(file).map(({ last_used_at }) => last_used_at),
    ['2026-05-01T10:00:00.000Z', '2026-05-01T10:01:00.000Z'],
    'a later time is never put back',
  )
  const text = readFileSync(`${file}.used`, 'utf8')
  t.notMatch(text, one.secret.slice(13, 30))
  if (process.platform !== 'win32') t.equal(statSync(`${file}.used`).mode & 0o777, 0o600)
})
