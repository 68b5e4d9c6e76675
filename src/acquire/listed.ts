/** Reads the listings of sources, chooses the files of the scope, and finds files that are here and no longer listed. */
import { join } from 'node:path'
import { openListings } from './listings.ts'
import {
  ALL_STATES,
  findOtherEditions,
  foldersOf,
  type Gap,
  isInRange,
  type ListedFile,
  matchFiles,
  planByState,
  planNewest,
  type Scope,
  takeFirstFolders,
} from './plan.ts'
import { describeError, withRetries } from './retry.ts'
import { namesIn } from './snapshots.ts'
import {
  type FetchArea,
  FetchError,
  type ListedSource,
  NotConnected,
  NotThere,
  type Patience,
  PUBLISHERS,
  type PublisherCode,
  type Remote,
  type RemoteFile,
} from './types.ts'

export interface ListingOptions extends Scope {
  readonly into: string
  readonly areas: readonly FetchArea[]
  readonly isDry: boolean
  readonly signal: AbortSignal
  readonly now: number
  readonly patience: Patience
  readonly open: (publisher: PublisherCode) => Remote
  readonly onStep?: (step: string) => void
}

/** Chosen files of a source. They are trusted if every listing of the source was. */
export interface Chosen {
  readonly files: readonly ListedFile[]
  /** All files of the source and the states that the listings show. */
  readonly listed: readonly ListedFile[]
  readonly isTrusted: boolean
}

export interface ListedPlan {
  readonly chosen: ReadonlyMap<ListedSource, Chosen>
  readonly missing: readonly Gap[]
  readonly newest: Readonly<Record<string, number>>
  readonly failures: readonly string[]
  /** Files that are published and left out, each a sentence. */
  readonly notes: readonly string[]
}

export const yearOf = ({ now }: { readonly now: number }): number => Math.floor(now / 100)

/** @returns files of a folder that are here */
export function filesHere(
  source: ListedSource,
  folder: string,
  { into, states }: Pick<ListingOptions, 'into' | 'states'>,
): ListedFile[] {
  const names = namesIn(join(into, source.publisher, folder))
  return matchFiles(
    source,
    folder,
    names.map((name) => ({ name, bytes: null, time: null })),
    states,
  )
}

/** @returns files of a source by year that are here, of all states and of the years that may be preliminary; none of other sources */
export function yearsHere(
  source: ListedSource,
  { into, now }: { readonly into: string; readonly now: number },
): ListedFile[] {
  if (source.isYearly !== true) return []
  const everything = { states: ALL_STATES, from: null, to: null }
  return foldersOf(source, everything, yearOf({ now })).flatMap((folder) =>
    filesHere(source, folder, { into, states: ALL_STATES }),
  )
}

export async function readListings(
  sources: readonly ListedSource[],
  options: ListingOptions,
): Promise<ListedPlan> {
  const { into, areas, isDry } = options
  const listings = openListings(into)
  const failures: string[] = []
  const untrusted = new Set<ListedSource>()
  const filesBySource = new Map<ListedSource, ListedFile[]>()
  for (const publisher of PUBLISHERS) {
    const ofPublisher = sources.filter((source) => source.publisher === publisher)
    if (ofPublisher.length === 0) continue
    const remote = options.open(publisher)
    /** A publisher that was not reached in all attempts is not tried again for each folder. */
    let unreachable: NotConnected | null = null
    for (const source of ofPublisher) {
      const found: ListedFile[] = []
      let hasFolder = false
      for (const folder of foldersOf(source, options, yearOf(options))) {
        options.onStep?.(`list ${folder}`)
        const isOptional =
          hasFolder && source.folders.some(({ path, isPreliminary }) => isPreliminary && path === folder)
        /** True if the final folder lists every preliminary file that is here and that the listing lacks. */
        const isExplained = (files: readonly RemoteFile[]): boolean =>
          filesHere(source, folder, options).every(
            (file) =>
              files.some(({ name }) => name === file.name) ||
              found.some(({ uf, period }) => uf === file.uf && period === file.period),
          )
        try {
          if (unreachable !== null) throw unreachable
          const { files, doubt } = await listFolder(
            remote,
            publisher,
            folder,
            listings,
            options,
            isOptional ? isExplained : null,
          )
          hasFolder ||= files.length > 0
          if (doubt !== null) {
            failures.push(`${folder}: ${doubt}`)
            untrusted.add(source)
          }
          found.push(...matchFiles(source, folder, files, options.states))
        } catch (error) {
          options.signal.throwIfAborted()
          if (error instanceof NotConnected) unreachable = error
          // A new year begins without a folder.
          const mayLack =
            source.completeness === 'beside states' ||
            source.folders.some(({ path }) => path.includes('{year}'))
          if (error instanceof NotThere && mayLack) continue
          failures.push(`${folder}: ${describeError(error)}`)
          untrusted.add(source)
        }
      }
      // A listing may lack a final year by mistake. The final file that is here still counts before the preliminary one.
      const here = yearsHere(source, options)
      const first = takeFirstFolders([...found, ...here])
      filesBySource.set(source, here.length > 0 ? found.filter((file) => first.includes(file)) : found)
    }
  }
  if (!isDry) listings.save()
  const chosen = new Map<ListedSource, Chosen>()
  const missing: Gap[] = []
  const newest: Record<string, number> = {}
  const choose = (source: ListedSource, files: readonly ListedFile[]): void =>
    void chosen.set(source, {
      files,
      listed: filesBySource.get(source) ?? [],
      isTrusted: !untrusted.has(source),
    })
  for (const area of areas) {
    const monthly = sources.filter((source) => source.completeness !== 'newest' && source.areas[0] === area)
    if (monthly.length === 0) continue
    const files = monthly.flatMap((source) => filesBySource.get(source) ?? [])
    const plan = planByState(monthly, files, options)
    if (plan.newest !== null) newest[area] = plan.newest
    missing.push(...plan.missing)
    for (const source of monthly)
      choose(
        source,
        plan.files.filter((file) => file.source === source),
      )
  }
  const notes: string[] = []
  for (const source of sources) {
    if (source.completeness !== 'newest') continue
    const files = filesBySource.get(source) ?? []
    const planned = planNewest(files, options)
    choose(source, planned)
    const others = findOtherEditions(files, options).map(({ name }) => name)
    if (others.length > 0)
      notes.push(
        `${others.sort().join(', ')}: of another edition than ${planned[0]?.name}, which an import does not combine; left out`,
      )
  }
  return { chosen, missing, newest, failures, notes }
}

