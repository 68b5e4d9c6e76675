/** The answer of a release says where its published files were fetched, as far as that was recorded. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir, result } = await makeSmallRelease()
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const id = result.cnes ?? ''
const acquisitionsAfter = async (text: string): Promise<unknown> => {
  writeFileSync(join(releasesDir, id, 'acquisition.json'), text)
  return (await client.get(`/v1/releases/${id}`)).body.meta.acquisitions
}

t.test('recorded facts are shown, and what is not recorded is null', async (t) => {
  const fetched = {
    file: 'STRR2309.dbc',
    publisher: 'DATASUS',
    url: 'ftp://example.invalid/STRR2309.dbc',
    retrieved_at: '2026-11-25T03:00:00.000Z',
    bytes: 1234,
    server_time: '2024-01-31T10:11',
    sha256: 'a'.repeat(64),
  }
  const unknown = {
    publisher: null,
    url: null,
    retrieved_at: null,
    bytes: null,
    server_time: null,
    sha256: null,
  }
  t.same(await acquisitionsAfter(JSON.stringify([fetched, { file: 'by-hand.csv', bytes: '12', other: 1 }])), [
    fetched,
    { file: 'by-hand.csv', ...unknown },
  ])
})

t.test('an unreadable record is none, and the release answers', async (t) => {
  for (const text of ['', '{', '{}', 'null', '[null, 1, {}]']) t.same(await acquisitionsAfter(text), [], text)
})

t.test('a file that several areas read is named once in the provenance of a record', async (t) => {
  const small = await makeSmallRelease()
  const { releasesDir, result } = small
  const file = 'BASE_DE_DADOS_CNES_202605.ZIP'
  const record = JSON.stringify([{ file, url: 'https://example.invalid/base' }])
  for (const component of [result.cnes ?? '', result.demography ?? ''])
    writeFileSync(join(releasesDir, component, 'acquisition.json'), record)
  const reader = await openClient(releasesDir)
  t.teardown(() => reader.close())
  const [{ cnes_code: code }] = (await reader.get('/v1/facilities?limit=1')).body.data
  const { acquisitions } = (await reader.get(`/v1/facilities/${code}/provenance`)).body.meta
  t.match(acquisitions, [{ file, url: 'https://example.invalid/base' }])
  t.equal(acquisitions.length, 1)
  const server = await startExplorer({ release: small })
  t.teardown(() => server.close())
  const page = await (await fetch(`${server.address}/explorer/facilities/${code}`)).text()
  t.match(page, /De onde os arquivos vieram \(1\)/)
  t.match(page, 'https://example.invalid/base')
})
