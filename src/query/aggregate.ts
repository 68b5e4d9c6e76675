/**
 * A normalised query and a release → a plan. Pure; knows no engine.
 *
 * The plan says, for each dataset, which measures to compute over which periods; which groups exist; where each dataset
 * was collected; and how each metric comes from the measures. The dialect prints it. Rules: contract 7.
 */
import { AppError, both } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import type { DatasetName } from '../model/datasets.ts'
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
import type { PreAggregateName } from '../model/pre-aggregates.ts'
import { STATES } from '../model/territory/states.ts'
import {
  collectedPeriods,
  coverageOf,
  formatPeriod,
  latestPeriod,
  type ReleaseView,
} from '../release/view.ts'
import { allPeriods, periodsMeeting, toOneValue } from './periods.ts'
import { type MetricSides, sidesOf } from './population-basis.ts'
import type { BasePlan, PlanContext } from './query-plan.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'
import { type PopulationYears, populationYears } from './resident-relations.ts'
import { checkTerritory, territoryNotes } from './territory.ts'

/** One sub-query: the measures of one dataset. */
export interface DatasetPlan {
  readonly dataset: FactDataset
  readonly measures: readonly Measure[]
  /** Grouped dimensions the dataset carries. */
  readonly keys: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
  /** YYYYMM, ascending; empty: not collected for the requested ones (null, not 0). Population has none. */
  readonly periods: readonly number[]
  /** How several periods become one value; null: one period, or grouped by period. */
  readonly over: 'avg' | 'max' | null
  /** States the dataset was not collected for in some period: 'all' covered, or the (period, states) there are. */
  readonly covered: 'all' | readonly { readonly period: number; readonly states: readonly string[] | 'all' }[]
  /** Pre-aggregate that is read; null: the facts. */
  readonly source: PreAggregateName | null
  /** Years of the population, by type. */
  readonly years: PopulationYears | null
  /** Relation of the statement whose groups add up to these exactly; null: the rows are read. */
  readonly addedUpFrom: string | null
}

