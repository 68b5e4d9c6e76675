/**
 * The life of a request, as functions from values to values:
 *
 * admit (authorise.ts)  →  the route's capability  →  cached response by request key
 * →  parameters  →  release (pin.ts)  →  304  →  cached response, or run (handlers.ts)  →  envelope
 *
 * No stage depends on the framework: mount.ts converts its request to an ApiRequest, and send.ts writes the response.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError, both } from '../../errors.ts'
import { type Cursor, decodeCursor } from '../../query/lists/cursor.ts'
import { componentId, type ReleaseView } from '../../release/view.ts'
import { takesGzip } from '../connection/compression.ts'
import type { ApiResponse } from '../connection/send.ts'
import { runRoute } from '../records/handlers.ts'
import type { ListCall } from '../records/lists.ts'
import { type DataResult, type JsonResult, type Result, releaseMeta, type Services } from '../route.ts'
import { type AccessClass, accessClassOf } from './access-class.ts'
import { checkCoding, requireCapability } from './authorise.ts'
import { canonicalKeyOf, requestKeyOf } from './cache-key.ts'
import { makeEnvelope } from './envelope.ts'
import { isWildcard, setValidators } from './etag.ts'
import { formatOf, JSON_NAME, type ListFormat, preferredType } from './formats.ts'
import type { MountedRoute } from './mount.ts'
import { isFiltered, NO_PARAMS, type Params } from './parameters.ts'
import { chooseRelease } from './pin.ts'
import { engineOfRequest } from './request-engine.ts'
import type { CachedResponse, ResponseCache } from './response-cache.ts'
import type { RequestState } from './state.ts'

export interface ApiRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly path: Params
  readonly query: object
  /** Raw JSON body; null when there is none. */
  readonly text: string | null
  readonly state: RequestState
  /** @returns a signal that aborts when the client leaves. A function, because most answers need no signal. */
  readonly signal: () => AbortSignal
}

export interface ApiServices extends Services {
  readonly cache: ResponseCache
  readonly parseJson: (text: string) => unknown
}

/** A request with what its cached response depends on. */
interface AccessContext {
  readonly mounted: MountedRoute
  readonly request: ApiRequest
  readonly services: ApiServices
  readonly access: AccessClass
  readonly isCached: boolean
  readonly gzipWanted: boolean
  /** Null when the request is not cached. */
  readonly requestKey: string | null
}

interface Context extends AccessContext {
  readonly params: Params
  readonly format: ListFormat
  readonly body: unknown
  readonly pin: string | null
  readonly cursor: Cursor | null
}

const NOT_MODIFIED: ApiResponse = { status: 304, body: { kind: 'none' } }

/** @throws AppError in this order: 403, 400 for the URL, 409, 400 for the body, 404 */
export async function respond(
  mounted: MountedRoute,
  request: ApiRequest,
  services: ApiServices,
): Promise<ApiResponse> {
  const { method, url, headers, state, text } = request
  requireCapability(mounted.route, state.key)
  checkCoding(headers)
  const access = accessClassOf(state.key, headers['accept-language'])
  const gzipWanted = takesGzip(headers['accept-encoding'])
  // Finding a record takes no longer than a cache look-up, so cache records only for gzip.
  const isCached = mounted.isCacheable && (gzipWanted || mounted.route.kind !== 'record')
  const current = isCached && mounted.area !== null ? services.releases.current() : null
  const requestKey =
    current === null
      ? null
      : requestKeyOf({ method, url, accept: headers.accept ?? '', text: text ?? '' }, access, current)
  const context = { mounted, request, services, access, isCached, gzipWanted, requestKey }
  const recalled = requestKey === null ? null : recall(context, requestKey)
  const answer = recalled ?? (await answerRequest(context))
  const exists = answer.status === 200 && state.tag !== null
  return exists && mounted.isGet && isWildcard(headers['if-none-match']) ? NOT_MODIFIED : answer
}

/** @returns the response of an identical earlier request, or 304; null when neither is known */
function recall(context: AccessContext, requestKey: string): ApiResponse | null {
  const { services } = context
  const recalled = services.cache.recall(requestKey)
  if (recalled === null) return null
  const { response, isPinned } = recalled
  const { view, releaseId } = response
  if (services.releases.findOpen(view.id) !== view) return null
  return isNotModified(context, view, releaseId, isPinned, 'json')
    ? NOT_MODIFIED
    : fromCache(context, response)
}

async function answerRequest(access: AccessContext): Promise<ApiResponse> {
  const context = readRequest(access)
  const { mounted, services, pin, cursor, format, params, requestKey } = context
  const { route, area } = mounted
  if (area === null) return run(context, null)
  const view = await chooseRelease(services.releases, pin, cursor)
  const releaseId = area === 'analytics' ? view.id : (componentId(view, area) ?? view.id)
  // A component of another area may belong to several releases that answer differently.
  const isPinned = pin === view.id || pin === releaseId
  if (isNotModified(context, view, releaseId, isPinned, format)) return NOT_MODIFIED
  if (!context.isCached || format !== 'json' || !wantsEnvelope(context)) return run(context, view)
  const key = canonicalKeyOf(route, params, view, inputsOf(context))
  // Clients walk through the pages of a list once, so cache an unfiltered page only when it is requested again.
  const isKept =
    context.gzipWanted ||
    route.kind !== 'list' ||
    isFiltered(route, params) ||
    services.cache.hasKey(requestKey)
  const make = async (): Promise<CachedResponse> => {
    const result = (await runCall(context, view)) as DataResult | JsonResult
    return { envelope: makeEnvelope(result, releaseMeta(view, releaseId)), view, releaseId, gzip: null }
  }
  const response = isKept ? await services.cache.get(key, make) : await make()
  if (requestKey !== null) services.cache.remember(requestKey, { canonicalKey: key, isPinned })
  return fromCache(context, response)
}

