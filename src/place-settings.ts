/** Settings for places that releases are copied to and from: S3-compatible storage. */
import { type Accepted, setting, wholeNumber } from './setting-kinds.ts'

const OPTIONAL_TEXT: Accepted<string | null> = {
  allowed: 'none, or a text of up to 4096 characters without spaces',
  parse: (text) => (text === 'none' ? null : /^[!-~]{1,4096}$/.test(text) ? text : undefined),
}

export const PLACE_SETTINGS = {
  releasesUrl: setting({
    name: 'SUS_RELEASES_URL',
    default: 'none',
    help: 'Place that the server copies releases from; SUS_RELEASES_DIR is then the cache of one server. None serves what is in SUS_RELEASES_DIR.',
    allowed:
      'none, or an address such as s3://bucket/prefix, https://data.example.org or file:///srv/releases',
    parse: (text) => (text === 'none' ? null : /^(s3|https?|file):\/\/\S+$/.test(text) ? text : undefined),
  }),
  releasesCacheBytes: setting({
    name: 'SUS_RELEASES_CACHE_BYTES',
    default: 'none',
    unit: 'bytes',
    help: 'Largest size of SUS_RELEASES_DIR with SUS_RELEASES_URL; copies that came first go first. None sets no limit.',
    allowed: 'none, or a whole number from 0 to 9999999999999',
    parse: (text, context): number | null | undefined =>
      text === 'none' ? null : wholeNumber(0, 9_999_999_999_999).parse(text, context),
  }),
  s3Endpoint: setting({
    name: 'SUS_S3_ENDPOINT',
    default: 'none',
    help: 'Address of the S3-compatible storage that s3:// means; none is Amazon S3 in SUS_S3_REGION.',
    allowed: 'none, or an address such as https://storage.example.org, without a path',
    parse: (text) => (text === 'none' ? null : isOrigin(text) ? new URL(text).origin : undefined),
  }),
  s3Region: setting({
    name: 'SUS_S3_REGION',
    default: 'us-east-1',
    help: 'Region that requests to S3 are signed for.',
    allowed: 'lower-case letters, digits and -, up to 40',
    parse: (text) => (/^[a-z0-9-]{1,40}$/.test(text) ? text : undefined),
  }),
  s3AccessKeyId: setting({
    name: 'SUS_S3_ACCESS_KEY_ID',
    default: 'none',
    help: 'Id of the key that signs requests to S3; none sends them unsigned, which reads public buckets.',
    isSecret: true,
    ...OPTIONAL_TEXT,
  }),
  s3SecretAccessKey: setting({
    name: 'SUS_S3_SECRET_ACCESS_KEY',
    default: 'none',
    help: 'Secret of SUS_S3_ACCESS_KEY_ID.',
    isSecret: true,
    ...OPTIONAL_TEXT,
  }),
  s3SessionToken: setting({
    name: 'SUS_S3_SESSION_TOKEN',
    default: 'none',
    help: 'Session token of temporary credentials for S3.',
    isSecret: true,
    ...OPTIONAL_TEXT,
  }),
} as const

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, origin, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username + password === '' && /^\/?$/.test(text.slice(origin.length))
}
