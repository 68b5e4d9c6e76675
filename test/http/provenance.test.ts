/**
 * Provenance that can be checked by hand: entries of random records are looked up in the published files, at their row
 * and column, by code that shares nothing with the importer.
 */
import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { writePointer } from '../../src/release/writer.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { columnOf, type RawTable, readZip, splitTable } from '../fixtures/raw-base.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

interface Entry {
  attribute: string
  value: unknown
  raw_value: string | null
  rule: string
  source: {
    publisher: string
    file: string
    archive: string | null
    sha256: string
    row: number
    column: string
  } | null
}

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const tables = new Map<string, RawTable>()
const digests = new Map<string, string>()
for (const [name, bytes] of await readZip(
  join(small.snapshots, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP'),
))
  if (name.endsWith('.csv')) {
    tables.set(name, splitTable(bytes))
    digests.set(name, createHash('sha256').update(bytes).digest('hex'))
  }

t.test('random entries of every kind are found at their file, row and column', async (t) => {
  const chance = createChance(3)
  const lists: [string, (row: Record<string, string>) => string][] = [
    ['/v1/facilities?status=all&limit=250', (row) => `/v1/facilities/${row.cnes_code}/provenance`],
    [
      '/v1/bed-capacity?status=all&limit=100',
      (row) => `/v1/facilities/${row.cnes_code}/bed-capacity/${row.bed_type_code}/provenance`,
    ],
    [
      '/v1/equipment-inventory?status=all&limit=200',
      (row) =>
        `/v1/facilities/${row.cnes_code}/equipment-inventory/${row.category_code}/${row.equipment_code}/provenance`,
    ],
    [
      '/v1/specialized-service-offerings?status=all&limit=200',
      (row) =>
        `/v1/facilities/${row.cnes_code}/specialized-services/${row.service_code}/${row.classification_code}/provenance`,
    ],
  ]
  let checked = 0
  for (const [kind, [list, link]] of lists.entries()) {
    const rows = (await client.get(list)).body.data
    for (let draw = 0; draw < 15; draw += 1) {
      const reply = await client.get(link(rows[Math.floor(chance(draw, kind) * rows.length)]))
      t.equal(reply.status, 200)
      for (const { attribute, raw_value, source } of reply.body.data.entries as Entry[]) {
        const table = source === null ? undefined : tables.get(source.file)
        if (
          source === null ||
          table === undefined ||
          raw_value === null ||
          columnOf(table, source.column) < 0
        )
          continue
        const cell = table.rows[source.row - 2]?.[columnOf(table, source.column)]
        if (cell !== raw_value)
          t.fail(
            `${attribute}: ${source.file} row ${source.row} ${source.column} is ${cell}, not ${raw_value}`,
          )
        if (source.sha256 !== digests.get(source.file)) t.fail(`${source.file}: digest`)
        checked += 1
      }
    }
  }
  t.ok(checked > 600, `${checked} entries checked`)
})

t.test('a facility’s provenance covers every projected attribute', async (t) => {
  const [{ cnes_code }] = (await client.get('/v1/facilities?uf=AP&limit=1')).body.data
  const record = (await client.get(`/v1/facilities/${cnes_code}`)).body.data
  const { body } = await client.get(`/v1/facilities/${cnes_code}/provenance`)
  const release = await client.get(`/v1/releases/${body.meta.release_id}`)
  t.equal(body.meta.content_id, release.body.meta.content_id)
  t.match(body.meta.content_id, /^[0-9a-f]{64}$/)
  const { entries } = body.data as {
    entries: Entry[]
  }
  for (const attribute of Object.keys(record))
    t.ok(
      entries.some((entry) => entry.attribute === attribute || entry.attribute.startsWith(`${attribute}.`)),
      attribute,
    )
  const type = entries.find(({ attribute }) => attribute === 'facility_type_code')
  t.equal(type?.value, record.facility_type_code)
  t.equal(type?.source?.column, 'TP_UNIDADE')
  t.equal(type?.source?.archive, 'BASE_DE_DADOS_CNES_202605.ZIP')
  const name = entries.find(({ attribute }) => attribute === 'facility_type_name')
  t.match(name?.source?.file, /^tbTipoUnidade/)
  t.notMatch(JSON.stringify(entries), /NU_CPF|CO_CPFDIRETORCLN|@/)
})

t.test('an offering declared several times lists every row', async (t) => {
  const rows = (
    await client.get('/v1/specialized-service-offerings?characteristic_code=2&limit=200&status=all')
  ).body.data
  const many = rows.find((row: { declarations: unknown[] }) => row.declarations.length > 1)
  const { entries } = (
    await client.get(
      `/v1/facilities/${many.cnes_code}/specialized-services/${many.service_code}/${many.classification_code}/provenance`,
    )
  ).body.data as { entries: Entry[] }
  t.equal(
    new Set(
      entries.flatMap(({ source }) => (source?.file.startsWith('rlEstabServClass') ? [source.row] : [])),
    ).size,
    many.declarations.length,
  )
})

t.test('a release made before names and headers were kept', async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const cnes = await forgeRelease(releasesDir, result.cnes ?? '', (folder, manifest) => {
    Reflect.deleteProperty(manifest, 'headers')
    Reflect.deleteProperty(manifest.datasets, 'code_names_provenance')
    manifest.files = manifest.files.filter(({ path }) => !path.startsWith('code_names_provenance/'))
    rmSync(join(folder, 'code_names_provenance'), { recursive: true })
  })
  writePointer(releasesDir, await joinForged(releasesDir, result.analytics, cnes))
  const old = await openClient(releasesDir)
  t.teardown(() => old.close())
  const [row] = (await old.get('/v1/bed-capacity?limit=1')).body.data
  const { entries } = (
    await old.get(`/v1/facilities/${row.cnes_code}/bed-capacity/${row.bed_type_code}/provenance`)
  ).body.data as { entries: Entry[] }
  const name = entries.find(({ attribute }) => attribute === 'bed_type_name')
  t.same(
    [name?.value, name?.raw_value, name?.source?.column],
    [row.bed_type_name, row.bed_type_name, 'DS_LEITO'],
  )
  t.equal(name?.source?.file, 'tbLeito202605.csv')
  t.equal((await old.get(`/v1/facilities/${row.cnes_code}/provenance`)).status, 200)
})

t.test('state files: the row of the .dbc', { skip: skipWithoutShared }, async (t) => {
  const releasesDir = join(temporaryFolder('state'), 'releases')
  const { analytics } = await importPaths([sharedPath('ibge'), sharedPath('cnes/dbc/LTRR0610.dbc')], {
    releasesDir,
    maxRejected: 0.001,
  })
  await promoteRelease(releasesDir, analytics)
  const real = await openClient(releasesDir)
  const lines = readFileSync(sharedPath('cnes/dbc/expected/LTRR0610.csv'), 'utf8')
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(';'))
  const header = lines[0] ?? []
  for (const row of (await real.get('/v1/bed-capacity?limit=30')).body.data) {
    const { entries } = (
      await real.get(`/v1/facilities/${row.cnes_code}/bed-capacity/${row.bed_type_code}/provenance`)
    ).body.data as { entries: Entry[] }
    const entry = entries.find(({ attribute }) => attribute === 'beds_existing')
    t.equal(entry?.value, row.beds_existing)
    t.equal(
      entry?.raw_value?.trim(),
      lines[(entry?.source?.row ?? 0) - 1]?.[header.indexOf('QT_EXIST')]?.trim(),
    )
    t.equal(entry?.source?.file, 'LTRR0610.dbc')
  }
  await real.close()
})
