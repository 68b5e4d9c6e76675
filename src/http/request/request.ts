/**
 * The life of a request, as functions from values to values:
 *
 * admit (authorise.ts)  →  the route's capability  →  cached response by request key
 * →  parameters  →  release (pin.ts)  →  304  →  row files  →  cached response, or run (handlers.ts)  →  envelope
 *
 * No stage depends on the framework: mount.ts converts its request to an ApiRequest, and send.ts writes the response. Answers that need no
 * waiting are returned without a promise.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError, both } from '../../errors.ts'
import { type Cursor, decodeCursor } from '../../query/lists/cursor.ts'
import { componentId, type ReleaseView } from '../../release/view.ts'
import { takesGzip } from '../connection/compression.ts'
import type { ApiResponse } from '../connection/send.ts'
import { fromRowFiles, type ListCall, runRoute } from '../records/handlers.ts'
import {
  type DataResult,
  type FileResult,
  type JsonResult,
  type Result,
  releaseMeta,
  type Services,
} from '../route.ts'
import { type AccessClass, accessClassOf } from './access-class.ts'
import { checkCoding, requireCapability } from './authorise.ts'
import { canonicalKeyOf, requestKeyOf } from './cache-key.ts'
import { makeEnvelope } from './envelope.ts'
import { isWildcard, setValidators } from './etag.ts'
import { formatOf, JSON_NAME, type ListFormat, preferredType } from './formats.ts'
import type { MountedRoute } from './mount.ts'
import { originOf } from './origin.ts'
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
  /** Makes a signal that aborts when the client leaves. A function, because immediate answers need no signal. */
  readonly makeSignal: () => AbortSignal
}

export interface ApiServices extends Services {
  readonly cache: ResponseCache
  readonly parseJson: (text: string) => unknown
}

interface Context {
  readonly mounted: MountedRoute
  readonly request: ApiRequest
  readonly services: ApiServices
  readonly access: AccessClass
  readonly gzipWanted: boolean
  /** Null when the request is not cached. */
  readonly requestKey: string | null
  readonly params: Params
  readonly format: ListFormat
  readonly body: unknown
  readonly pin: string | null
  readonly cursor: Cursor | null
}

const NOT_MODIFIED: ApiResponse = { status: 304, body: { kind: 'none' } }

/** @throws AppError in this order: 403, 400 for the URL, 409, 400 for the body, 404 */
export function respond(
  mounted: MountedRoute,
  request: ApiRequest,
  services: ApiServices,
): ApiResponse | Promise<ApiResponse> {
  const answer = answerRequest(mounted, request, services)
  if (!isWildcard(request.headers['if-none-match']) || !mounted.isGet) return answer
  const asNotModified = (value: ApiResponse): ApiResponse =>
    value.status === 200 && request.state.tag !== null ? NOT_MODIFIED : value
  return answer instanceof Promise ? answer.then(asNotModified) : asNotModified(answer)
}

function answerRequest(
  mounted: MountedRoute,
  request: ApiRequest,
  services: ApiServices,
): ApiResponse | Promise<ApiResponse> {
  const { route } = mounted
  const { headers, state } = request
  requireCapability(route, state.key)
  checkCoding(headers)
  const access = accessClassOf(state.key, headers['accept-language'])
  const current = mounted.area === null ? null : services.releases.current()
  const gzipWanted = takesGzip(headers['accept-encoding'])
  // Finding a record takes no longer than a cache look-up, so cache records only for gzip.
  const isCached = mounted.isCacheable && (gzipWanted || route.kind !== 'record')
  const requestKey =
    current === null || !isCached
      ? null
      : requestKeyOf(
          {
            method: request.method,
            url: request.url,
            accept: headers.accept ?? '',
            text: request.text ?? '',
          },
          access,
          current,
        )
  const recalled = requestKey === null ? null : services.cache.recall(requestKey)
  if (recalled !== null && services.releases.findOpen(recalled.response.view.id) === recalled.response.view) {
    const { response, isPinned } = recalled
    nameRelease(mounted, state, response.releaseId)
    if (
      mounted.isGet &&
      setValidators(
        addressOf(mounted, request, response.view),
        headers['if-none-match'],
        access,
        state,
        isPinned,
      )
    )
      return NOT_MODIFIED
    return fromCache(services, state, response)
  }
  const body = request.text === null ? undefined : services.parseJson(request.text)
  if (!isShallow(body, BODY_DEPTH))
    throw new AppError('invalid_request', {
      errors: [
        {
          pointer: '',
          message: both(
            `não pode ter mais de ${BODY_DEPTH} níveis`,
            `must not be nested deeper than ${BODY_DEPTH} levels`,
          ),
        },
      ],
    })
  const format = formatOf(route, headers)
  const query = (format === 'geojson' ? mounted.readFeatures : mounted.readQuery)(request.query)
  // `include=facility` returns registry data, so it needs that capability on every route.
  if (query.include === 'facility') requireCapability({ capability: 'facilities.read' }, state.key)
  const params = query === NO_PARAMS ? request.path : { ...query, ...request.path }
  const bodyPin = route.kind === 'custom' ? (route.bodyPin?.(body, params) ?? null) : null
  const pin = params.expected_release_id ?? bodyPin
  const cursor = params.cursor === undefined ? null : decodeCursor(params.cursor, services.cursorSecret)
  const context: Context = {
    mounted,
    request,
    services,
    access,
    gzipWanted,
    requestKey,
    params,
    format,
    body,
    pin,
    cursor,
  }
  if (mounted.area === null) return run(context, null)
  const view = chooseRelease(services.releases, pin, cursor)
  return view instanceof Promise
    ? view.then((pinned) => fromRelease(context, pinned))
    : fromRelease(context, view)
}

