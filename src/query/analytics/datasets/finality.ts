/**
 * Answers whether a publisher may still revise a month of a table, by what its folder says, else by the age that the sources declare. Pure.
 *
 * The age of a month counts to the newest month of the release: no clock takes part, so that an answer stays the same. Every status
 * asks `statesFinal`. Deaths and births lie in folders of final or of preliminary files, which the manifest keeps by state.
 */

import type { Table } from '../../../model/required-tables.ts'
import { SOURCES } from '../../../model/sheets/sources.ts'
import { ALL_STATES, FACT_TABLES, monthsOfRelease, statesOfStatus } from '../../../release/coverage.ts'
import type { ReleaseView } from '../../../release/view.ts'

/** @returns states whose files of the month are final, or usually no longer revised where no folder said it; `ALL_STATES` itself when all are */
export function statesFinal(view: ReleaseView, table: Table, period: number): ReadonlySet<string> {
  const newest = monthsOfRelease(view, FACT_TABLES).at(-1) ?? period
  const age = Math.max(countMonths(newest) - countMonths(period), 0)
  const isOld = age >= SOURCES[table].revision_months
  const declared = statesOfStatus(view, table, period, isOld ? 'preliminary' : 'final')
  if (!isOld) return declared
  return declared.size === 0 ? ALL_STATES : new Set([...ALL_STATES].filter((uf) => !declared.has(uf)))
}

const countMonths = (period: number): number => Math.floor(period / 100) * 12 + (period % 100)
