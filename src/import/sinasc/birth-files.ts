/**
 * Reads files of births by state of residence and year (DNUFAAAA.dbc, DNRUFAA.dbc before 1996) into sums by month, residence, age of
 * the mother, weight, gestation, prenatal visits, delivery, race and sex. Only the columns of model/sinasc/layout.ts are read, and of
 * the date only year and month.
 */
import { RACE_NOT_INFORMED, RACE_OF_VITAL_RECORDS } from '../../model/classifications/races.ts'
import { DELIVERIES } from '../../model/sinasc/code-lists.ts'
import { type BirthCell, CODES_FROM, COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sinasc/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import { gestationClassOf } from '../aggregated/gestation.ts'
import { monthOrUnknown } from '../aggregated/months-of-year.ts'
import {
  type ParsedRecord,
  type RecordCells,
  readYearSums,
  refuseMisnamedFile,
  type YearSums,
} from '../aggregated/year-sums.ts'
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

/** @throws ImportError if the file is invalid, or its births are of another state or year than its name */
export async function readBirths(
  path: string,
  name: string,
  { uf, period }: BirthFileName,
): Promise<YearSums<BirthCodes>> {
  const year = Math.floor(period / 100)
  const read = await readYearSums<BirthCodes>(path, name, {
    required: COLUMN_NAMES,
    optional: OPTIONAL_COLUMNS,
    records: 'births',
    monthOf: (text) => monthOfBirth(text, year),
    measures: MEASURES.length,
    parse: (cells) => parseBirth(cells, year),
  })
  refuseMisnamedFile(name, uf, 'birth', read)
  return read
}

function parseBirth(cells: RecordCells, year: number): ParsedRecord<BirthCodes> {
  const text = (cell: BirthCell): string => cells[cell] ?? ''
  const date = text('date') || `${year}00`
  if (date.slice(0, 4) !== String(year)) return 'other_year'
  const residence = text('residence')
  return {
    codes: [
      date,
      /^\d{6,7}$/.test(residence) ? residence.slice(0, 6) : '',
      motherAgeGroupOf(text('mother_age')),
      weightClassOf(text('weight')),
      gestationClassOf(text('gestation'), year),
      PRENATAL[text('prenatal')] ?? '',
      deliveryOf(text('delivery'), year),
      cells.race === null ? '' : (RACE_OF_VITAL_RECORDS[text('race')] ?? RACE_NOT_INFORMED),
      text('sex') === '1' ? 'M' : text('sex') === '2' ? 'F' : '',
    ],
    adds: [1],
  }
}

/**
 * @param cell DDMMAAAA, or AAAAMMDD before 1996
 * @returns YYYYMM; '' if the month or year is missing or impossible
 */
export function monthOfBirth(cell: string, year: number): string {
  if (!/^\d{8}$/.test(cell)) return ''
  return monthOrUnknown(year < CODES_FROM ? cell.slice(0, 6) : cell.slice(4) + cell.slice(2, 4))
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

/** Codes of 1994 and 1995 only; later, they say nothing. */
const OLD_DELIVERIES = ['3', '4']
/** @returns '' if unknown */
export const deliveryOf = (cell: string, year: number): string =>
  Object.hasOwn(DELIVERIES, cell) && (year < CODES_FROM || !OLD_DELIVERIES.includes(cell)) ? cell : ''

/** Published CONSULTAS → class of prenatal visits. */
const PRENATAL: Readonly<Record<string, string>> = {
  '1': '0',
  '2': '1-3',
  '3': '4-6',
  '4': '7+',
  '8': '1-6',
}
