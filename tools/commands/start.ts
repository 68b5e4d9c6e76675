/**
 * `npm start`: serves. Without a promoted release it first makes the national demonstration, imports, verifies and promotes
 * it, and prints the explorer's address, a key and two lines to paste. A second start finds all that and serves at once. The key is
 * shown on a terminal only: output that goes into a file or a log names the file of the key instead.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createKey } from '../../src/keys/keys.ts'
import { serveUntilStopped } from '../../src/main.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { type Command, textOption, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'

export const command: Command = {
  name: 'start',
  summary: 'Serve; without a promoted release, make and serve the demonstration first.',
  usage: ['start [--scale small|national] [--show-key]'],
  options: {
    scale: { type: 'string', value: 'SCALE', help: 'Of the demonstration. Default national.' },
    'show-key': {
      type: 'boolean',
      help: 'Print the key of the demonstration where the output is not a terminal, too.',
    },
  },
  async run(args) {
    const scale = textOption(args, 'scale') ?? 'national'
    if (scale !== 'small' && scale !== 'national')
      throw new UsageError(`--scale is "${scale}", but must be small or national`)
    const settings = readSettings()
    let secret: string | null = null
    const keyFile = join(settings.releasesDir, EXPLORER_KEY_FILE)
    const clientKeyFile = join(settings.releasesDir, CLIENT_KEY_FILE)
    if ((await readPointer(settings.releasesDir)) === null) {
      await makeDemonstration(settings, scale)
      if (!existsSync(settings.keysFile)) {
        secret = createKey(settings.keysFile, { name: 'demonstration', capabilities: CAPABILITIES }).secret
        const explorer = createKey(settings.keysFile, { name: 'explorer', capabilities: CAPABILITIES })
        writeKey(keyFile, explorer.secret)
        writeKey(clientKeyFile, secret)
      }
    }
    const explorerKey = settings.explorerKey ?? readExplorerKey(keyFile)
    await serveUntilStopped({ ...settings, explorerKey }, (address) => {
      process.stderr.write(`\nExplorer: ${address}/\n`)
      if (secret === null) return
      const isShown = process.stderr.isTTY || args.values['show-key'] === true
      process.stderr.write(welcome(address, isShown ? secret : `$(cat '${clientKeyFile}')`, clientKeyFile))
    })
    return 0
  },
}

/** In the folder of releases: the key of the demonstration's explorer, so that a second start shows it, too. */
const EXPLORER_KEY_FILE = 'explorer-key'
/** In the folder of releases: a key of the demonstration for clients. */
const CLIENT_KEY_FILE = 'demonstration-key'

function writeKey(file: string, secret: string): void {
  // A file that is there keeps its mode when it is written to.
  rmSync(file, { force: true })
  writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: 'wx' })
}

function readExplorerKey(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}

/** Steps of making and importing one demonstration month: what the bar counts. */
const DEMONSTRATION_STEPS = 59

/** A quarter of the admissions of a real month: whoever starts the server for the first time waits for all that is made. */
const ADMISSION_RATE = 0.0017

/** Snapshots → releases → promoted; the snapshots go again, the releases are what is served. */
async function makeDemonstration(settings: Settings, scale: 'small' | 'national'): Promise<void> {
  // A second start needs none of them.
  const { writeDemonstration } = await import('../demo/demonstration.ts')
  const { DEFAULT_MAX_REJECTED, importPaths } = await import('../../src/import/import.ts')
  const { verifyRelease } = await import('../../src/release/verify.ts')
  const { promoteRelease } = await import('../../src/release/promote.ts')
  const { openRecorder, withComponents } = await import('../recorder.ts')
  mkdirSync(settings.releasesDir, { recursive: true })
  const recorder = await openRecorder(settings.releasesDir, settings)
  const snapshots = await mkdtemp(join(settings.releasesDir, '.demo-'))
  const progress = createProgress({ silent: false, steps: DEMONSTRATION_STEPS })
  const startedAt = Date.now()
  try {
    await writeDemonstration({
      out: snapshots,
      scale,
      periods: 1,
      seed: 1,
      admissions: true,
      ...(scale === 'national' ? { admissionRate: ADMISSION_RATE } : {}),
      onProgress: (step) => progress.step(`demonstration: ${step}`),
    })
    const { analytics, cnes, demography, sih } = await importPaths([snapshots], {
      releasesDir: settings.releasesDir,
      maxRejected: DEFAULT_MAX_REJECTED,
      makesRows: true,
      ...(recorder === null ? {} : { sign: recorder.sign }),
      onProgress: (step) => progress.step(`import: ${step}`),
    })
    progress.step('verify')
    for (const id of [demography, cnes, sih, analytics])
      if (id !== null) await verifyRelease(settings.releasesDir, id)
    const releaseIds = await withComponents(settings.releasesDir, analytics)
    recorder?.recordReleases(releaseIds)
    await promoteRelease(settings.releasesDir, analytics, null, (previous) =>
      recorder?.recordPromotion({ releaseIds, previous, forced: false }),
    )
    progress.stop()
    process.stderr.write(
      `The demonstration is made: invented data, ${Math.round((Date.now() - startedAt) / 1000)} s.\n`,
    )
  } finally {
    progress.stop()
    await rm(snapshots, { recursive: true, force: true })
  }
}

/** @param key the secret, or what a shell puts in its place */
const welcome = (address: string, key: string, file: string): string => `
A key that may read everything is in ${file} (mode 0600).

Try it:

  curl -s -H "Authorization: Bearer ${key}" '${address}/v1/facilities?uf=RR&limit=2'
  curl -s -H "Authorization: Bearer ${key}" -H 'content-type: application/json' '${address}/v1/analytics/query' -d '{"metrics":["bed_capacity_existing","beds_existing_per_100k"],"group_by":["state"]}'

`
