/**
 * What the rest of the service sees of a release: an analytics release with the component releases it joins, verified.
 *
 * Values and pure functions only; store.ts finds and verifies them, engine/ opens their files.
 */
import { AREA_NAMES, type Area, type DatasetName, datasetOf } from '../model/datasets.ts'
import type { Coverage, Manifest } from './manifest.ts'

export interface ReleaseView {
  /** Id of the analytics release. */
  readonly id: string
  /** Digest of what the release says, whatever wrote its files; null where a release made before has none beside it. */
  readonly contentId?: string | null
  readonly analytics: Manifest
  readonly components: Readonly<Record<Area, Manifest | null>>
  readonly synthetic: boolean
}

/** @returns manifests of the component releases that the release joins */
export const componentManifests = ({ components }: ReleaseView): Manifest[] =>
  AREA_NAMES.flatMap((area) => components[area] ?? [])

/** @returns id of the component release that holds an area, or null where the release has none */
export const componentId = (view: ReleaseView, area: Area): string | null =>
  view.components[area]?.release_id ?? null

/** @returns periods (YYYYMM, ascending) a dataset was collected for; none for datasets without periods */
export function collectedPeriods(view: ReleaseView, dataset: DatasetName): number[] {
  const coverage = view.components[datasetOf(dataset).area]?.coverage[dataset] ?? {}
  return Object.entries(coverage)
    .filter(([, entry]) => entry.family !== 'derived')
    .map(([period]) => Number(period))
    .sort((left, right) => left - right)
}

/** @returns periods (YYYYMM, ascending) that hold rows of a dataset, derived ones included */
export function storedPeriods(view: ReleaseView, dataset: DatasetName): number[] {
  return [...(view.components[datasetOf(dataset).area]?.datasets[dataset]?.periods ?? [])].sort(
    (a, b) => a - b,
  )
}

/** @returns the newest collected period of a dataset, else the newest stored one, else null */
export function latestPeriod(view: ReleaseView, dataset: DatasetName): number | null {
  let known = LATEST.get(view)
  if (known === undefined) {
    known = new Map()
    LATEST.set(view, known)
  }
  let latest = known.get(dataset)
  if (latest === undefined) {
    latest = collectedPeriods(view, dataset).at(-1) ?? storedPeriods(view, dataset).at(-1) ?? null
    known.set(dataset, latest)
  }
  return latest
}

/** Asked with every request; a view never changes. */
const LATEST = new WeakMap<ReleaseView, Map<DatasetName, number | null>>()

/** @returns what was collected of a dataset in a period, or null */
export function coverageOf(view: ReleaseView, dataset: DatasetName, period: number): Coverage | null {
  return view.components[datasetOf(dataset).area]?.coverage[dataset]?.[String(period)] ?? null
}

/** 202605 → '2026-05' */
export const formatPeriod = (period: number): string =>
  `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`

/** The releases that a release's statements read: those it joins, and itself. */
export const manifestsOf = (view: ReleaseView): Manifest[] => [...componentManifests(view), view.analytics]

/** @returns rows that a statement reads of some months of a dataset, as the manifests say; @param periods null: all */
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
