/**
 * Rows written out are the rows: every byte of every list and record is what the engine's answer has, under every filter;
 * words find what a scan finds; what has gone is answered by the engine.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import t from 'tap'
import type { Row } from '../../src/engine/types.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { importPaths } from '../../src/import/import.ts'
import { DATASETS, type Dataset, type DatasetName } from '../../src/model/datasets.ts'
import { filterSchema } from '../../src/query/filters.ts'
import { planList } from '../../src/query/list.ts'
import { latestPeriod, type ReleaseView } from '../../src/release/view.ts'
import { buildLines } from '../../src/rows/build.ts'
import {
  collectPositions,
  countOf,
  everyRow,
  fromBitText,
  intersect,
  nextPositions,
  type Positions,
} from '../../src/rows/positions.ts'
import { type BuildJob, KEPT } from '../../src/rows/rows.ts'
import { openShelf, readBytes, type Shelf } from '../../src/rows/shelf.ts'
import { collectWords, findRows } from '../../src/rows/words.ts'
import { join as joinSql, sql, table } from '../../src/sql.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { listen } from '../fixtures/socket.ts'

const program = fileURLToPath(new URL('../../dist/workers/rows.js', import.meta.url))
const small = await makeSmallRelease(2)
const plain = await openClient(small.releasesDir)
const written = await openClient(small.releasesDir, 1, { rows: true })
t.teardown(async () => {
  await plain.close()
  await written.close()
})
const view = written.store.current() as ReleaseView
const periodOf = (dataset: Dataset): number | null =>
  dataset.periodic ? latestPeriod(view, dataset.name as DatasetName) : null
const shelfOf = (name: DatasetName) => written.rows?.find(view, name, periodOf(DATASETS[name])) ?? null
const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')

const { send } = await listen(written.app)
/** As clients ask: what stands before Fastify is in the way as well. */
const get = (url: string): Promise<Reply> =>
  send({ url, headers: { authorization: `Bearer ${written.keyWithout()}` } })

/** What is written is as long as it says. */
function listText(shelf: Shelf, positions: readonly number[]): string {
  const list = shelf.list(positions)
  const target = Buffer.alloc(list.length + 2, '.')
  const written = list.copy(target, 1)
  const text = readBytes(list).toString()
  return written === list.length && target.toString() === `.${text}.`
    ? text
    : `${written} bytes, not ${list.length}`
}

t.test('every row of every dataset, byte for byte', async (t) => {
  for (const name of KEPT) {
    const dataset: Dataset = DATASETS[name]
    const shelf = shelfOf(name)
    if (shelf === null) throw new Error(`${name} was not written out`)
    const fields = [...dataset.fields, ...(dataset.detail ?? [])]
    const rows = await written.engine.run(
      sql`SELECT ${joinSql(
        fields.map((field) => sql`${{ parts: [{ kind: 'text' as const, text: `"${field}"` }] }}`),
        ', ',
      )} FROM ${table(name, periodOf(dataset))} ORDER BY ${joinSql(
        dataset.key.map((field) => sql`${{ parts: [{ kind: 'text' as const, text: `"${field}"` }] }}`),
        ', ',
      )}`,
      view,
    )
    t.equal(shelf.rows, rows.length, name)
    let [different, engineOnly] = [0, 0]
    rows.forEach((row, position) => {
      const shown = Object.fromEntries(dataset.fields.map((field) => [field, row[field] ?? null]))
      if (listText(shelf, [position]) !== JSON.stringify([shown])) different += 1
      const record = shelf.record(position)
      if (record === null) engineOnly += 1
      else if (record.toString() !== JSON.stringify(row)) different += 1
      const key = dataset.key.map((field) => row[field] as string | number)
      if (shelf.find(key) !== position || JSON.stringify(shelf.keyAt(position)) !== JSON.stringify(key))
        different += 1
      if (shelf.after(key) !== position + 1) different += 1
    })
    t.equal(different, 0, `${name}: ${rows.length} rows`)
    t.ok(engineOnly <= rows.length / 100, `${engineOnly} records only the engine writes`)
    const some = rows
      .slice(3, 90)
      .map((row) => Object.fromEntries(dataset.fields.map((field) => [field, row[field] ?? null])))
    t.equal(
      listText(
        shelf,
        some.map((_, index) => index + 3),
      ),
      JSON.stringify(some),
      'rows together',
    )
    t.equal(listText(shelf, []), '[]')
    t.equal(shelf.find(dataset.key.map(() => 'x')), null)
    t.equal(shelf.find(dataset.key.map(() => '99999999999')), null)
  }
})

