/** The answer to a request that fails. */
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { componentAs } from '../query/text-schemas.ts'
import { type AnswerOf, oneOf, text } from './parts.ts'

export const problem = componentAs(
  z
    .looseObject({
      type: text('Kind of the error, as an address: /problems/<code>.'),
      title: text('Kind of the error, in the requested language.'),
      status: z.int().min(400).max(599),
      detail: text('Defect of this request, and what to change.'),
      code: oneOf(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]], 'Kind of the error, for programs.'),
      request_id: text('Id of the request, as in its header x-request-id and in the log of the server.'),
      errors: z.array(
        z.strictObject({
          parameter: text('Parameter of the address.').exactOptional(),
          pointer: text('Place in the body, as a JSON pointer.').exactOptional(),
          message: text('Requirement that the value does not meet.'),
          allowed: z
            .array(z.union([z.string(), z.number()]))
            .describe('All or the nearest of what is allowed.')
            .exactOptional(),
        }),
      ),
    })
    .describe('RFC 9457 problem document.'),
  'Problem',
)
export type ProblemDocument = AnswerOf<typeof problem>
