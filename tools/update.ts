/**
 * Brings the release in service up to date: fetches what is new for its areas and states, imports, checks, promotes and prunes.
 * It stops at the first step that fails and then changes nothing. Out: one value for the log of the operator.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type FetchReport, fetchSources } from '../src/acquire/fetch.ts'
import { ALL_STATES, MONTHLY_AREAS } from '../src/acquire/plan.ts'
import { takeRunLock } from '../src/acquire/run-lock.ts'
import { readJsonFile } from '../src/acquire/snapshots.ts'
import { type FetchArea, FetchError } from '../src/acquire/types.ts'
import { replaceFile } from '../src/files.ts'
import { DEFAULT_MAX_REJECTED, importPaths } from '../src/import/import.ts'
import { digestFile, digestJson } from '../src/release/digest.ts'
import type { Manifest } from '../src/release/manifest.ts'
import { readPointer } from '../src/release/pointer.ts'
import { promoteRelease } from '../src/release/promote.ts'
import { readManifest, verifyRelease } from '../src/release/verify.ts'
import type { Settings } from '../src/settings.ts'
import { checkTrust } from '../src/trust/release-notes.ts'
import { UsageError } from './command.ts'
import { checkPromotion } from './promotion/run.ts'
import { prune } from './prune.ts'
import { openRecorder, withComponents } from './recorder.ts'

export interface UpdateRequest {
  readonly settings: Settings
  /** Null for the monthly areas of the release in service. */
  readonly areas: readonly FetchArea[] | null
  /** Null for the states of the release in service. */
  readonly states: typeof ALL_STATES | null
  /** Number of releases to keep; null removes none. */
  readonly keep: number | null
  readonly isDry: boolean
  readonly now: number
  readonly signal: AbortSignal
  readonly onStep: (step: string, bytes?: number) => void
  readonly onBytes: (bytes: number) => void
}

export interface UpdateResult {
  readonly result: 'promoted' | 'nothing new' | 'dry run' | 'stopped'
  /** Step that failed. */
  readonly at?: 'fetch' | 'import' | 'promotion checks'
  /** Failed checks or transfers, each a sentence with the numbers that moved. */
  readonly reasons?: readonly string[]
  /** Action for the operator. */
  readonly remedy?: string
  readonly release_id: string
  /** Release that failed the promotion checks. */
  readonly candidate?: string
  readonly fetched: { readonly files: number; readonly bytes: number }
  /** Files that are here and no longer listed, and why pruning failed, each a sentence; absent when there are none. */
  readonly notes?: readonly string[]
  /** Newest months that wait for files of states. */
  readonly waiting: readonly { readonly area: string; readonly month: number; readonly missing: number }[]
  readonly pruned?: { readonly releases: number; readonly bytes: number }
}

/** File in the releases folder that says which snapshots the last update imported, so that equal ones are not imported again. */
const STATE_FILE = '.update.json'
const REASONS_MAX = 20

/** @throws UsageError if there is nothing to update; FetchError if another update runs */
export async function update(request: UpdateRequest): Promise<UpdateResult> {
  const { releasesDir } = request.settings
  const current = await readPointer(releasesDir)
  if (current === null)
    throw new UsageError('no release is in service; import and promote the first one, or use start --real UF')
  const manifest = await readManifest(releasesDir, current)
  if (manifest.synthetic)
    throw new UsageError('the release in service is the demonstration; promote one of published files first')
  const unlock = request.isDry
    ? () => undefined
    : takeRunLock(join(releasesDir, '.update.lock'), 'another update')
  try {
    return await updateRelease(request, current, manifest)
  } finally {
    unlock()
  }
}

