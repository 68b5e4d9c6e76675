/**
 * Configures logging: JSON lines from pino, without secrets.
 * A request is logged as method, route pattern and request_id, never its URL, because a query may contain a user's search text. Headers are
 * never logged. Every finished line is also searched for keys and bearer tokens, in case one reaches a message or cause.
 */
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import type { LogLevel } from '../settings.ts'

/** `sus_`, an id and any rest: complete, truncated or mistyped keys. The id alone is not secret. */
const KEY_IN_TEXT = /\b(sus_[0-9A-Za-z]{8})_[0-9A-Za-z_-]*/g
const LINK_IN_TEXT = /\b(susl_[0-9A-Za-z]{0,8})[0-9A-Za-z_-]*/g
/** Checked first, because few lines contain a secret. */
const SECRET_HINT = /susl?_|bearer|basic/i
const BEARER_IN_TEXT = /\b(Bearer|Basic)\s+[^\s"\\,]+/gi

/** @returns the text with the secrets of keys and bearer tokens redacted */
export const redactSecrets = (text: string): string =>
  SECRET_HINT.test(text)
    ? text
        .replace(KEY_IN_TEXT, '$1_[redacted]')
        .replace(LINK_IN_TEXT, '$1_[redacted]')
        .replace(BEARER_IN_TEXT, '$1 [redacted]')
    : text

let lastMs = 0
let lastTime = ''
/** @returns the time in pino's format, cached for a millisecond */
function isoTime(): string {
  const now = Date.now()
  if (now !== lastMs) {
    lastMs = now
    lastTime = `,"time":"${new Date(now).toISOString()}"`
  }
  return lastTime
}

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

/** @returns a logger for events outside requests. @param stream standard output by default */
export const createLogger = (level: LogLevel, stream?: DestinationStream): Logger =>
  pino(
    loggerOptions(level),
    // Buffer lines, and flush every tenth of a second and at exit: a write per line costs as much as the line. The pieces are short,
    // because the destination measures the piece that it gathers again at each line: with pieces of 64 KB a line took 18 µs, not 4.
    stream ?? pino.destination({ sync: false, minLength: 4096, maxWrite: 5000, periodicFlush: 100 }),
  )

export interface AccessLine {
  readonly id: string
  /** W3C Trace Context, hexadecimal; null when the client sent none. */
  readonly trace: { readonly trace_id: string; readonly parent_id: string } | null
  readonly method: string
  /** The route pattern, never the URL: a query string may contain data that a client should not have sent. */
  readonly route: string | null
  readonly status: number
  readonly key: string | null
  readonly releaseId: string | null
  readonly rows: number | null
  /** Engine that ran the aggregation, when two are configured. */
  readonly engine?: string | null
  readonly ms: number
}

/** @returns a function that logs a finished request at level info, without searching its members for headers: it has none */
export function createAccessLog(logger: Logger): (line: AccessLine) => void {
  const accessLogger = logger.child({}, { redact: [] })
  return ({ id, trace, method, route, status, key, releaseId, rows, engine = null, ms }) =>
    accessLogger.info(
      {
        request_id: id,
        ...trace,
        method,
        route,
        status,
        key,
        release_id: releaseId,
        rows,
        ...(engine === null ? {} : { engine }),
        ms: Math.round(ms * 10) / 10,
      },
      'request',
    )
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

export function traceOf(traceparent: string | string[] | undefined): AccessLine['trace'] {
  if (traceparent === undefined) return null
  const [, trace_id, parent_id] = TRACEPARENT.exec(String(traceparent)) ?? []
  return trace_id === undefined || parent_id === undefined ? null : { trace_id, parent_id }
}
