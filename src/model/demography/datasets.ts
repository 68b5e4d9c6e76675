/** The population of municipalities. */
import { equals, SOURCE } from '../declare.ts'
import type { Dataset } from '../types.ts'
import { POPULATION_TYPES } from './code-lists.ts'

export const DATASETS = {
  population: {
    name: 'population',
    area: 'demography',
    periodic: false,
    key: ['municipality_code', 'reference_year', 'population_type'],
    fields: [
      'municipality_code',
      'municipality_name',
      'uf',
      'reference_year',
      'population_type',
      'population',
    ],
    internal: [...SOURCE, 'source_column', 'raw_value'],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      municipality: { kind: 'municipality', column: 'municipality_code' },
      reference_year: equals({ year: true }),
      population_type: equals({ list: POPULATION_TYPES }),
    },
    description: 'Resident population of municipalities: censuses and yearly estimates.',
  },
} as const satisfies Record<string, Dataset>
