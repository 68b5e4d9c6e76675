/**
 * The fingerprint of a question and its answer: SHA-256 of canonical JSON (RFC 8785). Pure.
 *
 * In: the release, the question in its one spelling, the digest of all its rows. Out: 64 hex digits, equal on any machine.
 * rows_sha256 itself is made where the rows are (the dialect): each row is its codes and values as text, joined by a tab;
 * the rows sorted by their bytes and joined by a line feed.
 */
import type { JsonValue } from '../engine/types.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { digestJson } from '../release/digest.ts'

/** A query in its one spelling, as meta.query shows it. */
export type NormalisedQuery = { readonly [name: string]: JsonValue }

/** What a fingerprint is made of; a change of it is a new format. */
const FINGERPRINT_FORMAT = 'sus-data-query-1'

/** Page and size are how an answer is read, not what is asked. */
export function questionOf(query: NormalisedQuery): NormalisedQuery {
  const { limit: _limit, offset: _offset, ...question } = query
  return question
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
    query: questionOf(query),
    rows_sha256: rowsSha256,
  })
