/**
 * Reads monthly files of hospital admissions (RDUFAAMM.dbc or .dbf, the "AIH reduzida") into sums by hospital and by residence.
 * Rows are aggregated while they are read. The result holds the groups, totals for checks, and rejected rows by number and
 * reason. Personal data is not read: columns that model/sih/layout.ts does not list are ignored, and only the month of discharge
 * is compared.
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

/** Measures, in the order in which sums are stored. The dataset by residence omits the two parts of the value. */
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
/** Municipality, category and chapter of the diagnosis, age group, sex; '' if unknown. */
export type ResidenceCodes = readonly [string, string, string, string, string]

export interface Sums<Codes> {
  readonly codes: Codes
  /** Sums in the order of MEASURES. */
  readonly values: readonly number[] | Float64Array
}
interface MutableSums<Codes> extends Sums<Codes> {
  readonly values: number[]
}

export interface ReadAdmissions {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  readonly byHospital: Iterable<Sums<HospitalCodes>>
  readonly byResidence: Iterable<Sums<ResidenceCodes>>
  /** Totals of all loaded rows in the order of MEASURES, summed independently of the groups. */
  readonly totals: readonly number[]
  /** Rows whose value differs from the sum of its parts; null for periods in which this was never measured. */
  readonly unequalValues: number | null
  /** Rows that are neither an admission (1, 3) nor a continuation (5). */
  readonly otherKinds: number
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError if the file is invalid, or its rows belong to another state or month than its name */
export async function readAdmissions(
  path: string,
  name: string,
  { uf, period }: AdmissionFileName,
): Promise<ReadAdmissions> {
  const aggregator = new AdmissionAggregator(name, uf, period)
  let columns: readonly string[] = []
  const { bytes, sha256, rows, deleted } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return aggregator.open(header)
  })
  const read = aggregator.result()
  const setAside = [...read.setAside, ...deleted.map((row) => ({ row, reason: 'deleted' }))]
  return { bytes, sha256, rows, columns, ...read, setAside }
}

const ZERO = 0x30
const BLANK = 0x20
const DOT = 0x2e
const MINUS = 0x2d

/**
 * Parses a dBase number into an integer in units of its last decimal, such as cents. An empty cell is 0.
 * @param decimals number of decimals in the result; missing ones are filled with zeros
 * @returns NaN for any other content, or more decimals
 */
export function integerCell(bytes: Buffer, start: number, length: number, decimals: number): number {
  let position = start
  let end = start + length
  while (position < end && bytes[position] === BLANK) position += 1
  while (end > position && (bytes[end - 1] === BLANK || bytes[end - 1] === 0)) end -= 1
  if (position === end) return 0
  const sign = bytes[position] === MINUS ? -1 : 1
  if (sign < 0) position += 1
  let value = 0
  let decimalDigits = -1
  let digits = 0
  for (; position < end; position += 1) {
    const byte = bytes[position] as number
    if (byte === DOT && decimalDigits < 0) decimalDigits = 0
    else if (byte >= ZERO && byte <= ZERO + 9) {
      value = value * 10 + byte - ZERO
      digits += 1
      if (decimalDigits >= 0) decimalDigits += 1
    } else return Number.NaN
  }
  const missingDecimals = decimals - Math.max(decimalDigits, 0)
  if (digits === 0 || missingDecimals < 0 || !Number.isSafeInteger(value)) return Number.NaN
  return sign * value * 10 ** missingDecimals
}

type CellRange = Pick<DbfColumn, 'offset' | 'length'>

