/** `sus-data rollback`: promotes the release that was in service before, after verifying it. */
import { join } from 'node:path'
import { lookAtPointerSync, POINTER } from '../../src/release/pointer.ts'
import { previousRelease, promotedReleases, promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { PROMOTIONS } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { checkTrust } from '../../src/trust/release-notes.ts'
import { type Command, UsageError } from '../command.ts'
import { openRecorder, withComponents } from '../recorder.ts'

export const command: Command = {
  name: 'rollback',
  summary: 'Put the release that was in service before back in service.',
  usage: ['rollback'],
  options: {},
  async run() {
    const settings = readSettings()
    const { releasesDir } = settings
    const recorder = await openRecorder(releasesDir, settings)
    const pointer = lookAtPointerSync(releasesDir)
    const last = (await promotedReleases(releasesDir)).find((one) => one !== pointer.id)
    const remedy =
      last === undefined ? '' : `; sus-data promote ${last} puts the last one of ${PROMOTIONS} in service`
    if (pointer.id === null)
      throw new UsageError(
        pointer.problem === null
          ? `no release is in service${remedy}`
          : `${join(releasesDir, POINTER)} ${pointer.problem}${remedy}`,
      )
    const id = await previousRelease(releasesDir)
    if (id === null)
      throw new UsageError(
        last === undefined
          ? 'no release was in service before this one'
          : `${PROMOTIONS} does not say which release was in service before ${pointer.id}${remedy}`,
      )
    const manifest = await verifyRelease(releasesDir, id)
    for (const component of Object.values(manifest.components)) await verifyRelease(releasesDir, component)
    const releaseIds = await withComponents(releasesDir, id)
    for (const each of releaseIds) checkTrust(releasesDir, each, settings.trustedKeys)
    await promoteRelease(releasesDir, id, null, (previous) =>
      recorder?.recordPromotion({ releaseIds, previous, forced: false }),
    )
    process.stdout.write(`promoted ${id}\n`)
    return 0
  },
}
