/**
 * Years and population types that a dataset holds. Refuses other years, as periods.ts refuses months, and writes notes about data that
 * the release lacks: an empty list would look like zero.
 */
import type { Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import type { Dataset } from '../model/datasets.ts'
import type { Note } from '../model/notes.ts'
import { codesIn } from '../query/lists/filters.ts'
import type { ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'
import type { Records } from './source.ts'

const YEARS = new WeakMap<ReleaseView, Map<string, Promise<Row[]>>>()

interface StoredYear {
  readonly year: number
  /** Null in datasets without population types. */
  readonly type: string | null
}
type Filters = Readonly<Record<string, string>>

const isStored = ({ name, area }: Dataset, { view }: Records['release']): boolean =>
  (view.components[area]?.datasets[name]?.rows ?? 0) > 0

/** @returns the years of a dataset by population type, ascending; they are read once for each release */
async function yearsOf(dataset: Dataset, { release, engine }: Records): Promise<StoredYear[]> {
  if (!isStored(dataset, release)) return []
  const { name, filters } = dataset
  const { view } = release
  const ofView = YEARS.get(view) ?? new Map<string, Promise<Row[]>>()
  YEARS.set(view, ofView)
  let rows = ofView.get(name)
  if (rows === undefined) {
    const type = filters?.population_type === undefined ? sql`CAST(NULL AS VARCHAR)` : sql`population_type`
    // Ignore the client's abort signal: other requests may wait for the same years.
    rows = engine.run(
      sql`SELECT DISTINCT reference_year, ${type} AS population_type FROM ${table(name)} ORDER BY ALL`,
      view,
      {},
    )
    ofView.set(name, rows)
    rows.catch(() => ofView.delete(name))
  }
  return (await rows).map(({ reference_year, population_type }) => ({
    year: Number(reference_year),
    type: population_type === null ? null : String(population_type),
  }))
}

/** @returns notes about a dataset, or a population type of the filters, without rows in the release */
export async function absenceNotes(dataset: Dataset, filters: Filters, records: Records): Promise<Note[]> {
  if (!isStored(dataset, records.release)) return [{ code: 'dataset_not_imported', dataset: dataset.name }]
  if (filters.population_type === undefined) return []
  const stored = await yearsOf(dataset, records)
  const missing = codesIn(filters.population_type).filter((code) => stored.every(({ type }) => type !== code))
  return missing.length === 0 ? [] : [{ code: 'population_type_not_imported', population_types: missing }]
}

/** @throws AppError 'invalid_request' with the available years; where there are none, a note of the list says so */
export async function requireYears(dataset: Dataset, filters: Filters, records: Records): Promise<void> {
  const { reference_year, population_type } = filters
  if (reference_year === undefined) return
  const types = population_type === undefined ? null : codesIn(population_type)
  const stored = await yearsOf(dataset, records)
  const ofTypes = stored.filter(({ type }) => types === null || (type !== null && types.includes(type)))
  const years = [...new Set(ofTypes.map(({ year }) => year))]
  if (years.length === 0 || codesIn(reference_year).every((year) => years.includes(Number(year)))) return
  throw new AppError('invalid_request', {
    detail:
      types === null
        ? both('A versão de dados não tem este ano.', 'The release does not hold this year.')
        : both(
            'A versão de dados não tem este ano para este tipo de população.',
            'The release does not hold this year for this population type.',
          ),
    errors: [
      {
        parameter: 'reference_year',
        message: both('não está na versão de dados', 'is not in the release'),
        allowed: years,
      },
    ],
  })
}
