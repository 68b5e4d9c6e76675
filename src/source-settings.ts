/** Settings for fetching published files: each publisher's address, the folder of snapshots, and patience with servers. */
import { fileURLToPath } from 'node:url'
import { type Accepted, pathOf, setting, wholeNumber } from './setting-kinds.ts'

const PLACE: Accepted<string> = {
  allowed:
    'an address that begins with ftp://, http://, https:// or file:///, without query; write % as %25; an encoded slash (%2F) is refused',
  parse: (text) => {
    if (!URL.canParse(text)) return undefined
    const { protocol, hostname, pathname, search, hash } = new URL(text)
    const isRemote = ['ftp:', 'http:', 'https:'].includes(protocol) && hostname !== ''
    const isFolder = protocol === 'file:' && hostname === '' && pathname !== '/'
    const isPlace = (isRemote || isFolder) && search === '' && hash === '' && isDecodable(text)
    return isPlace ? text.replace(/\/+$/, '') : undefined
  },
}

/** True if the user, the password and the path can be decoded, without control characters. A path has no encoded slash. */
function isDecodable(address: string): boolean {
  const { protocol, username, password, pathname } = new URL(address)
  try {
    const texts = [username, password, pathname].map(decodeURIComponent)
    if (protocol === 'file:') fileURLToPath(address)
    return !/%2f/i.test(pathname) && texts.every((text) => !/\p{Cc}/u.test(text))
  } catch {
    return false
  }
}

const place = (name: string, address: string, publishes: string) =>
  setting({
    name,
    default: address,
    help: `Address from which sus-data fetch gets ${publishes}; a mirror with the same paths may take its place.`,
    ...PLACE,
    // The address of a mirror may hold a password.
    isSecret: true,
  })

export const SOURCE_SETTINGS = {
  snapshotsDir: setting({
    name: 'SUS_SNAPSHOTS_DIR',
    default: 'data/snapshots',
    help: 'Folder that sus-data fetch and sus-data update put published files into.',
    ...pathOf('folder'),
  }),
  sourceDatasus: place(
    'SUS_SOURCE_DATASUS',
    'ftp://ftp.datasus.gov.br',
    'files by state, population by age and health regions of DATASUS',
  ),
  sourceSigtap: place('SUS_SOURCE_SIGTAP', 'ftp://ftp2.datasus.gov.br', 'the table of procedures of DATASUS'),
  sourceCnes: place(
    'SUS_SOURCE_CNES',
    'https://cnes.datasus.gov.br',
    'the national base of the facility registry',
  ),
  sourceIbge: place(
    'SUS_SOURCE_IBGE',
    'https://servicodados.ibge.gov.br',
    'municipalities, population and outlines of IBGE',
  ),
  sourceSidra: place(
    'SUS_SOURCE_SIDRA',
    'https://apisidra.ibge.gov.br',
    'the index of consumer prices of IBGE',
  ),
  sourceSiconfi: place(
    'SUS_SOURCE_SICONFI',
    'https://apidatalake.tesouro.gov.br',
    'fiscal reports of SICONFI',
  ),
  fetchIdleMs: setting({
    name: 'SUS_FETCH_IDLE_MS',
    default: '90000',
    unit: 'milliseconds',
    help: 'Time without a byte after which a connection to a publisher is given up and tried again.',
    ...wholeNumber(50, 3_600_000),
  }),
  fetchAttempts: setting({
    name: 'SUS_FETCH_ATTEMPTS',
    default: '5',
    unit: 'attempts',
    help: 'Attempts at a file or a listing before it counts as failed.',
    ...wholeNumber(1, 100),
  }),
  fetchPauseMs: setting({
    name: 'SUS_FETCH_PAUSE_MS',
    default: '2000',
    unit: 'milliseconds',
    help: 'Pause before the second attempt; each later pause is twice as long, up to two minutes.',
    ...wholeNumber(1, 600_000),
  }),
} as const
