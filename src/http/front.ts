/**
 * What is asked most, answered before Fastify is: answers that are kept, for a request that came before in the same
 * spelling; records that are written out, and pages of them; 304 for all of them. Half of what such an answer costs is
 * the framework, and none of what the framework does can turn out otherwise for it.
 *
 * In: Node's request. Out: whether it has been answered. Whatever is not plain (a key that is refused or has no requests
 * left, another origin, a body that did not come at once, an answer to be compressed, a record that is not there, a page
 * whose rows DuckDB has to be asked for, rates that are shared) goes to Fastify as if it had not been here, and says there
 * what is wrong. test/http/front.test.ts holds both to the same answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReleaseSource } from '../engine/types.ts'
import type { Key, KeyStore } from '../keys/keys.ts'
import type { RateLimiter } from '../keys/rate-limit.ts'
import type { Area } from '../model/datasets.ts'
import { type Cursor, decodeCursor } from '../query/cursor.ts'
import { componentId, type ReleaseView } from '../release/view.ts'
import type { RowStore } from '../rows/rows.ts'
import { writtenPage, writtenRecord } from './answer.ts'
import { type AnswerCache, type KeptAnswer, keepAnswer, sizeOf } from './answer-cache.ts'
import { type Asked, questionOf, SPELLING_MAX, setValidators, spellingOf } from './identity.ts'
import { isFiltered, queryReader, readPlainQuery } from './parameters.ts'
import {
  costOf,
  fastifyPath,
  type ListRoute,
  methodOf,
  type RecordRoute,
  type Route,
  releaseAreaOf,
  releaseHeaderOf,
  releaseMeta,
  VERSION,
  type WrittenAnswer,
} from './route.ts'
import { mayBeCompressed, type Sender } from './send.ts'
import { newState, type RequestState } from './state.ts'

export interface FrontParts {
  readonly routes: readonly Route[]
  readonly keys: KeyStore
  readonly limiter: RateLimiter
  readonly releases: ReleaseSource
  readonly rows: RowStore | null
  readonly cache: AnswerCache
  readonly cursorSecret: Buffer
  readonly sender: Sender
  readonly requestIdOf: (asked: Pick<Asked, 'headers'>) => string
  readonly secretOf: (authorization: string | undefined) => string | null
  /** Counts and logs what has been answered. */
  readonly observe: (answered: Answered, asked: Asked) => void
}

export interface Answered {
  readonly id: string
  /** As Fastify spells it; null where none matched. */
  readonly route: string | null
  readonly status: number
  readonly state: RequestState
  readonly ms: number
}

/** An answer that is there, and what its headers say. */
interface Found {
  readonly route: Route
  readonly releaseId: string
  readonly isPinned: boolean
  /** Read when it is sent; null: Fastify answers. */
  readonly read: () => KeptAnswer | null
}

interface RecordDoor {
  readonly route: RecordRoute
  readonly area: Area | 'analytics'
  readonly parameter: string
  readonly digits: number
}

interface ListDoor {
  readonly route: ListRoute
  readonly read: ReturnType<typeof queryReader>
  readonly area: Area | 'analytics'
}

/** No answer waits longer for others than this. */
const WAIT_MS = 2
const JSON_BODY = /^application\/json(; ?charset=utf-8)?$/i