async function updateRelease(
  request: UpdateRequest,
  current: string,
  manifest: Manifest,
): Promise<UpdateResult> {
  const { settings, isDry, onStep, onBytes, signal, now, keep } = request
  const { releasesDir } = settings
  const held = await readHeld(releasesDir, manifest)
  const areas = request.areas ?? MONTHLY_AREAS.filter((area) => held.has(area))
  if (areas.length === 0)
    throw new UsageError(
      'the release in service has no area that is updated by month; name some with --areas',
    )
  const reports: FetchReport[] = []
  const waiting: UpdateResult['waiting'][number][] = []
  const paths = new Set<string>()
  for (const area of areas) {
    const before = held.get(area)
    if (before?.isBase === true)
      throw new UsageError(
        'the release in service is made of national bases; fetch the next one with fetch cnes-base, and import it with those in service',
      )
    const report = await fetchSources({
      settings,
      into: settings.snapshotsDir,
      areas: [area],
      states: request.states ?? before?.states ?? ALL_STATES,
      from: before?.first ?? null,
      to: null,
      isDry,
      now,
      signal,
      onStep,
      onBytes,
    }).catch((error: unknown) => {
      if (signal.aborted || !(error instanceof FetchError)) throw error
      return error
    })
    if (report instanceof FetchError)
      return {
        result: 'stopped',
        at: 'fetch',
        reasons: [report.message],
        remedy: 'nothing was changed; run the update again when that is mended',
        release_id: current,
        fetched: { files: 0, bytes: 0 },
        waiting,
      }
    reports.push(report)
    const newest = report.newest[area] ?? 0
    const gaps = report.missing.filter(({ period }) => period === newest)
    // The newest month may still be arriving. A month before it is complete, or as complete as it will be.
    const heldLast = before?.last ?? newest
    const isWaiting = gaps.length > 0 && newest > (newest < 10_000 ? Math.floor(heldLast / 100) : heldLast)
    if (isWaiting) waiting.push({ area, month: newest, missing: gaps.length })
    const left = report.files
      .filter(({ period }) => isWaiting && period === newest)
      .map(({ path }) => join(settings.snapshotsDir, path))
    for (const path of report.paths) if (!left.includes(path)) paths.add(path)
  }
  const files = reports.flatMap((report) => report.files)
  const wanted = files.filter(({ status }) =>
    (isDry ? ['planned'] : ['fetched', 'replaced']).includes(status),
  )
  const notes = files.flatMap(({ status, path, reason }) =>
    status === 'present' && reason !== undefined ? [`${path} ${reason}`] : [],
  )
  const base = {
    release_id: current,
    fetched: { files: wanted.length, bytes: wanted.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) },
    waiting,
    ...(notes.length === 0 ? {} : { notes: notes.slice(0, REASONS_MAX) }),
  }
  const failures = [
    ...reports.flatMap((report) => report.failures),
    ...files.flatMap(({ status, path, reason }) => (status === 'failed' ? [`${path}: ${reason}`] : [])),
  ]
  if (failures.length > 0)
    return {
      result: 'stopped',
      at: 'fetch',
      reasons: failures.slice(0, REASONS_MAX),
      remedy: 'run the update again later: it continues',
      ...base,
    }
  if (isDry) return { result: 'dry run', ...base }
  const inputs = await digestInputs([...paths])
  const state = readJsonFile(join(releasesDir, STATE_FILE)) as State | null
  if (state?.inputs === inputs && (state.result === null || state.result.candidate === current))
    return { result: 'nothing new', ...base }
  if (state?.inputs === inputs && state.result !== null && state.release_id === current)
    return { ...state.result, ...base }
  const remember = (result: UpdateResult | null): void =>
    replaceFile(
      join(releasesDir, STATE_FILE),
      `${JSON.stringify({ inputs, release_id: current, result } satisfies State)}\n`,
    )
  const recorder = await openRecorder(releasesDir, settings)
  onStep('import')
  const imported = await importPaths([...paths], {
    releasesDir,
    maxRejected: DEFAULT_MAX_REJECTED,
    makesRows: true,
    ...(recorder === null ? {} : { sign: recorder.sign }),
    onProgress: (step) => onStep(`import: ${step}`),
  }).catch((error: unknown) => {
    if ((error as Error).name !== 'ImportError') throw error
    return error as Error
  })
  if (imported instanceof Error)
    return {
      result: 'stopped',
      at: 'import',
      reasons: [imported.message],
      remedy:
        'nothing was changed; run sus-data import on the folder of snapshots to see it in full. If a file is damaged, delete it, so that the next run fetches it again',
      ...base,
    }
  const { analytics } = imported
  if (analytics === current) {
    remember(null)
    return { result: 'nothing new', ...base }
  }
  onStep('verify')
  const releaseIds = await withComponents(releasesDir, analytics)
  for (const id of releaseIds) {
    await verifyRelease(releasesDir, id)
    checkTrust(releasesDir, id, settings.trustedKeys)
  }
  recorder?.recordReleases(releaseIds)
  onStep('promotion checks')
  const report = await checkPromotion(releasesDir, analytics)
  if (!report.met) {
    const result: UpdateResult = {
      result: 'stopped',
      at: 'promotion checks',
      reasons: report.checks.filter(({ met }) => !met).map(({ name, detail }) => `${name}: ${detail}`),
      remedy: `the old release stays in service; if the numbers are right: sus-data promote ${analytics} --force REASON`,
      candidate: analytics,
      ...base,
    }
    remember(result)
    return result
  }
  await promoteRelease(releasesDir, analytics, null, (previous) =>
    recorder?.recordPromotion({ releaseIds, previous, forced: false }),
  )
  remember(null)
  const promoted: UpdateResult = { result: 'promoted', ...base, release_id: analytics }
  if (keep === null) return promoted
  onStep('prune')
  try {
    const { removable, freed_bytes } = await prune(settings, { keep, apply: true })
    return { ...promoted, pruned: { releases: removable.length, bytes: freed_bytes } }
  } catch (error) {
    // The release is in service: the update has done its work, whatever keeps old releases from going.
    return { ...promoted, notes: [...(base.notes ?? []), `Pruning failed: ${(error as Error).message}`] }
  }
}

