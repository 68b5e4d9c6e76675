/**
 * Takes away the names of files that newer ones replace after a fetch: older editions, preliminary years, and parts of a month that the
 * publisher joined or split anew. They stay in `.versions`.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { AcquiredFile } from '../release/acquisition.ts'
import { checkContainer } from './containers.ts'
import { type ListedPlan, yearOf, yearsHere } from './listed.ts'
import {
  areOfOneEdition,
  foldersOf,
  isByYear,
  type ListedFile,
  matchFiles,
  type Scope,
  takeFirstFolders,
} from './plan.ts'
import { namesIn, type Snapshots } from './snapshots.ts'
import { FetchError } from './types.ts'

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
