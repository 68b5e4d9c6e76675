/**
 * Builds a sinasc release from files of births of any states and years (aggregated/build.ts). It reads DN files, DATASUS's table of
 * old municipality codes and the municipality list of a demography release. This file accepts one edition of each state and year,
 * and refuses the national file, which repeats the states.
 */
import { READ_COLUMNS } from '../../model/sinasc/layout.ts'
import { type AggregatedArea, buildAggregatedArea, type MonthlyFile } from '../aggregated/build.ts'
import { countsWithoutMonth, monthsOfYear, monthZero } from '../aggregated/months-of-year.ts'
import { compareSums, PUBLICATION_STATUS, rowsTable, type StagedTable } from '../aggregated/tables.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { MEASURES, recogniseBirthFile } from './birth-files.ts'

const BIRTHS_TABLE: StagedTable = {
  dataset: 'births',
  groups: 'groups',
  fileAttribute: PUBLICATION_STATUS,
  codes: [
    'reference_period',
    'published6',
    'mother_age_group',
    'weight_class_code',
    'gestation_class_code',
    'prenatal_visits_class_code',
    'delivery_code',
    'race_code',
    'sex',
  ],
  measures: MEASURES,
  columns: `reference_period, place_uf AS residence_uf, place_code AS residence_municipality_code, mother_age_group, weight_class_code,
    gestation_class_code, prenatal_visits_class_code, delivery_code, race_code, sex, ${PUBLICATION_STATUS.select}`,
  // Files are by residence, so a birth without a municipality code is one of the state's, or of none where the file is of none.
  stateWithoutCode: 'file',
}

const BIRTHS: AggregatedArea<'births'> = {
  area: 'sinasc',
  kind: 'births',
  rowsLabel: 'births',
  tables: [BIRTHS_TABLE],
  usedCodes: `SELECT 'births', '' FROM ${rowsTable('sinasc', 'births')} WHERE false`,
  columns: READ_COLUMNS,
  lists: [],
  rejectedTable: 'set_aside_births',
  periodsOf: monthsOfYear,
  periodsWithoutCoverage: monthZero,
  async checkBatch(session, period, files) {
    const year = Math.floor(period / 100)
    const sumFiles = (figureOf: (file: (typeof files)[number]) => number): number =>
      files.reduce((sum, file) => sum + figureOf(file), 0)
    const births = sumFiles(({ totals }) => totals[0] ?? 0)
    const countRows = (condition: string): Promise<number> =>
      session.number(
        `SELECT coalesce(sum(births), 0) FROM ${rowsTable('sinasc', 'births')} WHERE ${condition}`,
      )
    const differences = await compareSums(
      session,
      'sinasc',
      BIRTHS_TABLE,
      files.map(({ totals }) => totals),
    )
    return {
      checks: [
        {
          name: `birth_records_equal_snapshot_${year}`,
          violations: Math.abs(sumFiles(({ rows, setAside }) => rows - setAside) - births),
        },
        { name: `births_sums_equal_snapshot_${year}`, violations: differences },
      ],
      counts: {
        [`births_${year}`]: births,
        ...countsWithoutMonth('births', year, files),
        [`births_without_residence_${year}`]: await countRows('residence_uf IS NULL'),
      },
    }
  },
}

export const SINASC: AreaImporter = {
  area: 'sinasc',
  recognises: (name) => recogniseBirthFile(name) !== null,
  alsoReads: isMunicipalityTable,
  async open(files) {
    const births: MonthlyFile<'births'>[] = []
    for (const found of files) {
      const nameParts = recogniseBirthFile(found.name)
      if (nameParts === null) continue
      if (nameParts.uf === 'BR')
        throw new ImportError(
          found.shown,
          'holds the births of all states, which would count twice beside the files by state',
          'Leave it out, and import the files by state',
        )
      const duplicate = births.find(({ uf, period }) => uf === nameParts.uf && period === nameParts.period)
      if (duplicate !== undefined)
        throw new ImportError(
          found.shown,
          `is the same year and state as ${duplicate.found.shown}`,
          'Import one edition of each state and year: the newest that DATASUS published',
        )
      births.push({ ...nameParts, found })
    }
    if (births.length === 0) return null
    const monthly = births.sort((left, right) => (left.uf < right.uf ? -1 : 1))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAggregatedArea(BIRTHS, { monthly, tables: [], municipalities }, context),
    }
  },
}
