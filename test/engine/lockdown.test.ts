/**
 * DuckDB treats what it runs as trusted, so every documented way out is tried: first through the engine, which runs a
 * single SELECT and nothing else, then past it, as if a plan had ever let a statement through.
 */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import type { Sql } from '../../src/sql.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { makeEngine, makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const outside = temporaryFolder('outside')
const secret = join(outside, 'secret.csv')
writeFileSync(secret, 'a\n1\n')
const link = join(small.releasesDir, 'link.csv')
symlinkSync(secret, link)
mkdirSync(join(small.releasesDir, 'more'))
const { engine, store, close } = await openReleases(small.releasesDir)
t.teardown(close)
const view = store.current() as ReleaseView
const raw = (text: string): Sql => ({ parts: [{ kind: 'text', text }] })

/** Reads and writes outside, by every function and statement that documents one. */
const SELECTS = [
  `SELECT * FROM read_csv('${secret}')`,
  `SELECT * FROM read_text('${secret}')`,
  `SELECT * FROM read_blob('/etc/passwd')`,
  `SELECT * FROM read_parquet('/tmp/*.parquet')`,
  `SELECT * FROM read_json('/etc/hostname')`,
  `SELECT * FROM '${secret}'`,
  `SELECT * FROM glob('/etc/*')`,
  `SELECT * FROM read_csv('${small.releasesDir}/../${secret.split('/').slice(-2).join('/')}')`,
  `SELECT * FROM read_csv('${small.releasesDir}/more/../../outside')`,
  `SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')`,
  `SELECT * FROM read_parquet('s3://bucket/x.parquet')`,
  `SELECT getenv('PATH')`,
  `SELECT * FROM duckdb_secrets(redact = false)`,
  `SELECT * FROM sniff_csv('${secret}')`,
  `SELECT * FROM parquet_metadata('/etc/passwd')`,
  `SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')`,
]
const STATEMENTS = [
  `COPY (SELECT 1) TO '${join(outside, 'copied.csv')}'`,
  `COPY (SELECT 1) TO '${join(small.releasesDir, 'more/copied.parquet')}'`,
  `EXPORT DATABASE '${join(outside, 'exported')}'`,
  `ATTACH '${join(outside, 'attached.db')}'`,
  `ATTACH '/etc/passwd' AS p (TYPE sqlite)`,
  'INSTALL httpfs',
  'LOAD httpfs',
  `LOAD '${join(outside, 'evil.duckdb_extension')}'`,
  'SET enable_external_access = true',
  "SET allowed_directories = ['/']",
  'SET lock_configuration = false',
  "SET memory_limit = '100GB'",
  "SET temp_directory = '/tmp/x'",
  'SET autoinstall_known_extensions = true',
  "PRAGMA enable_profiling = 'json'",
  "SET custom_extension_repository = 'http://127.0.0.1:1'",
  'RESET lock_configuration',
  "CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')",
  `CREATE TABLE t AS SELECT * FROM read_csv('${secret}')`,
  "SELECT 1; COPY (SELECT 1) TO '/tmp/x.csv'",
]

t.test('through the engine: what does not read the release is refused', async (t) => {
  for (const text of [...SELECTS, ...STATEMENTS]) {
    const outcome = await engine.run(raw(text), view).then(
      (rows) => JSON.stringify(rows),
      () => 'refused',
    )
    const isHarmless = outcome === 'refused' || outcome === '[]'
    t.ok(isHarmless, `${text}: ${outcome.slice(0, 100)}`)
  }
  t.notOk(existsSync(join(outside, 'copied.csv')))
  t.notOk(existsSync(join(small.releasesDir, 'more/copied.parquet')))
  t.equal((await engine.run(raw('SELECT 1 AS one'), view))[0]?.one, 1, 'and it still answers')
})

t.test('a file that links out of the folder is not a release’s', async (t) => {
  // DuckDB follows links, so a release with one is refused before it is opened (test/release/verify.test.ts); its own
  // bytes are all a statement of ours ever names.
  const names = view.components.cnes?.files.map(({ path }) => path) ?? []
  t.ok(names.length > 10)
  t.ok(names.every((path) => /^[a-z_]+(\/reference_period=\d{6})?\/part-\d+\.parquet$/.test(path)))
})

t.test('limits of memory and time are DuckDB’s own', async (t) => {
  const tight = await makeEngine(small.releasesDir, { memory: '64MB', threads: 1, concurrency: 1, queue: 0 })
  t.teardown(() => tight.close())
  await tight.open(view)
  await t.rejects(
    tight.run(raw('SELECT count(DISTINCT hash(i, j)) FROM range(100000) a(i), range(1000) b(j)'), view),
    { name: 'AppError' },
    'a query that needs more fails; it does not spill to disk',
  )
  t.equal((await tight.run(raw('SELECT 1 AS one'), view))[0]?.one, 1)
})

t.test('a release that is closed while it is read is read to the end, and opens again', async (t) => {
  const running = engine.run(
    raw('SELECT count(*) AS n FROM range(20000000) a(i) WHERE hash(i) % 3 = 0'),
    view,
  )
  await engine.release(view.id)
  t.ok(Number((await running)[0]?.n) > 0)
  const rows = await engine.run(
    {
      parts: [
        { kind: 'text', text: 'SELECT count(*) AS n FROM ' },
        { kind: 'table', dataset: 'states', period: null },
      ],
    },
    view,
  )
  t.equal(rows[0]?.n, 27)
  t.equal(engine.stats().open, 1)
})

t.test('a release that cannot be opened leaves nothing behind, however often it is asked for', async (t) => {
  const forged = await forgeRelease(small.releasesDir, small.result.cnes ?? '', (folder) =>
    writeFileSync(
      join(folder, 'bed_capacity/reference_period=202605/part-0.parquet'),
      'PAR1 no Parquet PAR1',
    ),
  )
  const joined = await joinForged(small.releasesDir, small.result.analytics, forged)
  const other = await openStore({ releasesDir: small.releasesDir })
  t.teardown(() => other.close())
  const broken = (await other.pin(joined)) as ReleaseView
  for (let turn = 0; turn < 3; turn += 1) await t.rejects(engine.open(broken), /bed_capacity/)
  const [row] = await engine.run(
    raw("SELECT count(*) AS n FROM duckdb_schemas() WHERE regexp_full_match(schema_name, 'r[0-9]+')"),
    view,
  )
  t.equal(row?.n, 1, 'the schema of the release that is open')
  t.equal(engine.stats().open, 1)
})
