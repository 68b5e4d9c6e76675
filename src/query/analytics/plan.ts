/**
 * Plans a normalised query over a release. Pure; independent of engines.
 *
 * The plan lists the measures and months of each dataset, the groups of the answer, the months and states collected, and how
 * metrics are computed from measures. The dialect prints it as SQL. Rules: contract 7.
 */
import type { Capability } from '../../model/capabilities.ts'
import {
  type DimensionCode,
  type FactDataset,
  isByOccurrence,
  isPlace,
  isPopulation,
  PLACE_DIMENSIONS,
  SPINE_DIMENSIONS,
} from '../../model/dimensions.ts'
import { limitsOf } from '../../model/limits/methods.ts'
import {
  decimalsOfMetric,
  factDatasetsOf,
  isFlowMetric,
  isOfResidents,
  type Measure,
  type MetricCode,
  metricOf,
  unitOf,
} from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import { finestTime, isTime, type TimeDimension } from '../../model/periods.ts'
import type { PreAggregateName } from '../../model/pre-aggregates.ts'
import { needsOf, tablesAmong } from '../../model/required-tables.ts'
import { hasGaps, monthsOf, monthsOfRelease, tablesOfNeeds } from '../../release/coverage.ts'
import {
  formatPeriod,
  isMonthZero,
  latestPeriod,
  type ReleaseView,
  storedPeriods,
} from '../../release/view.ts'
import { checkAccess, checkDimensions } from './checks.ts'
import {
  cellPartsOf,
  coveredFilters,
  coveredGroups,
  describeMissing,
  type Filler,
  findCollectedGroups,
  findCollectedGroupsByCode,
  findMissing,
  isWithinStates,
  type Missing,
  type QueryMetricNeeds,
  readablePeriods,
  scopeOf,
  withCodes,
} from './coverage.ts'
import { collectDatasets } from './datasets/collect.ts'
import {
  countOf,
  type MeasurePosition,
  type MetricPlan,
  needsStateOfGroup,
  planLifeTable,
  planRatio,
} from './datasets/metric-plan.ts'
import { hasSameMonths, type MetricWithoutMonths, pairSides } from './datasets/ratio-sides.ts'
import { findStatusGroups } from './datasets/status-groups.ts'
import type { QueryFilter } from './filters.ts'
import type { ComparatorPlan } from './options/comparators.ts'
import { catalogMetrics, isAdditive, queryOfMetric } from './options/defined-metrics.ts'
import type { Grouping } from './options/groupings.ts'
import { atPrices, checkPrices, isMoney, KEPT_DECIMALS, withPriceNeeds } from './options/prices.ts'
import {
  type CellParts,
  cellsOfMetric,
  codesOfMonths,
  monthsByCode,
  type PeriodCell,
  readableMonths,
  usesPeriods,
} from './period-cells.ts'
import { allPeriods, findNewestMonth, listedPeriods, periodsOfMetric, resolvePeriods } from './periods.ts'
import {
  cellNotes,
  emptyNotes,
  noteOfAges,
  otherStatesNotes,
  periodNotes,
  rangeNotes,
  scopeNotes,
  transferNotes,
  vitalNotes,
} from './plan-notes.ts'
import { sidesOf } from './population-basis.ts'
import type { BasePlan, PlanContext } from './query-plan.ts'
import type { AnalyticsQuery } from './request.ts'
import { type FewFacilities, type PopulationYears, populationYears } from './resident-relations.ts'
import { checkTerritory, territoryNotes } from './territory.ts'

/** One sub-query: measures of one dataset over the same months. */
export interface DatasetPlan {
  /** Name of the sub-query: the dataset, with a number when it is also read over other months. */
  readonly name: string
  readonly dataset: FactDataset
  readonly measures: readonly Measure[]
  readonly keys: readonly DimensionCode[]
  /** Groupings among the keys. */
  readonly groupings: readonly Grouping[]
  readonly filters: readonly QueryFilter[]
  /** YYYYMM, ascending. Empty when no requested month was collected, so values are null instead of 0. Populations have none. */
  readonly periods: readonly number[]
  /** Months whose files fill a grouped dimension with one placeholder code. Their rows belong to the group without a code. */
  readonly fillers: readonly Filler[]
  /** Groups of several months; null when a group is one month, or when all months form one group. */
  readonly time: {
    /** The finest grouped period; null when there is one group. */
    readonly dimension: TimeDimension | null
    /** A month belongs to several groups. */
    readonly isWindow: boolean
    readonly cells: readonly {
      readonly code: number
      /** Months with rows. */
      readonly months: readonly number[]
      /** Number of months that an average is over. */
      readonly count: number
    }[]
  } | null
  /** How several months become one value; null for a single month, for flows and when grouped by month. */
  readonly over: 'avg' | 'max' | null
  /** null: the facts are read. */
  readonly source: PreAggregateName | null
  readonly years: PopulationYears | null
  /** Relation whose groups add up to these exactly; null when the dataset is read. */
  readonly addedUpFrom: string | null
  /** Adds the state of each group, which decides whether its data was collected. */
  readonly hasStateColumn: boolean
}

