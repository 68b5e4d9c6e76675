/**
 * Row files are the rows: every byte of every list and record is what the engine's answer has, under every filter, of every period;
 * words find what a scan finds; what is missing, damaged or another release's is answered by the engine.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DuckDBInstance, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import t from 'tap'
import type { Row } from '../../src/engine/types.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { importPaths } from '../../src/import/import.ts'
import { DATASETS, type Dataset, type DatasetName } from '../../src/model/datasets.ts'
import { filterSchema } from '../../src/query/lists/filters.ts'
import { type PeriodChoice, planList } from '../../src/query/lists/list.ts'
import { latestPeriod, type ReleaseView } from '../../src/release/view.ts'
import { buildRowFile } from '../../src/rows/build.ts'
import { checkRowFiles, ROW_DATASETS, rowFolder } from '../../src/rows/derived.ts'
import { makeRows, removeRows } from '../../src/rows/make.ts'
import { collectPhrases, createPhraseEncoder, fromByteString, toByteString } from '../../src/rows/phrases.ts'
import { openRowFile } from '../../src/rows/row-file.ts'
import { packLists, visitList } from '../../src/rows/row-lists.ts'
import {
  collectRows,
  countOf,
  everyRow,
  intersect,
  nextRows,
  type RowSet,
  rowRange,
} from '../../src/rows/row-sets.ts'
import { createRowStore, type RowTable } from '../../src/rows/row-store.ts'
import { openSections, writeSections } from '../../src/rows/sections.ts'
import { collectWords, openTextIndex, type TextIndexHead } from '../../src/rows/text-index.ts'
import { join as joinSql, sql, table } from '../../src/sql.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { listen } from '../fixtures/socket.ts'

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
const tableOf = (name: DatasetName, period: PeriodChoice = periodOf(DATASETS[name])): RowTable => {
  const found = written.rows?.find(view, name, period) ?? null
  if (found === null) throw new Error(`${name} ${period} has no row file`)
  return found
}
const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')

const { send } = await listen(written.app)
/** As clients ask: what stands before Fastify is in the way as well. */
const get = (url: string): Promise<Reply> =>
  send({ url, headers: { authorization: `Bearer ${written.keyWithout()}` } })

const page = (rows: RowTable, limit: number, after: (string | number)[] | null = null) =>
  rows.page({ filters: {}, after, limit, counts: false })
const column = (field: string) => sql`${{ parts: [{ kind: 'text' as const, text: `"${field}"` }] }}`
const rowsOf = (dataset: Dataset, period: number | null): Promise<Row[]> =>
  written.engine.run(
    sql`SELECT ${joinSql([...dataset.fields, ...(dataset.detail ?? [])].map(column), ', ')} FROM ${table(dataset.name, period)} ORDER BY ${joinSql(dataset.key.map(column), ', ')}`,
    view,
  )