/** @param pass gives a request to Fastify */
export function createFront(
  parts: FrontParts,
  pass: (request: IncomingMessage, response: ServerResponse) => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { keys, limiter, releases, rows, cache, sender } = parts
  /** Path up to the key → the record's route, and how the rest of the path must look. */
  const records = new Map<string, RecordDoor>()
  const lists = new Map<string, ListDoor>()
  const names = new Map(parts.routes.map((route) => [route, fastifyPath(route.path)]))
  /** Paths of questions that come as bodies. */
  const questions = new Set<string>()
  for (const route of parts.routes) {
    const [, before, parameter] = /^([^{]*\/)\{(\w+)\}$/.exec(route.path) ?? []
    const area = releaseAreaOf(route)
    if (route.kind === 'record' && before !== undefined && parameter !== undefined && area !== null)
      records.set(before, { route, area, parameter, digits: route.key[parameter]?.digits ?? 0 })
    if (route.kind === 'list' && route.pathFilter === undefined && area !== null)
      lists.set(route.path, { route, read: queryReader(route), area })
    if (route.kind === 'custom' && route.isKept === true && methodOf(route) === 'POST')
      questions.add(route.path)
  }

  const releaseIdOf = (area: Area | 'analytics', view: ReleaseView): string =>
    area === 'analytics' ? view.id : (componentId(view, area) ?? view.id)
  const readWritten = (
    view: ReleaseView,
    releaseId: string,
    find: () => WrittenAnswer | null,
  ): KeptAnswer | null => {
    const answer = orNull(find)
    return answer === null
      ? null
      : keepAnswer(answer, { ...releaseMeta(view, releaseId), ...answer.meta }, VERSION)
  }
  const findRecord = (url: string, key: Key, view: ReleaseView): Found | null => {
    const end = url.lastIndexOf('/') + 1
    const door = records.get(url.slice(0, end))
    if (door === undefined || url.length - end !== door.digits || !isAllowed(door.route, key)) return null
    for (let at = end; at < url.length; at += 1) {
      const digit = url.charCodeAt(at)
      if (digit < 0x30 || digit > 0x39) return null
    }
    const { route, area, parameter } = door
    const releaseId = releaseIdOf(area, view)
    return {
      route,
      releaseId,
      isPinned: false,
      read: () => {
        const given = Object.fromEntries([[parameter, url.slice(end)]])
        return readWritten(view, releaseId, () => writtenRecord(route, given, view, rows))
      },
    }
  }
  const findPage = (asked: Asked, state: RequestState, key: Key, view: ReleaseView): Found | null => {
    const { url } = asked
    const mark = url.indexOf('?')
    const door = lists.get(mark < 0 ? url : url.slice(0, mark))
    if (door === undefined || !isAllowed(door.route, key)) return null
    const { route, area } = door
    const query = mark < 0 ? {} : readPlainQuery(url.slice(mark + 1))
    const given =
      query === null || query.expected_release_id !== undefined ? null : orNull(() => door.read(query))
    if (given === null) return null
    const cursor = given.cursor === undefined ? null : readCursor(given.cursor)
    // A walk begun on another release goes on there.
    if (given.cursor !== undefined && cursor?.release !== view.id) return null
    const releaseId = releaseIdOf(area, view)
    const { cursorSecret } = parts
    const read = (): KeptAnswer | null =>
      readWritten(view, releaseId, () =>
        writtenPage(route, given, { view, shelves: rows, cursor, cursorSecret }),
      )
    const keep = (): KeptAnswer | null => {
      const page = read()
      const spelling = spellingOf(asked, state, view)
      if (page === null || spelling === null) return page
      const question = questionOf(route, given, view)
      const kept = cache.put(question, page)
      cache.note(spelling, { question, route, releaseId, isPinned: false })
      return kept
    }
    // Rows of a filter stand far apart: a second time, they are not looked for again.
    return { route, releaseId, isPinned: false, read: isFiltered(route, given) ? keep : read }
  }
  const readCursor = (text: string): Cursor | null => orNull(() => decodeCursor(text, parts.cursorSecret))
  const findKept = (asked: Asked, state: RequestState, view: ReleaseView): Found | null => {
    const spelling = spellingOf(asked, state, view)
    const recalled = spelling === null ? null : cache.recall(spelling)
    if (recalled === null) return null
    const { route, releaseId, isPinned } = recalled.known
    return { route, releaseId, isPinned, read: () => recalled.kept }
  }

  /**
   * Answers go out together once the requests of this turn of the event loop have been read: a write wakes whoever reads
   * it, and those who are awake already need not be woken again.
   */
  const waiting: (() => void)[] = []
  let firstAt = 0
  const writeAll = (): void => {
    for (const write of waiting.splice(0)) write()
  }
  const writeSoon = (write: () => void): void => {
    const now = performance.now()
    if (waiting.length === 0) {
      firstAt = now
      setImmediate(writeAll)
    }
    waiting.push(write)
    if (now - firstAt > WAIT_MS) writeAll()
  }

  /** @returns whether it is answered, or will be in this turn */
  const answer = (
    asked: Asked,
    request: IncomingMessage,
    response: ServerResponse,
    text: string,
    startedAt: number,
  ): boolean => {
    const { headers } = asked
    const view = releases.current()
    const secret = parts.secretOf(headers.authorization)
    const key = view === null || secret === null ? null : keys.authenticate(secret, request.socket)
    if (view === null || key === null) return false
    const state = newState()
    state.key = key
    state.text = text
    const isGet = asked.method === 'GET'
    const found =
      (isGet ? findRecord(asked.url, key, view) : null) ??
      findKept(asked, state, view) ??
      (isGet ? findPage(asked, state, key, view) : null)
    if (found === null) return false
    const { route } = found
    // Who has no requests left has no work done either.
    if (limiter.allows?.(key.id, costOf(route), key.rate_per_minute) === false) return false
    state.releaseId = found.releaseId
    state.releaseHeader = releaseHeaderOf(route)
    const id = parts.requestIdOf(asked)
    const isKnown = isGet && setValidators(asked, state, found.isPinned)
    const kept = isKnown ? null : found.read()
    if (kept === null ? !isKnown : mayBeCompressed(headers, sizeOf(kept) + id.length)) return false
    const rate = limiter.take(key.id, costOf(route), key.rate_per_minute)
    // A refused request has taken nothing: Fastify's turn refuses it again.
    if (rate instanceof Promise || !rate.allowed) return false
    state.rate = rate
    state.rows = kept?.rows ?? null
    writeSoon(() => {
      try {
        sender.write(response, kept, { id, elapsedMs: performance.now() - startedAt, state })
      } catch (error) {
        if (response.headersSent) throw error
        return pass(request, response)
      }
      const status = kept === null ? 304 : 200
      const ms = performance.now() - startedAt
      parts.observe({ id, route: names.get(route) ?? null, status, state, ms }, asked)
    })
    return true
  }

  return (request, response) => {
    const startedAt = performance.now()
    const { method = '', url = '' } = request
    const headers = limiter.isShared === true ? null : readHeaders(request.rawHeaders)
    if (headers === null) return pass(request, response)
    const asked = { method, url, headers }
    const length = Number(headers['content-length'] ?? 0)
    if (method === 'GET' && length === 0) {
      if (!answer(asked, request, response, '', startedAt)) pass(request, response)
    } else if (
      method === 'POST' &&
      length > 0 &&
      length <= SPELLING_MAX &&
      questions.has(url) &&
      JSON_BODY.test(headers['content-type'] ?? '')
    )
      request.once('readable', () => {
        const bytes = request.read() as Buffer | null
        const isWhole = bytes?.length === length
        if (isWhole && answer(asked, request, response, bytes.toString(), startedAt)) return
        // Put back before anybody else looks.
        if (bytes !== null) request.unshift(bytes)
        pass(request, response)
      })
    else pass(request, response)
  }
}

/** Headers that an answer may depend on; of others the value is never asked for. */
const READ = [
  'host',
  'authorization',
  'accept',
  'accept-encoding',
  'accept-language',
  'content-length',
  'content-type',
  'if-none-match',
  'traceparent',
  'x-request-id',
] as const
type Read = (typeof READ)[number]
type ReadHeaders = Record<Read, string | undefined>
/** Fastify or a plugin has a rule for these. */
const PASSED = new Set(['origin', 'expect', 'transfer-encoding', 'content-encoding'])

/** What a header's name means, found by its spelling. */
const MEANINGS = new Map<string, Read | 'passed' | 'other'>()
const MEANINGS_MAX = 1000
function meaningOf(name: string): Read | 'passed' | 'other' {
  let meaning = MEANINGS.get(name)
  if (meaning === undefined) {
    const lower = name.toLowerCase()
    meaning = READ.find((read) => read === lower) ?? (PASSED.has(lower) ? 'passed' : 'other')
    if (MEANINGS.size < MEANINGS_MAX) MEANINGS.set(name, meaning)
  }
  return meaning
}

/**
 * The few headers that count, without Node's object of all of them, which costs as much as finding the answer.
 * @param raw name, value, name, value… @returns null where one of them, or one that comes twice, is for Fastify to judge
 */
function readHeaders(raw: readonly string[]): ReadHeaders | null {
  const headers: ReadHeaders = {
    host: undefined,
    authorization: undefined,
    accept: undefined,
    'accept-encoding': undefined,
    'accept-language': undefined,
    'content-length': undefined,
    'content-type': undefined,
    'if-none-match': undefined,
    traceparent: undefined,
    'x-request-id': undefined,
  }
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const meaning = meaningOf(raw[at] ?? '')
    if (meaning === 'other') continue
    if (meaning === 'passed' || headers[meaning] !== undefined) return null
    headers[meaning] = raw[at + 1]
  }
  return headers.host === undefined ? null : headers
}

const isAllowed = ({ capability }: Route, key: Key): boolean =>
  capability === null || capability === 'any' || key.capabilities.includes(capability)

/** What is not there, or cannot be read, Fastify finds out again, and says so. */
function orNull<T>(find: () => T | null): T | null {
  try {
    return find()
  } catch {
    return null
  }
}
