/** The published column and the rule of every attribute of facilities and facts, per family of files. Values only. */
import type { FieldName } from '../fields.ts'
import type { RuleName } from '../rules.ts'
import type { Lineage } from '../types.ts'

/** 'base': the national monthly base (CSV). 'state': monthly files by state (dBase). */
export type Family = 'base' | 'state'

type Attribute =
  | FieldName
  | `address.${string}`
  | 'unit_code'
  | 'municipality6'
  | 'managing_state'
  | 'provider_code'
  | 'address_code'
  | 'quantity_sus_published'

const line = (attribute: Attribute, column: string, rule: RuleName): Lineage => ({ attribute, column, rule })

const STATE_FACILITY: readonly Lineage[] = [
  line('cnes_code', 'CNES', 'code7'),
  line('municipality6', 'CODUFMUN', 'municipality'),
  line('administrative_region_code', 'CODUFMUN', 'federal_district_region'),
  line('facility_type_code', 'TP_UNID', 'code2'),
  line('management_type', 'TPGESTAO', 'management'),
  line('legal_nature_code', 'NAT_JUR', 'code4'),
  line('person_type', 'PF_PJ', 'code1'),
  line('cnpj', 'CPF_CNPJ', 'cnpj'),
  line('maintainer_cnpj', 'CNPJ_MAN', 'cnpj'),
  line('activity_level', 'NIV_DEP', 'code1'),
  line('activity_code', 'ATIVIDAD', 'code2'),
  line('client_flow_code', 'CLIENTEL', 'code2'),
  line('opening_hours_code', 'TURNO_AT', 'code2'),
  line('registry_health_region_code', 'REGSAUDE', 'text'),
]

export const FACILITY_LINEAGE: Readonly<Record<Family, readonly Lineage[]>> = {
  base: [
    line('unit_code', 'CO_UNIDADE', 'text'),
    line('cnes_code', 'CO_CNES', 'code7'),
    line('municipality6', 'CO_MUNICIPIO_GESTOR', 'municipality'),
    line('managing_state', 'CO_ESTADO_GESTOR', 'managing_state'),
    line('administrative_region_code', 'CO_MUNICIPIO_GESTOR', 'federal_district_region'),
    line('legal_name', 'NO_RAZAO_SOCIAL', 'name'),
    line('trade_name', 'NO_FANTASIA', 'name'),
    line('deactivation_reason_code', 'CO_MOTIVO_DESAB', 'code2'),
    line('facility_type_code', 'TP_UNIDADE', 'code2'),
    line('management_type', 'TP_GESTAO', 'management'),
    line('legal_nature_code', 'CO_NATUREZA_JUR', 'code4'),
    line('person_type', 'TP_PFPJ', 'code1'),
    line('cnpj', 'NU_CNPJ', 'cnpj'),
    line('maintainer_cnpj', 'NU_CNPJ_MANTENEDORA', 'cnpj'),
    line('address.street', 'NO_LOGRADOURO', 'name'),
    line('address.number', 'NU_ENDERECO', 'house_number'),
    line('address.complement', 'NO_COMPLEMENTO', 'name'),
    line('address.district', 'NO_BAIRRO', 'name'),
    line('address.postal_code', 'CO_CEP', 'postal_code'),
    line('phone', 'NU_TELEFONE', 'phone'),
    line('latitude', 'NU_LATITUDE', 'coordinate_latitude'),
    line('longitude', 'NU_LONGITUDE', 'coordinate_longitude'),
    line('opening_hours_code', 'CO_TURNO_ATENDIMENTO', 'code2'),
    line('is_always_open', 'TP_ESTAB_SEMPRE_ABERTO', 'yes_no'),
    line('activity_code', 'CO_ATIVIDADE', 'code2'),
    line('activity_level', 'NIVEL_DEP', 'code1'),
    line('client_flow_code', 'CO_CLIENTELA', 'code2'),
    line('registry_health_region_code', 'CO_REGIAO_SAUDE', 'text'),
    line('establishment_type_code', 'CO_TIPO_ESTABELECIMENTO', 'code3'),
    line('main_activity_code', 'CO_ATIVIDADE_PRINCIPAL', 'code3'),
    line('coverage_type_code', 'CO_TIPO_ABRANGENCIA', 'code2'),
    line('has_internet', 'ST_CONEXAO_INTERNET', 'yes_no'),
    line('has_formal_contract', 'ST_CONTRATO_FORMALIZADO', 'yes_no'),
    line('is_coworking', 'ST_COWORKING', 'yes_no'),
    line('source_updated_on', 'DT_ATUALIZACAO', 'date_dmy'),
  ],
  state: [
    ...STATE_FACILITY,
    line('address.postal_code', 'COD_CEP', 'postal_code'),
    line('source_updated_on', 'DT_ATUAL', 'date_ym'),
    line('is_linked_sus', 'VINC_SUS', 'yes_no_1_0'),
  ],
}

