/**
 * Collects the sub-queries of a plan: measures of one dataset over the same months share one. Pure. plan.ts decides which measures and
 * months a metric reads.
 */
import {
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isFlow,
  isPlace,
  isPopulation,
} from '../../../model/dimensions.ts'
import { isFlowMeasure, type Measure } from '../../../model/metrics.ts'
import { finestTime, isTime, monthsOfPeriod } from '../../../model/periods.ts'
import { isMonthZero, type ReleaseView, storedPeriods } from '../../../release/view.ts'
import { fillersOf } from '../coverage.ts'
import type { MeasurePosition } from '../datasets/metric-plan.ts'
import type { QueryFilter } from '../filters.ts'
import type { PeriodCell } from '../period-cells.ts'
import { allPeriods } from '../periods.ts'
import type { DatasetPlan } from '../plan.ts'
import type { AnalyticsQuery } from '../request.ts'
import { populationYears } from '../resident-relations.ts'

const sameMeasure = (left: Measure, right: Measure): boolean => JSON.stringify(left) === JSON.stringify(right)

export interface Collector {
  /**
   * @param periods months to read for the metric
   * @param cells periods of several months; null when a group has one month
   * @param filters of the query and of the metric
   */
  add(
    measure: Measure,
    periods: readonly number[],
    cells: readonly PeriodCell[] | null,
    filters: readonly QueryFilter[],
  ): MeasurePosition
  plans(): readonly Omit<DatasetPlan, 'hasStateColumn'>[]
}

/** Population by age fits every place, including places of residence. Other dimensions must be columns of the dataset. */
const carries = (dataset: FactDataset, code: DimensionCode): boolean =>
  dimensionOf(code).datasets.includes(dataset) || (dataset === 'population_by_age' && isPlace(code))

/**
 * Collects the sub-queries. Measures of one dataset over the same months share one.
 * @param isOfYears whether months that are no groups are those of years: then rows without a month count, too
 */
export function collectDatasets(query: AnalyticsQuery, view: ReleaseView, isOfYears: boolean): Collector {
  const timeOf = (cells: readonly PeriodCell[] | null, periods: readonly number[]): DatasetPlan['time'] =>
    cells === null
      ? null
      : {
          dimension: finest,
          isWindow: query.window !== null,
          cells: cells.map(({ code, read }) => ({
            code,
            months: read.filter((month) => periods.includes(month)),
            // The month 00 of a year has rows of its months, and is none itself.
            count: read.filter((month) => !isMonthZero(month)).length,
          })),
        }
  const plans: (Omit<DatasetPlan, 'measures' | 'hasStateColumn'> & { readonly measures: Measure[] })[] = []
  const finest = finestTime(query.group_by)
  // Flows are summed over months, whatever over_period says.
  const combinePeriods = (
    periods: readonly number[],
    isFlow: boolean,
    cells: readonly PeriodCell[] | null,
  ): 'avg' | 'max' | null => {
    const hasSeveral =
      cells === null ? finest === null && periods.length > 1 : cells.some(({ read }) => read.length > 1)
    return isFlow || !hasSeveral ? null : overPeriod
  }
  const overPeriod = query.over_period === 'avg' || query.over_period === 'max' ? query.over_period : null
  const carriesDimension = (dataset: FactDataset, code: DimensionCode): boolean =>
    dataset === 'population' ? isPlace(code) : carries(dataset, code)
  /** A population is restricted by the filters on what it carries; facts are restricted by all. */
  const filtersFor = (dataset: FactDataset, filters: readonly QueryFilter[]): QueryFilter[] =>
    filters.filter(
      ({ dimension }) =>
        !isTime(dimension) && (!isPopulation(dataset) || carriesDimension(dataset, dimension)),
    )
  const addPlan = (
    { dataset, standardizedBy }: Measure,
    periods: readonly number[],
    isFlow: boolean,
    cells: readonly PeriodCell[] | null,
    filters: readonly QueryFilter[],
  ): number => {
    const keys = query.group_by.filter((code) => carriesDimension(dataset, code))
    const number = plans.filter((other) => other.dataset === dataset).length + 1
    return (
      plans.push({
        name: number === 1 ? dataset : `${dataset}_${number}`,
        dataset,
        measures: [],
        keys,
        groupings: query.groupings.filter(({ code }) => keys.includes(code)),
        filters,
        periods,
        fillers: fillersOf(dataset, keys, periods, view),
        time: timeOf(cells, periods),
        over: combinePeriods(periods, isFlow, cells),
        source: null,
        addedUpFrom: null,
        years: isPopulation(dataset) || standardizedBy !== undefined ? populationYears(view) : null,
      }) - 1
    )
  }
  return {
    add(measure, periods, metricCells, metricFilters) {
      const { dataset } = measure
      const addZeros = withMonthZero(dataset, view, query)
      const cells = isPopulation(dataset) ? null : (metricCells?.map(addZeros) ?? null)
      const ofYears = isOfYears ? [addZeros({ code: 0, needed: periods, read: periods, missing: [] })] : []
      const zeros = (cells ?? ofYears).map(({ read }) => read.filter(isMonthZero))
      const planPeriods = isPopulation(dataset) ? [] : allPeriods([periods, ...zeros])
      const time = JSON.stringify(timeOf(cells, planPeriods))
      const isFlow = isFlowMeasure(measure)
      const filters = filtersFor(dataset, metricFilters)
      const found = plans.findIndex(
        (other) =>
          other.dataset === dataset &&
          other.periods.join() === planPeriods.join() &&
          other.over === combinePeriods(planPeriods, isFlow, cells) &&
          JSON.stringify(other.time) === time &&
          other.measures[0]?.standardizedBy === measure.standardizedBy &&
          JSON.stringify(other.filters) === JSON.stringify(filters),
      )
      const plan = found < 0 ? addPlan(measure, planPeriods, isFlow, cells, filters) : found
      const measures = plans[plan]?.measures ?? []
      const position = measures.findIndex((other) => sameMeasure(other, measure))
      return { plan, measure: position < 0 ? measures.push(measure) - 1 : position }
    },
    plans: () => plans,
  }
}

/**
 * Adds the rows of a year whose month is unknown to a cell that reads all months of the year. A window and a filter of periods within a
 * year are of months, so they have none.
 * @returns a function of the cells of a dataset
 */
const withMonthZero =
  (
    dataset: FactDataset,
    view: ReleaseView,
    { window, filters }: Pick<AnalyticsQuery, 'window' | 'filters'>,
  ) =>
  (cell: PeriodCell): PeriodCell => {
    const isOfMonths =
      window !== null || filters.some(({ dimension }) => isTime(dimension) && dimension !== 'reference_year')
    if (isOfMonths || !isFlow(dataset)) return cell
    const zeros = storedPeriods(view, dataset).filter(
      (period) =>
        isMonthZero(period) &&
        monthsOfPeriod('reference_year', period / 100).every((month) => cell.read.includes(month)),
    )
    return zeros.length === 0 ? cell : { ...cell, read: allPeriods([cell.read, zeros]) }
  }