/** A group that is answered whether or not facts have it: codes in the order of group_by, null for the member without a code. */
export interface ListedGroup {
  readonly codes: readonly (string | null)[]
  /** State that decides whether the data of a facility's group was collected; null when no release says. */
  readonly state: string | null
}

export interface AggregatePlan {
  /** Prefix of the plan's relations in a statement; '' for the rows themselves. */
  readonly name: string
  readonly query: AnalyticsQuery
  readonly datasets: readonly DatasetPlan[]
  readonly metrics: readonly MetricPlan[]
  readonly spine: 'one' | 'members' | 'facts' | 'listed'
  readonly listed: readonly ListedGroup[]
  readonly placeFilters: readonly QueryFilter[]
  /** States that the place and facility filters leave. */
  readonly scope: ReadonlySet<string>
  /** States that the place filters alone leave. */
  readonly places: ReadonlySet<string>
  /** Like `scope`, but only the release's state when it has one and the filters leave all. */
  readonly states: ReadonlySet<string>
  readonly requested: ReadonlyMap<string, readonly number[]>
  /** Periods of several months by metric; null when every group is one month, or all months form one group. */
  readonly cells: ReadonlyMap<string, readonly PeriodCell[]> | null
  /** Needs and states from which the cells of a metric are resolved. */
  readonly cellParts: (code: string) => CellParts
  /** Months of the groups, or the months the query is about. */
  readonly spinePeriods: readonly number[]
  /** Codes of the finest grouped period; the months themselves when months are grouped or nothing is. */
  readonly codes: readonly number[]
  readonly facilityPeriod: number | null
  /** The only facilities that groups can be, when they are few; null for any facility. */
  readonly fewFacilities: FewFacilities | null
  /** Months with facilities in the registry. Admissions may have others. */
  readonly facilityMonths: readonly number[]
  readonly referencePeriod: string | null
  readonly missing: readonly Missing[]
  readonly notes: readonly Note[]
  /** See query-plan.ts for the next three. */
  readonly totals: readonly AggregatePlan[]
  readonly base: BasePlan | null
  /** Level whose values are 100 percent. */
  readonly shareBase: AggregatePlan | null
  /** Larger places that the rows are compared with. */
  readonly comparator: ComparatorPlan | null
}

