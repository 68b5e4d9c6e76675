/** Routes of what promotions changed. Any valid key reads which periods; by how much needs the capabilities of the metrics. */
import { z } from 'zod'
import { compareReleases } from '../../analytics/compare.ts'
import type { ChangedFigure } from '../../answers/releases.ts'
import { AppError } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import {
  capabilitiesOf,
  factDatasetsOf,
  METRIC_CODES,
  type MetricCode,
  metricOf,
} from '../../model/metrics.ts'
import { integerText } from '../../query/text-schemas.ts'
import { changesOf, type DatasetChange, type PromotionChanges } from '../../release/changes.ts'
import { type Manifest, RELEASE_ID } from '../../release/manifest.ts'
import { listPromotions } from '../../release/promote.ts'
import type { Call, DataResult, Route, Services } from '../route.ts'
import { awaitPlanning } from './analytics.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100

async function describePromotions({ releases, trust }: Services): Promise<PromotionChanges[]> {
  const promotions = await listPromotions(trust.releasesDir)
  const manifests = new Map((await releases.list()).map(({ manifest }) => [manifest.release_id, manifest]))
  const find = (id: string): Manifest | null => manifests.get(id) ?? null
  return promotions.map((promotion, index) => ({
    ...promotion,
    in_service: index === 0 && promotion.release_id === releases.current()?.id,
    synthetic: find(promotion.release_id)?.synthetic ?? null,
    areas: changesOf(promotion, find),
  }))
}

async function listChanges({ query }: Call, services: Services): Promise<DataResult> {
  const data = (await describePromotions(services)).slice(0, Number(query.limit ?? LIMIT_DEFAULT))
  return { data, rows: data.length }
}

/** @returns the first metric that counts or adds up a dataset alone; null where the key may not read one */
const metricOfDataset = (dataset: string, capabilities: readonly Capability[]): MetricCode | null =>
  METRIC_CODES.find(
    (code) =>
      ['sum', 'count'].includes(metricOf(code).kind) &&
      factDatasetsOf(code).join() === dataset &&
      capabilitiesOf(code).every((capability) => capabilities.includes(capability)),
  ) ?? null

/** @throws AppError 'not_found' where the release was never promoted over another one that is still here */
async function compareChanges(call: Call, services: Services): Promise<DataResult> {
  const { parameters, engine, key, language, signal } = call
  const promotions = await describePromotions(services)
  const found = promotions.find(({ release_id }) => release_id === parameters.release_id)
  const before = found?.previous_release_id ?? null
  if (found === undefined || before === null || found.areas === null) throw new AppError('not_found')
  const [view, oldView] = [await services.releases.pin(found.release_id), await services.releases.pin(before)]
  if (view === null || oldView === null) throw new AppError('not_found')
  await awaitPlanning(call)
  const capabilities = key?.capabilities ?? []
  const parts = { engine, view, before: oldView, capabilities, language, signal }
  const figures: ChangedFigure[] = []
  for (const change of found.areas.flatMap(({ datasets }) => datasets)) {
    const query = questionOf(change, metricOfDataset(change.dataset, capabilities), found.release_id, before)
    if (query === null) continue
    const { data } = await compareReleases(query, parts)
    figures.push({ dataset: change.dataset, query, rows: data })
  }
  return { data: { ...found, figures }, rows: figures.length }
}

/** Rows of one figure: the newest months that were revised. */
const MONTHS_MAX = 24

/** @returns null where no month was revised: what is new has nothing before, and undated rows have no month */
const questionOf = (
  { revised }: DatasetChange,
  metric: MetricCode | null,
  release_id: string,
  before: string,
): ChangedFigure['query'] | null => {
  const months = revised.filter((period) => /^\d{4}-\d{2}$/.test(period)).slice(-MONTHS_MAX)
  if (metric === null || months.length === 0) return null
  return {
    old_release_id: before,
    new_release_id: release_id,
    metrics: [metric],
    group_by: ['reference_period'],
    filters: [{ dimension: 'reference_period', operator: 'IN', value: months }],
  }
}

export const CHANGES: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/changes',
    operation: 'listChanges',
    summary:
      'Promotions of releases, newest first: the periods that each added, removed or revised, and what is preliminary.',
    capability: 'any',
    release: null,
    response: 'ChangesResponse',
    query: { limit: integerText(1, LIMIT_MAX).optional() },
    handle: listChanges,
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/changes/{release_id}',
    operation: 'compareChanges',
    cost: 20,
    summary:
      'The newest promotion of a release with figures: by month that it revised, old, new and causes of a metric of each dataset.',
    capability: 'analytics.query.read',
    release: null,
    response: 'ChangeFiguresResponse',
    pathSchemas: { release_id: z.string().regex(RELEASE_ID) },
    handle: compareChanges,
  },
]