t.test('every row of every dataset and period, byte for byte', async (t) => {
  let [closed, periods] = [0, 0]
  for (const name of ROW_DATASETS) {
    const dataset: Dataset = DATASETS[name]
    for (const period of dataset.periodic ? (view.components.cnes?.datasets[name]?.periods ?? []) : [null]) {
      const file = tableOf(name, period)
      const rows = await rowsOf(dataset, period)
      periods += 1
      t.equal(file.rows, rows.length, `${name} ${period}`)
      const shown = rows.map((row) =>
        Object.fromEntries(dataset.fields.map((field) => [field, row[field] ?? null])),
      )
      let different = 0
      rows.forEach((row, position) => {
        if (row.is_active === false) closed += 1
        const record = file.record(position)
        if (record === null || fromByteString(record) !== JSON.stringify(row)) different += 1
        const key = dataset.key.map((field) => row[field] as string | number)
        if (file.find(key) !== position) different += 1
        if (position % 7 !== 0) return
        const next = page(file, 1 + (position % 60), key)
        const expected = shown.slice(position + 1, position + 2 + (position % 60))
        if (fromByteString(next?.json ?? '') !== JSON.stringify(expected) || next?.count !== expected.length)
          different += 1
      })
      t.equal(different, 0, `${name}: ${rows.length} rows`)
      t.equal(fromByteString(page(file, rows.length)?.json ?? ''), JSON.stringify(shown), 'all rows together')
      const [first = {}] = rows
      const [begin = ''] = dataset.key.map((field) => first[field] as string)
      t.same(
        file.recordsOf(begin),
        rows.filter((row) => row[dataset.key[0] ?? ''] === begin),
      )
      t.equal(file.find(dataset.key.map(() => 'x')), null)
      t.equal(file.find(dataset.key.map(() => '99999999999')), null)
    }
  }
  t.ok(closed > 10 && periods === 10, `${closed} rows of closed facilities, ${periods} files`)
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
          'JO são',
          'municipal posto',
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
  const codes = candidates.filter((text) => !text.includes(','))
  // Codes also several at a time.
  const lists = [1, 2].map((turn) =>
    [turn, turn + 2, turn + 4].map((at) => codes[Math.floor(chance(at, 11) * codes.length)]).join(','),
  )
  return [...new Set([...candidates, ...lists])].filter(
    (text) => filterSchema(filter).safeParse(text).success,
  )
}

t.test(
  'every list under every filter, alone and two at a time, first and later pages, with counts',
  secondRing,
  async (t) => {
    const chance = createChance(77)
    let asked = 0
    for (const route of ROUTES) {
      if (route.kind !== 'list' || route.pathFilter !== undefined) continue
      const name = route.dataset.name as DatasetName
      if (!ROW_DATASETS.includes(name)) continue
      // Admissions have a release of their own: test/http/admissions.exhaustive.test.ts.
      if (view.components[route.dataset.area]?.datasets[name] === undefined) continue
      const rows = await plain.engine.run(
        planList({ dataset: route.dataset, filters: {}, period: periodOf(route.dataset) }, 20_000, null),
        view,
      )
      const options = route.filters.map((filter) =>
        valuesOf(route.dataset, filter, rows).map((value) => [filter, value] as const),
      )
      if (route.dataset.periodic)
        options.push(['all', '2026-04', '2026-05'].map((value) => ['reference_period', value] as const))
      const sorts = (route.dataset.sorts ?? []).flatMap((field) => [field, `-${field}`])
      options.push(sorts.map((value) => ['sort', value] as const))
      options.push(
        sorts.map(
          (value) =>
            ['sort', `${value},${sorts.find((other) => !other.endsWith(value.replace('-', '')))}`] as const,
        ),
      )
      if (route.includes !== undefined) options.push([['include', route.includes]])
      if (route.features !== undefined) {
        options.push(['-70,-11,-60,3', '-48.5,-30,-40,-10'].map((value) => ['bbox', value] as const))
        options.push(['-10,-60', '-20.5,-50.25'].map((value) => ['near', value] as const))
      }
      const singles = options.flat().map((option) => [option])
      const pairs = Array.from({ length: 60 }, (_, index) => {
        const [left, right] = [1, 2].map((turn) => {
          const choices = options[Math.floor(chance(index, turn) * options.length)] ?? []
          return choices[Math.floor(chance(index, turn + 5) * choices.length)]
        })
        return left === undefined || right === undefined || left[0] === right[0] ? [] : [left, right]
      })
      const questions = [[], ...singles, ...pairs]
      for (const [index, chosen] of questions.filter((_, at) => at % cases(1, 5) === 0).entries()) {
        const query = new URLSearchParams(Object.fromEntries(chosen))
        query.set('limit', String(1 + Math.floor(chance(index, 9) * 30)))
        if (index % 2 === 0) query.set('count', 'true')
        for (let page = 0; page < 3; page += 1) {
          const url = `${route.path}?${query}`
          const [expected, found] = [await plain.get(url), await get(url)]
          asked += 1
          if (strip(found.text) !== strip(expected.text) || found.headers.etag !== expected.headers.etag)
            t.equal(strip(found.text), strip(expected.text), url)
          // A year that the release lacks for the chosen population type is refused: there are no pages to walk.
          if (expected.status !== 200) break
          const cursor = expected.body.pagination.next_cursor
          if (cursor === null) break
          query.set('cursor', cursor)
        }
      }
    }
    t.ok(asked > cases(500, 100), `${asked} pages are the same`)
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
  const codes = rows
    .filter((_, index) => index % cases(37, 370) === 0)
    .map(({ cnes_code }) => String(cnes_code))
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
  for (const { ibge_code } of places.filter((_, index) => index % cases(61, 610) === 0))
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
  const [file, out] = [join(folder, 'part-0.parquet'), join(folder, 'part.rows')]
  const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).slice(1)
  const texts = [
    ...controls,
    '\\u001F',
    '\\\u001f',
    '\\\\u000B\u000b\u007f\u2028 /"ã💥',
    '\u001b'.repeat(900),
    '"cnes_code":"0000001"',
    ' 12 345  6 São 7890,"cnes_code":',
  ]
  // One key searched for, one field of lists, two of records: one with few values, one with coordinates that are odd.
  const dataset = {
    name: 'escapes',
    area: 'cnes',
    periodic: false,
    key: ['cnes_code'],
    fields: ['cnes_code', 'trade_name'],
    detail: ['legal_name', 'latitude'],
  } as unknown as Dataset
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  t.teardown(() => {
    connection.closeSync()
    instance.closeSync()
  })
  const odd = [0, 1e-7, -5, 12.5, 123456.789, -0.00001, null]
  await connection.run(
    `COPY (SELECT lpad(CAST(row AS VARCHAR), 7, '0') AS cnes_code, list_extract($1, row) AS trade_name, list_extract($1, 1 + row % 3) AS legal_name, CASE row % 8 ${odd.map((value, at) => `WHEN ${at} THEN ${value}`).join(' ')} ELSE 'nan'::DOUBLE END AS latitude FROM range(1, ${texts.length + 1}) AS rows(row)) TO '${file}' (FORMAT parquet)`,
    [listValue(texts)],
    [LIST(VARCHAR)],
  )
  const digests = await buildRowFile(connection, dataset, file, texts.length, out)
  t.equal(statSync(out).size, digests.bytes)
  const rows = openRowFile(dataset, out, digests)
  t.teardown(() => rows.close())
  let engineOnly = 0
  for (const [index, text] of texts.entries()) {
    const shown = { cnes_code: String(index + 1).padStart(7, '0'), trade_name: text }
    t.equal(fromByteString(rows.list([index])), JSON.stringify([shown]))
    const latitude = odd[(index + 1) % 8]
    if (rows.head.odd.includes(index)) engineOnly += 1
    else
      t.equal(
        fromByteString(rows.record(index)),
        JSON.stringify({ ...shown, legal_name: texts[(index + 1) % 3], latitude }),
      )
    t.same(rows.keyAt(index), [shown.cnes_code])
  }
  t.equal(engineOnly, Math.floor((texts.length + 1) / 8), 'a coordinate that is no number is the engine’s')
  await t.rejects(buildRowFile(connection, dataset, file, texts.length + 1, `${out}2`), /rows|keys/)
  await connection.run(
    `COPY (SELECT '0000001' AS cnes_code, 'a' AS trade_name, 'b' AS legal_name, 0.5 AS latitude FROM range(2)) TO '${file}' (FORMAT parquet)`,
  )
  await t.rejects(buildRowFile(connection, dataset, file, 2, `${out}3`), /ascend/)
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
  texts.push(' ', 'a  b', ' sao', 'jo ')
  const path = join(temporaryFolder('words'), 'words.rows')
  const writer = writeSections(path)
  const collector = collectWords(texts.length)
  for (const text of texts) collector.add(toByteString(text))
  const file = openSections(path, writer.finish(collector.write(writer)))
  t.teardown(() => file.close())
  const index = openTextIndex(file, file.head as TextIndexHead, texts.length)
  let hits = 0
  for (let turn = 0; turn < 2000; turn += 1) {
    const from = texts[Math.floor(chance(turn, 50) * texts.length)] ?? ''
    const start = Math.floor(chance(turn, 51) * from.length)
    const text =
      from.slice(start, start + 1 + Math.floor(chance(turn, 52) * 9)) || SYLLABLES[turn % 11] || 'a'
    // Words of one text or of several, in any order.
    const other = SYLLABLES[Math.floor(chance(turn, 53) * SYLLABLES.length)] ?? ''
    const words = [...text.split(' '), ...(turn % 3 === 0 ? [other] : [])].filter((word) => word !== '')
    if (words.length === 0) continue
    if (turn % 2 === 0) words.reverse()
    const found = index.find(words.map(toByteString))
    const expected = texts.flatMap((candidate, row) =>
      words.every((word) => candidate.includes(word)) ? [row] : [],
    )
    hits += expected.length
    if (JSON.stringify(nextRows(found, 0, 1000)) !== JSON.stringify(expected))
      t.same(nextRows(found, 0, 1000), expected, JSON.stringify(words))
  }
  t.ok(hits > 2000, `${hits} hits`)
  t.throws(() => collectWords(1).add('a\nb'), /line feed/)
})

