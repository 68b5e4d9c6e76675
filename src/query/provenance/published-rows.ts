/**
 * Describes how to find the published rows that an aggregated record sums. In: a dataset of admissions, production or deaths, and a record. Out:
 * the number of rows, and conditions on cells of the published file that they meet. Pure. Conditions only use columns that the importer
 * reads, so no personal data take part.
 */
import type { Row } from '../../engine/types.ts'
import type { AddedUpTable } from '../../model/dimensions.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sia/layout.ts'
import { NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'
import { COLUMN_NAMES as BIRTH_COLUMNS } from '../../model/sinasc/layout.ts'
import { deathRowsOf } from './published-deaths.ts'

/** A condition on one row. The text is the row's cells, each trimmed, joined by a blank. */
export type CellCondition = {
  /** Columns of the file. A bar separates alternatives, of which the first existing column counts. A missing column is empty. */
  readonly columns: string[]
  readonly pattern: string
}

export type PublishedRows = {
  readonly count: number
  readonly where: CellCondition[]
  /** False for municipalities that the publisher does not name, because other rows may meet the conditions too. */
  readonly is_exact: boolean
}

export const countField = (dataset: AddedUpTable): string =>
  dataset === 'outpatient_production'
    ? 'records'
    : dataset === 'deaths' || dataset === 'births'
      ? dataset
      : 'admission_records'

const text = (value: Row[string] | undefined): string => String(value ?? '')
const equals = (columns: string[], code: string): CellCondition => ({ columns, pattern: `^${code}$` })
/** Matches a code. The code for missing values also matches every cell that does not have the form of a code. */
const hasCode = (columns: string[], code: string, missingCode: string, form: string): CellCondition =>
  code === missingCode ? { columns, pattern: `^${missingCode}$|^(?!${form}$)` } : equals(columns, code)

/**
 * Matches the six digits of a municipality code. Every code of the Federal District means Brasília. The "ignored" municipality of a state
 * stands for any unknown code.
 */
function inMunicipality(column: string, code: string): CellCondition {
  if (code === '') return { columns: [column], pattern: '' }
  if (code.startsWith('53')) return { columns: [column], pattern: '^53' }
  return isIgnored(code) ? { columns: [column], pattern: '' } : equals([column], code.slice(0, 6))
}
const isIgnored = (code: string): boolean => code === '' || /^(?!53)\d\d0000/.test(code)

/** Matches a 5-year age group. Age units 2 and 3 are days and months, 4 is years, 5 is years above 100. */
function inAgeGroup(group: string): CellCondition {
  const columns = ['COD_IDADE', 'IDADE']
  if (group === '') return { columns, pattern: '^(?![2345] )' }
  const [first = 0, last] = group.split('-').map((age) => Number.parseInt(age, 10))
  if (last === undefined) return { columns, pattern: '^4 0*([89]\\d|\\d{3})$|^5 ' }
  const years = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
    (year) => year > 0,
  )
  return first === 0
    ? { columns, pattern: `^[23] |^4( 0*(${years.join('|')})?)?$` }
    : { columns, pattern: `^4 0*(${years.join('|')})$` }
}

const BIRTH_SEXES: Readonly<Record<string, string>> = { M: '^1$', F: '^2$' }
const SEXES: Readonly<Record<string, string>> = { M: '^1$', F: '^[23]$' }

