/** Dimensions that only outpatient production has. */
import { COARSE_PERIODS } from '../periods.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'
import type { OutpatientTable } from './datasets.ts'

export const DIMENSIONS = {
  care_period: {
    label: 'Mês de atendimento',
    label_en: 'Month of care',
    column: 'care_period',
    member: { dataset: 'care_periods', key: 'care_period', name: 'care_period_name' },
    order: 'code',
    tier: 'extended',
  },
} as const satisfies Record<string, DimensionDeclaration>

export const FACTS = {
  outpatient_production: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: [
      'state',
      'municipality',
      'region',
      'health_region',
      'health_macroregion',
      'facility',
      'reference_period',
      ...COARSE_PERIODS,
      'care_period',
      'procedure_group',
      'procedure_subgroup',
      'procedure_form',
      'procedure',
      'complexity',
      'financing_kind',
    ],
  },
} as const satisfies Record<OutpatientTable, Fact>
