/**
 * Reads the country's file of fetal deaths of a year (DOFETAA.dbc) into sums by month, residence, sex, race, cause, length of gestation
 * and place. Its rows are in no other file. Rows of deaths that are not fetal are set aside.
 */
import { CID10_FROM, FETAL_COLUMNS, OPTIONAL_FETAL_COLUMNS } from '../../model/sim/layout.ts'
import type { Sums } from '../aggregated/code-groups.ts'
import { gestationClassOf } from '../aggregated/gestation.ts'
import { openNamedCells } from '../aggregated/named-cells.ts'
import { ImportError } from '../import-error.ts'
import type { DbfHeader, RecordVisitor } from '../readers/dbf-records.ts'
import {
  causeOf,
  FETAL,
  monthOfDate,
  municipalityOf,
  periodOf,
  placeOf,
  raceOf,
  sexOf,
} from './death-cells.ts'

/** Month (YYYY00 if unknown), municipality of residence, sex, race, category, chapter and group of the cause, gestation, place; '' if unknown. */
export type FetalCodes = readonly [string, string, string, string, string, string, string, string, string]

/** @returns class of the length of gestation; '' before 1996 and for older codes, which mean other weeks than in files of births */
const gestationOf = (cell: string | null | undefined, year: number): string =>
  year >= CID10_FROM && /^[1-6]$/.test(cell ?? '') ? gestationClassOf(cell ?? '', year) : ''

interface Group extends Sums<FetalCodes> {
  readonly values: [number]
}

export class FetalAggregator {
  readonly #name: string
  readonly #year: number
  readonly #groups = new Map<string, Group>()
  readonly #setAside: { row: number; reason: string }[] = []
  #total = 0
  #lastMonth = 0
  #withoutMonth = 0

  constructor(name: string, year: number) {
    this.#name = name
    this.#year = year
  }

  open(header: DbfHeader): RecordVisitor {
    const readCells = openNamedCells(
      this.#name,
      header,
      FETAL_COLUMNS,
      OPTIONAL_FETAL_COLUMNS,
      'fetal deaths',
      'date',
      monthOfDate,
    )
    return (bytes, start, record) => {
      const cells: Readonly<Partial<Record<string, string | null>>> = readCells(bytes, start)
      const { kind, date, residence, sex, race, cause, gestation, place } = cells
      const month = periodOf(date, this.#year)
      const reason =
        kind !== FETAL ? 'not_fetal' : month.slice(0, 4) === String(this.#year) ? null : 'other_year'
      if (reason !== null) {
        this.#setAside.push({ row: record + 2, reason })
        return
      }
      const codes: FetalCodes = [
        month,
        municipalityOf(residence),
        sexOf(sex),
        raceOf(race),
        ...causeOf(cause, this.#year).codes,
        gestationOf(gestation, this.#year),
        placeOf(place),
      ]
      const key = codes.join('|')
      const group = this.#groups.get(key) ?? { codes, values: [0] }
      this.#groups.set(key, group)
      group.values[0] += 1
      this.#total += 1
      this.#lastMonth = Math.max(this.#lastMonth, Number(month.slice(4)))
      if (month.endsWith('00')) this.#withoutMonth += 1
    }
  }

  /** @throws ImportError if the file has rows, but no fetal death of the year of its name */
  result() {
    if (this.#total === 0 && this.#setAside.length > 0)
      throw new ImportError(
        this.#name,
        'has no fetal death of the year of its name',
        'Give the file its published name, with the year of its deaths',
      )
    return {
      groups: [],
      fetal: this.#groups.values(),
      totals: [0, 0, 0],
      fetalTotal: this.#total,
      lastMonth: this.#lastMonth,
      withoutMonth: this.#withoutMonth,
      setAside: this.#setAside,
    }
  }
}