/** @param record has the dataset's key and the field with its number of rows */
export function publishedRowsOf(dataset: AddedUpTable, record: Row): PublishedRows {
  const count = Number(record[countField(dataset)] ?? 0)
  const codeOf = (field: string): string => text(record[field])
  if (dataset === 'hospital_admissions_by_residence') {
    const category = codeOf('diagnosis_category_code')
    return {
      count,
      where: [
        inMunicipality('MUNIC_RES', codeOf('residence_municipality_code')),
        {
          columns: ['DIAG_PRINC'],
          pattern: category === '' ? '^(?![A-Z]\\d{2}[0-9A-Z]?$)' : `^${category}[0-9A-Z]?$`,
        },
        inAgeGroup(codeOf('age_group')),
        { columns: ['SEXO'], pattern: SEXES[codeOf('sex')] ?? '^(?![123]$)' },
      ],
      is_exact: !isIgnored(codeOf('residence_municipality_code')),
    }
  }
  if (dataset === 'deaths') return { count, ...deathRowsOf(codeOf, text(record.reference_period)) }
  if (dataset === 'births') {
    const residence = codeOf('residence_municipality_code')
    const alternatives = (names: readonly string[]): string[] => [names.join('|')]
    // Rows of other months meet the conditions, too: dates of birth take no part.
    return {
      count,
      where: [
        {
          columns: alternatives(BIRTH_COLUMNS.residence),
          pattern: isIgnored(residence)
            ? ''
            : residence.startsWith('53')
              ? '^53'
              : `^${residence.slice(0, 6)}`,
        },
        { columns: alternatives(BIRTH_COLUMNS.sex), pattern: BIRTH_SEXES[codeOf('sex')] ?? '^(?![12]$)' },
        {
          columns: alternatives(BIRTH_COLUMNS.delivery),
          pattern: codeOf('delivery_code') === '' ? '^(?![1-4]$)' : `^${codeOf('delivery_code')}$`,
        },
      ],
      is_exact: false,
    }
  }
  const municipality = codeOf('municipality_ibge_code')
  const facility = codeOf('cnes_code')
  if (dataset === 'hospital_admissions')
    return {
      count,
      where: [
        hasCode(['CNES'], facility, NO_FACILITY, '\\d{7}'),
        equals(['PROC_REA'], codeOf('procedure_code')),
        hasCode(['CAR_INT'], codeOf('care_character_code'), NOT_INFORMED, '\\d{2}'),
        hasCode(['COMPLEX'], codeOf('complexity_code'), NOT_INFORMED, '\\d{2}'),
        hasCode(['FINANC'], codeOf('financing_code'), NOT_INFORMED, '\\d{2}'),
        inMunicipality('MUNIC_MOV', municipality),
      ],
      is_exact: !isIgnored(municipality),
    }
  const alternatives = (cell: readonly string[]): string[] => [cell.join('|')]
  const [year = '', month = ''] = codeOf('care_period').split('-')
  const complexity = codeOf('complexity_code')
  const instrument = codeOf('instrument_code')
  return {
    count,
    where: [
      {
        columns: alternatives(COLUMN_NAMES.care),
        pattern: `^(${year.slice(0, 2)})?${year.slice(2)}${month}$`,
      },
      // Files before 2008 do not use facility codes of the registry, whatever the cell holds.
      ...(facility === NO_FACILITY && text(record.reference_period) < '2008-01'
        ? []
        : [hasCode(alternatives(COLUMN_NAMES.facility), facility, NO_FACILITY, '\\d{7}')]),
      equals(alternatives(COLUMN_NAMES.procedure), codeOf('procedure_code')),
      hasCode(alternatives(OPTIONAL_COLUMNS.financing), codeOf('financing_code'), NOT_INFORMED, '\\d{2}'),
      complexity === NOT_INFORMED
        ? { columns: alternatives(OPTIONAL_COLUMNS.complexity), pattern: '^0$|^(?!\\d$)' }
        : equals(alternatives(OPTIONAL_COLUMNS.complexity), complexity.replace(/^0/, '')),
      /^[A-Z]$/.test(instrument)
        ? equals(alternatives(COLUMN_NAMES.instrument), instrument)
        : { columns: alternatives(COLUMN_NAMES.instrument), pattern: '^(?![A-Z]$)' },
      inMunicipality(COLUMN_NAMES.municipality[0], municipality),
    ],
    is_exact: !isIgnored(municipality),
  }
}
