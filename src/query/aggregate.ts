/**
 * A normalised query and a release → a plan. Pure; knows no engine.
 *
 * The plan says, for each dataset, which measures to compute over which periods; which groups exist; where each dataset
 * was collected; and how each metric comes from the measures. The dialect prints it. Rules: contract 7.
 */
import { AppError, both } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import {
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isPopulation,
  PLACE_DIMENSIONS,
  SPINE_DIMENSIONS,
} from '../model/dimensions.ts'
import {
  capabilitiesOf,
  factDatasetsOf,
  isPerCapita,
  type Measure,
  type MetricCode,
  metricOf,
} from '../model/metrics.ts'
import { needsOf } from '../model/needs.ts'
import type { PreAggregateName } from '../model/pre-aggregates.ts'
import {
  hasGaps,
  monthsOf,
  monthsOfRelease,
  newestFor,
  onlyState,
  statesCollected,
  TABLES,
} from '../release/collected.ts'
import { formatPeriod, latestPeriod, type ReleaseView } from '../release/view.ts'
import {
  describeMissing,
  findMissing,
  isWithinStates,
  type Known,
  knownOf,
  type MetricNeeds,
  type Missing,
  readablePeriods,
  scopeOf,
} from './coverage.ts'
import { allPeriods, askPeriods, listedPeriods, periodsOfMetric } from './periods.ts'
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
  readonly decimals: number
  /** Groups of which all it needs was collected; it is null in the others. */
  readonly known: Known
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
  /** Months each metric is asked for. */
  readonly asked: ReadonlyMap<MetricCode, readonly number[]>
  /** Months that are groups, or that the query is about, whatever its metrics. */
  readonly spinePeriods: readonly number[]
  /** Period that names facilities. */
  readonly facilityPeriod: number | null
  readonly referencePeriod: string | null
  /** What metrics need and the release does not have. */
  readonly missing: readonly Missing[]
  readonly notes: readonly string[]
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
  const placeFilters = query.filters.filter(({ dimension }) => PLACE_DIMENSIONS.has(dimension))
  const scope = scopeOf(placeFilters, context.ofFacilities ?? null, view)
  const isOfFacts = query.metrics.some((code) => factDatasetsOf(code).some((name) => !isPopulation(name)))
  const isGrouped = query.group_by.includes('reference_period')
  const isByPlace = query.group_by.some((code) => PLACE_DIMENSIONS.has(code))
  const given = context.months
  const asked =
    isOfFacts && given === undefined
      ? askPeriods(query, scope.states, view)
      : { asked: null, end: 'newest' as const, held: monthsOf(view, scope.states) }
  const filtered = query.filters.map(({ dimension }) => dimension)
  const needed = query.metrics.map((code): MetricNeeds => {
    const needs = needsOf(code, filtered)
    return {
      code,
      needs,
      states: isByPlace
        ? scope.places
        : isWithinStates(query.group_by) || isPerCapita(code)
          ? scope.territory
          : scope.states,
      asked:
        needs.length === 0
          ? []
          : (given?.asked.get(code) ?? periodsOfMetric(asked, needs, scope.states, view)),
    }
  })
  const collector = collectDatasets(query, placeFilters, view)
  const known = needed.map((own) => knownOf(own, query.group_by, view))
  const basisNotes: string[] = []
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
      decimals: metric.kind === 'ratio' ? metric.decimals : 0,
      known: known[index] ?? 'all',
    }
  })
  // A group by facility has no place in its key: each dataset says the state of its groups, where it may matter.
  const tellsState =
    query.group_by.includes('facility') &&
    !query.group_by.some((code) => code !== 'region' && PLACE_DIMENSIONS.has(code)) &&
    hasGaps(view)
  const datasets = collector.plans().map((plan): DatasetPlan => ({ ...plan, tellsState }))
  const periodsUsed = allPeriods(datasets.map(({ periods }) => periods))
  const listed =
    listedPeriods(query.filters.filter(({ dimension }) => dimension === 'reference_period')) ?? []
  const named = isGrouped ? needed.map((own) => ({ ...own, asked: allPeriods([own.asked, listed]) })) : needed
  const missing = findMissing(named, view, monthsOfRelease(view))
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
    asked: new Map(needed.map((own) => [own.code, own.asked])),
    spinePeriods:
      given?.spine ??
      asked.asked?.filter((period) => asked.held.includes(period)) ??
      newestOfAny(asked.held, scope.states, view),
    facilityPeriod: periodsUsed.at(-1) ?? latestPeriod(view, 'facilities'),
    referencePeriod: periodsUsed.length === 0 ? null : periodsUsed.map(formatPeriod).join(', '),
    missing,
    notes: [
      ...territoryNotes(query, view),
      ...datasets.flatMap(({ dataset, years }) =>
        dataset === 'population_by_age' ? [noteOfAges(years?.POPULATION_BY_AGE ?? null)] : [],
      ),
      ...periodNotes(asked.asked === null && given === undefined ? needed : []),
      ...basisNotes,
      ...describeMissing(missing),
      ...(scope.states === scope.territory ? [] : scopeNotes(needed, view)),
    ],
    totals: [],
    base: null,
    whole: null,
  }
}

