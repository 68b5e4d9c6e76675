/** Reads the query of a link: JSON in the parameter q becomes the body that a POST would have. */

import { readPin } from '../../analytics/query.ts'
import { AppError, both } from '../../errors.ts'

/** @throws AppError 'invalid_request' for invalid JSON */
export function readLinkedQuery(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    throw new AppError('invalid_request', {
      errors: [
        { parameter: 'q', message: both('deve ser o JSON do pedido', 'must be the JSON of the request') },
      ],
    })
  }
}

/** @returns the release pinned by the query, read before the query is validated */
export function readLinkedPin(text: string | undefined): string | null {
  try {
    return readPin(JSON.parse(text ?? ''))
  } catch {
    return null
  }
}
