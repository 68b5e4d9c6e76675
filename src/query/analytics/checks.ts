/** Rejects queries that the key may not run, or whose metrics lack a dimension. The error lists the dimensions that fit. Pure. */
import { AppError, both } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import {
  baseDimension,
  capabilityOf,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
} from '../../model/dimensions.ts'
import {
  capabilitiesOf,
  dimensionsOf,
  excludes,
  factDatasetsOf,
  isOfResidents,
  isPerCapita,
  type MetricCode,
} from '../../model/metrics.ts'
import { refuse } from '../refusals.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import { catalogMetrics, queryOfMetric } from './options/defined-metrics.ts'
import type { AnalyticsQuery } from './request.ts'

/** @throws AppError 'forbidden', naming the metric or the comparison, and the missing capability */
export function checkAccess(query: AnalyticsQuery, capabilities: readonly Capability[]): void {
  for (const code of catalogMetrics(query)) {
    const missing = capabilitiesOf(code).find((capability) => !capabilities.includes(capability))
    if (missing !== undefined)
      throw new AppError('forbidden', {
        detail: both(
          `A chave não alcança a métrica ${code}: falta a permissão ${missing}.`,
          `The key may not reach the metric ${code}: it lacks the capability ${missing}.`,
        ),
        extra: { capability: missing, metric: code },
      })
  }
  if (query.compare_to?.with === 'peers' && !capabilities.includes('demography.read'))
    throw new AppError('forbidden', {
      detail: both(
        'A chave não alcança a comparação com pares, que são formados pelo censo: falta a permissão demography.read.',
        'The key may not compare with peers, whose groups follow from the census: it lacks the capability demography.read.',
      ),
      extra: { capability: 'demography.read' },
    })
}

/** Rates need no capability for their denominators; the records of a denominator need that of their dataset. */
export const mayReadRecords = (dataset: FactDataset, capabilities: readonly Capability[]): boolean =>
  capabilities.includes(capabilityOf(dataset))

/** @throws AppError 'forbidden', naming the missing capability */
export function checkRecords(dataset: FactDataset, capabilities: readonly Capability[]): void {
  if (mayReadRecords(dataset, capabilities)) return
  const capability = capabilityOf(dataset)
  throw new AppError('forbidden', {
    detail: both(
      `A chave não alcança os registros de ${dataset}: falta a permissão ${capability}.`,
      `The key may not reach the records of ${dataset}: it lacks the capability ${capability}.`,
    ),
    extra: { capability },
  })
}

/** A quarter and a quadrimester overlap: their pairs are periods only where months tell them apart. @throws AppError 'invalid_request' */
export function checkPeriods(groups: readonly DimensionCode[]): void {
  const isGrouped = (code: DimensionCode): boolean => groups.includes(code)
  if (
    !isGrouped('reference_quarter') ||
    !isGrouped('reference_quadrimester') ||
    isGrouped('reference_period')
  )
    return
  throw refuse(
    'invalid_request',
    `/group_by/${groups.indexOf('reference_quadrimester')}`,
    both(
      'não combina com reference_quarter sem reference_period: trimestres e quadrimestres se cruzam',
      'does not go with reference_quarter without reference_period: quarters and quadrimesters overlap',
    ),
  )
}

