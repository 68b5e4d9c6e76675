/**
 * Reads files of deaths by state of residence and year (DOUFAAAA.dbc, DORUFAA.dbc before 1996) into sums by month, residence, sex,
 * age, race, cause and place. Rows are aggregated while they are read. Only the columns of model/sim/layout.ts are read, and of the
 * date only year and month.
 */
import { causeGroupOf } from '../../model/classifications/cause-groups.ts'
import { RACE_NOT_INFORMED, RACE_OF_VITAL_RECORDS } from '../../model/classifications/races.ts'
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { chapterOf } from '../../model/sih/code-lists.ts'
import { type InfantAge, PLACE_NOT_INFORMED, PLACES_OF_DEATH } from '../../model/sim/code-lists.ts'
import { CID10_FROM, COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sim/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Sums } from '../aggregated/code-groups.ts'
import { keyOfCells, openNamedCells } from '../aggregated/named-cells.ts'
import { ImportError } from '../import-error.ts'
import { type DbfHeader, type RecordVisitor, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'

/** `state`: a state. `country`: all states again. `DOREXT`: residents abroad. The others are parts of the state files or apart from them. */
export type DeathKind = 'state' | 'country' | 'DOEXT' | 'DOINF' | 'DOMAT' | 'DOFET' | 'DOREXT' | 'DORIG'

export interface DeathFileName {
  readonly kind: DeathKind
  /** State of residence; EX are residents abroad, BR the others that are of no state. */
  readonly uf: string
  /** December of the year of the deaths, YYYY12. */
  readonly period: number
}

const FILE_NAME = new RegExp(
  `^(?:(DOEXT|DOINF|DOMAT|DOFET|DOREXT|DORIG)(\\d{2})|DO([A-Z]{2})(\\d{4})|DOR([A-Z]{2})(\\d{2}))${COPY_MARK}\\.(dbc|dbf)$`,
  'i',
)
/** First year of the system; smaller two-digit years belong to this century. */
const FIRST_YEAR = 79
const DECEMBER = 12
const yearOf = (digits: string): number =>
  digits.length === 4 ? Number(digits) : (Number(digits) >= FIRST_YEAR ? 1900 : 2000) + Number(digits)

/** @returns attributes from the file name, or null if it is not a file of deaths */
export function recogniseDeathFile(fileName: string): DeathFileName | null {
  const match = FILE_NAME.exec(fileName)
  if (match === null) return null
  const [, part, partYear, state4, year4, state2, year2] = match
  const isAbroad = part?.toUpperCase() === 'DOREXT'
  const uf = (state4 ?? state2 ?? (isAbroad ? 'EX' : 'BR')).toUpperCase()
  if (part === undefined && uf !== 'BR' && !STATES.some((state) => state.uf === uf)) return null
  return {
    kind: part === undefined ? (uf === 'BR' ? 'country' : 'state') : (part.toUpperCase() as DeathKind),
    uf,
    period: yearOf(partYear ?? year4 ?? year2 ?? '') * 100 + DECEMBER,
  }
}

/** Measures, in the order in which sums are stored. */
export const MEASURES = ['deaths', 'maternal_deaths', 'premature_ncd_deaths'] as const

/** Month (YYYY00 if unknown), municipality, sex, age group, part of the first year, race, category, chapter and group of the cause, place; '' if unknown. */
export type DeathCodes = readonly [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
]

export interface ReadDeaths {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  readonly groups: Iterable<Sums<DeathCodes>>
  /** Totals of all loaded rows in the order of MEASURES, summed independently of the groups. */
  readonly totals: readonly number[]
  /** Last month (1 to 12) that has deaths; 0 without any. */
  readonly lastMonth: number
  /** Deaths whose month is missing or impossible. They count in the month 00 of the year of the file. */
  readonly withoutMonth: number
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError if the file is invalid, or none of its deaths is of the year of its name */
export async function readDeaths(path: string, name: string, nameParts: DeathFileName): Promise<ReadDeaths> {
  const aggregator = new DeathAggregator(name, Math.floor(nameParts.period / 100))
  let columns: readonly string[] = []
  const { bytes, sha256, rows, deleted } = await readDbfRecords(path, name, (header) => {
    columns = header.columns.map((column) => column.name)
    return aggregator.open(header)
  })
  const read = aggregator.result()
  const setAside = [...read.setAside, ...deleted.map((row) => ({ row, reason: 'deleted' }))]
  return { bytes, sha256, rows, columns, ...read, setAside }
}

interface Group extends Sums<DeathCodes> {
  readonly values: number[]
}
interface ParsedRow {
  /** Without a reason to set the row aside. */
  readonly group: Group | null
  readonly reason: string
  readonly isMaternal: boolean
  readonly isPrematureNcd: boolean
}

class DeathAggregator {
  readonly #name: string
  readonly #year: number
  readonly #groups = new Map<string, Group>()
  /** Caches rows by their cells, because many rows repeat the cells of an earlier one. */
  readonly #rowsByCells = new Map<string, ParsedRow>()
  readonly #totals: number[] = MEASURES.map(() => 0)
  readonly #setAside: { row: number; reason: string }[] = []
  #lastMonth = 0
  #withoutMonth = 0
  #otherYears = 0

  constructor(name: string, year: number) {
    this.#name = name
    this.#year = year
  }

  open(header: DbfHeader): RecordVisitor {
    const readCells = openNamedCells(
      this.#name,
      header,
      COLUMN_NAMES,
      OPTIONAL_COLUMNS,
      'deaths',
      'date',
      monthOfDate,
    )
    return (bytes, start, record) => {
      const cells = readCells(bytes, start)
      const key = keyOfCells(cells)
      let parsed = this.#rowsByCells.get(key)
      if (parsed === undefined) {
        parsed = this.#parse(cells)
        this.#rowsByCells.set(key, parsed)
      }
      const { group, reason, isMaternal, isPrematureNcd } = parsed
      if (group === null) {
        if (reason === 'other_year') this.#otherYears += 1
        this.#setAside.push({ row: record + 2, reason })
        return
      }
      const values = [1, isMaternal ? 1 : 0, isPrematureNcd ? 1 : 0]
      for (const [index, value] of values.entries()) {
        group.values[index] = (group.values[index] ?? 0) + value
        this.#totals[index] = (this.#totals[index] ?? 0) + value
      }
      const month = Number(group.codes[0].slice(4))
      this.#lastMonth = Math.max(this.#lastMonth, month)
      if (month === 0) this.#withoutMonth += 1
    }
  }

  #parse(cells: Readonly<Partial<Record<string, string | null>>>): ParsedRow {
    const { kind, date, age: ageCell, sex, residence, place, cause, race } = cells
    const refused = (reason: string): ParsedRow => ({
      group: null,
      reason,
      isMaternal: false,
      isPrematureNcd: false,
    })
    if (kind === FETAL) return refused('fetal_death')
    const month = date === null || date === undefined || date === '' ? `${this.#year}00` : date
    if (month.slice(0, 4) !== String(this.#year)) return refused('other_year')
    const years = yearsOf(ageCell ?? '')
    const code = (cause ?? '').replace(/X$/, '')
    const isCid10 = this.#year >= CID10_FROM && /^[A-Z]\d{2}/.test(code)
    const isCid9 = this.#year < CID10_FROM && /^\d{3}/.test(code)
    const category = isCid10 || isCid9 ? code.slice(0, 3) : ''
    const codes: DeathCodes = [
      month,
      /^\d{6,7}$/.test(residence ?? '') ? (residence ?? '').slice(0, 6) : '',
      sex === '1' ? 'M' : sex === '2' ? 'F' : '',
      years === null ? '' : (AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''),
      infantAgeOf(ageCell ?? '') ?? '',
      race === null || race === undefined ? '' : (RACE_OF_VITAL_RECORDS[race] ?? RACE_NOT_INFORMED),
      category,
      isCid10 ? (chapterOf(category) ?? '') : '',
      isCid10 ? causeGroupOf(code) : '',
      place !== null && place !== undefined && Object.hasOwn(PLACES_OF_DEATH, place)
        ? place
        : PLACE_NOT_INFORMED,
    ]
    const key = codes.join('|')
    const group = this.#groups.get(key) ?? { codes, values: MEASURES.map(() => 0) }
    this.#groups.set(key, group)
    return {
      group,
      reason: '',
      isMaternal: isCid10 && sex === '2' && isMaternalDeath(code, cells),
      isPrematureNcd: isCid10 && years !== null && years >= 30 && years < 70 && isNcd(category),
    }
  }

  result(): Pick<ReadDeaths, 'groups' | 'totals' | 'lastMonth' | 'withoutMonth' | 'setAside'> {
    if (this.#lastMonth === 0 && this.#otherYears > 0)
      throw new ImportError(
        this.#name,
        'has no death of the year of its name',
        'Give the file its published name, with the state and year of its deaths',
      )
    return {
      groups: [...this.#groups.values()],
      totals: this.#totals,
      lastMonth: this.#lastMonth,
      withoutMonth: this.#withoutMonth,
      setAside: this.#setAside,
    }
  }
}

/** TIPOBITO of a fetal death, which counts among no deaths. */
const FETAL = '1'

/** @param cell DDMMAAAA, or AAMMDD before 1996 @returns YYYYMM; '' if the month is missing or impossible */
export function monthOfDate(cell: string): string {
  const isDayFirst = /^\d{8}$/.test(cell)
  if (!isDayFirst && !/^\d{6}$/.test(cell)) return ''
  const [year, month] = isDayFirst ? [cell.slice(4), cell.slice(2, 4)] : [cell.slice(0, 2), cell.slice(2, 4)]
  if (!/^(0[1-9]|1[0-2])$/.test(month)) return ''
  return `${yearOf(year)}${month}`
}

/** @param cell unit and two digits: 0 minutes, 1 hours, 2 days, 3 months, 4 years, 5 years above 100 @returns years, or null if unknown */
export function yearsOf(cell: string): number | null {
  if (!/^[0-5]\d{2}$/.test(cell) || cell === '000') return null
  const number = Number(cell.slice(1))
  if (cell[0] === '4') return number
  return cell[0] === '5' ? 100 + number : 0
}

/** Days of the first week, and of the first four weeks. */
const [EARLY_DAYS, NEONATAL_DAYS] = [7, 28]

/** @returns part of the first year of life, or null from one year on or if the age is unknown */
export function infantAgeOf(cell: string): InfantAge | null {
  const years = yearsOf(cell)
  if (years !== 0) return null
  const number = Number(cell.slice(1))
  if (cell[0] === '4') return 'unknown'
  if (cell[0] === '3') return 'post_neonatal'
  if (cell[0] !== '2' || number < EARLY_DAYS) return 'early_neonatal'
  return number < NEONATAL_DAYS ? 'late_neonatal' : 'post_neonatal'
}

/** Causes that are maternal when the woman was pregnant, or gave birth at most 42 days before. */
const MATERNAL_IF_PREGNANT = /^(B2[0-4]|D392|E230|F53|M830)/

/**
 * Applies the official rule: chapter XV and obstetric tetanus (A34), without late deaths (O96) and sequelae (O97); HIV, malignant
 * mole, necrosis of the pituitary, mental disorders of the puerperium and puerperal osteomalacia only in pregnancy or within 42 days.
 */
export function isMaternalDeath(
  cause: string,
  { pregnancy, puerperium, moment }: Readonly<Partial<Record<string, string | null>>>,
): boolean {
  if (/^(O9[67])/.test(cause)) return false
  if (/^(O|A34)/.test(cause)) return true
  const isWithin = pregnancy === '1' || puerperium === '1' || /^[1-4]$/.test(moment ?? '')
  return MATERNAL_IF_PREGNANT.test(cause) && isWithin
}

/** @returns whether a category is one of the four chronic groups: circulatory, cancer, diabetes, chronic respiratory */
const isNcd = (category: string): boolean =>
  /^(I\d\d|C\d\d|E1[0-4]|J[3-9]\d)$/.test(category) && category <= 'J98' && !/^C9[89]$/.test(category)
