/** Says which transfers count: those to municipalities, or those to states, too. Pure. */
import { dimensionOf } from '../../../model/dimensions.ts'
import type { DatasetPlan } from '../plan.ts'

/** Funds of states belong to no municipality, so queries by municipality count only municipal funds. */
export const excludesStateFunds = ({
  dataset,
  keys,
  filters,
}: Pick<DatasetPlan, 'dataset' | 'keys' | 'filters'>): boolean =>
  dataset === 'federal_health_transfers' &&
  [...keys, ...filters.map(({ dimension }) => dimension)].some(
    (code) => code === 'municipality' || dimensionOf(code).derivedFrom === 'municipality',
  )
