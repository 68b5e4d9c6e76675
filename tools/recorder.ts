/** Opens the recorder that signs and logs releases for commands. */
import { loadNoteSigner } from '../src/keys/signing.ts'
import { readManifest } from '../src/release/verify.ts'
import { cleanReleases } from '../src/release/writer.ts'
import type { Settings } from '../src/settings.ts'
import { LogError, logFolder, readCheckpoint } from '../src/trust/log.ts'
import { createRecorder, type Recorder } from '../src/trust/recorder.ts'

type SigningSettings = Pick<Settings, 'signingKeyFile' | 'signingName'>

/**
 * Also removes what ended commands left behind.
 * @returns null without a signing key: nothing is signed or logged then
 * @throws LogError when there is a log that this key cannot extend
 */
export async function openRecorder(releasesDir: string, settings: SigningSettings): Promise<Recorder | null> {
  await cleanReleases(releasesDir)
  const signer = loadNoteSigner(settings.signingKeyFile, settings.signingName)
  const folder = logFolder(releasesDir)
  if (signer !== null) return createRecorder(releasesDir, signer)
  if (readCheckpoint(folder) !== null)
    throw new LogError(
      `${folder} is a log, but its signing key is not at ${settings.signingKeyFile}; put the key back, or move the folder away to go on without a log.`,
    )
  return null
}

/** @returns ids of the components, then of the release itself */
export async function withComponents(releasesDir: string, id: string): Promise<string[]> {
  const { components } = await readManifest(releasesDir, id)
  return [...Object.values(components), id]
}
