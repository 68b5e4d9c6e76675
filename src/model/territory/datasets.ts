/** Datasets of states, municipalities and health regions. Releases of demography hold them with the population. */
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
      'health_region_code',
      'health_region_name',
      'health_macroregion_code',
      'health_macroregion_name',
      'territory_edition',
    ],
    internal: ['search_text', ...SOURCE, 'source_column', 'raw_value'],
    filters: {
      state: { kind: 'equals', column: 'uf', values: { uf: true } },
      search: { kind: 'search', codes: 'ibge_code', text: 'search_text' },
      territorial_type: equals({ list: TERRITORIAL_TYPES }),
      region_code: equals({ region: true }),
      health_region_code: equals({ digits: 5 }),
      health_macroregion_code: equals({ digits: 4 }),
    },
    sorts: ['name', 'uf'],
    description:
      'Municipalities, administrative regions of the Federal District, and the ignored municipality of each state.',
  },
  health_regions: {
    name: 'health_regions',
    area: 'demography',
    periodic: false,
    key: ['health_region_code'],
    fields: [
      'health_region_code',
      'health_region_name',
      'uf',
      'health_macroregion_codes',
      'municipality_count',
      'territory_edition',
    ],
    internal: ['search_text', ...SOURCE],
    filters: {
      uf: equals({ uf: true }),
      search: { kind: 'search', codes: 'health_region_code', text: 'search_text' },
    },
    sorts: ['health_region_name', 'uf', 'municipality_count'],
    description: 'Health regions that have municipalities, by one edition of the territorial base.',
  },
  health_macroregions: {
    name: 'health_macroregions',
    area: 'demography',
    periodic: false,
    key: ['health_macroregion_code'],
    fields: [
      'health_macroregion_code',
      'health_macroregion_name',
      'uf',
      'municipality_count',
      'territory_edition',
    ],
    internal: ['search_text', ...SOURCE],
    filters: {
      uf: equals({ uf: true }),
      search: { kind: 'search', codes: 'health_macroregion_code', text: 'search_text' },
    },
    sorts: ['health_macroregion_name', 'uf', 'municipality_count'],
    description: 'Health macro-regions that have municipalities, by one edition of the territorial base.',
  },
} as const satisfies Record<string, Dataset>
