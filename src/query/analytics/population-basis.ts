/**
 * The sides of a metric in a query, with the population its rates are divided by. In: a metric, the query, its months and the
 * years of population there are. Out: measures, and notes on the years. Pure.
 *
 * census: the census of the release. estimate: its newest estimate. estimate_of_period: the estimate of the month's year, or
 * the nearest earlier one.
 */
import { AGE_GROUPS } from '../../model/demography/code-lists.ts'
import { isPerCapita, type Measure, type MetricCode, measuresOf, type Sides } from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import { formatPeriod } from '../../release/view.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { PlanContext } from './query-plan.ts'
import type { AnalyticsQuery } from './request.ts'
import type { PopulationYears } from './resident-relations.ts'

/** Years between a month and its denominator from which on a note says both. */
const FAR_YEARS = 5

export interface MetricSides {
  readonly numerator: Measure
  readonly less: Measure | null
  readonly denominator: Measure | null
  /** By month, where the denominator is that of the month's year and months stand side by side; null: none so early. */
  readonly denominators: readonly { readonly period: number; readonly measure: Measure | null }[] | null
  readonly notes: readonly Note[]
}

/** @param months of the metric, YYYYMM, ascending */
export function sidesOf(
  code: MetricCode,
  query: AnalyticsQuery,
  months: readonly number[],
  years: PopulationYears,
  { estimateYears = [] }: PlanContext,
): MetricSides {
  const sides = measuresOf(code, dimensionsUsed(query))
  if (!isPerCapita(code))
    return { ...sides, denominators: null, notes: standardNotes(code, sides, months, years) }
  const basis = query.population_basis
  if (basis !== 'estimate_of_period') {
    const type = basis === 'census' ? 'CENSUS_POPULATION' : 'ESTIMATED_POPULATION'
    const year = years[type]
    return {
      ...sides,
      denominator: people(type),
      denominators: null,
      notes: farNotes(
        code,
        months.map((period) => ({ period, year })),
        basis,
      ),
    }
  }
  const found = months.map((period) => ({ period, year: yearFor(period, estimateYears) }))
  const newest = found.at(-1)?.year ?? null
  const measureOf = (year: number | null): Measure | null =>
    year === null ? null : people('ESTIMATED_POPULATION', year)
  const isByMonth = query.group_by.includes('reference_period')
  const used = isByMonth ? found : found.slice(-1)
  return {
    ...sides,
    // A year that no row has: the rate is null.
    denominator: measureOf(newest) ?? people('ESTIMATED_POPULATION', 0),
    denominators: isByMonth ? found.map(({ period, year }) => ({ period, measure: measureOf(year) })) : null,
    notes: [
      ...nearestNotes(code, used),
      ...farNotes(
        code,
        isByMonth ? found : found.map(({ period }) => ({ period, year: newest })),
        'estimate',
      ),
    ],
  }
}

const people = (type: 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION', year?: number): Measure => ({
  dataset: 'population',
  kind: 'sum',
  field: 'population',
  where: [{ populationType: type, ...(year === undefined ? {} : { year }) }],
})

/** The year of a month, or the nearest earlier one there is. */
const yearFor = (period: number, years: readonly number[]): number | null =>
  years.filter((year) => year <= Math.floor(period / 100)).at(-1) ?? null

type Divided = readonly { readonly period: number; readonly year: number | null }[]

function nearestNotes(metric: MetricCode, months: Divided): Note[] {
  const years = new Map(months.map(({ period, year }) => [Math.floor(period / 100), year]))
  return [...years].flatMap(([asked, year]): Note[] => {
    if (year === asked) return []
    return year === null
      ? [{ code: 'no_estimate', metric, year: asked }]
      : [{ code: 'earlier_estimate', metric, year: asked, used: year }]
  })
}

/** What a standardized rate is standardized to, and how old its residents are. */
function standardNotes(
  code: MetricCode,
  { denominator }: Sides,
  months: readonly number[],
  years: PopulationYears,
): Note[] {
  if (denominator?.standardizedBy === undefined) return []
  const standard = denominator.standardizedBy
  const year = years.POPULATION_BY_AGE
  return [
    { code: 'standardized', metric: code, standard, age_groups: AGE_GROUPS.length },
    ...farNotes(
      code,
      months.map((period) => ({ period, year })),
      'estimate',
    ),
  ]
}

/** One note for the months that are divided by one year. */
function farNotes(metric: MetricCode, months: Divided, basis: 'census' | 'estimate'): Note[] {
  const far = months.filter(
    ({ period, year }) => year !== null && Math.abs(Math.floor(period / 100) - year) > FAR_YEARS,
  )
  return [...new Set(far.map(({ year }) => year))].flatMap((year): Note[] => {
    const own = far.filter((month) => month.year === year).map(({ period }) => formatPeriod(period))
    const [first, last] = [own[0], own.at(-1)]
    return year === null || first === undefined || last === undefined
      ? []
      : [{ code: 'far_denominator', metric, first, last, years: FAR_YEARS, basis, year }]
  })
}
