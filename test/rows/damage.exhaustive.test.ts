/**
 * No damaged byte of a row file is served: whatever is changed in one, before or after it was opened, answers are right, the file is
 * named, and once it is whole again it is used again.
 */

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { DATASETS, type Dataset, type DatasetName } from '../../src/model/datasets.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { checkRowFiles, type ListedRowFile } from '../../src/rows/derived.ts'
import { makeRows } from '../../src/rows/make.ts'
import { createRowStore, type PageQuery, type RowStore } from '../../src/rows/row-store.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const CASES = countOf(250, 60)
const small = await makeSmallRelease(1)
const { releasesDir } = small
const client = await openClient(releasesDir, 1, { rows: true })
t.teardown(() => client.close())
const view = client.store.current() as ReleaseView
const chance = createChance(31)
const pick = <Value>(list: readonly Value[], ...seed: [number, number]): Value =>
  list[Math.floor(chance(...seed) * list.length)] as Value

interface File extends ListedRowFile {
  readonly path: string
  readonly bytes: Buffer
}
const files: File[] = []
for (const manifest of Object.values(view.components)) {
  if (manifest === null) continue
  const { folder, listed } = await checkRowFiles(releasesDir, manifest)
  for (const each of listed) {
    const path = join(folder, each.entry.path)
    files.push({ ...each, path, bytes: readFileSync(path) })
  }
}

/** Writes into the file that is there, as a program or a disk does. */
function writeInto(path: string, bytes: Buffer, at = 0): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, at)
  closeSync(file)
}

type Question = (store: RowStore) => { readonly said: unknown; readonly isFromRows: boolean }

/** What lists, records, filters, searches, orders and maps ask of a row file; null is what the engine answers. */
function questionsOf({ source }: File): Question[] {
  const dataset: Dataset = DATASETS[source.dataset]
  const table = (store: RowStore) => store.find(view, source.dataset as DatasetName, source.period)
  const ask =
    (read: (found: NonNullable<ReturnType<typeof table>>) => unknown): Question =>
    (store) => {
      const found = table(store)
      const said = found === null ? null : (read(found) ?? null)
      return { said, isFromRows: said !== null }
    }
  const page = (query: Partial<PageQuery>): Question =>
    ask((rows) => rows.page({ filters: {}, after: null, limit: 40, counts: true, ...query }))
  const all = page({ limit: 100_000 })
  const filters = Object.entries(dataset.filters ?? {}).flatMap(([name, filter]) =>
    filter.kind === 'search'
      ? ['hospital', 'de sao', '1'].map((text) => ({ [name]: text }))
      : filter.kind === 'positive' || filter.kind === 'flag' || filter.kind === 'declaration'
        ? [{ [name]: 'true' }, { [name]: 'false' }]
        : filter.kind === 'status'
          ? [{ [name]: 'active' }]
          : [{ [name]: '1' }, { [name]: '14' }],
  )
  return [
    all,
    ...filters.map((each) => page({ filters: each })),
    ...(dataset.sorts ?? []).map((field, at) => page({ sort: [{ field, isDescending: at % 2 === 0 }] })),
    ...(source.dataset === 'facilities'
      ? [page({ place: { box: null, near: { latitude: -10, longitude: -60 } } as never, wantsItems: true })]
      : []),
    ask((rows) => {
      const step = Math.ceil(rows.rows / 30)
      const records = Array.from({ length: Math.floor(rows.rows / step) }, (_, at) => rows.record(at * step))
      return records.includes(null) ? null : records
    }),
  ]
}

t.test(
  `${CASES} changes of row files, half of them in files that are open: every answer is right`,
  async (t) => {
    const questions = new Map(files.map((file) => [file.path, questionsOf(file)]))
    const reference = createRowStore({ releasesDir, setBytes: 0 })
    await reference.open(view)
    const expected = new Map(
      files.map(({ path }) => [path, questions.get(path)?.map((ask) => JSON.stringify(ask(reference).said))]),
    )
    t.ok(
      [...expected.values()].every((answers) => answers?.[0] !== 'null'),
      'all of them answer at first',
    )
    await reference.close()
    let [wrong, unnamed, thrown, byRows, byEngine] = [0, 0, 0, 0, 0]
    for (let turn = 0; turn < CASES; turn += 1) {
      const file = pick(files, turn, 1)
      const isOpen = turn % 2 === 0
      const said: string[] = []
      const store = createRowStore({
        releasesDir,
        setBytes: 0,
        onProblem: (_, { reason }) => said.push(reason),
      })
      const damage = (): void => {
        const at = Math.floor(chance(turn, 2) * file.bytes.length)
        const length = Math.min(1 + Math.floor(chance(turn, 3) * 6), file.bytes.length - at)
        const changed = Buffer.from(file.bytes.subarray(at, at + length))
        for (let byte = 0; byte < length; byte += 1)
          changed[byte] = ((changed[byte] ?? 0) + 1 + Math.floor(chance(turn, 10 + byte) * 255)) & 255
        if (chance(turn, 4) < 0.05) truncateSync(file.path, at)
        else writeInto(file.path, changed, at)
      }
      if (!isOpen) damage()
      await store.open(view)
      // A page of every order, so that what is read once is in memory; then the file is damaged below it.
      if (isOpen && turn % 4 === 0) for (const ask of questions.get(file.path) ?? []) ask(store)
      if (isOpen) damage()
      for (const [index, ask] of (questions.get(file.path) ?? []).entries())
        try {
          const { said: answer, isFromRows } = ask(store)
          if (isFromRows) byRows += 1
          else byEngine += 1
          if (isFromRows && JSON.stringify(answer) !== expected.get(file.path)?.[index]) wrong += 1
        } catch {
          thrown += 1
        }
      await store.look()
      const problems = store.problems(view).map(({ reason }) => reason)
      if (problems.length !== 1 || problems[0]?.includes(file.entry.path) !== true) unnamed += 1
      if (said.length !== 1 || said[0]?.includes(releasesDir) === true) unnamed += 1
      writeFileSync(file.path, file.bytes)
      await store.look()
      if (
        store.problems(view).length > 0 ||
        store.find(view, file.source.dataset, file.source.period) === null
      )
        unnamed += 1
      await store.close()
    }
    t.same({ wrong, thrown, unnamed }, { wrong: 0, thrown: 0, unnamed: 0 })
    t.ok(
      byRows > CASES && byEngine > CASES,
      `${byRows} answers from row files, ${byEngine} left to the engine`,
    )
  },
)

