/**
 * A query with all it asks beside its rows → a plan: the plan of the rows, of each level of totals, of the months they are
 * compared with, and of the level whose values are 100 percent. Pure.
 *
 * Each of them is a plan of its own (aggregate.ts), so a total is what a query by its level alone would answer, and what is
 * null in a month is null as the base of a change. Here is only which plans there are, and where the groups of one add up to
 * those of another exactly, so that no row is read twice.
 */
import { both } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import { type DimensionCode, hasUnknowns, isPopulation } from '../../model/dimensions.ts'
import { factDatasetsOf, isFlowMetric, type Measure, type MetricCode } from '../../model/metrics.ts'
import { notesBeyond, uniqueNotes } from '../../model/note-sentences.ts'
import type { Note } from '../../model/notes.ts'
import { isOfTheFacility } from '../../model/pre-aggregates.ts'
import { tableOfNeed } from '../../model/required-tables.ts'
import { ALL_STATES, onlyState, tablesOfNeeds } from '../../release/coverage.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import { refuse } from '../refusals.ts'
import { describeMissing, type Missing } from './coverage.ts'
import { decimalsOf } from './dialect/duckdb/groups.ts'
import { baseMonth, isAdditive } from './options.ts'
import { allPeriods, listedPeriods, severalPeriods } from './periods.ts'
import { type AggregatePlan, type DatasetPlan, planAggregate } from './plan.ts'
import type { AnalyticsQuery } from './request.ts'

export interface BasePlan {
  readonly plan: AggregatePlan
  /** Months of the rows and those they are compared with; of a query that is not grouped by month, the one there is. */
  readonly months: readonly { readonly period: number; readonly base: number }[]
}

/** What a plan beside or under another takes from it. */
export interface PlanContext {
  readonly name?: string
  /** Months, chosen already: those each metric is asked for, and those that are groups. */
  readonly months?: {
    readonly asked: ReadonlyMap<MetricCode, readonly number[]>
    readonly spine: readonly number[]
  }
  /** States of the facilities that the query's filters name; null: they name none. */
  readonly ofFacilities?: ReadonlySet<string> | null
  /** Years of estimates, ascending; needed where the denominator is that of the month's year. */
  readonly estimateYears?: readonly number[]
}

/** Rows of all totals of an answer; a report has as many as its rows may be. */
export const TOTALS_ROWS_MAX = 50_000

/** @throws AppError as planAggregate; 'semi_additive', 'invalid_request' for what the options cannot mean */
export function planQuery(
  query: AnalyticsQuery,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: Pick<PlanContext, 'estimateYears' | 'ofFacilities'> = {},
): AggregatePlan {
  const level = (
    group_by: readonly DimensionCode[],
    name: string,
    limit: number,
    what: string,
  ): AggregatePlan => {
    const own = atLevel(query, group_by, limit)
    const months = monthsAt(group_by, rows, query, `${what}[${group_by.join(', ')}]`)
    const plan = planAggregate(own, view, capabilities, { name, ...months, ...context })
    return withBase(
      { ...plan, datasets: plan.datasets.map((dataset) => addUp(dataset, rows)) },
      view,
      capabilities,
      context,
    )
  }
  const rows = withBase(planAggregate(query, view, capabilities, context), view, capabilities, context)
  const totals = query.totals.map((group_by, index) =>
    level(group_by, `total_${index}_`, Math.max(query.limit, TOTALS_ROWS_MAX), 'totals '),
  )
  const whole = query.share_of === null ? null : wholeOf(query.share_of, rows, totals, level)
  const notes = [
    ...rows.notes,
    ...totals.flatMap((total) => total.notes),
    ...shareNotes(query),
    ...(query.having.length > 0 && totals.length > 0 ? [{ code: 'totals_ignore_having' } as const] : []),
  ]
  return evenDecimals({
    ...rows,
    notes: uniqueNotes(notes),
    totals: totals.map((total) => withWhole(total, whole)),
    whole,
  })
}

/** A share is of the level that contains the row; a level above it has none. */
function withWhole(total: AggregatePlan, whole: AggregatePlan | null): AggregatePlan {
  const { query } = total
  if (whole === null || whole.query.group_by.every((code) => query.group_by.includes(code)))
    return { ...total, whole }
  const order_by = query.order_by.filter(({ field }) => !field.endsWith('__share'))
  return { ...total, query: { ...query, share_of: null, order_by } }
}

