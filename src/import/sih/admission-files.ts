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
import { COPY_MARK } from '../copy-mark.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import { type DbfHeader, readDbfRecords } from '../readers/dbf-records.ts'

/** RD: approved admissions. RJ: rejected ones. ER: errors. SP: services of professionals, many rows an admission. */
export type AdmissionKind = 'RD' | 'RJ' | 'ER' | 'SP'

export interface AdmissionFileName {
  readonly kind: AdmissionKind
  readonly uf: string
  /** YYYYMM of processing. */
  readonly period: number
}

const FILE_NAME = new RegExp(`^(RD|RJ|ER|SP)([A-Z]{2})(\\d{2})(0[1-9]|1[0-2])${COPY_MARK}\\.(dbc|dbf)$`, 'i')
/** Files begin in 1992: later digits are of this century. */
const FIRST_YEAR = 92

/** @returns what a file name promises, or null when it is no file of hospital admissions */
export function recogniseAdmissionFile(fileName: string): AdmissionFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, kind = '', letters = '', year = '', month = ''] = match
  const uf = letters.toUpperCase()
  if (STATES.every((state) => state.uf !== uf)) return null
  const century = Number(year) >= FIRST_YEAR ? 1900 : 2000
  return {
    kind: kind.toUpperCase() as AdmissionKind,
    uf,
    period: (century + Number(year)) * 100 + Number(month),
  }
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

interface Sums<Codes> {
  readonly codes: Codes
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
  const { bytes, sha256, rows } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return tally.open(header)
  })
  return { bytes, sha256, rows, columns, ...tally.result() }
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
  readonly #hospitals = new Map<string, Sums<HospitalCodes>>()
  readonly #residences = new Map<string, Sums<ResidenceCodes>>()
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
    const text = (bytes: Buffer, start: number, column: AdmissionColumn): string => {
      const place = places[column]
      if (place === undefined) return ''
      return bytes.toString('latin1', start + place.offset, start + place.offset + place.length).trim()
    }
    const number = (bytes: Buffer, start: number, column: AdmissionColumn, decimals: number): number => {
      const place = places[column]
      return place === undefined ? 0 : integerCell(bytes, start + place.offset, place.length, decimals)
    }
    const sum = (bytes: Buffer, start: number, of: readonly AdmissionColumn[]): number => {
      let cents = 0
      for (const column of of) if (places[column] !== undefined) cents += number(bytes, start, column, 2)
      return cents
    }
    const icuColumn: AdmissionColumn = places.UTI_MES_TO === undefined ? 'UTI_TOTAL' : 'UTI_MES_TO'
    // Years of two digits in files before 1998.
    const month = String(this.#period)
    const period = (places.ANO_CMPT?.length ?? 4) < 4 ? month.slice(2) : month
    const dischargeMonth = (places.DT_SAIDA?.length ?? 8) < 8 ? month.slice(2) : month
    return (bytes, start, record) => {
      const row = record + 2
      this.#checkRow(text(bytes, start, 'ANO_CMPT') + text(bytes, start, 'MES_CMPT'), period, row, 'month')
      this.#checkRow(text(bytes, start, 'UF_ZI').slice(0, 2), this.#stateCode, row, 'state')
      const procedure = text(bytes, start, 'PROC_REA')
      const ident = text(bytes, start, 'IDENT')
      const isAdmission = ident === '1' ? 1 : 0
      const total = number(bytes, start, 'VAL_TOT', 2)
      const values = [
        1,
        isAdmission,
        number(bytes, start, 'DIAS_PERM', 0),
        number(bytes, start, icuColumn, 0),
        number(bytes, start, 'MORTE', 0),
        total,
        sum(bytes, start, HOSPITAL_VALUES),
        sum(bytes, start, PROFESSIONAL_VALUES),
        isAdmission === 1 && text(bytes, start, 'DT_SAIDA').startsWith(dischargeMonth) ? 1 : 0,
      ]
      const reason = values.some(Number.isNaN)
        ? 'unreadable_number'
        : /^\d{8}(\d\d)?$/.test(procedure)
          ? null
          : 'no_procedure'
      if (reason !== null) {
        this.#setAside.push({ row, reason })
        return
      }
      if (this.#parts !== null && sum(bytes, start, this.#parts) !== total) this.#unequal += 1
      if (ident !== '1' && ident !== '3' && ident !== '5') this.#otherKinds += 1
      for (let index = 0; index < values.length; index += 1)
        this.#totals[index] = (this.#totals[index] ?? 0) + (values[index] ?? 0)
      addTo(
        this.#hospitals,
        [
          facilityOf(text(bytes, start, 'CNES')),
          text(bytes, start, 'MUNIC_MOV'),
          procedure,
          codeOf(text(bytes, start, 'CAR_INT')),
          codeOf(text(bytes, start, 'COMPLEX')),
          codeOf(text(bytes, start, 'FINANC')),
        ],
        values,
      )
      const category = categoryOf(text(bytes, start, 'DIAG_PRINC'))
      addTo(
        this.#residences,
        [
          text(bytes, start, 'MUNIC_RES'),
          category,
          category === '' ? '' : (chapterOf(category) ?? ''),
          ageGroupOf(text(bytes, start, 'COD_IDADE'), number(bytes, start, 'IDADE', 0)),
          SEX[text(bytes, start, 'SEXO')] ?? '',
        ],
        values,
      )
    }
  }

  #checkRow(found: string, wanted: string, row: number, what: string): void {
    if (found !== wanted)
      throw new ImportError(
        this.#name,
        `has a row (${row}) of another ${what} than its name says`,
        'Keep the published name of the file',
      )
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

function addTo<Codes extends readonly string[]>(
  groups: Map<string, Sums<Codes>>,
  codes: Codes,
  values: readonly number[],
): void {
  const key = codes.join('|')
  const found = groups.get(key)
  if (found === undefined) groups.set(key, { codes, values: [...values] })
  else
    for (let index = 0; index < values.length; index += 1)
      found.values[index] = (found.values[index] ?? 0) + (values[index] ?? 0)
}

const facilityOf = (cell: string): string => (/^\d{7}$/.test(cell) ? cell : NO_FACILITY)
const codeOf = (cell: string): string => (/^\d{2}$/.test(cell) ? cell : NOT_INFORMED)
/** Letter and two digits of a code of CID-10; '' for anything else, as the numbers of CID-9 before 1998. */
const categoryOf = (cell: string): string => (/^[A-Z]\d{2}[0-9A-Z]?$/.test(cell) ? cell.slice(0, 3) : '')

const SEX: Readonly<Record<string, string>> = { '1': 'M', '2': 'F', '3': 'F' }

/** @param unit 2 days, 3 months, 4 years, 5 years above 100; anything else is not known */
export function ageGroupOf(unit: string, age: number): string {
  const years = unit === '2' || unit === '3' ? 0 : unit === '4' ? age : unit === '5' ? 100 + age : Number.NaN
  if (Number.isNaN(years)) return ''
  return AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''
}
