/** Dimensions by which outpatient production is pre-aggregated. See model/pre-aggregates.ts. Values only. */
import type { DimensionCode } from '../dimensions.ts'
import type { OutpatientTable } from './datasets.ts'

const PLACE = ['state', 'municipality'] as const

export const PRE_AGGREGATES = {
  production_by_municipality: {
    dataset: 'outpatient_production',
    keys: [...PLACE, 'care_period', 'procedure_group'],
  },
  production_by_facility: { dataset: 'outpatient_production', keys: [...PLACE, 'facility'] },
  production_by_procedure: {
    dataset: 'outpatient_production',
    keys: ['state', 'procedure_group', 'procedure_subgroup', 'procedure', 'complexity', 'financing_kind'],
  },
} as const satisfies Record<
  string,
  { readonly dataset: OutpatientTable; readonly keys: readonly DimensionCode[] }
>
