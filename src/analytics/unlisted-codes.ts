/**
 * Finds codes of filters that the release does not list. They select nothing, so that a mistyped code would look like a count of zero:
 * `9` for the chapter `09`.
 */
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import type { Note } from '../model/notes.ts'
import { isTime } from '../model/periods.ts'
import { isWithoutCode } from '../model/required-tables.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'
import { componentManifests, type ReleaseView } from '../release/view.ts'
import { ident, sql, table } from '../sql.ts'
import type { AnswerParts } from './query.ts'

type Codes = ReadonlySet<string>

/** Cache by release: its lists do not change, and reading one takes as long as a third of a query. */
const LISTS = new WeakMap<ReleaseView, Map<DimensionCode, Promise<Codes>>>()

const FACILITY_CODE = /^\d{7}$/

/** Codes that a note names. */
const NAMED_MAX = 5

/** @returns a note for each dimension of filters with codes that the release does not list */
export async function noteUnlistedCodes(
  { filters, metrics }: AnalyticsQuery,
  parts: AnswerParts,
): Promise<Note[]> {
  const codesOf = new Map<DimensionCode, Set<string>>()
  for (const { dimension, values } of [...filters, ...metrics.flatMap((metric) => metric.filters)]) {
    if (isTime(dimension)) continue
    const codes = codesOf.get(dimension) ?? new Set()
    codesOf.set(dimension, codes)
    for (const value of values) if (!isWithoutCode(dimension, value)) codes.add(String(value))
  }
  const notes: Note[] = []
  for (const [dimension, codes] of codesOf) {
    const listed = await listedAmong(dimension, codes, parts)
    const unlisted = listed === null ? [] : [...codes].filter((code) => !listed.has(code))
    if (unlisted.length > 0)
      notes.push({
        code: 'codes_not_listed',
        dimension,
        codes: unlisted.slice(0, NAMED_MAX),
        more: Math.max(0, unlisted.length - NAMED_MAX),
      })
  }
  return notes
}

/** @returns codes that the release lists, those of `codes` at least; null when it has no list of the dimension */
async function listedAmong(
  dimension: DimensionCode,
  codes: Codes,
  parts: AnswerParts,
): Promise<Codes | null> {
  const { engine, view } = parts
  // Looking up one of 600,000 facilities takes as long as its question. A lost leading zero shows without it.
  if (dimension === 'facility') return new Set([...codes].filter((code) => FACILITY_CODE.test(code)))
  const { labels, member } = dimensionOf(dimension)
  if (labels !== undefined) return new Set(Object.keys(labels))
  if (
    member === null ||
    !componentManifests(view).some(({ datasets }) => datasets[member.dataset] !== undefined)
  )
    return null
  const lists = LISTS.get(view) ?? new Map<DimensionCode, Promise<Codes>>()
  LISTS.set(view, lists)
  let list = lists.get(dimension)
  if (list === undefined) {
    const statement = sql`SELECT DISTINCT ${ident(member.key)} AS code FROM ${table(member.dataset)}`
    // Ignore the client's abort signal: other requests may wait for the same list.
    list = engine.run(statement, view, {}).then((rows) => new Set(rows.map(({ code }) => String(code))))
    lists.set(dimension, list)
    list.catch(() => lists.delete(dimension))
  }
  return await list
}
