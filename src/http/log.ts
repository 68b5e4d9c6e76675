/**
 * How the server logs: JSON lines from pino, and what may stand in them.
 *
 * In: the level of the settings. Out: options for Fastify's or a plain pino logger. A request is its method, route pattern
 * and request_id, never its address: a query may hold what somebody searched for. Headers are never logged; should a key
 * still get into a message or a cause, every finished line is searched for keys and bearer tokens before it is written.
 */
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import type { LogLevel } from '../settings.ts'

/** `sus_` and an id, however the rest goes on: whole keys, cut ones, mistyped ones. The id alone is no secret. */
const KEY_IN_TEXT = /\b(sus_[0-9A-Za-z]{8})_[0-9A-Za-z_-]*/g
/** The token of a link, however much of it there is. */
const LINK_IN_TEXT = /\b(susl_[0-9A-Za-z]{0,8})[0-9A-Za-z_-]*/g
/** Looked for first: hardly any line holds one. */
const MAY_HOLD_SECRET = /susl?_|bearer|basic/i
const BEARER_IN_TEXT = /\b(Bearer|Basic)\s+[^\s"\\,]+/gi

/** @returns the text without the secrets of keys and without bearer tokens */
export const redactSecrets = (text: string): string =>
  MAY_HOLD_SECRET.test(text)
    ? text
        .replace(KEY_IN_TEXT, '$1_[redacted]')
        .replace(LINK_IN_TEXT, '$1_[redacted]')
        .replace(BEARER_IN_TEXT, '$1 [redacted]')
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
    serializers: { err: pino.stdSerializers.errWithCause },
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
  /** What added up facts, where there are two engines. */
  readonly engine?: string | null
  readonly ms: number
}

/**
 * @returns what writes the line of a request, at pino's level and to its stream. The line is put together here: every value is
 * an id or a pattern of ours, or has passed a check of its characters, so nothing needs escaping, and only the id, which may
 * be the client's choice, could hold a secret. Receipt: a tenth of the CPU of a record (wrk, 32 connections).
 */
export function createAccessLog(logger: Logger): (line: AccessLine) => void {
  const stream = (logger as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]
  const quote = (value: string | null): string => (value === null ? 'null' : `"${value}"`)
  /** Lines of one turn of the event loop go to the stream together. */
  let lines = ''
  const write = (): void => {
    stream?.write(lines)
    lines = ''
  }
  return ({ id, trace, method, route, status, key, releaseId, rows, engine = null, ms }) => {
    if (!logger.isLevelEnabled('info')) return
    if (lines === '') setImmediate(write)
    const traced = trace === null ? '' : `,"trace_id":"${trace.trace_id}","parent_id":"${trace.parent_id}"`
    const added = engine === null ? '' : `,"engine":"${engine}"`
    lines += `{"level":"info"${isoTime()},"request_id":"${redactSecrets(id)}"${traced},"method":"${method}","route":${quote(route)},"status":${status},"key":${quote(key)},"release_id":${quote(releaseId)},"rows":${rows}${added},"ms":${ms.toFixed(1)},"msg":"request"}\n`
  }
}

/** W3C Trace Context. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** @returns the trace a request belongs to, as its traceparent header says */
export function traceOf(traceparent: string | string[] | undefined): AccessLine['trace'] {
  if (traceparent === undefined) return null
  const [, trace_id, parent_id] = TRACEPARENT.exec(String(traceparent)) ?? []
  return trace_id === undefined || parent_id === undefined ? null : { trace_id, parent_id }
}
