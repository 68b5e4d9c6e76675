/**
 * Keys of the response cache. The request key is the request as it came: found without reading the request. The canonical
 * key is what the request means: the same for requests that differ in writing only. Both hold all an answer depends on.
 */
import type { ReleaseView } from '../../release/view.ts'
import { methodOf, type Route } from '../route.ts'
import type { AccessClass } from './access-class.ts'
import type { Params } from './parameters.ts'

/** Longer requests hardly come twice. */
const REQUEST_KEY_MAX = 4000

/** A request as it came, as far as its answer depends on it. */
export interface RawRequest {
  readonly method: string
  readonly url: string
  readonly accept: string
  readonly text: string
}

/** @returns null for a request too long to be worth remembering */
export function requestKeyOf(
  { method, url, accept, text }: RawRequest,
  access: AccessClass,
  current: ReleaseView,
): string | null {
  if (text.length + url.length + accept.length > REQUEST_KEY_MAX) return null
  return `${numberOf(current)} ${access.number} ${accept}\n${method} ${url}\n${text}`
}

const VIEWS = new WeakMap<ReleaseView, number>()
let viewsSeen = 0
/** Of two open releases, never the same. */
function numberOf(view: ReleaseView): number {
  let number = VIEWS.get(view)
  if (number === undefined) {
    viewsSeen += 1
    number = viewsSeen
    VIEWS.set(view, number)
  }
  return number
}

/** @param more what the answer depends on besides the parameters: access class, body */
export function canonicalKeyOf(
  route: Route,
  params: Params,
  view: ReleaseView,
  more: readonly string[] = [],
): string {
  const { expected_release_id: _pin, ...others } = params
  const parameters = JSON.stringify(Object.entries(others).sort(([left], [right]) => (left < right ? -1 : 1)))
  return [view.id, methodOf(route), route.path, parameters, ...more].join('\n')
}
