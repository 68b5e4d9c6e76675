/**
 * Two releases of analytics that share the one of demography: entity tags tell them apart, a pin by the shared one gives equal bytes from
 * either, and walks go on whichever is in service, also when the other is gone.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const { releasesDir, snapshots, result } = small
const { analytics: newer, demography } = result
const { analytics: older, cnes } = await importPaths([join(snapshots, 'cnes/2026-04')], {
  releasesDir,
  maxRejected: 0.001,
})
writePointer(releasesDir, older)
let client = await openClient(releasesDir)
t.teardown(() => client.close())
const serve = async (id: string): Promise<void> => {
  writePointer(releasesDir, id)
  while (client.store.current()?.id !== id) await client.store.refresh()
}

const LISTS = ['/v1/municipalities', '/v1/demography/population']
const pinned = (url: string, id: string | null | undefined): string =>
  `${url}?limit=250&expected_release_id=${id}`
/** @returns codes of the rest of a walk, page by page */
async function walk(url: string, cursor: string | null): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let next = cursor; next !== null; ) {
    const { status, body, text } = await client.get(`${url}&cursor=${next}`)
    if (status !== 200) throw new Error(text)
    rows.push(...body.data)
    next = body.pagination.next_cursor
  }
  return rows
}

t.test('a walk pinned by the shared release has equal pages from both, and goes on', async (t) => {
  for (const url of LISTS) {
    await serve(older)
    const before = await client.get(pinned(url, demography))
    t.match(before.headers['cache-control'], /immutable/)
    const rest = await walk(pinned(url, demography), before.body.pagination.next_cursor)
    await serve(newer)
    const after = await client.get(pinned(url, demography))
    t.equal(after.text, before.text, 'equal bytes')
    const cursor = before.body.pagination.next_cursor
    t.same(await walk(pinned(url, demography), cursor), rest)
    t.same(await walk(`${url}?limit=250`, cursor), rest, 'the cursor names the release, too')
  }
})

t.test(
  'a walk without a pin stays on its release, also when a pin of a release within is added',
  async (t) => {
    for (const url of LISTS) {
      await serve(older)
      const { body } = await client.get(`${url}?limit=250`)
      const cursor = body.pagination.next_cursor
      const rest = await walk(`${url}?limit=250`, cursor)
      await serve(newer)
      for (const next of [`${url}?limit=250`, pinned(url, demography), pinned(url, older)])
        t.same(await walk(next, cursor), rest)
      const elsewhere = await client.get(`${pinned(url, newer)}&cursor=${cursor}`)
      t.match(elsewhere, { status: 400, body: { code: 'invalid_cursor' } })
      t.match(elsewhere.body.detail, /expected_release_id/)
      const absent = await client.get(`${pinned(url, older.replace(/.{4}$/, '0000'))}&cursor=${cursor}`)
      t.equal(absent.status, 409)
    }
  },
)

t.test(
  'a page of another release has another tag, and only a pin that decides the answer makes it immutable',
  async (t) => {
    for (const url of [...LISTS, '/v1/facilities', '/v1/analytics/catalog']) {
      await serve(older)
      const page = url.includes('catalog') ? url : `${url}?limit=2`
      const { headers } = await client.get(page)
      t.equal((await client.get(page, { 'if-none-match': String(headers.etag) })).status, 304)
      await serve(newer)
      const after = await client.get(page, { 'if-none-match': String(headers.etag) })
      t.equal(after.status, 200, `${url}: its cursors are of the other release`)
      t.not(after.headers.etag, headers.etag)
    }
    for (const url of [
      '/v1/facilities',
      '/v1/analytics/metrics/bed_capacity_existing',
      '/v1/analytics/catalog',
    ]) {
      const byOther = await client.get(`${url}?expected_release_id=${demography}`)
      t.match(byOther, { status: 200, headers: { 'cache-control': 'private, no-cache' } }, url)
      const byItself = await client.get(`${url}?expected_release_id=${newer}`)
      t.match(byItself.headers['cache-control'], /immutable/)
    }
  },
)

t.test('pages that a client keeps lead on when the release that answered them is gone', async (t) => {
  await serve(older)
  const kept = await Promise.all(LISTS.map((url) => client.get(pinned(url, demography))))
  const unpinned = await client.get('/v1/municipalities?limit=2')
  await serve(newer)
  renameSync(join(releasesDir, older), join(temporaryFolder('gone'), older))
  await client.close()
  client = await openClient(releasesDir)
  for (const [index, url] of LISTS.entries())
    t.ok((await walk(pinned(url, demography), kept[index]?.body.pagination.next_cursor)).length > 5000)
  const refused = await client.get(
    `/v1/municipalities?limit=2&cursor=${unpinned.body.pagination.next_cursor}`,
  )
  t.match(refused, { status: 400, body: { code: 'invalid_cursor' } })
  const again = await client.get('/v1/municipalities?limit=2', {
    'if-none-match': String(unpinned.headers.etag),
  })
  t.equal(again.status, 200, 'the first page can be had again')
  const alone = await client.get(pinned('/v1/facilities', cnes), { 'accept-language': 'en' })
  t.equal(alone.status, 409)
  t.match(alone.body.detail, /is here, but no analytics release/)
})
