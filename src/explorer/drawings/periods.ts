/** The periods of an answer's drawings: those of the question, those with missing values, and their places on an axis of time. Pure. */
import type { QueryAnswer } from '../api.ts'
import { codeOf } from '../api.ts'
import { type QueryBody, TIMES } from '../question.ts'

/** Part of the year in which a period without a month lies, behind December. */
const NO_MONTH = 12.5
const PARTS_PER_YEAR: Readonly<Record<string, number>> = {
  reference_period: 12,
  reference_quarter: 4,
  reference_quadrimester: 3,
}

/** @returns periods for which the notes say that values of a metric are missing */
const missingPeriodsOf = ({ notes }: QueryAnswer['meta'], code: string): string[] =>
  notes.flatMap((note) => {
    switch (note.code) {
      case 'not_collected':
      case 'not_carried':
      case 'sus_link_not_published':
      case 'no_price_index':
        return note.metrics.includes(code) ? note.periods : []
      case 'incomplete_period':
        return note.metrics.includes(code) ? note.incomplete_periods : []
      default:
        return []
    }
  })

/** @param filter one of the explorer's own, which lists periods or ranges of them @returns whether it leaves a month; other dimensions leave each */
function isWithin(filter: QueryBody['filters'][number], month: string): boolean {
  const { dimension, operator, value } = filter
  if (!TIMES.includes(dimension)) return true
  const period = periodOf(month, dimension)
  const values = [value].flat().map(String)
  const [first = '', last = first] = [values[0], values.at(-1)]
  if (operator === 'EQ' || operator === 'IN') return values.includes(period)
  return (operator === 'LTE' || period >= first) && (operator === 'GTE' || period <= last)
}

/** @returns the period that a month lies in, as answers show it */
function periodOf(month: string, time: string): string {
  const perYear = PARTS_PER_YEAR[time] ?? 1
  const [year = '', number = ''] = month.split('-')
  if (perYear === 1) return year
  const letter = time === 'reference_quarter' ? 'Q' : 'C'
  return perYear === 12 ? month : `${year}-${letter}${Math.ceil((Number(number) * perYear) / 12)}`
}

/**
 * @param code metric
 * @returns periods, oldest first; months without a row are among them, and so are uncollected ones between others
 */
export function periodsOf(
  { data, meta }: Pick<QueryAnswer, 'data' | 'meta'>,
  time: string,
  code: string,
): string[] {
  const isMonthly = time === 'reference_period'
  const months = isMonthly ? (meta.reference_period ?? '').split(', ') : []
  const ofRows = data.map(({ dimensions }) => codeOf(dimensions[time])).filter((period) => period !== '')
  const filters = (meta.query.filters ?? []) as QueryBody['filters']
  // A window also reads months before the first that was requested. Drawn without a row, each would look like a 0.
  const requested = months.filter((month) => filters.every((filter) => isWithin(filter, month)))
  const periods = [...ofRows, ...requested].filter((period) => period !== '').sort()
  const [first = '', last = ''] = [periods[0], periods.at(-1)]
  const gaps = isMonthly ? missingPeriodsOf(meta, code) : []
  return [...new Set([...periods, ...gaps.filter((gap) => gap > first && gap < last)])].sort()
}

/**
 * Rows come from facts, so a period that was collected has no row where nothing happened.
 * @param code metric that counts or adds up
 * @returns periods in which a missing row stands for 0
 */
export function zeroPeriodsOf(answer: QueryAnswer, time: string, code: string): ReadonlySet<string> {
  const { data, meta, pagination } = answer
  // A row that is missing from a part of the answer may be in the rest of it.
  if (pagination.has_more || pagination.offset > 0) return new Set()
  const missing = new Set(missingPeriodsOf(meta, code))
  for (const { metrics, dimensions } of data)
    if ((metrics[code] ?? null) === null) missing.add(codeOf(dimensions[time]))
  return new Set(periodsOf(answer, time, code).filter((period) => !missing.has(period)))
}

/** @returns periods that a source reports only in part, such as the running year of yearly transfers */
export const partialPeriodsOf = ({ meta }: Pick<QueryAnswer, 'meta'>): ReadonlySet<string> =>
  new Set(meta.notes.flatMap((note) => (note.code === 'transfers_year_to_date' ? [note.period] : [])))

/** @returns the position of a period on an axis of time, in periods */
export function positionOf(period: string, time: string): number {
  const perYear = PARTS_PER_YEAR[time] ?? 1
  const [year = '', part = ''] = period.split('-')
  if (perYear === 1) return Number(year)
  return Number(year) * perYear + (Number(part.replace(/\D/, '')) || NO_MONTH)
}

/** @returns periods whose labels fit on an axis, the oldest first */
export function labelledOf(
  periods: readonly string[],
  x: (period: string) => number,
  distance: number,
): readonly string[] {
  const labelled: string[] = []
  for (const period of periods) {
    const last = labelled.at(-1)
    // Positions are fractions, which may miss the distance by their last digit.
    if (last === undefined || x(period) - x(last) > distance - 0.01) labelled.push(period)
  }
  return labelled
}
