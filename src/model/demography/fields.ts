/** Columns of the population of municipalities. Values only. */
import { code, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  municipality_code: code('IBGE code of the municipality, 7 digits, as text.'),
  reference_year: { type: 'integer', unit: 'year', description: 'Year that the figures refer to.' },
  population_type: code('CENSUS_POPULATION or ESTIMATED_POPULATION.'),
  population: {
    ...quantity('inhabitants', 'Resident population; null where the imported file lacks the municipality.'),
    nullable: true,
  },

  sex: code('F female or M male.'),
  age_group: code('Age in completed years, in groups of five: 00-04 to 75-79, and 80+.'),

  index_month: { type: 'integer', unit: 'YYYYMM', description: 'Month of the price index, YYYYMM.' },
  index_value: {
    type: 'index',
    unit: 'index, December 1993 = 100',
    description: 'Index number of consumer prices (IPCA) as published.',
  },

  // Provenance columns, never shown.
  source_column: { type: 'string', nullable: true, description: 'Column of the published file.' },
  source_cells: {
    type: 'cells',
    description: 'The published cells that were added up, one a year of age.',
  },
  raw_value: { type: 'string', nullable: true, description: 'The published cell.' },
} as const satisfies Record<string, Field>
