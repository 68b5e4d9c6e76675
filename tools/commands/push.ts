/**
 * `sus-data push`: copies releases from the folder of releases to another folder or to S3 storage. Without ids it copies the
 * release in service, then the log, then the pointer, so that a reader never sees a pointer to what is not there.
 */
import { mkdir } from 'node:fs/promises'
import { copyLog, logInFolder } from '../../src/places/copy-log.ts'
import { fetchRelease } from '../../src/places/fetch-release.ts'
import { folderPlace } from '../../src/places/folder.ts'
import { type OpenedPlace, openPlace } from '../../src/places/open-place.ts'
import { PlaceError } from '../../src/places/place.ts'
import {
  bytesContent,
  findObjectsByDigest,
  type StoredRelease,
  storeRelease,
} from '../../src/places/store-release.ts'
import { POINTER, readPointer } from '../../src/release/pointer.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { readManifest } from '../../src/release/verify.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { checkTrust } from '../../src/trust/release-notes.ts'
import { type Command, UsageError } from '../command.ts'
import { createProgress, type Progress } from '../progress.ts'
import { withComponents } from '../recorder.ts'

export const command: Command = {
  name: 'push',
  summary: 'Copy releases to a folder or to S3 storage; without ids the one in service, with the pointer.',
  usage: ['push PLACE [ID…] [--json]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const [address, ...requested] = args.positionals
    if (address === undefined) throw new UsageError('push takes a place: a folder, or s3://bucket/prefix')
    const settings = readSettings()
    const target = openPlace(address, settings)
    if (target.kind === 'server')
      throw new UsageError(
        `a server takes no releases; run sus-data pull on the machine of ${target.place.name}`,
      )
    // Read the pointer before the log, which then has the promotion of this release.
    const current = requested.length === 0 ? await readPointer(settings.releasesDir) : null
    if (requested.length === 0 && current === null)
      throw new PlaceError(`No release is in service in ${settings.releasesDir}; name the ids to copy.`)
    const progress = createProgress({ silent: args.values.json === true })
    let stored: readonly StoredRelease[]
    try {
      stored = await copyAll(settings, target, current === null ? requested : [current], progress)
    } finally {
      progress.stop()
    }
    if (current !== null) await publish(settings, target, current)
    const { name } = target.place
    const lines = [
      ...stored.map(
        ({ release_id, sent_bytes, copied_bytes }) =>
          `${release_id}  ${sent_bytes} bytes sent, ${copied_bytes} bytes copied there`,
      ),
      current === null ? `${name} has them.` : `${name} has ${current} in service.`,
    ]
    process.stdout.write(
      args.values.json === true
        ? `${JSON.stringify({ place: name, current, releases: stored })}\n`
        : `${lines.join('\n')}\n`,
    )
    return 0
  },
}

type Target = Exclude<OpenedPlace, { readonly kind: 'server' }>

async function copyAll(
  { releasesDir, trustedKeys }: Settings,
  target: Target,
  ids: readonly string[],
  progress: Progress,
): Promise<StoredRelease[]> {
  const all = new Set<string>()
  for (const id of ids)
    for (const each of await withComponents(releasesDir, id)) {
      for (const joined of await withComponents(releasesDir, each)) all.add(joined)
    }
  for (const id of all) checkTrust(releasesDir, id, trustedKeys)
  const objects =
    target.kind === 'storage' ? await findObjectsByDigest(target.place) : new Map<string, string>()
  if (target.kind === 'folder') await mkdir(target.folder, { recursive: true })
  const stored: StoredRelease[] = []
  for (const id of all) {
    const { files } = await readManifest(releasesDir, id)
    progress.step(
      `copying ${id}`,
      files.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    const onBytes = (bytes: number): void => progress.advance(bytes)
    if (target.kind === 'storage') {
      stored.push(await storeRelease(releasesDir, target.place, id, objects, onBytes))
      continue
    }
    const source = folderPlace(releasesDir)
    const copies = await fetchRelease(source, target.folder, id, { trusted: trustedKeys, onBytes })
    const copy = copies.find(({ release_id }) => release_id === id)
    stored.push({
      release_id: id,
      sent_bytes: copy?.copied_bytes ?? 0,
      copied_bytes: copy?.linked_bytes ?? 0,
    })
  }
  return stored
}

/** Copies the log and then the pointer. */
async function publish({ releasesDir }: Settings, target: Target, id: string): Promise<void> {
  const source = folderPlace(releasesDir)
  if (target.kind === 'folder') {
    await copyLog(source, logInFolder(target.folder), [])
    await promoteRelease(target.folder, id)
    return
  }
  const { place } = target
  await copyLog(
    source,
    {
      name: place.name,
      read: (path) => place.read(path),
      write: (path, bytes) => place.write(path, bytesContent(bytes)),
    },
    [],
  )
  await place.write(POINTER, bytesContent(Buffer.from(`${JSON.stringify({ analytics: id })}\n`)))
}
