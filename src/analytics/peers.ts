/** Reads the census population of a release for queries that are compared with peers. */
import { type CensusPopulation, checkPeers } from '../query/analytics/options/peers.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'
import { populationOf, populationYears } from '../query/analytics/resident-relations.ts'
import type { ReleaseView } from '../release/view.ts'
import { sql } from '../sql.ts'
import { type AnswerParts, run } from './query.ts'

/** Cache by release: a release has one census, and reading it takes as long as a quarter of a query. */
const CENSUSES = new WeakMap<ReleaseView, CensusPopulation>()

/**
 * @returns residents of each municipality that the census counted; none for queries without peers
 * @throws AppError 'invalid_request' when the release has no census
 */
export async function readCensusPopulation(
  { compare_to }: AnalyticsQuery,
  parts: AnswerParts,
): Promise<CensusPopulation> {
  if (compare_to?.with !== 'peers') return new Map()
  checkPeers(parts.view)
  const cached = CENSUSES.get(parts.view)
  if (cached !== undefined) return cached
  // Municipalities younger than the census are null, those that the imported file lacks are negative.
  const rows = await run(
    sql`SELECT municipality_ibge_code AS code, census_population AS residents FROM ${populationOf(populationYears(parts.view))} AS population WHERE census_population >= 0`,
    parts,
  )
  const census = new Map(rows.map(({ code, residents }) => [Number(code), Number(residents)]))
  CENSUSES.set(parts.view, census)
  return census
}