/** A measure of a dataset's plan, by its number there. */
export interface MeasurePlace {
  readonly dataset: FactDataset
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
  /** The requested territory is not wholly collected: a rate over it would be wrong, so it is null. */
  readonly isUndefined: boolean
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
  readonly spinePeriods: readonly number[]
  /** Period that names facilities. */
  readonly facilityPeriod: number | null
  readonly referencePeriod: string | null
  readonly notes: readonly string[]
  /** What is computed beside and under the rows; see query-plan.ts. */
  readonly totals: readonly AggregatePlan[]
  /** The same groups in the months they are compared with. */
  readonly base: BasePlan | null
  /** The level whose values are 100 percent. */
  readonly whole: AggregatePlan | null
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
  const notes: string[] = territoryNotes(query, view)
  const placeFilters = query.filters.filter(({ dimension }) => PLACE_DIMENSIONS.has(dimension))
  const grouped = query.group_by.includes('reference_period')
  const over = query.over_period === 'avg' || query.over_period === 'max' ? query.over_period : null
  const factDatasets = [...new Set(query.metrics.flatMap(factDatasetsOf))]
  const anchors = context.periods ?? choosePeriods(query, view, factDatasets, notes)
  const sides = new Map(
    query.metrics.map((code) => [code, sidesOf(code, query, anchors, populationYears(view), context)]),
  )
  const measures = collectMeasures([...sides.values()])
  const datasets = [...measures].map(([dataset, own]): DatasetPlan => {
    const periods = anchors.get(dataset) ?? []
    const keys = query.group_by.filter(
      (code) =>
        dimensionOf(code).datasets.includes(dataset) &&
        (dataset !== 'population' || PLACE_DIMENSIONS.has(code)),
    )
    return {
      dataset,
      measures: own,
      keys,
      filters: (dataset === 'population' ? placeFilters : query.filters).filter(
        ({ dimension }) => dimension !== 'reference_period',
      ),
      periods,
      over: !grouped && periods.length > 1 ? over : null,
      covered: coveredStates(dataset, periods, view),
      source: null,
      years: isPopulation(dataset) ? populationYears(view) : null,
      addedUpFrom: null,
    }
  })
  const scope = scopeStates(placeFilters)
  const placed = query.group_by.some((code) => PLACE_DIMENSIONS.has(code))
  for (const { dataset, covered, periods, years } of datasets) {
    if (dataset === 'population_by_age') notes.push(noteOfAges(years?.POPULATION_BY_AGE ?? null))
    if (isPopulation(dataset)) continue
    if (periods.length === 0)
      notes.push(`${dataset}: not collected for the periods asked for; its metrics are null.`)
    else if (missesStates(covered, scope))
      notes.push(
        `${dataset}: collected for ${describeCovered(covered)} only; other states are null, and totals cover these states.`,
      )
  }
  const metrics = query.metrics.map((code): MetricPlan => {
    const metric = metricOf(code)
    const { numerator, less, denominator, denominators, notes: basis } = sides.get(code) as MetricSides
    notes.push(...basis)
    const locate = (measure: Measure): MeasurePlace => ({
      dataset: measure.dataset,
      measure: (measures.get(measure.dataset) ?? []).findIndex((other) => sameMeasure(other, measure)),
    })
    const facts = datasets.filter(({ dataset }) => factDatasetsOf(code).includes(dataset))
    const partial = isPerCapita(code) && !placed && facts.some(({ covered }) => missesStates(covered, scope))
    if (partial)
      notes.push(`${code}: null, because the territory asked for is not wholly collected; filter by state.`)
    return {
      code,
      numerator: locate(numerator),
      less: less === null ? null : locate(less),
      denominator: denominator === null ? null : locate(denominator),
      denominators:
        denominators?.map(({ period, measure }) => ({
          period,
          place: measure === null ? null : locate(measure),
        })) ?? null,
      scale: metric.kind === 'ratio' ? metric.scale : 1,
      decimals: metric.kind === 'ratio' ? metric.decimals : 0,
      isUndefined: partial,
    }
  })
  const periodsUsed = allPeriods(datasets.map(({ periods }) => periods))
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
    scope,
    spinePeriods: periodsUsed,
    facilityPeriod: periodsUsed.at(-1) ?? latestPeriod(view, 'facilities'),
    referencePeriod: periodsUsed.length === 0 ? null : periodsUsed.map(formatPeriod).join(', '),
    notes,
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

function collectMeasures(sides: readonly MetricSides[]): Map<FactDataset, Measure[]> {
  const measures = new Map<FactDataset, Measure[]>()
  for (const { numerator, less, denominator, denominators } of sides)
    for (const measure of [numerator, less, denominator, ...(denominators ?? []).map((own) => own.measure)]) {
      if (measure === null) continue
      const own = measures.get(measure.dataset) ?? []
      if (!own.some((other) => sameMeasure(other, measure))) measures.set(measure.dataset, [...own, measure])
    }
  return measures
}

/** Population by age is a source of its own, which the other populations are not to be mixed with. */
const noteOfAges = (year: number | null): string =>
  year === null
    ? 'population_by_age: null, because the release holds none; import POPSBR, the population by municipality, sex and age of DATASUS.'
    : `population_by_age: estimates of the Ministry of Health for 1 July ${year} (POPSBR), another source than the census and the estimates of IBGE: their totals differ.`

/** Stocks are never summed over months: one month, months side by side, or an explicit way to one value. */
function choosePeriods(
  query: AnalyticsQuery,
  view: ReleaseView,
  datasets: readonly FactDataset[],
  notes: string[],
): Map<FactDataset, readonly number[]> {
  const filters = query.filters.filter(({ dimension }) => dimension === 'reference_period')
  const grouped = query.group_by.includes('reference_period')
  const facts = datasets.filter((dataset) => !isPopulation(dataset))
  const chosen = new Map<FactDataset, readonly number[]>()
  if (filters.length === 0 && !grouped && query.over_period === null) {
    for (const dataset of facts) chosen.set(dataset, collectedPeriods(view, dataset).slice(-1))
    const newest = new Set([...chosen.values()].flat())
    if (newest.size > 1)
      notes.push(
        `The datasets' newest periods differ: ${[...chosen].map(([dataset, [period]]) => `${dataset} ${period === undefined ? 'none' : formatPeriod(period)}`).join(', ')}.`,
      )
    return chosen
  }
  for (const dataset of facts) chosen.set(dataset, periodsMeeting(filters, collectedPeriods(view, dataset)))
  return grouped ? chosen : toOneValue(chosen, query.over_period)
}

function coveredStates(
  dataset: FactDataset,
  periods: readonly number[],
  view: ReleaseView,
): DatasetPlan['covered'] {
  if (isPopulation(dataset)) return 'all'
  const covered = periods.map((period) => ({
    period,
    states: coverageOf(view, dataset as DatasetName, period)?.states ?? [],
  }))
  return covered.every(({ states }) => states === 'all') ? 'all' : covered
}

/** States of the geographic scope, by the filters alone. */
function scopeStates(placeFilters: readonly QueryFilter[]): ReadonlySet<string> {
  const states = STATES.filter(({ uf, ibge_code, region_code }) =>
    placeFilters.every(({ dimension, operator, values }) => {
      const isInside = values.some((value) =>
        dimension === 'state'
          ? value === uf
          : dimension === 'region'
            ? value === region_code
            : String(value).startsWith(String(ibge_code)),
      )
      if (operator === 'EQ' || operator === 'IN') return isInside
      // Leaving out one municipality or health region leaves its state in the scope.
      return (dimension !== 'state' && dimension !== 'region') || !isInside
    }),
  )
  return new Set(states.map(({ uf }) => uf))
}

const missesStates = (covered: DatasetPlan['covered'], scope: ReadonlySet<string>): boolean =>
  covered !== 'all' &&
  covered.some(({ states }) => states !== 'all' && [...scope].some((uf) => !states.includes(uf)))

function describeCovered(covered: DatasetPlan['covered']): string {
  const states =
    covered === 'all' ? ['BR'] : covered.flatMap((own) => (own.states === 'all' ? ['BR'] : own.states))
  return [...new Set(states)].sort().join(', ')
}
