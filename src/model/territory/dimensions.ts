/** Places: the dimensions that facts of every area share. */
import type { DimensionDeclaration } from '../types.ts'

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
} as const satisfies Record<string, DimensionDeclaration>
