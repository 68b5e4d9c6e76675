/** `sus-data sign`: signs releases with their components and appends them to the log. */
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, UsageError } from '../command.ts'
import { openRecorder, withComponents } from '../recorder.ts'

export const command: Command = {
  name: 'sign',
  summary: 'Sign releases that were made before there was a signing key, or elsewhere.',
  usage: ['sign ID… [--json]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    if (args.positionals.length === 0) throw new UsageError('sign takes ids of releases; releases lists them')
    const settings = readSettings()
    const { releasesDir } = settings
    const recorder = await openRecorder(releasesDir, settings)
    if (recorder === null) throw new UsageError('there is no signing key; keys signing create makes one')
    const ids: string[] = []
    for (const id of args.positionals)
      for (const each of await withComponents(releasesDir, id)) if (!ids.includes(each)) ids.push(each)
    // Verify first: a signature vouches for the bytes.
    for (const id of ids) await verifyRelease(releasesDir, id)
    recorder.recordReleases(ids)
    const { name } = recorder.signer.verifier
    process.stdout.write(
      args.values.json === true
        ? `${JSON.stringify({ signed: ids, name })}\n`
        : ids.map((id) => `${id}: signed by ${name}\n`).join(''),
    )
    return 0
  },
}
