/**
 * Declares the code lists of a release: the source table in the national base, the rules that parse its cells, and the
 * list from model/cnes/codes that replaces a missing table.
 */
import * as codes from '../../model/cnes/codes/index.ts'
import type { DatasetName } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import type { RuleName } from '../../model/rules.ts'
import { STATES } from '../../model/territory/states.ts'

/** A field, its parsing rule, and its published columns. The first column that has a value is used. */
export interface CatalogColumn {
  readonly field: FieldName
  readonly rule: RuleName
  readonly columns: readonly string[]
}

export interface Catalog {
  readonly dataset: DatasetName
  readonly table: string
  readonly key: readonly CatalogColumn[]
  readonly values: readonly CatalogColumn[]
  /** Rows with the key columns first, then the values. An empty cell means null. */
  readonly builtIn: readonly (readonly string[])[]
}

type Columns = Readonly<Partial<Record<FieldName, readonly [rule: RuleName, ...columns: string[]]>>>

const columnsOf = (declared: Columns): CatalogColumn[] =>
  Object.entries(declared).map(([field, [rule, ...columns]]) => ({
    field: field as FieldName,
    rule,
    columns,
  }))

const catalog = (
  dataset: DatasetName,
  table: string,
  key: Columns,
  values: Columns,
  builtIn: Catalog['builtIn'] = [],
): Catalog => ({ dataset, table, key: columnsOf(key), values: columnsOf(values), builtIn })

