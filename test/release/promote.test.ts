/** Promotion: what a caller learns when the pointer cannot be written. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { promoteRelease } from '../../src/release/promote.ts'

t.test('a promotion whose pointer cannot be written fails', async (t) => {
  const releasesDir = t.testdir()
  mkdirSync(join(releasesDir, 'current.json'))
  writeFileSync(join(releasesDir, 'current.json', 'file'), '')
  const id = `analytics-br-202605-${'0'.repeat(64)}`
  mkdirSync(join(releasesDir, id))
  writeFileSync(join(releasesDir, id, 'manifest.json'), '{}')
  await t.rejects(promoteRelease(releasesDir, id), /current\.json/)
})

t.test('a release that was removed meanwhile is not promoted', async (t) => {
  const releasesDir = t.testdir()
  await t.rejects(
    promoteRelease(releasesDir, `analytics-br-202605-${'0'.repeat(64)}`),
    /manifest\.json: is missing/,
  )
  t.same(readdirSync(releasesDir), [])
})
