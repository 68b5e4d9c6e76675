/**
 * How the published rows are found that a record was added up from. In: a dataset of admissions or of production, and a record. Out:
 * how many rows it is of, and conditions on cells of the published file that they meet. Pure. A column that the importer does not
 * read takes no part, so nothing personal does.
 */
import type { Row } from '../../engine/types.ts'
import type { AddedUpTable } from '../../model/dimensions.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sia/layout.ts'
import { NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'

/** A condition on one row: what stands in its cells, each without blanks around it, joined by a blank. */
export type CellCondition = {
  /** Columns of the file. Of alternatives, which are separated by a bar, the first that the file has; one it lacks is empty. */
  readonly columns: string[]
  /** Regular expression that the text matches. */
  readonly pattern: string
}

export type PublishedRows = {
  /** Rows that were added up. */
  readonly count: number
  readonly where: CellCondition[]
  /** Do exactly these rows meet the conditions? False for municipalities that the publisher does not name: others may, too. */
  readonly is_exact: boolean
}

/** @returns field of a dataset that counts the published rows of a record */
export const countField = (dataset: AddedUpTable): string =>
  dataset === 'outpatient_production' ? 'records' : 'admission_records'

const text = (value: Row[string] | undefined): string => String(value ?? '')
const is = (columns: string[], code: string): CellCondition => ({ columns, pattern: `^${code}$` })
/** A code, or for the one that stands for none, all cells that hold no code of the form. */
const coded = (columns: string[], code: string, none: string, form: string): CellCondition =>
  code === none ? { columns, pattern: `^${none}$|^(?!${form}$)` } : is(columns, code)

/** Six digits of a municipality. All of the Federal District is Brasília; the ignored one of a state is any code that is none. */
function placed(column: string, code: string): CellCondition {
  if (code === '') return { columns: [column], pattern: '' }
  if (code.startsWith('53')) return { columns: [column], pattern: '^53' }
  return isIgnored(code) ? { columns: [column], pattern: '' } : is([column], code.slice(0, 6))
}
const isIgnored = (code: string): boolean => code === '' || /^(?!53)\d\d0000/.test(code)

/** Age groups of 5 years; unit 2 and 3 are days and months, 4 years, 5 years above 100. */
function aged(group: string): CellCondition {
  const columns = ['COD_IDADE', 'IDADE']
  if (group === '') return { columns, pattern: '^(?![2345] )' }
  const [first = 0, last] = group.split('-').map((age) => Number.parseInt(age, 10))
  // The open group begins at 80.
  if (last === undefined) return { columns, pattern: '^4 0*([89]\\d|\\d{3})$|^5 ' }
  const years = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
    (year) => year > 0,
  )
  return first === 0
    ? { columns, pattern: `^[23] |^4( 0*(${years.join('|')})?)?$` }
    : { columns, pattern: `^4 0*(${years.join('|')})$` }
}

const SEXES: Readonly<Record<string, string>> = { M: '^1$', F: '^[23]$' }

/** @param record has the dataset's key, and the field that counts its rows */
export function publishedRowsOf(dataset: AddedUpTable, record: Row): PublishedRows {
  const count = Number(record[countField(dataset)] ?? 0)
  const of = (field: string): string => text(record[field])
  if (dataset === 'hospital_admissions_by_residence') {
    const category = of('diagnosis_category_code')
    return {
      count,
      where: [
        placed('MUNIC_RES', of('residence_municipality_code')),
        {
          columns: ['DIAG_PRINC'],
          pattern: category === '' ? '^(?![A-Z]\\d{2}[0-9A-Z]?$)' : `^${category}[0-9A-Z]?$`,
        },
        aged(of('age_group')),
        { columns: ['SEXO'], pattern: SEXES[of('sex')] ?? '^(?![123]$)' },
      ],
      is_exact: !isIgnored(of('residence_municipality_code')),
    }
  }
  const place = of('municipality_ibge_code')
  const facility = of('cnes_code')
  if (dataset === 'hospital_admissions')
    return {
      count,
      where: [
        coded(['CNES'], facility, NO_FACILITY, '\\d{7}'),
        is(['PROC_REA'], of('procedure_code')),
        coded(['CAR_INT'], of('care_character_code'), NOT_INFORMED, '\\d{2}'),
        coded(['COMPLEX'], of('complexity_code'), NOT_INFORMED, '\\d{2}'),
        coded(['FINANC'], of('financing_code'), NOT_INFORMED, '\\d{2}'),
        placed('MUNIC_MOV', place),
      ],
      is_exact: !isIgnored(place),
    }
  const names = (cell: readonly string[]): string[] => [cell.join('|')]
  const [year = '', month = ''] = of('care_period').split('-')
  const complexity = of('complexity_code')
  const instrument = of('instrument_code')
  return {
    count,
    where: [
      { columns: names(COLUMN_NAMES.care), pattern: `^(${year.slice(0, 2)})?${year.slice(2)}${month}$` },
      // Files before 2008 name no facility of the registry, whatever the cell holds.
      ...(facility === NO_FACILITY && text(record.reference_period) < '2008-01'
        ? []
        : [coded(names(COLUMN_NAMES.facility), facility, NO_FACILITY, '\\d{7}')]),
      is(names(COLUMN_NAMES.procedure), of('procedure_code')),
      coded(names(OPTIONAL_COLUMNS.financing), of('financing_code'), NOT_INFORMED, '\\d{2}'),
      complexity === NOT_INFORMED
        ? { columns: names(OPTIONAL_COLUMNS.complexity), pattern: '^0$|^(?!\\d$)' }
        : is(names(OPTIONAL_COLUMNS.complexity), complexity.replace(/^0/, '')),
      /^[A-Z]$/.test(instrument)
        ? is(names(COLUMN_NAMES.instrument), instrument)
        : { columns: names(COLUMN_NAMES.instrument), pattern: '^(?![A-Z]$)' },
      placed(COLUMN_NAMES.municipality[0], place),
    ],
    is_exact: !isIgnored(place),
  }
}
