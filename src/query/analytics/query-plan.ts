/**
 * Plans a query with its options: the rows, each level of totals, the comparison months and the level that is 100 percent.
 * Each is a complete plan (plan.ts), so a total equals the answer to a query by its level alone. This file decides which plans
 * exist. It also decides which ones can be summed exactly from the groups of another, to avoid reading rows twice. Pure.
 */
import { both } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import { type DimensionCode, hasUnknowns, isMunicipality, isPopulation } from '../../model/dimensions.ts'
import { isFlowMetric, type Measure } from '../../model/metrics.ts'
import { notesBeyond, uniqueNotes } from '../../model/note-sentences.ts'
import type { Note } from '../../model/notes.ts'
import { finestTime, isTime } from '../../model/periods.ts'
import { isOfTheFacility } from '../../model/pre-aggregates.ts'
import { tableOfNeed } from '../../model/required-tables.ts'
import { ALL_STATES, onlyState, tablesOfNeeds } from '../../release/coverage.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import { refuse } from '../refusals.ts'
import { describeMissing, type Missing } from './coverage.ts'
import { isTimeless } from './datasets/metric-plan.ts'
import { flowMonthsOf } from './datasets/ratio-sides.ts'
import { withPartialMonths } from './datasets/status-groups.ts'
import { decimalsOf } from './dialect/duckdb/groups.ts'
import { noteComparator, planComparator } from './options/comparators.ts'
import { catalogMetrics } from './options/defined-metrics.ts'
import { nameOfGroup } from './options/groupings.ts'
import type { CensusPopulation } from './options/peers.ts'
import { notePrices, type PriceIndex } from './options/prices.ts'
import {
  baseCells,
  basePeriod,
  changeLevel,
  changeOfMonthsError,
  type LevelOption,
  type PeriodCell,
  type QueryLevel,
  unitOfChange,
} from './period-cells.ts'
import { allPeriods, listedPeriods, severalPeriodsError } from './periods.ts'
import { type AggregatePlan, type DatasetPlan, planAggregate } from './plan.ts'
import { noteFunds, noteLimits, noteMissingShares, notePreliminary } from './plan-notes.ts'
import type { AnalyticsQuery } from './request.ts'

export interface BasePlan {
  readonly plan: AggregatePlan
  /** Codes of the finest grouped period, each with that of the period compared with. */
  readonly months: readonly { readonly period: number; readonly base: number }[]
}

/** A plan inherits these from the plan that it accompanies. */
export interface PlanContext {
  readonly name?: string
  /** Months that were already resolved: by metric, and those that are groups. */
  readonly months?: {
    readonly requested: ReadonlyMap<string, readonly number[]>
    readonly spine: readonly number[]
    readonly codes: readonly number[]
    /** Periods of several months; absent when each group is one month, or all months form one group. */
    readonly cells?: ReadonlyMap<string, readonly PeriodCell[]>
  }
  /** Months of flows among stocks, by metric: a level sums them over the months of the rows, and reads stocks of its own. */
  readonly flowMonths?: ReadonlyMap<string, readonly number[]>
  /** Whether the months of a level without periods are those of rows by year. */
  readonly isOfYears?: boolean
  /** States of the facilities in the filters; null when no filter names facilities. */
  readonly facilityStates?: ReadonlySet<string> | null
  /** Years of estimates, ascending; required when denominators depend on the month's year. */
  readonly estimateYears?: readonly number[]
  /** Required for constant prices. */
  readonly priceIndex?: PriceIndex
  /** Required for comparisons with peers. */
  readonly censusPopulation?: CensusPopulation
}

type LevelPlanner = (
  group_by: readonly DimensionCode[],
  name: string,
  limit: number,
  option: LevelOption,
) => AggregatePlan

/** Limit of all totals of an answer. A report may have as many as its rows. */
export const TOTALS_ROWS_MAX = 50_000

