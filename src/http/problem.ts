/**
 * The one error shape: RFC 9457 problem+json. In: anything thrown. Out: status, headers and body; nothing of the cause.
 */
import type { FastifyError } from 'fastify'
import type { ZodError } from 'zod'
import { AppError, ERRORS, type ErrorCode, type ErrorDetail } from '../errors.ts'

export type Language = 'pt' | 'en'

export interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** What the framework throws, in our codes. */
const FRAMEWORK: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_request',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_request',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_BAD_URL: 'invalid_request',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
  FST_ERR_NOT_FOUND: 'route_not_found',
}

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = FRAMEWORK[(error as FastifyError | undefined)?.code ?? '']
  if (code !== undefined) return new AppError(code, { cause: error })
  const status = (error as FastifyError | undefined)?.statusCode
  if (status === 400 || error instanceof SyntaxError)
    return new AppError('invalid_request', { detail: 'The request cannot be read.', cause: error })
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
      detail: error.message,
      code: error.code,
      request_id: requestId,
      errors: error.errors,
      ...error.extra,
    },
  }
}

/** Zod's issues as errors that name the parameter, what is wrong and what is allowed. */
export function describeIssues(error: ZodError, names: readonly string[]): ErrorDetail[] {
  return error.issues.flatMap((issue): ErrorDetail[] => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((parameter) => ({
        parameter: parameter.slice(0, 100),
        message: 'is not a parameter of this route',
        allowed: names,
      }))
    const parameter = String(issue.path[0] ?? '')
    if (issue.code === 'invalid_value')
      return [{ parameter, message: 'is not one of the allowed values', allowed: issue.values.map(String) }]
    return [
      { parameter, message: issue.code === 'invalid_type' ? 'must be given once, as text' : issue.message },
    ]
  })
}

/** Portuguese unless English is asked for first. */
export const languageOf = (header: string | undefined): Language =>
  header !== undefined && /^\s*en\b/i.test(header) ? 'en' : 'pt'
