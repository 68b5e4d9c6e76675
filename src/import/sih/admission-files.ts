/**
 * Reads monthly files of hospital admissions (RDUFAAMM.dbc or .dbf, the "AIH reduzida") into sums by hospital, by residence and by both.
 * Rows are aggregated while they are read. The result holds the groups, totals for checks, and rejected rows by number and
 * reason. Personal data is not read: columns that model/sih/layout.ts does not list are ignored, and only the month of discharge
 * is compared.
 */
import { isInIcsapUniverse, OUTSIDE_ICSAP } from '../../model/classifications/icsap.ts'
import {
  type AdmissionColumn,
  HOSPITAL_VALUES,
  OPTIONAL_COLUMNS,
  PROFESSIONAL_VALUES,
  REAIS_FROM,
  REQUIRED_COLUMNS,
  SIGTAP_FROM,
  valueParts,
} from '../../model/sih/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import { CodeGroups, remember, type Sums } from '../aggregated/code-groups.ts'
import { rowUnlikeName, stateMonthOf } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import { type DbfHeader, type ReadFile, readDbfRecords, type SetAside } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'
import {
  ageGroupOf,
  integerCell,
  parseCode,
  parseDiagnosis,
  parseFacility,
  parseMunicipality,
  parseRace,
  parseSex,
} from './admission-cells.ts'

/** RD: approved admissions. RJ: rejected ones. ER: errors. SP: services of professionals, many rows an admission. */
export type AdmissionKind = 'RD' | 'RJ' | 'ER' | 'SP'

export interface AdmissionFileName {
  readonly kind: AdmissionKind
  readonly uf: string
  /** Month of processing, YYYYMM. */
  readonly period: number
}

const FILE_NAME = new RegExp(`^(RD|RJ|ER|SP)([A-Z]{2})(\\d{2})(0[1-9]|1[0-2])${COPY_MARK}\\.(dbc|dbf)$`, 'i')

/** @returns attributes from the file name, or null if it is not an admissions file */
export function recogniseAdmissionFile(fileName: string): AdmissionFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, kind = '', letters = '', year = '', month = ''] = match
  const stateMonth = stateMonthOf(letters, year, month)
  return stateMonth === null ? null : { kind: kind.toUpperCase() as AdmissionKind, ...stateMonth }
}

const REFUSAL_REASONS: Readonly<Record<Exclude<AdmissionKind, 'RD'>, string>> = {
  RJ: 'holds rejected admissions',
  ER: 'holds admissions with errors',
  SP: 'holds services of professionals, many rows an admission',
}

/** @throws ImportError for a file without approved admissions in reais; @param shown path for messages */
export function refuseOtherKinds({ kind, uf, period }: AdmissionFileName, shown: string): void {
  const month = String(period).slice(2)
  if (kind !== 'RD')
    throw new ImportError(
      shown,
      `${REFUSAL_REASONS[kind]} (${kind}), which are not counted as admissions`,
      `Leave it out, and import the approved admissions of the month, RD${uf}${month}.dbc`,
    )
  if (period < REAIS_FROM)
    throw new ImportError(
      shown,
      'is of a month before July 1994, whose values are not in reais',
      'Leave it out, and import months from 1994-07 on',
    )
}

/** Measures of a row, in their order. */
export const MEASURES = [
  'admission_records',
  'admissions',
  'days_of_stay',
  'icu_days',
  'deaths',
  'value_total_cents',
  'value_hospital_cents',
  'value_professional_cents',
  'discharges_in_month',
  'icsap_universe_admissions',
  'icsap_admissions',
] as const

/** Codes as published, in this order: facility, municipality, procedure, character, complexity, financing. */
export type HospitalCodes = readonly [string, string, string, string, string, string]
/** Municipality; category, chapter, ICSAP group and cause group of the diagnosis; age group, sex, race; '' if unknown. */
export type ResidenceCodes = readonly [string, string, string, string, string, string, string, string]
/** Municipality of residence, that of the hospital, chapter of the diagnosis, complexity, financing; '' if unknown. */
export type FlowCodes = readonly [string, string, string, string, string]

type Measure = (typeof MEASURES)[number]
const COUNTS = ['admission_records', 'admissions', 'days_of_stay', 'icu_days', 'deaths'] as const
/** Measures of the groups by hospital, in the order of their sums. */
export const HOSPITAL_MEASURES = [
  ...COUNTS,
  'value_total_cents',
  'value_hospital_cents',
  'value_professional_cents',
  'discharges_in_month',
] as const satisfies readonly Measure[]
/** Measures of the groups by residence, in the order of their sums. */
export const RESIDENCE_MEASURES = [
  ...COUNTS,
  'value_total_cents',
  'discharges_in_month',
  'icsap_universe_admissions',
  'icsap_admissions',
] as const satisfies readonly Measure[]
/** Measures of the groups by residence and hospital, in the order of their sums. */
export const FLOW_MEASURES = [...COUNTS, 'value_total_cents'] as const satisfies readonly Measure[]

