/** Routes of what promotions changed. Any valid key reads which periods; by how much needs the capabilities of the metrics. */
import { z } from 'zod'
import { findChangedFigures } from '../../analytics/changed-figures.ts'
import type { ChangedFigure, ChangeFigures } from '../../answers/releases.ts'
import { AppError } from '../../errors.ts'
import { integerText } from '../../query/text-schemas.ts'
import { changesOf, type PromotionChanges } from '../../release/changes.ts'
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

/** @throws AppError 'not_found' where the release is neither here nor was promoted */
async function compareChanges(call: Call, services: Services): Promise<DataResult> {
  const id = call.parameters.release_id ?? ''
  const promotions = await describePromotions(services)
  const found = promotions.find(({ release_id }) => release_id === id)
  if (found === undefined) return { data: await describeUnpromoted(id, services), rows: 0 }
  const figures = await findFigures(found, call, services)
  return { data: { ...found, figures }, rows: figures.length }
}

/** The first release of a folder can be in service without a promotion. */
async function describeUnpromoted(id: string, { releases }: Services): Promise<ChangeFigures> {
  const located = await releases.locate(id)
  if (located === null) throw new AppError('not_found')
  return {
    promoted_at: null,
    release_id: id,
    previous_release_id: null,
    in_service: releases.current()?.id === id,
    synthetic: located.manifest.synthetic,
    areas: null,
    figures: [],
  }
}

/** @returns none for the first promotion, and where one of the two releases is no longer here */
async function findFigures(
  { release_id, previous_release_id, areas }: PromotionChanges,
  call: Call,
  { releases }: Services,
): Promise<readonly ChangedFigure[]> {
  if (areas === null || previous_release_id === null) return []
  const [view, before] = [await releases.pin(release_id), await releases.pin(previous_release_id)]
  if (view === null || before === null) return []
  await awaitPlanning(call)
  const { engine, key, language, signal } = call
  const capabilities = key?.capabilities ?? []
  return findChangedFigures(areas, { engine, view, before, capabilities, language, signal: signal() })
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