/** Values a filter takes that some row has, and one that none has. */
function valuesOf(dataset: Dataset, name: string, rows: readonly Row[]): string[] {
  const filter = dataset.filters?.[name]
  if (filter === undefined) throw new TypeError(name)
  const chance = createChance(name.length)
  const row = (turn: number): Row => rows[Math.floor(chance(turn, 5) * rows.length)] ?? {}
  const wordsOf = (text: unknown): string =>
    String(text ?? 'a')
      .split(' ')
      .at(-1) ?? 'a'
  const candidates =
    filter.kind === 'search'
      ? [
          'hospital',
          'sao',
          'são jo',
          ' de ',
          'A',
          '0',
          '14',
          wordsOf(row(1).name),
          wordsOf(row(2).trade_name),
        ]
      : filter.kind === 'status'
        ? ['active', 'inactive', 'all']
        : filter.kind === 'municipality'
          ? [1, 2].flatMap((turn) => {
              const code = String(row(turn)[filter.column] ?? '1400100')
              return [code, code.slice(0, 6)]
            })
          : [
              'true',
              'false',
              ...[1, 2, 3].map((turn) =>
                String(row(turn)['column' in filter && filter.column ? filter.column : name] ?? ''),
              ),
              'RR',
              '99',
              '1',
              '3',
              'CNES',
            ]
  return [...new Set(candidates)].filter((text) => filterSchema(filter).safeParse(text).success)
}

t.test(
  'every list under every filter, alone and two at a time, first and later pages, with counts',
  async (t) => {
    const chance = createChance(77)
    let asked = 0
    for (const route of ROUTES) {
      if (route.kind !== 'list' || route.pathFilter !== undefined) continue
      const name = route.dataset.name as DatasetName
      if (!KEPT.includes(name)) continue
      const rows = await plain.engine.run(
        planList({ dataset: route.dataset, filters: {}, period: periodOf(route.dataset) }, 20_000, null),
        view,
      )
      const options = route.filters.map((filter) =>
        valuesOf(route.dataset, filter, rows).map((value) => [filter, value] as const),
      )
      const singles = options.flat().map((option) => [option])
      const pairs = Array.from({ length: 60 }, (_, index) => {
        const [left, right] = [1, 2].map((turn) => {
          const choices = options[Math.floor(chance(index, turn) * options.length)] ?? []
          return choices[Math.floor(chance(index, turn + 5) * choices.length)]
        })
        return left === undefined || right === undefined || left[0] === right[0] ? [] : [left, right]
      })
      for (const [index, chosen] of [[], ...singles, ...pairs].entries()) {
        const query = new URLSearchParams(Object.fromEntries(chosen))
        query.set('limit', String(1 + Math.floor(chance(index, 9) * 30)))
        if (index % 2 === 0) query.set('count', 'true')
        for (let page = 0; page < 3; page += 1) {
          const url = `${route.path}?${query}`
          const [expected, found] = [await plain.get(url), await get(url)]
          asked += 1
          if (strip(found.text) !== strip(expected.text) || found.headers.etag !== expected.headers.etag)
            t.equal(strip(found.text), strip(expected.text), url)
          const cursor = expected.body.pagination.next_cursor
          if (cursor === null) break
          query.set('cursor', cursor)
        }
      }
    }
    t.ok(asked > 500, `${asked} pages are the same`)
  },
)

t.test('records and facilities, those that are there and those that are not', async (t) => {
  const rows = await plain.engine.run(
    planList(
      { dataset: DATASETS.facilities, filters: {}, period: periodOf(DATASETS.facilities) },
      20_000,
      null,
    ),
    view,
  )
  const codes = rows.filter((_, index) => index % 37 === 0).map(({ cnes_code }) => String(cnes_code))
  for (const code of [...codes, '0000000', '9999999', '12', 'abc'])
    for (const path of ['', '/bed-capacity', '/equipment-inventory', '/specialized-services']) {
      const url = `/v1/facilities/${code}${path}`
      const [expected, found] = [await plain.get(url), await get(url)]
      if (found.status !== expected.status || strip(found.text) !== strip(expected.text))
        t.equal(strip(found.text), strip(expected.text), url)
    }
  const places = await plain.engine.run(
    planList({ dataset: DATASETS.municipalities, filters: {}, period: null }, 20_000, null),
    view,
  )
  for (const { ibge_code } of places.filter((_, index) => index % 61 === 0))
    for (const query of [
      '',
      '?reference_year=2022',
      '?population_type=CENSUS_POPULATION',
      '?reference_year=1999',
    ]) {
      const url = `/v1/demography/population/${ibge_code}${query}`
      const [expected, found] = [await plain.get(url), await get(url)]
      if (found.status !== expected.status || strip(found.text) !== strip(expected.text))
        t.equal(strip(found.text), strip(expected.text), url)
    }
  for (const query of ['?reference_period=2026-04', '?reference_period=2026-05', '?reference_period=all'])
    for (const path of [
      `/v1/facilities/${codes[3]}`,
      '/v1/facilities',
      `/v1/facilities/${codes[4]}/bed-capacity`,
    ]) {
      const [expected, found] = [await plain.get(path + query), await get(path + query)]
      t.equal(found.status, expected.status)
      t.equal(strip(found.text), strip(expected.text), path + query)
    }
  t.pass(`${codes.length} facilities`)
})

