/**
 * Answers what a release says of groups that only another release has: 0 where their data was collected, null where nobody could know.
 *
 * In: the plan of a level, and rows of the other release that the level lacks. Out: rows of the statement, as the level's own.
 */
import type { Row } from '../engine/types.ts'
import { dimensionOf } from '../model/dimensions.ts'
import { finestTime, isTime, readPeriod } from '../model/periods.ts'
import type { AggregatePlan, ListedGroup } from '../query/analytics/plan.ts'
import { isolatePlan } from '../query/analytics/query-plan.ts'
import type { ReleaseView } from '../release/view.ts'
import { statesByFacility } from './facility-states.ts'
import { type AnswerParts, optionsOf, printQuery } from './query.ts'

/** @param other release that has the groups @returns no rows for groups of periods that the level does not ask for */
export async function answerAbsentGroups(
  plan: AggregatePlan,
  groups: readonly Row[],
  parts: AnswerParts,
  other: ReleaseView,
): Promise<Row[]> {
  const finest = finestTime(plan.query.group_by)
  const wanted = groups.filter(
    (row) => finest === null || plan.codes.includes(readPeriod(finest, String(row[finest])) ?? 0),
  )
  if (wanted.length === 0) return []
  const listed = await listGroups(plan, wanted, parts, other)
  const statement = printQuery({ plan: { ...isolatePlan(plan), spine: 'listed', listed } }, parts.view)
  const rows = await parts.engine.run(statement, parts.view, optionsOf(parts, statement, listed.length))
  return rows.filter((row) => row.in_page !== null)
}

async function listGroups(
  { query, datasets }: AggregatePlan,
  groups: readonly Row[],
  parts: AnswerParts,
  other: ReleaseView,
): Promise<ListedGroup[]> {
  const facilityOf = (row: Row): string => String(row[dimensionOf('facility').column] ?? '')
  const states = datasets.some(({ hasStateColumn }) => hasStateColumn)
    ? await statesByFacility(groups.map(facilityOf), parts.engine, other, {
        ...(parts.signal === undefined ? {} : { signal: parts.signal }),
      })
    : null
  return groups.map((row) => ({
    codes: query.group_by.map((code) => {
      const value = row[dimensionOf(code).column] ?? null
      if (value === null) return null
      return String(isTime(code) ? readPeriod(code, String(value)) : value)
    }),
    state: states?.get(facilityOf(row))?.[0] ?? null,
  }))
}
