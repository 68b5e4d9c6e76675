/**
 * A verified analytics release with the components that it joins, as the rest of the service sees it. Values and pure
 * functions only; store.ts finds and verifies releases, engine/ opens their files.
 */
import { AREA_NAMES, AREAS_BY_NEED, forEachArea } from '../model/areas.ts'
import { type Area, type DatasetName, datasetOf } from '../model/datasets.ts'
import type { Acquisition } from './acquisition.ts'
import type { Coverage, Manifest } from './manifest.ts'

export interface ReleaseView {
  readonly id: string
  /** Content digest, independent of the writer; null when an older release does not have one. */
  readonly contentId?: string | null
  /** Content digests of the components. */
  readonly componentContentIds?: Readonly<Record<Area, string | null>>
  readonly analytics: Manifest
  readonly components: Readonly<Record<Area, Manifest | null>>
  readonly synthetic: boolean
  /** Facts of the fetches of published files; undefined when nothing was recorded. No release id covers them. */
  readonly acquired?: AcquiredFiles
}

export interface AcquiredFiles {
  readonly files: readonly Acquisition[]
  /** SHA-256 of the facts, for tags of answers that show them. */
  readonly digest: string
}

export const componentManifests = ({ components }: ReleaseView): Manifest[] =>
  AREAS_BY_NEED.flatMap((area) => components[area] ?? [])

/** @returns the components of an analytics release. @param read returns null for a release that is refused */
export const readComponents = (
  { components }: Manifest,
  read: (releaseId: string) => Promise<Manifest | null>,
): Promise<ReleaseView['components']> =>
  forEachArea(async (area) => {
    const id = components[area]
    return id === undefined ? null : read(id)
  })

export const componentId = (view: ReleaseView, area: Area): string | null =>
  view.components[area]?.release_id ?? null

/** @returns whether an id is that of the analytics release or of one of its components */
export const holdsRelease = (view: ReleaseView, id: string): boolean =>
  view.id === id || AREA_NAMES.some((area) => componentId(view, area) === id)

export const hasDataset = (view: ReleaseView, dataset: DatasetName): boolean =>
  view.components[datasetOf(dataset).area]?.datasets[dataset] !== undefined

/** @returns periods (YYYYMM, ascending) that a dataset was collected for; empty for datasets without periods */
export function collectedPeriods(view: ReleaseView, dataset: DatasetName): number[] {
  const coverage = view.components[datasetOf(dataset).area]?.coverage[dataset] ?? {}
  return Object.entries(coverage)
    .filter(([, entry]) => entry.family !== 'derived')
    .map(([period]) => Number(period))
    .sort((left, right) => left - right)
}

/** @returns periods (YYYYMM, ascending) with rows of a dataset, including derived ones */
export function storedPeriods(view: ReleaseView, dataset: DatasetName): number[] {
  return [...(view.components[datasetOf(dataset).area]?.datasets[dataset]?.periods ?? [])].sort(
    (a, b) => a - b,
  )
}

/** @returns the newest collected period of a dataset, else the newest stored one, else null */
export function latestPeriod(view: ReleaseView, dataset: DatasetName): number | null {
  let latestByDataset = LATEST.get(view)
  if (latestByDataset === undefined) {
    latestByDataset = new Map()
    LATEST.set(view, latestByDataset)
  }
  let latest = latestByDataset.get(dataset)
  if (latest === undefined) {
    latest = collectedPeriods(view, dataset).at(-1) ?? storedPeriods(view, dataset).at(-1) ?? null
    latestByDataset.set(dataset, latest)
  }
  return latest
}

/** Caches latest periods per view: every request needs them, and a view never changes. */
const LATEST = new WeakMap<ReleaseView, Map<DatasetName, number | null>>()

export function coverageOf(view: ReleaseView, dataset: DatasetName, period: number): Coverage | null {
  return view.components[datasetOf(dataset).area]?.coverage[dataset]?.[String(period)] ?? null
}

/** @returns whether a period is the month 00 of a year, which holds rows whose month is unknown */
export const isMonthZero = (period: number): boolean => period % 100 === 0

/** 202605 → '2026-05' */
export const formatPeriod = (period: number): string =>
  `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`

/** @returns the manifests of the components and of the release itself, whose files statements read */
export const manifestsOf = (view: ReleaseView): Manifest[] => [...componentManifests(view), view.analytics]

/** @returns rows of the files that a statement reads, by the manifests; @param periods null: all */
export function rowsRead(view: ReleaseView, dataset: string, periods: readonly number[] | null): number {
  return manifestsOf(view)
    .flatMap(({ files }) => files)
    .filter(({ path }) =>
      periods === null
        ? path.startsWith(`${dataset}/`)
        : periods.some((period) => path.startsWith(`${dataset}/reference_period=${period}/`)),
    )
    .reduce((sum, { rows }) => sum + rows, 0)
}
