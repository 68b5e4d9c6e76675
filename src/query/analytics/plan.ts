/**
 * A normalised query and a release → a plan. Pure; knows no engine.
 *
 * The plan says, for each dataset, which measures to compute over which periods; which groups exist; where each dataset
 * was collected; and how each metric comes from the measures. The dialect prints it. Rules: contract 7.
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
  findMissing,
  isWithinStates,
  type Known,
  type KnownByCode,
  knownOf,
  knownOfCodes,
  type MetricNeeds,
  type Missing,
  readablePeriods,
  scopeOf,
} from './coverage.ts'
import { allPeriods, askPeriods, listedPeriods, periodsOfMetric } from './periods.ts'
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
  /** Of the sub-query: the dataset's, with a number where it is read over other months too. */
  readonly name: string
  readonly dataset: FactDataset
  readonly measures: readonly Measure[]
  /** Grouped dimensions the dataset carries. */
  readonly keys: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
  /** YYYYMM, ascending; empty: not collected for the requested ones (null, not 0). Population has none. */
  readonly periods: readonly number[]
  /** Months whose files fill a grouped dimension with one code that says nothing: their rows are of the group without a code. */
  readonly fillers: readonly Filler[]
  /** How several periods become one value; null: one period, or grouped by period. */
  readonly over: 'avg' | 'max' | null
  /** Pre-aggregate that is read; null: the facts. */
  readonly source: PreAggregateName | null
  /** Years of the population, by type. */
  readonly years: PopulationYears | null
  /** Relation of the statement whose groups add up to these exactly; null: the rows are read. */
  readonly addedUpFrom: string | null
  /** Each group also says its state, by which it is known what was collected of it. */
  readonly tellsState: boolean
}

/** A measure: which of the plan's datasets, and its number there. */
export interface MeasurePlace {
  readonly plan: number
  readonly measure: number
}

export interface MetricPlan {
  readonly code: MetricCode
  readonly numerator: MeasurePlace
  readonly less: MeasurePlace | null
  readonly denominator: MeasurePlace | null
  /** Where the denominator is that of the month's year: each month's; `denominator` is that of the newest. */
  readonly denominators: readonly { readonly period: number; readonly place: MeasurePlace | null }[] | null
  readonly scale: number
  /** Divides the numerator, too: 100 where cents are shown in reais. */
  readonly unit: number
  readonly decimals: number
  /** Groups of which all it needs was collected; it is null in the others. */
  readonly known: Known
  /** Grouped dimensions that some files lack: groups with a code of it are known in fewer states and months than those without. */
  readonly knownByCode: readonly KnownByCode[]
}
/** Is a metric known in every group of its plan? */
export const isKnownEverywhere = ({ known, knownByCode }: MetricPlan): boolean =>
  known === 'all' && knownByCode.length === 0

/** Facilities that a pre-aggregate of the release names in any of its months, and those with beds in some months. */
export interface FewFacilities {
  readonly source: PreAggregateName
  readonly periods: readonly number[]
  readonly bedPeriods: readonly number[]
}

export interface AggregatePlan {
  /** Begins the names of its relations in a statement; '' for the rows of the query itself. */
  readonly name: string
  readonly query: AnalyticsQuery
  readonly datasets: readonly DatasetPlan[]
  readonly metrics: readonly MetricPlan[]
  /** Groups that exist without facts (places, periods), or those of the facts. */
  readonly spine: 'one' | 'members' | 'facts'
  readonly placeFilters: readonly QueryFilter[]
  /** States of the geographic scope, by those filters alone. */
  readonly scope: ReadonlySet<string>
  /** The same, but for a release of one state its one state where filters leave all. */
  readonly states: ReadonlySet<string>
  /** Months each metric is asked for. */
  readonly asked: ReadonlyMap<MetricCode, readonly number[]>
  /** Months that are groups, or that the query is about, whatever its metrics. */
  readonly spinePeriods: readonly number[]
  /** Period that names facilities. */
  readonly facilityPeriod: number | null
  /** Those that its groups can be, where they are few; null: any. */
  readonly fewFacilities: FewFacilities | null
  /** Months that the release has facilities of: admissions may be of others. */
  readonly facilityMonths: readonly number[]
  readonly referencePeriod: string | null
  /** What metrics need and the release does not have. */
  readonly missing: readonly Missing[]
  readonly notes: readonly Note[]
  /** What is computed beside and under the rows; see query-plan.ts. */
  readonly totals: readonly AggregatePlan[]
  /** The same groups in the months they are compared with. */
  readonly base: BasePlan | null
  /** The level whose values are 100 percent. */
  readonly whole: AggregatePlan | null
}

