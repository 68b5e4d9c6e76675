/** Chooses the period of a list or record: the requested one, otherwise the newest that was collected where the answer lies. */
import { AppError, both } from '../errors.ts'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { Table } from '../model/required-tables.ts'
import type { PeriodChoice } from '../query/lists/list.ts'
import { newestFor, statesCollected, tablesBeside } from '../release/coverage.ts'
import { collectedPeriods, formatPeriod, latestPeriod, storedPeriods } from '../release/view.ts'
import { type States, tableOf } from './coverage.ts'
import type { RecordRelease } from './release.ts'

/**
 * @param text requested period, or undefined
 * @param states states that determine the default month
 * @param acceptsAll whether the route also accepts all periods together; a route of one record does not
 * @throws AppError 'invalid_request' with the available periods
 */
export function choosePeriod(
  release: RecordRelease,
  dataset: DatasetName,
  text: string | undefined,
  states: States,
  acceptsAll = true,
): PeriodChoice {
  const { periodic, listsAllPeriods } = datasetOf(dataset)
  if (!periodic) return null
  const { view } = release
  const periods = storedPeriods(view, dataset)
  if (text === 'all' || (text === undefined && listsAllPeriods === true))
    return periods.length === 0 ? null : 'all'
  if (text === undefined) {
    const table = tableOf(dataset)
    return table === null ? latestPeriod(view, dataset) : latestPeriodOf(release, table, states)
  }
  const period = Number(text.replace('-', ''))
  if (periods.includes(period)) return period
  throw new AppError('invalid_request', {
    detail: both(
      'A versão de dados não tem esta competência.',
      'The release does not hold this reference period.',
    ),
    errors: [
      {
        parameter: 'reference_period',
        message: both('não está na versão de dados', 'is not in the release'),
        allowed: [...periods.map(formatPeriod), ...(acceptsAll ? ['all'] : [])],
      },
    ],
  })
}

/**
 * @returns the default month: the newest collected in the states; for a table never collected there, the newest of a related table;
 * otherwise the newest of the release
 */
export function latestPeriodOf(
  { view, incomplete }: RecordRelease,
  table: Table,
  states: States,
): number | null {
  if (!incomplete.has(table)) return latestPeriod(view, table)
  return (
    newestFor(collectedPeriods(view, table), states, (period) => [statesCollected(view, table, period)]) ??
    newestFor(storedPeriods(view, table), states, (period) =>
      tablesBeside(table).map((other) => statesCollected(view, other, period)),
    ) ??
    latestPeriod(view, table)
  )
}
