/**
 * Plans the statements that select the published rows behind a record's values. Pure. Besides the rows of the record, they select the rows
 * of its facility, of its names, of its codes and of its municipality. For a facility they also select the rows that decide whether it has
 * beds, equipment or services.
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

/** The code list that names an attribute, and the fields that hold its code. */
export interface NamedCode {
  readonly list: string
  readonly codes: readonly FieldName[]
  /** Column of the text in the national base, for lists of releases made before v1.2.0. */
  readonly column: string
}

const namedBy = (list: string, column: string, ...codes: FieldName[]): NamedCode => ({ list, codes, column })

export const NAMED_CODES: Readonly<Record<string, NamedCode>> = {
  facility_type_name: namedBy('facility_types', 'DS_TIPO_UNIDADE', 'facility_type_code'),
  legal_nature_name: namedBy('legal_natures', 'DS_NATUREZA_JUR', 'legal_nature_code'),
  deactivation_reason_name: namedBy('deactivation_reasons', 'DS_MOTIVO_DESAB', 'deactivation_reason_code'),
  opening_hours_name: namedBy('opening_hours', 'DS_TURNO_ATENDIMENTO', 'opening_hours_code'),
  management_type_name: namedBy('management_types', 'DS_GESTAO', 'management_type'),
  activity_name: namedBy('activities', 'DS_ATIVIDADE', 'activity_code'),
  client_flow_name: namedBy('client_flows', 'DS_CLIENTELA', 'client_flow_code'),
  establishment_type_name: namedBy(
    'establishment_types',
    'DS_TIPO_ESTABELECIMENTO',
    'establishment_type_code',
  ),
  main_activity_name: namedBy('main_activities', 'DS_ATIVIDADE', 'main_activity_code'),
  coverage_type_name: namedBy('coverage_types', 'DS_ABRANGENCIA', 'coverage_type_code'),
  administrative_region_name: namedBy('administrative_regions', 'NO_MUNICIPIO', 'administrative_region_code'),
  state_name: namedBy('registry_states', 'NO_DESCRICAO', 'uf'),
  maintainer_name: namedBy('maintainers', 'NO_RAZAO_SOCIAL', 'maintainer_cnpj'),
  bed_type_name: namedBy('bed_types', 'DS_LEITO', 'bed_type_code'),
  bed_category_name: namedBy('bed_categories', 'DS_TIPO_LEITO', 'bed_category_code'),
  equipment_name: namedBy('equipment_types', 'DS_EQUIPAMENTO', 'category_code', 'equipment_code'),
  renem_code: namedBy('equipment_types', 'CO_RENEM', 'category_code', 'equipment_code'),
  category_name: namedBy('equipment_categories', 'DS_TIPO_EQUIPAMENTO', 'category_code'),
  service_name: namedBy('specialized_service_types', 'DS_SERVICO_ESPECIALIZADO', 'service_code'),
  classification_name: namedBy(
    'specialized_service_classifications',
    'DS_CLASSIFICACAO_SERVICO',
    'service_code',
    'classification_code',
  ),
}

export const fieldsOf = (dataset: TracedDataset): FieldName[] => [
  ...datasetOf(dataset).fields,
  ...(datasetOf(dataset).detail ?? []),
]

function holdsTable(view: ReleaseView, name: string, period: number | null): boolean {
  const entry = (view.components.cnes ?? null)?.datasets[name]
  return entry !== undefined && (period === null || entry.periods.includes(period))
}

const matchKey = (key: Readonly<Record<string, string | number>>): Sql =>
  join(
    Object.entries(key).map(([column, value]) => sql`${ident(column)} = ${value}`),
    ' AND ',
  )

/** @returns statements named for their rows: published, facility, names, codes, list:<attribute>, municipality, <fact> */
export function planProvenance(
  dataset: TracedDataset,
  key: Readonly<Record<string, string | number>>,
  record: Row,
  period: number,
  view: ReleaseView,
): NamedStatement[] {
  const statements: NamedStatement[] = []
  const add = (name: string, statement: Sql): void => void statements.push({ name, statement })
  const addPublished = (
    name: string,
    tracedDataset: TracedDataset,
    rowKey: Readonly<Record<string, string | number>>,
  ): void => {
    if (holdsTable(view, `${tracedDataset}_provenance`, period))
      add(
        name,
        sql`SELECT * FROM ${table(`${tracedDataset}_provenance`, period)} WHERE ${matchKey(rowKey)} ORDER BY source_file, source_row`,
      )
  }
  const facility = { cnes_code: String(record.cnes_code) }
  addPublished('published', dataset, key)
  if (dataset === 'facilities') for (const fact of FACT_NAMES) addPublished(fact, fact, facility)
  else addPublished('facility', 'facilities', facility)
  if (holdsTable(view, 'facility_names_provenance', null))
    add(
      'names',
      sql`SELECT * FROM ${table('facility_names_provenance')} WHERE ${matchKey(facility)} ORDER BY source_file, source_row`,
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
  const namedAttributes = fieldsOf(dataset).flatMap((attribute) => {
    const found = NAMED_CODES[attribute]
    const codes = found?.codes.map((field) => record[field])
    return found === undefined ||
      codes === undefined ||
      codes.some((code) => code === null || code === undefined)
      ? []
      : [{ attribute, list: found.list, fields: found.codes, codes: codes.map(String) }]
  })
  if (namedAttributes.length === 0) return
  if (holdsTable(view, 'code_names_provenance', period)) {
    const conditions = namedAttributes.map(({ attribute, list, codes }) =>
      matchKey({ dataset: list, code: codes.join(':'), attribute }),
    )
    const anyCode = join(
      conditions.map((one) => sql`(${one})`),
      ' OR ',
    )
    add(
      'codes',
      sql`SELECT * FROM ${table('code_names_provenance', period)} WHERE ${anyCode} ORDER BY attribute`,
    )
    return
  }
  // In releases made before v1.2.0, the list itself holds the source row of each code's newest text.
  for (const { attribute, list, fields, codes } of namedAttributes)
    if (holdsTable(view, list, null)) {
      const listKey = Object.fromEntries(fields.map((field, index) => [field, codes[index] ?? '']))
      add(
        `list:${attribute}`,
        sql`SELECT source_file, source_row, ${ident(attribute)} AS raw_value FROM ${table(list as DatasetName)} WHERE ${matchKey(listKey)}`,
      )
    }
}

function planMunicipality(record: Row, view: ReleaseView, add: (name: string, statement: Sql) => void): void {
  const municipalities = view.components.demography?.datasets.municipalities
  const code = record.municipality_ibge_code
  if (municipalities === undefined || code === null || code === undefined) return
  const hasCell = municipalities.fields.some(({ name }) => name === 'source_column')
  const cell = hasCell
    ? sql`source_column, raw_value`
    : sql`CAST(NULL AS VARCHAR) AS source_column, name AS raw_value`
  add(
    'municipality',
    sql`SELECT source_file, source_row, ${cell} FROM ${table('municipalities')} WHERE ibge_code = ${Number(code)}`,
  )
}
