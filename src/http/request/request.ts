/**
 * The life of a request, from its parts to a response value:
 *
 *   admit (authorise.ts)  →  the route's capability  →  a cached response under the request's own bytes
 *   →  parameters  →  release (pin.ts)  →  304  →  row files  →  cached response, or run (handlers.ts)  →  envelope
 *
 * Each stage takes values and gives values; none of them knows the framework. `mount.ts` turns the framework's request into
 * an ApiRequest, and `send.ts` writes the response value. What needs no waiting is answered without a promise.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Engine, ReleaseSource } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import type { Trust } from '../../keys/trust.ts'
import { type Cursor, decodeCursor } from '../../query/lists/cursor.ts'
import type { Lookups } from '../../query/lists/lookup-batches.ts'
import { componentId, type ReleaseView } from '../../release/view.ts'
import type { ReportPool } from '../../report/pool.ts'
import type { RowStore } from '../../rows/row-store.ts'
import { takesGzip } from '../connection/compression.ts'
import type { ApiResponse } from '../connection/send.ts'
import { fromRowFiles, runRoute } from '../records/handlers.ts'
import {
  type DataResult,
  type FileProblems,
  type FileResult,
  type JsonResult,
  type Result,
  releaseMeta,
} from '../route.ts'
import { type AccessClass, accessClassOf } from './access-class.ts'
import { checkCoding, requireCapability } from './authorise.ts'
import { canonicalKeyOf, requestKeyOf } from './cache-key.ts'
import { makeEnvelope } from './envelope.ts'
import { isAny, setValidators } from './etag.ts'
import { formatOf, JSON_NAME, type ListFormat, preferredType } from './formats.ts'
import type { MountedRoute } from './mount.ts'
import { originOf } from './origin.ts'
import { isFiltered, NO_PARAMS, type Params } from './parameters.ts'
import { chooseRelease } from './pin.ts'
import { engineOfRequest } from './request-engine.ts'
import type { CachedResponse, ResponseCache } from './response-cache.ts'
import type { RequestState } from './state.ts'

/** A request of a route, admitted, as a value. */
export interface ApiRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Parameters of the path, by the names of the route's path. */
  readonly path: Params
  /** Parameters of the query, as they came. */
  readonly query: object
  /** A JSON body as it came; null where there is none. */
  readonly text: string | null
  readonly state: RequestState
  /** Makes what is aborted when the client leaves before its answer; what is answered at once needs none. */
  readonly makeSignal: () => AbortSignal
}

/** What the stages work with. */
export interface ApiParts {
  readonly engine: Engine
  /** Records by key, where no row file holds them. */
  readonly lookups: Lookups
  readonly releases: ReleaseSource
  readonly reports: ReportPool
  /** Row files of open releases; null: the engine answers everything. */
  readonly rows: RowStore | null
  readonly cache: ResponseCache
  /** The keys whose signatures are known here. */
  readonly trust: Trust
  /** What is wrong with files that are not a release's; absent: nobody looks. */
  readonly fileProblems?: FileProblems
  readonly cursorSecret: Buffer
  /** @throws what the framework throws for a text that is no JSON */
  readonly parseJson: (text: string) => unknown
}

/** What later stages know of a request. */
interface Context {
  readonly mounted: MountedRoute
  readonly request: ApiRequest
  readonly parts: ApiParts
  readonly access: AccessClass
  readonly gzipWanted: boolean
  /** Null where the request is not one to be remembered. */
  readonly requestKey: string | null
  readonly params: Params
  /** The form a list is wanted in. */
  readonly format: ListFormat
  readonly body: unknown
  readonly pin: string | null
  readonly cursor: Cursor | null
}

const NOT_MODIFIED: ApiResponse = { status: 304, body: { kind: 'none' } }

/** @throws AppError: 403, then 400 of the address, then 409, then 400 of what a body asks, then 404 */
export function respond(
  mounted: MountedRoute,
  request: ApiRequest,
  parts: ApiParts,
): ApiResponse | Promise<ApiResponse> {
  const answer = answerRequest(mounted, request, parts)
  if (!isAny(request.headers['if-none-match']) || !mounted.isGet) return answer
  const modified = (value: ApiResponse): ApiResponse =>
    value.status === 200 && request.state.tag !== null ? NOT_MODIFIED : value
  return answer instanceof Promise ? answer.then(modified) : modified(answer)
}

