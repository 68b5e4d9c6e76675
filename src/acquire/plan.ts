/**
 * Decides from listings which files to fetch and which are missing. Pure. In: sources, listings and scope. Out: files with state
 * and period, complete periods, and gaps.
 */
import { EDITION_DAYS } from '../model/demography/editions.ts'
import { STATES, type State } from '../model/territory/states.ts'
import type { FetchArea, ListedSource, RemoteFile } from './types.ts'

export interface Scope {
  readonly states: readonly State[]
  /** First month of the range, YYYYMM. Null, together with `to`, selects the newest period. */
  readonly from: number | null
  readonly to: number | null
}

export interface ListedFile extends RemoteFile {
  readonly source: ListedSource
  readonly folder: string
  /** Empty for a national file. */
  readonly uf: string
  /** YYYYMM, YYYY, or 0 if the name has none. */
  readonly period: number
  readonly part: string
}

export interface Gap {
  readonly source: string
  readonly period: number
  readonly uf: string
}

export interface AreaPlan {
  readonly files: readonly ListedFile[]
  readonly missing: readonly Gap[]
  /** Newest period that the listings have for the states, complete or not. */
  readonly newest: number | null
}

/** Two-digit years in names belong to the former century from this one on. The oldest files of deaths are of 1979. */
const FORMER_CENTURY = 79

const yearOf = (month: number): number => Math.floor(month / 100)

/** @returns the range of a scope in months, or in years */
function inUnitsOf(isYearly: boolean, { from, to }: Scope): Pick<Scope, 'from' | 'to'> {
  if (!isYearly) return { from, to }
  return { from: from === null ? null : yearOf(from), to: to === null ? null : yearOf(to) }
}

/** @returns whether a range holds a period, a month or a year; false without a range */
export function isInRange(period: number, isYearly: boolean, scope: Scope): boolean {
  const { from, to } = inUnitsOf(isYearly, scope)
  return from !== null && period >= from && (to === null || period <= to)
}

export const monthAfter = (month: number): number => (month % 100 === 12 ? month + 89 : month + 1)

/** @returns folders of a source that hold periods of the scope; @param year current year */
export function foldersOf(source: ListedSource, scope: Scope, year: number): string[] {
  const { from, to } = inUnitsOf(source.isYearly === true, scope)
  return source.folders
    .filter((folder) => {
      // Without a range only the newest periods are of interest.
      if (source.completeness !== 'newest' && from === null && to === null) return folder.to === null
      return (to === null || folder.from <= to) && (folder.to === null || from === null || folder.to >= from)
    })
    .flatMap(({ path, from: first }) =>
      path.includes('{year}')
        ? Array.from({ length: year - first + 1 }, (_, index) => path.replace('{year}', String(year - index)))
        : [path],
    )
}

/** @returns the files of a listing that belong to the source and to the states */
export function matchFiles(
  source: ListedSource,
  folder: string,
  files: readonly RemoteFile[],
  states: readonly State[],
): ListedFile[] {
  return files.flatMap((file) => {
    const match = source.pattern.exec(file.name)
    if (match === null) return []
    const { uf: letters = '', year = '', month = '', part = '' } = match.groups ?? {}
    const uf = letters.toUpperCase()
    if (uf !== '' && !states.some((state) => state.uf === uf)) return []
    return [{ ...file, source, folder, uf, period: periodOf(year, month), part: part.toLowerCase() }]
  })
}

function periodOf(year: string, month: string): number {
  if (year === '') return 0
  const full =
    year.length === 4 ? Number(year) : Number(year) + (Number(year) >= FORMER_CENTURY ? 1900 : 2000)
  return month === '' ? full : full * 100 + Number(month)
}

/**
 * Plans the sources of an area that are whole by state, and those beside them. Without a range it takes the newest month that is
 * whole, else the newest.
 * @param listed files of all these sources, of the states of the scope
 */
