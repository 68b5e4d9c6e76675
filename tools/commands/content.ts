/**
 * `sus-data content`: prints the content ids of releases; those made before manifests had them get content.json. Changes no manifest.
 */
import { readdir } from 'node:fs/promises'
import { ensureContent } from '../../src/import/content.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'content',
  summary: 'Print the content ids of releases, and compute those of releases made before there were any.',
  usage: ['content [ID…]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const { releasesDir } = readSettings()
    const ids =
      args.positionals.length > 0
        ? args.positionals
        : (await readdir(releasesDir)).filter((name) => RELEASE_ID.test(name)).sort()
    for (const id of ids) {
      // Digests of damaged files would be those of other rows.
      await verifyRelease(releasesDir, id)
      const { contentId } = await ensureContent(releasesDir, id)
      process.stdout.write(
        args.values.json === true
          ? `${JSON.stringify({ release_id: id, content_id: contentId })}\n`
          : `${contentId}  ${id}\n`,
      )
    }
    return 0
  },
}
