/** Settings for Trino: the engine to use, Trino's address, and which queries go there. docs/trino.md explains them together. */
import type { TrinoSettings } from './engine/types.ts'
import { type Accepted, pathOf, setting, wholeNumber } from './setting-kinds.ts'

const ENGINES = ['duckdb', 'trino', 'auto'] as const
const FILE = pathOf('file')
const OPTIONAL_FILE: Accepted<string | null> = {
  allowed: `none, or ${FILE.allowed}`,
  parse: (text, context) => (text === 'none' ? null : FILE.parse(text, context)),
}

export const TRINO_SETTINGS = {
  engine: setting({
    name: 'SUS_ENGINE',
    default: 'duckdb',
    help: 'Engine that adds up facts: DuckDB in this process, Trino, or auto: Trino where a query reads as many rows as SUS_TRINO_MIN_ROWS, or does not fit into this process.',
    allowed: ENGINES.join(', '),
    parse: (text) => ENGINES.find((engine) => engine === text),
  }),
  trinoUrl: setting({
    name: 'SUS_TRINO_URL',
    default: 'http://127.0.0.1:8081',
    help: "Address of Trino's coordinator, or of what stands before it.",
    allowed: 'an address such as https://trino.example.org, without a path',
    parse: (text) => (isOrigin(text) ? new URL(text).origin : undefined),
  }),
  trinoUser: setting({
    name: 'SUS_TRINO_USER',
    default: 'sus-data',
    help: "User that Trino knows this service's statements by.",
    allowed: 'letters, digits and . _ @ -, up to 100',
    parse: (text) => (/^[\w.@-]{1,100}$/.test(text) ? text : undefined),
  }),
  trinoPasswordFile: setting({
    name: 'SUS_TRINO_PASSWORD_FILE',
    default: 'none',
    help: 'File whose text is the password of SUS_TRINO_USER.',
    ...OPTIONAL_FILE,
  }),
  trinoTokenFile: setting({
    name: 'SUS_TRINO_TOKEN_FILE',
    default: 'none',
    help: 'File whose text is a token (JWT or OAuth2), instead of a password.',
    ...OPTIONAL_FILE,
  }),
  trinoCatalog: setting({
    name: 'SUS_TRINO_CATALOG',
    default: 'sus',
    help: 'Catalog of Trino that the tables of releases are in.',
    allowed: 'lower-case letters, digits and _, up to 60',
    parse: (text) => (/^[a-z][a-z0-9_]{0,59}$/.test(text) ? text : undefined),
  }),
  trinoLocation: setting({
    name: 'SUS_TRINO_LOCATION',
    default: 'local:///releases',
    help: 'Address at which Trino finds the folder of releases; sus-data trino register takes it.',
    allowed: 'an address such as local:///releases or s3://bucket/releases, without a / at its end',
    parse: (text) => (/^[a-z][a-z0-9]*:\/\/[\w./-]*[\w-]$/.test(text) ? text : undefined),
  }),
  trinoMinRows: setting({
    name: 'SUS_TRINO_MIN_ROWS',
    default: '200000000',
    unit: 'rows',
    help: 'With SUS_ENGINE=auto, what reads at least so many rows is sent to Trino.',
    ...wholeNumber(0, 1_000_000_000_000),
  }),
  trinoRowsMax: setting({
    name: 'SUS_TRINO_ROWS_MAX',
    default: '5000000',
    unit: 'rows',
    help: 'Groups that Trino may send back for one query; more are query_too_large.',
    ...wholeNumber(1, 1_000_000_000),
  }),
} as const

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname, search, hash, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && pathname === '/' && `${search}${hash}${username}${password}` === ''
}

type Parsed = {
  readonly [Name in keyof typeof TRINO_SETTINGS]: Exclude<
    ReturnType<(typeof TRINO_SETTINGS)[Name]['parse']>,
    undefined
  >
}

/** @returns Trino's settings, or null if only DuckDB is used */
export const trinoOf = (
  settings: Parsed & { readonly queryConcurrency: number; readonly queryQueue: number },
): TrinoSettings | null =>
  settings.engine === 'duckdb'
    ? null
    : {
        url: settings.trinoUrl,
        user: settings.trinoUser,
        passwordFile: settings.trinoPasswordFile,
        tokenFile: settings.trinoTokenFile,
        catalog: settings.trinoCatalog,
        mode: settings.engine,
        minRows: settings.trinoMinRows,
        rowsMax: settings.trinoRowsMax,
        concurrency: settings.queryConcurrency,
        queue: settings.queryQueue,
      }