t.test('sets of rows', async (t) => {
  const chance = createChance(9)
  const rows = 997
  /** Of few rows and of many, so that both forms are met, some of which are asked before they count. */
  const make = (seed: number): { set: RowSet; expected: Set<number> } => {
    const found = collectRows(rows)
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
      [nextRows(all, 0, rows), nextRows(all, from, 3), countOf(all)],
      [expected, expected.filter((row) => row >= from).slice(0, 3), expected.length],
      `${seed}`,
    )
  }
  t.equal(forms, 15, 'all forms')
  t.same(nextRows(rowRange(99, 3, 6), 0, 10), [3, 4, 5])
  t.equal(countOf(rowRange(640, 0, 640)), 640)
  t.same(nextRows(everyRow(3), 1, 10), [1, 2])
  t.equal(countOf(everyRow(3)), 3)
  t.same(
    nextRows(
      everyRow(9, (position) => position > 6),
      0,
      10,
    ),
    [7, 8],
  )
  t.same(nextRows(intersect(4, []), 0, 9), [0, 1, 2, 3])
  t.same(nextRows(everyRow(3), 0, 0), [])
  const lists = [[0], [], [1, 2, 130, 20_000, 3_000_000], [128, 129]]
  const packed = packLists(lists.length, (add) => {
    for (const [list, own] of lists.entries()) for (const row of own) add(list, row)
  })
  let start = 0
  for (const [list, end] of packed.ends.entries()) {
    const found: number[] = []
    visitList(packed.bytes, start, end, (row) => found.push(row))
    t.same(found, lists[list])
    start = end
  }
})

