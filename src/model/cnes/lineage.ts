/** Where every attribute of facilities and facts comes from: published column and rule, per family of files. Values only. */
import type { FieldName } from '../fields.ts'
import type { RuleName } from '../rules.ts'
import type { Lineage } from '../types.ts'

/** 'base': the national monthly base (CSV). 'state': monthly files by state (dBase). */
export type Family = 'base' | 'state'

const line = (
  attribute:
    | FieldName
    | `address.${string}`
    | 'unit_code'
    | 'municipality6'
    | 'provider_code'
    | 'address_code'
    | 'quantity_sus_published',
  column: string,
  rule: RuleName,
): Lineage => ({
  attribute,
  column,
  rule,
})

const STATE_FACILITY: readonly Lineage[] = [
  line('cnes_code', 'CNES', 'code7'),
  line('municipality6', 'CODUFMUN', 'municipality'),
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
  line('health_region_code', 'REGSAUDE', 'text'),
]

export const FACILITY_LINEAGE: Readonly<Record<Family, readonly Lineage[]>> = {
  base: [
    line('unit_code', 'CO_UNIDADE', 'text'),
    line('cnes_code', 'CO_CNES', 'code7'),
    line('municipality6', 'CO_MUNICIPIO_GESTOR', 'municipality'),
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
    line('health_region_code', 'CO_REGIAO_SAUDE', 'text'),
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
  ],
}

/** CADGER, DATASUS's own table of names: what it adds to facilities of files by state. */
export const CADGER_LINEAGE: readonly Lineage[] = [
  line('cnes_code', 'CNES', 'code7'),
  line('legal_name', 'RAZ_SOCI', 'cadger_name'),
  line('trade_name', 'FANTASIA', 'name'),
  line('address.street', 'LOGRADOU', 'name'),
  line('address.number', 'NUM_END', 'house_number'),
  line('address.complement', 'COMPLEME', 'name'),
  line('address.district', 'BAIRRO', 'name'),
]

export type FactName = 'bed_capacity' | 'equipment_inventory' | 'specialized_services'

export const FACT_NAMES: readonly FactName[] = ['bed_capacity', 'equipment_inventory', 'specialized_services']

/** Facts. In files by state a row also repeats its facility's attributes: see STATE_FACILITY above. */
export const FACT_LINEAGE: Readonly<Record<FactName, Readonly<Record<Family, readonly Lineage[]>>>> = {
  bed_capacity: {
    base: [
      line('unit_code', 'CO_UNIDADE', 'text'),
      line('bed_type_code', 'CO_LEITO', 'code2'),
      line('bed_category_code', 'CO_TIPO_LEITO', 'code1'),
      line('beds_existing', 'QT_EXIST', 'quantity'),
      line('beds_sus', 'QT_SUS', 'quantity'),
    ],
    state: [
      line('cnes_code', 'CNES', 'code7'),
      line('bed_type_code', 'CODLEITO', 'code2'),
      line('bed_category_code', 'TP_LEITO', 'code1'),
      line('beds_existing', 'QT_EXIST', 'quantity'),
      line('beds_sus', 'QT_SUS', 'quantity'),
    ],
  },
  equipment_inventory: {
    base: [
      line('unit_code', 'CO_UNIDADE', 'text'),
      line('category_code', 'CO_TIPO_EQUIPAMENTO', 'code2'),
      line('equipment_code', 'CO_EQUIPAMENTO', 'code2'),
      line('quantity_existing', 'QT_EXISTENTE', 'quantity'),
      line('quantity_in_use', 'QT_USO', 'quantity'),
      line('tp_sus_code', 'TP_SUS', 'tp_sus'),
      line('quantity_sus_published', 'QT_SUS', 'quantity_optional'),
    ],
    state: [
      line('cnes_code', 'CNES', 'code7'),
      line('category_code', 'TIPEQUIP', 'code2'),
      line('equipment_code', 'CODEQUIP', 'code2'),
      line('quantity_existing', 'QT_EXIST', 'quantity'),
      line('quantity_in_use', 'QT_USO', 'quantity'),
      line('tp_sus_code', 'IND_SUS', 'ind_sus'),
    ],
  },
  specialized_services: {
    base: [
      line('unit_code', 'CO_UNIDADE', 'text'),
      line('service_code', 'CO_SERVICO', 'code3'),
      line('classification_code', 'CO_CLASSIFICACAO', 'code3'),
      line('characteristic_code', 'TP_CARACTERISTICA', 'characteristic'),
      line('provider_code', 'CO_CNPJCPF', 'provider'),
      line('has_ambulatory', 'CO_AMBULATORIAL', 'flag_1_2'),
      line('has_ambulatory_sus', 'CO_AMBULATORIAL_SUS', 'flag_1_2'),
      line('has_hospital', 'CO_HOSPITALAR', 'flag_1_2'),
      line('has_hospital_sus', 'CO_HOSPITALAR_SUS', 'flag_1_2'),
      line('address_code', 'CO_END_COMPL', 'text'),
    ],
    state: [
      line('cnes_code', 'CNES', 'code7'),
      line('service_code', 'SERV_ESP', 'code3'),
      line('classification_code', 'CLASS_SR', 'code3'),
      line('characteristic_code', 'CARACTER', 'characteristic'),
      line('provider_code', 'CNESTERC', 'provider'),
      line('has_ambulatory', 'AMB_NSUS', 'flag_1_0'),
      line('has_ambulatory_sus', 'AMB_SUS', 'flag_1_0'),
      line('has_hospital', 'HOSP_NSUS', 'flag_1_0'),
      line('has_hospital_sus', 'HOSP_SUS', 'flag_1_0'),
    ],
  },
}

/** Attributes of a facility that a fact row of a file by state repeats. */
export const REPEATED_FACILITY_LINEAGE = STATE_FACILITY