/** Reads body, format, parameters, pin and cursor. @throws AppError 'invalid_request', 'not_acceptable', 'forbidden', 'invalid_cursor' */
function readRequest(access: AccessContext): Context {
  const { mounted, request, services } = access
  const { route } = mounted
  const body = request.text === null ? undefined : readBody(request.text, services)
  const format = formatOf(mounted.types, request.headers)
  const query = (format === 'geojson' ? mounted.readFeatures : mounted.readQuery)(request.query)
  // `include=facility` returns registry data, so it needs that capability on every route.
  if (query.include === 'facility') requireCapability({ capability: 'facilities.read' }, request.state.key)
  const params = query === NO_PARAMS ? request.path : { ...query, ...request.path }
  const bodyPin = route.kind === 'custom' ? (route.bodyPin?.(body, params) ?? null) : null
  const pin = params.expected_release_id ?? bodyPin
  const cursor = params.cursor === undefined ? null : decodeCursor(params.cursor, services.cursorSecret)
  return { ...access, params, format, body, pin, cursor }
}

/** Names the release that answers and sets the validators. @returns whether the client already has the answer */
function isNotModified(
  { mounted, request, access }: AccessContext,
  view: ReleaseView,
  releaseId: string,
  isPinned: boolean,
  format: ListFormat,
): boolean {
  const { state, headers, url } = request
  state.releaseId = releaseId
  state.releaseHeader = mounted.releaseHeader
  if (!mounted.isGet) return false
  // Each format of a list has different bytes, so it needs its own tag.
  const resource = format === 'json' ? addressOf(mounted, request, view) : `${format} ${url}`
  return setValidators(resource, view.id, headers['if-none-match'], access, state, isPinned)
}

async function run(context: Context, view: ReleaseView | null): Promise<ApiResponse> {
  const { mounted, request } = context
  const { state } = request
  const result = await runCall(context, view)
  state.rows = result.rows ?? null
  if (!('content' in result)) {
    const envelope = makeEnvelope(result, releaseMeta(view, state.releaseId))
    return { status: 200, body: { kind: 'envelope', envelope } }
  }
  if (result.engine !== undefined) state.engine = result.engine
  const { content, contentType: type, headers, status = 200 } = result
  // A byte range refers to the uncompressed bytes.
  const isRaw = mounted.isRaw || status === 206
  return { status, headers, body: { kind: 'content', type, content, isRaw } }
}

function fromCache({ services, request }: AccessContext, response: CachedResponse): ApiResponse {
  const { envelope } = response
  request.state.rows = envelope.rows
  return { status: 200, body: { kind: 'envelope', envelope, gzip: () => services.cache.gzipOf(response) } }
}

const runCall = (context: Context, view: ReleaseView | null): Promise<Result> => {
  const { request, mounted, params, body, cursor, services } = context
  const { headers } = request
  const call: ListCall = {
    parameters: request.path,
    query: params,
    cursor,
    view,
    body,
    engine: engineOfRequest(services.engine, request.state),
    key: request.state.key,
    language: context.access.language,
    headers,
    method: request.method,
    signal: request.signal,
    url: request.url,
    format: context.format,
  }
  return runRoute(mounted.route, call, services)
}

/**
 * @returns what the entity tag covers: the URL, plus the content type if the client chose one. Answers about sources also show where
 * files were fetched, which no release id covers; the tags of all others depend on the release alone.
 */
function addressOf({ route }: MountedRoute, { url, headers }: ApiRequest, view: ReleaseView): string {
  if (route.kind === 'provenance')
    return view.acquired === undefined ? url : `${url}\n${view.acquired.digest}`
  if (route.kind !== 'custom' || route.produces === undefined) return url
  const type = preferredType(headers, [JSON_NAME, ...route.produces])
  return type === JSON_NAME ? url : `${url}\n${type}`
}

const wantsEnvelope = ({ mounted, request }: AccessContext): boolean =>
  mounted.route.kind !== 'custom' ||
  mounted.route.produces === undefined ||
  preferredType(request.headers, [JSON_NAME, ...mounted.route.produces]) === JSON_NAME

/** @returns what an answer depends on besides its release and parameters */
const inputsOf = ({ mounted: { route }, access, body }: Context): readonly string[] =>
  route.kind === 'custom'
    ? [access.name, route.method === 'POST' ? JSON.stringify(body) : '']
    : [access.language]

/** @throws AppError 'invalid_request', SyntaxError */
function readBody(text: string, { parseJson }: ApiServices): unknown {
  const body = parseJson(text)
  if (!isShallow(body, BODY_DEPTH))
    throw refusedBody(
      both(
        `não pode ter mais de ${BODY_DEPTH} níveis`,
        `must not be nested deeper than ${BODY_DEPTH} levels`,
      ),
    )
  if (!hasFiniteNumbers(body))
    throw refusedBody(both('tem um número grande demais', 'has a number that is too large'))
  return body
}

const refusedBody = (message: ReturnType<typeof both>): AppError =>
  new AppError('invalid_request', { errors: [{ pointer: '', message }] })

/** 1e999 is infinite, and JSON.stringify, which makes the key of an answer, would write it as null. */
const hasFiniteNumbers = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value)
    : typeof value !== 'object' || value === null || Object.values(value).every(hasFiniteNumbers)

/** Maximum nesting of a request body. Valid bodies have only a few levels; walking deeper ones would use stack. */
const BODY_DEPTH = 16
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1)))
