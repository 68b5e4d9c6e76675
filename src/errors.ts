/**
 * Every error a client can meet, once: code → status class is decided by http/, text and hint here.
 *
 * In: a code and public details. Out: an `AppError` that http/ turns into RFC 9457 problem+json.
 * Absent on purpose: SQL, paths, stacks, keys. The cause travels beside the error, for the log only.
 */

/** `title` is Portuguese (the default), `title_en` answers `Accept-Language: en`. `hint` says what to change. */
interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly title_en: string
  readonly hint: string
}

export const ERRORS = {
  invalid_request: {
    status: 400,
    title: 'Pedido inválido',
    title_en: 'Invalid request',
    hint: 'Correct the parameters or fields named in errors.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Cursor inválido',
    title_en: 'Invalid cursor',
    hint: 'Start the list again without cursor; use next_cursor unchanged and with the same parameters.',
  },
  unknown_metric: {
    status: 400,
    title: 'Métrica desconhecida',
    title_en: 'Unknown metric',
    hint: 'List the metrics with GET /v1/analytics/catalog.',
  },
  unknown_dimension: {
    status: 400,
    title: 'Dimensão desconhecida',
    title_en: 'Unknown dimension',
    hint: 'List the dimensions with GET /v1/analytics/catalog.',
  },
  incompatible_dimension: {
    status: 400,
    title: 'Dimensão incompatível com a métrica',
    title_en: 'Dimension incompatible with the metric',
    hint: 'Remove the dimension or ask the metric in a query of its own.',
  },
  denominator_not_defined: {
    status: 400,
    title: 'Taxa sem denominador neste agrupamento',
    title_en: 'Rate has no denominator at this grouping',
    hint: 'Group the rate by state, municipality or a category, not by facility.',
  },
  semi_additive: {
    status: 400,
    title: 'Estoque não se soma entre competências',
    title_en: 'A stock does not add up over reference periods',
    hint: 'Group by reference_period, filter one period, or set over_period to last, first, avg or max.',
  },
  too_many_rows: {
    status: 400,
    title: 'Linhas demais para um relatório',
    title_en: 'Too many rows for a report',
    hint: 'Filter the query, or group by fewer dimensions.',
  },
  unauthorized: {
    status: 401,
    title: 'Credencial ausente ou inválida',
    title_en: 'Missing or invalid credentials',
    hint: 'Send the header Authorization: Bearer <API_KEY>.',
  },
  forbidden: {
    status: 403,
    title: 'Acesso recusado para a chave',
    title_en: 'Access refused for the key',
    hint: 'Ask the operator for a key with the capability named in detail.',
  },
  not_found: {
    status: 404,
    title: 'Registro não encontrado',
    title_en: 'Record not found',
    hint: 'Check the code in the path.',
  },
  route_not_found: {
    status: 404,
    title: 'Caminho não encontrado',
    title_en: 'Path not found',
    hint: 'See the routes in the README.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Método não permitido',
    title_en: 'Method not allowed',
    hint: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'Pedido lento demais',
    title_en: 'Request too slow',
    hint: 'Send the whole request within 30 seconds.',
  },
  release_mismatch: {
    status: 409,
    title: 'Versão de dados não disponível',
    title_en: 'Data release not available',
    hint: 'Drop expected_release_id, or use a release that GET /v1/releases lists.',
  },
  payload_too_large: {
    status: 413,
    title: 'Corpo grande demais',
    title_en: 'Body too large',
    hint: 'Send a smaller body.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Tipo de conteúdo não aceito',
    title_en: 'Unsupported content type',
    hint: 'Send application/json.',
  },
  uri_too_long: {
    status: 414,
    title: 'Endereço longo demais',
    title_en: 'Address too long',
    hint: 'Shorten the query string.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Intervalo fora do arquivo',
    title_en: 'Range outside of the file',
    hint: 'Ask for bytes the file has; Content-Range says how many.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectativa não atendida',
    title_en: 'Expectation failed',
    hint: 'Drop the Expect header, or send Expect: 100-continue.',
  },
  headers_too_large: {
    status: 431,
    title: 'Cabeçalhos grandes demais',
    title_en: 'Headers too large',
    hint: 'Send at most 16 KiB of headers, the address included.',
  },
  rate_limited: {
    status: 429,
    title: 'Limite de requisições excedido',
    title_en: 'Rate limit exceeded',
    hint: 'Wait the seconds in Retry-After.',
  },
  internal: {
    status: 500,
    title: 'Erro interno',
    title_en: 'Internal error',
    hint: 'Report the request_id to the operator.',
  },
  not_ready: {
    status: 503,
    title: 'Serviço ainda não pronto',
    title_en: 'Service not ready',
    hint: 'Wait the seconds in Retry-After; GET /ready says why.',
  },
  overloaded: {
    status: 503,
    title: 'Fila de consultas cheia',
    title_en: 'Query queue full',
    hint: 'Wait the seconds in Retry-After.',
  },
  query_too_large: {
    status: 503,
    title: 'Consulta não cabe na memória',
    title_en: 'Query does not fit into memory',
    hint: 'Narrow the filters or group by fewer dimensions; the operator may raise SUS_DUCKDB_MEMORY or SUS_REPORT_MEMORY.',
  },
  query_timeout: {
    status: 504,
    title: 'Consulta passou do tempo limite',
    title_en: 'Query timed out',
    hint: 'Narrow the filters or group by fewer dimensions.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

/** One offending place: a query/path parameter, or a JSON pointer into the body. */
export interface ErrorDetail {
  readonly parameter?: string
  readonly pointer?: string
  readonly message: string
  readonly allowed?: readonly (string | number)[]
}

export interface AppErrorOptions {
  /** Public sentence about this occurrence. Never SQL, a path of the machine or a key. */
  readonly detail?: string
  readonly errors?: readonly ErrorDetail[]
  /** Extra public members of the problem document, e.g. `expected` and `current` of a release. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Response headers this error carries, e.g. `Allow`, `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only. */
  readonly cause?: unknown
}

/** The one error type that reaches a client. Everything else becomes `internal`. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly ErrorDetail[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(options.detail ?? ERRORS[code].hint, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.errors = options.errors ?? []
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}
