/**
 * `sus-data verify-report`: builds a report again and compares its bytes; checks its digests, signature and log proof. It
 * needs no server.
 *
 * It prints `reproduced` and exits 0 for an identical file. For a file that another program saved with the same cells, it
 * prints what was compared and exits 3. Otherwise it prints the first difference and exits 1. Without the release, it checks
 * only the content and reports `whole, not replayed`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { createEngineWith } from '../../src/engine/trino/connect.ts'
import type { Engine } from '../../src/engine/types.ts'
import { AppError } from '../../src/errors.ts'
import { checkContent } from '../../src/import/content.ts'
import { isSignedBy } from '../../src/keys/signing.ts'
import { createTrust } from '../../src/keys/trust.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { TRINO_DIALECT } from '../../src/query/analytics/dialect/trino.ts'
import { contentIdOf } from '../../src/release/content.ts'
import { openStore, type ReleaseStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { buildReport } from '../../src/report/build.ts'
import { createReportCheck, type ReportCheck } from '../../src/report/check.ts'
import { readHead } from '../../src/report/reading/read.ts'
import type { ReportHead } from '../../src/report/reading/report.ts'
import { checkLogProof, checkManifest, isSameFile, type LogPosition } from '../../src/report/verify.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { trinoOf } from '../../src/trino-settings.ts'
import { NoteError, parseVerifier, type Verifier } from '../../src/trust/note.ts'
import { type Command, textOption, UsageError } from '../command.ts'

const EXIT_CODES = {
  reproduced: 0,
  'whole, not replayed': 0,
  differs: 1,
  'cells agree; not the file that was made': 3,
  'whole, not replayed; not the file that was made': 3,
} as const

interface Verdict {
  readonly verdict: keyof typeof EXIT_CODES
  readonly release_id: string
  readonly content_id: string | null
  /** Release that the report was built on again: its release, or one with the same content; null without either. */
  readonly replayed_on: string | null
  readonly fingerprint: string
  readonly rows: number
  readonly signed_by: string | null
  /** Position of the release in the operator's log, from the proof in the report; null without a proof. */
  readonly log: LogPosition | null
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
    const [file, ...rest] = args.positionals
    if (file === undefined || rest.length > 0) throw new UsageError('verify-report takes one FILE')
    const settings = readSettings()
    const releasesDir = textOption(args, 'releases') ?? settings.releasesDir
    const logKeyText = textOption(args, 'log-key')
    const logKey = logKeyText === undefined ? null : parseVerifier(logKeyText)
    if (logKeyText !== undefined && logKey === null)
      throw new UsageError('--log-key is no verifier key, such as keys signing show prints: name+id+key')
    const key = textOption(args, 'key') ?? null
    const verdict = await verifyReport(file, releasesDir, key, settings, logKey)
    process.stdout.write(args.values.json === true ? `${JSON.stringify(verdict)}\n` : describe(file, verdict))
    return EXIT_CODES[verdict.verdict]
  },
}

export async function verifyReport(
  file: string,
  releasesDir: string,
  key: string | null,
  settings: Settings,
  logKey: Verifier | null = null,
): Promise<Verdict> {
  const verifier = createReportVerifier(releasesDir, settings)
  try {
    return await verifier.verify(file, key, logKey)
  } finally {
    await verifier.close()
  }
}

/** Verifies several reports and opens releases only once. */
export interface ReportVerifier {
  /**
   * @param key Ed25519 key (base64) that must have signed the report, or null
   * @param logKey key that must have signed the log that contains the report's release, or null
   * @throws ReportUnreadable
   */
  verify(file: string, key: string | null, logKey?: Verifier | null): Promise<Verdict>
  close(): Promise<void>
}

/** The parts with which a report is built again and compared. */
interface Replay {
  readonly engine: Engine
  readonly store: ReleaseStore
  readonly check: ReportCheck
}

export function createReportVerifier(releasesDir: string, settings: Settings): ReportVerifier {
  const check = createReportCheck()
  // Open releases lazily, because a file that is not a report needs none.
  let opened: Promise<Replay> | null = null
  const open = (): Promise<Replay> => {
    opened ??= openReplay(releasesDir, settings, check)
    return opened
  }
  return {
    verify: (file, key, logKey = null) => checkReport(file, key, logKey, settings, check, open),
    async close() {
      check.end()
      const replay = await opened
      replay?.store.close()
      await replay?.engine.close()
    },
  }
}

async function openReplay(releasesDir: string, settings: Settings, check: ReportCheck): Promise<Replay> {
  const { duckdbMemory, duckdbThreads, reportTimeoutMs } = settings
  const local = await createEngine({
    releasesDir,
    memory: duckdbMemory,
    threads: duckdbThreads,
    timeoutMs: reportTimeoutMs,
    concurrency: 1,
    queue: 1,
  })
  // SUS_ENGINE selects the engine. Every engine must give the same bytes.
  const engine = createEngineWith(local, trinoOf(settings), TRINO_DIALECT, reportTimeoutMs)
  return { engine, store: await openStore({ releasesDir, prepare: (view) => engine.open(view) }), check }
}

