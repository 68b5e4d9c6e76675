/**
 * Which rows of a release tell where a record's values come from: one statement each. Pure.
 *
 * Beside the published rows of the record itself: those of its facility, those that name it, the rows of code tables that name
 * its codes, the municipality list, and of a facility the rows that decide whether it has beds, equipment, services.
 */
import type { Row } from '../../engine/types.ts'
import { FACT_NAMES, type FactName } from '../../model/cnes/lineage.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import type { ReleaseView } from '../../release/view.ts'
import { ident, join, type Sql, sql, table } from '../../sql.ts'

export type TracedDataset = 'facilities' | FactName

export interface NamedStatement {
  readonly name: string
  readonly statement: Sql
}

/** Name of an attribute → the code list that names it, the fields that hold the code, and the published column of the text. */
export interface NamedCode {
  readonly list: string
  readonly codes: readonly FieldName[]
  /** In the national base: where the list of a release made before v1.2.0 was read. */
  readonly column: string
}

const named = (list: string, column: string, ...codes: FieldName[]): NamedCode => ({ list, codes, column })

export const NAMED_CODES: Readonly<Record<string, NamedCode>> = {
  facility_type_name: named('facility_types', 'DS_TIPO_UNIDADE', 'facility_type_code'),
  legal_nature_name: named('legal_natures', 'DS_NATUREZA_JUR', 'legal_nature_code'),
  deactivation_reason_name: named('deactivation_reasons', 'DS_MOTIVO_DESAB', 'deactivation_reason_code'),
  opening_hours_name: named('opening_hours', 'DS_TURNO_ATENDIMENTO', 'opening_hours_code'),
  management_type_name: named('management_types', 'DS_GESTAO', 'management_type'),
  activity_name: named('activities', 'DS_ATIVIDADE', 'activity_code'),
  client_flow_name: named('client_flows', 'DS_CLIENTELA', 'client_flow_code'),
  establishment_type_name: named('establishment_types', 'DS_TIPO_ESTABELECIMENTO', 'establishment_type_code'),
  main_activity_name: named('main_activities', 'DS_ATIVIDADE', 'main_activity_code'),
  coverage_type_name: named('coverage_types', 'DS_ABRANGENCIA', 'coverage_type_code'),
  administrative_region_name: named('administrative_regions', 'NO_MUNICIPIO', 'administrative_region_code'),
  state_name: named('registry_states', 'NO_DESCRICAO', 'uf'),
  maintainer_name: named('maintainers', 'NO_RAZAO_SOCIAL', 'maintainer_cnpj'),
  bed_type_name: named('bed_types', 'DS_LEITO', 'bed_type_code'),
  bed_category_name: named('bed_categories', 'DS_TIPO_LEITO', 'bed_category_code'),
  equipment_name: named('equipment_types', 'DS_EQUIPAMENTO', 'category_code', 'equipment_code'),
  renem_code: named('equipment_types', 'CO_RENEM', 'category_code', 'equipment_code'),
  category_name: named('equipment_categories', 'DS_TIPO_EQUIPAMENTO', 'category_code'),
  service_name: named('specialized_service_types', 'DS_SERVICO_ESPECIALIZADO', 'service_code'),
  classification_name: named(
    'specialized_service_classifications',
    'DS_CLASSIFICACAO_SERVICO',
    'service_code',
    'classification_code',
  ),
}

/** Every field of a record. */
export const fieldsOf = (dataset: TracedDataset): FieldName[] => [
  ...datasetOf(dataset).fields,
  ...(datasetOf(dataset).detail ?? []),
]

/** Does the release hold a table, and of the period, where tables have periods? */
function holdsTable(view: ReleaseView, name: string, period: number | null): boolean {
  const entry = (view.components.cnes ?? null)?.datasets[name]
  return entry !== undefined && (period === null || entry.periods.includes(period))
}

const where = (key: Readonly<Record<string, string | number>>): Sql =>
  join(
    Object.entries(key).map(([column, value]) => sql`${ident(column)} = ${value}`),
    ' AND ',
  )

/** @returns statements by what their rows are: published, facility, names, codes, list:<attribute>, municipality, <fact> */
export function planProvenance(
  dataset: TracedDataset,
  key: Readonly<Record<string, string | number>>,
  record: Row,
  period: number,
  view: ReleaseView,
): NamedStatement[] {
  const statements: NamedStatement[] = []
  const add = (name: string, statement: Sql): void => void statements.push({ name, statement })
  const published = (
    name: string,
    of: TracedDataset,
    rowKey: Readonly<Record<string, string | number>>,
  ): void => {
    if (holdsTable(view, `${of}_provenance`, period))
      add(
        name,
        sql`SELECT * FROM ${table(`${of}_provenance`, period)} WHERE ${where(rowKey)} ORDER BY source_file, source_row`,
      )
  }
  const facility = { cnes_code: String(record.cnes_code) }
  published('published', dataset, key)
  if (dataset === 'facilities') for (const fact of FACT_NAMES) published(fact, fact, facility)
  else published('facility', 'facilities', facility)
  if (holdsTable(view, 'facility_names_provenance', null))
    add(
      'names',
      sql`SELECT * FROM ${table('facility_names_provenance')} WHERE ${where(facility)} ORDER BY source_file, source_row`,
    )
  planNames(dataset, record, period, view, add)
  planMunicipality(record, view, add)
  return statements
}

function planNames(
  dataset: TracedDataset,
  record: Row,
  period: number,
  view: ReleaseView,
  add: (name: string, statement: Sql) => void,
): void {
  const wanted = fieldsOf(dataset).flatMap((attribute) => {
    const found = NAMED_CODES[attribute]
    const codes = found?.codes.map((field) => record[field])
    return found === undefined ||
      codes === undefined ||
      codes.some((code) => code === null || code === undefined)
      ? []
      : [{ attribute, list: found.list, fields: found.codes, codes: codes.map(String) }]
  })
  if (wanted.length === 0) return
  if (holdsTable(view, 'code_names_provenance', period)) {
    const each = wanted.map(({ attribute, list, codes }) =>
      where({ dataset: list, code: codes.join(':'), attribute }),
    )
    const any = join(
      each.map((one) => sql`(${one})`),
      ' OR ',
    )
    add('codes', sql`SELECT * FROM ${table('code_names_provenance', period)} WHERE ${any} ORDER BY attribute`)
    return
  }
  // Releases made before v1.2.0 have the place of each code's newest text in the list itself.
  for (const { attribute, list, fields, codes } of wanted)
    if (holdsTable(view, list, null)) {
      const own = Object.fromEntries(fields.map((field, index) => [field, codes[index] ?? '']))
      add(
        `list:${attribute}`,
        sql`SELECT source_file, source_row, ${ident(attribute)} AS raw_value FROM ${table(list as DatasetName)} WHERE ${where(own)}`,
      )
    }
}

function planMunicipality(record: Row, view: ReleaseView, add: (name: string, statement: Sql) => void): void {
  const places = view.components.demography?.datasets.municipalities
  const code = record.municipality_ibge_code
  if (places === undefined || code === null || code === undefined) return
  const hasCell = places.fields.some(({ name }) => name === 'source_column')
  const cell = hasCell
    ? sql`source_column, raw_value`
    : sql`CAST(NULL AS VARCHAR) AS source_column, name AS raw_value`
  add(
    'municipality',
    sql`SELECT source_file, source_row, ${cell} FROM ${table('municipalities')} WHERE ibge_code = ${Number(code)}`,
  )
}
