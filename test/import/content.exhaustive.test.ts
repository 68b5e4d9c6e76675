/**
 * The Python of docs/content-digests.md, another implementation of content digests, agrees with this one on every file of the
 * demonstration and of releases of published files.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { readManifest } from '../../src/release/verify.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/content-digests.md', import.meta.url)), 'utf8')
const script = /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
const skip = secondRing.skip || withoutPython('pyarrow')

t.test('the Python of the documentation has at most 100 lines', async (t) => {
  t.ok(script.split('\n').length <= 100)
})

async function compareAll(t: Test, releasesDir: string): Promise<void> {
  const ids = readdirSync(releasesDir).filter((name) => RELEASE_ID.test(name))
  t.ok(ids.length > 1)
  const { stdout, stderr } = await runPython(script, ...ids.map((id) => join(releasesDir, id)))
  const expected = []
  for (const id of ids) {
    const { files, content_id } = await readManifest(releasesDir, id)
    expected.push(...files.map(({ path, rows_sha256 }) => `${rows_sha256} ${path}`), `${content_id} ${id}`)
  }
  t.same(stdout.trimEnd().split('\n'), expected, stderr)
}

for (const kind of [2, 'gaps', 'admissions', 'production', 'financing'] as const)
  t.test(`demonstration: ${kind}`, { skip }, async (t) =>
    compareAll(t, (await makeSmallRelease(kind)).releasesDir),
  )

const REAL: Readonly<Record<string, readonly string[]>> = {
  'registry of Sergipe': ['ibge', 'cnes/dbc/SRSE2310.dbc', 'cnes/dbc/STSE1912.DBF.gz'],
  'beds and equipment of Rio de Janeiro': ['ibge', 'cnes/dbc/LTRJ1008.dbc', 'cnes/dbc/EQRJ2309.dbc'],
  'admissions of Roraima, 2008-01': ['ibge', 'sih/RDRR0801.dbc'],
}
for (const [name, paths] of Object.entries(REAL))
  t.test(`published files: ${name}`, { skip: skip || skipWithoutShared }, async (t) => {
    const releasesDir = join(temporaryFolder('real'), 'releases')
    await importPaths(paths.map(sharedPath), { releasesDir, maxRejected: 0.001 })
    await compareAll(t, releasesDir)
  })