t.test('phrases come back as they were', async (t) => {
  const phrases = collectPhrases()
  for (let turn = 0; turn < 5; turn += 1) phrases.add('"Hospital Regional de 12 leitos 345"')
  const encode = createPhraseEncoder(phrases.choose())
  t.equal(encode('"Hospital Regional de 9999"').length, 3 * 2 + 6, 'three phrases, digits, a quote, the end')
})

t.test('missing, damaged and foreign files are said, and the engine answers', secondRing, async (t) => {
  const own = await makeSmallRelease(1)
  const client = await openClient(own.releasesDir)
  t.teardown(() => client.close())
  const current = client.store.current() as ReleaseView
  const cnes = current.components.cnes?.release_id ?? ''
  const folder = rowFolder(own.releasesDir, cnes)
  const file = join(folder, 'facilities-202605.rows')
  const bytes = readFileSync(file)
  const index = readFileSync(join(folder, 'index.json'), 'utf8')
  const open = async () => {
    const store = createRowStore({ releasesDir: own.releasesDir, setBytes: 0 })
    await store.open(current)
    const found = store.find(current, 'facilities', 202605)
    const problems = store.problems(current).map(({ dataset, reason }) => `${dataset} ${reason}`)
    await store.close()
    return { found: found !== null, problems: problems.join('; ') }
  }
  t.same(await open(), { found: true, problems: '' })
  const damages: [string, RegExp, () => void][] = [
    [
      'shorter',
      /facilities-202605 its row file facilities-202605.rows has \d+ bytes, not \d+/,
      () => truncateSync(file, bytes.length - 1),
    ],
    ['gone', /facilities-202605 its row file facilities-202605.rows is missing/, () => rmSync(file)],
    [
      'other bytes at the end',
      /facilities-202605.rows is not a row file of this version/,
      () => writeFileSync(file, Buffer.concat([bytes.subarray(0, -3), Buffer.from('xyz')])),
    ],
    [
      'index changed',
      /all the index of its row files does not have its digest/,
      () => writeFileSync(join(folder, 'index.json'), index.replace(/"rows":\d+/, '"rows":1')),
    ],
    [
      'index no JSON',
      /all the index of its row files cannot be read/,
      () => writeFileSync(join(folder, 'index.json'), '{'),
    ],
    [
      'index gone',
      /all the index of its row files is missing/,
      () => rmSync(join(folder, 'index.json'), { force: true }),
    ],
    ['no folder', /all has no row files/, () => rmSync(folder, { recursive: true })],
  ]
  for (const [what, expected, damage] of damages) {
    rmSync(file, { force: true })
    writeFileSync(file, bytes)
    writeFileSync(join(folder, 'index.json'), index)
    damage()
    const { found, problems } = await open()
    t.notOk(found, what)
    t.match(problems, expected, what)
  }
  const early = createRowStore({ releasesDir: own.releasesDir, setBytes: 0 })
  await early.open(current)
  t.equal(early.find(current, 'facilities', 202605), null)
  const older = join(dirname(folder), 'rows-1')
  mkdirSync(older)
  writeFileSync(join(older, 'index.json'), index)
  const made = await makeRows(own.releasesDir, current.id)
  t.notOk(existsSync(older), 'row files of a format of before are removed')
  t.same(Object.keys(made), [cnes], 'what is good is not made again')
  t.same(readFileSync(file), bytes, 'the same bytes again')
  t.equal(readFileSync(join(folder, 'index.json'), 'utf8'), index)
  t.same(await open(), { found: true, problems: '' })
  await early.open(current)
  t.ok(early.find(current, 'facilities', 202605), 'a release that is opened again has what was made since')
  t.same(early.problems(current), [])
  await early.close()

  const flipped = Buffer.from(bytes)
  flipped[40] = (flipped[40] ?? 0) ^ 1
  writeFileSync(file, flipped)
  const manifest = current.components.cnes
  if (manifest === null) throw new Error('no cnes')
  t.same((await checkRowFiles(own.releasesDir, manifest)).problems, [], 'digests are checked when asked for')
  t.match((await checkRowFiles(own.releasesDir, manifest, true)).problems, [
    { dataset: 'facilities-202605', reason: /SHA-256/ },
  ])
  await makeRows(own.releasesDir, current.id, { again: true })
  t.same(readFileSync(file), bytes)
})

