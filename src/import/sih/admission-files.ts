/**
 * Monthly files of hospital admissions (RDUFAAMM.dbc or .dbf, the "AIH reduzida") → sums by hospital and by residence.
 *
 * In: a file that is named so. Out: its admissions added up as they are read, what its rows say of themselves (identities,
 * totals), and the rows that cannot be loaded, by number and reason. Personal data stops here: columns that model/sih/layout.ts
 * does not name have no reader, and of the date of discharge the month alone is compared.
 */
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { chapterOf, NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'
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
import { rowUnlikeName, stateMonthOf } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import { type DbfHeader, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'

/** RD: approved admissions. RJ: rejected ones. ER: errors. SP: services of professionals, many rows an admission. */
export type AdmissionKind = 'RD' | 'RJ' | 'ER' | 'SP'

export interface AdmissionFileName {
  readonly kind: AdmissionKind
  readonly uf: string
  /** YYYYMM of processing. */
  readonly period: number
}

const FILE_NAME = new RegExp(`^(RD|RJ|ER|SP)([A-Z]{2})(\\d{2})(0[1-9]|1[0-2])${COPY_MARK}\\.(dbc|dbf)$`, 'i')

/** @returns what a file name promises, or null when it is no file of hospital admissions */
export function recogniseAdmissionFile(fileName: string): AdmissionFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, kind = '', letters = '', year = '', month = ''] = match
  const found = stateMonthOf(letters, year, month)
  return found === null ? null : { kind: kind.toUpperCase() as AdmissionKind, ...found }
}

const REFUSED: Readonly<Record<Exclude<AdmissionKind, 'RD'>, string>> = {
  RJ: 'holds rejected admissions',
  ER: 'holds admissions with errors',
  SP: 'holds services of professionals, many rows an admission',
}

/** @throws ImportError for a file that holds something else than approved admissions; @param shown where it is found */
export function refuseOtherKinds({ kind, uf, period }: AdmissionFileName, shown: string): void {
  const month = String(period).slice(2)
  if (kind !== 'RD')
    throw new ImportError(
      shown,
      `${REFUSED[kind]} (${kind}), which are not counted as admissions`,
      `Leave it out, and import the approved admissions of the month, RD${uf}${month}.dbc`,
    )
  if (period < REAIS_FROM)
    throw new ImportError(
      shown,
      'is of a month before July 1994, whose values are not in reais',
      'Leave it out, and import months from 1994-07 on',
    )
}

/** What is added up: of a hospital, in this order; of a residence, without the two parts of the value. */
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
] as const

/** Codes as published, in this order: facility, municipality, procedure, character, complexity, financing. */
export type HospitalCodes = readonly [string, string, string, string, string, string]
/** Municipality, category and chapter of the diagnosis, age group, sex; '' where not known. */
export type ResidenceCodes = readonly [string, string, string, string, string]

export interface Sums<Codes> {
  readonly codes: Codes
  /** In the order of MEASURES. */
  readonly values: readonly number[] | Float64Array
}
interface Growing<Codes> extends Sums<Codes> {
  readonly values: number[]
}

export interface ReadAdmissions {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  readonly byHospital: Iterable<Sums<HospitalCodes>>
  readonly byResidence: Iterable<Sums<ResidenceCodes>>
  /** Of all rows that were loaded, in the order of MEASURES: added up apart from the groups. */
  readonly totals: readonly number[]
  /** Rows whose value is not the sum of its parts; null where files of the time were never measured. */
  readonly unequalValues: number | null
  /** Rows that are neither an admission (1, 3) nor a continuation (5). */
  readonly otherKinds: number
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError where it is no such file, or its rows are of another state or month than its name says */
export async function readAdmissions(
  path: string,
  name: string,
  { uf, period }: AdmissionFileName,
): Promise<ReadAdmissions> {
  const tally = new Tally(name, uf, period)
  let columns: readonly string[] = []
  const { bytes, sha256, rows, deleted } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return tally.open(header)
  })
  const read = tally.result()
  const setAside = [...read.setAside, ...deleted.map((row) => ({ row, reason: 'deleted' }))]
  return { bytes, sha256, rows, columns, ...read, setAside }
}

const ZERO = 0x30
const BLANK = 0x20
const DOT = 0x2e
const MINUS = 0x2d

/**
 * A number of a dBase cell as an integer of its last decimal; empty is 0.
 * @param decimals digits that stand behind the point, or are added
 * @returns NaN where the cell holds anything else
 */
export function integerCell(bytes: Buffer, start: number, length: number, decimals: number): number {
  let at = start
  let end = start + length
  while (at < end && bytes[at] === BLANK) at += 1
  while (end > at && (bytes[end - 1] === BLANK || bytes[end - 1] === 0)) end -= 1
  if (at === end) return 0
  const sign = bytes[at] === MINUS ? -1 : 1
  if (sign < 0) at += 1
  let value = 0
  let behind = -1
  let digits = 0
  for (; at < end; at += 1) {
    const byte = bytes[at] as number
    if (byte === DOT && behind < 0) behind = 0
    else if (byte >= ZERO && byte <= ZERO + 9) {
      value = value * 10 + byte - ZERO
      digits += 1
      if (behind >= 0) behind += 1
    } else return Number.NaN
  }
  const lacking = decimals - Math.max(behind, 0)
  if (digits === 0 || lacking < 0 || !Number.isSafeInteger(value)) return Number.NaN
  return sign * value * 10 ** lacking
}

