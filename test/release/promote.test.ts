/** Promotion: what a caller learns when the pointer cannot be written. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { promoteRelease } from '../../src/release/promote.ts'

t.test('a promotion whose pointer cannot be written fails', async (t) => {
  const releasesDir = t.testdir()
  mkdirSync(join(releasesDir, 'current.json'))
  writeFileSync(join(releasesDir, 'current.json', 'file'), '')
  await t.rejects(promoteRelease(releasesDir, `analytics-br-202605-${'0'.repeat(64)}`), /current\.json/)
})