/** @throws AppError as planAggregate does; 'semi_additive', and 'invalid_request' for options that cannot be combined */
export function planQuery(
  query: AnalyticsQuery,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: Pick<PlanContext, 'estimateYears' | 'facilityStates' | 'priceIndex' | 'censusPopulation'> = {},
): AggregatePlan {
  const level: LevelPlanner = (group_by, name, limit, option) => {
    const levelName = `${option} [${group_by.map((code) => nameOfGroup(code, query)).join(', ')}]`
    const levelQuery = changeLevel(regroupQuery(query, group_by, limit), query, levelName)
    const months = monthsOfLevel(group_by, rows, query, levelName)
    const plan = planAggregate(levelQuery, view, capabilities, { name, ...months, ...context })
    const datasets = plan.datasets.map((dataset) => sumFromRows(dataset, rows))
    const metrics =
      finestTime(group_by) === null ? withPartialMonths(plan.metrics, rows.metrics) : plan.metrics
    const named = { option, name: levelName }
    return addBase({ ...plan, datasets, metrics }, view, capabilities, context, named)
  }
  const rows = addBase(planAggregate(query, view, capabilities, context), view, capabilities, context)
  const totals = query.totals.map((group_by, index) =>
    level(group_by, `total_${index}_`, Math.max(query.limit, TOTALS_ROWS_MAX), 'totals'),
  )
  const shareBase = query.share_of === null ? null : planShareBase(query.share_of, rows, totals, level)
  const comparator =
    query.compare_to === null
      ? null
      : planComparator(rows, query.compare_to, view, capabilities, { ...context, ...monthsOf(rows) })
  const notes = [
    ...rows.notes,
    ...[...totals, ...(shareBase === null ? [] : [shareBase])].flatMap((level) => level.notes),
    ...noteMissingShares(rows),
    ...noteFunds(rows, [...totals, shareBase, comparator?.plan ?? null]),
    ...noteLimits(rows),
    ...notePreliminary(rows),
    ...notePrices(rows),
    ...(comparator === null || query.compare_to === null
      ? []
      : noteComparator(comparator, query.compare_to, rows.places)),
    ...(query.having.length > 0 && totals.length > 0 ? [{ code: 'totals_ignore_having' } as const] : []),
  ]
  return alignDecimals({
    ...rows,
    notes: uniqueNotes(notes),
    totals: totals.map((total) => setShareBase(total, shareBase)),
    shareBase,
    comparator,
  })
}

/** A share refers to the level that contains the row. Levels above it have no share. */
function setShareBase(total: AggregatePlan, shareBase: AggregatePlan | null): AggregatePlan {
  const { query } = total
  if (shareBase === null || shareBase.query.group_by.every((code) => query.group_by.includes(code)))
    return { ...total, shareBase }
  const order_by = query.order_by.filter(({ field }) => !field.endsWith('__share'))
  return { ...total, query: { ...query, share_of: null, order_by } }
}

const regroupQuery = (
  query: AnalyticsQuery,
  group_by: readonly DimensionCode[],
  limit: number,
): AnalyticsQuery => ({
  ...query,
  group_by,
  order_by: query.order_by.filter(
    ({ field }) =>
      !/__(comparator|ratio)$/.test(field) &&
      (!query.group_by.some((code) => code === field) || group_by.some((code) => code === field)),
  ),
  totals: [],
  // Totals count a larger place that is not known.
  include_ignored: query.include_ignored || !group_by.some(isMunicipality),
  compare_to: null,
  having: [],
  rank: false,
  percentile: false,
  limit,
  offset: 0,
})

const monthsOf = ({ requested, spinePeriods, codes, cells }: AggregatePlan) => ({
  months: { requested, spine: spinePeriods, codes, ...(cells === null ? {} : { cells }) },
})

/** Months of the rows. A level without months uses the months of a query by that level alone. */
function monthsOfLevel(
  group_by: readonly DimensionCode[],
  rows: AggregatePlan,
  query: AnalyticsQuery,
  level: string,
): Pick<PlanContext, 'months' | 'flowMonths' | 'isOfYears'> {
  const finest = finestTime(group_by)
  if (finest === finestTime(query.group_by)) return monthsOf(rows)
  // Months of a period that is coarser than those of the rows are all of its months.
  if (finest !== null) return {}
  // Flows are summed over the months of the rows. Months listed in a filter are included even when they have no row.
  const filters = query.filters.filter(({ dimension }) => isTime(dimension))
  const listed = listedPeriods(filters)
  const areOfRows = listed === null && filters.every(({ dimension }) => dimension === 'reference_period')
  const isOfYears = finestTime(query.group_by) === 'reference_year'
  if (catalogMetrics(query).every(isFlowMetric))
    return areOfRows ? { months: { ...monthsOf(rows).months, codes: [] }, isOfYears } : {}
  if (query.over_period === null && rows.spinePeriods.length > 1)
    throw severalPeriodsError(rows.spinePeriods, level)
  return areOfRows ? { flowMonths: flowMonthsOf(rows.requested, query), isOfYears } : {}
}

