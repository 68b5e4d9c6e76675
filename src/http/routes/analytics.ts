/** The catalog of metrics and the multidimensional query. */
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { DIMENSION_CODES } from '../../model/dimensions.ts'
import { answerQuery, readPin } from '../../query/answer.ts'
import { listCatalog } from '../../query/catalog.ts'
import { listFixedValues, parentOf, planDimensionValues } from '../../query/dimension-values.ts'
import type { CustomAnswer, CustomRequest, Route } from '../route.ts'

const wholeNumber = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${low} to ${high}`)
    .refine(
      (text) => Number(text) >= low && Number(text) <= high,
      `must be a whole number from ${low} to ${high}`,
    )

async function listValues({
  parameters,
  query,
  engine,
  view,
  signal,
  language,
}: CustomRequest): Promise<CustomAnswer> {
  const code = DIMENSION_CODES.find((known) => known === parameters.dimensionCode)
  if (code === undefined)
    throw new AppError('unknown_dimension', {
      errors: [
        {
          parameter: 'dimensionCode',
          message: 'is not a dimension of the catalog',
          allowed: DIMENSION_CODES,
        },
      ],
    })
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const limit = Number(query.limit ?? 50)
  const offset = Number(query.offset ?? 0)
  const search = query.search ?? null
  const fixed = listFixedValues(code, view, language, search)
  const parent = parentOf(code)
  const rows =
    fixed === null
      ? await engine.run(planDimensionValues(code, view, search, limit, offset), view, { signal })
      : []
  const total = fixed?.length ?? Number(rows[0]?.total ?? 0)
  const data =
    fixed?.slice(offset, offset + limit).map(({ code: value, name }) => ({ code: value, name })) ??
    rows
      .filter((row) => row.position !== null)
      .map((row) => ({
        code: row.code ?? null,
        name: row.name ?? null,
        ...(parent === null ? {} : { parent: { dimension: parent, code: row.parent ?? null } }),
      }))
  return {
    data,
    pagination: { limit, offset, total, has_more: offset + data.length < total },
    rows: data.length,
  }
}

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
    method: 'GET',
    path: '/v1/analytics/dimensions/{dimensionCode}/values',
    summary: 'Members of a dimension, for filters and selectors.',
    capability: 'analytics.catalog.read',
    release: 'analytics',
    response: 'DimensionValuesResponse',
    query: {
      limit: wholeNumber(1, 250).optional(),
      offset: wholeNumber(0, 1_000_000).optional(),
      search: z.string().min(1).max(100).optional(),
    },
    handle: listValues,
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
