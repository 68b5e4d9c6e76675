/** The R of the documentation, as it stands there, against a real server. Skipped without R and the packages it names. */
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const run = promisify(execFile)
const { status } = spawnSync('Rscript', ['-e', 'library(httr2); library(jsonlite)'])
const skip =
  status === 0 ? false : 'R with httr2 and jsonlite is not installed (r-cran-httr2, r-cran-jsonlite)'

t.test('the documented R does what the page says', { skip }, async (t) => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/clients.md', import.meta.url)), 'utf8')
  const [, script = ''] = /```r\n([\s\S]*?)```/.exec(page) ?? []
  const small = await makeSmallRelease()
  const key = createKey(join(small.releasesDir, 'keys.json'), {
    name: 'r',
    capabilities: CAPABILITIES,
  }).secret
  const server = await startServerProcess(small.releasesDir)
  t.teardown(async () => {
    server.child.kill()
    await server.ended
  })
  const base = `http://127.0.0.1:${server.port}`
  const check =
    'writeLines(paste(beds$municipality, beds$metric, format(beds$value, digits = 15, trim = TRUE)))'
  const { stdout } = await run('Rscript', ['-e', `${script}\n${check}`], {
    cwd: temporaryFolder('r'),
    env: { ...process.env, API_URL: base, API_KEY: key },
  })
  const response = await fetch(`${base}/v1/analytics/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
      group_by: ['municipality'],
      filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
      limit: 10_000,
    }),
  })
  const { data, meta } = (await response.json()) as {
    data: { dimensions: { municipality: { code: number } }; metrics: Record<string, number | null> }[]
    meta: { fingerprint: string; citation: { abnt: string } }
  }
  const shown = new Map(
    [...stdout.matchAll(/^(\d{7}) (\w+) (\S+)$/gm)].map(([, code, metric, value]) => [
      `${code} ${metric}`,
      value,
    ]),
  )
  t.ok(data.length > 10)
  for (const { dimensions, metrics } of data)
    for (const [metric, value] of Object.entries(metrics)) {
      const found = shown.get(`${dimensions.municipality.code} ${metric}`)
      t.equal(found === 'NA' ? null : Number(found), value, `${dimensions.municipality.code} ${metric}`)
    }
  t.ok(stdout.includes(meta.fingerprint))
  t.ok(stdout.includes(meta.citation.abnt))
})
