/**
 * Reads monthly files of outpatient production (PAUFAAMM.dbc or .dbf; large states publish parts a, b, c …) into sums by
 * facility. Rows are aggregated while they are read. The result holds the groups, totals and row counts for checks, and rejected
 * rows by number and reason. Columns that model/sia/layout.ts does not list are never read, because they may be personal. Rows
 * have no key and may legitimately repeat, so every row counts.
 */
import { NO_INSTRUMENT, WHOLE_FILE } from '../../model/sia/code-lists.ts'
import {
  COLUMN_NAMES,
  COMPLEMENT_COLUMNS,
  FACILITIES_FROM,
  OPTIONAL_COLUMNS,
  PRICE_COLUMN,
  type ProductionCell,
} from '../../model/sia/layout.ts'
import { NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'
import { STATES } from '../../model/territory/states.ts'
import { Sums } from '../aggregated/code-groups.ts'
import { periodOfDigits, rowUnlikeName, stateMonthOf } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import {
  type DbfHeader,
  type ReadFile,
  type RecordVisitor,
  readDbfRecords,
  type SetAside,
} from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'
import { integerCell } from '../sih/admission-cells.ts'

export interface ProductionFileName {
  readonly uf: string
  /** Month of processing, YYYYMM. */
  readonly period: number
  /** a, b, c …, or WHOLE_FILE if the month is one file. */
  readonly part: string
}

const FILE_NAME = new RegExp(`^PA([A-Z]{2})(\\d{2})(0[1-9]|1[0-2])([a-z]?)${COPY_MARK}\\.(dbc|dbf)$`, 'i')

/** @returns attributes from the file name, or null if it is not a production file */
export function recogniseProductionFile(fileName: string): ProductionFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, letters = '', year = '', month = '', part = ''] = match
  const found = stateMonthOf(letters, year, month)
  return found === null ? null : { ...found, part: part === '' ? WHOLE_FILE : part.toLowerCase() }
}

/** Measures, in the order in which sums are stored. */
export const MEASURES = [
  'records',
  'quantity_presented',
  'quantity_approved',
  'value_presented_cents',
  'value_approved_cents',
] as const

/** Codes of a group: month of care (YYYY-MM), facility, procedure, financing, complexity, instrument, municipality as published. */
export type ProductionCodes = readonly [string, string, string, string, string, string, string]

/** Counts of unusual rows for the manifest. */
export interface RowCounts {
  readonly notApproved: number
  readonly ofEarlierMonths: number
  readonly approvedAbovePresented: number
}

export interface ReadProduction extends Omit<ReadFile, 'deleted'> {
  readonly groups: Iterable<Sums<ProductionCodes>>
  /** Totals of all loaded rows in the order of MEASURES, summed independently of the groups. */
  readonly totals: readonly number[]
  /** Rows whose approved value differs from the sum of its parts; null if the file lacks a part. */
  readonly unequalValues: number | null
  readonly counts: RowCounts
  readonly setAside: readonly SetAside[]
}

/** @throws ImportError if the file is invalid, or its rows belong to another state or month than its name */
export async function readProduction(
  path: string,
  name: string,
  nameParts: ProductionFileName,
): Promise<ReadProduction> {
  const aggregator = new ProductionAggregator(name, nameParts.uf, nameParts.period)
  const { deleted, ...file } = await readDbfRecords(path, name, (header) => aggregator.open(header))
  const read = aggregator.result()
  return { ...file, ...read, setAside: [...read.setAside, ...deleted] }
}

type CellRange = Pick<DbfColumn, 'offset' | 'length'>

/** Cells that form the key of a group, in key order. */
const KEY_CELLS = [
  'care',
  'facility',
  'procedure',
  'financing',
  'complexity',
  'instrument',
  'municipality',
] as const satisfies readonly ProductionCell[]

/** Number of sums per group. The sums of group n begin at n × WIDTH. */
const WIDTH = MEASURES.length
const FIRST_GROUPS = 4096
/** Group number of rows whose codes cannot be loaded. */
const REFUSED = -1

