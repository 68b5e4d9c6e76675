/** Route of what promotions changed. Any valid key reads it, as it reads manifests. */
import { integerText } from '../../query/text-schemas.ts'
import { changesOf, type PromotionChanges } from '../../release/changes.ts'
import type { Manifest } from '../../release/manifest.ts'
import { listPromotions } from '../../release/promote.ts'
import type { Call, DataResult, Route, Services } from '../route.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100

async function listChanges({ query }: Call, { releases, trust }: Services): Promise<DataResult> {
  const promotions = await listPromotions(trust.releasesDir)
  const manifests = new Map((await releases.list()).map(({ manifest }) => [manifest.release_id, manifest]))
  const find = (id: string): Manifest | null => manifests.get(id) ?? null
  const data = promotions.slice(0, Number(query.limit ?? LIMIT_DEFAULT)).map(
    (promotion, index): PromotionChanges => ({
      ...promotion,
      in_service: index === 0 && promotion.release_id === releases.current()?.id,
      synthetic: find(promotion.release_id)?.synthetic ?? null,
      areas: changesOf(promotion, find),
    }),
  )
  return { data, rows: data.length }
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
]
