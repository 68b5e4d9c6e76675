/**
 * Describes how a facility's municipality was determined when the published code alone does not tell: by the line of DATASUS's table that
 * maps an old code, or by the cells that name the state of a facility without a code. Pure.
 */
import type { JsonValue, Row } from '../../engine/types.ts'
import { both } from '../../model/declare.ts'
import { RULES } from '../../model/rules.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Text } from '../../model/types.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { ProvenanceEntry } from './provenance.ts'
import { sourceOf } from './published-sources.ts'

const STATE_CODES: ReadonlySet<string> = new Set(STATES.map(({ ibge_code }) => String(ibge_code)))
/** Position of the label in a line of br_municip.cnv, in characters as an editor counts them. */
const LABEL_COLUMN = 'characters 10–59'

/**
 * @param row published cells of the facility
 * @param municipality the record's code
 * @returns no entries when the municipality list has the published code, or the code names the state of an unknown municipality
 */
export function describeMunicipality(
  row: Row,
  municipality: JsonValue,
  view: ReleaseView,
): readonly ProvenanceEntry[] {
  const entry = (
    value: JsonValue | undefined,
    rule: Text,
    source: ProvenanceEntry['source'],
  ): ProvenanceEntry => ({
    attribute: 'municipality_ibge_code',
    value: municipality,
    raw_value: value === null || value === undefined ? null : String(value),
    rule,
    source,
  })
  if (row.old_code_row !== null && row.old_code_row !== undefined) {
    const location = { source_file: row.old_code_file ?? null, source_row: row.old_code_row }
    return [
      entry(
        row.old_code_label,
        both(
          'o rótulo sob o qual a tabela traz o código publicado; começa com o código de hoje',
          'the label under which the table has the published code; it begins with the code of today',
        ),
        sourceOf(view, location, LABEL_COLUMN),
      ),
    ]
  }
  const cellOf = (column: string): string => String(row[column] ?? '').trim()
  const code = cellOf('CO_MUNICIPIO_GESTOR')
  const hasState = /^\d{6,7}$/.test(code) && STATE_CODES.has(code.slice(0, 2))
  // Releases made before this rule lack the column of the managing state.
  if (hasState || !('CO_ESTADO_GESTOR' in row)) return []
  const columns = STATE_CODES.has(cellOf('CO_ESTADO_GESTOR'))
    ? ['CO_ESTADO_GESTOR']
    : ['CO_ESTADO_GESTOR', 'CO_UNIDADE']
  return columns.map((column) => entry(row[column], RULES.managing_state, sourceOf(view, row, column)))
}
