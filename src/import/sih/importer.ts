/**
 * Hospital admissions of any number of states and months → the datasets of one sih release (build-added-up.ts).
 *
 * In: RD files, tables of SIGTAP and CID-10, DATASUS's table of old municipality codes, and the municipality list (Parquet of a
 * demography release). Here: which files there may be. The unit that a newer file replaces is a state's month: a second file of it
 * is refused.
 */
import { ADMISSION_TABLES } from '../../model/sih/datasets.ts'
import { OPTIONAL_COLUMNS, REQUIRED_COLUMNS } from '../../model/sih/layout.ts'
import { type AddedUp, buildAddedUp, type MonthlyFile } from '../aggregated/build.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { recogniseAdmissionFile, refuseOtherKinds } from './admission-files.ts'
import { isCodeTable } from './code-tables.ts'
import { appendAdmissions, CODE_LISTS, checkMonth, createTables, writeMonth } from './tables.ts'

const ADMISSIONS: AddedUp<'admissions'> = {
  area: 'sih',
  kind: 'admissions',
  rows: 'hospital admissions',
  facts: ADMISSION_TABLES,
  columns: [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS],
  lists: CODE_LISTS,
  setAside: 'set_aside_admissions',
  createTables,
  append: appendAdmissions,
  writeMonth,
  checkMonth,
}

export const SIH: AreaImporter = {
  area: 'sih',
  needs: ['demography'],
  recognises: (name) => recogniseAdmissionFile(name) !== null || isCodeTable(name),
  alsoReads: isMunicipalityTable,
  async open(files) {
    const admissions: MonthlyFile<'admissions'>[] = []
    for (const found of files) {
      const promise = recogniseAdmissionFile(found.name)
      if (promise === null) continue
      refuseOtherKinds(promise, found.shown)
      const twin = admissions.find(({ uf, period }) => uf === promise.uf && period === promise.period)
      if (twin !== undefined)
        throw new ImportError(
          found.shown,
          `is the same month and state as ${twin.found.shown}`,
          'Import one file of each state and month: the newest that DATASUS published',
        )
      admissions.push({ ...promise, found })
    }
    // Code tables alone name nothing: there are no admissions whose codes they could name.
    if (admissions.length === 0) return null
    const monthly = admissions.sort((left, right) => (left.uf < right.uf ? -1 : 1))
    const tables = files.filter(({ name }) => isCodeTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAddedUp(ADMISSIONS, { monthly, tables, municipalities }, context),
    }
  },
}