/** The same question by other groups. */
const atLevel = (
  query: AnalyticsQuery,
  group_by: readonly DimensionCode[],
  limit: number,
): AnalyticsQuery => ({
  ...query,
  group_by,
  order_by: query.order_by.filter(
    ({ field }) => !query.group_by.some((code) => code === field) || group_by.some((code) => code === field),
  ),
  totals: [],
  having: [],
  rank: false,
  limit,
  offset: 0,
})

const monthsOf = ({ asked, spinePeriods }: AggregatePlan) => ({ months: { asked, spine: spinePeriods } })

/** Months of a level: those of the rows; where the level leaves them out, those of a query by the level alone. */
function monthsAt(
  group_by: readonly DimensionCode[],
  rows: AggregatePlan,
  query: AnalyticsQuery,
  level: string,
): Pick<PlanContext, 'months'> {
  const leavesOut = query.group_by.includes('reference_period') && !group_by.includes('reference_period')
  if (!leavesOut) return monthsOf(rows)
  // Flows of the months of the rows are added up. Of months that a filter names, one that nobody collected has no row, and is needed.
  const named = listedPeriods(query.filters.filter(({ dimension }) => dimension === 'reference_period'))
  if (query.metrics.every(isFlowMetric)) return named === null ? monthsOf(rows) : {}
  if (query.over_period === null && rows.spinePeriods.length > 1)
    throw severalPeriods(rows.spinePeriods, level)
  return {}
}

/** Where groups of the rows add up to those of a level, that is how the level is computed. */
function addUp(level: DatasetPlan, rows: AggregatePlan): DatasetPlan {
  const fine = rows.datasets.find(
    (own) =>
      own.dataset === level.dataset && own.periods.join() === level.periods.join() && addsUp(level, own),
  )
  return fine !== undefined && !level.tellsState
    ? { ...level, addedUpFrom: `${rows.name}${fine.name}` }
    : level
}

function addsUp(level: DatasetPlan, fine: DatasetPlan): boolean {
  const dropped = fine.keys.filter((code) => !level.keys.includes(code))
  const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)
  return (
    isSame(level.periods, fine.periods) &&
    level.over === fine.over &&
    level.over !== 'max' &&
    // What is not known of a group may be known of none of its rows; funds of states are in no municipality.
    !hasUnknowns(level.dataset) &&
    (isPopulation(level.dataset) || level.periods.length > 0) &&
    (level.periods.length <= 1 || !dropped.includes('reference_period')) &&
    isSame(level.measures, fine.measures) &&
    level.measures.every((measure) => addsUpOver(measure, dropped, fine))
  )
}

/** Sums and counts add up over all groups; facilities over those of which each has one; standardized rates over none. */
const addsUpOver = (measure: Measure, dropped: readonly DimensionCode[], { over }: DatasetPlan): boolean =>
  (measure.kind !== 'distinct' && measure.standardizedBy === undefined) ||
  dropped.length === 0 ||
  (measure.field === 'cnes_code' &&
    over === null &&
    dropped.every((code) => code === 'reference_period' || isOfTheFacility(code)))

/** @throws AppError 'semi_additive' where values of several months are compared */
function withBase(
  plan: AggregatePlan,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: Pick<PlanContext, 'estimateYears' | 'ofFacilities'>,
): AggregatePlan {
  const { query } = plan
  if (query.change === null) return plan
  const { to } = query.change
  const facts = plan.datasets.filter(({ dataset }) => !isPopulation(dataset))
  const isByMonth = query.group_by.includes('reference_period')
  if (!isByMonth && facts.some(({ periods }) => periods.length > 1))
    throw refuse(
      'semi_additive',
      '/change',
      both(
        'compara uma competência com outra: agrupe por reference_period, filtre uma só, ou use over_period last ou first',
        'compares one month with another: group by reference_period, filter one period, or set over_period to last or first',
      ),
    )
  // Several months may be compared with one: it is read once.
  const basesOf = (months: readonly number[]): number[] =>
    allPeriods([months.map((period) => baseMonth(to, period))])
  const asked = new Map([...plan.asked].map(([code, own]) => [code, basesOf(own)]))
  const periods = isByMonth ? plan.spinePeriods : allPeriods([...plan.asked.values()])
  const base = planAggregate({ ...query, change: null, order_by: [] }, view, capabilities, {
    ...context,
    name: `${plan.name}base_`,
    months: { asked, spine: basesOf(periods) },
  })
  const lacking = base.missing.flatMap((missing) => lackingNotes(missing, to, periods, view))
  // What the base lacks is said by month; what the rows have a note of is not repeated.
  const others = notesBeyond(base.notes, [...plan.notes, ...describeMissing(base.missing)])
  const timeless = query.metrics.filter((code) => factDatasetsOf(code).some(isPopulation))
  return {
    ...plan,
    base: {
      // Its groups are those of the rows.
      plan: { ...base, spine: 'one' },
      months: periods.map((period) => ({ period, base: baseMonth(to, period) })),
    },
    notes: [
      ...plan.notes,
      ...uniqueNotes(lacking),
      ...others.map((note) => ({ ...note, of_base: true as const })),
      ...timeless.map((metric) => ({ code: 'no_change_without_period', metric }) as const),
    ],
  }
}

