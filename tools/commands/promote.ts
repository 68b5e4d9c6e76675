/**
 * `sus-data promote`: atomically moves the pointer to a release that verifies and passes the promotion checks against the one
 * in service. --force with a reason promotes one that fails them; promotions.log records the reason.
 */
import { setPriority } from 'node:os'
import { promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { makeRows } from '../../src/rows/make.ts'
import { readSettings } from '../../src/settings.ts'
import { checkTrust } from '../../src/trust/release-notes.ts'
import { type Command, textOption, UsageError } from '../command.ts'
import { reportLines } from '../promotion/checks.ts'
import { checkPromotion } from '../promotion/run.ts'
import { openRecorder, withComponents } from '../recorder.ts'
import { rowLines } from '../row-lines.ts'

const LOW_PRIORITY = 10

export const command: Command = {
  name: 'promote',
  summary: 'Put an analytics release in service, with its row files.',
  usage: ['promote ID [--force REASON] [--json]'],
  options: {
    force: {
      type: 'string',
      value: 'REASON',
      help: 'Promote although checks fail; the reason goes into promotions.log.',
    },
    json: { type: 'boolean', help: 'Print the report as JSON.' },
  },
  async run(args) {
    // A server may run on this machine. Threads started from here on inherit this priority.
    setPriority(LOW_PRIORITY)
    const [id, ...others] = args.positionals
    if (id === undefined || others.length > 0)
      throw new UsageError('promote takes the id of one analytics release')
    const settings = readSettings()
    const { releasesDir } = settings
    const recorder = await openRecorder(releasesDir, settings)
    const manifest = await verifyRelease(releasesDir, id)
    if (manifest.area !== 'analytics')
      throw new UsageError(`${id} is a ${manifest.area} release; promote the analytics release that joins it`)
    for (const component of Object.values(manifest.components)) await verifyRelease(releasesDir, component)
    const releaseIds = await withComponents(releasesDir, id)
    for (const each of releaseIds) checkTrust(releasesDir, each, settings.trustedKeys)
    const reason = textOption(args, 'force')?.replaceAll(/\s+/g, ' ').trim()
    if (reason === '') throw new UsageError('--force needs a reason')
    const report = await checkPromotion(releasesDir, id)
    const isPromoted = report.met || reason !== undefined
    // Make row files before promotion, because a server opens those that exist then.
    const made = isPromoted ? await makeRows(releasesDir, id) : {}
    for (const line of rowLines(made)) process.stderr.write(`${line}\n`)
    const forced = report.met ? null : (reason ?? null)
    if (isPromoted)
      await promoteRelease(releasesDir, id, forced, (previous) =>
        recorder?.recordPromotion({ releaseIds, previous, forced: forced !== null }),
      )
    const { checks, ...rest } = report
    process.stdout.write(
      args.values.json === true
        ? // Programs read the JSON, so its member keeps this older name.
          `${JSON.stringify({ promoted: isPromoted, ...rest, expectations: checks })}\n`
        : `${[...reportLines(report), isPromoted ? `promoted ${id}` : `not promoted; --force "reason" promotes it nevertheless`].join('\n')}\n`,
    )
    return isPromoted ? 0 : 1
  },
}
