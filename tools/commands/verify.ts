/**
 * `sus-data verify`: checks digests, schemas, row counts, named checks and signatures of releases. It exits with 1 and names
 * the first file that fails.
 * Row files are derived. Missing ones are only reported; damaged ones give exit code 1 after all releases are checked.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkRelease } from '../../src/import/check-release.ts'
import { checkContent } from '../../src/import/content.ts'
import { createTrust } from '../../src/keys/trust.ts'
import { type Content, readContent } from '../../src/release/content.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { readManifest } from '../../src/release/verify.ts'
import { checkRowFiles } from '../../src/rows/derived.ts'
import { readSettings } from '../../src/settings.ts'
import {
  type Cosignature,
  checkCosignatures,
  readCosignatures,
  type Witness,
} from '../../src/trust/cosignature.ts'
import { CHECKPOINT, logFolder } from '../../src/trust/log.ts'
import { requireProof } from '../../src/trust/log-proofs.ts'
import { NoteError, type Verifier } from '../../src/trust/note.ts'
import { checkTrust, readOrNull, readSignatures, type Signature } from '../../src/trust/release-notes.ts'
import { type Command, textOption } from '../command.ts'
import { describeCosignatures, readWitnesses, WITNESS_OPTION } from '../witnesses.ts'

export const command: Command = {
  name: 'verify',
  summary: 'Check every digest, schema, count and key of releases.',
  usage: ['verify [ID…] [--content] [--witness KEYS] [--json]'],
  options: {
    content: { type: 'boolean', help: 'Read every row and compute the content digests again, too.' },
    witness: WITNESS_OPTION,
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const settings = readSettings()
    const { releasesDir, trustedKeys } = settings
    const verifiers = createTrust(settings).verifiers()
    const ids =
      args.positionals.length > 0
        ? args.positionals
        : (await readdir(releasesDir)).filter((name) => RELEASE_ID.test(name)).sort()
    const scratch = await mkdtemp(join(tmpdir(), 'sus-data-verify-'))
    let isDamaged = false
    const checkpoint = readCheckpoint(releasesDir, verifiers, readWitnesses(textOption(args, 'witness')))
    const contents = new Map<string, Content>()
    try {
      for (const id of ids) {
        const { files, checks } = await checkRelease(releasesDir, id, scratch)
        const signatures = readSignatures(releasesDir, id, verifiers)
        checkTrust(releasesDir, id, trustedKeys)
        requireProof(releasesDir, id, verifiers)
        const manifest = await readManifest(releasesDir, id)
        const storedContent = await readContent(releasesDir, manifest)
        const content =
          args.values.content === true ? await checkContent(releasesDir, id, contents) : storedContent
        const rows = await checkRowFiles(releasesDir, manifest, true)
        const { good, problems, damaged } = rows
        // Missing row files are acceptable; damaged ones slow a server down.
        isDamaged ||= damaged.length > 0
        for (const { dataset, reason } of problems)
          process.stderr.write(`${id}: ${dataset} ${reason}; sus-data rows ${id} makes row files\n`)
        process.stdout.write(
          args.values.json === true
            ? `${JSON.stringify({ release_id: id, verified: true, content_id: content?.contentId ?? null, content_read: args.values.content === true, row_files: good.length, signatures, cosignatures: checkpoint.cosignatures })}\n`
            : `${id}: verified, ${files.length} files, ${checks.length} checks${good.length === 0 ? '' : `, ${good.length} row files`}${args.values.content === true ? `, content ${content?.contentId}` : ''}${describeSignatures(signatures)}\n`,
        )
      }
      if (args.values.json !== true)
        for (const line of describeCosignatures(checkpoint.cosignatures))
          process.stdout.write(`${checkpoint.file}: ${line}\n`)
      for (const problem of checkpoint.problems) process.stderr.write(`${checkpoint.file} ${problem}\n`)
      return isDamaged || checkpoint.problems.length > 0 ? 1 : 0
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  },
}

interface CheckpointCosignatures {
  readonly file: string
  readonly cosignatures: readonly Cosignature[]
  /** Clauses about the file. */
  readonly problems: readonly string[]
}

/** Reads who cosigned the checkpoint of the log here. `log verify` checks the log itself. */
function readCheckpoint(
  releasesDir: string,
  verifiers: readonly Verifier[],
  witnesses: readonly Witness[],
): CheckpointCosignatures {
  const file = join(logFolder(releasesDir), CHECKPOINT)
  const text = readOrNull(file)
  if (text === null)
    return { file, cosignatures: [], problems: witnesses.length === 0 ? [] : ['does not exist'] }
  try {
    const cosignatures = readCosignatures(text, verifiers, witnesses)
    return { file, cosignatures, problems: checkCosignatures(cosignatures, witnesses) }
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    return { file, cosignatures: [], problems: witnesses.length === 0 ? [] : [error.message] }
  }
}

/** Signatures by other keys are listed as not checked. */
function describeSignatures(signatures: readonly Signature[]): string {
  const trusted = signatures.filter((signature) => signature.trusted).map(({ name }) => name)
  const others = signatures.filter((signature) => !signature.trusted).map(({ name }) => name)
  return [
    ...(trusted.length === 0 ? [] : [`, signed by ${trusted.join(', ')}`]),
    ...(others.length === 0 ? [] : [`, not checked: signatures of ${others.join(', ')}`]),
  ].join('')
}
