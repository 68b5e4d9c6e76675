/** `sus-data verify`: every digest, schema, count and named check of releases; exit 1 naming the first file and reason. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkRelease } from '../../src/import/check-release.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { readManifest } from '../../src/release/verify.ts'
import { checkRowFiles } from '../../src/rows/derived.ts'
import { readSettings } from '../../src/settings.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'verify',
  summary: 'Check every digest, schema, count and key of releases.',
  usage: ['verify [ID…]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const { releasesDir } = readSettings()
    const ids =
      args.positionals.length > 0
        ? args.positionals
        : (await readdir(releasesDir)).filter((name) => RELEASE_ID.test(name)).sort()
    const scratch = await mkdtemp(join(tmpdir(), 'sus-data-verify-'))
    try {
      for (const id of ids) {
        const { files, checks } = await checkRelease(releasesDir, id, scratch)
        const { good, problems } = await checkRowFiles(releasesDir, await readManifest(releasesDir, id), true)
        // They are no part of the release: what is wrong with them is said, and can be made again.
        for (const { dataset, reason } of problems)
          process.stderr.write(`${id}: ${dataset} ${reason}; sus-data rows ${id} makes row files\n`)
        process.stdout.write(
          args.values.json === true
            ? `${JSON.stringify({ release_id: id, verified: true, row_files: good.length })}\n`
            : `${id}: verified, ${files.length} files, ${checks.length} checks${good.length === 0 ? '' : `, ${good.length} row files`}\n`,
        )
      }
      return 0
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  },
}