const groupsOf = <Codes extends readonly string[]>(measures: readonly Measure[]): CodeGroups<Codes> =>
  new CodeGroups(measures.map((measure) => MEASURES.indexOf(measure)))

export interface ReadAdmissions extends Omit<ReadFile, 'deleted'> {
  readonly byHospital: Iterable<Sums<HospitalCodes>>
  readonly byResidence: Iterable<Sums<ResidenceCodes>>
  readonly byFlow: Iterable<Sums<FlowCodes>>
  /** Totals of all loaded rows in the order of MEASURES, summed independently of the groups. */
  readonly totals: readonly number[]
  /** Rows whose value differs from the sum of its parts; null for periods in which this was never measured. */
  readonly unequalValues: number | null
  /** Rows that are neither an admission (1, 3) nor a continuation (5). */
  readonly otherKinds: number
  readonly setAside: readonly SetAside[]
}

/** @throws ImportError if the file is invalid, or its rows belong to another state or month than its name */
export async function readAdmissions(
  path: string,
  name: string,
  { uf, period }: AdmissionFileName,
): Promise<ReadAdmissions> {
  const aggregator = new AdmissionAggregator(name, uf, period)
  const { deleted, ...file } = await readDbfRecords(path, name, (header) => aggregator.open(header))
  const read = aggregator.result()
  return { ...file, ...read, setAside: [...read.setAside, ...deleted] }
}

type CellRange = Pick<DbfColumn, 'offset' | 'length'>

class AdmissionAggregator {
  readonly #name: string
  readonly #period: number
  readonly #stateCode: string
  readonly #valueParts: readonly AdmissionColumn[] | null
  readonly #hospitals = groupsOf<HospitalCodes>(HOSPITAL_MEASURES)
  readonly #residences = groupsOf<ResidenceCodes>(RESIDENCE_MEASURES)
  readonly #flows = groupsOf<FlowCodes>(FLOW_MEASURES)
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: SetAside[] = []
  #unequalRows = 0
  #otherKindRows = 0

  constructor(name: string, uf: string, period: number) {
    this.#name = name
    this.#period = period
    this.#stateCode = String(STATES.find((state) => state.uf === uf)?.ibge_code ?? '')
    this.#valueParts = valueParts(period)
  }