export const CATALOGS: readonly Catalog[] = [
  catalog(
    'facility_types',
    'tbTipoUnidade',
    { facility_type_code: ['code2', 'CO_TIPO_UNIDADE'] },
    { facility_type_name: ['text', 'DS_TIPO_UNIDADE'] },
    codes.FACILITY_TYPES,
  ),
  catalog(
    'legal_natures',
    'tbNaturezaJuridica',
    { legal_nature_code: ['code4', 'CO_NATUREZA_JUR'] },
    { legal_nature_name: ['text', 'DS_NATUREZA_JUR'] },
    codes.LEGAL_NATURES,
  ),
  catalog(
    'deactivation_reasons',
    'tbMotivoDesativacao',
    { deactivation_reason_code: ['code2', 'CO_MOTIVO_DESAB', 'CD_MOTIVO_DESAB'] },
    { deactivation_reason_name: ['text', 'DS_MOTIVO_DESAB'] },
    codes.DEACTIVATION_REASONS,
  ),
  catalog(
    'opening_hours',
    'tbTurnoAtendimento',
    { opening_hours_code: ['code2', 'CO_TURNO_ATENDIMENTO'] },
    { opening_hours_name: ['text', 'DS_TURNO_ATENDIMENTO'] },
    codes.OPENING_HOURS,
  ),
  catalog(
    'management_types',
    'tbGestao',
    { management_type: ['management', 'CO_GESTAO'] },
    { management_type_name: ['text', 'DS_GESTAO'] },
    codes.MANAGEMENT_TYPES,
  ),
  catalog(
    'activities',
    'tbAtividadeEnsino',
    { activity_code: ['code2', 'CO_ATIVIDADE'] },
    { activity_name: ['text', 'DS_ATIVIDADE'] },
    codes.ACTIVITIES,
  ),
  catalog(
    'client_flows',
    'tbFluxoDadosClientela',
    { client_flow_code: ['code2', 'CO_CLIENTELA'] },
    { client_flow_name: ['text', 'DS_CLIENTELA'] },
    codes.CLIENT_FLOWS,
  ),
  catalog(
    'establishment_types',
    'tbTipoEstabelecimento',
    { establishment_type_code: ['code3', 'CO_TIPO_ESTABELECIMENTO'] },
    { establishment_type_name: ['text', 'DS_TIPO_ESTABELECIMENTO'] },
  ),
  catalog(
    'main_activities',
    'tbAtividade',
    { main_activity_code: ['code3', 'CO_ATIVIDADE'] },
    { main_activity_name: ['text', 'DS_ATIVIDADE'] },
  ),
  catalog(
    'coverage_types',
    'tbTipoAbrangencia',
    { coverage_type_code: ['code2', 'CO_TIPO_ABRANGENCIA'] },
    { coverage_type_name: ['text', 'DS_ABRANGENCIA'] },
  ),
  catalog(
    'facility_subtypes',
    'tbSubTipo',
    {
      facility_type_code: ['code2', 'CO_TIPO_UNIDADE'],
      facility_subtype_code: ['code3', 'CO_SUB_TIPO'],
    },
    { facility_subtype_name: ['text', 'DS_SUB_TIPO'] },
  ),
  catalog(
    'administrative_regions',
    'tbMunicipio',
    { administrative_region_code: ['federal_district_region', 'CO_MUNICIPIO'] },
    { administrative_region_name: ['text', 'NO_MUNICIPIO'] },
    codes.ADMINISTRATIVE_REGIONS,
  ),
  catalog(
    'registry_states',
    'tbEstado',
    { uf: ['text', 'CO_SIGLA'] },
    { state_name: ['text', 'NO_DESCRICAO'] },
    STATES.map(({ uf, name }) => [uf, name]),
  ),
  catalog(
    'bed_categories',
    'tbTipoLeito',
    { bed_category_code: ['code1', 'CO_TIPO_LEITO'] },
    { bed_category_name: ['text', 'DS_TIPO_LEITO'] },
    codes.BED_CATEGORIES,
  ),
  catalog(
    'bed_types',
    'tbLeito',
    { bed_type_code: ['code2', 'CO_LEITO'] },
    {
      bed_type_name: ['text', 'DS_LEITO'],
      bed_category_code: ['code1', 'TP_LEITO', 'CO_TIPO_LEITO'],
    },
    codes.BED_TYPES,
  ),
  catalog(
    'equipment_categories',
    'tbTipoEquipamento',
    { category_code: ['code2', 'CO_TIPO_EQUIPAMENTO'] },
    { category_name: ['text', 'DS_TIPO_EQUIPAMENTO'] },
    codes.EQUIPMENT_CATEGORIES,
  ),
  catalog(
    'equipment_types',
    'tbEquipamento',
    { category_code: ['code2', 'CO_TIPO_EQUIPAMENTO'], equipment_code: ['code2', 'CO_EQUIPAMENTO'] },
    { equipment_name: ['text', 'DS_EQUIPAMENTO'], renem_code: ['text', 'CO_RENEM'] },
    codes.EQUIPMENT_TYPES,
  ),
  catalog(
    'specialized_service_types',
    'tbServicoEspecializado',
    { service_code: ['code3', 'CO_SERVICO_ESPECIALIZADO'] },
    { service_name: ['text', 'DS_SERVICO_ESPECIALIZADO'] },
    codes.SERVICE_TYPES,
  ),
  catalog(
    'specialized_service_classifications',
    'tbClassificacaoServico',
    {
      service_code: ['code3', 'CO_SERVICO_ESPECIALIZADO'],
      classification_code: ['code3', 'CO_CLASSIFICACAO_SERVICO'],
    },
    { classification_name: ['text', 'DS_CLASSIFICACAO_SERVICO'] },
    codes.SERVICE_CLASSIFICATIONS,
  ),
]

/** Built-in lists of the service codes that were valid until February 2008. */
export const OLD_SERVICES: Readonly<Partial<Record<DatasetName, Catalog['builtIn']>>> = {
  specialized_service_types: codes.SERVICE_TYPES_BEFORE_200803,
  specialized_service_classifications: codes.SERVICE_CLASSIFICATIONS_BEFORE_200803,
}

/** First month (YYYYMM) with today's service codes. */
export const NEW_SERVICES_FROM = 200803

export const catalogOf = (dataset: DatasetName): Catalog => {
  const found = CATALOGS.find((candidate) => candidate.dataset === dataset)
  if (found === undefined) throw new TypeError(`${dataset} is no code list`)
  return found
}