/** @throws AppError 'forbidden', 'incompatible_dimension', 'denominator_not_defined', 'semi_additive' */
export function planAggregate(
  query: AnalyticsQuery,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: PlanContext = {},
): AggregatePlan {
  checkAccess(query, capabilities)
  checkDimensions(query)
  checkTerritory(query, view)
  checkPrices(query, view)
  const placeFilters = query.filters.filter(({ dimension }) => isPlace(dimension))
  const queries = query.metrics.map((metric) => queryOfMetric(query, metric))
  const needsByMetric = query.metrics.map(({ metric }, index) =>
    withPriceNeeds(metric, needsOf(metric, queries[index]?.filters, query.group_by), query),
  )
  const tables = tablesOfNeeds(needsByMetric.flat())
  const scope = scopeOf(coveredFilters(query), context.facilityStates ?? null, view, tables)
  const isOfFacts = catalogMetrics(query).some(hasMonths)
  const isGrouped = finestTime(query.group_by) !== null
  const isByCell = usesPeriods(query)
  const contextMonths = context.months
  const requestedPeriods =
    isOfFacts && contextMonths === undefined
      ? resolvePeriods(query, scope.states, view, {
          tables,
          hasStocks:
            !isByCell && catalogMetrics(query).some((code) => !isFlowMetric(code) && hasMonths(code)),
        })
      : {
          requested: null,
          end: 'newest' as const,
          available: monthsOf(view, scope.states, tables),
          summed: null,
        }
  const codes = contextMonths?.codes ?? codesOfMonths(query, requestedPeriods.requested ?? [])
  const months = isByCell ? monthsByCode(query, codes, requestedPeriods.requested ?? []) : null
  /** @param inScope states from which the newest month is chosen, where the query names none */
  const withMonths = (found: MetricWithoutMonths, inScope: ReadonlySet<string>): QueryMetricNeeds => {
    const { code, metric, needs } = found
    if (needs.length === 0) return { ...found, requested: [] }
    if (months !== null) {
      const cells = contextMonths?.cells?.get(code) ?? cellsOfMetric(query, months, cellPartsOf(found), view)
      return { ...found, cells, requested: allPeriods(cells.map(({ needed }) => needed)) }
    }
    const requested =
      (contextMonths?.requested ?? context.flowMonths)?.get(code) ??
      periodsOfMetric(requestedPeriods, needs, inScope, view, isFlowMetric(metric))
    return { ...found, requested }
  }
  const scoped = query.metrics.map(({ code, metric, filters }, index) => {
    const needs = needsByMetric[index] ?? []
    const metricQuery = queries[index] ?? query
    const covered = coveredGroups(metricQuery)
    // A metric that filters places needs their states alone. By place, each group needs its own state, filtered or not.
    const metricScope = filters.some(({ dimension }) => isPlace(dimension))
      ? scopeOf(coveredFilters(metricQuery), null, view, tables)
      : scope
    const states = covered.some(isPlace)
      ? scope.places
      : isWithinStates(covered) || isOfResidents(metric) || tablesAmong(needs).some(isByOccurrence)
        ? metricScope.territory
        : metricScope.states
    return { found: { code, metric, query: metricQuery, needs, states }, inScope: metricScope.states }
  })
  const metricNeeds = scoped.map(({ found, inScope }) => withMonths(found, inScope))
  const ratioSides = pairSides(query.ratios, scoped, withMonths)
  const allNeeds = [...metricNeeds, ...ratioSides.map(({ needs }) => needs)]
  const collector = collectDatasets(query, view, context.isOfYears ?? false)
  const basisNotes: Note[] = []
  const planMetric = (needs: QueryMetricNeeds, label: string | null): MetricPlan => {
    const metric = metricOf(needs.metric)
    const sides = sidesOf(needs, populationYears(view), context)
    const { numerator, less, denominator, denominators } = sides
    basisNotes.push(...sides.notes)
    const { cells = null } = needs
    const periods =
      cells === null
        ? readablePeriods(needs, view)
        : readableMonths(allPeriods(cells.map(({ read }) => read)), needs.needs, needs.states, view)
    const add = (measure: Measure): MeasurePosition =>
      collector.add(measure, periods, cells, needs.query.filters)
    return {
      code: needs.code,
      catalog: [needs.metric],
      sides: null,
      label,
      limits: limitsOf(needs.metric),
      isAdditive: isAdditive(needs.metric),
      numerator: add(atPrices(numerator, needs.metric, periods, query.prices, context.priceIndex)),
      less: less === null ? null : add(less),
      denominator: denominator === null ? null : add(denominator),
      denominators:
        denominators?.map(({ period, measure }) => ({
          period,
          position: measure === null ? null : add(measure),
        })) ?? null,
      spread:
        (query.limits === null && query.compare_to === null && !query.status) ||
        numerator.standardizedBy === undefined
          ? null
          : {
              events: add({ ...numerator, statistic: 'events' }),
              variance: add({ ...numerator, statistic: 'variance' }),
              ...(query.status && denominator !== null ? { residents: add(countOf(denominator)) } : {}),
            },
      lifeTable: planLifeTable(needs.metric, sides, add),
      scale: metric.kind === 'ratio' ? metric.scale : 1,
      unit: unitOf(needs.metric),
      priceUnit: query.prices !== null && isMoney(needs.metric) ? 10 ** KEPT_DECIMALS : 1,
      decimals: decimalsOfMetric(needs.metric),
      collectedGroups: findCollectedGroups(needs, coveredGroups(needs.query), view),
      collectedGroupsByCode: findCollectedGroupsByCode(needs, view),
      status: query.status ? findStatusGroups(needs, view) : null,
    }
  }
  const measured = metricNeeds.map((needs, index) => planMetric(needs, query.metrics[index]?.label ?? null))
  const metrics = [
    ...measured,
    ...query.ratios.map((ratio) => {
      const [numerator, denominator] = ratio.sides.map((side) => {
        const alone = metricNeeds.findIndex(({ code }) => code === side)
        const paired = ratioSides.find((found) => found.ratio === ratio.code && found.metric === side)?.needs
        return paired === undefined || hasSameMonths(metricNeeds[alone], paired)
          ? measured[alone]
          : planMetric(paired, null)
      })
      return planRatio(ratio, numerator, denominator)
    }),
  ]
  // Groups by facility have no place in their key, so datasets add the group's state when the release has gaps or lacks a requested month.
  const hasStateColumn =
    query.group_by.includes('facility') &&
    !query.group_by.some((code) => code !== 'region' && PLACE_DIMENSIONS.has(code)) &&
    (hasGaps(view, tables) || measured.some(needsStateOfGroup))
  const datasets = collector.plans().map((plan): DatasetPlan => ({ ...plan, hasStateColumn }))
  const facilityMonths = storedPeriods(view, 'facilities')
  const periodsUsed = allPeriods(datasets.map(({ periods }) => periods)).filter(
    (period) => !isMonthZero(period),
  )
  const listedMonths = listedPeriods(query.filters.filter(({ dimension }) => isTime(dimension))) ?? []
  // A listed period without data has no row, so a note says so.
  const withoutRow = listedMonths.filter(
    (month) =>
      isGrouped && !(isByCell && codesOfMonths(query, [month]).every((code) => codes.includes(code))),
  )
  const needsWithCodes = metricNeeds.map((needs) => withCodes(needs, query.group_by, withoutRow))
  const spinePeriods =
    contextMonths?.spine ??
    (isByCell
      ? allPeriods(metricNeeds.map(({ requested }) => requested))
      : (requestedPeriods.requested?.filter(
          (period) => isGrouped || requestedPeriods.available.includes(period),
        ) ?? findNewestMonth(requestedPeriods.available, scope.states, view, tables)))
  const missing = findMissing(needsWithCodes, view, monthsOfRelease(view, tables))
  return {
    name: context.name ?? '',
    query,
    datasets,
    metrics,
    spine:
      query.group_by.length === 0
        ? 'one'
        : query.group_by.every((code) => SPINE_DIMENSIONS.has(code))
          ? 'members'
          : 'facts',
    listed: [],
    placeFilters,
    scope: scope.territory,
    places: scope.places,
    states: scope.states,
    requested: new Map(allNeeds.map((needs) => [needs.code, needs.requested])),
    cells: isByCell
      ? new Map(allNeeds.map(({ code, cells = [] }): [string, readonly PeriodCell[]] => [code, cells]))
      : null,
    cellParts: (code) => {
      const found = allNeeds.find((needs) => needs.code === code)
      if (found === undefined) throw new TypeError(`the plan lacks ${code}`)
      return cellPartsOf(found)
    },
    spinePeriods,
    codes: isByCell ? codes : (contextMonths?.codes ?? spinePeriods),
    fewFacilities: null,
    facilityPeriod:
      periodsUsed.findLast((period) => facilityMonths.includes(period)) ?? latestPeriod(view, 'facilities'),
    facilityMonths,
    referencePeriod: periodsUsed.length === 0 ? null : periodsUsed.map(formatPeriod).join(', '),
    missing,
    notes: [
      ...territoryNotes(query, view),
      ...datasets.flatMap(({ dataset, years }) =>
        dataset === 'population_by_age' ? [noteOfAges(years?.POPULATION_BY_AGE ?? null)] : [],
      ),
      ...rangeNotes(query.filters, tables, view),
      ...(requestedPeriods.requested === null && contextMonths === undefined
        ? periodNotes([...metricNeeds, ...ratioSides.map(({ ratio, needs }) => ({ ...needs, code: ratio }))])
        : []),
      ...basisNotes,
      ...(isByCell || !isGrouped ? cellNotes(query, metricNeeds) : []),
      ...describeMissing(missing),
      ...emptyNotes(metricNeeds, view),
      ...otherStatesNotes(query, metricNeeds, view),
      ...vitalNotes(metricNeeds, view),
      ...transferNotes(metricNeeds, view),
      ...(scope.states === scope.territory ? [] : scopeNotes(metricNeeds, view, tables)),
    ],
    totals: [],
    base: null,
    shareBase: null,
    comparator: null,
  }
}

const hasMonths = (code: MetricCode): boolean => factDatasetsOf(code).some((name) => !isPopulation(name))
