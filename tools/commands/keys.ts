/** `sus-data keys`: creates, lists, revokes and rotates API keys. A key's secret is printed only once, at creation. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sharedCursorSecret } from '../../src/keys/cursor-secret.ts'
import {
  createKey,
  type KeyInfo,
  listKeys,
  type NewKey,
  parseExpiry,
  revokeKey,
  rotateKey,
} from '../../src/keys/keys.ts'
import { recordLink } from '../../src/keys/link-record.ts'
import { defaultExpiry, LINK_FORMS, LINK_SCOPES, linkSecretOf, makeLink } from '../../src/keys/links.ts'
import { createSigningKey, loadNoteSigner, readPublicKey } from '../../src/keys/signing.ts'
import { CAPABILITIES, type Capability } from '../../src/model/capabilities.ts'
import { releaseIdsIn } from '../../src/release/manifest.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, numberOption, type ParsedArgs, textOption, UsageError } from '../command.ts'

/** Actions of `keys`: accepted options besides --json, whether the action takes an ID, and its function. */
const ACTIONS = {
  create: { options: ['name', 'capabilities', 'expires', 'rate'], takesId: false, run: create },
  list: { options: [], takesId: false, run: list },
  revoke: { options: [], takesId: true, run: revoke },
  rotate: { options: ['overlap-hours'], takesId: true, run: rotate },
  signing: { options: [], takesId: true, run: signing },
  link: { options: ['address', 'scope', 'form', 'expires', 'server'], takesId: true, run: link },
} as const satisfies Record<string, Action>

interface Action {
  readonly options: readonly string[]
  readonly takesId: boolean
  readonly run: (
    file: string,
    args: ParsedArgs,
    id: string,
  ) => { readonly json: unknown; readonly lines: string[] }
}

