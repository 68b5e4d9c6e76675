/**
 * Finds the states of facilities, which decide whether their data was collected.
 *
 * In: facility codes and a release. Out: states from the registry, or else from the admissions and outpatient files
 * that name the facility.
 */
import type { Engine, RunOptions } from '../engine/types.ts'
import { datasetOf } from '../model/datasets.ts'
import { ADDED_UP_TABLES, type FactDataset } from '../model/dimensions.ts'
import { NO_FACILITY } from '../model/sih/code-lists.ts'
import { weightOf } from '../query/analytics/estimate.ts'
import type { QueryFilter } from '../query/analytics/filters.ts'
import { hasGaps, tablesBeside } from '../release/coverage.ts'
import type { ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'

const DATASETS_WITH_FACILITY = [
  'facilities',
  'hospital_admissions',
  'outpatient_production',
] as const satisfies readonly FactDataset[]

/**
 * @returns states of the facilities in the filters; null when no filter names any, when the release has no gaps, or
 * when a facility's state is unknown
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
  const hasNoGaps = !hasGaps(view) && !ADDED_UP_TABLES.some((flows) => hasGaps(view, tablesBeside(flows)))
  return filter === undefined || hasNoGaps
    ? null
    : await findStates(filter.values.map(String), engine, view, options)
}

/** @returns states of facilities; null when one is unknown. Files use 0000000 for rows without a facility. */
export async function findStates(
  codes: readonly string[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<ReadonlySet<string> | null> {
  if (codes.length === 0 || codes.includes(NO_FACILITY)) return null
  const states = await statesByFacility(codes, engine, view, options)
  return codes.every((code) => states.has(code)) ? new Set([...states.values()].flat()) : null
}

/** @returns the states of each facility that the release names */
export async function statesByFacility(
  codes: readonly string[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const states = new Map<string, readonly string[]>()
  let remaining = [...new Set(codes)]
  for (const dataset of DATASETS_WITH_FACILITY) {
    if (remaining.length === 0) break
    if (view.components[datasetOf(dataset).area]?.datasets[dataset] === undefined) continue
    const statement = sql`SELECT DISTINCT cnes_code, uf FROM ${table(dataset)} WHERE cnes_code IN (SELECT unnest(${remaining}))`
    const rows = await engine.run(statement, view, { ...options, weight: weightOf(statement, view) })
    for (const { cnes_code, uf } of rows) {
      const code = String(cnes_code)
      states.set(code, [...(states.get(code) ?? []), String(uf)].sort())
    }
    remaining = remaining.filter((code) => !states.has(code))
  }
  return states
}
