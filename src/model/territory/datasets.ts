/** States and municipalities. Releases carry them with the population. */
import { equals, SOURCE } from '../declare.ts'
import type { Dataset } from '../types.ts'
import { TERRITORIAL_TYPES } from './states.ts'

export const DATASETS = {
  states: {
    name: 'states',
    area: 'demography',
    periodic: false,
    key: ['ibge_code'],
    fields: ['ibge_code', 'uf', 'name', 'region_code', 'region_name', 'municipality_count'],
    description: 'The 27 federative units.',
    catalogSize: 27,
  },
  municipalities: {
    name: 'municipalities',
    area: 'demography',
    periodic: false,
    key: ['ibge_code'],
    fields: [
      'ibge_code',
      'name',
      'uf',
      'state_ibge_code',
      'state_name',
      'region_code',
      'region_name',
      'territorial_type',
    ],
    internal: ['search_text', ...SOURCE],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      search: { kind: 'search', codes: 'ibge_code', text: 'search_text' },
      territorial_type: equals({ list: TERRITORIAL_TYPES }),
    },
    description:
      'Municipalities, administrative regions of the Federal District, and the ignored municipality of each state.',
  },
} as const satisfies Record<string, Dataset>
