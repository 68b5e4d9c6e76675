/**
 * Reads the listings of sources and chooses the files of the scope. After a fetch it takes away the names of files that the chosen
 * ones replace: older editions, and parts of a month that the publisher joined or split anew.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { AcquiredFile } from '../release/acquisition.ts'
import { checkContainer } from './containers.ts'
import { openListings } from './listings.ts'
import {
  ALL_STATES,
  areOfOneEdition,
  findOtherEditions,
  foldersOf,
  type Gap,
  isByYear,
  isInRange,
  type ListedFile,
  matchFiles,
  planByState,
  planNewest,
  type Scope,
  takeFirstFolders,
} from './plan.ts'
import { describeError, withRetries } from './retry.ts'
import { namesIn, type Snapshots } from './snapshots.ts'
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

const yearOf = ({ now }: { readonly now: number }): number => Math.floor(now / 100)

/** @returns files of a folder that are here */
function filesHere(
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
function yearsHere(
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
      for (const folder of foldersOf(source, options, yearOf(options))) {
        options.onStep?.(`list ${folder}`)
        try {
          if (unreachable !== null) throw unreachable
          const { files, doubt } = await listFolder(remote, publisher, folder, listings, options)
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

async function listFolder(
  remote: Remote,
  publisher: PublisherCode,
  folder: string,
  listings: ReturnType<typeof openListings>,
  { patience, signal }: ListingOptions,
): Promise<Listing> {
  try {
    return await withRetries(patience, signal, async () => {
      const files = await remote.list(folder)
      const doubt = listings.judge(`${publisher}:${folder}`, files)
      if (doubt !== null) throw new ShortListing(doubt, files)
      return { files, doubt }
    })
  } catch (error) {
    if (error instanceof ShortListing) return { files: error.files, doubt: error.message }
    throw error
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/

/** True for a file of which the publisher changed the name in case only. */
const isRespelled = (file: ListedFile, other: ListedFile): boolean =>
  file.folder === other.folder &&
  file.name !== other.name &&
  file.name.toLowerCase() === other.name.toLowerCase()

/** True if a file is of a later edition, by its period or its folder. */
const isLaterEdition = ({ folder, period }: ListedFile, other: ListedFile): boolean =>
  period > other.period || (period === other.period && folder > other.folder)

/**
 * Tells parts that the publisher made anew from a part that a listing lacks by mistake. Only the first have a later time than the
 * part that is no longer listed.
 */
function isNewer(part: AcquiredFile | null, other: AcquiredFile | null): boolean {
  if (part === null || other === null) return true
  const [time, before] = [part.server_time ?? '', other.server_time ?? '']
  return TIME.test(time) && TIME.test(before)
    ? time > before
    : (part.retrieved_at ?? '') > (other.retrieved_at ?? '')
}

/** True if a published file takes the place of one that is here. @param record, otherRecord where each was fetched */
function replaces(
  file: ListedFile,
  record: AcquiredFile | null,
  other: ListedFile,
  otherRecord: AcquiredFile | null,
): boolean {
  const { source, folder, uf, period } = file
  if (isRespelled(file, other)) return true
  // Names of editions follow no pattern, so whatever is not of a later edition than the newest gives way to it.
  if (source.completeness === 'newest' && !isByYear(source)) return !isLaterEdition(other, file)
  if (isByYear(source) && isNewer(record, otherRecord)) {
    const [time, otherTime] = [record?.server_time ?? null, otherRecord?.server_time ?? null]
    if (!areOfOneEdition(time, otherTime)) return true
  }
  const isOfSamePeriod = uf === other.uf && period === other.period
  return isOfSamePeriod && folder === other.folder && isNewer(record, otherRecord)
}

const addressOf = ({ folder, name }: ListedFile): string => `${folder}/${name}`

interface RetireOptions extends Scope {
  readonly into: string
  readonly now: number
  readonly isDry: boolean
}

/**
 * Retires preliminary years whose final files are here, whatever the scope and the listings are: an import takes one file of a
 * state and year, a killed fetch leaves both, and a listing without the preliminary file proves nothing.
 */
async function retirePreliminary(
  chosen: ListedPlan['chosen'],
  snapshots: Snapshots,
  options: RetireOptions,
): Promise<string[]> {
  const { into, isDry } = options
  const sentences: string[] = []
  for (const [source, { files }] of chosen) {
    const here = yearsHere(source, options)
    const first = takeFirstFolders(isDry ? [...here, ...files] : here)
    for (const file of here) {
      const final = first.find(({ uf, period }) => uf === file.uf && period === file.period)
      if (final === undefined || first.includes(file)) continue
      const [path, finalPath] = [addressOf(file), addressOf(final)]
      const localOf = (address: string): string => join(into, source.publisher, address)
      if (isDry) {
        sentences.push(`${path} would be replaced by the final file ${finalPath}, and kept in .versions`)
        continue
      }
      try {
        await checkContainer(localOf(finalPath), final.name)
      } catch (error) {
        if (!(error instanceof FetchError)) throw error
        sentences.push(
          `${path} keeps its name, because ${finalPath} is damaged; delete that and fetch it again`,
        )
        continue
      }
      await snapshots.retire(localOf(path))
      sentences.push(`${path} is replaced by the final file ${finalPath}; it is kept in .versions`)
    }
  }
  return sentences
}

/** @returns a sentence for each file that lost its name, or would lose it after a dry run */
export async function retireOthers(
  chosen: ListedPlan['chosen'],
  snapshots: Snapshots,
  options: RetireOptions,
): Promise<string[]> {
  const retired = await retirePreliminary(chosen, snapshots, options)
  if (options.isDry) return retired
  for (const [source, { files, isTrusted }] of chosen) {
    const localOf = (folder: string, name: string): string =>
      join(options.into, source.publisher, folder, name)
    const isWhole = files.every(({ folder, name }) => existsSync(localOf(folder, name)))
    if (!isTrusted || !isWhole || files.length === 0) continue
    const chosenPaths = new Set(files.map(({ folder, name }) => localOf(folder, name)))
    const folders =
      source.completeness === 'newest'
        ? foldersOf(source, { ...options, from: null, to: null }, yearOf(options))
        : files.map(({ folder }) => folder)
    for (const folder of new Set(folders)) {
      const names = namesIn(join(options.into, source.publisher, folder))
      for (const name of names) {
        const path = localOf(folder, name)
        const [other] = matchFiles(source, folder, [{ name, bytes: null, time: null }], options.states)
        if (other === undefined || chosenPaths.has(path)) continue
        const record = snapshots.recordOf(path)
        const isReplaced = files.some((file) => {
          // Some file systems ignore case in names: there a file renamed in case only is still the same file.
          if (isRespelled(file, other) && !names.includes(file.name)) return false
          return replaces(file, snapshots.recordOf(localOf(file.folder, file.name)), other, record)
        })
        if (!isReplaced) continue
        await snapshots.retire(path)
        retired.push(`${basename(path)} is replaced by what is published now; it is kept in .versions`)
      }
    }
  }
  return retired
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
export const gapsBeside = (unlisted: readonly ListedFile[], gaps: readonly Gap[]): Gap[] =>
  gaps.filter(
    (gap) =>
      !unlisted.some(
        ({ source, period, uf, part }) =>
          part === '' && source.code === gap.source && period === gap.period && uf === gap.uf,
      ),
  )
