/** Reads the price index of a release for queries in constant prices, and describes the prices of an answer. */
import type { AnswerPrices } from '../answers/analytics.ts'
import { checkPrices, isAtPrices, type PriceIndex } from '../query/analytics/options/prices.ts'
import type { AggregatePlan } from '../query/analytics/plan.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'
import { sql, table } from '../sql.ts'
import { type AnswerParts, run } from './query.ts'

/**
 * @returns the index numbers as integers, which are the published decimals without their point; none for values of their time
 * @throws AppError 'invalid_request' when the release has no index of the requested time
 */
export async function readPriceIndex(query: AnalyticsQuery, parts: AnswerParts): Promise<PriceIndex> {
  if (query.prices === null) return new Map()
  checkPrices(query, parts.view)
  const rows = await run(
    sql`SELECT index_month, CAST(index_value AS VARCHAR) AS index_value FROM ${table('price_index')}`,
    parts,
  )
  return new Map(
    rows.map(({ index_month, index_value }) => [
      Number(index_month),
      BigInt(String(index_value).replace('.', '')),
    ]),
  )
}

/** Says of which time the reais are, and in which metrics. */
export const describePrices = ({ query, metrics }: AggregatePlan): { readonly prices?: AnswerPrices } =>
  query.prices === null
    ? {}
    : {
        prices: {
          reais_of: query.prices,
          index: 'IPCA',
          dataset: 'price_index',
          metrics: metrics.filter(isAtPrices).map(({ code }) => code),
        },
      }
