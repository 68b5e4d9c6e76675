/** `sus-data log`: `list` prints the entries of the log of releases; `verify` shows that the log was only appended to. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTrust } from '../../src/keys/trust.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { LogError, logFolder, readCheckpoint } from '../../src/trust/log.ts'
import type { LogEntry } from '../../src/trust/log-entry.ts'
import { readProofs, selectProofs } from '../../src/trust/log-proofs.ts'
import { type Earlier, type LogVerdict, type ReadLogFile, verifyLog } from '../../src/trust/log-verify.ts'
import { NoteError, parseVerifier, type Verifier } from '../../src/trust/note.ts'
import { type Command, type ParsedArgs, textOption, UsageError } from '../command.ts'
import { describeCosignatures, readWitnesses, WITNESS_OPTION } from '../witnesses.ts'

export const command: Command = {
  name: 'log',
  summary: 'List the log of releases and promotions, and show that it was only appended to.',
  usage: [
    'log list [--json]',
    'log verify [--from FILE] [--log PLACE] [--key VERIFIER_KEY] [--witness KEYS] [--json]',
  ],
  options: {
    from: {
      type: 'string',
      value: 'FILE',
      help: 'An earlier checkpoint, or a proof (log.tlog-proof), which the log must extend.',
    },
    log: {
      type: 'string',
      value: 'PLACE',
      help: 'Folder or address of the log, such as https://data.example.org/v1/log. Default log in SUS_RELEASES_DIR.',
    },
    key: {
      type: 'string',
      value: 'VERIFIER_KEY',
      help: 'Key that must have signed it; the default is the signing key here, and those in SUS_TRUSTED_KEYS.',
    },
    witness: WITNESS_OPTION,
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const [action, ...rest] = args.positionals
    if ((action !== 'list' && action !== 'verify') || rest.length > 0)
      throw new UsageError('log takes one of: list, verify')
    const settings = readSettings()
    const place = textOption(args, 'log') ?? logFolder(settings.releasesDir)
    const verdict = await verify(args, place, settings)
    const isJson = args.values.json === true
    if (action === 'list') {
      process.stdout.write(isJson ? `${JSON.stringify(verdict.entries)}\n` : listOf(verdict.entries))
      if (verdict.findings.length > 0) process.stderr.write(describe(place, verdict))
      return verdict.findings.length === 0 ? 0 : 1
    }
    process.stdout.write(
      isJson
        ? `${JSON.stringify({ ...verdict, entries: undefined, verified: verdict.findings.length === 0 })}\n`
        : describe(place, verdict),
    )
    return verdict.findings.length === 0 ? 0 : 1
  },
}

async function verify(args: ParsedArgs, place: string, settings: Settings): Promise<LogVerdict> {
  const keyText = textOption(args, 'key')
  const key = keyText === undefined ? null : parseVerifier(keyText)
  if (keyText !== undefined && key === null)
    throw new UsageError('--key is no verifier key, such as keys signing show prints: name+id+key')
  const trust = createTrust(settings)
  const verifiers: readonly Verifier[] = key === null ? trust.verifiers() : [key]
  if (verifiers.length === 0)
    throw new UsageError('there is no key to check the log with; name one with --key VERIFIER_KEY')
  const witnesses = readWitnesses(textOption(args, 'witness'))
  const from = textOption(args, 'from')
  const isLocalLog = textOption(args, 'log') === undefined
  const proofs = selectProofs(
    isLocalLog ? readProofs(settings.releasesDir) : [],
    verifiers,
    readCheckpoint(logFolder(settings.releasesDir)),
    trust.operatorKey()?.name ?? null,
  )
  const earlier: Earlier[] = [
    ...(from === undefined ? [] : [{ name: from, text: readEarlier(from) }]),
    ...proofs.earlier,
  ]
  const proofProblems = proofs.problems.map(
    ({ proof: { file, releaseId }, reason }) =>
      `${file} ${reason}; sus-data sign ${releaseId} makes it again`,
  )
  const read: ReadLogFile = /^https?:\/\//.test(place) ? readByHttp(place) : readFolder(place)
  try {
    const verdict = await verifyLog(read, verifiers, earlier, witnesses)
    const problem = isLocalLog ? await checkPointer(settings.releasesDir, verdict.entries) : null
    const findings = [...verdict.findings, ...proofProblems, ...(problem === null ? [] : [problem])]
    return { ...verdict, findings }
  } catch (error) {
    if (error instanceof NoteError) throw new NoteError(`${place}/checkpoint ${error.message}`)
    throw error
  }
}

async function checkPointer(releasesDir: string, entries: readonly LogEntry[]): Promise<string | null> {
  const current = await readPointer(releasesDir)
  const last = entries.findLast(({ kind }) => kind === 'promotion')?.release_id ?? null
  // A promotion from before the log existed is not in it.
  return last === null || current === last
    ? null
    : `current.json names ${current ?? 'no release'}; the last promotion in the log is of ${last}; sus-data promote ${current ?? last} makes them agree`
}

const readFolder =
  (folder: string): ReadLogFile =>
  (path) =>
    readFile(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw unreadable(join(folder, path), error)
    })

/** Errors of reading, unlike those of opening, do not name their file. */
const unreadable = (file: string, { code }: NodeJS.ErrnoException): LogError =>
  new LogError(`${file} cannot be read (${code})`)

function readEarlier(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error as NodeJS.ErrnoException)
  }
}

const readByHttp =
  (address: string): ReadLogFile =>
  async (path) => {
    const response = await fetch(`${address.replace(/\/+$/, '')}/${path}`).catch((error: Error) => {
      const { code = error.message } = (error.cause ?? {}) as NodeJS.ErrnoException
      throw new LogError(`${address} cannot be read: no server answers there (${code}); check the address`)
    })
    if (response.status === 404) return null
    if (!response.ok) throw new NoteError(`cannot be read: ${path} is answered with ${response.status}`)
    return Buffer.from(await response.arrayBuffer())
  }

const listOf = (entries: readonly LogEntry[]): string =>
  entries
    .map((entry, index) => {
      const forced = entry.kind === 'promotion' && entry.forced ? '  forced' : ''
      return `${index}  ${entry.time}  ${entry.kind.padEnd(9)}  ${entry.release_id}${forced}\n`
    })
    .join('')

function describe(place: string, verdict: LogVerdict): string {
  const { origin, size, root, agreed, cosignatures, findings } = verdict
  const before = agreed === 0 ? '' : ` It extends ${agreed} earlier checkpoint${agreed === 1 ? '' : 's'}.`
  const lines =
    findings.length === 0
      ? ['verified', `${origin}: ${size} entries, root ${root}.${before}`]
      : ['differs', ...findings.map((finding) => `${place}: ${finding}`)]
  return `${[...lines, ...describeCosignatures(cosignatures)].join('\n')}\n`
}