interface Listing {
  readonly files: readonly RemoteFile[]
  /** Reason why the listing is not trusted, after all attempts. */
  readonly doubt: string | null
}

class ShortListing extends FetchError {
  readonly files: readonly RemoteFile[]

  constructor(message: string, files: readonly RemoteFile[]) {
    super(message)
    this.files = files
  }
}

/** @param isExplained for a folder that may be empty: tells whether its short listing is believed after all attempts */
async function listFolder(
  remote: Remote,
  publisher: PublisherCode,
  folder: string,
  listings: ReturnType<typeof openListings>,
  { patience, signal }: ListingOptions,
  isExplained: ((files: readonly RemoteFile[]) => boolean) | null,
): Promise<Listing> {
  const key = `${publisher}:${folder}`
  try {
    return await withRetries(patience, signal, async () => {
      const files = await remote.list(folder)
      const doubt = listings.judge(key, files, isExplained !== null)
      if (doubt !== null) throw new ShortListing(doubt, files)
      return { files, doubt }
    })
  } catch (error) {
    const isMissing = error instanceof NotThere && isExplained !== null
    if (!isMissing && !(error instanceof ShortListing)) throw error
    const files = error instanceof ShortListing ? error.files : []
    if (!isMissing && !isExplained?.(files)) return { files, doubt: error.message }
    listings.believe(key, files)
    return { files, doubt: null }
  }
}

/**
 * Finds files of the scope that are here, that trusted listings no longer show, and that no listed file replaces. A publisher's
 * listing may lack a file by mistake, so an import reads them.
 */
export function findUnlisted(
  chosen: ListedPlan['chosen'],
  options: Scope & { readonly into: string; readonly now: number },
): ListedFile[] {
  const unlisted: ListedFile[] = []
  for (const [source, { files, listed, isTrusted }] of chosen) {
    if (!isTrusted || source.completeness === 'newest') continue
    for (const folder of foldersOf(source, options, yearOf(options))) {
      for (const file of filesHere(source, folder, options)) {
        const isWanted =
          isInRange(file.period, source.isYearly === true, options) ||
          files.some(({ period }) => period === file.period)
        const isListed = listed.some(
          (other) =>
            other.uf === file.uf &&
            other.period === file.period &&
            (other.part === file.part || other.part === '' || file.part === ''),
        )
        if (isWanted && !isListed) unlisted.push(file)
      }
    }
  }
  return unlisted
}

/** @returns gaps that no unlisted file fills; a part of a month fills none */
export const findOpenGaps = (unlisted: readonly ListedFile[], gaps: readonly Gap[]): Gap[] =>
  gaps.filter(
    (gap) =>
      !unlisted.some(
        ({ source, period, uf, part }) =>
          part === '' && source.code === gap.source && period === gap.period && uf === gap.uf,
      ),
  )
