/**
 * The pre-aggregates of outpatient production: by which dimensions it is added up in advance. Values only;
 * model/pre-aggregates.ts says what follows from an entry.
 */
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
