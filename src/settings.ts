/**
 * Defines every setting with its default, unit, help text, allowed values and parser. Only this file reads the environment.
 * In: the environment. Out: `Settings`, or a `SettingsError` that names the setting, its value and the allowed values.
 * An empty variable counts as not set. Values of secret settings, and users and passwords of addresses, never appear in messages.
 */
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { usableMemory } from './machine.ts'
import { PLACE_SETTINGS } from './place-settings.ts'
import {
  type Accepted,
  type Context,
  type Environment,
  type Machine,
  pathOf,
  type Setting,
  setting,
  wholeNumber,
} from './setting-kinds.ts'
import { SOURCE_SETTINGS } from './source-settings.ts'
import { TRINO_SETTINGS } from './trino-settings.ts'
import { KEY_NAME, parseVerifier, type Verifier } from './trust/note.ts'

export type { Machine } from './setting-kinds.ts'

const MiB = 2 ** 20
/** DuckDB's share of the machine's memory. MEMORY_DEFAULT_MAX limits it, so that the server stays below 1.5 GB. */
const MEMORY_SHARE = 0.25
const MEMORY_MIN = 128 * MiB
const MEMORY_DEFAULT_MAX = 768 * MiB
const MEMORY_UNITS: Readonly<Record<string, number>> = {
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  MIB: MiB,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
}
const HIDDEN = '(not shown)'
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const MEMORY_SIZE: Accepted<string> = {
  allowed: "a size with its unit, such as 512MB or 2GiB, from 128MiB to the machine's memory",
  parse: (text, { machine }) => parseMemory(text, machine.memoryBytes),
}

