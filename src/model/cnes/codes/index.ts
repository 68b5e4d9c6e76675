/** Code lists for files by state, which have no catalogs, and for the demonstration. Those of a national base take precedence. */
export { ADMINISTRATIVE_REGIONS } from './administrative-regions.ts'
export { BED_CATEGORIES } from './bed-categories.ts'
export { BED_TYPES } from './bed-types.ts'
export { EQUIPMENT_CATEGORIES } from './equipment-categories.ts'
export { EQUIPMENT_TYPES } from './equipment-types.ts'
export { FACILITY_TYPES } from './facility-types.ts'
export { LEGAL_NATURES } from './legal-natures.ts'
export { SERVICE_CLASSIFICATIONS } from './service-classifications.ts'
export { SERVICE_CLASSIFICATIONS_BEFORE_200803 } from './service-classifications-before-200803.ts'
export { SERVICE_TYPES } from './service-types.ts'
export { SERVICE_TYPES_BEFORE_200803 } from './service-types-before-200803.ts'

/** Reasons of closing: 01–04 temporary, 05 and 10 permanent, 06–08 administrative. The wording is not official. */
export const DEACTIVATION_REASONS: readonly (readonly string[])[] = [
  ['01', 'Desativação temporária (01)'],
  ['02', 'Desativação temporária (02)'],
  ['03', 'Desativação temporária (03)'],
  ['04', 'Desativação temporária (04)'],
  ['05', 'Desativação definitiva (05)'],
  ['06', 'Desativação administrativa (06)'],
  ['07', 'Desativação administrativa (07)'],
  ['08', 'Desativação administrativa (08)'],
  ['09', 'Outro motivo (09)'],
  ['10', 'Desativação definitiva (10)'],
  ['11', 'Outro motivo (11)'],
  ['12', 'Outro motivo (12)'],
  ['13', 'Outro motivo (13)'],
  ['14', 'Outro motivo (14)'],
]

export const OPENING_HOURS: readonly (readonly string[])[] = [
  ['01', 'Somente pela manhã'],
  ['02', 'Somente à tarde'],
  ['03', 'Manhã e tarde'],
  ['04', 'Manhã, tarde e noite'],
  ['05', 'Intermitente'],
  ['06', 'Contínuo de 24 horas'],
  ['07', 'Somente à noite'],
]

/** Government level that manages a facility for SUS. Source: data dictionary of the registry (TP_GESTAO). */
export const MANAGEMENT_TYPES: readonly (readonly string[])[] = [
  ['M', 'Municipal'],
  ['E', 'Estadual'],
  ['D', 'Dupla'],
  ['S', 'Sem gestão'],
]

/** Teaching and research activities. Source: DATASUS domain table of the files by state. */
export const ACTIVITIES: readonly (readonly string[])[] = [
  ['01', 'Unidade universitária'],
  ['02', 'Unidade escola superior isolada'],
  ['03', 'Unidade auxiliar de ensino'],
  ['04', 'Unidade sem atividade de ensino'],
  ['05', 'Hospital de ensino'],
]

/** Kinds of clientele. Source: DATASUS domain table of the files by state. */
export const CLIENT_FLOWS: readonly (readonly string[])[] = [
  ['00', 'Fluxo de clientela não exigido'],
  ['01', 'Atendimento de demanda espontânea'],
  ['02', 'Atendimento de demanda referenciada'],
  ['03', 'Atendimento de demanda espontânea e referenciada'],
]
