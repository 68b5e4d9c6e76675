/**
 * What a request is, for answers that are kept: its spelling (the same spelling has the same answer) and its tag (the same
 * tag, the same bytes). Pure, but for what is remembered so that it is made once.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Key } from '../keys/keys.ts'
import type { ReleaseView } from '../release/view.ts'
import { type Language, languageOf } from './problem.ts'
import { methodOf, type Route, VERSION } from './route.ts'
import type { RequestState } from './state.ts'

/** Of Node.js or of Fastify. */
export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** Compressed bytes are other bytes, so app.ts gives their tag a suffix. */
const ENCODED_TAG = /-(br|gzip|deflate)"$/

/** What makes answers of one release differ: what a key may read, and the language. */
interface Standing {
  /** No two standings have the same. */
  readonly number: number
  readonly name: string
  /** Release id → first half of its tags. */
  readonly tags: Map<string, string>
}

const STANDINGS = new Map<string, Standing>()
const STANDINGS_MAX = 1000
let standingsMade = 0
function makeStanding(name: string): Standing {
  let standing = STANDINGS.get(name)
  if (standing === undefined) {
    standingsMade += 1
    standing = { number: standingsMade, name, tags: new Map() }
    if (STANDINGS.size >= STANDINGS_MAX) STANDINGS.clear()
    STANDINGS.set(name, standing)
  }
  return standing
}

/** Keys are the same objects until their file changes: what is asked at every request is found by them. */
const STANDINGS_OF_KEYS = new WeakMap<Key, Record<Language, Standing>>()
const NO_KEY: Record<Language, Standing> = { pt: makeStanding('pt '), en: makeStanding('en ') }
function standingOf({ headers }: Asked, { key }: RequestState): Standing {
  const language = languageOf(headers['accept-language'])
  if (key === null) return NO_KEY[language]
  let standings = STANDINGS_OF_KEYS.get(key)
  if (standings === undefined) {
    const capabilities = key.capabilities.join()
    standings = { pt: makeStanding(`pt ${capabilities}`), en: makeStanding(`en ${capabilities}`) }
    STANDINGS_OF_KEYS.set(key, standings)
  }
  return standings[language]
}

/** A request as it came, with all an answer that is kept depends on: the same spelling has the same answer. */
export function spellingOf(asked: Asked, state: RequestState, view: ReleaseView): string | null {
  const { method, url, headers } = asked
  const { accept = '' } = headers
  if (state.text.length + url.length + accept.length > SPELLING_MAX) return null
  const { number } = standingOf(asked, state)
  return `${numberOf(view)} ${number} ${accept}\n${method} ${url}\n${state.text}`
}
const VIEWS = new WeakMap<ReleaseView, number>()
let viewsSeen = 0
/** Of two releases, never the same. */
function numberOf(view: ReleaseView): number {
  let number = VIEWS.get(view)
  if (number === undefined) {
    viewsSeen += 1
    number = viewsSeen
    VIEWS.set(view, number)
  }
  return number
}
/** Everything an answer depends on, however it is spelled. @param standing what it depends on besides the parameters */
export function questionOf(
  route: Route,
  given: Readonly<Record<string, string>>,
  view: ReleaseView,
  standing: readonly string[] = [],
): string {
  const { expected_release_id: _pin, ...asked } = given
  const parameters = JSON.stringify(Object.entries(asked).sort(([left], [right]) => (left < right ? -1 : 1)))
  return [view.id, methodOf(route), route.path, parameters, ...standing].join('\n')
}

/** Longer ones are hardly asked twice. */
export const SPELLING_MAX = 4000

const TAGS_MAX = 100
function tagBase({ name, tags }: Standing, releaseId: string): string {
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

/** A release never changes, so its id, the question and the language make the tag. @returns whether 304 is the answer */
export function setValidators(asked: Asked, state: RequestState, pinned: boolean): boolean {
  const base = tagBase(standingOf(asked, state), state.releaseId ?? '')
  state.tag = `"${base}-${checksum(asked.url)}"`
  state.cacheControl = pinned ? 'private, max-age=31536000, immutable' : 'private, no-cache'
  return matchesTag(asked.headers['if-none-match'], state.tag)
}

/** Does If-None-Match name a tag? Tags of compressed bodies count as those of the body. */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header === tag ||
    header === '*' ||
    header
      .split(',')
      .some((candidate) => candidate.trim().replace(/^W\//, '').replace(ENCODED_TAG, '"') === tag))
