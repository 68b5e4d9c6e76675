/** The catalog of metrics and the multidimensional query. */
import { AppError } from '../../errors.ts'
import { answerQuery, readPin } from '../../query/answer.ts'
import { listCatalog } from '../../query/catalog.ts'
import type { Route } from '../route.ts'

export const ANALYTICS: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/catalog',
    summary: 'Metrics and dimensions the key can reach.',
    capability: 'analytics.catalog.read',
    release: 'analytics',
    response: 'AnalyticsCatalogResponse',
    handle: async ({ key, language }) => ({ data: listCatalog(key?.capabilities ?? [], language) }),
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/query',
    summary: 'Metrics by dimensions under filters, exact, with a fingerprint.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsQueryResponse',
    bodyPin: readPin,
    handle: async ({ body, key, language, engine, view, signal }) => {
      if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
      const answer = await answerQuery(body, {
        engine,
        view,
        capabilities: key?.capabilities ?? [],
        language,
        signal,
      })
      return { ...answer, rows: answer.data.length }
    },
  },
]