type Place = Pick<DbfColumn, 'offset' | 'length'>

class Tally {
  readonly #name: string
  readonly #period: number
  readonly #stateCode: string
  readonly #parts: readonly AdmissionColumn[] | null
  readonly #hospitals = new Map<string, Growing<HospitalCodes>>()
  readonly #residences = new Map<string, Growing<ResidenceCodes>>()
  /**
   * The same groups by the cells as they stand: what most rows have in common with one before them is not trimmed, checked and
   * joined again.
   */
  readonly #hospitalsByCells = new Map<string, Growing<HospitalCodes> | null>()
  readonly #residencesByCells = new Map<string, Growing<ResidenceCodes>>()
  readonly #categories = new Map<string, string>()
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: { row: number; reason: string }[] = []
  #unequal = 0
  #otherKinds = 0

  constructor(name: string, uf: string, period: number) {
    this.#name = name
    this.#period = period
    this.#stateCode = String(STATES.find((state) => state.uf === uf)?.ibge_code ?? '')
    this.#parts = valueParts(period)
  }

  open({ columns }: DbfHeader): (bytes: Buffer, start: number, record: number) => void {
    const byName = new Map(columns.map((column) => [column.name, column]))
    const missing = [
      ...REQUIRED_COLUMNS,
      ...(this.#period >= SIGTAP_FROM ? (['CNES', 'CAR_INT', 'UTI_MES_TO'] as const) : []),
    ].filter((column) => !byName.has(column))
    refuseOtherTable(this.#name, 'RD', [...byName.keys()])
    if (missing.length > 0)
      throw new ImportError(
        this.#name,
        `lacks the column ${missing.join(', ')} of an RD file`,
        'Check that the file has its published name, or fetch it again',
      )
    const places: Partial<Record<AdmissionColumn, Place>> = {}
    for (const column of [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS]) {
      const found = byName.get(column)
      if (found !== undefined) places[column] = found
    }
    /** A cell as it stands, with its blanks. */
    const cell = (bytes: Buffer, start: number, column: AdmissionColumn): string => {
      const place = places[column]
      if (place === undefined) return ''
      return bytes.toString('latin1', start + place.offset, start + place.offset + place.length)
    }
    const text = (bytes: Buffer, start: number, column: AdmissionColumn): string =>
      cell(bytes, start, column).trim()
    const number = (bytes: Buffer, start: number, column: AdmissionColumn, decimals: number): number => {
      const place = places[column]
      return place === undefined ? 0 : integerCell(bytes, start + place.offset, place.length, decimals)
    }
    const sum = (bytes: Buffer, start: number, of: readonly AdmissionColumn[]): number => {
      let cents = 0
      for (const column of of) cents += number(bytes, start, column, 2)
      return cents
    }
    const present = (of: readonly AdmissionColumn[]): AdmissionColumn[] =>
      of.filter((column) => places[column] !== undefined)
    const [hospitalValues, professionalValues] = [present(HOSPITAL_VALUES), present(PROFESSIONAL_VALUES)]
    const parts = this.#parts === null ? null : present(this.#parts)
    const icuColumn: AdmissionColumn = places.UTI_MES_TO === undefined ? 'UTI_TOTAL' : 'UTI_MES_TO'
    // Years of two digits in files before 1998.
    const month = String(this.#period)
    const period = (places.ANO_CMPT?.length ?? 4) < 4 ? month.slice(2) : month
    const dischargeMonth = (places.DT_SAIDA?.length ?? 8) < 8 ? month.slice(2) : month
    const values: number[] = MEASURES.map(() => 0)
    return (bytes, start, record) => {
      const row = record + 2
      this.#checkRow(
        text(bytes, start, 'ANO_CMPT') + text(bytes, start, 'MES_CMPT'),
        period,
        row,
        'month',
        'MES_CMPT',
      )
      this.#checkRow(text(bytes, start, 'UF_ZI').slice(0, 2), this.#stateCode, row, 'state', 'UF_ZI')
      const ident = text(bytes, start, 'IDENT')
      const isAdmission = ident === '1' ? 1 : 0
      const total = number(bytes, start, 'VAL_TOT', 2)
      values[0] = 1
      values[1] = isAdmission
      values[2] = number(bytes, start, 'DIAS_PERM', 0)
      values[3] = number(bytes, start, icuColumn, 0)
      values[4] = number(bytes, start, 'MORTE', 0)
      values[5] = total
      values[6] = sum(bytes, start, hospitalValues)
      values[7] = sum(bytes, start, professionalValues)
      values[8] = isAdmission === 1 && text(bytes, start, 'DT_SAIDA').startsWith(dischargeMonth) ? 1 : 0
      if (values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: 'unreadable_number' })
        return
      }
      const hospital = this.#hospitalOf([
        cell(bytes, start, 'CNES'),
        cell(bytes, start, 'MUNIC_MOV'),
        cell(bytes, start, 'PROC_REA'),
        cell(bytes, start, 'CAR_INT'),
        cell(bytes, start, 'COMPLEX'),
        cell(bytes, start, 'FINANC'),
      ])
      if (hospital === null) {
        this.#setAside.push({ row, reason: 'no_procedure' })
        return
      }
      if (parts !== null && sum(bytes, start, parts) !== total) this.#unequal += 1
      if (ident !== '1' && ident !== '3' && ident !== '5') this.#otherKinds += 1
      const residence = this.#residenceOf(
        cell(bytes, start, 'MUNIC_RES'),
        cell(bytes, start, 'DIAG_PRINC'),
        ageGroupOf(text(bytes, start, 'COD_IDADE'), number(bytes, start, 'IDADE', 0)),
        text(bytes, start, 'SEXO'),
      )
      add(this.#totals, values)
      add(hospital.values, values)
      add(residence.values, values)
    }
  }

  #checkRow(found: string, wanted: string, row: number, what: 'state' | 'month', column: string): void {
    if (found !== wanted) throw rowUnlikeName(this.#name, { row, column, what, isFirst: row === 2 })
  }

  /** @param cells as they stand @returns null where they name no procedure */
  #hospitalOf(cells: HospitalCodes): Growing<HospitalCodes> | null {
    const [facility, municipality, procedure, character, complexity, financing] = cells
    const key = `${facility}${municipality}${procedure}${character}${complexity}${financing}`
    let found = this.#hospitalsByCells.get(key)
    if (found === undefined) {
      const code = procedure.trim()
      found = /^\d{8}(\d\d)?$/.test(code)
        ? groupOf(this.#hospitals, [
            facilityOf(facility),
            municipalityOf(municipality),
            code,
            codeOf(character),
            codeOf(complexity),
            codeOf(financing),
          ])
        : null
      this.#hospitalsByCells.set(key, found)
    }
    return found
  }

  /** @param municipality as it stands, as the diagnosis */
  #residenceOf(
    municipality: string,
    diagnosis: string,
    ageGroup: string,
    sex: string,
  ): Growing<ResidenceCodes> {
    let category = this.#categories.get(diagnosis)
    if (category === undefined) {
      category = categoryOf(diagnosis.trim())
      this.#categories.set(diagnosis, category)
    }
    const own = SEX[sex] ?? ''
    const key = `${municipality}|${category}|${ageGroup}|${own}`
    let found = this.#residencesByCells.get(key)
    if (found === undefined) {
      const chapter = category === '' ? '' : (chapterOf(category) ?? '')
      found = groupOf(this.#residences, [municipalityOf(municipality), category, chapter, ageGroup, own])
      this.#residencesByCells.set(key, found)
    }
    return found
  }

  result(): Omit<ReadAdmissions, 'bytes' | 'sha256' | 'rows' | 'columns'> {
    return {
      byHospital: this.#hospitals.values(),
      byResidence: this.#residences.values(),
      totals: this.#totals,
      unequalValues: this.#parts === null ? null : this.#unequal,
      otherKinds: this.#otherKinds,
      setAside: this.#setAside,
    }
  }
}