t.test(
  'a row file of the same Parquet bytes is shared; two stores read it; what is removed stays open',
  secondRing,
  async (t) => {
    const others = readdirSync(small.snapshots).filter((folder) => folder !== 'cnes')
    const older = await importPaths(
      ['cnes/2026-04', ...others].map((folder) => join(small.snapshots, folder)),
      { releasesDir: small.releasesDir, maxRejected: 0.001, makesRows: true },
    )
    t.equal(older.demography, small.result.demography)
    const files = older.rowFiles[older.cnes ?? '']
    t.equal(files?.files, 4)
    t.equal(files?.linked, 4, 'made of the same Parquet bytes')
    const other = await written.store.pin(older.analytics)
    if (other === null || written.rows === null) throw new Error('no other release')
    const second = createRowStore({ releasesDir: small.releasesDir, setBytes: 0 })
    await Promise.all([written.rows.open(other), second.open(other)])
    t.same(second.problems(other), [])
    const [mine, theirs] = [written.rows, second].map((store) => store.find(other, 'facilities', 202604))
    t.equal(mine?.rows, theirs?.rows)
    const first = page(mine as RowTable, 50)?.json
    t.same(await removeRows(small.releasesDir, older.cnes ?? ''), [older.cnes])
    t.equal(page(theirs as RowTable, 50)?.json, first, 'open files are read on')
    await second.close()
    await written.rows.release(other.id)
    t.equal(written.rows.find(other, 'facilities', 202604), null)
    t.ok(page(tableOf('facilities'), 50))
    t.ok(tableOf('municipalities'), 'what both hold stays open')
    t.ok(written.rows.stats().disk > 0)
  },
)
