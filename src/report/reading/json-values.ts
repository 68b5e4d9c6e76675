/** Parses the JSON of untrusted reports and finds members that the writers never write. */
import { isSafeNumber, parse as parseExactly } from 'lossless-json'
import { exceededLimit } from '../../json-size.ts'
import { ReportUnreadable } from './unreadable.ts'

/**
 * Rejects duplicate members. A number with more digits than a double becomes a text that no cell can equal.
 * @throws ReportUnreadable when the JSON is too large @throws SyntaxError
 */
export function parseJson(bytes: Buffer): unknown {
  const exceeded = exceededLimit(bytes, LIMITS)
  if (exceeded === 'depth') throw new ReportUnreadable('is nested deeper than a report')
  if (exceeded !== null) throw new ReportUnreadable('has more objects or values than can be read of a report')
  return parseExactly(bytes.toString(), null, (digits) =>
    isSafeNumber(digits) ? Number(digits) : `${digits} (more digits than a number has)`,
  )
}

/** Limits of a report. Reports nest about twelve levels deep; a row has about five objects and one value per cell. */
const LIMITS = { depth: 64, objects: 2_000_000, values: 10_000_000 }

/** @returns a message when an object has members that the writer does not write */
export function findUnknownMembers(where: string, value: object, allowed: readonly string[]): string[] {
  const unexpected = Object.keys(value).find((name) => !allowed.includes(name))
  return unexpected === undefined ? [] : [`${where} has the member ${unexpected}, which reports do not have`]
}
