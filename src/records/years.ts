/** Refuses years that a dataset does not hold, as periods.ts refuses months: an empty list would look like zero. */
import type { Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import type { Dataset } from '../model/datasets.ts'
import type { ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'
import type { Records } from './source.ts'

const YEARS = new WeakMap<ReleaseView, Map<string, Promise<Row[]>>>()

/** @returns the years of a dataset, ascending; they are read once for each release */
async function yearsOf({ release: { view }, engine }: Records, name: string): Promise<number[]> {
  const ofView = YEARS.get(view) ?? new Map<string, Promise<Row[]>>()
  YEARS.set(view, ofView)
  let rows = ofView.get(name)
  if (rows === undefined) {
    // Ignore the client's abort signal: other requests may wait for the same years.
    rows = engine.run(sql`SELECT DISTINCT reference_year FROM ${table(name)} ORDER BY 1`, view, {})
    ofView.set(name, rows)
    rows.catch(() => ofView.delete(name))
  }
  return (await rows).map(({ reference_year }) => Number(reference_year))
}

/** @throws AppError 'invalid_request' with the available years */
export async function requireYears(
  { name, area }: Dataset,
  filters: Readonly<Record<string, string>>,
  records: Records,
): Promise<void> {
  const { reference_year } = filters
  if (reference_year === undefined) return
  if (records.release.view.components[area]?.datasets[name] === undefined) return
  const years = await yearsOf(records, name)
  if (reference_year.split(',').every((year) => years.includes(Number(year)))) return
  throw new AppError('invalid_request', {
    detail: both('A versão de dados não tem este ano.', 'The release does not hold this year.'),
    errors: [
      {
        parameter: 'reference_year',
        message: both('não está na versão de dados', 'is not in the release'),
        allowed: years,
      },
    ],
  })
}