/**
 * @throws AppError 'forbidden', 'incompatible_dimension', 'denominator_not_defined', 'semi_additive'
 */
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
  const scope = scopeOf(placeFilters, context.ofFacilities ?? null, view, tables)
  const isOfFacts = query.metrics.some((code) => factDatasetsOf(code).some((name) => !isPopulation(name)))
  const isGrouped = query.group_by.includes('reference_period')
  const isByPlace = query.group_by.some(isPlace)
  const given = context.months
  const asked =
    isOfFacts && given === undefined
      ? askPeriods(query, scope.states, view, {
          tables,
          hasStocks: query.metrics.some(
            (code) => !isFlowMetric(code) && factDatasetsOf(code).some((name) => !isPopulation(name)),
          ),
        })
      : { asked: null, end: 'newest' as const, held: monthsOf(view, scope.states, tables), added: null }
  const needed = query.metrics.map((code, index): MetricNeeds => {
    const needs = needsByMetric[index] ?? []
    return {
      code,
      needs,
      states: isByPlace
        ? scope.places
        : isWithinStates(query.group_by) || isOfResidents(code)
          ? scope.territory
          : scope.states,
      asked:
        needs.length === 0
          ? []
          : (given?.asked.get(code) ?? periodsOfMetric(asked, needs, scope.states, view, isFlowMetric(code))),
    }
  })
  const collector = collectDatasets(query, placeFilters, view)
  const known = needed.map((own) => knownOf(own, query.group_by, view))
  const knownByCode = needed.map((metric) => knownOfCodes(metric, query, view))
  const basisNotes: Note[] = []
  const metrics = needed.map((own, index): MetricPlan => {
    const metric = metricOf(own.code)
    const sides = sidesOf(own.code, query, own.asked, populationYears(view), context)
    const { numerator, less, denominator, denominators } = sides
    basisNotes.push(...sides.notes)
    const periods = readablePeriods(own, view)
    return {
      code: own.code,
      numerator: collector.place(numerator, periods),
      less: less === null ? null : collector.place(less, periods),
      denominator: denominator === null ? null : collector.place(denominator, periods),
      denominators:
        denominators?.map(({ period, measure }) => ({
          period,
          place: measure === null ? null : collector.place(measure, periods),
        })) ?? null,
      scale: metric.kind === 'ratio' ? metric.scale : 1,
      unit: unitOf(own.code),
      decimals: decimalsOfMetric(own.code),
      known: known[index] ?? 'all',
      knownByCode: knownByCode[index] ?? [],
    }
  })
  // A group by facility has no place in its key: each dataset says the state of its groups, where it may matter.
  const tellsState =
    query.group_by.includes('facility') &&
    !query.group_by.some((code) => code !== 'region' && PLACE_DIMENSIONS.has(code)) &&
    hasGaps(view, tables)
  const datasets = collector.plans().map((plan): DatasetPlan => ({ ...plan, tellsState }))
  const facilityMonths = storedPeriods(view, 'facilities')
  const periodsUsed = allPeriods(datasets.map(({ periods }) => periods))
  const listed =
    listedPeriods(query.filters.filter(({ dimension }) => dimension === 'reference_period')) ?? []
  const named = needed.map((own) => ({
    ...own,
    needs: [
      ...new Set([
        ...own.needs,
        ...needsOfCodes(own.code, query.filters, query.group_by).flatMap(({ needs }) => needs),
      ]),
    ],
    asked: isGrouped ? allPeriods([own.asked, listed]) : own.asked,
  }))
  const missing = findMissing(named, view, monthsOfRelease(view, tables))
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
    asked: new Map(needed.map((own) => [own.code, own.asked])),
    spinePeriods:
      given?.spine ??
      asked.asked?.filter((period) => isGrouped || asked.held.includes(period)) ??
      newestOfAny(asked.held, scope.states, view, tables),
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
      ...periodNotes(asked.asked === null && given === undefined ? needed : []),
      ...basisNotes,
      ...describeMissing(missing),
      ...emptyNotes(needed, view),
      ...residenceNotes(query, needed, view),
      ...transferNotes(needed, view),
      ...(scope.states === scope.territory ? [] : scopeNotes(needed, view, tables)),
    ],
    totals: [],
    base: null,
    whole: null,
  }
}

