/** Builds the errors that parsers of request bodies throw. */
import { AppError, type Text } from '../errors.ts'

/** @param pointer JSON pointer to the invalid value; @param allowed values that are accepted there */
export const refuse = (
  code: 'invalid_request' | 'unknown_metric' | 'unknown_dimension' | 'semi_additive',
  pointer: string,
  message: Text,
  allowed?: readonly (string | number)[],
): AppError =>
  new AppError(code, { errors: [{ pointer, message, ...(allowed === undefined ? {} : { allowed }) }] })