export const SETTINGS = {
  host: setting({
    name: 'HOST',
    default: '127.0.0.1',
    help: 'Address the server listens on.',
    allowed: 'an IP address or a host name',
    parse: (text) => (isIP(text) > 0 || isHostName(text) ? text : undefined),
  }),
  port: setting({
    name: 'PORT',
    default: '8080',
    help: 'Port the server listens on; 0 picks a free one, which the log names.',
    ...wholeNumber(0, 65_535),
  }),
  releasesDir: setting({
    name: 'SUS_RELEASES_DIR',
    default: './releases',
    help: 'Folder of the releases and of the pointer to the current one.',
    ...pathOf('folder'),
  }),
  keysFile: setting({
    name: 'SUS_KEYS_FILE',
    default: 'keys.json in SUS_RELEASES_DIR',
    computeDefault: (context) => join(context.text('SUS_RELEASES_DIR'), 'keys.json'),
    help: 'File of the API keys (hashes only, mode 0600); read again when it changes.',
    ...pathOf('file'),
  }),
  signingKeyFile: setting({
    name: 'SUS_SIGNING_KEY_FILE',
    default: 'signing-key.pem in SUS_RELEASES_DIR',
    computeDefault: (context) => join(context.text('SUS_RELEASES_DIR'), 'signing-key.pem'),
    help: 'File of the Ed25519 key that signs reports, releases and their log (mode 0600); without it nothing is signed.',
    ...pathOf('file'),
  }),
  signingName: setting({
    name: 'SUS_SIGNING_NAME',
    default: 'none',
    help: 'Name of the signing key in signed notes, which is also the name of the log; none makes one of the key.',
    allowed: 'none, or a name without spaces and +, such as data.example.org/releases',
    parse: (text) => (text === 'none' ? null : KEY_NAME.test(text) ? text : undefined),
  }),
  trustedKeys: setting({
    name: 'SUS_TRUSTED_KEYS',
    default: 'none',
    help: 'Keys of which one must have signed a release before it is promoted or served; none demands no signature.',
    allowed: 'none, or verifier keys as sus-data keys signing show prints them, separated by commas',
    parse: parseTrustedKeys,
  }),
  corsOrigins: setting({
    name: 'SUS_CORS_ORIGINS',
    default: 'none',
    help: 'Origins whose pages may read answers, separated by commas; * is any.',
    allowed: 'none, *, or origins such as https://example.org separated by commas',
    parse: parseOrigins,
  }),
  embedOrigins: setting({
    name: 'SUS_EMBED_ORIGINS',
    default: 'none',
    help: 'Origins whose pages may show answers of the explorer in a frame (/explorer/embed), separated by commas; * is any. none answers no such address.',
    allowed: 'none, *, or origins such as https://example.org separated by commas',
    parse: parseOrigins,
  }),
  allowedHosts: setting({
    name: 'SUS_ALLOWED_HOSTS',
    default: 'none',
    help: 'Names that POST /mcp is answered under, as a proxy passes them on in Host; none allows those of this machine where HOST is one, and any where it is not.',
    allowed: 'none, or host names and addresses without ports, separated by commas',
    parse: parseHosts,
  }),
  explorerKey: setting({
    name: 'SUS_EXPLORER_KEY',
    default: 'none',
    help: "Key that the explorer's pages use on the server's side, so that visitors without a key see what it may read.",
    allowed: 'none, or a key as sus-data keys create shows it',
    isSecret: true,
    parse: parseKey,
  }),
  clientKey: setting({
    name: 'SUS_KEY',
    default: 'none',
    help: 'Key that sus-data mcp --url, pull and SUS_RELEASES_URL show to another server.',
    allowed: 'none, or a key as sus-data keys create shows it',
    isSecret: true,
    parse: parseKey,
  }),
  writeTogether: setting({
    name: 'SUS_WRITE_TOGETHER',
    default: 'true',
    help: 'Whether answers that are ready at once are written at once; false measures what that buys.',
    allowed: 'true or false',
    parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  }),
  metricsPort: setting({
    name: 'SUS_METRICS_PORT',
    default: 'none',
    help: 'Separate port for /metrics, on HOST; local serves it on PORT to requests from this machine, so set that only where no proxy of this machine passes /metrics on; none serves no metrics.',
    allowed: 'none, local, or a whole number from 0 to 65535',
    parse: (text, context): number | 'local' | null | undefined =>
      text === 'none' ? null : text === 'local' ? text : wholeNumber(0, 65_535).parse(text, context),
  }),
  releasesOpen: setting({
    name: 'SUS_RELEASES_OPEN',
    default: '4',
    unit: 'releases',
    help: 'Releases kept open, the newest before they are asked for; the one used longest ago is closed first and opened again when it is requested.',
    ...wholeNumber(1, 100),
  }),
  stopTimeoutMs: setting({
    name: 'SUS_STOP_TIMEOUT_MS',
    default: '50000',
    unit: 'milliseconds',
    help: 'Time from SIGTERM after which a server that has not stopped is killed, with a line in its log.',
    ...wholeNumber(1, 3_600_000),
  }),
  logLevel: setting({
    name: 'SUS_LOG_LEVEL',
    default: 'info',
    help: 'How much is logged.',
    allowed: LOG_LEVELS.join(', '),
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  }),
  duckdbMemory: setting({
    name: 'SUS_DUCKDB_MEMORY',
    default: 'a quarter of the memory, from 128MiB to 768MiB',
    computeDefault: ({ machine }) => {
      const share = Math.min(machine.memoryBytes * MEMORY_SHARE, MEMORY_DEFAULT_MAX)
      return `${Math.floor(Math.max(share, MEMORY_MIN) / MiB)}MiB`
    },
    help: 'Memory DuckDB may use; a query that needs more fails.',
    ...MEMORY_SIZE,
  }),
  residentBytes: setting({
    name: 'SUS_RESIDENT_BYTES',
    default: '9/20 of SUS_DUCKDB_MEMORY',
    computeDefault: (context) =>
      String(Math.floor((memoryBytesOf(context.text('SUS_DUCKDB_MEMORY')) * 9) / 20)),
    unit: 'bytes',
    help: 'Share of SUS_DUCKDB_MEMORY for tables in memory, which aggregations read; 0 holds none.',
    ...wholeNumber(0, 100_000_000_000),
  }),
  duckdbThreads: setting({
    name: 'SUS_DUCKDB_THREADS',
    default: 'all cores',
    computeDefault: ({ machine }) => String(machine.cores),
    help: 'Threads DuckDB may use, shared by all queries.',
    ...wholeNumber(1, 1024),
  }),
  queryTimeoutMs: setting({
    name: 'SUS_QUERY_TIMEOUT_MS',
    default: '30000',
    unit: 'milliseconds',
    help: 'Time after which a query is interrupted and answered with query_timeout.',
    ...wholeNumber(1, 3_600_000),
  }),
  queryConcurrency: setting({
    name: 'SUS_QUERY_CONCURRENCY',
    default: 'twice the cores, from 4 to 32',
    computeDefault: ({ machine }) => String(Math.min(32, Math.max(4, machine.cores * 2))),
    unit: 'queries',
    help: 'Queries that run at once; more wait in the queue.',
    ...wholeNumber(1, 256),
  }),
  queryQueue: setting({
    name: 'SUS_QUERY_QUEUE',
    default: '32 for each of SUS_QUERY_CONCURRENCY',
    // Keep the queue proportional to the concurrency, so that the longest wait does not depend on the machine.
    computeDefault: (context) => String(32 * Number(context.text('SUS_QUERY_CONCURRENCY'))),
    unit: 'queries',
    help: 'Light queries that may wait, and as many heavy ones; one more is answered with overloaded.',
    ...wholeNumber(0, 100_000),
  }),
  queryNice: setting({
    name: 'SUS_QUERY_NICE',
    default: '10',
    unit: 'steps of niceness',
    help: 'How much lower the priority of the threads that run queries is than that of the one that answers requests (Linux).',
    ...wholeNumber(0, 19),
  }),
  cacheBytes: setting({
    name: 'SUS_CACHE_BYTES',
    default: '134217728',
    unit: 'bytes',
    help: 'Memory for cached answers; 0 caches none.',
    ...wholeNumber(0, 100_000_000_000),
  }),
  reportMemory: setting({
    name: 'SUS_REPORT_MEMORY',
    default: 'half of SUS_DUCKDB_MEMORY',
    computeDefault: (context) => {
      const bytes = memoryBytesOf(context.text('SUS_DUCKDB_MEMORY')) / 2
      return `${Math.floor(Math.max(bytes, MEMORY_MIN) / MiB)}MiB`
    },
    help: 'Memory the DuckDB of the report worker may use.',
    ...MEMORY_SIZE,
  }),
  reportQueue: setting({
    name: 'SUS_REPORT_QUEUE',
    default: '16',
    unit: 'reports',
    help: 'Reports that may wait while one is made; one more is answered with overloaded.',
    ...wholeNumber(0, 10_000),
  }),
  reportTimeoutMs: setting({
    name: 'SUS_REPORT_TIMEOUT_MS',
    default: '120000',
    unit: 'milliseconds',
    help: "Time after which a report's query is interrupted and answered with query_timeout.",
    ...wholeNumber(1, 3_600_000),
  }),
  rateLimitPerMinute: setting({
    name: 'SUS_RATE_LIMIT',
    default: '6000',
    unit: 'requests a minute',
    help: 'Requests each key may make, unless the key has a rate of its own.',
    ...wholeNumber(1, 100_000_000),
  }),
  redisUrl: setting({
    name: 'SUS_REDIS_URL',
    default: 'none',
    help: 'Redis in which instances share the rate limits of keys; none limits on each instance for itself.',
    allowed: 'none, or an address such as redis://user:password@host:6379/0, with rediss for TLS',
    isSecret: true,
    parse: (text) => (text === 'none' ? null : parseRedisUrl(text)),
  }),
  ...PLACE_SETTINGS,
  ...TRINO_SETTINGS,
  ...SOURCE_SETTINGS,
} as const

