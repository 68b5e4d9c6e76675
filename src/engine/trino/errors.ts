/**
 * Maps Trino's errors to our error codes. Input: an error name, or an error of the connection. Output: an AppError. Trino's message
 * becomes its cause, which only the log shows.
 */
import { AppError, both, type ErrorCode, type Text } from '../../errors.ts'

/** Seconds after which a client may retry. */
const RETRY_AFTER = '5'

/** Names from StandardErrorCode (https://trino.io/docs) and the Hive connector. All others are `internal`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ...mapNames('query_too_large', [
    'EXCEEDED_GLOBAL_MEMORY_LIMIT',
    'EXCEEDED_LOCAL_MEMORY_LIMIT',
    'EXCEEDED_FUNCTION_MEMORY_LIMIT',
    'EXCEEDED_CPU_LIMIT',
    'EXCEEDED_SCAN_LIMIT',
    'EXCEEDED_SPILL_LIMIT',
    'EXCEEDED_TASK_DESCRIPTOR_STORAGE_CAPACITY',
    'CLUSTER_OUT_OF_MEMORY',
    'OUT_OF_SPILL_SPACE',
    'QUERY_HAS_TOO_MANY_STAGES',
    'QUERY_TEXT_TOO_LARGE',
    'COMPILER_ERROR',
  ]),
  ...mapNames('query_timeout', ['EXCEEDED_TIME_LIMIT', 'USER_CANCELED']),
  ...mapNames('overloaded', ['QUERY_QUEUE_FULL', 'QUERY_REJECTED']),
  ...mapNames('engine_unavailable', [
    'ABANDONED_QUERY',
    'ABANDONED_TASK',
    'ADMINISTRATIVELY_KILLED',
    'ADMINISTRATIVELY_PREEMPTED',
    'CATALOG_NOT_AVAILABLE',
    'CATALOG_NOT_FOUND',
    'CATALOG_UNAVAILABLE',
    'GENERIC_INSUFFICIENT_RESOURCES',
    'HIVE_CANNOT_OPEN_SPLIT',
    'HIVE_CURSOR_ERROR',
    'HIVE_FILESYSTEM_ERROR',
    'HIVE_FILE_NOT_FOUND',
    'HIVE_METASTORE_ERROR',
    'NO_NODES_AVAILABLE',
    'PAGE_TRANSPORT_ERROR',
    'PAGE_TRANSPORT_TIMEOUT',
    'PERMISSION_DENIED',
    'REMOTE_HOST_GONE',
    'REMOTE_TASK_ERROR',
    'REMOTE_TASK_MISMATCH',
    'REMOTE_TASK_FAILED',
    'SCHEMA_NOT_FOUND',
    'SERVER_SHUTTING_DOWN',
    'SERVER_STARTING_UP',
    'TABLE_NOT_FOUND',
    'TOO_MANY_REQUESTS_FAILED',
    'UNSUPPORTED_TABLE_TYPE',
  ]),
}

function mapNames(code: ErrorCode, names: readonly string[]): Record<string, ErrorCode> {
  return Object.fromEntries(names.map((name) => [name, code]))
}

const NOT_REGISTERED = new Set(['SCHEMA_NOT_FOUND', 'TABLE_NOT_FOUND', 'CATALOG_NOT_FOUND'])

/** Error with which Trino ended a statement. */
export class TrinoError extends Error {
  readonly errorName: string

  constructor(errorName: string, message: string) {
    super(`${errorName}: ${message}`)
    this.name = 'TrinoError'
    this.errorName = errorName
  }
}

/** Trino does not respond, or responds incorrectly. @param detail reason in words for the public */
export const unavailable = (cause: unknown, detail?: Text): AppError =>
  new AppError('engine_unavailable', {
    cause,
    headers: { 'Retry-After': RETRY_AFTER },
    ...(detail === undefined ? {} : { detail }),
  })

/** @param cause error of the statement, if one was tried */
export const notRegistered = (cause?: unknown): AppError =>
  unavailable(
    cause,
    both(
      'A versão de dados não está registrada no Trino; o operador a registra com sus-data trino register.',
      'The release is not registered with Trino; the operator registers it with sus-data trino register.',
    ),
  )

/** @returns the error that the client receives */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (!(error instanceof TrinoError)) return new AppError('internal', { cause: error })
  const code = CODES[error.errorName] ?? 'internal'
  if (NOT_REGISTERED.has(error.errorName)) return notRegistered(error)
  if (code === 'query_too_large')
    return new AppError(code, {
      cause: error,
      detail: both(
        'A consulta excede o que o cluster Trino pode usar: restrinja os filtros ou agrupe por menos dimensões.',
        'The query needs more than the Trino cluster may use: narrow the filters or group by fewer dimensions.',
      ),
    })
  if (code === 'engine_unavailable') return unavailable(error)
  return new AppError(code, {
    cause: error,
    ...(code === 'overloaded' ? { headers: { 'Retry-After': RETRY_AFTER } } : {}),
  })
}