function groupOf<Codes extends readonly string[]>(
  groups: Map<string, Growing<Codes>>,
  codes: Codes,
): Growing<Codes> {
  const key = codes.join('|')
  const found = groups.get(key) ?? { codes, values: MEASURES.map(() => 0) }
  groups.set(key, found)
  return found
}

function add(sums: number[], values: readonly number[]): void {
  for (let index = 0; index < values.length; index += 1)
    sums[index] = (sums[index] as number) + (values[index] as number)
}

/** Six digits; what is none has no place. */
const municipalityOf = (cell: string): string => /^\s*(\d+)\s*$/.exec(cell)?.[1] ?? ''
const facilityOf = (cell: string): string => (/^\d{7}$/.test(cell.trim()) ? cell.trim() : NO_FACILITY)
const codeOf = (cell: string): string => (/^\d{2}$/.test(cell.trim()) ? cell.trim() : NOT_INFORMED)
/** Letter and two digits of a code of CID-10; '' for anything else, as the numbers of CID-9 before 1998. */
const categoryOf = (cell: string): string => (/^[A-Z]\d{2}[0-9A-Z]?$/.test(cell) ? cell.slice(0, 3) : '')

const SEX: Readonly<Record<string, string>> = { '1': 'M', '2': 'F', '3': 'F' }

/** @param unit 2 days, 3 months, 4 years, 5 years above 100; anything else is not known */
export function ageGroupOf(unit: string, age: number): string {
  const years = unit === '2' || unit === '3' ? 0 : unit === '4' ? age : unit === '5' ? 100 + age : Number.NaN
  if (Number.isNaN(years)) return ''
  return AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''
}
