/**
 * The fingerprint of a query and its result: SHA-256 of canonical JSON (RFC 8785). Pure.
 *
 * In: the release, the canonical query, the digest of all its rows. Out: 64 hex digits, equal on any machine.
 * rows_sha256 itself is made where the rows are (the dialect): each row is its codes and values as text, joined by a tab;
 * the rows sorted by their bytes and joined by a line feed.
 */
import type { JsonValue } from '../../engine/types.ts'
import { CATALOG_VERSION } from '../../model/metrics.ts'
import { digestJson } from '../../release/digest.ts'

/** A query in its canonical form, as meta.query shows it. */
export type NormalisedQuery = { readonly [name: string]: JsonValue }

/** What a fingerprint is made of; a change of it is a new format. */
const FINGERPRINT_FORMAT = 'sus-data-query-1'

/** @returns the query without limit and offset: they choose a page of the result, not the result */
export function withoutPage(query: NormalisedQuery): NormalisedQuery {
  const { limit: _limit, offset: _offset, ...rest } = query
  return rest
}

/** @param rowsSha256 digest of all rows of the query */
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
