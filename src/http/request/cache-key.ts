/**
 * Computes the keys of the response cache. The request key is the raw request, found without parsing it. The canonical key is equal for
 * requests that differ only in notation. Both contain everything that the answer depends on.
 */
import type { ReleaseView } from '../../release/view.ts'
import { methodOf, type Route } from '../route.ts'
import type { AccessClass } from './access-class.ts'
import type { Params } from './parameters.ts'

/** Longest cached request, in characters. Longer ones rarely repeat. */
const REQUEST_KEY_MAX = 4000

export interface RawRequest {
  readonly method: string
  readonly url: string
  readonly accept: string
  readonly text: string
}

/** @returns null for a request too long to cache */
export function requestKeyOf(
  { method, url, accept, text }: RawRequest,
  access: AccessClass,
  current: ReleaseView,
): string | null {
  if (text.length + url.length + accept.length > REQUEST_KEY_MAX) return null
  return `${numberOf(current)} ${access.number} ${accept}\n${method} ${url}\n${text}`
}

const VIEW_NUMBERS = new WeakMap<ReleaseView, number>()
let lastNumber = 0
/** @returns a number unique to this open release */
function numberOf(view: ReleaseView): number {
  let number = VIEW_NUMBERS.get(view)
  if (number === undefined) {
    lastNumber += 1
    number = lastNumber
    VIEW_NUMBERS.set(view, number)
  }
  return number
}

/** @param extra other inputs of the answer: access class, body */
export function canonicalKeyOf(
  route: Route,
  params: Params,
  view: ReleaseView,
  extra: readonly string[] = [],
): string {
  const { expected_release_id: pin, ...unpinned } = params
  // Cursors of a list that is pinned by a component name the component.
  const named = pin === undefined || pin === view.id ? unpinned : params
  const parameters = JSON.stringify(Object.entries(named).sort(([left], [right]) => (left < right ? -1 : 1)))
  return [view.id, methodOf(route), route.path, parameters, ...extra].join('\n')
}