/** What a base lacks, by its month, with the months that are compared with it. */
function lackingNotes(missing: Missing, to: string, periods: readonly number[], view: ReleaseView): Note[] {
  const { need, states } = missing
  if (tableOfNeed(need) !== need)
    return describeMissing([missing]).map((note) => ({ ...note, of_base: true }))
  const isAll = states.length === ALL_STATES.size || states.join() === onlyState(view, tablesOfNeeds([need]))
  return missing.periods.map(
    (base): Note => ({
      code: 'change_not_collected',
      dataset: need,
      base_period: formatPeriod(base),
      periods: periods.filter((period) => baseMonth(to, period) === base).map(formatPeriod),
      states: isAll ? [] : states,
    }),
  )
}

/** @throws AppError 'semi_additive' where the level leaves out months that do not add up */
function wholeOf(
  group_by: readonly DimensionCode[],
  rows: AggregatePlan,
  totals: readonly AggregatePlan[],
  level: (group_by: readonly DimensionCode[], name: string, limit: number, what: string) => AggregatePlan,
): AggregatePlan {
  const isByMonth = rows.query.group_by.includes('reference_period')
  const hasStocks = !rows.query.metrics.every(isFlowMetric)
  if (hasStocks && isByMonth && !group_by.includes('reference_period') && rows.spinePeriods.length > 1)
    throw refuse(
      'semi_additive',
      '/share_of',
      both(
        'deve manter reference_period: estoques não se somam entre competências',
        'must keep reference_period: stocks do not add up over it',
      ),
      ['reference_period'],
    )
  const same = totals.find((total) => total.query.group_by.join() === group_by.join())
  return same ?? { ...level(group_by, 'whole_', 1, 'share_of '), base: null }
}

const shareNotes = ({ share_of, metrics }: AnalyticsQuery): Note[] =>
  share_of === null
    ? []
    : metrics.filter((code) => !isAdditive(code)).map((metric) => ({ code: 'no_share', metric }))

/** A column has one number of decimals, at every level: an average of whole numbers has two. */
function evenDecimals(plan: AggregatePlan): AggregatePlan {
  if (plan.totals.length === 0) return plan
  const even = (own: AggregatePlan): AggregatePlan => ({
    ...own,
    metrics: own.metrics.map((metric, index) => ({
      ...metric,
      decimals: Math.max(
        ...[plan, ...plan.totals].map((each) => {
          const same = each.metrics[index]
          return same === undefined ? 0 : decimalsOf(same, each)
        }),
      ),
    })),
  })
  return { ...even(plan), totals: plan.totals.map(even) }
}

/** Marks the rows of a level of totals in a table: nothing for the rows themselves. @param rows plan of the whole query */
export const totalMark = (plan: AggregatePlan, rows: AggregatePlan): string =>
  plan === rows ? '' : plan.query.group_by.length === 0 ? 'Total' : `Total: ${plan.query.group_by.join(', ')}`

/** @returns the plan with every plan beside and under it changed alike */
export function mapPlans(plan: AggregatePlan, change: (plan: AggregatePlan) => AggregatePlan): AggregatePlan {
  const own = change(plan)
  return {
    ...own,
    totals: plan.totals.map((total) => mapPlans(total, change)),
    base: plan.base === null ? null : { ...plan.base, plan: mapPlans(plan.base.plan, change) },
    whole: plan.whole === null ? null : mapPlans(plan.whole, change),
  }
}

/** A level or a base as a plan of its own, which reads its rows itself. */
export const aloneOf = (plan: AggregatePlan): AggregatePlan => ({
  ...plan,
  name: '',
  datasets: plan.datasets.map((dataset) => ({ ...dataset, addedUpFrom: null })),
  totals: [],
  base: null,
  whole: null,
})
