/**
 * How the server logs: JSON lines from pino, and what may stand in them.
 *
 * In: the level of the settings. Out: options for Fastify's or a plain pino logger. A request is its method, route pattern
 * and request_id, never its address: a query may hold what somebody searched for. Headers are never logged; should a key
 * still get into a message or a cause, every finished line is searched for keys and bearer tokens before it is written.
 * Fastify's own handler of unknown paths logs the address: an app that uses these options must set another.
 */
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import type { LogLevel } from '../settings.ts'

/** `sus_` and an id, however the rest goes on: whole keys, cut ones, mistyped ones. The id alone is no secret. */
const KEY_IN_TEXT = /\b(sus_[0-9A-Za-z]{8})_[0-9A-Za-z_-]*/g
/** Looked for first: hardly any line holds either. */
const MAY_HOLD_SECRET = /sus_|bearer|basic/i
const BEARER_IN_TEXT = /\b(Bearer|Basic)\s+[^\s"\\,]+/gi

interface LoggedRequest {
  readonly method?: string
  readonly id?: unknown
  readonly routeOptions?: { readonly url?: string | undefined }
}

/** @returns the text without the secrets of keys and without bearer tokens */
export const redactSecrets = (text: string): string =>
  MAY_HOLD_SECRET.test(text)
    ? text.replace(KEY_IN_TEXT, '$1_[redacted]').replace(BEARER_IN_TEXT, '$1 [redacted]')
    : text

let lastMs = 0
let lastTime = ''
/** The time as pino writes it, made once a millisecond. */
function isoTime(): string {
  const now = Date.now()
  if (now !== lastMs) {
    lastMs = now
    lastTime = `,"time":"${new Date(now).toISOString()}"`
  }
  return lastTime
}

/** @returns options of a pino logger; Fastify takes them as `logger` */
export function loggerOptions(level: LogLevel): LoggerOptions {
  return {
    level,
    base: null,
    timestamp: isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['authorization', 'headers', '*.authorization', '*.headers', '*.*.authorization'],
      censor: '[redacted]',
    },
    serializers: {
      req: (request: LoggedRequest) => ({
        method: request.method,
        route: request.routeOptions?.url ?? null,
        request_id: request.id,
      }),
      res: (reply: { readonly statusCode?: number }) => ({ status: reply.statusCode }),
      err: pino.stdSerializers.errWithCause,
    },
    hooks: { streamWrite: redactSecrets },
  }
}

/** @returns a logger for what happens outside requests; @param stream standard output by default */
export const createLogger = (level: LogLevel, stream?: DestinationStream): Logger =>
  pino(
    loggerOptions(level),
    // Lines go out together, within a tenth of a second and when the process ends: a write each costs as much as a line.
    stream ?? pino.destination({ sync: false, minLength: 32_768, maxWrite: 65_536, periodicFlush: 100 }),
  )

/** What the log says of a request that has been answered. */
export interface AccessLine {
  readonly id: string
  /** W3C Trace Context, hexadecimal; absent where the client sent none. */
  readonly trace: { readonly trace_id: string; readonly parent_id: string } | null
  readonly method: string
  /** The pattern, never the address: a query string may hold what a client should not have put there. */
  readonly route: string | null
  readonly status: number
  /** Id of the key. */
  readonly key: string | null
  readonly releaseId: string | null
  readonly rows: number | null
  readonly ms: number
}

/**
 * Writes the line of a request as pino would, at its level and to its stream. One stands behind every answer, and pino
 * takes an object apart for it; here nothing needs escaping: every text is an id or a pattern of ours, or has passed a
 * check of its characters. Only the id may be the client's choice, so only it could hold a secret.
 */
export function createAccessLog(logger: Logger): (line: AccessLine) => void {
  const stream = (logger as unknown as Record<symbol, DestinationStream | undefined>)[pino.symbols.streamSym]
  if (stream === undefined) throw new TypeError('a logger of pino writes to a stream')
  const textOf = (value: string | null): string => (value === null ? 'null' : `"${value}"`)
  /** What many lines have in common, made once while it stays. */
  let last: Pick<AccessLine, 'route' | 'status' | 'key' | 'releaseId'> & { readonly text: string } = {
    route: '',
    status: 0,
    key: '',
    releaseId: '',
    text: '',
  }
  /** Lines of one turn of the event loop go to the stream together: it measures what it is given. */
  let lines = ''
  const write = (): void => {
    stream.write(lines)
    lines = ''
  }
  return ({ id, trace, method, route, status, key, releaseId, rows, ms }) => {
    if (!logger.isLevelEnabled('info')) return
    const traced = trace === null ? '' : `,"trace_id":"${trace.trace_id}","parent_id":"${trace.parent_id}"`
    if (route !== last.route || status !== last.status || key !== last.key || releaseId !== last.releaseId)
      last = {
        route,
        status,
        key,
        releaseId,
        text: `,"route":${textOf(route)},"status":${status},"key":${textOf(key)},"release_id":${textOf(releaseId)},"rows":`,
      }
    if (lines === '') setImmediate(write)
    lines += `{"level":"info"${isoTime()},"request_id":"${redactSecrets(id)}"${traced},"method":"${method}"${last.text}${rows},"ms":${ms.toFixed(1)},"msg":"request"}\n`
  }
}
