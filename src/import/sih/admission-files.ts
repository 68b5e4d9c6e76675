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
import { rowUnlikeName, stateMonthOf } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import { type DbfHeader, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'
import {
  ageGroupOf,
  type Diagnosis,
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

/** Measures, in the order in which sums are stored. Each dataset keeps some of them. */
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
  readonly byFlow: Iterable<Sums<FlowCodes>>
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
  readonly #flows = new Map<string, MutableSums<FlowCodes>>()
  readonly #flowsByCells = new Map<string, MutableSums<FlowCodes>>()
  readonly #diagnoses = new Map<string, Diagnosis>()
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
    const hasRace = ranges.RACA_COR !== undefined
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
      const procedure = readCell(bytes, start, 'PROC_REA')
      const diagnosis = this.#findDiagnosis(readCell(bytes, start, 'DIAG_PRINC'))
      const isCompared =
        admissionCount === 1 &&
        diagnosis.category !== '' &&
        isInIcsapUniverse(procedure.trimEnd(), diagnosis.code)
      values[9] = Number(isCompared)
      values[10] = Number(isCompared && diagnosis.icsapGroup !== OUTSIDE_ICSAP)
      if (values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: 'unreadable_number' })
        return
      }
      const municipality = readCell(bytes, start, 'MUNIC_MOV')
      const complexity = readCell(bytes, start, 'COMPLEX')
      const financing = readCell(bytes, start, 'FINANC')
      const hospital = this.#findHospital([
        readCell(bytes, start, 'CNES'),
        municipality,
        procedure,
        readCell(bytes, start, 'CAR_INT'),
        complexity,
        financing,
      ])
      if (hospital === null) {
        this.#setAside.push({ row, reason: 'no_procedure' })
        return
      }
      if (partColumns !== null && sumCents(bytes, start, partColumns) !== total) this.#unequalRows += 1
      if (identity !== '1' && identity !== '3' && identity !== '5') this.#otherKindRows += 1
      const home = readCell(bytes, start, 'MUNIC_RES')
      const residence = this.#findResidence(
        home,
        diagnosis,
        ageGroupOf(readText(bytes, start, 'COD_IDADE'), readNumber(bytes, start, 'IDADE', 0)),
        readText(bytes, start, 'SEXO'),
        hasRace ? readText(bytes, start, 'RACA_COR') : null,
      )
      const flow = this.#findFlow(home, municipality, diagnosis, complexity, financing)
      addValues(this.#totals, values)
      addValues(hospital.values, values)
      addValues(residence.values, values)
      addValues(flow.values, values)
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

  /** @param cell untrimmed cell */
  #findDiagnosis(cell: string): Diagnosis {
    const diagnosis = this.#diagnoses.get(cell) ?? parseDiagnosis(cell.trim())
    this.#diagnoses.set(cell, diagnosis)
    return diagnosis
  }

  /** @param municipality untrimmed cell; @param race null if the file has no such column */
  #findResidence(
    municipality: string,
    { category, chapter, icsapGroup, causeGroup, key: diagnosisKey }: Diagnosis,
    ageGroup: string,
    sex: string,
    race: string | null,
  ): MutableSums<ResidenceCodes> {
    const sexCode = parseSex(sex)
    const raceCode = race === null ? '' : parseRace(race)
    const key = `${municipality}|${diagnosisKey}|${ageGroup}|${sexCode}|${raceCode}`
    let group = this.#residencesByCells.get(key)
    if (group === undefined) {
      group = findOrAddGroup(this.#residences, [
        parseMunicipality(municipality),
        category,
        chapter,
        icsapGroup,
        causeGroup,
        ageGroup,
        sexCode,
        raceCode,
      ])
      this.#residencesByCells.set(key, group)
    }
    return group
  }

  #findFlow(
    residence: string,
    hospital: string,
    { chapter }: Diagnosis,
    complexity: string,
    financing: string,
  ): MutableSums<FlowCodes> {
    const key = `${residence}|${hospital}|${chapter}|${complexity}|${financing}`
    let group = this.#flowsByCells.get(key)
    if (group === undefined) {
      group = findOrAddGroup(this.#flows, [
        parseMunicipality(residence),
        parseMunicipality(hospital),
        chapter,
        parseCode(complexity),
        parseCode(financing),
      ])
      this.#flowsByCells.set(key, group)
    }
    return group
  }

  result(): Omit<ReadAdmissions, 'bytes' | 'sha256' | 'rows' | 'columns'> {
    return {
      byHospital: this.#hospitals.values(),
      byResidence: this.#residences.values(),
      byFlow: this.#flows.values(),
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
