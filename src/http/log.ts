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
    // Buffer lines, and flush every tenth of a second and at exit: a write per line costs as much as the line.
    stream ?? pino.destination({ sync: false, minLength: 32_768, maxWrite: 65_536, periodicFlush: 100 }),
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

/**
 * @returns a function that writes an access line at pino's level and to its stream. The line is concatenated here: every value is one of
 * our ids or patterns, or was checked for its characters, so nothing needs escaping. Only the request id, which the client may choose,
 * could contain a secret. Measured: saves a tenth of the CPU of a record request (wrk, 32 connections).
 */
export function createAccessLog(logger: Logger): (line: AccessLine) => void {
  const stream = (logger as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]
  const quote = (value: string | null): string => (value === null ? 'null' : `"${value}"`)
  let lines = ''
  const write = (): void => {
    stream?.write(lines)
    lines = ''
  }
  return ({ id, trace, method, route, status, key, releaseId, rows, engine = null, ms }) => {
    if (!logger.isLevelEnabled('info')) return
    if (lines === '') setImmediate(write)
    const traceMembers =
      trace === null ? '' : `,"trace_id":"${trace.trace_id}","parent_id":"${trace.parent_id}"`
    const engineMember = engine === null ? '' : `,"engine":"${engine}"`
    lines += `{"level":"info"${isoTime()},"request_id":"${redactSecrets(id)}"${traceMembers},"method":"${method}","route":${quote(route)},"status":${status},"key":${quote(key)},"release_id":${quote(releaseId)},"rows":${rows}${engineMember},"ms":${ms.toFixed(1)},"msg":"request"}\n`
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

export function traceOf(traceparent: string | string[] | undefined): AccessLine['trace'] {
  if (traceparent === undefined) return null
  const [, trace_id, parent_id] = TRACEPARENT.exec(String(traceparent)) ?? []
  return trace_id === undefined || parent_id === undefined ? null : { trace_id, parent_id }
}
