/**
 * Validators of an answer: its ETag and Cache-Control. A release never changes, so its id, the address, the language and what
 * the key may see make the tag before the answer is known. Pure, but for tags that are remembered.
 */
import { hash } from 'node:crypto'
import { VERSION } from '../route.ts'
import type { AccessClass } from './access-class.ts'
import type { RequestState } from './state.ts'

/** Compressed bytes are other bytes, so their tag has a suffix. */
const ENCODED_TAG = /-(br|gzip|deflate)"$/
const TAGS_MAX = 100

function tagBase({ name, tags }: AccessClass, releaseId: string): string {
  let tag = tags.get(releaseId)
  if (tag === undefined) {
    tag = hash('sha256', [VERSION, releaseId, name].join('\n'), 'base64url').slice(0, 22)
    if (tags.size >= TAGS_MAX) tags.clear()
    tags.set(releaseId, tag)
  }
  return tag
}

/** FNV-1a: tags are compared for one address, so this only keeps those of others from looking alike. */
function checksum(text: string): string {
  let sum = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193)
  return (sum >>> 0).toString(36)
}

/**
 * Sets ETag and Cache-Control of an answer from a release.
 * @param isPinned the request names the release itself: the answer may be cached for ever
 * @returns whether the client has the answer already (304)
 */
export function setValidators(
  url: string,
  ifNoneMatch: string | undefined,
  access: AccessClass,
  state: RequestState,
  isPinned: boolean,
): boolean {
  state.tag = `"${tagBase(access, state.releaseId ?? '')}-${checksum(url)}"`
  state.cacheControl = isPinned ? 'private, max-age=31536000, immutable' : 'private, no-cache'
  // Whether there is anything at all, as * asks, is known with the answer only.
  return !isAny(ifNoneMatch) && matchesTag(ifNoneMatch, state.tag)
}

/** Does If-None-Match ask for any answer that is there? */
export const isAny = (header: string | undefined): boolean => header?.trim() === '*'

/** Does If-None-Match name a tag? Tags of compressed bodies count as those of the body. */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header === tag ||
    isAny(header) ||
    header
      .split(',')
      .some((candidate) => candidate.trim().replace(/^W\//, '').replace(ENCODED_TAG, '"') === tag))
