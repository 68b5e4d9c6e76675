/**
 * Sums the records of one dBase file of a year of deaths or births by their codes, while they are read. Only columns that the
 * caller names are read, and of the date only year and month.
 */
import { STATES } from '../../model/territory/states.ts'
import { ImportError } from '../import-error.ts'
import {
  type DbfHeader,
  type ReadFile,
  type RecordVisitor,
  readDbfRecords,
  type SetAside,
} from '../readers/dbf-records.ts'
import { CodeGroups, type Sums } from './code-groups.ts'
import { type CellNames, keyOfCells, openNamedCells } from './named-cells.ts'

/** Codes of a group, '' if unknown. The month is YYYYMM; YYYY00 if unknown. */
type YearCodes = readonly [month: string, municipality: string, ...others: string[]]

export interface YearSums<Codes extends YearCodes> extends Omit<ReadFile, 'deleted'> {
  readonly groups: Iterable<Sums<Codes>>
  /** Totals of all loaded rows by measure, summed independently of the groups. */
  readonly totals: readonly number[]
  /** Last month (1 to 12) that has records; 0 without any. */
  readonly lastMonth: number
  /** Records whose month is missing or impossible. They count in the month 00 of the year of the file. */
  readonly withoutMonth: number
  readonly setAside: readonly SetAside[]
}

/** Trimmed cells of a record; null for a column that the file lacks. */
export type RecordCells = Readonly<Partial<Record<string, string | null>>>

/** Codes of a record and how much it adds to each measure, or the reason to set it aside. */
export type ParsedRecord<Codes> = { readonly codes: Codes; readonly adds: readonly number[] } | string

export interface YearFile<Codes extends YearCodes> {
  /** Columns by cell, of which the file must have one each. */
  readonly required: CellNames<string>
  readonly optional: CellNames<string>
  /** Kind of the records, for messages. */
  readonly records: string
  /** @returns the month of a published date, so that its day is not kept */
  readonly monthOf: (date: string) => string
  readonly measures: number
  readonly parse: (cells: RecordCells) => ParsedRecord<Codes>
}

/** @param name name for messages @throws ImportError if the file is damaged or lacks a column */
export async function readYearSums<Codes extends YearCodes>(
  path: string,
  name: string,
  file: YearFile<Codes>,
): Promise<YearSums<Codes>> {
  const measures = Array.from({ length: file.measures }, (_, index) => index)
  const groups = new CodeGroups<Codes>(measures)
  const totals = measures.map(() => 0)
  const setAside: SetAside[] = []
  let [lastMonth, withoutMonth] = [0, 0]
  const open = (header: DbfHeader): RecordVisitor => {
    const { required, optional, records, monthOf } = file
    const readCells = openNamedCells(name, header, required, optional, records, 'date', monthOf)
    const parse = rememberParsed(file.parse)
    return (bytes, start, record) => {
      const parsed = parse(readCells(bytes, start))
      if (typeof parsed === 'string') {
        setAside.push({ row: record + 2, reason: parsed })
        return
      }
      groups.add(parsed.group, parsed.adds)
      for (const index of measures) totals[index] = (totals[index] ?? 0) + (parsed.adds[index] ?? 0)
      lastMonth = Math.max(lastMonth, parsed.month)
      if (parsed.month === 0) withoutMonth += 1
    }
  }
  const { deleted, ...read } = await readDbfRecords(path, name, open)
  return { ...read, groups, totals, lastMonth, withoutMonth, setAside: [...setAside, ...deleted] }
}

interface GroupedRecord {
  /** Codes joined by bars. */
  readonly group: string
  readonly month: number
  readonly adds: readonly number[]
}

/** Parses each set of cells once, because many records repeat the cells of an earlier one. */
function rememberParsed<Codes extends YearCodes>(
  parse: (cells: RecordCells) => ParsedRecord<Codes>,
): (cells: Readonly<Record<string, string | null>>) => GroupedRecord | string {
  const parsedByCells = new Map<string, GroupedRecord | string>()
  return (cells) => {
    const key = keyOfCells(cells)
    const cached = parsedByCells.get(key)
    if (cached !== undefined) return cached
    const found = parse(cells)
    const parsed =
      typeof found === 'string'
        ? found
        : { group: found.codes.join('|'), month: Number(found.codes[0].slice(4)), adds: found.adds }
    parsedByCells.set(key, parsed)
    return parsed
  }
}

/**
 * @param uf state of the file; other values are of no state
 * @param record kind of one record, for messages
 * @throws ImportError if records were set aside because they are of another year and none has a month of the year of the file, or if
 *   municipalities are known and none is of the state of the file
 */
export function refuseMisnamedFile(
  name: string,
  uf: string,
  record: string,
  { groups, lastMonth, setAside }: Pick<YearSums<YearCodes>, 'groups' | 'lastMonth' | 'setAside'>,
): void {
  const isOfOtherYear = lastMonth === 0 && setAside.some(({ reason }) => reason === 'other_year')
  if (!isOfOtherYear && hasResidentsOf(uf, groups)) return
  throw new ImportError(
    name,
    `has no ${record} of the ${isOfOtherYear ? 'year' : 'state'} of its name`,
    `Give the file its published name, with the state and year of its ${record}s`,
  )
}

/** @returns true for files that are of no state, and for files without a known municipality */
function hasResidentsOf(uf: string, groups: Iterable<Sums<YearCodes>>): boolean {
  const state = STATES.find((candidate) => candidate.uf === uf)
  if (state === undefined) return true
  let hasMunicipality = false
  for (const { codes } of groups) {
    const [, municipality] = codes
    if (municipality.startsWith(String(state.ibge_code))) return true
    if (/^[1-9]/.test(municipality)) hasMunicipality = true
  }
  return !hasMunicipality
}