t.test('texts are escaped as JSON.stringify does, whatever they hold', async (t) => {
  const folder = temporaryFolder('escapes')
  const [file, out] = [join(folder, 'part-0.parquet'), join(folder, 'part.lines')]
  const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).slice(1)
  const texts = [
    ...controls,
    '\\u001F',
    '\\\u001f',
    '\\\\u000B\u000b\u007f\u2028 /"ã💥',
    '\u001b'.repeat(900),
  ]
  // One key searched for, one field of lists, one of records.
  const dataset = {
    name: 'escapes',
    area: 'cnes',
    periodic: false,
    key: ['cnes_code'],
    fields: ['cnes_code', 'trade_name'],
    detail: ['legal_name'],
  } as unknown as Dataset
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  t.teardown(() => {
    connection.closeSync()
    instance.closeSync()
  })
  await connection.run(
    `COPY (SELECT lpad(CAST(row AS VARCHAR), 7, '0') AS cnes_code, list_extract($1, row) AS trade_name, trade_name AS legal_name FROM range(1, ${texts.length + 1}) AS rows(row)) TO '${file}' (FORMAT parquet)`,
    [listValue(texts)],
    [LIST(VARCHAR)],
  )
  const shelf = openShelf(
    dataset,
    await buildLines(connection, dataset, file, texts.length, out),
    openSync(out, 'r'),
  )
  t.teardown(() => shelf.close())
  for (const [position, text] of texts.entries()) {
    const key = { cnes_code: String(position + 1).padStart(7, '0'), trade_name: text }
    t.equal(listText(shelf, [position]), JSON.stringify([key]))
    t.equal(shelf.record(position)?.toString(), JSON.stringify({ ...key, legal_name: text }))
  }
})

t.test('words find what a scan finds', async (t) => {
  const chance = createChance(5)
  const SYLLABLES = ['sao', 'jo', 'a', 'ão', 'hospital', 'x', '12', 'de', "d'", '-', 'ç']
  const texts = Array.from({ length: 500 }, (_, row) =>
    Array.from({ length: Math.floor(chance(row, 1) * 6) }, (_, word) =>
      Array.from(
        { length: Math.floor(chance(row, 10 + word) * 3) },
        (_, part) => SYLLABLES[Math.floor(chance(row * 31 + part, 20 + word) * SYLLABLES.length)],
      ).join(''),
    ).join(' '),
  )
  const collector = collectWords(texts.length)
  for (const text of texts) collector.add(text)
  let end = 0
  const index = {
    ...collector.finish(),
    texts: Buffer.from(texts.join('')),
    textEnds: Uint32Array.from(texts, (text) => {
      end += Buffer.byteLength(text)
      return end
    }),
  }
  let hits = 0
  for (let turn = 0; turn < 2000; turn += 1) {
    const from = texts[Math.floor(chance(turn, 50) * texts.length)] ?? ''
    const start = Math.floor(chance(turn, 51) * from.length)
    const text =
      from.slice(start, start + 1 + Math.floor(chance(turn, 52) * 9)) || SYLLABLES[turn % 11] || 'a'
    const found = findRows(index, text)
    const expected = texts.flatMap((candidate, row) => (candidate.includes(text) ? [row] : []))
    hits += expected.length
    if (JSON.stringify(nextPositions(found, 0, 1000)) !== JSON.stringify(expected))
      t.same(nextPositions(found, 0, 1000), expected, JSON.stringify(text))
  }
  t.ok(hits > 2000, `${hits} hits`)
  t.throws(() => collectWords(1).add('a\nb'), /line feed/)
})

