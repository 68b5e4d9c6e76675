/**
 * Reads the country's file of fetal deaths of a year (DOFETAA.dbc) into sums by month, residence, sex, race, cause, length of gestation
 * and place. Its rows are in no other file. Rows of deaths that are not fetal are set aside.
 */
import { CID10_FROM, FETAL_COLUMNS, OPTIONAL_FETAL_COLUMNS } from '../../model/sim/layout.ts'
import { gestationClassOf } from '../aggregated/gestation.ts'
import { type ParsedRecord, type RecordCells, readYearSums, type YearSums } from '../aggregated/year-sums.ts'
import { ImportError } from '../import-error.ts'
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

/** @returns class of the length of gestation; '' before 1996, and for the codes 7 (28 weeks and more) and A (21 to 27), which no class has */
const gestationOf = (cell: string | null | undefined, year: number): string =>
  year >= CID10_FROM && /^[1-68]$/.test(cell ?? '') ? gestationClassOf(cell ?? '', year) : ''

/** @throws ImportError if the file is invalid, or has rows, but no fetal death of the year of its name */
export async function readFetalDeaths(
  path: string,
  name: string,
  year: number,
): Promise<YearSums<FetalCodes>> {
  const read = await readYearSums<FetalCodes>(path, name, {
    required: FETAL_COLUMNS,
    optional: OPTIONAL_FETAL_COLUMNS,
    records: 'fetal deaths',
    monthOf: monthOfDate,
    measures: 1,
    parse: (cells) => parseFetalDeath(cells, year),
  })
  if (read.totals[0] === 0 && read.rows > 0)
    throw new ImportError(
      name,
      'has no fetal death of the year of its name',
      'Give the file its published name, with the year of its deaths',
    )
  return read
}

function parseFetalDeath(cells: RecordCells, year: number): ParsedRecord<FetalCodes> {
  const { kind, date, residence, sex, race, cause, gestation, place } = cells
  if (kind !== FETAL) return 'not_fetal'
  const month = periodOf(date, year)
  if (month.slice(0, 4) !== String(year)) return 'other_year'
  return {
    codes: [
      month,
      municipalityOf(residence),
      sexOf(sex),
      raceOf(race),
      ...causeOf(cause, year).codes,
      gestationOf(gestation, year),
      placeOf(place, year),
    ],
    adds: [1],
  }
}
