/**
 * Selects the measures of a metric's sides, including the population that divides rates. Pure.
 *
 * census: the release's census. estimate: its newest estimate. estimate_of_period: the estimate for the month's year, or the
 * nearest earlier one. Distant years get a note.
 */
import { AGE_GROUPS } from '../../model/demography/code-lists.ts'
import { isPerCapita, type Measure, measuresOf, type Sides } from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import { finestTime } from '../../model/periods.ts'
import { formatPeriod } from '../../release/view.ts'
import type { QueryMetricNeeds } from './coverage.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { PlanContext } from './query-plan.ts'
import type { PopulationYears } from './resident-relations.ts'

/** Number of years between a month and its denominator above which a note names both. */
const FAR_YEARS = 5

export interface MetricSides {
  readonly numerator: Measure
  readonly less: Measure | null
  readonly denominator: Measure | null
  /** Denominator of each month, when each month uses its year's estimate; null when no estimate is that early. */
  readonly denominators: readonly { readonly period: number; readonly measure: Measure | null }[] | null
  readonly notes: readonly Note[]
}

export function sidesOf(
  { code, metric, query, requested: months, cells }: QueryMetricNeeds,
  years: PopulationYears,
  { estimateYears = [] }: PlanContext,
): MetricSides {
  const sides = measuresOf(metric, dimensionsUsed(query))
  if (!isPerCapita(metric))
    return { ...sides, denominators: null, notes: noteResidentsByAge(code, sides, months, years) }
  const basis = query.population_basis
  if (basis !== 'estimate_of_period') {
    const type = basis === 'census' ? 'CENSUS_POPULATION' : 'ESTIMATED_POPULATION'
    const year = years[type]
    return {
      ...sides,
      denominator: populationMeasure(type),
      denominators: null,
      notes: noteDistantYears(
        code,
        months.map((period) => ({ period, year })),
        basis,
      ),
    }
  }
  // A period has the estimate of the year in which it ends.
  const lastMonths = cells?.map(({ code: period, needed }) => ({ period, month: needed.at(-1) ?? 0 }))
  const yearByMonth = (lastMonths ?? months.map((period) => ({ period, month: period }))).map(
    ({ period, month }) => ({ period, month, year: yearFor(month, estimateYears) }),
  )
  const newest = yearByMonth.at(-1)?.year ?? null
  const measureOf = (year: number | null): Measure | null =>
    year === null ? null : populationMeasure('ESTIMATED_POPULATION', year)
  const isByMonth = finestTime(query.group_by) !== null
  const notedMonths = isByMonth ? yearByMonth : yearByMonth.slice(-1)
  return {
    ...sides,
    // Year 0 has no rows, so the rate is null.
    denominator: measureOf(newest) ?? populationMeasure('ESTIMATED_POPULATION', 0),
    denominators: isByMonth
      ? yearByMonth.map(({ period, year }) => ({ period, measure: measureOf(year) }))
      : null,
    notes: [
      ...noteEarlierEstimates(
        code,
        notedMonths.map(({ month, year }) => ({ period: month, year })),
      ),
      ...noteDistantYears(
        code,
        yearByMonth.map(({ month, year }) => ({ period: month, year: isByMonth ? year : newest })),
        'estimate',
      ),
    ],
  }
}

const populationMeasure = (type: 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION', year?: number): Measure => ({
  dataset: 'population',
  kind: 'sum',
  field: 'population',
  where: [{ populationType: type, ...(year === undefined ? {} : { year }) }],
})

const yearFor = (period: number, years: readonly number[]): number | null =>
  years.filter((year) => year <= Math.floor(period / 100)).at(-1) ?? null

type MonthYears = readonly { readonly period: number; readonly year: number | null }[]

function noteEarlierEstimates(metric: string, months: MonthYears): Note[] {
  const years = new Map(months.map(({ period, year }) => [Math.floor(period / 100), year]))
  return [...years].flatMap(([monthYear, year]): Note[] => {
    if (year === monthYear) return []
    return year === null
      ? [{ code: 'no_estimate', metric, year: monthYear }]
      : [{ code: 'earlier_estimate', metric, year: monthYear, used: year }]
  })
}

/** Notes the standard population of a standardized rate, and the distance to the year of the residents by age. */
function noteResidentsByAge(
  code: string,
  { denominator }: Sides,
  months: readonly number[],
  years: PopulationYears,
): Note[] {
  if (denominator?.dataset !== 'population_by_age') return []
  const { standardizedBy: standard } = denominator
  const year = years.POPULATION_BY_AGE
  return [
    ...(standard === undefined
      ? []
      : [{ code: 'standardized', metric: code, standard, age_groups: AGE_GROUPS.length } as const]),
    ...noteDistantYears(
      code,
      months.map((period) => ({ period, year })),
      'estimate',
    ),
  ]
}

function noteDistantYears(metric: string, months: MonthYears, basis: 'census' | 'estimate'): Note[] {
  const distantMonths = months.filter(
    ({ period, year }) => year !== null && Math.abs(Math.floor(period / 100) - year) > FAR_YEARS,
  )
  return [...new Set(distantMonths.map(({ year }) => year))].flatMap((year): Note[] => {
    const periods = distantMonths
      .filter((month) => month.year === year)
      .map(({ period }) => formatPeriod(period))
    const [first, last] = [periods[0], periods.at(-1)]
    return year === null || first === undefined || last === undefined
      ? []
      : [{ code: 'far_denominator', metric, first, last, years: FAR_YEARS, basis, year }]
  })
}
