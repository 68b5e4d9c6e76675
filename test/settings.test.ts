/** Settings: defaults, values, and the sentence a bad one stops the start with. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSettings, SETTINGS, SettingsError } from '../src/settings.ts'

const GiB = 2 ** 30
const machine = { cores: 8, memoryBytes: 16 * GiB }

t.test('nothing set: every default', async (t) => {
  t.same(readSettings({}, machine), {
    host: '127.0.0.1',
    port: 8080,
    releasesDir: resolve('releases'),
    keysFile: resolve('releases/keys.json'),
    signingKeyFile: resolve('releases/signing-key.pem'),
    signingName: null,
    trustedKeys: [],
    corsOrigins: [],
    embedOrigins: [],
    allowedHosts: [],
    explorerKey: null,
    clientKey: null,
    writeTogether: true,
    metricsPort: null,
    releasesOpen: 4,
    stopTimeoutMs: 50_000,
    logLevel: 'info',
    duckdbMemory: '768MiB',
    residentBytes: 362387865,
    duckdbThreads: 8,
    queryTimeoutMs: 30_000,
    queryConcurrency: 16,
    queryQueue: 512,
    queryNice: 10,
    cacheBytes: 134_217_728,
    reportMemory: '384MiB',
    reportQueue: 16,
    reportTimeoutMs: 120_000,
    rateLimitPerMinute: 6000,
    redisUrl: null,
    releasesUrl: null,
    releasesCacheBytes: null,
    s3Endpoint: null,
    s3Region: 'us-east-1',
    s3AccessKeyId: null,
    s3SecretAccessKey: null,
    s3SessionToken: null,
    engine: 'duckdb',
    trinoUrl: 'http://127.0.0.1:8081',
    trinoUser: 'sus-data',
    trinoPasswordFile: null,
    trinoTokenFile: null,
    trinoCatalog: 'sus',
    trinoLocation: 'local:///releases',
    trinoMinRows: 200_000_000,
    trinoRowsMax: 5_000_000,
    snapshotsDir: resolve('data/snapshots'),
    sourceDatasus: 'ftp://ftp.datasus.gov.br',
    sourceSigtap: 'ftp://ftp2.datasus.gov.br',
    sourceCnes: 'https://cnes.datasus.gov.br',
    sourceIbge: 'https://servicodados.ibge.gov.br',
    sourceSidra: 'https://apisidra.ibge.gov.br',
    sourceSiconfi: 'https://apidatalake.tesouro.gov.br',
    fetchIdleMs: 90_000,
    fetchAttempts: 5,
    fetchPauseMs: 2000,
  })
  t.same(readSettings({ HOST: '', PORT: '', SUS_KEYS_FILE: '' }, machine), readSettings({}, machine))
  t.ok(readSettings({}).duckdbThreads >= 1, 'the defaults hold on this machine')
})

t.test('defaults follow the machine and other settings', async (t) => {
  t.equal(readSettings({}, { cores: 1, memoryBytes: 2 * GiB }).duckdbMemory, '512MiB')
  t.equal(readSettings({}, { cores: 1, memoryBytes: 0.25 * GiB }).duckdbMemory, '128MiB')
  t.equal(readSettings({}, { cores: 1, memoryBytes: GiB }).queryConcurrency, 4)
  t.equal(readSettings({ SUS_QUERY_CONCURRENCY: '1' }, machine).queryQueue, 32)
  t.equal(readSettings({ SUS_RELEASES_DIR: '/srv/r' }, machine).keysFile, resolve('/srv/r/keys.json'))
})

t.test('values', async (t) => {
  const settings = readSettings(
    { HOST: '::1', PORT: '0', SUS_DUCKDB_MEMORY: '1.5 GB', SUS_LOG_LEVEL: 'silent', SUS_QUERY_QUEUE: '0' },
    machine,
  )
  t.match(settings, { host: '::1', port: 0, duckdbMemory: '1.5GB', logLevel: 'silent', queryQueue: 0 })
})

const BAD: readonly (readonly [string, string])[] = [
  ['HOST', 'not a host'],
  ['HOST', '300.1.1.1'],
  ['SUS_FETCH_ATTEMPTS', '0'],
  ['SUS_ENGINE', 'spark'],
  ['SUS_TRINO_URL', 'http://user:word@trino:8080'],
  ['SUS_TRINO_URL', 'trino:8080'],
  ['SUS_TRINO_USER', 'two words'],
  ['SUS_TRINO_CATALOG', 'a"b'],
  ['SUS_TRINO_LOCATION', "s3://bucket/it's"],
  ['SUS_TRINO_LOCATION', 's3://bucket/releases/'],
  ['SUS_TRINO_MIN_ROWS', '-1'],
  ['SUS_TRINO_ROWS_MAX', '0'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', ' 80'],
  ['PORT', '1e3'],
  ['SUS_RELEASES_DIR', fileURLToPath(import.meta.url)],
  ['SUS_KEYS_FILE', fileURLToPath(new URL('.', import.meta.url))],
  ['SUS_LOG_LEVEL', 'INFO'],
  ['SUS_DUCKDB_MEMORY', '1024'],
  ['SUS_DUCKDB_MEMORY', '1MB'],
  ['SUS_DUCKDB_MEMORY', '17GiB'],
  ['SUS_DUCKDB_MEMORY', '80%'],
  ['SUS_DUCKDB_THREADS', '0'],
  ['SUS_QUERY_TIMEOUT_MS', '30s'],
  ['SUS_QUERY_CONCURRENCY', '0'],
  ['SUS_QUERY_QUEUE', 'many'],
  ['SUS_QUERY_NICE', '20'],
  ['SUS_RATE_LIMIT', '0'],
]
t.test('a bad setting is one sentence naming it, its value and what is allowed', async (t) => {
  for (const [name, value] of BAD) {
    const entry = Object.values(SETTINGS).find((setting) => setting.name === name)
    t.throws(
      () => readSettings({ [name]: value }, machine),
      new SettingsError(name, value, entry?.allowed ?? ''),
      `${name}=${value}`,
    )
  }
  t.equal(new SettingsError('PORT', 'x', 'a port').message, 'PORT is "x", but must be a port.')
  t.equal(new SettingsError('PORT', 'x'.repeat(500), 'a port').message.length < 130, true)
})

t.test('the address of a store, and that no message shows it', async (t) => {
  for (const url of [
    'redis://localhost',
    'redis://10.0.0.7:6380/3',
    'redis://[::1]:6379/',
    'rediss://user:p%40ss@redis.example.org:6379/0',
  ])
    t.equal(readSettings({ SUS_REDIS_URL: url }, machine).redisUrl, url)
  for (const url of [
    'localhost:6379',
    'http://user:hunter2@host',
    'redis:///0',
    'redis://user:hunter2@host/db',
    'redis://user:hunter2@host:66000',
    'redis://user:hunter2%@host',
    'redis://user:hunter2@host/0?tls=1',
    'redis://user:hunter2@host/0#a',
    'hunter2',
  ])
    t.throws(
      () => readSettings({ SUS_REDIS_URL: url }, machine),
      new SettingsError('SUS_REDIS_URL', '(not shown)', SETTINGS.redisUrl.allowed),
      url,
    )
})

t.test(
  'addresses of publishers: any protocol that is read, without query; their passwords are not shown',
  async (t) => {
    for (const address of [
      'ftp://user:word@mirror:2121/a',
      'https://mirror.example/datasus',
      'file:///srv/mirror',
    ])
      t.equal(readSettings({ SUS_SOURCE_DATASUS: `${address}/` }, machine).sourceDatasus, address)
    for (const address of ['ftp://u%40:p%25@h/a%20b', 'file:///srv/a%25b', 'https://u:a%2Fb@h/%C3%A7'])
      t.equal(readSettings({ SUS_SOURCE_DATASUS: address }, machine).sourceDatasus, address)
    for (const address of [
      'ftp.datasus.gov.br',
      'https://mirror.example/?q=1',
      'file:///',
      'sftp://mirror',
      'http://u:p%zz@127.0.0.1:1/',
      'ftp://u%E7:p@h/',
      'ftp://h/%zz',
      'ftp://u:p@h/a%0D%0ADELE%20x',
      'file:///tmp/%zz',
      'file:///tmp/%2Fx',
      'file:///tmp/%00x',
    ])
      t.throws(
        () => readSettings({ SUS_SOURCE_DATASUS: address }, machine),
        new SettingsError('SUS_SOURCE_DATASUS', '(not shown)', SETTINGS.sourceDatasus.allowed),
      )
  },
)

t.test('places: addresses, a limit, and secrets that no message shows', async (t) => {
  for (const url of ['s3://bucket/prefix', 'https://data.example.org', 'file:///srv/releases'])
    t.equal(readSettings({ SUS_RELEASES_URL: url }, machine).releasesUrl, url)
  for (const url of ['bucket', 'ftp://host/x', 's3://', 's3://a b'])
    t.throws(
      () => readSettings({ SUS_RELEASES_URL: url }, machine),
      { message: /^SUS_RELEASES_URL is / },
      url,
    )
  t.equal(readSettings({ SUS_RELEASES_CACHE_BYTES: '1000' }, machine).releasesCacheBytes, 1000)
  t.throws(() => readSettings({ SUS_RELEASES_CACHE_BYTES: '1GB' }, machine), SettingsError)
  t.equal(
    readSettings({ SUS_S3_ENDPOINT: 'http://127.0.0.1:9000/' }, machine).s3Endpoint,
    'http://127.0.0.1:9000',
  )
  t.throws(() => readSettings({ SUS_S3_ENDPOINT: 'http://u:p@host' }, machine), {
    message: /^SUS_S3_ENDPOINT is /,
  })
  t.throws(
    () => readSettings({ SUS_S3_SECRET_ACCESS_KEY: 'hunter2 ' }, machine),
    new SettingsError('SUS_S3_SECRET_ACCESS_KEY', '(not shown)', SETTINGS.s3SecretAccessKey.allowed),
  )
})

t.test('no message shows a user or password of an address', async (t) => {
  for (const [name, value, shown] of [
    ['SUS_S3_ENDPOINT', 'https://AKID:TOPSECRET@minio.local', 'https://(not shown)@minio.local'],
    ['SUS_TRINO_URL', 'https://u:TOPSECRET@trino.local', 'https://(not shown)@trino.local'],
    ['SUS_TRINO_URL', 'https://u:TOP/SECRET?#@TOPSECRET@trino.local', 'https://(not shown)@trino.local'],
    ['SUS_TRINO_URL', 'u:TOPSECRET@trino.local', '(not shown)@trino.local'],
    ['SUS_RELEASES_URL', 'ftp://u:TOPSECRET@host/x', 'ftp://(not shown)@host/x'],
    ['SUS_CORS_ORIGINS', 'https://a.org,https://u:TOPSECRET@b.org', 'https://(not shown)@b.org'],
    ['SUS_TRINO_URL', `https://u:${'TOPSECRET'.repeat(20)}@trino.local`, 'https://(not shown)@trino.local'],
    ['SUS_S3_ACCESS_KEY_ID', 'TOPSECRET ', '(not shown)'],
  ] as const) {
    const error = t.throws(() => readSettings({ [name]: value }, machine), SettingsError)
    t.match(
      String((error as Error | false) && (error as Error).message),
      `${name} is "${shown}", but must be`,
    )
    t.notMatch(String(error), /TOP|SECRET/)
  }
})
