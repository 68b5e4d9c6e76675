/**
 * The published columns of outpatient production under the names of each period, and the columns that sum to the approved
 * value. Values only. The importer never reads a column that is missing here: health-card numbers, authorisation numbers,
 * CPFs.
 */

/** Columns of every file, each with its names over time. The first name that a file has is used. */
export const COLUMN_NAMES = {
  processing: ['PA_MVM', 'PA_DATPR'],
  care: ['PA_CMP', 'PA_DATREF'],
  facility: ['PA_CODUNI'],
  municipality: ['PA_UFMUN'],
  procedure: ['PA_PROC_ID', 'PA_CODPRO'],
  instrument: ['PA_DOCORIG'],
  status: ['PA_INDICA'],
  presented: ['PA_QTDPRO'],
  approved: ['PA_QTDAPR'],
  presentedValue: ['PA_VALPRO'],
  approvedValue: ['PA_VALAPR'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Columns of the layouts since 2008. */
export const OPTIONAL_COLUMNS = {
  financing: ['PA_TPFIN'],
  complexity: ['PA_NIVCPL'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/**
 * PA_VALAPR = PA_QTDAPR × NU_PA_TOT + PA_VL_CF + PA_VL_CL + PA_VL_INC holds in every row of the measured files (2023). The
 * terms are price of the table times quantity, federal complement, local complement and increment. Files that lack one of
 * them are not checked.
 */
export const PRICE_COLUMN = 'NU_PA_TOT'
export const COMPLEMENT_COLUMNS = ['PA_VL_CF', 'PA_VL_CL', 'PA_VL_INC'] as const

export type ProductionCell = keyof typeof COLUMN_NAMES | keyof typeof OPTIONAL_COLUMNS

export const READ_COLUMNS: readonly string[] = [
  ...Object.values(COLUMN_NAMES).flat(),
  ...Object.values(OPTIONAL_COLUMNS).flat(),
  PRICE_COLUMN,
  ...COMPLEMENT_COLUMNS,
]

/** First month (YYYYMM) whose layout names facilities and SIGTAP procedures. */
export const FACILITIES_FROM = 200801

/** Measure → the published column that it sums. A count of records has none. */
export const COLUMN_OF_MEASURE: Readonly<Record<string, string>> = {
  quantity_presented: 'PA_QTDPRO',
  quantity_approved: 'PA_QTDAPR',
  value_presented_cents: 'PA_VALPRO',
  value_approved_cents: 'PA_VALAPR',
}
