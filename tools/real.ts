/** Makes the first release of published data for `start --real`: the newest whole month of a state's registry, and IBGE's tables. */
import { type FetchReport, fetchSources } from '../src/acquire/fetch.ts'
import type { ALL_STATES } from '../src/acquire/plan.ts'
import { FetchError } from '../src/acquire/types.ts'
import { DEFAULT_MAX_REJECTED, importPaths } from '../src/import/import.ts'
import { promoteRelease } from '../src/release/promote.ts'
import { verifyRelease } from '../src/release/verify.ts'
import type { Settings } from '../src/settings.ts'
import type { Progress } from './progress.ts'
import { openRecorder, withComponents } from './recorder.ts'

/** Sources without which there is no release. The others add outlines, health regions and ages. */
const REQUIRED = ['cnes-st', 'cnes-lt', 'cnes-eq', 'cnes-sr', 'ibge-municipalities', 'ibge-population']

/** Attempts at each file of a first start. */
const ATTEMPTS = 2

export interface RealRequest {
  readonly settings: Settings
  readonly state: (typeof ALL_STATES)[number]
  readonly now: number
  readonly signal: AbortSignal
  readonly progress: Progress
}

/** @returns notes for the operator @throws FetchError with one sentence if the publishers cannot be reached */
export async function makeRealRelease(request: RealRequest): Promise<string[]> {
  const { settings, state, now, signal, progress } = request
  const { releasesDir } = settings
  const recorder = await openRecorder(releasesDir, settings)
  const report = await fetchSources({
    // Fewer attempts tell a newcomer without a way to the publishers so within a minute.
    settings: { ...settings, fetchAttempts: Math.min(settings.fetchAttempts, ATTEMPTS) },
    into: settings.snapshotsDir,
    areas: ['cnes', 'demography'],
    states: [state],
    from: null,
    to: null,
    isDry: false,
    now,
    signal,
    onStep: (step, bytes) => progress.step(step, bytes, 'bytes'),
    onBytes: (bytes) => progress.advance(bytes),
  })
  refuseIncomplete(report)
  const { analytics } = await importPaths(report.paths, {
    releasesDir,
    maxRejected: DEFAULT_MAX_REJECTED,
    makesRows: true,
    ...(recorder === null ? {} : { sign: recorder.sign }),
    onProgress: (step) => progress.step(`import: ${step}`),
  })
  progress.step('verify')
  const releaseIds = await withComponents(releasesDir, analytics)
  for (const id of releaseIds) await verifyRelease(releasesDir, id)
  recorder?.recordReleases(releaseIds)
  await promoteRelease(releasesDir, analytics, null, (previous) =>
    recorder?.recordPromotion({ releaseIds, previous, forced: false }),
  )
  return [
    `Published data of ${state.name}, ${report.files.length} files: ${analytics}`,
    ...problemsOf(report).map((problem) => `Without: ${problem}`),
  ]
}

const problemsOf = ({ failures, files }: FetchReport): string[] => [
  ...failures,
  ...files.flatMap(({ status, path, reason }) => (status === 'failed' ? [`${path}: ${reason}`] : [])),
]

function refuseIncomplete(report: FetchReport): void {
  const here = new Set(report.files.filter(({ status }) => status !== 'failed').map(({ source }) => source))
  if (REQUIRED.every((source) => here.has(source))) return
  throw new FetchError(
    `The publishers cannot be reached for all that is needed (${problemsOf(report)[0] ?? 'files are missing'}); run it again later or from another network, or serve the demonstration: npm start.`,
    true,
  )
}
