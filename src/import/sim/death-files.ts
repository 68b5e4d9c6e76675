/**
 * Reads files of deaths by state of residence and year (DOUFAAAA.dbc, DORUFAA.dbc before 1996) into sums by month, residence,
 * municipality of the death, sex, age, race, cause and place. Rows are aggregated while they are read. Only the columns of
 * model/sim/layout.ts are read, and of the date only year and month.
 */
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sim/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Sums } from '../aggregated/code-groups.ts'
import { keyOfCells, openNamedCells } from '../aggregated/named-cells.ts'
import { ImportError } from '../import-error.ts'
import { type DbfHeader, type RecordVisitor, readDbfRecords } from '../readers/dbf-records.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import {
  causeOf,
  FETAL,
  infantAgeOf,
  isMaternalDeath,
  isNcd,
  monthOfDate,
  municipalityOf,
  periodOf,
  placeOf,
  raceOf,
  sexOf,
  yearOf,
  yearsOf,
} from './death-cells.ts'
import { FetalAggregator, type FetalCodes } from './fetal-files.ts'

/** `state`: a state. `country`: all states again. `DOREXT`: residents abroad. The others are parts of the state files or apart from them. */
export type DeathKind = 'state' | 'country' | 'DOEXT' | 'DOINF' | 'DOMAT' | 'DOFET' | 'DOREXT' | 'DORIG'

export interface DeathFileName {
  readonly kind: DeathKind
  /** State of residence; EX are residents abroad, BR files of the country. */
  readonly uf: string
  /** December of the year of the deaths, YYYY12. */
  readonly period: number
}

const FILE_NAME = new RegExp(
  `^(?:(DOEXT|DOINF|DOMAT|DOFET|DOREXT|DORIG)(\\d{2})|DO([A-Z]{2})(\\d{4})|DOR([A-Z]{2})(\\d{2}))${COPY_MARK}\\.(dbc|dbf)$`,
  'i',
)
const DECEMBER = 12

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

/** Month (YYYY00 if unknown), municipalities of residence and of occurrence, sex, age group, part of the first year, race, category, chapter and group of the cause, place; '' if unknown. */
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
  string,
]

export interface ReadDeaths {
  readonly bytes: number
  readonly sha256: string
  readonly rows: number
  readonly columns: readonly string[]
  readonly groups: Iterable<Sums<DeathCodes>>
  /** Fetal deaths, of which only DOFET has some. */
  readonly fetal: Iterable<Sums<FetalCodes>>
  /** Totals of all loaded rows in the order of MEASURES, summed independently of the groups. */
  readonly totals: readonly number[]
  readonly fetalTotal: number
  /** Last month (1 to 12) that has deaths; 0 without any. */
  readonly lastMonth: number
  /** Deaths whose month is missing or impossible. They count in the month 00 of the year of the file. */
  readonly withoutMonth: number
  readonly setAside: readonly { readonly row: number; readonly reason: string }[]
}

/** @throws ImportError if the file is invalid, or none of its deaths is of the year of its name */
export async function readDeaths(path: string, name: string, nameParts: DeathFileName): Promise<ReadDeaths> {
  const year = Math.floor(nameParts.period / 100)
  const aggregator =
    nameParts.kind === 'DOFET' ? new FetalAggregator(name, year) : new DeathAggregator(name, year)
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
    const { kind, date, age: ageCell, sex, residence, occurrence, place, cause, race } = cells
    const refused = (reason: string): ParsedRow => ({
      group: null,
      reason,
      isMaternal: false,
      isPrematureNcd: false,
    })
    if (kind === FETAL) return refused('fetal_death')
    const month = periodOf(date, this.#year)
    if (month.slice(0, 4) !== String(this.#year)) return refused('other_year')
    const years = yearsOf(ageCell ?? '')
    const { code, isCid10, codes: causeCodes } = causeOf(cause, this.#year)
    const codes: DeathCodes = [
      month,
      municipalityOf(residence),
      municipalityOf(occurrence),
      sexOf(sex),
      years === null ? '' : (AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''),
      infantAgeOf(ageCell ?? '') ?? '',
      raceOf(race),
      ...causeCodes,
      placeOf(place),
    ]
    const key = codes.join('|')
    const group = this.#groups.get(key) ?? { codes, values: MEASURES.map(() => 0) }
    this.#groups.set(key, group)
    return {
      group,
      reason: '',
      isMaternal: isCid10 && sex === '2' && isMaternalDeath(code, cells),
      isPrematureNcd: isCid10 && years !== null && years >= 30 && years < 70 && isNcd(causeCodes[0]),
    }
  }

  result(): Omit<ReadDeaths, 'bytes' | 'sha256' | 'rows' | 'columns'> {
    if (this.#lastMonth === 0 && this.#otherYears > 0)
      throw new ImportError(
        this.#name,
        'has no death of the year of its name',
        'Give the file its published name, with the state and year of its deaths',
      )
    return {
      groups: [...this.#groups.values()],
      fetal: [],
      totals: this.#totals,
      fetalTotal: 0,
      lastMonth: this.#lastMonth,
      withoutMonth: this.#withoutMonth,
      setAside: this.#setAside,
    }
  }
}
