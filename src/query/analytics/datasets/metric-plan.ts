/** Says how metrics are computed from measures. Ratios that a query defines divide the stored numbers of two of its metrics. Pure. */

import { LIFE_TABLE } from '../../../model/demography/life-table.ts'
import { isPopulation } from '../../../model/dimensions.ts'
import type { Limits } from '../../../model/limits/methods.ts'
import {
  factDatasetsOf,
  isLifeExpectancy,
  type Measure,
  type MetricCode,
  metricOf,
  type Sides,
} from '../../../model/metrics.ts'
import type { CollectedGroupsByCode, GroupSet } from '../coverage.ts'
import type { QueryRatio } from '../options/defined-metrics.ts'
import { recordUnitOf } from '../options/prices.ts'
import type { StatusGroups } from './status-groups.ts'

/** Indexes of a dataset in the plan and of a measure in that dataset. */
export interface MeasurePosition {
  readonly plan: number
  readonly measure: number
}

export interface LifeTablePosition {
  readonly deaths: MeasurePosition
  readonly residents: MeasurePosition
}

/** Numerator and denominator. */
export type RatioSides = readonly [MetricPlan, MetricPlan]

export interface MetricPlan {
  /** Name in the answer. */
  readonly code: string
  /** Metrics of the catalog that it reads: one, or both sides of a ratio of the query. */
  readonly catalog: readonly MetricCode[]
  /** Both sides of a ratio of the query, which has no measure of its own; null for other metrics. */
  readonly sides: RatioSides | null
  readonly label: string | null
  readonly limits: Limits
  readonly isAdditive: boolean
  readonly numerator: MeasurePosition
  readonly less: MeasurePosition | null
  readonly denominator: MeasurePosition | null
  /** Denominators by month, when they depend on the month's year. `denominator` is then that of the newest month. */
  readonly denominators:
    | readonly { readonly period: number; readonly position: MeasurePosition | null }[]
    | null
  /**
   * Events and variance that the limits of a standardized rate need, and the residents that its status needs; null without limits and
   * statuses, and for other metrics.
   */
  readonly spread: {
    readonly events: MeasurePosition
    readonly variance: MeasurePosition
    readonly residents?: MeasurePosition
  } | null
  /** Deaths and residents of each age of the life table, from the youngest on; null for other metrics. */
  readonly lifeTable: readonly LifeTablePosition[] | null
  readonly scale: number
  /** Further divisor of the numerator: 100 when cents are shown in reais. */
  readonly unit: number
  /** Further divisor of values in constant prices, whose numerators keep decimals of a cent; else 1. */
  readonly priceUnit: number
  readonly decimals: number
  /** Groups with complete data. The metric is null in the others. */
  readonly collectedGroups: GroupSet
  /** Further limits on groups with a code of a dimension that some files lack. */
  readonly collectedGroupsByCode: readonly CollectedGroupsByCode[]
  /** Null without statuses, and for ratios of the query, which have those of their sides. */
  readonly status: StatusGroups | null
}
export const isCollectedEverywhere = ({
  collectedGroups,
  collectedGroupsByCode,
  sides,
}: MetricPlan): boolean =>
  sides === null
    ? collectedGroups === 'all' && collectedGroupsByCode.length === 0
    : sides.every(isCollectedEverywhere)

/** Populations have no months, and so has a ratio that divides two of them. */
export const isTimeless = ({ catalog }: Pick<MetricPlan, 'catalog'>): boolean =>
  catalog.every((code) => factDatasetsOf(code).some(isPopulation))

/** @returns the label that the query gives, else that of the catalog, else the name */
export function labelOfMetric(metric: MetricPlan, language: 'pt' | 'en'): string {
  const [first] = metric.catalog
  if (metric.label !== null) return metric.label
  if (metric.sides !== null || first === undefined || first !== metric.code) return metric.code
  const { label, label_en } = metricOf(first)
  return language === 'en' ? label_en : label
}

/** @returns the divisor of what records contribute to a side: cents are shown in reais */
export function unitOfSide(metric: MetricPlan, side: 'numerator' | 'less' | 'denominator'): number {
  const { sides } = metric
  if (sides !== null) return recordUnitOf(sides[side === 'denominator' ? 1 : 0])
  return side === 'denominator' ? 1 : recordUnitOf(metric)
}

/** @param add adds a measure to the plan @returns the measures of each age of a life table; null for other metrics */
export function planLifeTable(
  metric: MetricCode,
  { numerator, denominator }: Pick<Sides, 'numerator' | 'denominator'>,
  add: (measure: Measure) => MeasurePosition,
): MetricPlan['lifeTable'] {
  if (!isLifeExpectancy(metric) || denominator === null) return null
  const ofAge = (measure: Measure, ageGroup: string): Measure => ({
    ...measure,
    where: [{ field: 'age_group', equals: ageGroup }],
  })
  return LIFE_TABLE.map(({ ageGroup }) => ({
    deaths: add(ofAge(numerator, ageGroup)),
    residents: add(ofAge(denominator, ageGroup)),
  }))
}

/** @returns the plan of a ratio, which reads what the plans of its sides read and is null where either of them is */
export function planRatio(
  ratio: QueryRatio,
  numerator: MetricPlan | undefined,
  denominator: MetricPlan | undefined,
): MetricPlan {
  if (numerator === undefined || denominator === undefined)
    throw new TypeError(`the plan lacks a side of ${ratio.code}`)
  return {
    code: ratio.code,
    catalog: [...new Set([...numerator.catalog, ...denominator.catalog])],
    sides: [numerator, denominator],
    label: ratio.label,
    limits: { method: 'none', reason: 'query_ratio' },
    isAdditive: false,
    numerator: numerator.numerator,
    less: null,
    denominator: denominator.numerator,
    denominators: null,
    spread: null,
    lifeTable: null,
    scale: ratio.scale,
    unit: 1,
    priceUnit: numerator.priceUnit,
    decimals: ratio.decimals,
    collectedGroups: 'all',
    collectedGroupsByCode: [],
    status: null,
  }
}

/** @returns whether the state of a group decides if a metric has a value */
export const needsStateOfGroup = (metric: MetricPlan): boolean =>
  metric.collectedGroups !== 'none' && !isCollectedEverywhere(metric)

/** @returns the residents that a standardized rate divides by, of all ages together */
export const countOf = ({ standardizedBy: _standard, ...residents }: Measure): Measure => residents
