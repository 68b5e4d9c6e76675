/**
 * Answers whether a publisher may still revise a month of a table, by the age that the sources declare. Pure.
 *
 * The age of a month counts to the newest month of the release: no clock takes part, so that an answer stays the same. Every status
 * asks `statesFinal`, so a publisher that names its preliminary files is answered there.
 */

import type { Table } from '../../../model/required-tables.ts'
import { SOURCES } from '../../../model/sheets/sources.ts'
import { ALL_STATES, FACT_TABLES, monthsOfRelease } from '../../../release/coverage.ts'
import type { ReleaseView } from '../../../release/view.ts'

const NO_STATES: ReadonlySet<string> = new Set()

/** @returns states whose files of the month the publisher usually no longer revises; `ALL_STATES` itself when all are */
export function statesFinal(view: ReleaseView, table: Table, period: number): ReadonlySet<string> {
  const newest = monthsOfRelease(view, FACT_TABLES).at(-1) ?? period
  const age = Math.max(countMonths(newest) - countMonths(period), 0)
  return age >= SOURCES[table].revision_months ? ALL_STATES : NO_STATES
}

const countMonths = (period: number): number => Math.floor(period / 100) * 12 + (period % 100)