function checkAccess(query: AnalyticsQuery, capabilities: readonly Capability[]): void {
  for (const code of query.metrics) {
    const lacking = capabilitiesOf(code).find((capability) => !capabilities.includes(capability))
    if (lacking !== undefined)
      throw new AppError('forbidden', {
        detail: both(
          `A chave não alcança a métrica ${code}: falta a permissão ${lacking}.`,
          `The key may not reach the metric ${code}: it lacks the capability ${lacking}.`,
        ),
        extra: { capability: lacking, metric: code },
      })
  }
}

function checkDimensions(query: AnalyticsQuery): void {
  const places = [
    ...query.group_by.map((dimension, index) => ({ dimension, pointer: `/group_by/${index}` })),
    ...query.filters.map(({ dimension }) => ({ dimension, pointer: '/filters' })),
  ]
  for (const code of query.metrics) {
    const datasets = factDatasetsOf(code)
    for (const { dimension, pointer } of places) {
      if (datasets.every((dataset) => dimensionOf(dimension).datasets.includes(dataset))) continue
      const allowed = allowedDimensions(code)
      throw new AppError('incompatible_dimension', {
        detail: both(
          `A métrica ${code} não tem a dimensão ${dimension}.`,
          `The metric ${code} has no dimension ${dimension}.`,
        ),
        errors: [
          {
            pointer,
            message: both(`${dimension} não combina com ${code}`, `${dimension} does not go with ${code}`),
            allowed,
          },
        ],
        extra: { metric: code, dimension },
      })
    }
    if (isPerCapita(code) && query.group_by.includes('facility'))
      throw new AppError('denominator_not_defined', {
        detail: both(
          `A taxa ${code} não tem denominador para um só estabelecimento.`,
          `The rate ${code} has no denominator for a single facility.`,
        ),
        errors: [
          {
            pointer: `/group_by/${query.group_by.indexOf('facility')}`,
            message: both(`facility não combina com ${code}`, `facility does not go with ${code}`),
            allowed: allowedDimensions(code).filter((other) => other !== 'facility'),
          },
        ],
        extra: { metric: code },
      })
  }
}

/** Dimensions a metric can be grouped and filtered by. */
export function allowedDimensions(code: MetricCode): DimensionCode[] {
  const datasets = factDatasetsOf(code)
  return DIMENSION_CODES.filter((dimension) =>
    datasets.every((dataset) => dimensionOf(dimension).datasets.includes(dataset)),
  )
}

const sameMeasure = (left: Measure, right: Measure): boolean => JSON.stringify(left) === JSON.stringify(right)

