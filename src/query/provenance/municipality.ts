/**
 * What the published cell of a municipality code does not tell of a facility's municipality: the line of DATASUS's table that
 * maps an old code, or the cells that name the state of a facility without a code. Pure.
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
/** The label's place in a line of br_municip.cnv, as an editor counts characters. */
const LABEL_COLUMN = 'characters 10–59'

/**
 * @param row published cells of the facility
 * @param municipality the record's code
 * @returns none where the code itself is in the municipality list, or names the state of an unknown one
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
    const place = { source_file: row.old_code_file ?? null, source_row: row.old_code_row }
    return [
      entry(
        row.old_code_label,
        both(
          'o rótulo sob o qual a tabela traz o código publicado; começa com o código de hoje',
          'the label under which the table has the published code; it begins with the code of today',
        ),
        sourceOf(view, place, LABEL_COLUMN),
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
