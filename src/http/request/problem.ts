/** Describes every error as RFC 9457 problem+json. In: any exception. Out: status, headers and body, without the cause. */
import accepts from 'accepts'
import type { FastifyError } from 'fastify'
import type { ProblemDocument } from '../../answers/problem.ts'
import { AppError, type AppErrorOptions, both, ERRORS, type ErrorCode, type Language } from '../../errors.ts'
import type { ApiResponse } from '../connection/send.ts'

export type { Language } from '../../errors.ts'

export interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ProblemDocument
}

const bodyError = (pt: string, en: string): AppErrorOptions => ({
  errors: [{ pointer: '', message: both(pt, en) }],
})

const FRAMEWORK: Readonly<Record<string, readonly [code: ErrorCode, options?: AppErrorOptions]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid_request', bodyError('não pode ser vazio', 'must not be empty')],
  FST_ERR_CTP_INVALID_JSON_BODY: ['invalid_request', bodyError('deve ser JSON válido', 'must be valid JSON')],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    bodyError('deve ter o tamanho que Content-Length diz', 'must be as long as Content-Length says'),
  ],
  FST_ERR_BAD_URL: [
    'invalid_request',
    {
      detail: both(
        'O endereço tem um % que não inicia um caractere codificado.',
        'The address has a % that begins no encoded character.',
      ),
    },
  ],
  FST_ERR_MAX_PARAM_LENGTH: ['uri_too_long'],
  FST_ERR_NOT_FOUND: ['route_not_found'],
}

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = (error as FastifyError | undefined)?.code ?? ''
  const entry = Object.hasOwn(FRAMEWORK, code) ? FRAMEWORK[code] : undefined
  if (entry !== undefined) return new AppError(entry[0], { ...entry[1], cause: error })
  // The body is invalid JSON or contains __proto__.
  if (error instanceof SyntaxError)
    return new AppError('invalid_request', {
      ...bodyError('deve ser JSON válido', 'must be valid JSON'),
      cause: error,
    })
  if ((error as FastifyError | undefined)?.statusCode === 400)
    return new AppError('invalid_request', {
      detail: both('O pedido não pode ser lido.', 'The request cannot be read.'),
      cause: error,
    })
  return new AppError('internal', { cause: error })
}

export function describeProblem(error: AppError, requestId: string, language: Language): Problem {
  const entry = ERRORS[error.code]
  return {
    status: entry.status,
    headers: error.headers,
    body: {
      type: `/problems/${error.code}`,
      title: language === 'en' ? entry.title_en : entry.title,
      status: entry.status,
      detail: error.detail[language],
      code: error.code,
      request_id: requestId,
      errors: error.errors.map((item) => ({ ...item, message: item.message[language] })),
      ...error.extra,
    },
  }
}

/** @returns the answer to a failed request */
export function answerProblem(error: AppError, requestId: string, language: Language): ApiResponse {
  const { status, headers, body } = describeProblem(error, requestId, language)
  return {
    status,
    headers: { ...headers, 'cache-control': 'no-store' },
    body: {
      kind: 'content',
      type: 'application/problem+json; charset=utf-8',
      content: JSON.stringify(body),
    },
  }
}

/** Languages by Accept-Language header. Few distinct headers are in use, and parsing costs more than a look-up. */
const LANGUAGES = new Map<string, Language>()
const LANGUAGES_MAX = 100
/** Languages offered to the parser, with their usual regions: `en-US` in a header must match as exactly as `pt` does. */
const VARIANTS = ['pt-BR', 'pt', 'pt-PT', 'en', 'en-US', 'en-GB']

/** @returns the preferred language of the two; Portuguese without a preference */
export function languageOf(header: string | undefined): Language {
  if (header === undefined) return 'pt'
  let language = LANGUAGES.get(header)
  if (language === undefined) {
    const request = { headers: { 'accept-language': header } } as Parameters<typeof accepts>[0]
    const preferred = accepts(request).language(VARIANTS)
    language = preferred !== false && preferred.startsWith('en') ? 'en' : 'pt'
    if (LANGUAGES.size >= LANGUAGES_MAX) LANGUAGES.clear()
    LANGUAGES.set(header, language)
  }
  return language
}
