/**
 * The states that facilities lie in, which decide what was collected of them. In: codes, a release. Out: states, by the registry,
 * else by the files of admissions and of production that name the facility.
 */
import type { Engine, RunOptions } from '../engine/types.ts'
import { datasetOf } from '../model/datasets.ts'
import { ADDED_UP_TABLES, type FactDataset } from '../model/dimensions.ts'
import { NO_FACILITY } from '../model/sih/code-lists.ts'
import { weightOf } from '../query/analytics/estimate.ts'
import type { QueryFilter } from '../query/analytics/request.ts'
import { hasGaps, tablesBeside } from '../release/coverage.ts'
import type { ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'

/** Datasets whose rows name a facility and its state; the registry first. */
const NAMING = [
  'facilities',
  'hospital_admissions',
  'outpatient_production',
] as const satisfies readonly FactDataset[]

/**
 * @returns states of the facilities that filters name; null where none names any, where the release has no gaps, or where one of
 * them lies in no state that is known
 */
export async function statesOfFilters(
  filters: readonly QueryFilter[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<ReadonlySet<string> | null> {
  const [filter] = filters.filter(
    ({ dimension, operator }) => dimension === 'facility' && (operator === 'EQ' || operator === 'IN'),
  )
  const isWhole = !hasGaps(view) && !ADDED_UP_TABLES.some((flows) => hasGaps(view, tablesBeside(flows)))
  return filter === undefined || isWhole
    ? null
    : await findStates(filter.values.map(String), engine, view, options)
}

/** @returns states of facilities; null where one lies in no state that is known: 0000000 stands for files that name none */
export async function findStates(
  codes: readonly string[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<ReadonlySet<string> | null> {
  if (codes.length === 0 || codes.includes(NO_FACILITY)) return null
  const states = new Set<string>()
  let sought = [...new Set(codes)]
  for (const dataset of NAMING) {
    if (sought.length === 0) break
    if (view.components[datasetOf(dataset).area]?.datasets[dataset] === undefined) continue
    const statement = sql`SELECT DISTINCT cnes_code, uf FROM ${table(dataset)} WHERE cnes_code IN (SELECT unnest(${sought}))`
    const rows = await engine.run(statement, view, { ...options, weight: weightOf(statement, view) })
    for (const { uf } of rows) states.add(String(uf))
    const found = new Set(rows.map(({ cnes_code }) => String(cnes_code)))
    sought = sought.filter((code) => !found.has(code))
  }
  return sought.length > 0 ? null : states
}
