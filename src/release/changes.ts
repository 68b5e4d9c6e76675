/**
 * Says what each promotion changed. In: the promotions of a folder and the manifests that are here. Out: for each area and dataset
 * the periods that were added, removed or revised, by the digests of their rows, and what is preliminary.
 */
import { z } from 'zod'
import { AREA_NAMES } from '../model/areas.ts'
import type { Coverage, Manifest } from './manifest.ts'
import type { Promotion } from './promote.ts'
import { formatPeriod } from './view.ts'

const periodStates = z.strictObject({
  period: z.string().describe('Month, or the year of rows whose month is not known.'),
  states: z.array(z.string()),
})
export type PeriodStates = z.infer<typeof periodStates>

const datasetChange = z.strictObject({
  dataset: z.string(),
  rows: z.int().describe('Rows in this release.'),
  previous_rows: z.int().nullable().describe('Rows in the release before; null when it had no such dataset.'),
  added: z.array(z.string()).describe('Periods that are new.'),
  removed: z.array(z.string()).describe('Periods that are gone.'),
  revised: z.array(z.string()).describe('Periods in both releases whose rows differ.'),
  undated_changed: z.boolean().describe('Rows without a period differ.'),
  preliminary: z
    .array(periodStates)
    .describe('States whose file of a period is preliminary in this release.'),
  became_final: z
    .array(periodStates)
    .describe('States whose file of a period was preliminary before and is final now.'),
})
export type DatasetChange = z.infer<typeof datasetChange>

const areaChange = z.strictObject({
  area: z.enum(AREA_NAMES),
  release_id: z.string().nullable().describe('Null when the area is gone.'),
  previous_release_id: z.string().nullable().describe('Null when the area is new.'),
  datasets: z.array(datasetChange).describe('Datasets that differ.'),
})
export type AreaChange = z.infer<typeof areaChange>

export const promotionChangesSchema = z
  .strictObject({
    promoted_at: z.string().describe('When the release came into service, in UTC.'),
    release_id: z.string().describe('The analytics release.'),
    previous_release_id: z.string().nullable().describe('Release in service before; null for the first one.'),
    in_service: z.boolean().describe('It is in service now, by this promotion.'),
    synthetic: z
      .boolean()
      .nullable()
      .describe('Invented data of the demonstration; null when it is not here.'),
    areas: z
      .array(areaChange)
      .nullable()
      .describe('Areas whose rows differ; null when one of the releases is no longer here.'),
  })
  .describe('A promotion and what it changed.')
export type PromotionChanges = z.infer<typeof promotionChangesSchema>

/** @param month YYYYMM; month 00 holds the rows of a year whose month is not known */
const periodOf = (month: string): string => formatPeriod(Number(month)).replace(/-00$/, '')

type FindManifest = (releaseId: string) => Manifest | null

/**
 * @returns areas whose rows differ between two analytics releases, with their datasets that differ; null when a manifest is no
 * longer here. Without a release before, everything is added.
 */
export function changesOf(
  { release_id, previous_release_id }: Promotion,
  find: FindManifest,
): AreaChange[] | null {
  const after = find(release_id)
  const before = previous_release_id === null ? null : find(previous_release_id)
  if (after === null || (before === null && previous_release_id !== null)) return null
  const changes: AreaChange[] = []
  for (const area of AREA_NAMES) {
    const ids = [after.components[area] ?? null, before?.components[area] ?? null] as const
    if (ids[0] === ids[1]) continue
    const [now, then] = ids.map((id) => (id === null ? null : find(id)))
    if ((ids[0] !== null && !now) || (ids[1] !== null && !then)) return null
    const datasets = changedDatasets(now ?? null, then ?? null)
    if (datasets.length > 0) changes.push({ area, release_id: ids[0], previous_release_id: ids[1], datasets })
  }
  return changes
}

function changedDatasets(after: Manifest | null, before: Manifest | null): DatasetChange[] {
  const names = new Set([...Object.keys(after?.datasets ?? {}), ...Object.keys(before?.datasets ?? {})])
  return [...names].sort().flatMap((dataset) => {
    const now = periodDigests(after, dataset)
    const then = periodDigests(before, dataset)
    const dated = (periods: Iterable<string>): string[] =>
      [...periods].filter((period) => period !== '').sort()
    const added = dated(now.keys()).filter((period) => !then.has(period))
    const removed = dated(then.keys()).filter((period) => !now.has(period))
    const revised = dated(now.keys()).filter(
      (period) => then.has(period) && then.get(period) !== now.get(period),
    )
    const becameFinal = finalStates(after, before, dataset)
    const isUndatedChanged = now.get('') !== then.get('')
    if (added.length + removed.length + revised.length + becameFinal.length === 0 && !isUndatedChanged)
      return []
    return {
      dataset,
      rows: after?.datasets[dataset]?.rows ?? 0,
      previous_rows: before?.datasets[dataset]?.rows ?? null,
      added,
      removed,
      revised,
      undated_changed: isUndatedChanged,
      preliminary: statesByPeriod(after, dataset, ({ status = {} }) =>
        Object.keys(status).filter((state) => status[state] === 'preliminary'),
      ),
      became_final: becameFinal,
    }
  })
}

/** Digests of a dataset's files by period; rows without a period have the key ''. A file of an older writer has only its bytes. */
function periodDigests(manifest: Manifest | null, dataset: string): ReadonlyMap<string, string> {
  const digests = new Map<string, string>()
  for (const { path, rows, sha256, rows_sha256 } of manifest?.files ?? []) {
    if (!path.startsWith(`${dataset}/`) || rows === 0) continue
    const month = /reference_period=(\d{6})/.exec(path)?.[1]
    const period = month === undefined ? '' : periodOf(month)
    digests.set(period, `${digests.get(period) ?? ''}${rows_sha256 ?? sha256}`)
  }
  return digests
}

function statesByPeriod(
  manifest: Manifest | null,
  dataset: string,
  select: (coverage: Coverage, period: string) => readonly string[],
): PeriodStates[] {
  return Object.entries(manifest?.coverage[dataset] ?? {}).flatMap(([period, coverage]) => {
    const states = select(coverage, period)
    return states.length === 0 ? [] : { period: periodOf(period), states: [...states].sort() }
  })
}

const finalStates = (after: Manifest | null, before: Manifest | null, dataset: string): PeriodStates[] =>
  statesByPeriod(after, dataset, ({ status = {} }, period) => {
    const then = before?.coverage[dataset]?.[period]?.status ?? {}
    return Object.keys(status).filter((state) => status[state] === 'final' && then[state] === 'preliminary')
  })