class ProductionAggregator {
  readonly #name: string
  readonly #period: number
  readonly #stateCode: string
  /** Concatenated published cells → group number, or REFUSED. */
  readonly #groupNumbers = new Map<string, number>()
  readonly #codes: ProductionCodes[] = []
  readonly #reasons = new Map<string, string>()
  /** Sums of all groups in one array. One object per group would take three times the memory. */
  #sums = new Float64Array(FIRST_GROUPS * WIDTH)
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: SetAside[] = []
  #hasValueParts = false
  #unequalRows = 0
  #rowsInState = 0
  #loadedRows = 0
  #notApprovedRows = 0
  #earlierRows = 0
  #aboveRows = 0

  constructor(name: string, uf: string, period: number) {
    this.#name = name
    this.#period = period
    this.#stateCode = String(STATES.find((state) => state.uf === uf)?.ibge_code ?? '')
  }

  open({ columns }: DbfHeader): RecordVisitor {
    const byName = new Map(columns.map((column): [string, CellRange] => [column.name, column]))
    const findRange = (names: readonly string[]): CellRange | undefined =>
      names.flatMap((column) => byName.get(column) ?? [])[0]
    refuseOtherTable(this.#name, 'PA', [...byName.keys()])
    const required = this.#requireRanges(findRange)
    const { processing, presented, approved, presentedValue, approvedValue, status } = required
    const optional = Object.entries(OPTIONAL_COLUMNS).map(
      ([cell, names]) => [cell, findRange(names)] as const,
    )
    const ranges: Readonly<Record<string, CellRange | undefined>> = {
      ...required,
      ...Object.fromEntries(optional),
    }
    const keyRanges = KEY_CELLS.map((cell) => ranges[cell])
    const presentRanges = keyRanges.flatMap((range) => range ?? [])
    const key = Buffer.alloc(presentRanges.reduce((sum, { length }) => sum + length, 0))
    const price = byName.get(PRICE_COLUMN)
    const complements = COMPLEMENT_COLUMNS.flatMap((column) => byName.get(column) ?? [])
    this.#hasValueParts = price !== undefined && complements.length === COMPLEMENT_COLUMNS.length
    // Files before 2006 write the year with two digits.
    const month = Buffer.from(String(this.#period).slice(-processing.length), 'latin1')
    const processingMonth = formatPeriod(this.#period)
    const values = MEASURES.map(() => 1)
    return (bytes, start, record) => {
      const row = record + 2
      if (
        bytes.compare(
          month,
          0,
          month.length,
          start + processing.offset,
          start + processing.offset + month.length,
        ) !== 0
      )
        throw rowUnlikeName(this.#name, {
          row,
          column: COLUMN_NAMES.processing.join(' or '),
          what: 'month',
          isFirst: row === 2,
        })
      const approvedQuantity = integerCell(bytes, start + approved.offset, approved.length, 0)
      const approvedCents = integerCell(bytes, start + approvedValue.offset, approvedValue.length, 2)
      values[1] = integerCell(bytes, start + presented.offset, presented.length, 0)
      values[2] = approvedQuantity
      values[3] = integerCell(bytes, start + presentedValue.offset, presentedValue.length, 2)
      values[4] = approvedCents
      let end = 0
      for (const { offset, length } of presentRanges)
        for (let position = start + offset; position < start + offset + length; position += 1) {
          key[end] = bytes[position] as number
          end += 1
        }
      const text = key.toString('latin1', 0, end)
      const number = this.#groupNumbers.get(text) ?? this.#addGroup(text, keyRanges)
      if (number === REFUSED || values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: this.#reasons.get(text) ?? 'unreadable_number' })
        return
      }
      if (this.#hasValueParts && price !== undefined) {
        let sum = approvedQuantity * integerCell(bytes, start + price.offset, price.length, 2)
        for (const { offset, length } of complements) sum += integerCell(bytes, start + offset, length, 2)
        // A sum with an empty part is not a number, and cannot be compared.
        if (!Number.isNaN(sum) && sum !== approvedCents) this.#unequalRows += 1
      }
      this.#loadedRows += 1
      if (bytes[start + status.offset] === NOT_APPROVED) this.#notApprovedRows += 1
      if (approvedQuantity > (values[1] ?? 0)) this.#aboveRows += 1
      const [care, , , , , , municipality] = this.#codes[number] as ProductionCodes
      if (municipality.startsWith(this.#stateCode)) this.#rowsInState += 1
      if (care !== processingMonth) this.#earlierRows += 1
      for (let index = 0; index < WIDTH; index += 1) {
        const value = values[index] as number
        this.#sums[number * WIDTH + index] = (this.#sums[number * WIDTH + index] as number) + value
        this.#totals[index] = (this.#totals[index] as number) + value
      }
    }
  }

  #requireRanges(
    findRange: (names: readonly string[]) => CellRange | undefined,
  ): Readonly<Record<keyof typeof COLUMN_NAMES, CellRange>> {
    const found = Object.entries(COLUMN_NAMES).map(
      ([cell, names]) => [cell, names, findRange(names)] as const,
    )
    const missing = found.filter(([, , range]) => range === undefined)
    if (missing.length > 0)
      throw new ImportError(
        this.#name,
        `lacks the column ${missing.map(([, names]) => names.join(' or ')).join(', ')} of a PA file`,
        'Check that the file has its published name, or fetch it again',
      )
    return Object.fromEntries(found.map(([cell, , range]) => [cell, range])) as Record<
      keyof typeof COLUMN_NAMES,
      CellRange
    >
  }

  /** Validates codes once per group instead of once per row. @param key concatenated published cells */
  #addGroup(key: string, ranges: readonly (CellRange | undefined)[]): number {
    let position = 0
    const cells = ranges.map((range) => {
      if (range === undefined) return ''
      position += range.length
      return key.slice(position - range.length, position).trim()
    })
    const [
      care = '',
      facility = '',
      procedure = '',
      financing = '',
      complexity = '',
      instrument = '',
      municipality = '',
    ] = cells
    const month = careMonthOf(care)
    const reason = month === null ? 'no_month_of_care' : isProcedure(procedure) ? null : 'no_procedure'
    if (month === null || reason !== null) {
      this.#reasons.set(key, reason ?? '')
      this.#groupNumbers.set(key, REFUSED)
      return REFUSED
    }
    const number = this.#codes.length
    this.#codes.push([
      month,
      this.#period >= FACILITIES_FROM && /^\d{7}$/.test(facility) ? facility : NO_FACILITY,
      procedure,
      /^\d{2}$/.test(financing) ? financing : NOT_INFORMED,
      /^\d$/.test(complexity) ? `0${complexity}` : NOT_INFORMED,
      /^[A-Z]$/.test(instrument) ? instrument : NO_INSTRUMENT,
      /^\d+$/.test(municipality) ? municipality : '',
    ])
    this.#groupNumbers.set(key, number)
    if ((number + 1) * WIDTH > this.#sums.length) {
      const enlarged = new Float64Array(this.#sums.length * 2)
      enlarged.set(this.#sums)
      this.#sums = enlarged
    }
    return number
  }

  result(): Omit<ReadProduction, keyof ReadFile> {
    // Some facilities may lie in another state. If all do, the file belongs to that state.
    if (this.#loadedRows > 0 && this.#rowsInState === 0)
      throw rowUnlikeName(this.#name, {
        row: 2,
        column: COLUMN_NAMES.municipality.join(' or '),
        what: 'state',
        isFirst: true,
      })
    return {
      groups: this.#codes.map(
        (codes, number) =>
          new Sums(codes.join('|'), this.#sums.subarray(number * WIDTH, (number + 1) * WIDTH)),
      ),
      totals: this.#totals,
      unequalValues: this.#hasValueParts ? this.#unequalRows : null,
      counts: {
        notApproved: this.#notApprovedRows,
        ofEarlierMonths: this.#earlierRows,
        approvedAbovePresented: this.#aboveRows,
      },
      setAside: this.#setAside,
    }
  }
}

/** PA_INDICA of rows that were not approved. */
const NOT_APPROVED = 0x30

const formatPeriod = (period: number): string => `${String(period).slice(0, 4)}-${String(period).slice(4)}`
/** Tests for 10 digits of SIGTAP, or for 3, 7 or 8 digits of the tables before 2008. */
const isProcedure = (cell: string): boolean => /^(\d{3}|\d{7,8}|\d{10})$/.test(cell)

/** @param cell AAAAMM or AAMM; @returns YYYY-MM, or null if it is not a month */
export function careMonthOf(cell: string): string | null {
  if (!/^(19|20)?\d{2}(0[1-9]|1[0-2])$/.test(cell)) return null
  return formatPeriod(cell.length === 6 ? Number(cell) : periodOfDigits(cell.slice(0, 2), cell.slice(2)))
}