/** Sums a level from the groups of the rows where that is exact. */
function sumFromRows(level: DatasetPlan, rows: AggregatePlan): DatasetPlan {
  const source = rows.datasets.find(
    (candidate) =>
      candidate.dataset === level.dataset &&
      candidate.periods.join() === level.periods.join() &&
      JSON.stringify(candidate.filters) === JSON.stringify(level.filters) &&
      canSum(level, candidate),
  )
  return source !== undefined && !level.hasStateColumn
    ? { ...level, addedUpFrom: `${rows.name}${source.name}` }
    : level
}

function canSum(level: DatasetPlan, source: DatasetPlan): boolean {
  const dropped = source.keys.filter((code) => !level.keys.includes(code))
  const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)
  return (
    isSame(level.periods, source.periods) &&
    level.over === source.over &&
    level.over !== 'max' &&
    // Summing groups would skip unknown ones, and state funds belong to no municipality.
    !hasUnknowns(level.dataset) &&
    (isPopulation(level.dataset) || level.periods.length > 0) &&
    isSame(level.time, source.time) &&
    (level.periods.length <= 1 || !dropped.some(isTime)) &&
    isSame(level.measures, source.measures) &&
    level.measures.every((measure) => canSumOver(measure, dropped, source))
  )
}

/** Sums and counts add up over all groups. Facilities add up over dimensions that each has once, standardized rates over none. */
const canSumOver = (measure: Measure, dropped: readonly DimensionCode[], { over }: DatasetPlan): boolean =>
  (measure.kind !== 'distinct' && measure.standardizedBy === undefined) ||
  dropped.length === 0 ||
  (measure.field === 'cnes_code' &&
    over === null &&
    dropped.every((code) => isTime(code) || isOfTheFacility(code)))

/** @throws AppError 'semi_additive' when several months become one value before the comparison */
function addBase(
  plan: AggregatePlan,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: Pick<PlanContext, 'estimateYears' | 'facilityStates' | 'priceIndex'>,
  level: QueryLevel | null = null,
): AggregatePlan {
  const { query } = plan
  if (query.change === null) return plan
  const { to } = query.change
  const facts = plan.datasets.filter(({ dataset }) => !isPopulation(dataset))
  const unit = unitOfChange(query)
  const isByPeriod = finestTime(query.group_by) !== null
  const isOfMonths = plan.cells === null || unit === 'reference_period'
  if (!isByPeriod && isOfMonths && facts.some(({ periods }) => periods.length > 1))
    throw changeOfMonthsError(level)
  // Several months may share one comparison month, which is read once.
  const basesOf = (codes: readonly number[]): number[] =>
    allPeriods([codes.map((code) => basePeriod(to, unit, code))])
  const cells =
    plan.cells === null
      ? null
      : new Map(
          [...plan.cells].map(([code, own]) => [code, baseCells(own, query, plan.cellParts(code), view)]),
        )
  const requested = new Map(
    [...plan.requested].map(([code, periods]) => [
      code,
      cells === null ? basesOf(periods) : allPeriods((cells.get(code) ?? []).map((cell) => cell.needed)),
    ]),
  )
  const periods = isByPeriod ? plan.codes : allPeriods([...plan.requested.values()])
  const codes = cells === null || isByPeriod ? basesOf(periods) : [0]
  const base = planAggregate(
    { ...query, change: null, limits: null, compare_to: null, status: false, order_by: [] },
    view,
    capabilities,
    {
      ...context,
      name: `${plan.name}base_`,
      months:
        cells === null
          ? { requested, spine: codes, codes }
          : { requested, spine: allPeriods([...requested.values()]), codes, cells },
    },
  )
  const gapNotes =
    cells === null
      ? base.missing.flatMap((missing) => noteGaps(missing, to, periods, view))
      : describeMissing(base.missing).map((note): Note => ({ ...note, of_base: true }))
  // Gaps of the base are reported by month. Notes that the rows already have are not repeated.
  const others = notesBeyond(base.notes, [...plan.notes, ...describeMissing(base.missing)])
  const metricsWithoutMonths = plan.metrics.filter(isTimeless).map(({ code }) => code)
  const hasState = [...plan.datasets, ...base.datasets].some(({ hasStateColumn }) => hasStateColumn)
  const withState = (datasets: readonly DatasetPlan[]): DatasetPlan[] =>
    datasets.map((dataset) => ({ ...dataset, hasStateColumn: hasState }))
  return {
    ...plan,
    // Rows and base share their groups, and with them the state of each.
    datasets: withState(plan.datasets),
    base: {
      // The base uses the groups of the rows.
      plan: { ...base, spine: 'one', datasets: withState(base.datasets) },
      months: periods.map((period) => ({ period, base: basePeriod(to, unit, period) })),
    },
    notes: [
      ...plan.notes,
      ...uniqueNotes(gapNotes),
      ...others.map((note) => ({ ...note, of_base: true as const })),
      ...metricsWithoutMonths.map((metric) => ({ code: 'no_change_without_period', metric }) as const),
    ],
  }
}