  open({ columns }: DbfHeader): (bytes: Buffer, start: number, record: number) => void {
    const byName = new Map(columns.map((column) => [column.name, column]))
    const missing = [
      ...REQUIRED_COLUMNS,
      ...(this.#period >= SIGTAP_FROM ? (['CNES', 'CAR_INT', 'UTI_MES_TO'] as const) : []),
      // Older files have one of two columns of ICU days.
      ...(this.#period >= SIGTAP_FROM || byName.has('UTI_MES_TO') ? [] : (['UTI_TOTAL'] as const)),
    ].filter((column) => !byName.has(column))
    refuseOtherTable(this.#name, 'RD', [...byName.keys()])
    if (missing.length > 0)
      throw new ImportError(
        this.#name,
        `lacks the column ${missing.join(', ')} of an RD file`,
        'Check that the file has its published name, or fetch it again',
      )
    const ranges: Partial<Record<AdmissionColumn, CellRange>> = {}
    for (const column of [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS]) {
      const publishedColumn = byName.get(column)
      if (publishedColumn !== undefined) ranges[column] = publishedColumn
    }
    /** Returns a cell with its blanks. */
    const readCell = (bytes: Buffer, start: number, column: AdmissionColumn): string => {
      const range = ranges[column]
      if (range === undefined) return ''
      return bytes.toString('latin1', start + range.offset, start + range.offset + range.length)
    }
    const readText = (bytes: Buffer, start: number, column: AdmissionColumn): string =>
      readCell(bytes, start, column).trim()
    const readNumber = (bytes: Buffer, start: number, column: AdmissionColumn, decimals: number): number => {
      const range = ranges[column]
      return range === undefined
        ? Number.NaN
        : integerCell(bytes, start + range.offset, range.length, decimals)
    }
    const sumCents = (bytes: Buffer, start: number, names: readonly AdmissionColumn[]): number => {
      let cents = 0
      for (const column of names) cents += readNumber(bytes, start, column, 2)
      return cents
    }
    const selectPresent = (names: readonly AdmissionColumn[]): AdmissionColumn[] =>
      names.filter((column) => ranges[column] !== undefined)
    const [hospitalValues, professionalValues] = [
      selectPresent(HOSPITAL_VALUES),
      selectPresent(PROFESSIONAL_VALUES),
    ]
    const partColumns = this.#valueParts === null ? null : selectPresent(this.#valueParts)
    const hasRace = ranges.RACA_COR !== undefined
    const icuColumn: AdmissionColumn = ranges.UTI_MES_TO === undefined ? 'UTI_TOTAL' : 'UTI_MES_TO'
    // Files before 1998 write the year with two digits.
    const month = String(this.#period)
    const processingMonth = (ranges.ANO_CMPT?.length ?? 4) < 4 ? month.slice(2) : month
    const dischargeMonth = (ranges.DT_SAIDA?.length ?? 8) < 8 ? month.slice(2) : month
    const values: number[] = MEASURES.map(() => 0)
    const municipalityOf = remember(parseMunicipality)
    const facilityOf = remember(parseFacility)
    const codeOf = remember(parseCode)
    const diagnosisOf = remember((cell) => parseDiagnosis(cell.trim(), this.#period))
    /** '' for a cell that is no procedure. */
    const procedureOf = remember((cell) => (/^\d{8}(\d\d)?$/.test(cell.trim()) ? cell.trim() : ''))
    const raceOf = remember((cell) => parseRace(cell.trim()))
    return (bytes, start, record) => {
      const row = record + 2
      this.#checkRow(
        readText(bytes, start, 'ANO_CMPT') + readText(bytes, start, 'MES_CMPT'),
        processingMonth,
        row,
        'month',
        'MES_CMPT',
      )
      this.#checkRow(readText(bytes, start, 'UF_ZI').slice(0, 2), this.#stateCode, row, 'state', 'UF_ZI')
      const identity = readText(bytes, start, 'IDENT')
      const admissionCount = identity === '1' ? 1 : 0
      const total = readNumber(bytes, start, 'VAL_TOT', 2)
      values[0] = 1
      values[1] = admissionCount
      values[2] = readNumber(bytes, start, 'DIAS_PERM', 0)
      values[3] = readNumber(bytes, start, icuColumn, 0)
      values[4] = readNumber(bytes, start, 'MORTE', 0)
      values[5] = total
      values[6] = sumCents(bytes, start, hospitalValues)
      values[7] = sumCents(bytes, start, professionalValues)
      values[8] =
        admissionCount === 1 && readText(bytes, start, 'DT_SAIDA').startsWith(dischargeMonth) ? 1 : 0
      const procedureCell = readCell(bytes, start, 'PROC_REA')
      const diagnosis = diagnosisOf(readCell(bytes, start, 'DIAG_PRINC'))
      const isCompared =
        admissionCount === 1 &&
        diagnosis.category !== '' &&
        isInIcsapUniverse(procedureCell.trimEnd(), diagnosis.code)
      values[9] = Number(isCompared)
      values[10] = Number(isCompared && diagnosis.icsapGroup !== OUTSIDE_ICSAP)
      if (values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: 'unreadable_number' })
        return
      }
      const procedure = procedureOf(procedureCell)
      if (procedure === '') {
        this.#setAside.push({ row, reason: 'no_procedure' })
        return
      }
      // A sum with an empty part is not a number, and cannot be compared.
      const parts = partColumns === null ? total : sumCents(bytes, start, partColumns)
      if (!Number.isNaN(parts) && parts !== total) this.#unequalRows += 1
      if (identity !== '1' && identity !== '3' && identity !== '5') this.#otherKindRows += 1
      const facility = facilityOf(readCell(bytes, start, 'CNES'))
      const municipality = municipalityOf(readCell(bytes, start, 'MUNIC_MOV'))
      const home = municipalityOf(readCell(bytes, start, 'MUNIC_RES'))
      const character = codeOf(readCell(bytes, start, 'CAR_INT'))
      const resources = `${codeOf(readCell(bytes, start, 'COMPLEX'))}|${codeOf(readCell(bytes, start, 'FINANC'))}`
      const age = ageGroupOf(readText(bytes, start, 'COD_IDADE'), readText(bytes, start, 'IDADE'))
      const sex = parseSex(readText(bytes, start, 'SEXO'))
      // A file without the column says nothing of race, which is not the same as not informed.
      const race = hasRace ? raceOf(readCell(bytes, start, 'RACA_COR')) : ''
      addValues(this.#totals, values)
      this.#hospitals.add(`${facility}|${municipality}|${procedure}|${character}|${resources}`, values)
      this.#residences.add(`${home}|${diagnosis.key}|${age}|${sex}|${race}`, values)
      this.#flows.add(`${home}|${municipality}|${diagnosis.chapter}|${resources}`, values)
    }
  }

  #checkRow(published: string, expected: string, row: number, what: 'state' | 'month', column: string): void {
    if (published !== expected) throw rowUnlikeName(this.#name, { row, column, what, isFirst: row === 2 })
  }

  result(): Omit<ReadAdmissions, keyof ReadFile> {
    return {
      byHospital: this.#hospitals,
      byResidence: this.#residences,
      byFlow: this.#flows,
      totals: this.#totals,
      unequalValues: this.#valueParts === null ? null : this.#unequalRows,
      otherKinds: this.#otherKindRows,
      setAside: this.#setAside,
    }
  }
}

function addValues(sums: number[], values: readonly number[]): void {
  for (let index = 0; index < values.length; index += 1)
    sums[index] = (sums[index] as number) + (values[index] as number)
}