interface Collector {
  /** @param periods months that are read for the metric */
  place(measure: Measure, periods: readonly number[]): MeasurePlace
  plans(): readonly Omit<DatasetPlan, 'tellsState'>[]
}

/** Population by age is a source of its own, which the other populations are not to be mixed with. */
const noteOfAges = (year: number | null): string =>
  year === null
    ? 'population_by_age: null, because the release holds none; import POPSBR, the population by municipality, sex and age of DATASUS.'
    : `population_by_age: estimates of the Ministry of Health for 1 July ${year} (POPSBR), another source than the census and the estimates of IBGE: their totals differ.`

/** Measures of one dataset over the same months share a sub-query; in a release without gaps that is one a dataset. */
function collectDatasets(
  query: AnalyticsQuery,
  placeFilters: readonly QueryFilter[],
  view: ReleaseView,
): Collector {
  const plans: (Omit<DatasetPlan, 'measures' | 'tellsState'> & { readonly measures: Measure[] })[] = []
  const grouped = query.group_by.includes('reference_period')
  const over = query.over_period === 'avg' || query.over_period === 'max' ? query.over_period : null
  const add = (dataset: FactDataset, periods: readonly number[]): number => {
    const number = plans.filter((other) => other.dataset === dataset).length + 1
    return (
      plans.push({
        name: number === 1 ? dataset : `${dataset}_${number}`,
        dataset,
        measures: [],
        keys: query.group_by.filter(
          (code) =>
            dimensionOf(code).datasets.includes(dataset) &&
            (dataset !== 'population' || PLACE_DIMENSIONS.has(code)),
        ),
        filters: (dataset === 'population' ? placeFilters : query.filters).filter(
          ({ dimension }) => dimension !== 'reference_period',
        ),
        periods,
        over: !grouped && periods.length > 1 ? over : null,
        source: null,
        addedUpFrom: null,
        years: isPopulation(dataset) ? populationYears(view) : null,
      }) - 1
    )
  }
  return {
    place(measure, periods) {
      const { dataset } = measure
      const own = isPopulation(dataset) ? [] : periods
      const found = plans.findIndex(
        (other) => other.dataset === dataset && other.periods.join() === own.join(),
      )
      const plan = found < 0 ? add(dataset, own) : found
      const measures = plans[plan]?.measures ?? []
      const at = measures.findIndex((other) => sameMeasure(other, measure))
      return { plan, measure: at < 0 ? measures.push(measure) - 1 : at }
    },
    plans: () => plans,
  }
}

/** The month a query is about where its metrics do not say: that of any table. */
function newestOfAny(held: readonly number[], states: ReadonlySet<string>, view: ReleaseView): number[] {
  const newest = newestFor(held, states, (period) =>
    TABLES.map((table) => statesCollected(view, table, period)),
  )
  return newest === null ? [] : [newest]
}

/** Each metric has its own newest month: said where they differ. */
function periodNotes(metrics: readonly MetricNeeds[]): string[] {
  const newest = new Map<string, string[]>()
  for (const { code, needs, asked } of metrics) {
    if (needs.length === 0) continue
    const month = asked[0] === undefined ? 'none' : formatPeriod(asked[0])
    newest.set(month, [...(newest.get(month) ?? []), code])
  }
  return newest.size <= 1
    ? []
    : [
        `The newest periods of what is asked for differ: ${[...newest].map(([month, codes]) => `${codes.join(', ')} ${month}`).join('; ')}.`,
      ]
}

/** A release of one state answers for it where no place is asked for. */
function scopeNotes(metrics: readonly MetricNeeds[], view: ReleaseView): string[] {
  const only = onlyState(view)
  const own = metrics.filter(({ states }) => only !== null && states.size === 1 && states.has(only))
  return own.length === 0 ? [] : [`The release is of ${only} alone: totals are of ${only}.`]
}
