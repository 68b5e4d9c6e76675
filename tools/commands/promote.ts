/**
 * `sus-data promote`: moves the one pointer, atomically, to a release that verifies and meets what is expected of it
 * beside the one in service. --force with a reason promotes one that does not; the reason stands in promotions.log.
 */
import { reportLines } from '../../src/promotion/checks.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, textOption, UsageError } from '../command.ts'
import { expectationsOf } from '../promotion-checks.ts'

export const command: Command = {
  name: 'promote',
  summary: 'Put an analytics release in service.',
  usage: ['promote ID [--force REASON] [--json]'],
  options: {
    force: {
      type: 'string',
      value: 'REASON',
      help: 'Promote although expectations are not met; the reason is kept.',
    },
    json: { type: 'boolean', help: 'Print the report as JSON.' },
  },
  async run(args) {
    const [id, ...more] = args.positionals
    if (id === undefined || more.length > 0)
      throw new UsageError('promote takes the id of one analytics release')
    const { releasesDir } = readSettings()
    const manifest = await verifyRelease(releasesDir, id)
    if (manifest.area !== 'analytics')
      throw new UsageError(`${id} is a ${manifest.area} release; promote the analytics release that joins it`)
    for (const component of Object.values(manifest.components)) await verifyRelease(releasesDir, component)
    const reason = textOption(args, 'force')?.replaceAll(/\s+/g, ' ').trim()
    if (reason === '') throw new UsageError('--force needs a reason')
    const report = await expectationsOf(releasesDir, id)
    const isPromoted = report.met || reason !== undefined
    if (isPromoted) await promoteRelease(releasesDir, id, report.met ? null : (reason ?? null))
    process.stdout.write(
      args.values.json === true
        ? `${JSON.stringify({ promoted: isPromoted, ...report })}\n`
        : `${[...reportLines(report), isPromoted ? `promoted ${id}` : `not promoted; --force "reason" promotes it all the same`].join('\n')}\n`,
    )
    return isPromoted ? 0 : 1
  },
}
