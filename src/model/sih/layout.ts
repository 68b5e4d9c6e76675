/**
 * The published columns that hospital admissions are made of, and how the parts of a value add up in files of each time. Values
 * only; a column that is not named here is never read: birth dates, postcodes, numbers of admissions, CPFs.
 */

/** In every file of the reduced AIH (RD), whatever its layout. */
export const REQUIRED_COLUMNS = [
  'UF_ZI',
  'ANO_CMPT',
  'MES_CMPT',
  'IDENT',
  'MUNIC_MOV',
  'MUNIC_RES',
  'PROC_REA',
  'DIAG_PRINC',
  'COD_IDADE',
  'IDADE',
  'SEXO',
  'DIAS_PERM',
  'MORTE',
  // Read for its month alone.
  'DT_SAIDA',
  'VAL_TOT',
  'VAL_SH',
  'VAL_SP',
] as const

/** In some layouts. */
export const OPTIONAL_COLUMNS = [
  'CNES',
  'CAR_INT',
  'COMPLEX',
  'FINANC',
  'UTI_MES_TO',
  'UTI_TOTAL',
  'VAL_SADT',
  'VAL_RN',
  'VAL_ORTP',
  'VAL_SANGUE',
  'VAL_SH_FED',
  'VAL_SP_FED',
  'VAL_SH_GES',
  'VAL_SP_GES',
] as const

export type AdmissionColumn = (typeof REQUIRED_COLUMNS)[number] | (typeof OPTIONAL_COLUMNS)[number]

/** Columns of hospital and of professional services. */
export const HOSPITAL_VALUES = ['VAL_SH', 'VAL_SH_FED', 'VAL_SH_GES'] as const
export const PROFESSIONAL_VALUES = ['VAL_SP', 'VAL_SP_FED', 'VAL_SP_GES'] as const

/** First month of the layout with the procedures of SIGTAP and the facility. */
export const SIGTAP_FROM = 200801
/** Reais from this month on. */
export const REAIS_FROM = 199407

/**
 * @param period YYYYMM
 * @returns columns that VAL_TOT is the sum of, in every row; null where files of the time were never measured. Absent ones are 0.
 */
export function valueParts(period: number): readonly AdmissionColumn[] | null {
  if (period >= SIGTAP_FROM) return [...HOSPITAL_VALUES, ...PROFESSIONAL_VALUES]
  return period < 199801 ? ['VAL_SH', 'VAL_SP', 'VAL_SADT', 'VAL_RN', 'VAL_ORTP', 'VAL_SANGUE'] : null
}

/** Published column that a measure is added up from; a record as such is of none. */
export const COLUMN_OF_MEASURE: Readonly<Record<string, AdmissionColumn>> = {
  admissions: 'IDENT',
  days_of_stay: 'DIAS_PERM',
  icu_days: 'UTI_MES_TO',
  deaths: 'MORTE',
  value_total_cents: 'VAL_TOT',
}
