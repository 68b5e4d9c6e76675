/** Changes of promotions: the API, the home page and the feed say what plain SQL over the files of both releases finds. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { periodRanges } from '../../src/explorer/parts/changes.ts'
import { changesOf, type PromotionChanges } from '../../src/release/changes.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { POINTER } from '../../src/release/pointer.ts'
import { addPromotionLine, promoteRelease } from '../../src/release/promote.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(1)
const larger = await makeSmallRelease('admissions')
const { releasesDir } = small
cpSync(larger.releasesDir, releasesDir, { recursive: true })
const [first, second] = [small.result.analytics, larger.result.analytics]
rmSync(join(releasesDir, POINTER))
await promoteRelease(releasesDir, first)
await promoteRelease(releasesDir, second)
await promoteRelease(releasesDir, first)
// A promotion that ended between its line and the pointer did not happen.
addPromotionLine(releasesDir, `${first} ${second}`)
const server = await startExplorer({ release: small })
t.teardown(() => server.close())

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(server.address + path, { headers })
const changes = async (query = ''): Promise<PromotionChanges[]> => {
  const response = await get(`/v1/changes${query}`, { authorization: `Bearer ${server.key}` })
  t.equal(response.status, 200)
  return ((await response.json()) as { data: PromotionChanges[] }).data
}
const manifestOf = (id: string): Manifest =>
  JSON.parse(readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8')) as Manifest

const connection = await (await DuckDBInstance.create()).connect()
/** Counts rows of one file that the other does not have, both ways. */
async function differingRows(one: string, other: string): Promise<number> {
  const result = await connection.runAndReadAll(`
    SELECT count(*) FROM (
      (FROM read_parquet('${one}') EXCEPT ALL FROM read_parquet('${other}'))
      UNION ALL (FROM read_parquet('${other}') EXCEPT ALL FROM read_parquet('${one}')))`)
  return Number(result.getRows()[0]?.[0])
}

t.test('promotions, newest first, with what each changed', async (t) => {
  const all = await changes()
  t.same(
    all.map(({ release_id, previous_release_id, in_service }) => [
      release_id,
      previous_release_id,
      in_service,
    ]),
    [
      [first, second, true],
      [second, first, false],
      [first, null, false],
    ],
    'the line without a promotion is left out',
  )
  t.same(await changes('?limit=1'), all.slice(0, 1))
  const [, added, initial] = all
  t.equal(initial?.synthetic, true)
  t.ok(initial?.areas?.every(({ previous_release_id }) => previous_release_id === null))
  const admissions = added?.areas?.find(({ area }) => area === 'sih')
  t.equal(admissions?.previous_release_id, null, 'the first release has no admissions')
  const monthly = admissions?.datasets.find(({ dataset }) => dataset === 'hospital_admissions')
  t.same(monthly?.added, ['2026-03', '2026-04', '2026-05'])
  t.equal(monthly?.previous_rows, null)
  t.equal(all[0]?.areas?.find(({ area }) => area === 'sih')?.release_id, null, 'it is gone again')
})

t.test('periods that differ are those whose rows differ by SQL', async (t) => {
  const cnes = (await changes())[1]?.areas?.find(({ area }) => area === 'cnes')
  const [after, before] = [manifestOf(cnes?.release_id ?? ''), manifestOf(cnes?.previous_release_id ?? '')]
  let compared = 0
  for (const dataset of Object.keys(after.datasets)) {
    const found = cnes?.datasets.find((change) => change.dataset === dataset)
    const periods = (manifest: Manifest): string[] =>
      manifest.files.map(({ path }) => path).filter((path) => path.startsWith(`${dataset}/`))
    const shared = periods(after).filter((path) => periods(before).includes(path))
    for (const path of shared) {
      const month = /=(\d{4})(\d\d)/.exec(path)
      const differing = await differingRows(
        join(releasesDir, after.release_id, path),
        join(releasesDir, before.release_id, path),
      )
      const isNamed =
        month === null
          ? found?.undated_changed === true
          : found?.revised.includes(`${month[1]}-${month[2]}`) === true
      t.equal(isNamed, differing > 0, `${path}: ${differing} rows differ`)
      compared += 1
    }
    t.equal(found?.rows ?? after.datasets[dataset]?.rows, after.datasets[dataset]?.rows)
  }
  t.ok(compared > 5)
})

