/**
 * A Route → Fastify: parameters checked, release pinned, kind answered, enveloped. One path for every route, so that the
 * order of refusals is the same everywhere: 401, 429, 403, 400, 409, 404.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Engine, ReleaseSource } from '../engine/types.ts'
import { AppError } from '../errors.ts'
import type { DatasetName } from '../model/datasets.ts'
import { type Cursor, decodeCursor } from '../query/cursor.ts'
import { filterSchema } from '../query/filters.ts'
import { componentId, latestPeriod, type ReleaseView } from '../release/view.ts'
import type { ReportPool } from '../report/pool.ts'
import type { RowStore } from '../rows/rows.ts'
import { answerAll, answerList, answerProvenance, answerRecord, answerScoped } from './answer.ts'
import { type AnswerCache, keepAnswer } from './answer-cache.ts'
import { questionOf, setValidators, spellingOf } from './identity.ts'
import { type Given, isFiltered, queryReader } from './parameters.ts'
import { languageOf } from './problem.ts'
import {
  type CustomAnswer,
  fastifyPath,
  methodOf,
  type Route,
  releaseAreaOf,
  releaseHeaderOf,
  releaseMeta,
  type StreamAnswer,
  VERSION,
  type WrittenAnswer,
} from './route.ts'
import type { Sender } from './send.ts'
import { type RequestState, stateOf } from './state.ts'

export interface MountParts {
  readonly engine: Engine
  readonly releases: ReleaseSource
  readonly reports: ReportPool
  readonly rows: RowStore | null
  readonly cache: AnswerCache
  readonly publicKey: () => string | null
  readonly cursorSecret: Buffer
  readonly sender: Sender
}

export function mountRoute(app: FastifyInstance, route: Route, parts: MountParts): void {
  const readQuery = queryReader(route)
  const { sender } = parts
  const isGet = methodOf(route) === 'GET'
  const area = releaseAreaOf(route)
  const releaseHeader = releaseHeaderOf(route)
  const capability = route.capability === 'any' ? null : route.capability
  const mayBeKept = route.kind !== 'custom' || route.isKept === true
  app.route({
    method: methodOf(route),
    url: fastifyPath(route.path),
    ...(route.kind === 'custom' && route.isRaw === true ? { compress: false as const } : {}),
    handler: async (request, reply) => {
      const state = stateOf(request)
      if (capability !== null && !(state.key?.capabilities.includes(capability) ?? false))
        throw new AppError('forbidden', {
          detail: `The key lacks the capability ${capability}.`,
          extra: { capability },
        })
      const current = area === null ? null : parts.releases.current()
      const spelling = current === null || !mayBeKept ? null : spellingOf(request, state, current)
      if (!isShallow(request.body, BODY_DEPTH))
        throw new AppError('invalid_request', {
          errors: [{ pointer: '', message: `must not be nested deeper than ${BODY_DEPTH} levels` }],
        })
      const given = { ...readQuery(request.query as object), ...parametersOf(request) }
      const bodyPin =
        route.kind === 'custom' && route.bodyPin !== undefined ? route.bodyPin(request.body, given) : null
      const pin = given.expected_release_id ?? bodyPin
      const cursor = given.cursor === undefined ? null : decodeCursor(given.cursor, parts.cursorSecret)
      const view = area === null ? null : await chooseRelease(parts, pin ?? null, cursor)
      if (view !== null && area !== null) {
        answerFrom(
          state,
          releaseHeader,
          area === 'analytics' ? view.id : (componentId(view, area) ?? view.id),
        )
        if (isGet && setValidators(request, state, pin !== null))
          return sender.sendNotModified(request, reply)
      }
      const ask = (from: ReleaseView | null): Promise<CustomAnswer | WrittenAnswer | StreamAnswer> =>
        answerRoute(route, given, cursor, request, reply, parts, from)
      if (view !== null && isWritten(route, given, parts.rows, view)) {
        const answer = (await ask(view)) as WrittenAnswer
        const kept = keepAnswer(answer, { ...releaseMeta(view, state.releaseId), ...answer.meta }, VERSION)
        state.rows = kept.rows
        return sender.sendKept(request, reply, kept)
      }
      if (view !== null && isKept(route, request)) {
        const question = questionOf(route, given, view, standingOf(route, request))
        const kept = await parts.cache.get(question, async () => {
          const answer = (await ask(view)) as CustomAnswer | WrittenAnswer
          return keepAnswer(answer, { ...releaseMeta(view, state.releaseId), ...answer.meta }, VERSION)
        })
        // Another release than the one in service may be gone at the next request.
        if (spelling !== null && view === current && state.releaseId !== null)
          parts.cache.note(spelling, { question, route, releaseId: state.releaseId, isPinned: pin !== null })
        state.rows = kept.rows
        return sender.sendKept(request, reply, kept)
      }
      const answer = (await ask(view)) as CustomAnswer | StreamAnswer
      state.rows = answer.rows ?? null
      if ('stream' in answer) {
        for (const [name, value] of Object.entries(answer.headers)) reply.header(name, value)
        return reply
          .code(answer.status ?? 200)
          .type(answer.contentType)
          .send(answer.stream)
      }
      return {
        data: answer.data,
        ...(answer.pagination === undefined ? {} : { pagination: answer.pagination }),
        meta: {
          version: VERSION,
          request_id: request.id,
          ...releaseMeta(view, state.releaseId),
          ...answer.meta,
        },
      }
    },
  })
}

function answerFrom(state: RequestState, header: string, releaseId: string): void {
  state.releaseId = releaseId
  state.releaseHeader = header
}

/** No body of any route is deeper than a handful of levels; past that, walking it costs stack. */
const BODY_DEPTH = 16
const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1)))

