/** Columns of states and municipalities, and of the territory that facts repeat. Values only. */
import { code, name, optionalCode, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  uf: { type: 'string', description: 'Two-letter abbreviation of the state.' },
  state_ibge_code: { type: 'integer', description: 'IBGE code of the state, 2 digits.' },
  state_name: { type: 'string', description: 'Name of the state.' },
  region_code: { type: 'integer', description: 'IBGE code of the major region, 1 to 5.' },
  region_name: { type: 'string', description: 'Name of the major region.' },
  ibge_code: { type: 'integer', description: 'IBGE code: 2 digits for a state, 7 for a municipality.' },
  name: { type: 'string', description: 'Official name.' },
  municipality_count: quantity('municipalities', 'Municipalities of the place.'),
  territorial_type: code(
    'MUNICIPALITY, ADMINISTRATIVE_REGION (Federal District, as CNES codes them) or IGNORED (municipality not known).',
  ),
  municipality_name: name('Name of the managing municipality.'),
  health_region_code: optionalCode(
    'Health region of the municipality, 5 digits: 2 of the state and 3. Null without a territorial source.',
  ),
  health_region_name: name('Name of the health region, as the edition publishes it.'),
  health_macroregion_code: optionalCode(
    'Health macro-region of the municipality, 4 digits: 2 of the state and 2. Null without a territorial source.',
  ),
  health_macroregion_name: name('Name of the health macro-region, as the edition publishes it.'),
  health_macroregion_codes: {
    type: 'codes',
    description: 'Macro-regions that municipalities of the health region lie in: mostly one, sometimes two.',
  },
  territory_edition: optionalCode(
    'Edition of the territorial base that the health regions come from: one for the whole release.',
  ),

  // Columns for the engine and for provenance, never shown.
  search_text: { type: 'string', description: 'Names in lower case without accents.' },
  source_file: {
    type: 'string',
    nullable: true,
    description: 'Published file the row came from; null for built-in code lists.',
  },
  source_row: { type: 'integer', nullable: true, description: 'Row of the published file, header = 1.' },
} as const satisfies Record<string, Field>