async function checkReport(
  file: string,
  key: string | null,
  logKey: Verifier | null,
  settings: Settings,
  check: ReportCheck,
  openReleases: () => Promise<Replay>,
): Promise<Verdict> {
  const head = (await readHead(file)) ?? (await check.readHead(file))
  const { manifest } = head
  const manifestProblems = checkManifest(manifest, isSignedBy)
  if (key !== null && manifest.signature?.public_key !== key)
    manifestProblems.push(
      manifest.signature === null ? 'the report is not signed' : 'the report is signed by another key',
    )
  let log: LogPosition | null = null
  try {
    log = checkLogProof(
      manifest,
      logKey === null ? createTrust(settings).verifiers() : [logKey],
      logKey !== null,
    )
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    manifestProblems.push(`the proof that the release is in the log (log_proof) ${error.message}`)
  }
  const { verdict, differences, replayedOn } = await compareWithRelease(file, head, await openReleases())
  return {
    verdict: differences.length + manifestProblems.length > 0 ? 'differs' : verdict,
    release_id: manifest.release_id,
    content_id: manifest.content_id ?? null,
    replayed_on: replayedOn,
    fingerprint: manifest.fingerprint,
    rows: manifest.row_count,
    signed_by: manifest.signature?.public_key ?? null,
    log,
    // List differing cells before the digests, because they are more specific.
    differences: [...differences, ...manifestProblems],
  }
}

/**
 * Reads every row of the release that it finds, because the digests in a manifest are those that its maker states.
 * @returns a local release with the content id of the report, or null
 * @throws ReleaseRefused when its rows are not those of its content id
 */
async function findSameContent(
  store: ReleaseStore,
  contentId: string | undefined,
): Promise<ReleaseView | null> {
  if (contentId === undefined) return null
  for (const { manifest } of await store.list()) {
    const location = manifest.area === 'analytics' ? await store.locate(manifest.release_id) : null
    if (location === null) continue
    const releasesDir = dirname(location.folder)
    if ((await contentIdOf(releasesDir, manifest)) !== contentId) continue
    // A damaged release is not opened, and is named with the differences.
    const view = await store.pin(manifest.release_id)
    if (view === null) continue
    await checkContent(releasesDir, view.id)
    return view
  }
  return null
}

interface Comparison {
  readonly replayedOn: string | null
  readonly verdict: Verdict['verdict']
  readonly differences: readonly string[]
}

/** Builds the report again when its release is here; otherwise checks only the file. */
async function compareWithRelease(
  file: string,
  { format, manifest }: ReportHead,
  { engine, store, check }: Replay,
): Promise<Comparison> {
  const folder = await mkdtemp(join(tmpdir(), 'sus-data-report-'))
  try {
    const view = (await store.pin(manifest.release_id)) ?? (await findSameContent(store, manifest.content_id))
    if (view === null) {
      const named = [manifest.release_id, ...Object.values(manifest.components)]
      const refused = store.problems().filter(({ release_id }) => named.includes(release_id))
      const { differences, isFileMade } = await check.checkAlone(file, manifest)
      return {
        replayedOn: null,
        verdict:
          isFileMade === false ? 'whole, not replayed; not the file that was made' : 'whole, not replayed',
        differences: [
          ...refused.map(({ release_id, reason }) => `${release_id} is refused: ${reason}`),
          ...differences,
        ],
      }
    }
    const rebuilt = join(folder, 'made')
    try {
      await buildReport({ ...manifest.query, title: manifest.title }, format, rebuilt, {
        engine,
        view,
        capabilities: CAPABILITIES,
        language: manifest.language,
        sign: null,
        repeated: manifest,
      })
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error
      return {
        verdict: 'differs',
        replayedOn: view.id,
        differences: [`the query of the manifest is refused: ${error.message}`],
      }
    }
    const replayedOn = view.id
    if (await isSameFile(file, rebuilt)) return { verdict: 'reproduced', replayedOn, differences: [] }
    return {
      verdict: 'cells agree; not the file that was made',
      replayedOn,
      differences: await check.compare(file, rebuilt, manifest),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function describe(file: string, verdict: Verdict): string {
  const { release_id, fingerprint, rows, signed_by, log, differences } = verdict
  const subject = `${file}: ${rows} rows of ${release_id}, fingerprint ${fingerprint}`
  const notMade =
    'Compared were the cells, the columns and the manifest, and that no sheet, row, column or format hides or changes them. Not compared were the bytes of the file, its layout and what its program added.'
  const lines = {
    reproduced: ['reproduced: identical file', `${subject}: the report made again has the same bytes.`],
    'cells agree; not the file that was made': [
      verdict.verdict,
      `${subject}: another program has saved this file; its cells are those of the report.`,
      notMade,
    ],
    'whole, not replayed': [
      verdict.verdict,
      `${file}: ${rows} rows, fingerprint ${fingerprint}: the content is what its manifest says.`,
      `The release ${release_id} is not here, so its query was not run again.`,
    ],
    'whole, not replayed; not the file that was made': [
      verdict.verdict,
      `${file}: ${rows} rows, fingerprint ${fingerprint}: the cells are what the manifest says.`,
      notMade,
      `The release ${release_id} is not here, so its query was not run again.`,
    ],
    differs: ['differs', ...differences.map((difference) => `${file}: ${difference}`)],
  }[verdict.verdict]
  const standIn =
    verdict.replayed_on === null || verdict.replayed_on === release_id
      ? []
      : [
          `It was made again on ${verdict.replayed_on}, which has the same content (${verdict.content_id}); the release of the report is not here.`,
        ]
  const signature =
    verdict.verdict === 'differs'
      ? []
      : [
          signed_by === null ? 'The report is not signed.' : `Signed by the key ${signed_by}.`,
          log === null
            ? 'It carries no proof that the release is in a log.'
            : `The release is entry ${log.index} of the log ${log.origin}, of ${log.time}${log.trusted ? '' : '; the key of the log was not checked (--log-key)'}.`,
        ]
  return `${[...lines, ...standIn, ...signature].join('\n')}\n`
}