const JSON_NAME = 'application/json'

/**
 * Is the answer found in rows written out, as fast as it would be found among answers? Pages of a filter are not: their
 * rows stand far apart.
 */
function isWritten(route: Route, given: Given, rows: RowStore | null, view: ReleaseView): boolean {
  if (rows === null || (route.kind !== 'list' && route.kind !== 'record')) return false
  if (route.kind === 'list' && isFiltered(route, given)) return false
  const dataset = route.dataset.name as DatasetName
  const period = route.dataset.periodic ? latestPeriod(view, dataset) : null
  return rows.find(view, dataset, period) !== null
}

/** Is the answer an envelope that follows from the question and the release alone? */
function isKept(route: Route, request: FastifyRequest): boolean {
  if (route.kind !== 'custom') return true
  if (route.isKept !== true) return false
  return route.produces === undefined || preferredType(request, [JSON_NAME, ...route.produces]) === JSON_NAME
}

/** The type of a list the client likes best; the first when it does not care, or likes none. */
function preferredType(request: FastifyRequest, types: readonly string[]): string {
  const found = request.accepts().type([...types])
  return typeof found === 'string' ? found : (types[0] ?? '')
}

/** What answers of analytics depend on besides: what a key may read and its language matter for labels and metrics. */
function standingOf(route: Route, request: FastifyRequest): readonly string[] {
  if (route.kind !== 'custom') return []
  return [
    stateOf(request).key?.capabilities.join() ?? '',
    languageOf(request.headers['accept-language']),
    methodOf(route) === 'POST' ? JSON.stringify(request.body) : '',
  ]
}

/** Parameters of the path by our names. */
function parametersOf(request: FastifyRequest): Given {
  const { '*': path, ...named } = request.params as Given
  return path === undefined ? named : { ...named, path }
}

async function answerRoute(
  route: Route,
  given: Given,
  cursor: Cursor | null,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: MountParts,
  view: ReleaseView | null,
): Promise<CustomAnswer | WrittenAnswer | StreamAnswer> {
  if (route.kind === 'custom')
    return route.handle({
      conditions: {
        ifNoneMatch: request.headers['if-none-match'],
        ifRange: request.headers['if-range'] as string | undefined,
        range: request.headers.range,
      },
      isHead: request.method === 'HEAD',
      parameters: parametersOf(request),
      query: given,
      body: request.body,
      key: stateOf(request).key,
      language: languageOf(request.headers['accept-language']),
      get signal() {
        return abortSignalOf(reply)
      },
      preferred: (types) => preferredType(request, types),
      engine: parts.engine,
      reports: parts.reports,
      shelves: parts.rows,
      publicKey: parts.publicKey,
      releases: parts.releases,
      view,
    })
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const answerParts = {
    engine: parts.engine,
    view,
    // Made when it is needed: rows that are written out are not waited for.
    get signal() {
      return abortSignalOf(reply)
    },
    cursor,
    cursorSecret: parts.cursorSecret,
    shelves: parts.rows,
  }
  switch (route.kind) {
    case 'list':
      if (route.pathFilter !== undefined) {
        const filter = route.dataset.filters?.[route.pathFilter.filter]
        if (
          filter === undefined ||
          !filterSchema(filter).safeParse(given[route.pathFilter.parameter]).success
        )
          throw new AppError('not_found')
      }
      return answerList(route, given, answerParts)
    case 'all':
      return answerAll(route, given, answerParts)
    case 'record':
      return answerRecord(route, given, answerParts)
    case 'scoped':
      return answerScoped(route, given, answerParts)
    case 'provenance':
      return answerProvenance(route, given, answerParts)
  }
}

/** The pinned release; else the one a cursor walks on; else the promoted one. */
async function chooseRelease(
  parts: MountParts,
  pin: string | null,
  cursor: Cursor | null,
): Promise<ReleaseView> {
  const current = parts.releases.current()
  if (pin !== null) {
    const pinned = await parts.releases.pin(pin)
    if (pinned !== null) return pinned
    throw new AppError('release_mismatch', {
      detail: 'The release asked for is not here. GET /v1/releases lists those that are.',
      extra: { expected: pin, current: current?.id ?? null, releases: '/v1/releases' },
    })
  }
  if (cursor !== null) {
    const walked = await parts.releases.pin(cursor.release)
    if (walked !== null) return walked
    throw new AppError('invalid_cursor', {
      detail: 'The release this walk is on is no longer here. Start the list again.',
    })
  }
  if (current !== null) return current
  throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
}

/** Aborted when the client leaves before its answer. */
function abortSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // The response's own event: listeners on the socket would pile up over a kept-alive connection.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}