export function planByState(
  sources: readonly ListedSource[],
  listed: readonly ListedFile[],
  scope: Scope,
): AreaPlan {
  const isYearly = sources.some((source) => source.isYearly === true)
  const { states } = scope
  const { from, to } = inUnitsOf(isYearly, scope)
  const files = takeFirstFolders(listed)
  const byState = sources.filter(({ completeness }) => completeness === 'by state')
  const periods = files.filter(({ source }) => byState.includes(source)).map(({ period }) => period)
  const newest =
    periods.length === 0 ? null : Math.max(...periods.filter((period) => to === null || period <= to))
  if (newest === null || !Number.isFinite(newest)) return { files: [], missing: [], newest: null }
  const index = new Map<string, ListedFile[]>()
  for (const file of files) {
    const key = `${file.source.code} ${file.period} ${file.uf}`
    index.set(key, [...(index.get(key) ?? []), file])
  }
  const gapsOf = (period: number): Gap[] =>
    byState.flatMap((source) =>
      period < (source.first ?? 0)
        ? []
        : states
            .filter(({ uf }) => !hasAllParts(index.get(`${source.code} ${period} ${uf}`) ?? []))
            .map(({ uf }) => ({ source: source.code, period, uf })),
    )
  const wanted: number[] = []
  if (from === null) {
    const months = [...new Set(periods)]
      .filter((period) => period <= newest)
      .sort((left, right) => right - left)
    wanted.push(months.slice(0, NEWEST_MONTHS).find((period) => gapsOf(period).length === 0) ?? newest)
  } else {
    const first = Math.max(from, Math.min(...byState.map(({ first }) => first ?? 0)))
    for (let period = first; period <= newest; period = isYearly ? period + 1 : monthAfter(period))
      wanted.push(period)
  }
  return {
    files: files.filter(({ period }) => wanted.includes(period)),
    missing: wanted.flatMap(gapsOf),
    newest,
  }
}

/** Months or years among which the newest whole one is looked for. */
const NEWEST_MONTHS = 6

/** Drops files of a state and period that an earlier folder of their source has: a final year replaces the preliminary one. */
export function takeFirstFolders(files: readonly ListedFile[]): ListedFile[] {
  const folders = new Map<string, string>()
  const rankOf = ({ source }: ListedFile, folder: string): number =>
    source.folders.findIndex(({ path }) => path === folder)
  const keyOf = ({ source, period, uf }: ListedFile): string => `${source.code} ${period} ${uf}`
  for (const file of files) {
    const first = folders.get(keyOf(file))
    if (first === undefined || rankOf(file, file.folder) < rankOf(file, first))
      folders.set(keyOf(file), file.folder)
  }
  return files.filter((file) => folders.get(keyOf(file)) === file.folder)
}

/** True for one file without a letter, or for letters from a on without a hole. Nothing says how many letters there are. */
function hasAllParts(files: readonly ListedFile[]): boolean {
  const parts = files.map(({ part }) => part).sort()
  if (parts.length === 0) return false
  if (parts[0] === '') return parts.length === 1
  return parts.every((part, index) => part === String.fromCharCode('a'.charCodeAt(0) + index))
}

/** True for a source whose files are each of a year. Other sources have editions, and only the newest one is used. */
export const isByYear = ({ code }: ListedSource): boolean => code === 'population-by-age'

const DAY_MS = 86_400_000

/** @param time, other when files were published @returns false only if both times are there and lie far apart */
export const areOfOneEdition = (time: string | null, other: string | null): boolean =>
  !(Math.abs(Date.parse(time ?? '') - Date.parse(other ?? '')) > EDITION_DAYS * DAY_MS)

/**
 * Each edition of population computes all years anew, so an import refuses years of two editions.
 * @returns the newest edition, whatever the range is; of population its newest year, or its years of the range
 */
export function planNewest(files: readonly ListedFile[], scope: Scope): ListedFile[] {
  const [newest, ...others] = sortNewestFirst(files, scope)
  if (newest === undefined) return []
  return [
    newest,
    ...others.filter((file) => isYearOf(scope, file) && areOfOneEdition(file.time, newest.time)),
  ]
}

/** @returns files of population of the range that are of another edition than its newest year */
export function findOtherEditions(files: readonly ListedFile[], scope: Scope): ListedFile[] {
  const [newest, ...others] = sortNewestFirst(files, scope)
  return others.filter((file) => isYearOf(scope, file) && !areOfOneEdition(file.time, newest?.time ?? null))
}

const isYearOf = ({ from }: Scope, { source, period }: ListedFile): boolean =>
  from !== null && isByYear(source) && period >= yearOf(from)

/** @returns files from the newest to the oldest; of population one for each year up to the end of the range */
function sortNewestFirst(files: readonly ListedFile[], { to }: Scope): ListedFile[] {
  const sorted = [...files].sort((left, right) => compareNewest(right, left))
  return sorted.filter(
    ({ source, period }, index) =>
      !isByYear(source) || ((to === null || period <= yearOf(to)) && period !== sorted[index - 1]?.period),
  )
}

/** Orders files by period, then folder, then time: names of editions follow no pattern. */
function compareNewest(left: ListedFile, right: ListedFile): number {
  if (left.period !== right.period) return left.period - right.period
  if (left.folder !== right.folder) return left.folder < right.folder ? -1 : 1
  const [earlier, later] = [left.time ?? '', right.time ?? '']
  return earlier === later ? (left.name < right.name ? -1 : 1) : earlier < later ? -1 : 1
}

export const ALL_STATES: readonly State[] = STATES

/** Areas whose months or years are made of files by state. */
export const MONTHLY_AREAS: readonly FetchArea[] = ['cnes', 'sih', 'sia', 'sim', 'sinasc']