function fromRelease(context: Context, view: ReleaseView): ApiResponse | Promise<ApiResponse> {
  const { mounted, request, services, access, requestKey, params, format, pin } = context
  const { route, area } = mounted
  const { state, headers } = request
  const isPinned = pin !== null
  const releaseId = area === 'analytics' || area === null ? view.id : (componentId(view, area) ?? view.id)
  nameRelease(mounted, state, releaseId)
  // Each format of a list has different bytes, so it needs its own tag.
  const resource = format === 'json' ? addressOf(mounted, request, view) : `${format} ${request.url}`
  if (mounted.isGet && setValidators(resource, headers['if-none-match'], access, state, isPinned))
    return NOT_MODIFIED
  if (format !== 'json') return run(context, view)
  const remember = (canonicalKey: string): void => {
    if (requestKey !== null) services.cache.remember(requestKey, { canonicalKey, isPinned })
  }
  const responseOf = (result: DataResult | JsonResult): CachedResponse => ({
    envelope: makeEnvelope(result, releaseMeta(view, releaseId)),
    view,
    releaseId,
    gzip: null,
  })

  // List members one by one: spreading a large object costs more than the rest of a record request.
  const { rows, cursorSecret } = services
  const { cursor } = context
  const { language } = access
  const fromRows = fromRowFiles(route, { params, view, cursor, cursorSecret, rows, language })
  if (fromRows !== null) {
    const response = responseOf(fromRows)
    if (route.kind !== 'list' && !context.gzipWanted) return fromCache(services, state, response)
    const key = canonicalKeyOf(route, params, view, [language])
    // Adjacent rows are read quickly, and clients walk through each page once. Cache an unfiltered page only when it is requested again.
    const isSearched = route.kind === 'list' && isFiltered(route, params)
    const isWorthCaching = context.gzipWanted || isSearched || services.cache.hasKey(requestKey)
    remember(key)
    return fromCache(services, state, isWorthCaching ? services.cache.put(key, response) : response)
  }
  if (!mounted.isCacheable || !wantsEnvelope(mounted, headers)) return run(context, view)
  const extraInputs =
    route.kind === 'custom'
      ? [access.name, route.method === 'POST' ? JSON.stringify(context.body) : '']
      : [language]
  const key = canonicalKeyOf(route, params, view, extraInputs)
  const cached = services.cache.find(key)
  const answer = (response: CachedResponse): ApiResponse => {
    remember(key)
    return fromCache(services, state, response)
  }
  if (cached !== null) return answer(cached)
  return services.cache
    .get(key, async () => responseOf((await runWith(context, view)) as DataResult | JsonResult))
    .then(answer)
}

async function run(context: Context, view: ReleaseView | null): Promise<ApiResponse> {
  const { request, mounted } = context
  const result = await runWith(context, view)
  const { state } = request
  state.rows = result.rows ?? null
  if ('content' in result) {
    if (result.engine !== undefined) state.engine = result.engine
    return contentOf(result, mounted.isRaw)
  }
  const envelope = makeEnvelope(result, releaseMeta(view, state.releaseId))
  return { status: 200, body: { kind: 'envelope', envelope } }
}

const contentOf = (
  { content, contentType, headers, status = 200 }: FileResult,
  isRaw: boolean,
): ApiResponse => ({
  status,
  headers,
  // A byte range refers to the uncompressed bytes.
  body: { kind: 'content', type: contentType, content, isRaw: isRaw || status === 206 },
})

function fromCache(services: ApiServices, state: RequestState, response: CachedResponse): ApiResponse {
  const { envelope } = response
  state.rows = envelope.rows
  return { status: 200, body: { kind: 'envelope', envelope, gzip: () => services.cache.gzipOf(response) } }
}

const runWith = (context: Context, view: ReleaseView | null): Promise<Result> => {
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
    origin: originOf(headers),
    isHead: request.method === 'HEAD',
    conditions: {
      ifNoneMatch: headers['if-none-match'],
      ifRange: headers['if-range'] as string | undefined,
      // RFC 9110, 14.2: only GET has ranges.
      range: request.method === 'GET' ? headers.range : undefined,
    },
    signal: request.makeSignal(),
    url: request.url,
    format: context.format,
    preferred: (types) => preferredType(headers, types) ?? types[0] ?? '',
  }
  return runRoute(mounted.route, call, services)
}

function nameRelease({ releaseHeader }: MountedRoute, state: RequestState, releaseId: string): void {
  state.releaseId = releaseId
  state.releaseHeader = releaseHeader
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

const wantsEnvelope = ({ route }: MountedRoute, headers: IncomingHttpHeaders): boolean =>
  route.kind !== 'custom' ||
  route.produces === undefined ||
  preferredType(headers, [JSON_NAME, ...route.produces]) === JSON_NAME

/** Maximum nesting of a request body. Valid bodies have only a few levels; walking deeper ones would use stack. */
const BODY_DEPTH = 16
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1)))