interface State {
  readonly inputs: string
  /** Release that was in service then. */
  readonly release_id: string
  /** Result of an update that its checks stopped, or null. */
  readonly result: UpdateResult | null
}

interface Held {
  readonly first: number
  readonly last: number
  readonly states: typeof ALL_STATES
  readonly isBase: boolean
}

/** @returns months and states of the monthly areas of a release */
async function readHeld(releasesDir: string, manifest: Manifest): Promise<Map<FetchArea, Held>> {
  const held = new Map<FetchArea, Held>()
  for (const area of MONTHLY_AREAS) {
    const id = (manifest.components as Readonly<Record<string, string>>)[area]
    if (id === undefined) continue
    const { coverage, month } = await readManifest(releasesDir, id)
    const months = Object.values(coverage).flatMap((periods) => Object.entries(periods))
    const covered = new Set<string>()
    let isAll = false
    for (const [, { states }] of months)
      if (states === 'all') isAll = true
      else for (const uf of states) covered.add(uf)
    const periods = months.map(([period]) => Number(period.replace('-', '')))
    held.set(area, {
      first: periods.length === 0 ? month : Math.min(...periods),
      last: month,
      states: isAll ? ALL_STATES : ALL_STATES.filter(({ uf }) => covered.has(uf)),
      isBase: months.some(([, { family }]) => family === 'base'),
    })
  }
  return held
}

/** @returns a digest of the files' content; a folder counts by the names, sizes and times of its files */
async function digestInputs(paths: readonly string[]): Promise<string> {
  const digests: string[] = []
  for (const path of [...paths].sort()) {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true)
      for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()) {
        const file = statSync(join(path, name), { throwIfNoEntry: false })
        digests.push(`${name} ${file?.size} ${file?.mtimeMs}`)
      }
    else if (stat !== undefined) digests.push((await digestFile(path)).sha256)
  }
  return digestJson(digests)
}
