/** Datasets of the population of municipalities, and the price index. */
import { equals, SOURCE, withinPlaces } from '../declare.ts'
import type { Dataset } from '../types.ts'
import { AGE_GROUPS, POPULATION_TYPES, SEXES } from './code-lists.ts'

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
      ...withinPlaces('municipality_code'),
      reference_year: equals({ year: true }),
      population_type: equals({ list: POPULATION_TYPES }),
    },
    sorts: ['municipality_name', 'uf', 'reference_year', 'population'],
    description: 'Resident population of municipalities: censuses and yearly estimates.',
  },
  population_by_age: {
    name: 'population_by_age',
    area: 'demography',
    periodic: false,
    key: ['municipality_code', 'reference_year', 'sex', 'age_group'],
    fields: [
      'municipality_code',
      'municipality_name',
      'uf',
      'reference_year',
      'sex',
      'age_group',
      'population',
    ],
    internal: ['source_file', 'source_cells'],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      municipality: { kind: 'municipality', column: 'municipality_code' },
      ...withinPlaces('municipality_code'),
      reference_year: equals({ year: true }),
      sex: equals({ list: Object.keys(SEXES) }),
      age_group: equals({ list: AGE_GROUPS }),
    },
    sorts: ['municipality_name', 'uf', 'reference_year', 'sex', 'age_group', 'population'],
    description:
      'Resident population of municipalities by sex and age group, 1 July: estimates of the Ministry of Health (POPSBR), another source than censuses and the estimates of IBGE.',
  },
  price_index: {
    name: 'price_index',
    area: 'demography',
    periodic: false,
    key: ['index_month'],
    fields: ['index_month', 'index_value'],
    internal: [...SOURCE, 'source_column', 'raw_value'],
    description:
      'Monthly index of consumer prices (IPCA, IBGE, SIDRA table 1737), with which values in reais of different months are compared.',
  },
} as const satisfies Record<string, Dataset>