/** @throws AppError 'incompatible_dimension', 'denominator_not_defined' */
export function checkDimensions(query: AnalyticsQuery): void {
  for (const queryMetric of query.metrics) {
    const code = queryMetric.metric
    const metricQuery = queryOfMetric(query, queryMetric)
    const isOfQuery = (dimension: DimensionCode): boolean =>
      query.filters.some((filter) => filter.dimension === dimension)
    // A grouping needs the dimension whose members it groups.
    const uses = [
      ...query.group_by.map((dimension, index) => ({
        dimension: baseDimension(dimension),
        pointer: `/group_by/${index}`,
      })),
      ...metricQuery.filters.map(({ dimension }) => ({
        dimension,
        pointer: isOfQuery(dimension) ? '/filters' : '/metrics',
      })),
    ]
    const used = [...new Set(dimensionsUsed(metricQuery).map(baseDimension))]
    const datasets = factDatasetsOf(code, used)
    const isSupportedBy = (dimension: DimensionCode, requiredDatasets: readonly FactDataset[]): boolean =>
      requiredDatasets.every((dataset) => dimensionOf(dimension).datasets.includes(dataset)) &&
      !excludes(code, dimension)
    for (const { dimension, pointer } of uses) {
      if (isSupportedBy(dimension, datasets)) continue
      if (dimension === 'race' && isOfResidents(code)) throw rateByRace(code, pointer)
      const allowed = allowedDimensions(code)
      // Admissions have either the hospital's dimensions or those of the residence, not both.
      const isConflict = allowed.includes(dimension)
      const others = used.filter((other) => other !== dimension)
      const isCompatible = (other: DimensionCode): boolean => {
        const all = [other, ...others]
        const compatibleDatasets = factDatasetsOf(code, all)
        return all.every((required) => isSupportedBy(required, compatibleDatasets))
      }
      throw new AppError('incompatible_dimension', {
        detail: isConflict
          ? both(
              `A métrica ${code} não tem juntas as dimensões ${used.join(', ')}.`,
              `The metric ${code} does not have the dimensions ${used.join(', ')} together.`,
            )
          : both(
              `A métrica ${code} não tem a dimensão ${dimension}.`,
              `The metric ${code} has no dimension ${dimension}.`,
            ),
        errors: [
          {
            pointer,
            message: isConflict
              ? both(
                  `${dimension} não combina com ${others.join(', ')} em ${code}`,
                  `${dimension} does not go with ${others.join(', ')} in ${code}`,
                )
              : both(`${dimension} não combina com ${code}`, `${dimension} does not go with ${code}`),
            allowed: isConflict ? allowed.filter(isCompatible) : allowed,
          },
        ],
        extra: { metric: code, dimension },
      })
    }
    const byFacility = query.group_by.findIndex((dimension) => baseDimension(dimension) === 'facility')
    if (isPerCapita(code) && byFacility >= 0)
      throw new AppError('denominator_not_defined', {
        detail: both(
          `A taxa ${code} não tem denominador para um só estabelecimento.`,
          `The rate ${code} has no denominator for a single facility.`,
        ),
        errors: [
          {
            pointer: `/group_by/${byFacility}`,
            message: both(`facility não combina com ${code}`, `facility does not go with ${code}`),
            allowed: allowedDimensions(code).filter((other) => other !== 'facility'),
          },
        ],
        extra: { metric: code },
      })
  }
}

/** The population by race is not among the sources, so rates by race would divide by residents of all races. */
const rateByRace = (code: MetricCode, pointer: string): AppError =>
  new AppError('denominator_not_defined', {
    detail: both(
      `A taxa ${code} não tem denominador por raça/cor: a população não é importada por raça/cor. Peça a contagem e a sua parte (share_of).`,
      `The rate ${code} has no denominator by race: the population is not imported by race. Request the count and its share (share_of).`,
    ),
    errors: [
      {
        pointer,
        message: both(`race não combina com ${code}`, `race does not go with ${code}`),
        allowed: allowedDimensions(code),
      },
    ],
    extra: { metric: code },
  })

export const allowedDimensions = dimensionsOf

/** Largest number of filter values of a query. It keeps the normalised query, which every answer repeats, below a megabyte. */
const FILTER_VALUES_MAX = 12_000

/** @throws AppError 'invalid_request' when the filters have too many values */
export function checkFilterValues(filters: readonly { readonly value: unknown }[]): void {
  const values = filters.reduce((sum, { value }) => sum + (Array.isArray(value) ? value.length : 1), 0)
  if (values > FILTER_VALUES_MAX)
    throw new AppError('invalid_request', {
      errors: [
        {
          pointer: '/filters',
          message: both(
            `não podem ter mais de ${FILTER_VALUES_MAX} valores juntos; têm ${values}`,
            `must not have more than ${FILTER_VALUES_MAX} values together; they have ${values}`,
          ),
        },
      ],
    })
}
