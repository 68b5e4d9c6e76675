/**
 * The published columns that outpatient production is made of, under the names of each time, and what the approved value is the sum
 * of. Values only; a column that is not named here is never read: health-card numbers, numbers of authorisations, CPFs.
 */

/** What is read of every file, and the names that its column has had: the first that a file has is read. */
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

/** In the layouts since 2008. */
export const OPTIONAL_COLUMNS = {
  financing: ['PA_TPFIN'],
  complexity: ['PA_NIVCPL'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/**
 * PA_VALAPR = PA_QTDAPR × NU_PA_TOT + PA_VL_CF + PA_VL_CL + PA_VL_INC in every row of the files measured (2023): price of the
 * table times quantity, federal complement, local complement, increment. Files that lack one of them are not checked.
 */
export const PRICE_COLUMN = 'NU_PA_TOT'
export const COMPLEMENT_COLUMNS = ['PA_VL_CF', 'PA_VL_CL', 'PA_VL_INC'] as const

export type ProductionCell = keyof typeof COLUMN_NAMES | keyof typeof OPTIONAL_COLUMNS

/** Every published column that something is read from. */
export const READ_COLUMNS: readonly string[] = [
  ...Object.values(COLUMN_NAMES).flat(),
  ...Object.values(OPTIONAL_COLUMNS).flat(),
  PRICE_COLUMN,
  ...COMPLEMENT_COLUMNS,
]

/** First month of the layout that names facilities and procedures of SIGTAP. */
export const FACILITIES_FROM = 200801

/** Published column that a measure is added up from; a record as such is of none. */
export const COLUMN_OF_MEASURE: Readonly<Record<string, string>> = {
  quantity_presented: 'PA_QTDPRO',
  quantity_approved: 'PA_QTDAPR',
  value_presented_cents: 'PA_VALPRO',
  value_approved_cents: 'PA_VALAPR',
}
