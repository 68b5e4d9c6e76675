/**
 * Monthly files of outpatient production (PAUFAAMM.dbc or .dbf, of large states in parts a, b, c …) → sums by facility.
 *
 * In: a file that is named so. Out: its rows added up as they are read, what they say of themselves (the sum of a value, totals), and
 * the rows that cannot be loaded, by number and reason. Personal data stops here: columns that model/sia/layout.ts does not name
 * have no reader. Rows repeat legitimately and have no key: every one counts.
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
import { periodOfDigits, rowUnlikeName, stateMonthOf } from '../aggregated/state-month-name.ts'
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import { type DbfHeader, type RecordVisitor, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { refuseOtherTable } from '../readers/table-kinds.ts'
import { integerCell, type Sums } from '../sih/admission-files.ts'

export interface ProductionFileName {
  readonly uf: string
  /** YYYYMM of processing. */
  readonly period: number
  /** a, b, c …; WHOLE_FILE where the month is one file. */
  readonly part: string
}

const FILE_NAME = new RegExp(`^PA([A-Z]{2})(\\d{2})(0[1-9]|1[0-2])([a-z]?)${COPY_MARK}\\.(dbc|dbf)$`, 'i')

/** @returns what a file name promises, or null when it is no file of outpatient production */
export function recogniseProductionFile(fileName: string): ProductionFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, letters = '', year = '', month = '', part = ''] = match
  const found = stateMonthOf(letters, year, month)
  return found === null ? null : { ...found, part: part === '' ? WHOLE_FILE : part.toLowerCase() }
}

/** What is added up, in this order. */
export const MEASURES = [
  'records',
  'quantity_presented',
  'quantity_approved',
  'value_presented_cents',
  'value_approved_cents',
] as const

/** Of a group of rows: month of care (YYYY-MM), facility, procedure, financing, complexity, instrument, municipality as published. */
export type ProductionCodes = readonly [string, string, string, string, string, string, string]

/** Rows that a release counts, beside what it adds up. */
export interface RowCounts {
  readonly notApproved: number
  readonly ofEarlierMonths: number
  readonly approvedAbovePresented: number
}

export interface ReadProduction {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  /** Values in the order of MEASURES. */
  readonly groups: Iterable<Sums<ProductionCodes>>
  /** Of all rows that were loaded, in the order of MEASURES: added up apart from the groups. */
  readonly totals: readonly number[]
  /** Rows whose approved value is not the sum of its parts; null where the file has not all of them. */
  readonly unequalValues: number | null
  readonly counts: RowCounts
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError where it is no such file, or its rows are of another state or month than its name says */
export async function readProduction(
  path: string,
  name: string,
  promise: Pick<ProductionFileName, 'uf' | 'period'>,
): Promise<ReadProduction> {
  const tally = new Tally(name, promise.uf, promise.period)
  let columns: readonly string[] = []
  const { bytes, sha256, rows, deleted } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return tally.open(header)
  })
  const read = tally.result()
  const setAside = [...read.setAside, ...deleted.map((row) => ({ row, reason: 'deleted' }))]
  return { bytes, sha256, rows, columns, ...read, setAside }
}

type Place = Pick<DbfColumn, 'offset' | 'length'>

/** What tells groups apart, in the order in which its cells make a key. */
const KEY_CELLS = [
  'care',
  'facility',
  'procedure',
  'financing',
  'complexity',
  'instrument',
  'municipality',
] as const satisfies readonly ProductionCell[]

/** Sums of a group begin at its number times this. */
const WIDTH = MEASURES.length
const FIRST_GROUPS = 4096
/** Stands for a group whose codes cannot be loaded. */
const REFUSED = -1

class Tally {
  readonly #name: string
  readonly #period: number
  readonly #stateCode: string
  /** Cells as published, one after another → number of the group, or REFUSED. */
  readonly #numbers = new Map<string, number>()
  readonly #codes: ProductionCodes[] = []
  /** Of refused groups. */
  readonly #reasons = new Map<string, string>()
  /** Sums of all groups in one array: an object a group takes three times the memory. */
  #sums = new Float64Array(FIRST_GROUPS * WIDTH)
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: { row: number; reason: string }[] = []
  #hasParts = false
  #unequal = 0
  #ofState = 0
  #loaded = 0
  #notApproved = 0
  #earlier = 0
  #above = 0

  constructor(name: string, uf: string, period: number) {
    this.#name = name
    this.#period = period
    this.#stateCode = String(STATES.find((state) => state.uf === uf)?.ibge_code ?? '')
  }

