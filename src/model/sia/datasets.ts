/** Datasets of outpatient production of SUS, and the list of its months of care. */
import { codeList, equals, withinPlaces } from '../declare.ts'
import { COMPLEXITIES, FINANCING_KINDS } from '../sih/code-lists.ts'
import type { Dataset } from '../types.ts'
import { INSTRUMENTS } from './code-lists.ts'

export const DATASETS = {
  outpatient_production: {
    name: 'outpatient_production',
    area: 'sia',
    periodic: true,
    // The key includes the file part, because a state's month can have several files. Files before 2008 name no facility.
    key: [
      'care_period',
      'cnes_code',
      'procedure_code',
      'financing_code',
      'complexity_code',
      'instrument_code',
      'municipality_ibge_code',
      'processing_uf',
      'file_part',
    ],
    fields: [
      'reference_period',
      'care_period',
      'cnes_code',
      'uf',
      'municipality_ibge_code',
      'municipality_name',
      'procedure_code',
      'procedure_group_code',
      'procedure_subgroup_code',
      'procedure_form_code',
      'financing_code',
      'complexity_code',
      'instrument_code',
      'processing_uf',
      'file_part',
      'records',
      'quantity_presented',
      'quantity_approved',
      'value_presented_cents',
      'value_approved_cents',
      'source_file',
      'source_sha256',
      'source_rows',
    ],
    filters: {
      uf: equals({ uf: true }),
      municipality_ibge_code: { kind: 'municipality', column: 'municipality_ibge_code' },
      ...withinPlaces('municipality_ibge_code'),
      cnes_code: equals({ digits: 7 }),
      procedure_code: { kind: 'prefix', column: 'procedure_code', digits: 10 },
      care_period: equals({ month: true }),
      financing_code: equals({ list: Object.keys(FINANCING_KINDS) }),
      complexity_code: equals({ list: Object.keys(COMPLEXITIES) }),
      instrument_code: equals({ list: Object.keys(INSTRUMENTS) }),
    },
    sorts: ['uf', 'municipality_name', 'quantity_approved', 'value_approved_cents'],
    description:
      'Outpatient production presented to SUS by processing month, month of care, facility, procedure, financing, complexity and instrument, added up from the monthly files by state (PA), of which a large state has several parts.',
  },
  care_periods: {
    ...codeList('care_periods', ['care_period'], ['care_period_name'], 'Months of care of the production.'),
    area: 'sia',
  },
} as const satisfies Record<string, Dataset>

export const OUTPATIENT_TABLES = ['outpatient_production'] as const
export type OutpatientTable = (typeof OUTPATIENT_TABLES)[number]
