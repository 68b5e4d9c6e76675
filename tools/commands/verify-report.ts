/**
 * `sus-data verify-report`: recomputes a report's digests from its cells, checks its signature and its proof, runs its query again.
 *
 * Needs no server. Prints `reproduced` and exits 0, or prints the first difference and exits 1. Where the release is not
 * in the folder, the content is checked and the answer is `whole, not replayed`.
 */
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { engineWith } from '../../src/engine/trino/connect.ts'
import { isSignedBy } from '../../src/keys/signing.ts'
import { createTrust } from '../../src/keys/trust.ts'
import { TRINO_DIALECT } from '../../src/query/dialect/trino.ts'
import { openStore } from '../../src/release/store.ts'
import { readReport } from '../../src/report/read.ts'
import { checkContent, checkLogProof, type LogPlace, replay } from '../../src/report/verify.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { trinoOf } from '../../src/trino-settings.ts'
import { NoteError, parseVerifier, type Verifier } from '../../src/trust/note.ts'
import { type Command, textOption, UsageError } from '../command.ts'

interface Verdict {
  readonly verdict: 'reproduced' | 'whole, not replayed' | 'differs'
  readonly release_id: string
  readonly fingerprint: string
  readonly rows: number
  readonly signed_by: string | null
  /** Where the operator's log names the release, by the proof in the report; null where it has none. */
  readonly log: LogPlace | null
  readonly differences: readonly string[]
}

export const command: Command = {
  name: 'verify-report',
  summary: 'Check a report: its digests, its signature, and its query on the release.',
  usage: ['verify-report FILE [--releases DIR] [--key PUBLIC_KEY] [--log-key VERIFIER_KEY] [--json]'],
  options: {
    releases: {
      type: 'string',
      value: 'DIR',
      help: 'Folder of the releases; the default is SUS_RELEASES_DIR.',
    },
    key: {
      type: 'string',
      value: 'PUBLIC_KEY',
      help: 'Ed25519 key (base64) that must have signed the report.',
    },
    'log-key': {
      type: 'string',
      value: 'VERIFIER_KEY',
      help: 'Key of the log (name+id+key) that must prove that the release is in it.',
    },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const [file, ...more] = args.positionals
    if (file === undefined || more.length > 0) throw new UsageError('verify-report takes one FILE')
    const settings = readSettings()
    const releasesDir = textOption(args, 'releases') ?? settings.releasesDir
    const logKeyText = textOption(args, 'log-key')
    const logKey = logKeyText === undefined ? null : parseVerifier(logKeyText)
    if (logKeyText !== undefined && logKey === null)
      throw new UsageError('--log-key is no verifier key, such as keys signing show prints: name+id+key')
    const key = textOption(args, 'key') ?? null
    const verdict = await verifyReport(file, releasesDir, key, settings, logKey)
    process.stdout.write(args.values.json === true ? `${JSON.stringify(verdict)}\n` : describe(file, verdict))
    return verdict.verdict === 'differs' ? 1 : 0
  },
}

/**
 * @param key Ed25519 key (base64) that must have signed the report, or null
 * @param logKey key that must have signed the log in which the report's release is, or null
 * @throws ReportUnreadable
 */
export async function verifyReport(
  file: string,
  releasesDir: string,
  key: string | null,
  settings: Settings,
  logKey: Verifier | null = null,
): Promise<Verdict> {
  const { duckdbMemory, duckdbThreads, reportTimeoutMs } = settings
  const report = await readReport(file)
  const { manifest } = report
  const content = checkContent(report, isSignedBy)
  if (key !== null && manifest.signature?.public_key !== key)
    content.push(
      manifest.signature === null ? 'the report is not signed' : 'the report is signed by another key',
    )
  let log: LogPlace | null = null
  try {
    log = checkLogProof(manifest, logKey === null ? createTrust(settings).known() : [logKey], logKey !== null)
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    content.push(`the proof that the release is in the log (log_proof) ${error.message}`)
  }
  const local = await createEngine({
    releasesDir,
    memory: duckdbMemory,
    threads: duckdbThreads,
    timeoutMs: reportTimeoutMs,
    concurrency: 1,
    queue: 1,
  })
  // SUS_ENGINE says which engine replays: both must find the same.
  const engine = engineWith(local, trinoOf(settings), TRINO_DIALECT, reportTimeoutMs)
  const store = await openStore({ releasesDir, prepare: (view) => engine.open(view) })
  try {
    const view = await store.pin(manifest.release_id)
    const named = [manifest.release_id, ...Object.values(manifest.components)]
    const refused = store.problems().filter(({ release_id }) => named.includes(release_id))
    const replayed =
      view === null
        ? refused.map(({ release_id, reason }) => `${release_id} is refused: ${reason}`)
        : [await replay(report, { engine, view })].filter((difference) => difference !== null)
    // The cell that differs says more than the digest that does.
    const differences = [...replayed, ...content]
    return {
      verdict: differences.length > 0 ? 'differs' : view === null ? 'whole, not replayed' : 'reproduced',
      release_id: manifest.release_id,
      fingerprint: manifest.fingerprint,
      rows: report.rows.length,
      signed_by: manifest.signature?.public_key ?? null,
      log,
      differences,
    }
  } finally {
    store.close()
    await engine.close()
  }
}

function describe(file: string, verdict: Verdict): string {
  const { release_id, fingerprint, rows, signed_by, log, differences } = verdict
  const lines = {
    reproduced: [
      'reproduced',
      `${file}: ${rows} rows of ${release_id}, fingerprint ${fingerprint}: digests, query and every cell agree.`,
    ],
    'whole, not replayed': [
      'whole, not replayed',
      `${file}: ${rows} rows, fingerprint ${fingerprint}: the content is what its manifest says.`,
      `The release ${release_id} is not here, so its query was not run again.`,
    ],
    differs: ['differs', ...differences.map((difference) => `${file}: ${difference}`)],
  }[verdict.verdict]
  const signature =
    verdict.verdict === 'differs'
      ? []
      : [
          signed_by === null ? 'The report is not signed.' : `Signed by the key ${signed_by}.`,
          log === null
            ? 'It carries no proof that the release is in a log.'
            : `The release is entry ${log.index} of the log ${log.origin}, of ${log.time}${log.trusted ? '' : '; the key of the log was not checked (--log-key)'}.`,
        ]
  return `${[...lines, ...signature].join('\n')}\n`
}
