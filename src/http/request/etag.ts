/**
 * Computes ETag and Cache-Control. A release never changes, so the tag is known before the answer is computed. Cursors, places and joined
 * records come from several components, so the tag covers the analytics release, and the build, because another one may answer in other words.
 */
import { hash } from 'node:crypto'
import { BUILD } from '../route.ts'
import type { AccessClass } from './access-class.ts'
import type { RequestState } from './state.ts'

/** Tags of compressed bodies have this suffix, because their bytes differ. */
const ENCODED_TAG = /-(br|gzip|deflate)"$/

/**
 * Sets ETag and Cache-Control for an answer from a release.
 * @param viewId id of the analytics release that answers
 * @param isPinned the request names the release, so the answer may be cached forever
 * @returns whether the client already has the answer (304)
 */
export function setValidators(
  url: string,
  viewId: string,
  ifNoneMatch: string | undefined,
  access: AccessClass,
  state: RequestState,
  isPinned: boolean,
): boolean {
  const covered = [BUILD, viewId, access.name, url].join('\n')
  state.tag = `"${hash('sha256', covered, 'base64url').slice(0, 22)}"`
  state.cacheControl = isPinned ? 'private, max-age=31536000, immutable' : 'private, no-cache'
  // `*` matches any existing answer, which is unknown until the answer is computed.
  return !isWildcard(ifNoneMatch) && matchesTag(ifNoneMatch, state.tag)
}

export const isWildcard = (header: string | undefined): boolean => header?.trim() === '*'

/** @returns whether If-None-Match contains the tag, ignoring the suffix of compressed bodies */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header === tag ||
    isWildcard(header) ||
    header
      .split(',')
      .some((candidate) => candidate.trim().replace(/^W\//, '').replace(ENCODED_TAG, '"') === tag))