  open({ columns }: DbfHeader): RecordVisitor {
    const byName = new Map(columns.map((column): [string, Place] => [column.name, column]))
    const placeOf = (names: readonly string[]): Place | undefined =>
      names.flatMap((column) => byName.get(column) ?? [])[0]
    refuseOtherTable(this.#name, 'PA', [...byName.keys()])
    const required = this.#requirePlaces(placeOf)
    const { processing, presented, approved, presentedValue, approvedValue, status } = required
    const optional = Object.entries(OPTIONAL_COLUMNS).map(([cell, names]) => [cell, placeOf(names)] as const)
    const places: Readonly<Record<string, Place | undefined>> = {
      ...required,
      ...Object.fromEntries(optional),
    }
    const keyPlaces = KEY_CELLS.map((cell) => places[cell])
    const present = keyPlaces.flatMap((place) => place ?? [])
    const key = Buffer.alloc(present.reduce((sum, { length }) => sum + length, 0))
    const price = byName.get(PRICE_COLUMN)
    const complements = COMPLEMENT_COLUMNS.flatMap((column) => byName.get(column) ?? [])
    this.#hasParts = price !== undefined && complements.length === COMPLEMENT_COLUMNS.length
    // Months of two digits of a year in files before 2006.
    const month = Buffer.from(String(this.#period).slice(-processing.length), 'latin1')
    const ofMonth = periodText(this.#period)
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
      for (const { offset, length } of present)
        for (let at = start + offset; at < start + offset + length; at += 1) {
          key[end] = bytes[at] as number
          end += 1
        }
      const text = key.toString('latin1', 0, end)
      const number = this.#numbers.get(text) ?? this.#addGroup(text, keyPlaces)
      if (number === REFUSED || values.some(Number.isNaN)) {
        this.#setAside.push({ row, reason: this.#reasons.get(text) ?? 'unreadable_number' })
        return
      }
      if (this.#hasParts && price !== undefined) {
        let sum = approvedQuantity * integerCell(bytes, start + price.offset, price.length, 2)
        for (const { offset, length } of complements) sum += integerCell(bytes, start + offset, length, 2)
        if (sum !== approvedCents) this.#unequal += 1
      }
      this.#loaded += 1
      if (bytes[start + status.offset] === NOT_APPROVED) this.#notApproved += 1
      if (approvedQuantity > (values[1] ?? 0)) this.#above += 1
      const [care, , , , , , municipality] = this.#codes[number] as ProductionCodes
      if (municipality.startsWith(this.#stateCode)) this.#ofState += 1
      if (care !== ofMonth) this.#earlier += 1
      for (let index = 0; index < WIDTH; index += 1) {
        const value = values[index] as number
        this.#sums[number * WIDTH + index] = (this.#sums[number * WIDTH + index] as number) + value
        this.#totals[index] = (this.#totals[index] as number) + value
      }
    }
  }

  #requirePlaces(
    placeOf: (names: readonly string[]) => Place | undefined,
  ): Readonly<Record<keyof typeof COLUMN_NAMES, Place>> {
    const found = Object.entries(COLUMN_NAMES).map(([cell, names]) => [cell, names, placeOf(names)] as const)
    const missing = found.filter(([, , place]) => place === undefined)
    if (missing.length > 0)
      throw new ImportError(
        this.#name,
        `lacks the column ${missing.map(([, names]) => names.join(' or ')).join(', ')} of a PA file`,
        'Check that the file has its published name, or fetch it again',
      )
    return Object.fromEntries(found.map(([cell, , place]) => [cell, place])) as Record<
      keyof typeof COLUMN_NAMES,
      Place
    >
  }

  /** Codes are checked once a group, not once a row. @param key cells as published, one after another */
  #addGroup(key: string, places: readonly (Place | undefined)[]): number {
    let at = 0
    const cells = places.map((place) => {
      if (place === undefined) return ''
      at += place.length
      return key.slice(at - place.length, at).trim()
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
      this.#numbers.set(key, REFUSED)
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
    this.#numbers.set(key, number)
    if ((number + 1) * WIDTH > this.#sums.length) {
      const more = new Float64Array(this.#sums.length * 2)
      more.set(this.#sums)
      this.#sums = more
    }
    return number
  }

  result(): Omit<ReadProduction, 'bytes' | 'sha256' | 'rows' | 'columns'> {
    // Facilities of another state may be in the file; where all of them are, it is that state's file.
    if (this.#loaded > 0 && this.#ofState === 0)
      throw rowUnlikeName(this.#name, {
        row: 2,
        column: COLUMN_NAMES.municipality.join(' or '),
        what: 'state',
        isFirst: true,
      })
    return {
      groups: this.#codes.map((codes, number) => ({
        codes,
        values: this.#sums.subarray(number * WIDTH, (number + 1) * WIDTH),
      })),
      totals: this.#totals,
      unequalValues: this.#hasParts ? this.#unequal : null,
      counts: {
        notApproved: this.#notApproved,
        ofEarlierMonths: this.#earlier,
        approvedAbovePresented: this.#above,
      },
      setAside: this.#setAside,
    }
  }
}

/** PA_INDICA of what was not approved. */
const NOT_APPROVED = 0x30

const periodText = (period: number): string => `${String(period).slice(0, 4)}-${String(period).slice(4)}`
/** 10 digits of SIGTAP; before 2008 3, later 7 of the table of that time. */
const isProcedure = (cell: string): boolean => /^(\d{3}|\d{7,8}|\d{10})$/.test(cell)

/** @param cell AAAAMM or AAMM; @returns YYYY-MM, or null where it is no month */
export function careMonthOf(cell: string): string | null {
  if (!/^(19|20)?\d{2}(0[1-9]|1[0-2])$/.test(cell)) return null
  return periodText(cell.length === 6 ? Number(cell) : periodOfDigits(cell.slice(0, 2), cell.slice(2)))
}
