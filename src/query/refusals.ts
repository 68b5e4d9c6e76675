/** Refusals of a part of a body, as its parsers throw them. Pure. */
import { AppError, type Text } from '../errors.ts'

/** @param pointer JSON pointer to the part; @param message what is wrong with it; @param allowed what may stand there */
export const refuse = (
  code: 'invalid_request' | 'unknown_metric' | 'unknown_dimension' | 'semi_additive',
  pointer: string,
  message: Text,
  allowed?: readonly (string | number)[],
): AppError =>
  new AppError(code, { errors: [{ pointer, message, ...(allowed === undefined ? {} : { allowed }) }] })