const sameMeasure = (left: Measure, right: Measure): boolean => JSON.stringify(left) === JSON.stringify(right)

interface Collector {
  /** @param periods months that are read for the metric */
  place(measure: Measure, periods: readonly number[]): MeasurePlace
  plans(): readonly Omit<DatasetPlan, 'tellsState'>[]
}

/** Residents have a place, of hospitals' patients as of their own; all other dimensions are those that rows carry. */
const carries = (dataset: FactDataset, code: DimensionCode): boolean =>
  dimensionOf(code).datasets.includes(dataset) || (dataset === 'population_by_age' && isPlace(code))

/** Measures of one dataset over the same months share a sub-query; in a release without gaps that is one a dataset. */
function collectDatasets(
  query: AnalyticsQuery,
  placeFilters: readonly QueryFilter[],
  view: ReleaseView,
): Collector {
  const plans: (Omit<DatasetPlan, 'measures' | 'tellsState'> & { readonly measures: Measure[] })[] = []
  const grouped = query.group_by.includes('reference_period')
  // Flows are added up over months, whatever becomes of stocks.
  const howMonths = (periods: readonly number[], isAdded: boolean): 'avg' | 'max' | null =>
    isAdded || grouped || periods.length <= 1 ? null : over
  const over = query.over_period === 'avg' || query.over_period === 'max' ? query.over_period : null
  const add = (
    { dataset, standardizedBy }: Measure,
    periods: readonly number[],
    isAdded: boolean,
  ): number => {
    const has = (code: DimensionCode): boolean =>
      dataset === 'population' ? isPlace(code) : carries(dataset, code)
    const number = plans.filter((other) => other.dataset === dataset).length + 1
    return (
      plans.push({
        name: number === 1 ? dataset : `${dataset}_${number}`,
        dataset,
        measures: [],
        keys: query.group_by.filter(has),
        filters: (dataset === 'population' ? placeFilters : query.filters).filter(
          ({ dimension }) => dimension !== 'reference_period' && (!isPopulation(dataset) || has(dimension)),
        ),
        periods,
        fillers: fillersOf(dataset, query.group_by.filter(has), periods, view),
        over: howMonths(periods, isAdded),
        source: null,
        addedUpFrom: null,
        years: isPopulation(dataset) || standardizedBy !== undefined ? populationYears(view) : null,
      }) - 1
    )
  }
  return {
    place(measure, periods) {
      const { dataset } = measure
      const own = isPopulation(dataset) ? [] : periods
      const isAdded = isFlowMeasure(measure)
      const found = plans.findIndex(
        (other) =>
          other.dataset === dataset &&
          other.periods.join() === own.join() &&
          other.over === howMonths(own, isAdded) &&
          other.measures[0]?.standardizedBy === measure.standardizedBy,
      )
      const plan = found < 0 ? add(measure, own, isAdded) : found
      const measures = plans[plan]?.measures ?? []
      const at = measures.findIndex((other) => sameMeasure(other, measure))
      return { plan, measure: at < 0 ? measures.push(measure) - 1 : at }
    },
    plans: () => plans,
  }
}

/** The month a query is about where its metrics do not say: that of any table. */
function newestOfAny(
  held: readonly number[],
  states: ReadonlySet<string>,
  view: ReleaseView,
  tables: readonly Table[],
): number[] {
  const newest = newestFor(held, states, (period) =>
    tables.map((table) => statesCollected(view, table, period)),
  )
  return newest === null ? [] : [newest]
}
