/** `sus-data promote`: moves the one pointer, atomically, to a release that verifies. */

import { promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, UsageError } from '../command.ts'

export const command: Command = {
  name: 'promote',
  summary: 'Put an analytics release in service.',
  usage: ['promote ID'],
  options: {},
  async run(args) {
    const [id, ...more] = args.positionals
    if (id === undefined || more.length > 0)
      throw new UsageError('promote takes the id of one analytics release')
    const { releasesDir } = readSettings()
    const manifest = await verifyRelease(releasesDir, id)
    if (manifest.area !== 'analytics')
      throw new UsageError(`${id} is a ${manifest.area} release; promote the analytics release that joins it`)
    for (const component of Object.values(manifest.components)) await verifyRelease(releasesDir, component)
    await promoteRelease(releasesDir, id)
    process.stdout.write(`promoted ${id}\n`)
    return 0
  },
}
