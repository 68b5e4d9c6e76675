/** Territories: the dimensions that facts of every area share, and those that follow from a fact's state or municipality. */
import type { DimensionDeclaration } from '../types.ts'
import { REGIONS } from './states.ts'

const REGION_NAMES_EN: Readonly<Record<string, string>> = {
  1: 'North',
  2: 'Northeast',
  3: 'Southeast',
  4: 'South',
  5: 'Central-West',
}

export const DIMENSIONS = {
  state: {
    label: 'Unidade da Federação',
    label_en: 'State',
    column: 'uf',
    member: { dataset: 'states', key: 'uf', name: 'name' },
    order: 'name',
  },
  municipality: {
    label: 'Município',
    label_en: 'Municipality',
    column: 'municipality_ibge_code',
    integer: true,
    member: { dataset: 'municipalities', key: 'ibge_code', name: 'name' },
    order: 'name',
  },
  region: {
    label: 'Grande região',
    label_en: 'Major region',
    column: 'region_code',
    integer: true,
    member: null,
    labels: Object.fromEntries(
      Object.entries(REGIONS).map(([code, pt]) => [code, { pt, en: REGION_NAMES_EN[code] ?? pt }]),
    ),
    order: 'code',
    derivedFrom: 'state',
    tier: 'extended',
  },
  health_region: {
    label: 'Região de saúde',
    label_en: 'Health region',
    column: 'health_region_code',
    member: { dataset: 'health_regions', key: 'health_region_code', name: 'health_region_name' },
    order: 'name',
    derivedFrom: 'municipality',
    tier: 'extended',
  },
  health_macroregion: {
    label: 'Macrorregião de saúde',
    label_en: 'Health macro-region',
    column: 'health_macroregion_code',
    member: {
      dataset: 'health_macroregions',
      key: 'health_macroregion_code',
      name: 'health_macroregion_name',
    },
    order: 'name',
    derivedFrom: 'municipality',
    tier: 'extended',
  },
} as const satisfies Record<string, DimensionDeclaration>