t.test('a server goes on with right answers, names the file in /ready, and takes it back', async (t) => {
  const facilities = files.find(({ source }) => source.dataset === 'facilities')
  if (facilities === undefined || client.rows === null) throw new Error('no facilities')
  const { path, bytes, entry } = facilities
  // It has seen the files change meanwhile.
  await client.rows.look()
  const codes = (await client.get('/v1/facilities?limit=50')).body.data.map(
    ({ cnes_code }: { cnes_code: string }) => cnes_code,
  )
  const urls = [
    '/v1/facilities?limit=50',
    '/v1/facilities?search=hospital&limit=20&count=true',
    '/v1/facilities?uf=RR&sort=-trade_name&limit=20',
    '/v1/bed-capacity?include=facility&limit=20',
    '/v1/facilities.geojson?near=-10,-60&limit=10',
    ...codes.slice(0, 10).map((code: string) => `/v1/facilities/${code}`),
    ...codes.slice(10, 15).map((code: string) => `/v1/facilities/${code}/bed-capacity`),
  ]
  const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')
  const ask = async (): Promise<string[]> => {
    const answers: string[] = []
    for (const url of urls) {
      const { status, text } = await client.get(url)
      answers.push(`${status} ${strip(text)}`)
    }
    return answers
  }
  const expected = await ask()
  const missing = async (): Promise<{ dataset: string; reason: string }[]> =>
    (await client.get('/ready')).body.data.row_store.missing
  t.same(await missing(), [])
  const zeros = Buffer.alloc(bytes.length >> 1)
  const damages: [string, RegExp, () => void][] = [
    ['other bytes in its first half', /facilities-\d+\.rows is damaged: bytes/, () => writeInto(path, zeros)],
    ['cut', /facilities-\d+\.rows (is cut off|has \d+ bytes)/, () => truncateSync(path, bytes.length >> 1)],
    ['empty', /facilities-\d+\.rows (is cut off|has 0 bytes)/, () => truncateSync(path, 0)],
    ['removed', /facilities-\d+\.rows is missing/, () => rmSync(path)],
  ]
  for (const [what, reason, damage] of damages) {
    damage()
    t.same(await ask(), expected, what)
    await client.rows.look()
    const [problem, ...more] = await missing()
    t.match(problem, { dataset: entry.path.replace('.rows', ''), reason }, what)
    t.same(more, [])
    t.same(await ask(), expected, `${what}, once it is known`)
    writeFileSync(`${path}.new`, bytes)
    renameSync(`${path}.new`, path)
    await client.rows.look()
    t.same(await missing(), [], `${what}, and put back`)
    t.same(await ask(), expected)
  }
  writeInto(path, zeros, 100)
  await client.rows.look()
  t.equal((await missing()).length, 1)
  const made = await makeRows(releasesDir, view.id)
  t.equal(Object.keys(made).length, 1, 'sus-data rows makes what is damaged, although its size is right')
  t.same(readFileSync(path), bytes)
  await client.rows.look()
  t.same(await missing(), [], 'a running server uses what was made')
  t.same(await ask(), expected)
})

t.test('verify and promote do not take damaged row files', async (t) => {
  const file = files.find(({ source }) => source.dataset === 'municipalities')
  if (file === undefined) throw new Error('no municipalities')
  const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [bin, ...args], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        SUS_RELEASES_DIR: releasesDir,
        SUS_KEYS_FILE: join(small.folder, 'keys.json'),
      },
    })
  const id = view.components.demography?.release_id ?? ''
  writeInto(file.path, Buffer.from('123456'), 300)
  const refused = run('verify', id)
  t.equal(refused.status, 1)
  t.match(
    refused.stderr,
    `municipalities its row file municipalities.rows does not have the SHA-256 of the index; sus-data rows ${id} makes`,
  )
  t.equal(run('promote', view.id).status, 0)
  t.same(readFileSync(file.path), file.bytes, 'promote makes it again')
  t.equal(run('verify', id).status, 0)
  rmSync(join(file.path, '..'), { recursive: true })
  const without = run('verify', id)
  t.equal(without.status, 0, 'a release may have no row files')
  t.match(without.stderr, 'has no row files')
})