/** Notes what the comparison months lack, with the months compared with each. */
function noteGaps(missing: Missing, to: string, periods: readonly number[], view: ReleaseView): Note[] {
  const { need, states } = missing
  if (tableOfNeed(need) !== need)
    return describeMissing([missing]).map((note) => ({ ...note, of_base: true }))
  const isAll = states.length === ALL_STATES.size || states.join() === onlyState(view, tablesOfNeeds([need]))
  return missing.periods.flatMap((base): Note[] => {
    const compared = periods.filter((period) => basePeriod(to, 'reference_period', period) === base)
    // The months of the rows themselves may be missing, too; no row is compared with those.
    if (compared.length === 0) return []
    return [
      {
        code: 'change_not_collected',
        dataset: need,
        base_period: formatPeriod(base),
        periods: compared.map(formatPeriod),
        states: isAll ? [] : states,
      },
    ]
  })
}

/** @throws AppError 'semi_additive' when the level drops months of stocks */
function planShareBase(
  group_by: readonly DimensionCode[],
  rows: AggregatePlan,
  totals: readonly AggregatePlan[],
  level: LevelPlanner,
): AggregatePlan {
  const finest = finestTime(rows.query.group_by)
  const hasStocks = !catalogMetrics(rows.query).every(isFlowMetric)
  if (hasStocks && finest !== null && !group_by.includes(finest) && rows.spinePeriods.length > 1)
    throw refuse(
      'semi_additive',
      '/share_of',
      both(
        `deve manter ${finest}: estoques não se somam entre competências`,
        `must keep ${finest}: stocks do not add up over it`,
      ),
      [finest],
    )
  const existing = totals.find((total) => total.query.group_by.join() === group_by.join())
  return existing ?? { ...level(group_by, 'whole_', 1, 'share_of'), base: null }
}

/** Gives each column the same decimals at all levels. An average of integers has two. */
function alignDecimals(plan: AggregatePlan): AggregatePlan {
  if (plan.totals.length === 0) return plan
  const align = (level: AggregatePlan): AggregatePlan => ({
    ...level,
    metrics: level.metrics.map((metric, index) => ({
      ...metric,
      decimals: Math.max(
        ...[plan, ...plan.totals].map((other) => {
          const sameMetric = other.metrics[index]
          return sameMetric === undefined ? 0 : decimalsOf(sameMetric, other)
        }),
      ),
    })),
  })
  return { ...align(plan), totals: plan.totals.map(align) }
}

/** @returns the label of a total in a table; '' for the rows themselves */
export const totalLabel = (plan: AggregatePlan, rows: AggregatePlan): string =>
  plan === rows ? '' : plan.query.group_by.length === 0 ? 'Total' : `Total: ${namesOfGroups(plan).join(', ')}`

/** @returns grouped dimensions and groupings, as answers name them */
export const namesOfGroups = ({ query }: AggregatePlan): string[] =>
  query.group_by.map((code) => nameOfGroup(code, query))

export function mapPlans(plan: AggregatePlan, change: (plan: AggregatePlan) => AggregatePlan): AggregatePlan {
  const changed = change(plan)
  return {
    ...changed,
    totals: plan.totals.map((total) => mapPlans(total, change)),
    base: plan.base === null ? null : { ...plan.base, plan: mapPlans(plan.base.plan, change) },
    shareBase: plan.shareBase === null ? null : mapPlans(plan.shareBase, change),
    comparator:
      plan.comparator === null ? null : { ...plan.comparator, plan: mapPlans(plan.comparator.plan, change) },
  }
}

/** @returns a level or base as an independent plan, which reads its own rows */
export const isolatePlan = (plan: AggregatePlan): AggregatePlan => ({
  ...plan,
  name: '',
  datasets: plan.datasets.map((dataset) => ({ ...dataset, addedUpFrom: null })),
  totals: [],
  base: null,
  shareBase: null,
})
