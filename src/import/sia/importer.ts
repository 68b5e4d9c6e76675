/**
 * Outpatient production of any number of states and months → the datasets of one sia release (build-added-up.ts).
 *
 * In: PA files, tables of SIGTAP, DATASUS's table of old municipality codes, and the municipality list (Parquet of a demography
 * release). Here: which files make a month. The unit that a newer file replaces is a state's month, whole: with all its parts, of
 * which none may lack between others.
 */
import { WHOLE_FILE } from '../../model/sia/code-lists.ts'
import { OUTPATIENT_TABLES } from '../../model/sia/datasets.ts'
import { READ_COLUMNS } from '../../model/sia/layout.ts'
import { REAIS_FROM } from '../../model/sih/layout.ts'
import { type AddedUp, buildAddedUp, type MonthlyFile } from '../aggregated/build.ts'
import { groupBy } from '../aggregated/group-by.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { isProcedureTable } from '../sih/code-tables.ts'
import { recogniseProductionFile } from './production-files.ts'
import { appendProduction, checkMonth, createTables, writeCarePeriods, writeMonth } from './tables.ts'

type ProductionFile = MonthlyFile<'production'>

const PRODUCTION: AddedUp<'production'> = {
  area: 'sia',
  kind: 'production',
  rows: 'outpatient production',
  facts: OUTPATIENT_TABLES,
  columns: READ_COLUMNS,
  lists: ['procedures', 'procedure_groups', 'procedure_subgroups', 'procedure_forms'],
  setAside: 'set_aside_production',
  createTables,
  append: appendProduction,
  writeMonth,
  checkMonth,
  writeMore: writeCarePeriods,
}

export const SIA: AreaImporter = {
  area: 'sia',
  needs: ['demography'],
  recognises: (name) => recogniseProductionFile(name) !== null,
  alsoReads: (name) => isProcedureTable(name) || isMunicipalityTable(name),
  async open(files) {
    const production = files.flatMap((found): ProductionFile[] => {
      const promise = recogniseProductionFile(found.name)
      return promise === null ? [] : [{ ...promise, found }]
    })
    if (production.length === 0) return null
    for (const own of groupBy(production, ({ uf, period }) => `${period} ${uf}`).values()) checkParts(own)
    const monthly = production.sort((left, right) => (left.uf + left.part < right.uf + right.part ? -1 : 1))
    const tables = files.filter(({ name }) => isProcedureTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAddedUp(PRODUCTION, { monthly, tables, municipalities }, context),
    }
  },
}

/** @param files of a state's month @throws ImportError where one is there twice, parts come beside a whole file, or one lacks */
export function checkParts(files: readonly ProductionFile[]): void {
  const sorted = [...files].sort((left, right) => (left.part < right.part ? -1 : 1))
  for (const [index, { part, period, found }] of sorted.entries()) {
    const before = sorted[index - 1]
    if (period < REAIS_FROM)
      throw new ImportError(
        found.shown,
        'is of a month before July 1994, whose values are not in reais',
        'Leave it out, and import months from 1994-07 on',
      )
    if (before?.part === part)
      throw new ImportError(
        found.shown,
        `is the same month, state and part as ${before.found.shown}`,
        'Import one file of each: the newest that DATASUS published',
      )
    if (before?.part === WHOLE_FILE)
      throw new ImportError(
        found.shown,
        `is a part of the month that ${before.found.shown} holds whole`,
        'Import either the whole month or all of its parts: those that DATASUS published last',
      )
    const wanted = part === WHOLE_FILE ? part : String.fromCharCode('a'.charCodeAt(0) + index)
    if (part !== wanted)
      throw new ImportError(
        found.shown,
        `is part ${part} of its month, and part ${wanted} is not there`,
        'Import all parts of the month together, from a on: a part of a month is not the month',
      )
  }
}
