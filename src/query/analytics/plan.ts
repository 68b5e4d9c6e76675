/**
 * Plans a normalised query over a release. Pure; independent of engines.
 *
 * The plan lists the measures and months of each dataset, the groups of the answer, the months and states collected, and how
 * metrics are computed from measures. The dialect prints it as SQL. Rules: contract 7.
 */
import type { Capability } from '../../model/capabilities.ts'
import {
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isPlace,
  isPopulation,
  PLACE_DIMENSIONS,
  SPINE_DIMENSIONS,
} from '../../model/dimensions.ts'
import {
  decimalsOfMetric,
  factDatasetsOf,
  isFlowMeasure,
  isFlowMetric,
  isOfResidents,
  type Measure,
  type MetricCode,
  metricOf,
  unitOf,
} from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import type { PreAggregateName } from '../../model/pre-aggregates.ts'
import { needsOf, needsOfCodes, type Table } from '../../model/required-tables.ts'
import {
  hasGaps,
  monthsOf,
  monthsOfRelease,
  newestFor,
  statesCollected,
  tablesOfNeeds,
} from '../../release/coverage.ts'
import { formatPeriod, latestPeriod, type ReleaseView, storedPeriods } from '../../release/view.ts'
import { checkAccess, checkDimensions } from './checks.ts'
import {
  describeMissing,
  type Filler,
  fillersOf,
  findKnownGroups,
  findKnownGroupsByCode,
  findMissing,
  isWithinStates,
  type KnownGroups,
  type KnownGroupsByCode,
  type MetricNeeds,
  type Missing,
  readablePeriods,
  scopeOf,
} from './coverage.ts'
import { allPeriods, listedPeriods, periodsOfMetric, resolvePeriods } from './periods.ts'
import {
  emptyNotes,
  noteOfAges,
  periodNotes,
  rangeNotes,
  residenceNotes,
  scopeNotes,
  transferNotes,
} from './plan-notes.ts'
import { sidesOf } from './population-basis.ts'
import type { BasePlan, PlanContext } from './query-plan.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'
import { type PopulationYears, populationYears } from './resident-relations.ts'
import { checkTerritory, territoryNotes } from './territory.ts'

