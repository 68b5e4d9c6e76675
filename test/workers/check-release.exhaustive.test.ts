/**
 * A promoted release that verifies but cannot be read is refused by name; the server that runs stays on the one it has,
 * answers on, and takes the next good one.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { startServer } from '../../src/main.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { checkReleaseInChild } from '../../src/workers/check-release.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const { releasesDir } = small
const { cnes, analytics } = small.result
const BEDS = 'bed_capacity/reference_period=202605/part-0.parquet'
const setRows = (manifest: Manifest, path: string, rows: number): void => {
  const dataset = manifest.datasets[path.split('/')[0] ?? '']
  const file = manifest.files.find((one) => one.path === path)
  if (dataset === undefined || file === undefined) throw new Error(path)
  dataset.rows += rows - file.rows
  file.rows = rows
}

const FORGERIES: Readonly<Record<string, (folder: string, manifest: Manifest) => void>> = {
  'no Parquet at all': (folder) => writeFileSync(join(folder, BEDS), 'PAR1 and nothing PAR1'),
  'a footer that is cut': (folder) => {
    const bytes = readFileSync(join(folder, BEDS))
    writeFileSync(
      join(folder, BEDS),
      Buffer.concat([bytes.subarray(0, bytes.length - 400), bytes.subarray(-8)]),
    )
  },
  'pages overwritten with noise': (folder) => {
    const bytes = readFileSync(join(folder, BEDS))
    for (let at = 4; at < bytes.length - 4000; at += 1) bytes[at] = (at * 31) & 0xff
    writeFileSync(join(folder, BEDS), bytes)
  },
  'a number of rows that cannot be': (folder, manifest) => {
    const bytes = new ByteWriter()
    const writer = new ParquetWriter({
      writer: bytes,
      schema: [
        { name: 'root', num_children: 1 },
        { name: 'cnes_code', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      ],
    })
    writer.write({ columnData: [{ name: 'cnes_code', data: ['1000001'] }] })
    writer.num_rows = 9_000_000_000_000n
    for (const group of writer.row_groups) group.num_rows = 9_000_000_000_000n
    writer.finish()
    writeFileSync(join(folder, BEDS), bytes.getBytes())
    setRows(manifest, BEDS, 9_000_000_000_000)
  },
  'rows other than the manifest says': (_folder, manifest) => setRows(manifest, BEDS, 7),
}

const env = { SUS_RELEASES_DIR: releasesDir, SUS_LOG_LEVEL: 'silent', PORT: '0' }
const settings = readSettings(env)
const key = createKey(settings.keysFile, { name: 'test', capabilities: ['geo.read'] }).secret
const server = await startServer(settings)
t.teardown(() => server.close())
const get = async (path: string) => {
  const answer = await fetch(`${server.address}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return { status: answer.status, body: (await answer.json()) as { data: Record<string, unknown> } }
}
const ready = async () =>
  (await get('/ready')).body.data as { release_id: string; refused: { release_id: string; reason: string }[] }

t.test('a good release passes', async (t) => {
  await checkReleaseInChild(releasesDir, analytics)
  t.equal((await ready()).release_id, analytics)
})

for (const [name, forge] of Object.entries(FORGERIES))
  t.test(name, async (t) => {
    const forged = await forgeRelease(releasesDir, cnes ?? '', forge)
    const joined = await joinForged(releasesDir, analytics, forged)
    await t.rejects(checkReleaseInChild(releasesDir, joined), { name: 'ReleaseRefused' })
    writePointer(releasesDir, joined)
    process.kill(process.pid, 'SIGHUP')
    for (let turn = 0; turn < 100; turn += 1) {
      if ((await ready()).refused.some(({ release_id }) => release_id === joined)) break
      await new Promise((resolve) => setTimeout(resolve, 100))
      t.equal((await get('/v1/states')).status, 200, 'answers meanwhile')
    }
    const { release_id, refused } = await ready()
    t.equal(release_id, analytics, 'the old release is in service')
    t.match(refused.find((one) => one.release_id === joined)?.reason, /bed_capacity/, 'names the dataset')
    t.equal((await get('/v1/states')).status, 200)
    writePointer(releasesDir, analytics)
  })
