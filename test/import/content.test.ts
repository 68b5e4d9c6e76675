/** Content digests: equal rows have equal digests in any layout, other rows have others, and releases made before get theirs. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { checkContent, ensureContent } from '../../src/import/content.ts'
import { digestRows } from '../../src/import/row-digests.ts'
import { contentIdOf } from '../../src/release/content.ts'
import { digestJson } from '../../src/release/digest.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('digests')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
let files = 0
/** @returns the path of a Parquet file with the rows of a SELECT */
async function write(select: string, options = ''): Promise<string> {
  files += 1
  const path = join(folder, `${files}.parquet`)
  await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet${options})`)
  return path
}
const digestOf = async (select: string, options = ''): Promise<string> =>
  (await digestRows([await write(select, options)]))[0] ?? ''

const ROWS = `SELECT i AS id, CASE WHEN i % 7 = 0 THEN NULL ELSE 'name ' || i % 50 END AS name, i % 3 = 0 AS flag, DATE '2026-01-01' + i::INTEGER AS day,
  (i / 8)::DECIMAL(12, 2) AS share, CASE WHEN i % 5 > 0 THEN i / 7.0 END::DOUBLE AS x, {'a': i::VARCHAR, 'b': i % 2 = 0} AS s,
  CASE WHEN i % 11 > 0 THEN [{'code': i % 4, 'text': 't' || i}, NULL] END AS list
  FROM range(3000) t(i) ORDER BY i`

t.test('the layout of a file is no part of the digest', async (t) => {
  // More rows than one statement reads.
  const rows = ROWS.replace('range(3000)', 'range(62000)')
  const digest = await digestOf(rows)
  for (const options of [
    ', ROW_GROUP_SIZE 2048',
    ', ROW_GROUP_SIZE 100000, COMPRESSION zstd',
    ', PARQUET_VERSION V2',
  ])
    t.equal(await digestOf(rows, options), digest, options)
  t.equal(
    await digestOf(`SELECT x, list, * EXCLUDE (x, list) FROM (${rows})`),
    digest,
    'order of the columns',
  )
})

t.test('one value, one row, an order, a name and a kind are', async (t) => {
  const changes = [
    ROWS,
    ROWS.replace("'name ' || i % 50", "'name ' || i % 50 || CASE WHEN i = 2999 THEN ' ' ELSE '' END"),
    ROWS.replace('range(3000)', 'range(2999)'),
    `${ROWS} DESC`,
    ROWS.replace('AS flag', 'AS mark'),
    ROWS.replace('i AS id', 'i::VARCHAR AS id'),
    ROWS.replace("'t' || i", "'t' || (CASE WHEN i = 1000 THEN 0 ELSE i END)"),
    ROWS.replace('i % 11 > 0', 'i % 11 > 1'),
  ]
  const digests = await Promise.all(changes.map((select) => digestOf(select)))
  t.equal(new Set(digests).size, changes.length)
})

t.test('texts that hold the bytes of the encoding differ from what they look like', async (t) => {
  const [null_, one, zero] = ['NULL', 'chr(1)', 'chr(0)']
  const columns = [
    [null_],
    [one],
    [zero],
    ["''"],
    [`${one} || '1'`],
    [`${one} || '0'`],
    [`${zero} || ${zero}`],
    [one, "'x'"],
    [`${one} || ${zero} || 'x'`],
    [null_, "'x'"],
    ["''", "'x'"],
    [`${zero} || 'x'`],
    [`${one} || ${one}`],
  ]
  const digests = await Promise.all(
    columns.map((values) =>
      digestOf(`SELECT unnest([${values.map((value) => `CAST(${value} AS VARCHAR)`).join(', ')}]) AS a`),
    ),
  )
  t.equal(new Set(digests).size, columns.length)
  t.match(await digestOf('SELECT 1 AS a WHERE false'), /^[0-9a-f]{64}$/, 'a file without rows has one')
})

/** Digest of columns whose texts are listed here: kind, and the text of each value. */
function digestOfTexts(
  rows: number,
  columns: Record<string, readonly [string, ...(string | null)[]]>,
): string {
  const digests = Object.entries(columns).map(([path, [kind, ...texts]]) => {
    const bytes = texts.map((text) => `${text ?? '\u0001'}\0`).join('')
    return [path, { kind, sha256: createHash('sha256').update(bytes).digest('hex') }]
  })
  return digestJson({ format: 'sus-data-rows-1', rows, columns: Object.fromEntries(digests) })
}

t.test('values of each kind have the texts of the documentation', async (t) => {
  const doubles = [
    '0.1',
    '1.0',
    '-0.0',
    '1e+16',
    '9007199254740993.0',
    '1e-05',
    '-1.5e-07',
    '5e-324',
    'inf',
    'nan',
  ]
  const select = `SELECT * FROM (VALUES ${doubles.map((x, i) => `(${i}, '${x}'::DOUBLE)`).join(', ')}) AS v(i, x) ORDER BY i`
  const numbers = doubles.map((_, index) => String(index))
  // DuckDB reads the nearest number.
  const written = doubles.map((text) => (text.startsWith('9007') ? '9007199254740992.0' : text))
  const columns = { i: ['integer', ...numbers], x: ['double', ...written] } as const
  t.equal(await digestOf(select), digestOfTexts(doubles.length, columns))

  const mixed = `SELECT * FROM (VALUES
    (1::TINYINT, -9007199254740993::BIGINT, -0.05::DECIMAL(38, 2), 7::DECIMAL(9, 0), DATE '0001-01-01', true, [[1, NULL], [], NULL]),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (-2, 3, 1234567890123456.78, -7, DATE '1969-12-31', false, [])) AS v(a, b, c, d, e, f, g)`
  const expected = {
    a: ['integer', '1', null, '-2'],
    b: ['integer', '-9007199254740993', null, '3'],
    c: ['decimal(2)', '-0.05', null, '1234567890123456.78'],
    d: ['decimal(0)', '7', null, '-7'],
    e: ['date', '0001-01-01', null, '1969-12-31'],
    f: ['boolean', 'true', null, 'false'],
    g: ['list', '3', null, '0'],
    'g[]': ['list', '2', '0', null],
    'g[][]': ['integer', '1', null],
  } as const
  for (const options of ['', ', PARQUET_VERSION V2', ', COMPRESSION zstd', ', COMPRESSION uncompressed'])
    t.equal(await digestOf(mixed, options), digestOfTexts(3, expected), options)
})

t.test('a struct without a value differs from one of values that are null', async (t) => {
  const rows = `SELECT unnest([{'p': 'x', 'q': [{'r': 1}, NULL]}, NULL, {'p': NULL, 'q': NULL}]) AS s`
  const expected = {
    s: ['struct', '', null, ''],
    's.p': ['text', 'x', null, null],
    's.q': ['list', '2', null, null],
    's.q[]': ['struct', '', null],
    's.q[].r': ['integer', '1', null],
  } as const
  t.equal(await digestOf(rows), digestOfTexts(3, expected))
})

t.test('the first column of a struct may be a list of several elements', async (t) => {
  const rows = `SELECT unnest([{'q': [1, 2, 3], 'p': 'x'}, {'q': [4, 5], 'p': NULL}, NULL]) AS s`
  const expected = {
    s: ['struct', '', '', null],
    's.q': ['list', '3', '2', null],
    's.q[]': ['integer', '1', '2', '3', '4', '5'],
    's.p': ['text', 'x', null, null],
  } as const
  t.equal(await digestOf(rows), digestOfTexts(3, expected))
})

t.test('texts of any length, with and without a dictionary', async (t) => {
  const texts = Array.from({ length: 400 }, (_, index) =>
    'çx'.repeat(index % 97 === 5 ? 40_000 + index : index % 23),
  )
  for (const values of [texts, texts.map((text, index) => text + index), texts.map(() => 'always')]) {
    const list = `['${values.join("', '")}']`
    const digest = digestOfTexts(values.length, { a: ['text', ...values] })
    for (const options of ['', ', COMPRESSION zstd, ROW_GROUP_SIZE 2048', ', PARQUET_VERSION V2'])
      t.equal(await digestOf(`SELECT unnest(${list}) AS a`, options), digest, options)
  }
})

t.test('a column without a digest, and a damaged file, are errors', async (t) => {
  await t.rejects(digestOf(`SELECT TIMESTAMP '2026-05-31 10:00:00' AS hour`), {
    message: /parquet: rows with a column of the type TIMESTAMP_MICROS have no digest: hour$/,
  })
  const path = await write(ROWS)
  writeFileSync(path, readFileSync(path).subarray(0, 5000))
  await t.rejects(digestRows([path]))
})

t.test('worker processes give the same digests, and their errors', async (t) => {
  const paths = await Promise.all(
    [7, 8].map((factor) =>
      write(`SELECT i * ${factor} AS id, md5(i::VARCHAR) AS text FROM range(200_000) t(i)`),
    ),
  )
  const alone = await Promise.all(paths.map((path) => digestRows([path])))
  t.same(await digestRows(paths, 2), alone.flat())
  const wrong = await write(`SELECT 1::UINTEGER AS count`)
  await t.rejects(digestRows([...paths, wrong], 2), { message: /have no digest: count/ })
})

const small = await makeSmallRelease()
const { releasesDir, result } = small
const [cnes, analytics] = [result.cnes ?? '', result.analytics]

t.test('a release states its content, and the rows are those', async (t) => {
  const manifest = await verifyRelease(releasesDir, analytics)
  t.equal(manifest.content_id, (await checkContent(releasesDir, analytics)).contentId)
  t.equal(manifest.component_content_ids?.cnes, (await verifyRelease(releasesDir, cnes)).content_id)
})

t.test('one changed cell changes the digest of its file and the content id, and is found', async (t) => {
  const path = 'bed_types/part-0.parquet'
  const source = join(releasesDir, cnes, path)
  const changed = await write(`SELECT * REPLACE (bed_type_name || ' ' AS bed_type_name) FROM '${source}'`)
  const id = await forgeRelease(releasesDir, cnes, (to) =>
    writeFileSync(join(to, path), readFileSync(changed)),
  )
  await t.rejects(checkContent(releasesDir, id), {
    message: /part-0.parquet: does not have the content digest/,
  })
})

t.test('a release made before gets its digests beside the manifest', async (t) => {
  const id = await forgeRelease(releasesDir, cnes, (_folder, manifest) => {
    delete manifest.content_id
    delete manifest.component_content_ids
    for (const file of manifest.files) delete file.rows_sha256
  })
  const manifest = await verifyRelease(releasesDir, id)
  t.equal(await contentIdOf(releasesDir, manifest), null)
  const { contentId } = await ensureContent(releasesDir, id)
  t.equal(
    contentId,
    (await verifyRelease(releasesDir, cnes)).content_id,
    'the same as that of the release it was',
  )
  t.equal(await contentIdOf(releasesDir, await verifyRelease(releasesDir, id)), contentId)
  const path = join(releasesDir, id, 'content.json')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/"rows_sha256":"./, '"rows_sha256":"x'))
  await t.rejects(ensureContent(releasesDir, id), { message: /content.json: is not a list/ })
  writeFileSync(
    path,
    text.replace(/("rows_sha256":")(.)/, (_, name, digit) => `${name}${digit === '0' ? '1' : '0'}`),
  )
  await t.rejects(ensureContent(releasesDir, id), {
    message: /content.json: does not have the content id it states/,
  })
})