/** Attributes that CADGER, a table of names from DATASUS, adds to facilities of files by state. */
export const CADGER_LINEAGE: readonly Lineage[] = [
  line('cnes_code', 'CNES', 'code7'),
  line('legal_name', 'RAZ_SOCI', 'cadger_name'),
  line('trade_name', 'FANTASIA', 'name'),
  line('address.street', 'LOGRADOU', 'name'),
  line('address.number', 'NUM_END', 'house_number'),
  line('address.complement', 'COMPLEME', 'name'),
  line('address.district', 'BAIRRO', 'name'),
]

/** Attributes that the table of facility names adds when CADGER does not name a facility. */
export const FACILITY_NAME_LINEAGE: readonly Lineage[] = [
  line('cnes_code', 'CNES', 'code7'),
  line('trade_name', 'NOMEFANT', 'name'),
]

export type FactName = 'bed_capacity' | 'equipment_inventory' | 'specialized_services'

export const FACT_NAMES: readonly FactName[] = ['bed_capacity', 'equipment_inventory', 'specialized_services']

type Published = readonly [column: string, rule: RuleName]

/** A fact in both families. @param lines the state's column is null when files by state do not publish it */
const fact = (
  ...lines: readonly (readonly [attribute: Attribute, base: Published, state: Published | null])[]
): Readonly<Record<Family, readonly Lineage[]>> => ({
  base: [
    line('unit_code', 'CO_UNIDADE', 'text'),
    ...lines.map(([attribute, base]) => line(attribute, ...base)),
  ],
  state: [
    line('cnes_code', 'CNES', 'code7'),
    ...lines.flatMap(([attribute, , state]) => (state === null ? [] : line(attribute, ...state))),
  ],
})

/** Facts. In files by state, a row also repeats its facility's attributes (STATE_FACILITY above). */
export const FACT_LINEAGE: Readonly<Record<FactName, Readonly<Record<Family, readonly Lineage[]>>>> = {
  bed_capacity: fact(
    ['bed_type_code', ['CO_LEITO', 'code2'], ['CODLEITO', 'code2']],
    ['bed_category_code', ['CO_TIPO_LEITO', 'code1'], ['TP_LEITO', 'code1']],
    ['beds_existing', ['QT_EXIST', 'quantity'], ['QT_EXIST', 'quantity']],
    ['beds_sus', ['QT_SUS', 'quantity'], ['QT_SUS', 'quantity']],
  ),
  equipment_inventory: fact(
    ['category_code', ['CO_TIPO_EQUIPAMENTO', 'code2'], ['TIPEQUIP', 'code2']],
    ['equipment_code', ['CO_EQUIPAMENTO', 'code2'], ['CODEQUIP', 'code2']],
    ['quantity_existing', ['QT_EXISTENTE', 'quantity'], ['QT_EXIST', 'quantity']],
    ['quantity_in_use', ['QT_USO', 'quantity'], ['QT_USO', 'quantity']],
    ['tp_sus_code', ['TP_SUS', 'tp_sus'], ['IND_SUS', 'ind_sus']],
    ['quantity_sus_published', ['QT_SUS', 'quantity_optional'], null],
  ),
  specialized_services: fact(
    ['service_code', ['CO_SERVICO', 'code3'], ['SERV_ESP', 'code3']],
    ['classification_code', ['CO_CLASSIFICACAO', 'code3'], ['CLASS_SR', 'code3']],
    ['characteristic_code', ['TP_CARACTERISTICA', 'characteristic'], ['CARACTER', 'characteristic']],
    ['provider_code', ['CO_CNPJCPF', 'provider'], ['CNESTERC', 'provider']],
    ['has_ambulatory', ['CO_AMBULATORIAL', 'flag_1_2'], ['AMB_NSUS', 'flag_1_0']],
    ['has_ambulatory_sus', ['CO_AMBULATORIAL_SUS', 'flag_1_2'], ['AMB_SUS', 'flag_1_0']],
    ['has_hospital', ['CO_HOSPITALAR', 'flag_1_2'], ['HOSP_NSUS', 'flag_1_0']],
    ['has_hospital_sus', ['CO_HOSPITALAR_SUS', 'flag_1_2'], ['HOSP_SUS', 'flag_1_0']],
    ['address_code', ['CO_END_COMPL', 'text'], null],
  ),
}

/** Attributes of a facility that each fact row of a file by state repeats. */
export const REPEATED_FACILITY_LINEAGE = STATE_FACILITY
