/**
 * Reads files of births by state of residence and year (DNUFAAAA.dbc, DNRUFAA.dbc before 1996) into sums by month, residence, age of
 * the mother, weight, gestation, prenatal visits, delivery, race and sex. Rows are aggregated while they are read. Only the columns
 * of model/sinasc/layout.ts are read, and of the date only year and month.
 */
import { RACE_NOT_INFORMED, RACE_OF_VITAL_RECORDS } from '../../model/classifications/races.ts'
import { DELIVERIES } from '../../model/sinasc/code-lists.ts'
import { type BirthCell, CODES_FROM, COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sinasc/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Sums } from '../aggregated/code-groups.ts'
import { gestationClassOf } from '../aggregated/gestation.ts'
import { keyOfCells, openNamedCells } from '../aggregated/named-cells.ts'
import { ImportError } from '../import-error.ts'
import { type DbfHeader, type RecordVisitor, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'

export interface BirthFileName {
  /** State of residence of the mothers; BR repeats all states, EX are residents abroad, IG those of unknown residence. */
  readonly uf: string
  /** December of the year of the births, YYYY12. */
  readonly period: number
}

const FILE_NAME = new RegExp(
  `^DN(?:([A-Z]{2})(\\d{4})|R([A-Z]{2}|EXT)(\\d{4}|\\d{2}))${COPY_MARK}\\.(dbc|dbf)$`,
  'i',
)
/** Files that are of no state. */
const OTHER_FILES: readonly string[] = ['BR', 'EX', 'IG']
/** First year of the system; smaller two-digit years belong to this century. */
const FIRST_YEAR = 90
const DECEMBER = 12
const yearOf = (digits: string): number =>
  digits.length === 4 ? Number(digits) : (Number(digits) >= FIRST_YEAR ? 1900 : 2000) + Number(digits)

/** @returns attributes from the file name, or null if it is not a file of births */
export function recogniseBirthFile(fileName: string): BirthFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, letters, year, oldLetters, oldYear] = match
  const uf = (letters ?? oldLetters ?? '').toUpperCase().slice(0, 2)
  if (!OTHER_FILES.includes(uf) && !STATES.some((state) => state.uf === uf)) return null
  return { uf, period: yearOf(year ?? oldYear ?? '') * 100 + DECEMBER }
}

/** Measures, in the order in which sums are stored. */
export const MEASURES = ['births'] as const

/** Month (YYYY00 if unknown), municipality, age of the mother, weight, gestation, visits, delivery, race, sex; '' if unknown. */
export type BirthCodes = readonly [string, string, string, string, string, string, string, string, string]

export interface ReadBirths {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  readonly groups: Iterable<Sums<BirthCodes>>
  /** Totals of all loaded rows in the order of MEASURES, counted independently of the groups. */
  readonly totals: readonly number[]
  /** Last month (1 to 12) that has births; 0 without any. */
  readonly lastMonth: number
  /** Births whose month is missing or impossible. They count in the month 00 of the year of the file. */
  readonly withoutMonth: number
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError if the file is invalid, or its births are of another state or year than its name */
export async function readBirths(path: string, name: string, nameParts: BirthFileName): Promise<ReadBirths> {
  const aggregator = new BirthAggregator(name, nameParts)
  let columns: readonly string[] = []
  const { bytes, sha256, rows, deleted } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return aggregator.open(header)
  })
  const read = aggregator.result()
  const setAside = [...read.setAside, ...deleted.map((row) => ({ row, reason: 'deleted' }))]
  return { bytes, sha256, rows, columns, ...read, setAside }
}

interface Group extends Sums<BirthCodes> {
  readonly values: number[]
}
/** Reason to set a row aside, in place of its group. */
type Refusal = 'other_year'

class BirthAggregator {
  readonly #name: string
  readonly #year: number
  readonly #stateCode: string | null
  readonly #groups = new Map<string, Group>()
  /** Caches groups by their cells, because many rows repeat the cells of an earlier one. */
  readonly #groupsByCells = new Map<string, Group | Refusal>()
  readonly #setAside: { row: number; reason: string }[] = []
  #births = 0
  #lastMonth = 0
  #withoutMonth = 0
  #rowsInState = 0
  #otherYears = 0

  constructor(name: string, { uf, period }: BirthFileName) {
    this.#name = name
    this.#year = Math.floor(period / 100)
    const state = STATES.find((candidate) => candidate.uf === uf)
    this.#stateCode = state === undefined ? null : String(state.ibge_code)
  }

