/**
 * Computes the fingerprint of a query and its result: SHA-256 over canonical JSON (RFC 8785). Pure.
 *
 * In: release, canonical query, digest of all rows. Out: 64 hex digits, equal on any machine. The SQL statement computes
 * rows_sha256: each row is its codes and values as text joined by tabs; rows are sorted by bytes and joined by line feeds.
 */
import type { JsonValue } from '../../engine/types.ts'
import { CATALOG_VERSION } from '../../model/metrics.ts'
import { digestJson } from '../../release/digest.ts'

export type NormalisedQuery = { readonly [name: string]: JsonValue }

/** Version of the fingerprint's content. Change it together with the digested fields. */
const FINGERPRINT_FORMAT = 'sus-data-query-1'

/** @returns the query without limit and offset, which select a page but do not change the result */
export function withoutPage(query: NormalisedQuery): NormalisedQuery {
  const { limit: _limit, offset: _offset, ...rest } = query
  return rest
}

export const fingerprintOf = (
  releaseId: string,
  query: NormalisedQuery,
  rowsSha256: string,
  catalogVersion: string = CATALOG_VERSION,
): string =>
  digestJson({
    format: FINGERPRINT_FORMAT,
    release_id: releaseId,
    catalog_version: catalogVersion,
    query: withoutPage(query),
    rows_sha256: rowsSha256,
  })
