/** `sus-data content`: prints content ids of releases. Older releases get a content.json; manifests stay unchanged. */
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
      // Verify first: damaged files would give digests of other rows.
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
