/**
 * Prints the status of each value of a row: collected, complete, with a denominator, of enough events, final. Which groups those are
 * is decided in query/analytics/datasets/status-groups.ts.
 */
import { isOfResidents } from '../../../../model/metrics.ts'
import { finestTime } from '../../../../model/periods.ts'
import { SMALL_NUMBERS } from '../../../../model/sheets/statuses.ts'
import { ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { MetricPlan } from '../../datasets/metric-plan.ts'
import type { AggregatePlan } from '../../plan.ts'
import { isInGroupSetSql } from './collected-groups.ts'
import { key } from './facts.ts'

const TRUE = TEXT('true')

/** @returns columns of the spine's row that the statuses are made of; none without statuses */
export const statusColumns = (plan: AggregatePlan): Sql[] =>
  !plan.query.status
    ? []
    : plan.metrics.flatMap((metric, index) => {
        // A ratio of the query is complete, final and collected where both of its sides are.
        const sides = metric.sides ?? [metric]
        const both = (condition: (side: MetricPlan) => Sql | null): Sql => {
          const conditions = sides.flatMap((side) => condition(side) ?? [])
          return conditions.length === 0 ? TRUE : sql`(${join(conditions, ' AND ')})`
        }
        const columns: readonly (readonly [string, Sql])[] = [
          ['complete', both(({ collectedGroups }) => isInGroupSetSql(collectedGroups, plan))],
          ['begun', both(({ status }) => (status === null ? null : isInGroupSetSql(status.begun, plan)))],
          ['final', both(({ status }) => (status === null ? null : isInGroupSetSql(status.final, plan)))],
          ['full', both(({ status }) => (status === null ? null : fullPeriodSql(status.partial, plan)))],
        ]
        return columns.map(([name, condition]) => sql`${condition} AS ${ident(`is_${name}_${index}`)}`)
      })

/** @returns whether the group's period is not one whose value leaves out months; null when there is none */
function fullPeriodSql(partial: readonly number[], { query }: AggregatePlan): Sql | null {
  if (partial.length === 0) return null
  const finest = finestTime(query.group_by)
  return finest === null
    ? TEXT('false')
    : sql`spine.${key(finest)} NOT IN (${join(partial.map(integerLiteral), ', ')})`
}

/** @param index index of the metric in the plan @returns the first status that applies; STATUSES has them in the same order */
export function statusSql(metric: MetricPlan, index: number): Sql {
  const column = (name: string): Sql => ident(`${name}_${index}`)
  const small = smallNumberSql(metric, column)
  return sql`CASE WHEN ${column('numerator')} IS NULL THEN CASE WHEN ${column('is_begun')} AND NOT ${column('is_complete')} THEN 'incomplete' ELSE 'not_collected' END WHEN NOT coalesce(${column('denominator')} > 0, false) THEN 'no_denominator' WHEN NOT ${column('is_full')} THEN 'partial'${small === null ? TEXT('') : sql` WHEN ${small} THEN 'small_number'`} WHEN NOT ${column('is_final')} THEN 'preliminary' ELSE 'final' END`
}

/** Rates and proportions of events have small numbers; only rates by residents have a small denominator. */
function smallNumberSql(
  { limits, denominator, scale, catalog, spread }: MetricPlan,
  column: (name: string) => Sql,
): Sql | null {
  if (limits.method === 'none' || denominator === null) return null
  const few = integerLiteral(SMALL_NUMBERS.events)
  const hasStandard = limits.method === 'dobson' || limits.method === 'chiang'
  const events = hasStandard
    ? sql`${column('standard_events')} < ${few}`
    : sql`${column('numerator')} < ${few} * ${integerLiteral(scale)}`
  // A life expectancy of so few residents is null.
  if (limits.method === 'chiang' || !catalog.some(isOfResidents)) return events
  const residents = column(spread?.residents === undefined ? 'denominator' : 'standard_residents')
  return sql`(${events} OR ${residents} < ${integerLiteral(SMALL_NUMBERS.residents)})`
}
