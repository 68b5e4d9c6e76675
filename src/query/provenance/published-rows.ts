/**
 * Describes how to find the published rows that an aggregated record sums. In: a dataset of admissions, production or deaths, and a record. Out:
 * the number of rows, and conditions on cells of the published file that they meet. Pure. Conditions only use columns that the importer
 * reads, so no personal data take part.
 */
import type { PublishedRows } from '../../answers/analytics.ts'
import type { Row } from '../../engine/types.ts'
import { datasetOf } from '../../model/datasets.ts'
import type { AddedUpTable } from '../../model/dimensions.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sia/layout.ts'
import { NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'
import { COLUMN_NAMES as BIRTH_COLUMNS } from '../../model/sinasc/layout.ts'
import type { ReleaseView } from '../../release/view.ts'
import { equals, hasCode, inMunicipality, isIgnored } from './cell-conditions.ts'
import { flowRowsOf, residentRowsOf } from './published-admissions.ts'
import { deathRowsOf, fetalRowsOf } from './published-deaths.ts'

const COUNT_FIELDS: Readonly<Partial<Record<AddedUpTable, string>>> = {
  outpatient_production: 'records',
  deaths: 'deaths',
  deaths_by_occurrence: 'deaths',
  fetal_deaths: 'fetal_deaths',
  births: 'births',
}
export const countField = (dataset: AddedUpTable): string => COUNT_FIELDS[dataset] ?? 'admission_records'

const text = (value: Row[string] | undefined): string => String(value ?? '')
const BIRTH_SEXES: Readonly<Record<string, string>> = { M: '^1$', F: '^2$' }

/** DATASUS's table of the codes that municipalities had before. */
const OLD_CODES = /^br_municip\.cnv$/i

/** @param record has the dataset's key and the field with its number of rows */
export function publishedRowsOf(dataset: AddedUpTable, record: Row, view: ReleaseView): PublishedRows {
  const rows = findConditions(dataset, record)
  const { snapshots = [] } = view.components[datasetOf(dataset).area] ?? {}
  // Rows under an earlier code of a municipality are counted, but do not meet the condition on its code.
  return { ...rows, is_exact: rows.is_exact && !snapshots.some(({ file }) => OLD_CODES.test(file)) }
}

function findConditions(dataset: AddedUpTable, record: Row): PublishedRows {
  const count = Number(record[countField(dataset)] ?? 0)
  const codeOf = (field: string): string => text(record[field])
  if (dataset === 'hospital_admissions_by_residence') return { count, ...residentRowsOf(codeOf) }
  if (dataset === 'hospital_admission_flows') return { count, ...flowRowsOf(codeOf) }
  if (dataset === 'deaths' || dataset === 'deaths_by_occurrence') {
    const end = dataset === 'deaths' ? 'residence' : 'occurrence'
    return { count, ...deathRowsOf(end, codeOf, text(record.reference_period)) }
  }
  if (dataset === 'fetal_deaths') return { count, ...fetalRowsOf(codeOf, text(record.reference_period)) }
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
