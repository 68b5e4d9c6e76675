/**
 * Defines every error that a client can receive, with its code, status, titles and hints.
 * In: a code and public details. Out: an `AppError` that http/ turns into RFC 9457 problem+json.
 * Errors never contain SQL, paths, stacks or keys. The cause is attached for the log only.
 */

export type Language = 'pt' | 'en'

/** A text in both languages. Clients get Portuguese, or English if `Accept-Language` requests it. */
export type Text = Readonly<Record<Language, string>>

export const both = (pt: string, en: string): Text => ({ pt, en })

/** `title` is Portuguese, the default, and `title_en` is used for `Accept-Language: en`. `hint` says what to change. */
interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly title_en: string
  readonly hint: string
  readonly hint_en: string
}

export const ERRORS = {
  invalid_request: {
    status: 400,
    title: 'Pedido inválido',
    title_en: 'Invalid request',
    hint: 'Corrija os parâmetros ou campos nomeados em errors.',
    hint_en: 'Correct the parameters or fields named in errors.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Cursor inválido',
    title_en: 'Invalid cursor',
    hint: 'Recomece a lista sem cursor; use next_cursor sem alterá-lo e com os mesmos parâmetros.',
    hint_en: 'Start the list again without cursor; use next_cursor unchanged and with the same parameters.',
  },
  unknown_metric: {
    status: 400,
    title: 'Métrica desconhecida',
    title_en: 'Unknown metric',
    hint: 'Liste as métricas com GET /v1/analytics/catalog.',
    hint_en: 'List the metrics with GET /v1/analytics/catalog.',
  },
  unknown_dimension: {
    status: 400,
    title: 'Dimensão desconhecida',
    title_en: 'Unknown dimension',
    hint: 'Liste as dimensões com GET /v1/analytics/catalog.',
    hint_en: 'List the dimensions with GET /v1/analytics/catalog.',
  },
  incompatible_dimension: {
    status: 400,
    title: 'Dimensão incompatível com a métrica',
    title_en: 'Dimension incompatible with the metric',
    hint: 'Retire a dimensão ou peça a métrica em uma consulta separada.',
    hint_en: 'Remove the dimension or ask the metric in a query of its own.',
  },
  dimension_not_loaded: {
    status: 400,
    title: 'Dimensão não carregada nesta versão de dados',
    title_en: 'Dimension not loaded in this release',
    hint: 'Importe a base territorial do DATASUS junto com os arquivos do IBGE.',
    hint_en: 'Import the territorial base of DATASUS together with the files of IBGE.',
  },
  denominator_not_defined: {
    status: 400,
    title: 'Taxa sem denominador neste agrupamento',
    title_en: 'Rate has no denominator at this grouping',
    hint: 'Agrupe a taxa por estado, município ou uma categoria, não por estabelecimento.',
    hint_en: 'Group the rate by state, municipality or a category, not by facility.',
  },
  semi_additive: {
    status: 400,
    title: 'Estoque não se soma entre competências',
    title_en: 'A stock does not add up over reference periods',
    hint: 'Agrupe por reference_period, filtre uma competência ou informe over_period: last, first, avg ou max.',
    hint_en: 'Group by reference_period, filter one period, or set over_period to last, first, avg or max.',
  },
  too_many_rows: {
    status: 400,
    title: 'Linhas demais',
    title_en: 'Too many rows',
    hint: 'Filtre a consulta ou agrupe por menos dimensões.',
    hint_en: 'Filter the query, or group by fewer dimensions.',
  },
  unauthorized: {
    status: 401,
    title: 'Credencial ausente ou inválida',
    title_en: 'Missing or invalid credentials',
    hint: 'Envie o cabeçalho Authorization: Bearer <API_KEY>.',
    hint_en: 'Send the header Authorization: Bearer <API_KEY>.',
  },
  forbidden: {
    status: 403,
    title: 'Acesso recusado para a chave',
    title_en: 'Access refused for the key',
    hint: 'Peça ao operador uma chave com a permissão necessária.',
    hint_en: 'Ask the operator for a key with the capability it lacks.',
  },
  not_found: {
    status: 404,
    title: 'Registro não encontrado',
    title_en: 'Record not found',
    hint: 'Confira o código no caminho.',
    hint_en: 'Check the code in the path.',
  },
  route_not_found: {
    status: 404,
    title: 'Caminho não encontrado',
    title_en: 'Path not found',
    hint: 'Veja as rotas em /docs.',
    hint_en: 'See the routes at /docs.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Método não permitido',
    title_en: 'Method not allowed',
    hint: 'Use um dos métodos do cabeçalho Allow.',
    hint_en: 'Use one of the methods in the Allow header.',
  },
  not_acceptable: {
    status: 406,
    title: 'Formato não oferecido',
    title_en: 'Format not offered',
    hint: 'Envie em Accept um dos formatos de offered, ou nenhum.',
    hint_en: 'Send one of the formats of offered in Accept, or none.',
  },
  request_timeout: {
    status: 408,
    title: 'Pedido lento demais',
    title_en: 'Request too slow',
    hint: 'Envie o pedido inteiro em até 30 segundos.',
    hint_en: 'Send the whole request within 30 seconds.',
  },
  release_mismatch: {
    status: 409,
    title: 'Versão de dados não disponível',
    title_en: 'Data release not available',
    hint: 'Retire expected_release_id ou use uma versão que GET /v1/releases lista.',
    hint_en: 'Drop expected_release_id, or use a release that GET /v1/releases lists.',
  },
  payload_too_large: {
    status: 413,
    title: 'Corpo grande demais',
    title_en: 'Body too large',
    hint: 'Envie um corpo menor.',
    hint_en: 'Send a smaller body.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Tipo de conteúdo não aceito',
    title_en: 'Unsupported content type',
    hint: 'Envie application/json, sem compressão.',
    hint_en: 'Send application/json, not compressed.',
  },
  uri_too_long: {
    status: 414,
    title: 'Endereço longo demais',
    title_en: 'Address too long',
    hint: 'Encurte o endereço.',
    hint_en: 'Shorten the query string.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Intervalo fora do arquivo',
    title_en: 'Range outside of the file',
    hint: 'Peça bytes que o arquivo tem; Content-Range diz quantos são.',
    hint_en: 'Ask for bytes the file has; Content-Range says how many.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectativa não atendida',
    title_en: 'Expectation failed',
    hint: 'Retire o cabeçalho Expect ou envie Expect: 100-continue.',
    hint_en: 'Drop the Expect header, or send Expect: 100-continue.',
  },
  headers_too_large: {
    status: 431,
    title: 'Cabeçalhos grandes demais',
    title_en: 'Headers too large',
    hint: 'Envie no máximo 16 KiB de cabeçalhos, incluindo o endereço.',
    hint_en: 'Send at most 16 KiB of headers, the address included.',
  },
  rate_limited: {
    status: 429,
    title: 'Limite de requisições excedido',
    title_en: 'Rate limit exceeded',
    hint: 'Espere os segundos de Retry-After.',
    hint_en: 'Wait the seconds in Retry-After.',
  },
  internal: {
    status: 500,
    title: 'Erro interno',
    title_en: 'Internal error',
    hint: 'Informe o request_id ao operador.',
    hint_en: 'Report the request_id to the operator.',
  },
  not_implemented: {
    status: 501,
    title: 'Recurso do HTTP não oferecido',
    title_en: 'HTTP feature not offered',
    hint: 'Envie o pedido sem Transfer-Encoding além de chunked, e sem o método CONNECT.',
    hint_en:
      'Send the request without a Transfer-Encoding other than chunked, and without the method CONNECT.',
  },
  not_ready: {
    status: 503,
    title: 'Serviço ainda não pronto',
    title_en: 'Service not ready',
    hint: 'Espere os segundos de Retry-After; GET /ready diz o motivo.',
    hint_en: 'Wait the seconds in Retry-After; GET /ready says why.',
  },
  release_damaged: {
    status: 503,
    title: 'Arquivo da versão de dados danificado',
    title_en: 'Damaged file of the release',
    hint: 'Avise o operador; GET /ready nomeia o arquivo. O que não precisa dele segue respondendo.',
    hint_en: 'Tell the operator; GET /ready names the file. Requests that do not need it are still answered.',
  },
  overloaded: {
    status: 503,
    title: 'Fila de consultas cheia',
    title_en: 'Query queue full',
    hint: 'Espere os segundos de Retry-After.',
    hint_en: 'Wait the seconds in Retry-After.',
  },
  engine_unavailable: {
    status: 503,
    title: 'Motor de consultas indisponível',
    title_en: 'Query engine unavailable',
    hint: 'Espere os segundos de Retry-After; listas e registros seguem respondendo.',
    hint_en: 'Wait the seconds in Retry-After; lists and records go on being answered.',
  },
  query_too_large: {
    status: 503,
    title: 'Consulta não cabe na memória',
    title_en: 'Query does not fit into memory',
    hint: 'Restrinja os filtros ou agrupe por menos dimensões; o operador pode aumentar SUS_DUCKDB_MEMORY ou SUS_REPORT_MEMORY.',
    hint_en:
      'Narrow the filters or group by fewer dimensions; the operator may raise SUS_DUCKDB_MEMORY or SUS_REPORT_MEMORY.',
  },
  query_timeout: {
    status: 504,
    title: 'Consulta passou do tempo limite',
    title_en: 'Query timed out',
    hint: 'Restrinja os filtros ou agrupe por menos dimensões.',
    hint_en: 'Narrow the filters or group by fewer dimensions.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

/**
 * An invalid query or path parameter, or an invalid value of the body by its JSON pointer. The message continues the
 * sentence after that name, without a full stop: 'deve ser AAAA-MM', 'must be YYYY-MM'.
 */
export interface ErrorDetail {
  readonly parameter?: string
  readonly pointer?: string
  readonly message: Text
  readonly allowed?: readonly (string | number)[]
}

export interface AppErrorOptions {
  /** Public sentence about this error, by default the first of `errors` or the hint. It must not contain SQL, paths or keys. */
  readonly detail?: Text
  readonly errors?: readonly ErrorDetail[]
  /** Extra public members of the problem document, such as `expected` and `current` of a release. */
  readonly extra?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** Cause for the log, never shown to clients. */
  readonly cause?: unknown
}

/** The only error type that reaches a client. All other errors become `internal`. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly detail: Text
  readonly errors: readonly ErrorDetail[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const detail = options.detail ?? defaultDetail(code, options.errors ?? [])
    super(detail.en, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.detail = detail
    this.errors = options.errors ?? []
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}

/** Makes a sentence from the first error. Codes other than `invalid_request` add their hint. */
function defaultDetail(code: ErrorCode, errors: readonly ErrorDetail[]): Text {
  const { hint, hint_en } = ERRORS[code]
  const [first] = errors
  if (first === undefined) return both(hint, hint_en)
  const location = first.parameter ?? (first.pointer === '' ? undefined : first.pointer)
  const sentence = both(
    `${location ?? 'O corpo'} ${first.message.pt}.`,
    `${location ?? 'The body'} ${first.message.en}.`,
  )
  return code === 'invalid_request' ? sentence : both(`${sentence.pt} ${hint}`, `${sentence.en} ${hint_en}`)
}

/** @returns the error that ends work after its client has disconnected */
export const clientLeft = (cause?: unknown): AppError =>
  new AppError('query_timeout', { detail: both('O cliente saiu.', 'The client has left.'), cause })