export const command: Command = {
  name: 'keys',
  summary: 'Make, list, revoke and rotate API keys.',
  usage: [
    'keys create --name NAME --capabilities a,b|all [--expires DATE] [--rate N] [--json]',
    'keys list [--json]',
    'keys revoke ID [--json]',
    'keys rotate ID [--overlap-hours N] [--json]',
    'keys signing create|show [--json]',
    'keys link ID --address PATH [--scope address|release] [--form FORM] [--expires DATE] [--server URL] [--json]',
  ],
  options: {
    name: { type: 'string', value: 'NAME', help: 'Who or what the key is for.' },
    capabilities: {
      type: 'string',
      value: 'LIST',
      help: `What the key may read: all, or some of ${CAPABILITIES.join(',')}.`,
    },
    expires: {
      type: 'string',
      value: 'DATE',
      help: 'Last day (2027-01-31, UTC) or end (2027-01-31T12:00:00Z).',
    },
    rate: { type: 'string', value: 'N', help: 'Requests a minute; the default is SUS_RATE_LIMIT.' },
    'overlap-hours': {
      type: 'string',
      value: 'N',
      help: 'Hours the old key still works after rotate; 24 by default.',
    },
    address: {
      type: 'string',
      value: 'PATH',
      help: 'What a link reads: path and parameters, such as /v1/states.',
    },
    scope: {
      type: 'string',
      value: 'SCOPE',
      help: 'address: that address alone; release: everything below /v1/releases/ID/.',
    },
    form: { type: 'string', value: 'FORM', help: `Form of the answer: ${LINK_FORMS.join(', ')}.` },
    server: { type: 'string', value: 'URL', help: 'Address of the server, to be put before the link.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const [name, id, ...rest] = args.positionals
    const action: Action | undefined =
      name !== undefined && Object.hasOwn(ACTIONS, name) ? ACTIONS[name as keyof typeof ACTIONS] : undefined
    if (action === undefined) throw new UsageError(`keys takes one of: ${Object.keys(ACTIONS).join(', ')}`)
    const misplaced = Object.keys(args.values).find((option) => !['json', ...action.options].includes(option))
    if (misplaced !== undefined) {
      const allowed = [...action.options, 'json'].map((option) => `--${option}`).join(', ')
      throw new UsageError(`keys ${name} does not take --${misplaced}; options of keys ${name}: ${allowed}`)
    }
    if (action.takesId ? id === undefined || rest.length > 0 : id !== undefined)
      throw new UsageError(
        `keys ${name} takes ${name === 'signing' ? 'create or show' : action.takesId ? 'one ID; keys list shows them' : 'options only'}`,
      )
    const { json, lines } = action.run(readSettings().keysFile, args, id ?? '')
    process.stdout.write(args.values.json === true ? `${JSON.stringify(json)}\n` : `${lines.join('\n')}\n`)
    return 0
  },
}

function create(file: string, args: ParsedArgs): ReturnType<Action['run']> {
  const name = textOption(args, 'name')
  const capabilities = textOption(args, 'capabilities')
  const expires = textOption(args, 'expires')
  const rate = numberOption(args, 'rate', { min: 1, max: 100_000_000, integer: true })
  if (name === undefined || capabilities === undefined)
    throw new UsageError('keys create needs --name NAME and --capabilities a,b|all')
  const key = createKey(file, {
    name,
    capabilities: parseCapabilities(capabilities),
    ...(expires === undefined ? {} : { expires }),
    ...(rate === undefined ? {} : { rate }),
  })
  return showNew(file, key, [])
}

function list(file: string): ReturnType<Action['run']> {
  const keys = listKeys(file)
  const lines = keys.length === 0 ? ['There are no keys.'] : table(keys)
  return { json: { keys }, lines }
}

function revoke(file: string, _args: ParsedArgs, id: string): ReturnType<Action['run']> {
  revokeKey(file, id)
  return {
    json: { id, state: 'revoked' },
    lines: [`The key ${id} is revoked; a running server refuses it within 2 s.`],
  }
}

function rotate(file: string, args: ParsedArgs, id: string): ReturnType<Action['run']> {
  const overlapHours = numberOption(args, 'overlap-hours', { min: 0, max: 8760, integer: false })
  const key = rotateKey(file, id, overlapHours === undefined ? {} : { overlapHours })
  const old = listKeys(file).find((other) => other.id === id)
  return showNew(file, key, [`The old key ${id} works until ${old?.expires_at}.`], { replaces: id })
}

/** The key that signs reports, releases and their log: `create` makes it, `show` prints its public half. */
function signing(_file: string, _args: ParsedArgs, action: string): ReturnType<Action['run']> {
  const { signingKeyFile, signingName } = readSettings()
  if (action !== 'create' && action !== 'show') throw new UsageError('keys signing takes create or show')
  const key = action === 'create' ? createSigningKey(signingKeyFile) : readPublicKey(signingKeyFile)
  if (key === null) throw new UsageError('there is no signing key; keys signing create makes one')
  const verifierKey = loadNoteSigner(signingKeyFile, signingName)?.verifier.verifierKey ?? null
  return {
    json: { algorithm: 'Ed25519', public_key: key, verifier_key: verifierKey, file: signingKeyFile },
    lines: [
      ...(action === 'create'
        ? [
            `${signingKeyFile} is made (mode 0600); reports and releases are signed from now on. Keep a copy in a safe place.`,
          ]
        : []),
      'The public key (Ed25519, 32 bytes, base64), for those who check reports:',
      key,
      'The same with its name, for those who check releases and their log (SUS_TRUSTED_KEYS, --key, --log-key):',
      verifierKey ?? '',
    ],
  }
}

/** Makes a link that reads an address without a header. It needs the secret beside the keys, but no server. */
function link(file: string, args: ParsedArgs, id: string): ReturnType<Action['run']> {
  const address = textOption(args, 'address')
  if (address === undefined) throw new UsageError('keys link needs --address PATH, such as /v1/states')
  const choose = <Name extends string>(option: string, names: readonly Name[], fallback: Name): Name => {
    const value = textOption(args, option) ?? fallback
    const found = names.find((name) => name === value)
    if (found === undefined) throw new UsageError(`--${option} is one of ${names.join(', ')}`)
    return found
  }
  const key = listKeys(file).find((other) => other.id === id)
  if (key === undefined) throw new UsageError('there is no key with this id; keys list shows them')
  if (key.state !== 'active')
    throw new UsageError(`the key ${id} is ${key.state}; a link of it would read nothing`)
  const secret = sharedCursorSecret(file)
  if (secret === null) throw new UsageError(`${file}.cursor cannot be read or made; links are signed with it`)
  const expires = textOption(args, 'expires')
  const expiresMs = expires === undefined ? defaultExpiry() : Date.parse(parseExpiry(expires))
  const scope = choose('scope', LINK_SCOPES, 'address')
  const form = choose('form', LINK_FORMS, 'any')
  const path = makeLink({ keyId: id, address, scope, form, expiresMs }, linkSecretOf(secret))
  const { releasesDir } = readSettings()
  const releaseIds = releaseIdsIn(address).filter((name) => existsSync(join(releasesDir, name)))
  if (releaseIds.length > 0) recordLink(file, { releaseIds, keyId: id, expiresMs })
  const url = (textOption(args, 'server') ?? '').replace(/\/$/, '') + path
  const expires_at = new Date(expiresMs).toISOString()
  return {
    json: { link: url, scope, form, expires_at, key: id },
    lines: [
      `Until ${expires_at}, or the end of the key ${id}, whoever has this link can read what it says:`,
      url,
    ],
  }
}

function showNew(file: string, key: NewKey, notes: string[], extra = {}): ReturnType<Action['run']> {
  const info = listKeys(file).find(({ id }) => id === key.id)
  const expired = info?.state === 'expired' ? ['Careful: this key has expired already.'] : []
  return {
    json: { ...info, ...extra, secret: key.secret },
    lines: [
      `Key ${key.id} for ${info?.name}: ${info?.capabilities.join(', ')}.`,
      `Expires: ${info?.expires_at ?? 'never'}. Requests a minute: ${info?.rate_per_minute ?? 'the default'}.`,
      ...notes,
      ...expired,
      'The key, shown only now; the file holds its hash alone:',
      key.secret,
    ],
  }
}

function parseCapabilities(text: string): readonly Capability[] {
  if (text === 'all') return CAPABILITIES
  return text.split(',').map((entry) => {
    const found = CAPABILITIES.find((capability) => capability === entry.trim())
    if (found !== undefined) return found
    throw new UsageError(
      `unknown capability ${JSON.stringify(entry.trim())}; allowed: all, ${CAPABILITIES.join(', ')}`,
    )
  })
}

function table(keys: readonly KeyInfo[]): string[] {
  const rows = keys.map((key) => [
    key.id,
    key.state,
    key.created_at.slice(0, 10),
    key.expires_at ?? 'never',
    key.last_used_at?.slice(0, 16) ?? 'never',
    String(key.rate_per_minute ?? 'default'),
    key.capabilities.length === CAPABILITIES.length ? 'all' : key.capabilities.join(','),
    key.name,
  ])
  const allRows = [['id', 'state', 'created', 'expires', 'rate', 'capabilities', 'name'], ...rows]
  const widths =
    allRows[0]?.map((_, column) => Math.max(...allRows.map((row) => row[column]?.length ?? 0))) ?? []
  return allRows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
