/**
 * Builds a sia release from outpatient production files of any states and months (aggregated/build.ts). It reads PA files, SIGTAP
 * tables, DATASUS's table of old municipality codes and the municipality list of a demography release. This file decides which
 * files form a month of a state: either one complete file or all parts without a gap.
 */
import { WHOLE_FILE } from '../../model/sia/code-lists.ts'
import { READ_COLUMNS } from '../../model/sia/layout.ts'
import { REAIS_FROM } from '../../model/sih/layout.ts'
import { type AggregatedArea, buildAggregatedArea, type MonthlyFile } from '../aggregated/build.ts'
import { isProcedureTable } from '../aggregated/code-tables.ts'
import { groupBy } from '../aggregated/group-by.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { recogniseProductionFile } from './production-files.ts'
import { checkMonth, PRODUCTION_TABLE, USED_CODES, writeCarePeriods } from './tables.ts'

type ProductionFile = MonthlyFile<'production'>

const PRODUCTION: AggregatedArea<'production'> = {
  area: 'sia',
  kind: 'production',
  rowsLabel: 'outpatient production',
  tables: [PRODUCTION_TABLE],
  usedCodes: USED_CODES,
  columns: READ_COLUMNS,
  lists: ['procedures', 'procedure_groups', 'procedure_subgroups', 'procedure_forms'],
  rejectedTable: 'set_aside_production',
  checkBatch: checkMonth,
  writeExtraLists: writeCarePeriods,
}

export const SIA: AreaImporter = {
  area: 'sia',
  recognises: (name) => recogniseProductionFile(name) !== null,
  alsoReads: (name) => isProcedureTable(name) || isMunicipalityTable(name),
  async open(files) {
    const production = files.flatMap((found): ProductionFile[] => {
      const nameParts = recogniseProductionFile(found.name)
      return nameParts === null ? [] : [{ ...nameParts, found }]
    })
    if (production.length === 0) return null
    for (const stateMonthFiles of groupBy(production, ({ uf, period }) => `${period} ${uf}`).values())
      checkParts(stateMonthFiles)
    const monthly = production.sort((left, right) => (left.uf + left.part < right.uf + right.part ? -1 : 1))
    const tables = files.filter(({ name }) => isProcedureTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAggregatedArea(PRODUCTION, { monthly, tables, municipalities }, context),
    }
  },
}

/**
 * @param files all files of one state and month
 * @throws ImportError for a repeated part, for parts next to a complete file, or for a missing part
 */
export function checkParts(files: readonly ProductionFile[]): void {
  const sorted = [...files].sort((left, right) => (left.part < right.part ? -1 : 1))
  for (const [index, { part, period, found }] of sorted.entries()) {
    const previous = sorted[index - 1]
    if (period < REAIS_FROM)
      throw new ImportError(
        found.shown,
        'is of a month before July 1994, whose values are not in reais',
        'Leave it out, and import months from 1994-07 on',
      )
    if (previous?.part === part)
      throw new ImportError(
        found.shown,
        `is the same month, state and part as ${previous.found.shown}`,
        'Import one file of each: the newest that DATASUS published',
      )
    if (previous?.part === WHOLE_FILE)
      throw new ImportError(
        found.shown,
        `is a part of the month that ${previous.found.shown} holds whole`,
        'Import either the whole month or all of its parts: those that DATASUS published last',
      )
    const expectedPart = part === WHOLE_FILE ? part : String.fromCharCode('a'.charCodeAt(0) + index)
    if (part !== expectedPart)
      throw new ImportError(
        found.shown,
        `is part ${part} of its month, and part ${expectedPart} is not there`,
        'Import all parts of the month together, from a on: a part of a month is not the month',
      )
  }
}
