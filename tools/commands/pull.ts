/** `sus-data pull`: copies releases from another place into the folder of releases, verified. It promotes nothing. */
import { type FetchedRelease, fetchRelease, repairRelease } from '../../src/places/fetch-release.ts'
import { openPlace } from '../../src/places/open-place.ts'
import { PlaceError } from '../../src/places/place.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'

export const command: Command = {
  name: 'pull',
  summary: 'Copy releases from a folder, a server or S3 storage, and verify them.',
  usage: ['pull PLACE [ID…] [--json]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const [address, ...requested] = args.positionals
    if (address === undefined)
      throw new UsageError(
        'pull takes a place: a folder, https:// of a sus-data server, or s3://bucket/prefix',
      )
    const settings = readSettings()
    const { place } = openPlace(address, settings)
    const current = requested.length === 0 ? await place.current() : null
    if (requested.length === 0 && current === null)
      throw new PlaceError(`No release is in service at ${place.name}; name the ids to copy.`)
    const ids = current === null ? requested : [current]
    const progress = createProgress({ silent: args.values.json === true })
    const fetched = new Map<string, FetchedRelease & { readonly repaired_files: readonly string[] }>()
    const startedMs = Date.now()
    try {
      for (const id of ids) {
        const copies = await fetchRelease(place, settings.releasesDir, id, {
          trusted: settings.trustedKeys,
          onPlan: (missing) => {
            const bytes = missing.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0)
            progress.step(`copying ${id}`, bytes)
          },
          onBytes: (bytes) => progress.advance(bytes),
        })
        for (const copy of copies) {
          const { release_id, present } = copy
          if (fetched.has(release_id)) continue
          if (present) progress.step(`verifying ${release_id}`)
          const repaired = present ? await repairRelease(place, settings.releasesDir, release_id) : []
          fetched.set(release_id, { ...copy, repaired_files: repaired })
        }
      }
    } finally {
      progress.stop()
    }
    const list = [...fetched.values()]
    const copied = list.reduce((sum, { copied_bytes }) => sum + copied_bytes, 0)
    if (args.values.json === true) {
      process.stdout.write(`${JSON.stringify({ place: place.name, releases: list })}\n`)
      return 0
    }
    const lines = list.map(({ release_id, present, copied_bytes, linked_bytes, repaired_files }) =>
      present
        ? `present  ${release_id}${repaired_files.length === 0 ? '' : `  copied anew: ${repaired_files.join(', ')}`}`
        : `copied   ${release_id}  ${copied_bytes} bytes copied, ${linked_bytes} bytes linked`,
    )
    const seconds = ((Date.now() - startedMs) / 1000).toFixed(1)
    lines.push(
      `${copied} bytes in ${seconds} s.`,
      ...ids
        .filter((id) => id.includes('analytics-'))
        .map((id) => `sus-data promote ${id} puts it in service.`),
    )
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  },
}
