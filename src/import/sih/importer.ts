/**
 * Builds a sih release from hospital admission files of any states and months (aggregated/build.ts). It reads RD files, tables of
 * SIGTAP and CID-10, DATASUS's table of old municipality codes and the municipality list of a demography release. This file
 * accepts exactly one file per state and month.
 */
import { OPTIONAL_COLUMNS, REQUIRED_COLUMNS } from '../../model/sih/layout.ts'
import { type AggregatedArea, buildAggregatedArea, type MonthlyFile } from '../aggregated/build.ts'
import { isCodeTable } from '../aggregated/code-tables.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { recogniseAdmissionFile, refuseOtherKinds } from './admission-files.ts'
import { stageDistances } from './distances.ts'
import { addDistancesToFlows, CODE_LISTS, checkMonth, TABLES, USED_CODES } from './tables.ts'

const ADMISSIONS: AggregatedArea<'admissions'> = {
  area: 'sih',
  kind: 'admissions',
  rowsLabel: 'hospital admissions',
  tables: TABLES,
  prepare: stageDistances,
  completeRows: addDistancesToFlows,
  usedCodes: USED_CODES,
  columns: [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS],
  lists: CODE_LISTS,
  rejectedTable: 'set_aside_admissions',
  checkBatch: checkMonth,
}

export const SIH: AreaImporter = {
  area: 'sih',
  recognises: (name) => recogniseAdmissionFile(name) !== null || isCodeTable(name),
  alsoReads: isMunicipalityTable,
  async open(files) {
    const admissions: MonthlyFile<'admissions'>[] = []
    for (const found of files) {
      const nameParts = recogniseAdmissionFile(found.name)
      if (nameParts === null) continue
      refuseOtherKinds(nameParts, found.shown)
      const duplicate = admissions.find(
        ({ uf, period }) => uf === nameParts.uf && period === nameParts.period,
      )
      if (duplicate !== undefined)
        throw new ImportError(
          found.shown,
          `is the same month and state as ${duplicate.found.shown}`,
          'Import one file of each state and month: the newest that DATASUS published',
        )
      admissions.push({ ...nameParts, found })
    }
    // Without admissions there are no codes that code tables could name.
    if (admissions.length === 0) return null
    const monthly = admissions.sort((left, right) => (left.uf < right.uf ? -1 : 1))
    const tables = files.filter(({ name }) => isCodeTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAggregatedArea(ADMISSIONS, { monthly, tables, municipalities }, context),
    }
  },
}
