/** Outlines of municipalities: the mesh that maps are drawn from. Values only. */
import { name, SOURCE } from '../declare.ts'
import type { Dataset, Field } from '../types.ts'

/** Grid steps per degree. One step is about 111 m. */
export const GRID = 1000

/** Levels that outlines are available for. All but the first are merges of municipalities. */
export const OUTLINE_LEVELS = [
  'municipality',
  'health_region',
  'health_macroregion',
  'state',
  'region',
] as const
export type OutlineLevel = (typeof OUTLINE_LEVELS)[number]

export const FIELDS = {
  west: { type: 'coordinate', unit: 'degrees', description: 'Westernmost longitude.' },
  south: { type: 'coordinate', unit: 'degrees', description: 'Southernmost latitude.' },
  east: { type: 'coordinate', unit: 'degrees', description: 'Easternmost longitude.' },
  north: { type: 'coordinate', unit: 'degrees', description: 'Northernmost latitude.' },
  geometry: { type: 'string', description: 'Simplified outline: a GeoJSON MultiPolygon, SIRGAS 2000.' },
  rings: name('Arcs of each ring of each polygon, as TopoJSON numbers them.'),
  arc: { type: 'integer', description: 'Number of a line between two places where borders meet.' },
  points: {
    type: 'string',
    description: 'Its points as TopoJSON writes them: the first, then steps, in thousandths of a degree.',
  },
} as const satisfies Record<string, Field>

export const DATASETS = {
  municipality_outlines: {
    name: 'municipality_outlines',
    area: 'demography',
    periodic: false,
    key: ['ibge_code'],
    fields: ['ibge_code', 'name', 'uf', 'west', 'south', 'east', 'north', 'geometry'],
    internal: ['rings', ...SOURCE, 'source_column'],
    description: 'Simplified outlines of municipalities, of the municipal mesh of IBGE.',
  },
  outline_arcs: {
    name: 'outline_arcs',
    area: 'demography',
    periodic: false,
    key: ['arc'],
    fields: ['arc', 'points'],
    description: 'The lines that outlines are made of; neighbours share those between them.',
  },
} as const satisfies Record<string, Dataset>
