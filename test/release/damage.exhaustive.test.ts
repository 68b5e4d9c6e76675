/**
 * No damaged byte of a release is served. Whatever is changed in a file of a release, before it is opened or while it answers, every
 * answer is right or says which file is damaged; the file is named, and once it is whole again everything is answered again.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { createChance } from '../../tools/demo/random.ts'
import { type Client, openClient, type Reply } from '../fixtures/client.ts'
import { damageFile } from '../fixtures/damage.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const CASES = countOf(250, 40)
const STARTS = countOf(250, 15)
const { releasesDir, result } = await makeSmallRelease(1)
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const view = client.store.current() as ReleaseView
const chance = createChance(47)

interface File {
  readonly name: string
  readonly path: string
  readonly bytes: Buffer
}
const manifests = [view.analytics, ...Object.values(view.components)].filter((each) => each !== null)
const files: File[] = manifests.flatMap(({ release_id, files: listed }) =>
  listed.map((file) => {
    const path = join(releasesDir, release_id, file.path)
    return { name: `${release_id}/${file.path}`, path, bytes: readFileSync(path) }
  }),
)
const fileOf = (turn: number): File => files[Math.floor(chance(turn, 1) * files.length)] as File

const damage = ({ path, bytes }: File, turn: number): string => damageFile(path, bytes, turn, chance, 0.05)

const query = (body: unknown) => (): Promise<Reply> => client.query(body)
const get = (url: string) => (): Promise<Reply> => client.get(url)
const [facility] = (await client.get('/v1/facilities?limit=1')).body.data
const QUESTIONS = [
  get('/v1/facilities?limit=50&count=true'),
  get(`/v1/facilities/${facility.cnes_code}`),
  get(`/v1/facilities/${facility.cnes_code}/provenance`),
  get(`/v1/facilities/${facility.cnes_code}/bed-capacity`),
  get('/v1/specialized-service-offerings?limit=20'),
  get('/v1/equipment-inventory?limit=20'),
  get('/v1/municipalities?limit=20'),
  query({ metrics: ['facilities_count'], group_by: ['state'] }),
  query({
    metrics: ['beds_clinical_existing', 'facilities_per_100k'],
    group_by: ['municipality'],
    limit: 20,
  }),
  () => client.get('/v1/facilities?uf=RR', { accept: 'text/csv' }),
]
const strip = ({ status, text }: Reply): string => `${status} ${text.replace(/"request_id":"[^"]+"/, '')}`

t.test(`${CASES} changes of files while they are read: answers are right, or name the file`, async (t) => {
  const expected: string[] = []
  for (const ask of QUESTIONS) expected.push(strip(await ask()))
  t.same(
    expected.filter((text) => !text.startsWith('200 ')),
    [],
    'all of them answer at first',
  )
  const wrong: string[] = []
  let [right, refused, unnamed] = [0, 0, 0]
  for (let turn = 0; turn < CASES; turn += 1) {
    const file = fileOf(turn)
    const asked = [0, 1, 2].map((each) => Math.floor(chance(turn, 20 + each) * QUESTIONS.length))
    const askAll = () => asked.map((index) => (QUESTIONS[index] as () => Promise<Reply>)())
    // Every other time the statements run already.
    const early = turn % 2 === 0 ? askAll() : []
    if (turn % 4 === 0) await wait(chance(turn, 30) * 10)
    damage(file, turn)
    const replies = await Promise.all([
      ...early,
      ...askAll(),
      client.get(`/v1/releases/${file.name.replace('/', '/files/')}`),
    ])
    for (const [at, reply] of replies.entries()) {
      const isFile = at === replies.length - 1
      const isNamed =
        reply.status === 503 && reply.body?.code === 'release_damaged' && reply.body.file === file.name
      if (isNamed) refused += 1
      else if (!isFile && strip(reply) === expected[asked[at % asked.length] ?? 0]) right += 1
      else wrong.push(`${file.name}: ${strip(reply).slice(0, 300)}`)
    }
    await client.store.guard.look()
    if (JSON.stringify((await client.get('/ready')).body.data.damaged_files).includes(file.name) !== true)
      unnamed += 1
    writeFileSync(file.path, file.bytes)
    await client.store.guard.look()
    if (client.store.guard.damaged().length > 0) unnamed += 1
    const [again = 0] = asked
    if (strip(await (QUESTIONS[again] as () => Promise<Reply>)()) !== expected[again])
      wrong.push(`${file.name}: later`)
  }
  t.same(wrong.slice(0, 5), [], `${wrong.length} wrong answers`)
  t.equal(unnamed, 0)
  t.ok(right > CASES && refused > CASES, `${right} right answers, ${refused} that name the file`)
})

t.test('a file is sent whole or not at all, and the manifest as it was verified', async (t) => {
  const [manifest] = manifests
  const file = files.find(({ path }) => path.endsWith('.parquet')) as File
  const url = `/v1/releases/${file.name.replace('/', '/files/')}`
  const whole = await client.get(url)
  t.equal(whole.status, 200)
  t.same(whole.bytes, file.bytes)
  damage(file, 3)
  for (const headers of [{}, { range: 'bytes=0-9' }]) {
    const { status, body } = await client.get(url, headers)
    t.equal(status, 503)
    t.match(body, { code: 'release_damaged', file: file.name })
  }
  t.equal((await client.send({ method: 'HEAD', url })).status, 503)
  t.equal((await client.get(url, { 'if-none-match': String(whole.headers.etag) })).status, 304)
  rmSync(file.path)
  t.match((await client.get(url)).body, { code: 'release_damaged', file: file.name })
  writeFileSync(file.path, file.bytes)
  t.equal((await client.get(url, { range: 'bytes=0-9' })).text.length > 0, true)
  t.same((await client.get(url)).bytes, file.bytes)
  const path = join(releasesDir, manifest?.release_id ?? '', 'manifest.json')
  const text = readFileSync(path)
  writeFileSync(path, Buffer.concat([text.subarray(0, 99), Buffer.from('1'), text.subarray(100)]))
  t.same((await client.get(`/v1/releases/${manifest?.release_id}/files/manifest.json`)).bytes, text)
  writeFileSync(path, text)
  const signature = join(releasesDir, result.analytics, 'manifest.sig')
  writeFileSync(signature, 'no signature\n')
  t.match((await client.get(`/v1/releases/${result.analytics}`)).body, {
    code: 'release_damaged',
    file: `${result.analytics}/manifest.sig`,
  })
  t.equal((await client.get(`/v1/releases/${result.analytics}/files/manifest.sig`)).status, 503)
  rmSync(signature)
  t.equal((await client.get(`/v1/releases/${result.analytics}`)).status, 200)
})

t.test('damage is named within ten seconds, although nobody asks', async (t) => {
  const file = fileOf(5)
  damage(file, 7)
  const began = performance.now()
  const named = async (): Promise<unknown[]> => (await client.get('/ready')).body.data.damaged_files
  while ((await named()).length === 0 && performance.now() - began < 20_000) await wait(50)
  t.match(await named(), [{ file: file.name, reason: /SHA-256|bytes|missing/ }])
  const seconds = (performance.now() - began) / 1000
  t.ok(seconds < 10, `${seconds.toFixed(1)} s`)
  writeFileSync(file.path, file.bytes)
  await client.store.guard.look()
  t.same(await named(), [])
})

t.test('a release whose folder was removed is named once', async (t) => {
  const folder = join(releasesDir, result.demography ?? '')
  renameSync(folder, `${folder}.elsewhere`)
  await client.store.guard.look()
  const { damaged_files } = (await client.get('/ready')).body.data
  t.same(damaged_files, [{ file: result.demography, reason: 'is not there any more' }])
  t.match((await client.get('/v1/municipalities?limit=20')).body, {
    code: 'release_damaged',
    file: result.demography,
  })
  renameSync(`${folder}.elsewhere`, folder)
  await client.store.guard.look()
  t.same((await client.get('/ready')).body.data.damaged_files, [])
})

t.test('a refused release is damaged, not absent', async (t) => {
  const { analytics } = view
  const component = result.demography ?? ''
  const paths = ['', '/files/manifest.json', '/datapackage.json', '/metadata.jsonld', '/attach.sql']
  const statuses = async (from: Client, id: string): Promise<number[]> =>
    Promise.all(paths.map(async (path) => (await from.get(`/v1/releases/${id}${path}`)).status))
  const fresh = async (): Promise<Client> => {
    const opened = await openClient(releasesDir)
    t.teardown(() => opened.close())
    return opened
  }
  const manifest = join(releasesDir, component, 'manifest.json')
  const text = readFileSync(manifest)
  writeFileSync(manifest, text.subarray(1))
  const damaged = await fresh()
  t.same(await statuses(damaged, component), [503, 503, 503, 503, 503])
  t.match((await damaged.get(`/v1/releases/${component}`)).body, { code: 'release_damaged' })
  t.same(
    await statuses(damaged, analytics.release_id),
    [200, 200, 503, 503, 503],
    'a description of all components needs each of them',
  )
  t.equal((await damaged.get(`/v1/releases/demo-sih-br-202605-${'0'.repeat(64)}`)).status, 404)
  writeFileSync(manifest, text)
  t.same(await statuses(await fresh(), component), [200, 200, 200, 200, 200])
})

t.test(`${STARTS} starts on a damaged release: it is refused, and the file is named`, async (t) => {
  let [served, unnamed] = [0, 0]
  for (let turn = 0; turn < STARTS; turn += 1) {
    const file = fileOf(turn + 5000)
    damage(file, turn + 5000)
    const store = await openStore({ releasesDir })
    if (store.current() !== null) served += 1
    if (!store.problems().some(({ reason }) => reason.startsWith(file.name))) unnamed += 1
    store.close()
    writeFileSync(file.path, file.bytes)
  }
  t.same({ served, unnamed }, { served: 0, unnamed: 0 })
  const store = await openStore({ releasesDir })
  t.ok(store.current(), 'and served once it is whole')
  store.close()
})