function answerRequest(
  mounted: MountedRoute,
  request: ApiRequest,
  parts: ApiParts,
): ApiResponse | Promise<ApiResponse> {
  const { route } = mounted
  const { headers, state } = request
  requireCapability(route, state.key)
  checkCoding(headers)
  const access = accessClassOf(state.key, headers['accept-language'])
  const current = mounted.area === null ? null : parts.releases.current()
  const gzipWanted = takesGzip(headers['accept-encoding'])
  // A record is read as fast as it is found in the cache, unless it is to be compressed.
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
  const recalled = requestKey === null ? null : parts.cache.recall(requestKey)
  if (recalled !== null && parts.releases.findOpen(recalled.response.view.id) === recalled.response.view) {
    const { response, isPinned } = recalled
    nameRelease(mounted, state, response.releaseId)
    if (
      mounted.isGet &&
      setValidators(addressOf(mounted, request), headers['if-none-match'], access, state, isPinned)
    )
      return NOT_MODIFIED
    return fromCache(parts, state, response)
  }
  const body = request.text === null ? undefined : parts.parseJson(request.text)
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
  // A facility's address is of the registry of facilities, whatever it stands beside.
  if (query.include === 'facility') requireCapability({ capability: 'facilities.read' }, state.key)
  const params = query === NO_PARAMS ? request.path : { ...query, ...request.path }
  const bodyPin = route.kind === 'custom' ? (route.bodyPin?.(body, params) ?? null) : null
  const pin = params.expected_release_id ?? bodyPin
  const cursor = params.cursor === undefined ? null : decodeCursor(params.cursor, parts.cursorSecret)
  const context: Context = {
    mounted,
    request,
    parts,
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
  const view = chooseRelease(parts.releases, pin, cursor)
  return view instanceof Promise
    ? view.then((found) => fromRelease(context, found))
    : fromRelease(context, view)
}

/** The stages behind the choice of a release. */
function fromRelease(context: Context, view: ReleaseView): ApiResponse | Promise<ApiResponse> {
  const { mounted, request, parts, access, requestKey, params, format, pin } = context
  const { route, area } = mounted
  const { state, headers } = request
  const isPinned = pin !== null
  const releaseId = area === 'analytics' || area === null ? view.id : (componentId(view, area) ?? view.id)
  nameRelease(mounted, state, releaseId)
  // Each form of a list is other bytes, so it has another tag.
  const resource = format === 'json' ? addressOf(mounted, request) : `${format} ${request.url}`
  if (mounted.isGet && setValidators(resource, headers['if-none-match'], access, state, isPinned))
    return NOT_MODIFIED
  if (format !== 'json') return run(context, view)
  const remember = (canonicalKey: string): void => {
    if (requestKey !== null) parts.cache.remember(requestKey, { canonicalKey, isPinned })
  }
  const responseOf = (result: DataResult | JsonResult): CachedResponse => ({
    envelope: makeEnvelope(result, releaseMeta(view, releaseId)),
    view,
    releaseId,
    gzip: null,
  })

  // Written out: spreading an object of many members costs more than all the rest of a record.
  const { rows, cursorSecret } = parts
  const { cursor } = context
  const { language } = access
  const fromRows = fromRowFiles(route, { params, view, cursor, cursorSecret, rows, language })
  if (fromRows !== null) {
    const response = responseOf(fromRows)
    if (route.kind !== 'list' && !context.gzipWanted) return fromCache(parts, state, response)
    const key = canonicalKeyOf(route, params, view, [language])
    // Rows that stand together are read quickly, and who walks a list asks for each page once: such a page is cached when it is asked
    // for again.
    const isSearched = route.kind === 'list' && isFiltered(route, params)
    const isWorthCaching = context.gzipWanted || isSearched || parts.cache.knows(requestKey)
    remember(key)
    return fromCache(parts, state, isWorthCaching ? parts.cache.put(key, response) : response)
  }
  if (!mounted.isCacheable || !wantsEnvelope(mounted, headers)) return run(context, view)
  const more =
    route.kind === 'custom'
      ? [access.name, route.method === 'POST' ? JSON.stringify(context.body) : '']
      : [language]
  const key = canonicalKeyOf(route, params, view, more)
  const cached = parts.cache.find(key)
  const answer = (response: CachedResponse): ApiResponse => {
    remember(key)
    return fromCache(parts, state, response)
  }
  if (cached !== null) return answer(cached)
  return parts.cache
    .get(key, async () => responseOf((await runWith(context, view)) as DataResult | JsonResult))
    .then(answer)
}

/** Runs a route whose answer is not cached. */
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
  // A part is of the bytes as they are.
  body: { kind: 'content', type: contentType, content, isRaw: isRaw || status === 206 },
})

function fromCache(parts: ApiParts, state: RequestState, response: CachedResponse): ApiResponse {
  const { envelope } = response
  state.rows = envelope.rows
  return { status: 200, body: { kind: 'envelope', envelope, gzip: () => parts.cache.gzipOf(response) } }
}

const runWith = (context: Context, view: ReleaseView | null): Promise<Result> => {
  const { request, mounted, params, body, cursor, parts } = context
  const { headers } = request
  return runRoute(mounted.route, {
    parameters: request.path,
    query: params,
    cursor,
    cursorSecret: parts.cursorSecret,
    view,
    body,
    engine: engineOfRequest(parts.engine, request.state),
    lookups: parts.lookups,
    reports: parts.reports,
    rows: parts.rows,
    releases: parts.releases,
    trust: parts.trust,
    ...(parts.fileProblems === undefined ? {} : { fileProblems: parts.fileProblems }),
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
  })
}

function nameRelease({ releaseHeader }: MountedRoute, state: RequestState, releaseId: string): void {
  state.releaseId = releaseId
  state.releaseHeader = releaseHeader
}

/** What a tag is of: the address, and the content type where the client chooses one. */
function addressOf({ route }: MountedRoute, { url, headers }: ApiRequest): string {
  if (route.kind !== 'custom' || route.produces === undefined) return url
  const type = preferredType(headers, [JSON_NAME, ...route.produces])
  return type === JSON_NAME ? url : `${url}\n${type}`
}

/** Is the answer the JSON envelope, not another format of the route? */
const wantsEnvelope = ({ route }: MountedRoute, headers: IncomingHttpHeaders): boolean =>
  route.kind !== 'custom' ||
  route.produces === undefined ||
  preferredType(headers, [JSON_NAME, ...route.produces]) === JSON_NAME

/** No body of any route is deeper than a handful of levels; past that, walking it costs stack. */
const BODY_DEPTH = 16
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1)))
