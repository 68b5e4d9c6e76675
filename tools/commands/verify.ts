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
import { requireProof } from '../../src/trust/log-proofs.ts'
import { checkTrust, readSignatures, type Signature } from '../../src/trust/release-notes.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'verify',
  summary: 'Check every digest, schema, count and key of releases.',
  usage: ['verify [ID…] [--content]'],
  options: {
    content: { type: 'boolean', help: 'Read every row and compute the content digests again, too.' },
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
            ? `${JSON.stringify({ release_id: id, verified: true, content_id: content?.contentId ?? null, content_read: args.values.content === true, row_files: good.length, signatures })}\n`
            : `${id}: verified, ${files.length} files, ${checks.length} checks${good.length === 0 ? '' : `, ${good.length} row files`}${args.values.content === true ? `, content ${content?.contentId}` : ''}${describeSignatures(signatures)}\n`,
        )
      }
      return isDamaged ? 1 : 0
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  },
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
