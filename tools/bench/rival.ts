/**
 * Runs PostgreSQL with the data of a release, and the rival app on it. The cluster, its socket and its loopback port belong
 * to this bench.
 *
 * In: a fixture. Out: a running app. The tables have the columns of the release's files, the primary keys of its datasets and
 * the indexes that its routes and queries need. A loaded cluster is reused.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { DATASETS, type DatasetName } from '../../src/model/datasets.ts'
import { freePort } from '../free-port.ts'
import { launch, run, type Server, startApp } from './children.ts'
import type { Direct, Fixture } from './fixture.ts'

/** @returns the folder of PostgreSQL's programs, newest version first; null when none is installed */
export function findPostgres(): string | null {
  const home = '/usr/lib/postgresql'
  const versions = existsSync(home)
    ? readdirSync(home).sort((left, right) => Number(right) - Number(left))
    : []
  const folders = [
    ...versions.map((version) => join(home, version, 'bin')),
    '/usr/local/pgsql/bin',
    '/usr/bin',
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null
}

/** PostgreSQL refuses to run as root, so root runs it as the user of its package. */
function postgresUser(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {}
  const number = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: number('-u'), gid: number('-g') }
}

const SETTINGS = {
  shared_buffers: '1GB',
  work_mem: '64MB',
  maintenance_work_mem: '256MB',
  effective_cache_size: '4GB',
  random_page_cost: '1.1',
  max_parallel_workers_per_gather: '2',
  listen_addresses: '127.0.0.1',
}

const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  BOOLEAN: 'boolean',
  DOUBLE: 'double precision',
  DATE: 'date',
}

const INDEXES = [
  'CREATE EXTENSION pg_trgm',
  'CREATE EXTENSION unaccent',
  // unaccent is only STABLE, because its dictionary could change.
  "CREATE FUNCTION plain(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$SELECT public.unaccent('public.unaccent'::regdictionary, $1)$$",
  'CREATE INDEX ON facilities (cnes_code) WHERE is_active',
  'CREATE INDEX ON facilities (uf, facility_type_code, cnes_code) WHERE is_active',
  'CREATE INDEX ON facilities (municipality_ibge_code) WHERE is_active',
  // The release already stores names in lower case without accents, so checking rows folds nothing.
  'CREATE INDEX ON facilities USING gin (search_text gin_trgm_ops) WHERE is_active',
  'CREATE INDEX ON bed_capacity (uf) WHERE is_active',
  'CREATE INDEX ON bed_capacity (bed_type_code) WHERE is_active',
  'CREATE INDEX ON equipment_inventory (uf) WHERE is_active',
  'CREATE INDEX ON equipment_inventory (category_code) WHERE is_active',
  'CREATE INDEX ON specialized_services (uf) WHERE is_active',
  'CREATE INDEX ON specialized_services (service_code) WHERE is_active',
  'CREATE INDEX ON population (population_type, reference_year)',
  `CREATE INDEX ON municipalities (name COLLATE "pt-x-icu", ibge_code) WHERE territorial_type = 'MUNICIPALITY'`,
]

async function loadTables(
  psql: (statement: string) => Promise<string>,
  direct: Direct,
  folder: string,
): Promise<void> {
  const existing = new Set((await direct.rows('SHOW TABLES')).map((row) => row.name))
  // A release without admissions does not have their tables.
  const names = (Object.keys(DATASETS) as DatasetName[]).filter((name) => existing.has(name))
  for (const name of names) {
    const columns = (await direct.rows(`DESCRIBE SELECT * FROM "${name}"`)).map((row) => ({
      column: String(row.column_name),
      type: String(row.column_type),
    }))
    const declared = columns.map(
      ({ column, type }) => `"${column}" ${column === 'reference_period' ? 'text' : (TYPES[type] ?? 'json')}`,
    )
    const selected = columns.map(({ column, type }) =>
      column === 'reference_period'
        ? `strftime(strptime(CAST(reference_period AS VARCHAR), '%Y%m'), '%Y-%m') AS reference_period`
        : TYPES[type] === undefined
          ? `to_json("${column}") AS "${column}"`
          : `"${column}"`,
    )
    const file = join(folder, `${name}.csv`)
    await direct.rows(
      `COPY (SELECT ${selected.join(', ')} FROM "${name}") TO '${file}' (FORMAT csv, HEADER true, NULLSTR '\\N')`,
    )
    await psql(
      `CREATE TABLE "${name}" (${declared.join(', ')}, PRIMARY KEY (${DATASETS[name].key.join(', ')}))`,
    )
    await psql(`\\copy "${name}" FROM '${file}' (FORMAT csv, HEADER true, NULL '\\N')`)
    rmSync(file)
  }
  for (const statement of INDEXES) await psql(statement)
  await psql('VACUUM ANALYZE')
}

/** @returns the rival app on a loaded PostgreSQL; @throws when PostgreSQL does not start or load */
export async function startRival(
  bin: string,
  fixture: Fixture,
  direct: Direct,
  say: (text: string) => void,
): Promise<Server> {
  const user = postgresUser()
  const folder = join(fixture.folder, 'postgres')
  const data = join(folder, 'data')
  const done = join(folder, 'loaded')
  if (!existsSync(done)) {
    say('loads PostgreSQL with the release (once)')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o755 })
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
    await run(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale'],
      {
        ...user,
        cwd: folder,
        env: { TZ: 'UTC' },
      },
    )
  }
  const port = await freePort()
  const settings = { ...SETTINGS, port: String(port), unix_socket_directories: folder }
  const server = launch(
    join(bin, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...user, cwd: folder, env: { TZ: 'UTC' }, stdio: 'ignore' },
    'SIGINT',
  )
  const psqlOn =
    (database: string) =>
    (statement: string): Promise<string> =>
      run(
        join(bin, 'psql'),
        [
          '-X',
          '-q',
          '-v',
          'ON_ERROR_STOP=1',
          '-h',
          folder,
          '-p',
          String(port),
          '-U',
          'postgres',
          '-d',
          database,
          '-c',
          statement,
        ],
        { env: {} },
      )
  const startedAt = performance.now()
  for (;;) {
    if (server.exitCode !== null)
      throw new Error(`PostgreSQL ended with ${server.exitCode}; is another one running on ${data}?`)
    const isUp = await psqlOn('postgres')('SELECT 1').then(
      () => true,
      () => false,
    )
    if (isUp) break
    if (performance.now() - startedAt > 60_000) throw new Error('PostgreSQL does not start')
    await pause(200)
  }
  if (!existsSync(done)) {
    await psqlOn('postgres')('CREATE DATABASE bench')
    await loadTables(psqlOn('bench'), direct, fixture.folder)
    writeFileSync(done, fixture.release)
  }
  return startApp('PostgreSQL', 'rival-server.ts', {
    host: folder,
    port,
    user: 'postgres',
    release: fixture.release,
  })
}