t.test('sets of rows', async (t) => {
  const chance = createChance(9)
  const rows = 997
  /** Of few rows and of many, so that both forms are met, some of which are asked before they count. */
  const make = (seed: number): { set: Positions; expected: Set<number> } => {
    const found = collectPositions(rows)
    const expected = new Set<number>()
    const count = [0, 1, 20, 31, 32, 65, 400, 3000][seed % 8] ?? 0
    for (let turn = 0; turn < count; turn += 1) {
      const position = Math.floor(chance(seed, turn) * rows)
      found.add(position)
      expected.add(position)
    }
    if (seed % 3 !== 0) return { set: found.finish(), expected }
    for (const position of expected) if (position % 5 === 2) expected.delete(position)
    return { set: found.finish((position) => position % 5 !== 2), expected }
  }
  let forms = 0
  for (let seed = 0; seed < 300; seed += 1) {
    const made = Array.from({ length: 1 + (seed % 3) }, (_, index) => make(seed * 7 + index))
    forms |= made.reduce(
      (sum, { set }) => sum | (set.list === null ? 1 : 2) | (set.check === null ? 4 : 8),
      0,
    )
    const all = intersect(
      rows,
      made.map(({ set }) => set),
    )
    const expected = Array.from({ length: rows }, (_, row) => row).filter((row) =>
      made.every((one) => one.expected.has(row)),
    )
    const from = Math.floor(chance(seed, 99_999) * rows)
    t.same(
      [nextPositions(all, 0, rows), nextPositions(all, from, 3), countOf(all)],
      [expected, expected.filter((row) => row >= from).slice(0, 3), expected.length],
      `${seed}`,
    )
  }
  t.equal(forms, 15, 'all forms')
  const text = '0110000000000000000000000000000000000000000001000000000000000000000000000000000000000000001'
  const set = fromBitText(text.length, text)
  t.same(nextPositions(set, 0, 10), [1, 2, 45, text.length - 1])
  t.same(nextPositions(fromBitText(3, null), 0, 9), [])
  t.equal(countOf(fromBitText(64, '1'.repeat(64))), 64)
  t.same(nextPositions(everyRow(3), 1, 10), [1, 2])
  t.equal(countOf(everyRow(3)), 3)
  t.same(
    nextPositions(
      everyRow(9, (position) => position > 6),
      0,
      10,
    ),
    [7, 8],
  )
  t.same(nextPositions(intersect(4, []), 0, 9), [0, 1, 2, 3])
  t.same(nextPositions(set, 0, 0), [])
})

t.test('rows whose server has ended meanwhile leave no file', async (t) => {
  const file = view.components.demography?.files.find(({ path }) => path.startsWith('municipalities/'))
  const manifest = view.components.demography?.release_id ?? ''
  for (const owner of [process.pid, 1]) {
    const folder = temporaryFolder('owned')
    const job: BuildJob = {
      dataset: 'municipalities',
      file: join(small.releasesDir, manifest, file?.path ?? ''),
      rows: file?.rows ?? 0,
      folder,
      out: join(folder, 'lines'),
      index: join(folder, 'index'),
      owner,
    }
    execFileSync(process.execPath, [program, JSON.stringify(job)], { env: {} })
    t.equal(existsSync(folder), owner === process.pid)
  }
})

t.test(
  'another release comes into service: its rows are written, the others go, nothing fails meanwhile',
  async (t) => {
    const older = await importPaths([join(small.snapshots, 'cnes/2026-04'), join(small.snapshots, 'ibge')], {
      releasesDir: small.releasesDir,
      maxRejected: 0.001,
    })
    const other = await written.store.pin(older.analytics)
    if (other === null || written.rows === null) throw new Error('no other release')
    let isOver = false
    const walk = async (): Promise<number> => {
      let asked = 0
      while (!isOver) {
        const url = `/v1/facilities?uf=RR&search=a&limit=${1 + (asked % 50)}`
        const [expected, found] = [await plain.get(url), await get(url)]
        if (strip(found.text) !== strip(expected.text)) t.equal(found.text, expected.text)
        asked += 1
      }
      return asked
    }
    const walking = walk()
    written.rows.open(other)
    await written.rows.settled()
    t.equal(shelfOf('facilities'), null, 'the first release is the engine’s again')
    t.not(written.rows.find(other, 'facilities', 202604), null)
    const { disk } = written.rows.stats()
    written.rows.open(view)
    await written.rows.settled()
    isOver = true
    t.ok((await walking) > 3)
    t.not(shelfOf('facilities'), null)
    t.ok(disk > 0 && written.rows.stats().disk > 0)
  },
)
