/** Says which transfers count: those to municipalities, or those to states, too. Pure. */
import { type DimensionCode, dimensionOf } from '../../../model/dimensions.ts'
import type { DatasetPlan } from '../plan.ts'

/** @returns whether a dimension is the municipality or a territory of municipalities, such as the health region */
export const isBelowState = (code: DimensionCode): boolean =>
  code === 'municipality' || dimensionOf(code).derivedFrom === 'municipality'

/** Funds of states belong to no municipality, so queries by municipality count only municipal funds. */
export const excludesStateFunds = ({
  dataset,
  keys,
  filters,
}: Pick<DatasetPlan, 'dataset' | 'keys' | 'filters'>): boolean =>
  dataset === 'federal_health_transfers' &&
  [...keys, ...filters.map(({ dimension }) => dimension)].some(isBelowState)
