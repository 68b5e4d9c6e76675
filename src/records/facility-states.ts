/** Finds the states of facilities for lists and records. They decide which data were collected, and so the default month and the notes. */
import { findStates } from '../analytics/facility-states.ts'
import { datasetOf } from '../model/datasets.ts'
import { ADDED_UP_TABLES } from '../model/dimensions.ts'
import type { Table } from '../model/required-tables.ts'
import { NO_FACILITY } from '../model/sih/code-lists.ts'
import { codesIn } from '../query/lists/filters.ts'
import type { States } from './coverage.ts'
import { type Records, sourceOf } from './source.ts'

/** Most facilities whose states are looked up. Lists with more codes count as lists of all states. */
const FACILITIES_MAX = 20

/** @returns newest states of facilities by the registry; null when it lacks one, or without facilities */
export async function statesInRegistry(codes: readonly string[], records: Records): Promise<States | null> {
  if (codes.length === 0) return null
  const rows = await sourceOf(records, 'facilities', 'all').recordsOf(codes, ['cnes_code', 'uf'])
  // The newest record of a facility comes last.
  const states = new Map(rows.map(({ cnes_code, uf }) => [cnes_code, uf]))
  return codes.every((code) => typeof states.get(code) === 'string')
    ? new Set([...states.values()].map(String))
    : null
}

/**
 * @param filters filters of a list
 * @returns states of the facilities in them, by the registry or else by files that name them; null when one is unknown, without such a
 * filter, or when no data of the table are uncollected
 */
export async function statesOfFilters(
  table: Table | null,
  filters: Readonly<Record<string, string>>,
  records: Records,
): Promise<States | null> {
  const { release, engine, signal } = records
  if (table === null || filters.cnes_code === undefined || !release.incomplete.has(table)) return null
  const codes = codesIn(filters.cnes_code)
  if (codes.length > FACILITIES_MAX || codes.includes(NO_FACILITY)) return null
  const states = await statesInRegistry(codes, records)
  const hasFlows = ADDED_UP_TABLES.some((flows) => release.view.components[datasetOf(flows).area] !== null)
  return states === null && hasFlows ? findStates(codes, engine, release.view, { signal: signal() }) : states
}
