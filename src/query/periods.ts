/** Reference periods of a query: which pass its filters, and lists of them put together. Months are YYYYMM. Pure. */
import { AppError, both } from '../errors.ts'
import type { FactDataset } from '../model/dimensions.ts'
import { formatPeriod } from '../release/view.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** @returns the periods of several lists, each once, ascending */
export const allPeriods = (lists: readonly (readonly number[])[]): number[] =>
  [...new Set(lists.flat())].sort((left, right) => left - right)

/** @returns the months that pass filters on reference_period */
export const periodsMeeting = (filters: readonly QueryFilter[], periods: readonly number[]): number[] =>
  periods.filter((period) => filters.every((filter) => meetsPeriod(filter, period)))

function meetsPeriod({ operator, values }: QueryFilter, period: number): boolean {
  const [first = 0, second = 0] = values as readonly number[]
  switch (operator) {
    case 'EQ':
    case 'IN':
      return values.includes(period)
    case 'NEQ':
    case 'NOT_IN':
      return !values.includes(period)
    case 'GT':
      return period > first
    case 'GTE':
      return period >= first
    case 'LT':
      return period < first
    case 'LTE':
      return period <= first
    case 'BETWEEN':
      return period >= first && period <= second
  }
}

/**
 * Months that are selected and not grouped → those that become one value.
 * @param level the level of totals that leaves the months out, for the refusal
 * @throws AppError 'semi_additive' where nothing says how
 */
export function toOneValue(
  chosen: ReadonlyMap<FactDataset, readonly number[]>,
  over: AnalyticsQuery['over_period'],
  level: string | null = null,
): Map<FactDataset, readonly number[]> {
  const all = allPeriods([...chosen.values()])
  if (all.length <= 1) return new Map(chosen)
  if (over === null)
    throw new AppError('semi_additive', {
      detail:
        level === null
          ? both(
              `A consulta escolhe ${all.length} competências sem agrupar por elas.`,
              `The query selects ${all.length} reference periods without grouping by them.`,
            )
          : both(
              `O nível ${level} deixa de fora reference_period, e a consulta escolhe ${all.length} competências.`,
              `The level ${level} leaves out reference_period, of which the query selects ${all.length}.`,
            ),
      errors: [
        {
          pointer: '/over_period',
          message: both(
            'deve dizer como várias competências viram um valor',
            'must say how several periods become one value',
          ),
          allowed: ['last', 'first', 'avg', 'max'],
        },
      ],
      extra: { periods: all.map(formatPeriod) },
    })
  if (over === 'avg' || over === 'max') return new Map(chosen)
  // One anchor for all groups and datasets: a hospital that closed before it does not count.
  const anchor = over === 'last' ? all.at(-1) : all[0]
  return new Map([...chosen].map(([dataset, periods]) => [dataset, periods.filter((own) => own === anchor)]))
}
