/**
 * `sus-data verify-report`: recomputes a report's digests from its cells, checks its signature, runs its query again.
 *
 * Needs no server. Prints `reproduced` and exits 0, or prints the first difference and exits 1. Where the release is not
 * in the folder, the content is checked and the answer is `whole, not replayed`.
 */
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { isSignedBy } from '../../src/keys/signing.ts'
import { openStore } from '../../src/release/store.ts'
import { readReport } from '../../src/report/read.ts'
import { checkContent, replay } from '../../src/report/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, textOption, UsageError } from '../command.ts'

interface Verdict {
  readonly verdict: 'reproduced' | 'whole, not replayed' | 'differs'
  readonly release_id: string
  readonly fingerprint: string
  readonly rows: number
  readonly signed_by: string | null
  readonly differences: readonly string[]
}

export const command: Command = {
  name: 'verify-report',
  summary: 'Check a report: its digests, its signature, and its query on the release.',
  usage: ['verify-report FILE [--releases DIR] [--key PUBLIC_KEY] [--json]'],
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
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const [file, ...more] = args.positionals
    if (file === undefined || more.length > 0) throw new UsageError('verify-report takes one FILE')
    const settings = readSettings()
    const releasesDir = textOption(args, 'releases') ?? settings.releasesDir
    const verdict = await verifyReport(file, releasesDir, textOption(args, 'key') ?? null, settings)
    process.stdout.write(args.values.json === true ? `${JSON.stringify(verdict)}\n` : describe(file, verdict))
    return verdict.verdict === 'differs' ? 1 : 0
  },
}

/** @param key Ed25519 key (base64) that must have signed the report, or null; @throws ReportUnreadable */
export async function verifyReport(
  file: string,
  releasesDir: string,
  key: string | null,
  { duckdbMemory, duckdbThreads, reportTimeoutMs }: ReturnType<typeof readSettings>,
): Promise<Verdict> {
  const report = await readReport(file)
  const { manifest } = report
  const content = checkContent(report, isSignedBy)
  if (key !== null && manifest.signature?.public_key !== key)
    content.push(
      manifest.signature === null ? 'the report is not signed' : 'the report is signed by another key',
    )
  const engine = await createEngine({
    releasesDir,
    memory: duckdbMemory,
    threads: duckdbThreads,
    timeoutMs: reportTimeoutMs,
    concurrency: 1,
    queue: 1,
  })
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
      differences,
    }
  } finally {
    store.close()
    await engine.close()
  }
}

function describe(file: string, verdict: Verdict): string {
  const { release_id, fingerprint, rows, signed_by, differences } = verdict
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
      : [signed_by === null ? 'The report is not signed.' : `Signed by the key ${signed_by}.`]
  return `${[...lines, ...signature].join('\n')}\n`
}