export type SettingName = keyof typeof SETTINGS
export type Settings = {
  readonly [Name in SettingName]: Exclude<ReturnType<(typeof SETTINGS)[Name]['parse']>, undefined>
}

/** @returns a value for messages, with the user and password of an address hidden, also where they are not encoded */
const withoutUser = (value: string): string =>
  value.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1(not shown)@')

/** A setting with an invalid value. The message is one sentence for the operator. */
export class SettingsError extends Error {
  readonly setting: string

  constructor(name: string, value: string, allowed: string) {
    const text = withoutUser(value)
    const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
    super(`${name} is ${shown}, but must be ${allowed}.`)
    this.name = 'SettingsError'
    this.setting = name
  }
}

/** @returns all parsed settings, with absolute paths @throws SettingsError for the first invalid setting */
export function readSettings(env: Environment = process.env, machine: Machine = thisMachine()): Settings {
  const texts = new Map<string, string>()
  const context: Context = { machine, text: (name) => texts.get(name) ?? '' }
  const values = Object.entries(SETTINGS).map(([property, entry]: [string, Setting<unknown>]) => {
    const text = env[entry.name] || (entry.computeDefault?.(context) ?? entry.default)
    const value = entry.parse(text, context)
    if (value === undefined)
      throw new SettingsError(entry.name, entry.isSecret ? HIDDEN : text, entry.allowed)
    texts.set(entry.name, text)
    return [property, value]
  })
  return Object.fromEntries(values) as Settings
}