/** One sub-query: measures of one dataset over the same months. */
export interface DatasetPlan {
  /** Name of the sub-query: the dataset, with a number when it is also read over other months. */
  readonly name: string
  readonly dataset: FactDataset
  readonly measures: readonly Measure[]
  readonly keys: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
  /** YYYYMM, ascending. Empty when no requested month was collected, so values are null instead of 0. Populations have none. */
  readonly periods: readonly number[]
  /** Months whose files fill a grouped dimension with one placeholder code. Their rows belong to the group without a code. */
  readonly fillers: readonly Filler[]
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

/** Indexes of a dataset in the plan and of a measure in that dataset. */
export interface MeasurePosition {
  readonly plan: number
  readonly measure: number
}

export interface MetricPlan {
  readonly code: MetricCode
  readonly numerator: MeasurePosition
  readonly less: MeasurePosition | null
  readonly denominator: MeasurePosition | null
  /** Denominators by month, when they depend on the month's year. `denominator` is then that of the newest month. */
  readonly denominators:
    | readonly { readonly period: number; readonly position: MeasurePosition | null }[]
    | null
  /** Events and variance that the limits of a standardized rate need; null without limits and for other metrics. */
  readonly spread: { readonly events: MeasurePosition; readonly variance: MeasurePosition } | null
  readonly scale: number
  /** Further divisor of the numerator: 100 when cents are shown in reais. */
  readonly unit: number
  readonly decimals: number
  /** Groups with complete data. The metric is null in the others. */
  readonly knownGroups: KnownGroups
  /** Further limits on groups with a code of a dimension that some files lack. */
  readonly knownGroupsByCode: readonly KnownGroupsByCode[]
}
export const isKnownEverywhere = ({ knownGroups, knownGroupsByCode }: MetricPlan): boolean =>
  knownGroups === 'all' && knownGroupsByCode.length === 0

/** Facilities named by a pre-aggregate in any month, and those with beds in `bedPeriods`. */
export interface FewFacilities {
  readonly source: PreAggregateName
  readonly periods: readonly number[]
  readonly bedPeriods: readonly number[]
}

export interface AggregatePlan {
  /** Prefix of the plan's relations in a statement; '' for the rows themselves. */
  readonly name: string
  readonly query: AnalyticsQuery
  readonly datasets: readonly DatasetPlan[]
  readonly metrics: readonly MetricPlan[]
  readonly spine: 'one' | 'members' | 'facts'
  readonly placeFilters: readonly QueryFilter[]
  /** States that the place and facility filters leave. */
  readonly scope: ReadonlySet<string>
  /** Like `scope`, but only the release's state when it has one and the filters leave all. */
  readonly states: ReadonlySet<string>
  readonly requested: ReadonlyMap<MetricCode, readonly number[]>
  /** Months of the groups, or the months the query is about. */
  readonly spinePeriods: readonly number[]
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
  const placeFilters = query.filters.filter(({ dimension }) => isPlace(dimension))
  const needsByMetric = query.metrics.map((code) => needsOf(code, query.filters, query.group_by))
  const tables = tablesOfNeeds(needsByMetric.flat())
  const scope = scopeOf(placeFilters, context.facilityStates ?? null, view, tables)
  const isOfFacts = query.metrics.some((code) => factDatasetsOf(code).some((name) => !isPopulation(name)))
  const isGrouped = query.group_by.includes('reference_period')
  const isByPlace = query.group_by.some(isPlace)
  const contextMonths = context.months
  const requestedPeriods =
    isOfFacts && contextMonths === undefined
      ? resolvePeriods(query, scope.states, view, {
          tables,
          hasStocks: query.metrics.some(
            (code) => !isFlowMetric(code) && factDatasetsOf(code).some((name) => !isPopulation(name)),
          ),
        })
      : {
          requested: null,
          end: 'newest' as const,
          available: monthsOf(view, scope.states, tables),
          summed: null,
        }
  const metricNeeds = query.metrics.map((code, index): MetricNeeds => {
    const needs = needsByMetric[index] ?? []
    return {
      code,
      needs,
      states: isByPlace
        ? scope.places
        : isWithinStates(query.group_by) || isOfResidents(code)
          ? scope.territory
          : scope.states,
      requested:
        needs.length === 0
          ? []
          : (contextMonths?.requested.get(code) ??
            periodsOfMetric(requestedPeriods, needs, scope.states, view, isFlowMetric(code))),
    }
  })
  const collector = collectDatasets(query, placeFilters, view)
  const knownGroups = metricNeeds.map((needs) => findKnownGroups(needs, query.group_by, view))
  const knownGroupsByCode = metricNeeds.map((metric) => findKnownGroupsByCode(metric, query, view))
  const basisNotes: Note[] = []
  const metrics = metricNeeds.map((needs, index): MetricPlan => {
    const metric = metricOf(needs.code)
    const sides = sidesOf(needs.code, query, needs.requested, populationYears(view), context)
    const { numerator, less, denominator, denominators } = sides
    basisNotes.push(...sides.notes)
    const periods = readablePeriods(needs, view)
    return {
      code: needs.code,
      numerator: collector.add(numerator, periods),
      less: less === null ? null : collector.add(less, periods),
      denominator: denominator === null ? null : collector.add(denominator, periods),
      denominators:
        denominators?.map(({ period, measure }) => ({
          period,
          position: measure === null ? null : collector.add(measure, periods),
        })) ?? null,
      spread:
        query.limits === null || numerator.standardizedBy === undefined
          ? null
          : {
              events: collector.add({ ...numerator, statistic: 'events' }, periods),
              variance: collector.add({ ...numerator, statistic: 'variance' }, periods),
            },
      scale: metric.kind === 'ratio' ? metric.scale : 1,
      unit: unitOf(needs.code),
      decimals: decimalsOfMetric(needs.code),
      knownGroups: knownGroups[index] ?? 'all',
      knownGroupsByCode: knownGroupsByCode[index] ?? [],
    }
  })
  // Groups by facility have no place in their key, so datasets add the group's state when the release has gaps.
  const hasStateColumn =
    query.group_by.includes('facility') &&
    !query.group_by.some((code) => code !== 'region' && PLACE_DIMENSIONS.has(code)) &&
    hasGaps(view, tables)
  const datasets = collector.plans().map((plan): DatasetPlan => ({ ...plan, hasStateColumn }))
  const facilityMonths = storedPeriods(view, 'facilities')
  const periodsUsed = allPeriods(datasets.map(({ periods }) => periods))
  const listedMonths =
    listedPeriods(query.filters.filter(({ dimension }) => dimension === 'reference_period')) ?? []
  const needsWithCodes = metricNeeds.map((needs) => ({
    ...needs,
    needs: [
      ...new Set([
        ...needs.needs,
        ...needsOfCodes(needs.code, query.filters, query.group_by).flatMap(({ needs }) => needs),
      ]),
    ],
    requested: isGrouped ? allPeriods([needs.requested, listedMonths]) : needs.requested,
  }))
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
    placeFilters,
    scope: scope.territory,
    states: scope.states,
    requested: new Map(metricNeeds.map((needs) => [needs.code, needs.requested])),
    spinePeriods:
      contextMonths?.spine ??
      requestedPeriods.requested?.filter(
        (period) => isGrouped || requestedPeriods.available.includes(period),
      ) ??
      findNewestMonth(requestedPeriods.available, scope.states, view, tables),
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
      ...periodNotes(requestedPeriods.requested === null && contextMonths === undefined ? metricNeeds : []),
      ...basisNotes,
      ...describeMissing(missing),
      ...emptyNotes(metricNeeds, view),
      ...residenceNotes(query, metricNeeds, view),
      ...transferNotes(metricNeeds, view),
      ...(scope.states === scope.territory ? [] : scopeNotes(metricNeeds, view, tables)),
    ],
    totals: [],
    base: null,
    shareBase: null,
  }
}

