/** Lists the states that a month's state files cover, by table, and the row count of each file. */
import type { FactName } from '../../model/cnes/lineage.ts'
import type { Table } from '../../model/required-tables.ts'
import type { Coverage } from '../../release/manifest.ts'
import type { PublishedRows } from '../file-contents.ts'
import type { OpenedState } from './staged-rows.ts'
import type { StateGroup } from './state-files.ts'

export const GROUP_FACT: Partial<Record<StateGroup, FactName>> = {
  LT: 'bed_capacity',
  EQ: 'equipment_inventory',
  SR: 'specialized_services',
}

export function coverStates(files: readonly OpenedState[]): Map<Table, Coverage> {
  const covered = new Map<Table, Coverage>()
  const statesOf = (group: StateGroup): string[] =>
    files
      .filter(({ file }) => file.group === group)
      .map(({ file }) => file.uf)
      .sort()
  for (const [group, fact] of Object.entries(GROUP_FACT)) {
    const states = statesOf(group as StateGroup)
    if (states.length > 0) covered.set(fact, { family: 'state', states })
  }
  const registry = statesOf('ST')
  covered.set(
    'facilities',
    registry.length > 0
      ? { family: 'state', states: registry }
      : { family: 'derived', states: [...new Set(files.map(({ file }) => file.uf))].sort() },
  )
  return covered
}

/** @returns row count of each file of a month. CADGER is left out, because it belongs to no month. */
export const rowsOfStates = (files: readonly OpenedState[], period: number): PublishedRows[] =>
  files.flatMap(({ file }) => {
    const table = file.group === 'ST' ? 'facilities' : GROUP_FACT[file.group]
    return table === undefined ? [] : [{ table, uf: file.uf, period, rows: file.rows }]
  })