class AdmissionAggregator {
  readonly #name: string
  readonly #period: number
  readonly #stateCode: string
  readonly #valueParts: readonly AdmissionColumn[] | null
  readonly #hospitals = new Map<string, MutableSums<HospitalCodes>>()
  readonly #residences = new Map<string, MutableSums<ResidenceCodes>>()
  /** Caches groups by untrimmed cells, because most rows repeat the cells of an earlier row. */
  readonly #hospitalsByCells = new Map<string, MutableSums<HospitalCodes> | null>()
  readonly #residencesByCells = new Map<string, MutableSums<ResidenceCodes>>()
  readonly #categories = new Map<string, string>()
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: { row: number; reason: string }[] = []
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
      return range === undefined ? 0 : integerCell(bytes, start + range.offset, range.length, decimals)
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
    const icuColumn: AdmissionColumn = ranges.UTI_MES_TO === undefined ? 'UTI_TOTAL' : 'UTI_MES_TO'
    // Files before 1998 write the year with two digits.
    const month = String(this.#period)
    const processingMonth = (ranges.ANO_CMPT?.length ?? 4) < 4 ? month.slice(2) : month
    const dischargeMonth = (ranges.DT_SAIDA?.length ?? 8) < 8 ? month.slice(2) : month
    const values: number[] = MEASURES.map(() => 0)
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
      if (values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: 'unreadable_number' })
        return
      }
      const hospital = this.#findHospital([
        readCell(bytes, start, 'CNES'),
        readCell(bytes, start, 'MUNIC_MOV'),
        readCell(bytes, start, 'PROC_REA'),
        readCell(bytes, start, 'CAR_INT'),
        readCell(bytes, start, 'COMPLEX'),
        readCell(bytes, start, 'FINANC'),
      ])
      if (hospital === null) {
        this.#setAside.push({ row, reason: 'no_procedure' })
        return
      }
      if (partColumns !== null && sumCents(bytes, start, partColumns) !== total) this.#unequalRows += 1
      if (identity !== '1' && identity !== '3' && identity !== '5') this.#otherKindRows += 1
      const residence = this.#findResidence(
        readCell(bytes, start, 'MUNIC_RES'),
        readCell(bytes, start, 'DIAG_PRINC'),
        ageGroupOf(readText(bytes, start, 'COD_IDADE'), readNumber(bytes, start, 'IDADE', 0)),
        readText(bytes, start, 'SEXO'),
      )
      addValues(this.#totals, values)
      addValues(hospital.values, values)
      addValues(residence.values, values)
    }
  }

  #checkRow(published: string, expected: string, row: number, what: 'state' | 'month', column: string): void {
    if (published !== expected) throw rowUnlikeName(this.#name, { row, column, what, isFirst: row === 2 })
  }

  /** @param cells untrimmed cells; @returns null if the procedure is invalid */
  #findHospital(cells: HospitalCodes): MutableSums<HospitalCodes> | null {
    const [facility, municipality, procedure, character, complexity, financing] = cells
    const key = `${facility}${municipality}${procedure}${character}${complexity}${financing}`
    let group = this.#hospitalsByCells.get(key)
    if (group === undefined) {
      const code = procedure.trim()
      group = /^\d{8}(\d\d)?$/.test(code)
        ? findOrAddGroup(this.#hospitals, [
            parseFacility(facility),
            parseMunicipality(municipality),
            code,
            parseCode(character),
            parseCode(complexity),
            parseCode(financing),
          ])
        : null
      this.#hospitalsByCells.set(key, group)
    }
    return group
  }

  /** @param municipality untrimmed cell; @param diagnosis untrimmed cell */
  #findResidence(
    municipality: string,
    diagnosis: string,
    ageGroup: string,
    sex: string,
  ): MutableSums<ResidenceCodes> {
    let category = this.#categories.get(diagnosis)
    if (category === undefined) {
      category = parseCategory(diagnosis.trim())
      this.#categories.set(diagnosis, category)
    }
    const sexCode = SEX[sex] ?? ''
    const key = `${municipality}|${category}|${ageGroup}|${sexCode}`
    let group = this.#residencesByCells.get(key)
    if (group === undefined) {
      const chapter = category === '' ? '' : (chapterOf(category) ?? '')
      group = findOrAddGroup(this.#residences, [
        parseMunicipality(municipality),
        category,
        chapter,
        ageGroup,
        sexCode,
      ])
      this.#residencesByCells.set(key, group)
    }
    return group
  }

  result(): Omit<ReadAdmissions, 'bytes' | 'sha256' | 'rows' | 'columns'> {
    return {
      byHospital: this.#hospitals.values(),
      byResidence: this.#residences.values(),
      totals: this.#totals,
      unequalValues: this.#valueParts === null ? null : this.#unequalRows,
      otherKinds: this.#otherKindRows,
      setAside: this.#setAside,
    }
  }
}

function findOrAddGroup<Codes extends readonly string[]>(
  groups: Map<string, MutableSums<Codes>>,
  codes: Codes,
): MutableSums<Codes> {
  const key = codes.join('|')
  const group = groups.get(key) ?? { codes, values: MEASURES.map(() => 0) }
  groups.set(key, group)
  return group
}

function addValues(sums: number[], values: readonly number[]): void {
  for (let index = 0; index < values.length; index += 1)
    sums[index] = (sums[index] as number) + (values[index] as number)
}

/** @returns the digits of a municipality code, or '' for any other content */
const parseMunicipality = (cell: string): string => /^\s*(\d+)\s*$/.exec(cell)?.[1] ?? ''
const parseFacility = (cell: string): string => (/^\d{7}$/.test(cell.trim()) ? cell.trim() : NO_FACILITY)
const parseCode = (cell: string): string => (/^\d{2}$/.test(cell.trim()) ? cell.trim() : NOT_INFORMED)
/** @returns letter and two digits of a CID-10 code, or '' for other codes, such as CID-9 before 1998 */
const parseCategory = (cell: string): string => (/^[A-Z]\d{2}[0-9A-Z]?$/.test(cell) ? cell.slice(0, 3) : '')

const SEX: Readonly<Record<string, string>> = { '1': 'M', '2': 'F', '3': 'F' }

/** @param unit 2 days, 3 months, 4 years, 5 years above 100; any other value is unknown */
export function ageGroupOf(unit: string, age: number): string {
  const years = unit === '2' || unit === '3' ? 0 : unit === '4' ? age : unit === '5' ? 100 + age : Number.NaN
  if (Number.isNaN(years)) return ''
  return AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''
}