const thisMachine = (): Machine => ({ cores: availableParallelism(), memoryBytes: usableMemory() })

/** @returns null for `none`, undefined for an invalid key */
function parseKey(text: string): string | null | undefined {
  if (text === 'none') return null
  return /^sus_[a-zA-Z0-9]{8}_\w{40,80}$/.test(text) ? text : undefined
}

function parseOrigins(text: string): readonly string[] | undefined {
  if (text === 'none') return []
  const origins = text.split(',').map((part) => part.trim())
  const isOrigin = (origin: string): boolean =>
    origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)
  return origins.every(isOrigin) ? origins : undefined
}

function parseHosts(text: string): readonly string[] | undefined {
  if (text === 'none') return []
  const hosts = text.split(',').map((part) => part.trim().toLowerCase())
  const isHost = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) > 0 || isHostName(host)
  return hosts.every(isHost) ? hosts.map((host) => (isIP(host) === 6 ? `[${host}]` : host)) : undefined
}

function parseTrustedKeys(text: string): readonly Verifier[] | undefined {
  if (text === 'none') return []
  const keys = text.split(',').map((part) => parseVerifier(part.trim()))
  return keys.every((key) => key !== null) ? keys : undefined
}

function parseRedisUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(text)
  const isAddress = /^rediss?:$/.test(protocol) && hostname !== '' && /^(\/\d{0,5})?$/.test(pathname)
  const isDecodable = !/%(?![\da-f]{2})/i.test(username + password)
  return isAddress && isDecodable && search === '' && hash === '' ? text : undefined
}

function memoryBytesOf(text: string): number {
  const [, digits, unit] = /^([\d.]+) ?(\w+)$/.exec(text) ?? []
  return Number(digits) * (MEMORY_UNITS[unit?.toUpperCase() ?? ''] ?? 0)
}

function parseMemory(text: string, memoryBytes: number): string | undefined {
  const [, digits, unit] = /^(\d{1,12}(?:\.\d{1,6})?) ?([KMGT]i?B)$/i.exec(text) ?? []
  if (digits === undefined || unit === undefined) return undefined
  const bytes = Number(digits) * (MEMORY_UNITS[unit.toUpperCase()] ?? 0)
  return bytes >= MEMORY_MIN && bytes <= Math.max(memoryBytes, MEMORY_MIN) ? `${digits}${unit}` : undefined
}

function isHostName(text: string): boolean {
  const isNumeric = /^[\d.]+$/.test(text)
  return (
    !isNumeric &&
    text.length <= 253 &&
    /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i.test(text)
  )
}
