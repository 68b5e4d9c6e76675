/**
 * The published columns of hospital admissions, and the columns that sum to the value in files of each period. Values only.
 * The importer never reads a column that is missing here: birth dates, postcodes, admission numbers, CPFs.
 */

/** Columns of every file of the reduced AIH (RD), in any layout. */
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
  // Only the month is used.
  'DT_SAIDA',
  'VAL_TOT',
  'VAL_SH',
  'VAL_SP',
] as const

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
  'RACA_COR',
] as const

export type AdmissionColumn = (typeof REQUIRED_COLUMNS)[number] | (typeof OPTIONAL_COLUMNS)[number]

export const HOSPITAL_VALUES = ['VAL_SH', 'VAL_SH_FED', 'VAL_SH_GES'] as const
export const PROFESSIONAL_VALUES = ['VAL_SP', 'VAL_SP_FED', 'VAL_SP_GES'] as const

/** First month (YYYYMM) whose layout has SIGTAP procedures and the facility. */
export const SIGTAP_FROM = 200801
/** First month (YYYYMM) whose diagnoses are of CID-10. */
export const CID10_FROM = 199801
/** First month (YYYYMM) with values in reais. */
export const REAIS_FROM = 199407

/**
 * @param period YYYYMM
 * @returns columns that sum to VAL_TOT in every row, or null for months whose files were never measured. A missing column
 * counts as 0.
 */
export function valueParts(period: number): readonly AdmissionColumn[] | null {
  if (period >= SIGTAP_FROM) return [...HOSPITAL_VALUES, ...PROFESSIONAL_VALUES]
  return period < 199801 ? ['VAL_SH', 'VAL_SP', 'VAL_SADT', 'VAL_RN', 'VAL_ORTP', 'VAL_SANGUE'] : null
}

/** Measure → the published column that it sums; of alternatives, the first that the file has. A count of records has none. */
export const COLUMN_OF_MEASURE: Readonly<Record<string, string>> = {
  admissions: 'IDENT',
  days_of_stay: 'DIAS_PERM',
  icu_days: 'UTI_MES_TO|UTI_TOTAL',
  deaths: 'MORTE',
  value_total_cents: 'VAL_TOT',
  icsap_admissions: 'IDENT',
  icsap_universe_admissions: 'IDENT',
  admissions_with_distance: 'IDENT',
}