t.test('a promotion with figures; the first one has none to compare with', async (t) => {
  const read = async (id: string) =>
    get(`/v1/changes/${id}`, { authorization: `Bearer ${server.key}` }).then(async (response) => ({
      status: response.status,
      body: await response.json(),
    }))
  const { status, body } = await read(second)
  t.equal(status, 200)
  const { figures, ...promotion } = body.data
  t.same(promotion, (await changes())[1])
  t.type(figures, Array)
  t.equal((await read('demo-analytics-br-202605-'.padEnd(89, '0'))).status, 404)
})

t.test('a changed cell is a revision; a file that became final is named', (t) => {
  const manifests = new Map<string, Manifest>()
  const find = (id: string): Manifest | null => manifests.get(id) ?? null
  const analytics = manifestOf(first)
  const component = manifestOf(analytics.components.cnes ?? '')
  const dataset = 'bed_capacity'
  const withStatus = (manifest: Manifest, status: 'final' | 'preliminary'): Manifest => ({
    ...manifest,
    coverage: {
      ...manifest.coverage,
      [dataset]: { '202605': { family: 'state', states: ['RR'], status: { RR: status } } },
    },
  })
  const changed: Manifest = {
    ...withStatus(component, 'final'),
    release_id: 'other',
    files: component.files.map((file) =>
      file.path.startsWith(`${dataset}/`) ? { ...file, rows_sha256: '0'.repeat(64) } : file,
    ),
  }
  manifests.set('before', analytics)
  manifests.set('after', { ...analytics, components: { ...analytics.components, cnes: 'other' } })
  manifests.set(component.release_id, withStatus(component, 'preliminary'))
  manifests.set('other', changed)
  const promotion = { promoted_at: '', release_id: 'after', previous_release_id: 'before' }
  const areas = changesOf(promotion, find) ?? []
  t.same(
    areas.map(({ area, datasets }) => [area, datasets.map((each) => each.dataset)]),
    [['cnes', [dataset]]],
  )
  const [only] = areas[0]?.datasets ?? []
  t.same(only?.revised, ['2026-05'])
  t.same(only?.became_final, [{ period: '2026-05', states: ['RR'] }])
  t.same(only?.preliminary, [])
  manifests.delete('before')
  t.equal(changesOf(promotion, find), null, 'one release is gone')
  t.end()
})

t.test('months in a row are a range', (t) => {
  t.equal(periodRanges(['2026-01', '2025-12', '2025-11', '2025-09'], 'pt'), 'set 2025, nov 2025 – jan 2026')
  t.equal(periodRanges(['2024', '2025'], 'en'), '2024, 2025')
  t.end()
})

t.test('the feed is Atom with an entry for each promotion; readers that have it get 304', async (t) => {
  const response = await get('/feed.atom')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/atom+xml; charset=utf-8')
  const xml = await response.text()
  const texts: Record<string, string[]> = {}
  const parser = new SaxesParser({ xmlns: true })
  let open: string[] = []
  parser.on('opentag', ({ local, uri }) => {
    t.equal(uri, 'http://www.w3.org/2005/Atom')
    open.push(local)
  })
  parser.on('closetag', () => {
    open = open.slice(0, -1)
  })
  parser.on('text', (text) => {
    const path = open.join('/')
    texts[path] = [...(texts[path] ?? []), text]
  })
  parser.write(xml).close()
  t.equal(texts['feed/entry/title']?.length, 3)
  t.equal(new Set(texts['feed/entry/id']).size, 3)
  t.match(
    texts['feed/entry/id']?.[0],
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  t.match(texts['feed/entry/content']?.[1], /acrescentou mar 2026 – mai 2026/)
  const tag = response.headers.get('etag') ?? ''
  t.equal((await get('/feed.atom', { 'if-none-match': tag })).status, 304)
  t.match(await (await get('/feed.atom?lang=en')).text(), /added Mar 2026 – May 2026/)
  const home = await (await get('/')).text()
  t.match(home, 'type="application/atom+xml"')
  t.match(home, /Comparada com/)
  t.match(home, /já não está aqui/)
})

t.test('without the operator’s key there is no feed', async (t) => {
  const closed = await startExplorer({ release: small, hasKey: false })
  t.equal((await fetch(`${closed.address}/feed.atom`)).status, 404)
  await closed.close()
})
