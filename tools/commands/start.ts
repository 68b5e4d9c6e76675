/**
 * `npm start`: serves. Without a promoted release it first generates, imports, verifies and promotes the national
 * demonstration, and prints the explorer's address, a key and two example requests. Later starts serve at once. The key is
 * shown only on a terminal; output to a file or log names the key's file instead.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ALL_STATES } from '../../src/acquire/plan.ts'
import { createKey } from '../../src/keys/keys.ts'
import { serveUntilStopped } from '../../src/main.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { type Command, type ParsedArgs, textOption, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'
import { thisMonth } from '../this-month.ts'

export const command: Command = {
  name: 'start',
  summary: 'Serve; without a promoted release, make and serve the demonstration first.',
  usage: ['start [--scale small|national] [--vital-records] [--real UF] [--show-key]'],
  options: {
    real: {
      type: 'string',
      value: 'UF',
      help: 'Instead of the demonstration, fetch and serve the newest month of this state from the publishers.',
    },
    scale: { type: 'string', value: 'SCALE', help: 'Of the demonstration. Default national.' },
    'vital-records': {
      type: 'boolean',
      help: 'Make deaths and births at the national scale, too; the small demonstration has them without it.',
    },
    'show-key': {
      type: 'boolean',
      help: 'Print the key of the demonstration where the output is not a terminal, too.',
    },
  },
  async run(args) {
    const scale = textOption(args, 'scale') ?? 'national'
    if (scale !== 'small' && scale !== 'national')
      throw new UsageError(`--scale is "${scale}", but must be small or national`)
    const realState = textOption(args, 'real') === undefined ? null : parseState(args)
    const settings = readSettings()
    let secret: string | null = null
    const keyFile = join(settings.releasesDir, EXPLORER_KEY_FILE)
    const clientKeyFile = join(settings.releasesDir, CLIENT_KEY_FILE)
    const current = await readPointer(settings.releasesDir)
    if (current === null || (realState !== null && current.startsWith('demo-'))) {
      if (realState === null)
        await makeDemonstration(settings, scale, scale === 'small' || args.values['vital-records'] === true)
      else await makeReal(settings, realState)
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

/** File in the releases folder with the explorer's key, which later starts need. */
const EXPLORER_KEY_FILE = 'explorer-key'
/** File in the releases folder with a key of the demonstration for clients. */
const CLIENT_KEY_FILE = 'demonstration-key'

function writeKey(file: string, secret: string): void {
  // Remove an existing file, because writing would keep its mode.
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

/** Number of steps to generate and import one month of the demonstration, for the progress bar. */
const DEMONSTRATION_STEPS = 59

/** A quarter of the admissions of a real month, so that the first start does not take long. */
const ADMISSION_RATE = 0.0017

/** Generates snapshots, imports and promotes them, then removes the snapshots. */
async function makeDemonstration(
  settings: Settings,
  scale: 'small' | 'national',
  vitalRecords: boolean,
): Promise<void> {
  // Import these modules lazily: later starts do not need them.
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
      vitalRecords,
      ...(scale === 'national' ? { admissionRate: ADMISSION_RATE } : {}),
      onProgress: (step) => progress.step(`demonstration: ${step}`),
    })
    const { analytics, cnes, demography, sih, sim, sinasc } = await importPaths([snapshots], {
      releasesDir: settings.releasesDir,
      maxRejected: DEFAULT_MAX_REJECTED,
      makesRows: true,
      ...(recorder === null ? {} : { sign: recorder.sign }),
      onProgress: (step) => progress.step(`import: ${step}`),
    })
    progress.step('verify')
    for (const id of [demography, cnes, sih, sim, sinasc, analytics])
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

function parseState(args: ParsedArgs): (typeof ALL_STATES)[number] {
  const uf = textOption(args, 'real')?.toUpperCase()
  const state = ALL_STATES.find((each) => each.uf === uf)
  if (state === undefined)
    throw new UsageError(
      `--real is ${JSON.stringify(uf)}, but must be the abbreviation of a state: ${ALL_STATES.map((each) => each.uf).join(', ')}`,
    )
  return state
}

async function makeReal(settings: Settings, state: (typeof ALL_STATES)[number]): Promise<void> {
  const { makeRealRelease } = await import('../real.ts')
  mkdirSync(settings.releasesDir, { recursive: true })
  const progress = createProgress({ silent: false })
  const controller = new AbortController()
  const stop = (): void => controller.abort(new UsageError('the start was ended; the next one continues it'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  try {
    const lines = await makeRealRelease({
      settings,
      state,
      now: thisMonth(),
      signal: controller.signal,
      progress,
    })
    progress.stop()
    process.stderr.write(`${lines.join('\n')}\n`)
  } finally {
    progress.stop()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop)
  }
}

/** @param key the secret, or a shell expression for it */
const welcome = (address: string, key: string, file: string): string => `
A key that may read everything is in ${file} (mode 0600).

Try it:

  curl -s -H "Authorization: Bearer ${key}" '${address}/v1/facilities?uf=RR&limit=2'
  curl -s -H "Authorization: Bearer ${key}" -H 'content-type: application/json' '${address}/v1/analytics/query' -d '{"metrics":["bed_capacity_existing","beds_existing_per_100k"],"group_by":["state"]}'

`