  open(header: DbfHeader): RecordVisitor {
    const readCells = openNamedCells(
      this.#name,
      header,
      COLUMN_NAMES,
      OPTIONAL_COLUMNS,
      'births',
      'date',
      (text) => monthOfBirth(text, this.#year),
    )
    return (bytes, start, record) => {
      const cells = readCells(bytes, start)
      const key = keyOfCells(cells)
      let group = this.#groupsByCells.get(key)
      if (group === undefined) {
        group = this.#findGroup(cells)
        this.#groupsByCells.set(key, group)
      }
      if (typeof group === 'string') {
        this.#otherYears += 1
        this.#setAside.push({ row: record + 2, reason: group })
        return
      }
      group.values[0] = (group.values[0] ?? 0) + 1
      this.#births += 1
      const [date, municipality] = group.codes
      const month = Number(date.slice(4))
      this.#lastMonth = Math.max(this.#lastMonth, month)
      if (month === 0) this.#withoutMonth += 1
      if (this.#stateCode === null || municipality.startsWith(this.#stateCode)) this.#rowsInState += 1
    }
  }

  #findGroup(cells: Readonly<Partial<Record<string, string | null>>>): Group | Refusal {
    const text = (cell: BirthCell): string => cells[cell] ?? ''
    const date = text('date') || `${this.#year}00`
    if (date.slice(0, 4) !== String(this.#year)) return 'other_year'
    const residence = text('residence')
    const codes: BirthCodes = [
      date,
      /^\d{6,7}$/.test(residence) ? residence.slice(0, 6) : '',
      motherAgeGroupOf(text('mother_age')),
      weightClassOf(text('weight')),
      gestationClassOf(text('gestation'), this.#year),
      PRENATAL[text('prenatal')] ?? '',
      Object.hasOwn(DELIVERIES, text('delivery')) ? text('delivery') : '',
      cells.race === null ? '' : (RACE_OF_VITAL_RECORDS[text('race')] ?? RACE_NOT_INFORMED),
      text('sex') === '1' ? 'M' : text('sex') === '2' ? 'F' : '',
    ]
    const key = codes.join('|')
    const group = this.#groups.get(key) ?? { codes, values: MEASURES.map(() => 0) }
    this.#groups.set(key, group)
    return group
  }

  result(): Pick<ReadBirths, 'groups' | 'totals' | 'lastMonth' | 'withoutMonth' | 'setAside'> {
    const isOfOtherYear = this.#lastMonth === 0 && this.#otherYears > 0
    if (isOfOtherYear || (this.#births > 0 && this.#rowsInState === 0))
      throw new ImportError(
        this.#name,
        `has no birth of the ${isOfOtherYear ? 'year' : 'state'} of its name`,
        'Give the file its published name, with the state and year of its births',
      )
    return {
      groups: this.#groups.values(),
      totals: [this.#births],
      lastMonth: this.#lastMonth,
      withoutMonth: this.#withoutMonth,
      setAside: this.#setAside,
    }
  }
}

/**
 * @param cell DDMMAAAA, or AAAAMMDD before 1996
 * @returns YYYYMM; '' if the month is missing or impossible
 */
export function monthOfBirth(cell: string, year: number): string {
  if (!/^\d{8}$/.test(cell)) return ''
  const month = year < CODES_FROM ? cell.slice(0, 6) : cell.slice(4) + cell.slice(2, 4)
  return /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(month) ? month : ''
}

/** Lower bound of each class, from the last class on. */
type Bounds = readonly (readonly [lower: number, code: string])[]
const classOf = (value: number, bounds: Bounds): string => bounds.find(([lower]) => value >= lower)?.[1] ?? ''

const AGE_BOUNDS: Bounds = [
  [50, '50+'],
  ...[45, 40, 35, 30, 25, 20, 15, 10].map((lower) => [lower, `${lower}-${lower + 4}`] as const),
  [1, '00-09'],
]
const UNKNOWN_AGE = 99
/** @param cell years; 00 and 99 are unknown @returns '' if unknown */
export const motherAgeGroupOf = (cell: string): string =>
  /^\d{1,2}$/.test(cell) && Number(cell) !== UNKNOWN_AGE ? classOf(Number(cell), AGE_BOUNDS) : ''

const WEIGHT_BOUNDS: Bounds = [
  [4000, '4000+'],
  [3000, '3000-3999'],
  [2500, '2500-2999'],
  [1500, '1500-2499'],
  [1000, '1000-1499'],
  [500, '0500-0999'],
  [1, '0001-0499'],
]
const UNKNOWN_WEIGHT = 9999
/** @param cell grams; 0 and 9999 are unknown @returns '' if unknown */
export const weightClassOf = (cell: string): string =>
  /^\d{1,4}$/.test(cell) && Number(cell) !== UNKNOWN_WEIGHT ? classOf(Number(cell), WEIGHT_BOUNDS) : ''

/** Published CONSULTAS → class of prenatal visits. */
const PRENATAL: Readonly<Record<string, string>> = {
  '1': '0',
  '2': '1-3',
  '3': '4-6',
  '4': '7+',
  '8': '1-6',
}
