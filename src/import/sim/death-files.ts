/**
 * Reads files of deaths by state of residence and year (DOUFAAAA.dbc, DORUFAA.dbc before 1996) into sums by month, residence,
 * municipality of the death, sex, age, race, cause and place. Only the columns of model/sim/layout.ts are read, and of the date
 * only year and month.
 */
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sim/layout.ts'
import { STATES } from '../../model/territory/states.ts'
import { CodeGroups, type Sums } from '../aggregated/code-groups.ts'
import {
  type ParsedRecord,
  type RecordCells,
  readYearSums,
  refuseMisnamedFile,
  type YearSums,
} from '../aggregated/year-sums.ts'
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
import { type FetalCodes, readFetalDeaths } from './fetal-files.ts'

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

export interface ReadDeaths extends YearSums<DeathCodes> {
  /** Fetal deaths, of which only DOFET has some. */
  readonly fetal: Iterable<Sums<FetalCodes>>
  readonly fetalTotal: number
}

/** @throws ImportError if the file is invalid, or its deaths are of another state or year than its name */
export async function readDeaths(path: string, name: string, nameParts: DeathFileName): Promise<ReadDeaths> {
  const year = Math.floor(nameParts.period / 100)
  if (nameParts.kind === 'DOFET') {
    const { groups, totals, ...read } = await readFetalDeaths(path, name, year)
    const [fetalTotal = 0] = totals
    return {
      ...read,
      groups: new CodeGroups<DeathCodes>([]),
      totals: MEASURES.map(() => 0),
      fetal: groups,
      fetalTotal,
    }
  }
  const read = await readYearSums<DeathCodes>(path, name, {
    required: COLUMN_NAMES,
    optional: OPTIONAL_COLUMNS,
    records: 'deaths',
    monthOf: monthOfDate,
    measures: MEASURES.length,
    parse: (cells) => parseDeath(cells, year),
  })
  refuseMisnamedFile(name, nameParts.uf, 'death', read)
  return { ...read, fetal: new CodeGroups<FetalCodes>([]), fetalTotal: 0 }
}

function parseDeath(cells: RecordCells, year: number): ParsedRecord<DeathCodes> {
  const { kind, date, age: ageCell, sex, residence, occurrence, place, cause, race } = cells
  if (kind === FETAL) return 'fetal_death'
  const month = periodOf(date, year)
  if (month.slice(0, 4) !== String(year)) return 'other_year'
  const years = yearsOf(ageCell ?? '')
  const { code, isCid10, codes: causeCodes } = causeOf(cause, year)
  const isMaternal = isCid10 && sex === '2' && isMaternalDeath(code, cells)
  const isPrematureNcd = isCid10 && years !== null && years >= 30 && years < 70 && isNcd(causeCodes[0])
  return {
    codes: [
      month,
      municipalityOf(residence),
      municipalityOf(occurrence),
      sexOf(sex),
      years === null ? '' : (AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''),
      infantAgeOf(ageCell ?? '') ?? '',
      raceOf(race),
      ...causeCodes,
      placeOf(place, year),
    ],
    adds: [1, Number(isMaternal), Number(isPrematureNcd)],
  }
}