const sameMeasure = (left: Measure, right: Measure): boolean => JSON.stringify(left) === JSON.stringify(right)

interface Collector {
  /** @param periods months to read for the metric */
  add(measure: Measure, periods: readonly number[]): MeasurePosition
  plans(): readonly Omit<DatasetPlan, 'hasStateColumn'>[]
}

/** Population by age fits every place, including places of residence. Other dimensions must be columns of the dataset. */
const carries = (dataset: FactDataset, code: DimensionCode): boolean =>
  dimensionOf(code).datasets.includes(dataset) || (dataset === 'population_by_age' && isPlace(code))

/** Collects the sub-queries. Measures of one dataset over the same months share one. */
function collectDatasets(
  query: AnalyticsQuery,
  placeFilters: readonly QueryFilter[],
  view: ReleaseView,
): Collector {
  const plans: (Omit<DatasetPlan, 'measures' | 'hasStateColumn'> & { readonly measures: Measure[] })[] = []
  const isByMonth = query.group_by.includes('reference_period')
  // Flows are summed over months, whatever over_period says.
  const combinePeriods = (periods: readonly number[], isFlow: boolean): 'avg' | 'max' | null =>
    isFlow || isByMonth || periods.length <= 1 ? null : overPeriod
  const overPeriod = query.over_period === 'avg' || query.over_period === 'max' ? query.over_period : null
  const addPlan = (
    { dataset, standardizedBy }: Measure,
    periods: readonly number[],
    isFlow: boolean,
  ): number => {
    const carriesDimension = (code: DimensionCode): boolean =>
      dataset === 'population' ? isPlace(code) : carries(dataset, code)
    const number = plans.filter((other) => other.dataset === dataset).length + 1
    return (
      plans.push({
        name: number === 1 ? dataset : `${dataset}_${number}`,
        dataset,
        measures: [],
        keys: query.group_by.filter(carriesDimension),
        filters: (dataset === 'population' ? placeFilters : query.filters).filter(
          ({ dimension }) =>
            dimension !== 'reference_period' && (!isPopulation(dataset) || carriesDimension(dimension)),
        ),
        periods,
        fillers: fillersOf(dataset, query.group_by.filter(carriesDimension), periods, view),
        over: combinePeriods(periods, isFlow),
        source: null,
        addedUpFrom: null,
        years: isPopulation(dataset) || standardizedBy !== undefined ? populationYears(view) : null,
      }) - 1
    )
  }
  return {
    add(measure, periods) {
      const { dataset } = measure
      const planPeriods = isPopulation(dataset) ? [] : periods
      const isFlow = isFlowMeasure(measure)
      const found = plans.findIndex(
        (other) =>
          other.dataset === dataset &&
          other.periods.join() === planPeriods.join() &&
          other.over === combinePeriods(planPeriods, isFlow) &&
          other.measures[0]?.standardizedBy === measure.standardizedBy,
      )
      const plan = found < 0 ? addPlan(measure, planPeriods, isFlow) : found
      const measures = plans[plan]?.measures ?? []
      const position = measures.findIndex((other) => sameMeasure(other, measure))
      return { plan, measure: position < 0 ? measures.push(measure) - 1 : position }
    },
    plans: () => plans,
  }
}

/** @returns the newest collected month of any table, for queries whose metrics have no month */
function findNewestMonth(
  available: readonly number[],
  states: ReadonlySet<string>,
  view: ReleaseView,
  tables: readonly Table[],
): number[] {
  const newest = newestFor(available, states, (period) =>
    tables.map((table) => statesCollected(view, table, period)),
  )
  return newest === null ? [] : [newest]
}
