/**
 * Builds a sim release from files of deaths of any states and years (aggregated/build.ts). This file accepts one file per state of
 * residence and year, one of residents abroad and one of fetal deaths, and refuses files that repeat deaths of others, because they
 * would count twice.
 */
import { READ_COLUMNS } from '../../model/sim/layout.ts'
import {
  type AggregatedArea,
  buildAggregatedArea,
  coverageByState,
  type MonthlyFile,
} from '../aggregated/build.ts'
import { isCodeTable } from '../aggregated/code-tables.ts'
import { monthsOfYear, monthZero } from '../aggregated/months-of-year.ts'
import type { AreaImporter } from '../area.ts'
import { isMunicipalityTable } from '../cnes/municipality-codes.ts'
import { ImportError } from '../import-error.ts'
import { type DeathFileName, type DeathKind, recogniseDeathFile } from './death-files.ts'
import { checkYear, TABLES, USED_CODES } from './tables.ts'

const DEATHS: AggregatedArea<'deaths'> = {
  area: 'sim',
  kind: 'deaths',
  rowsLabel: 'deaths',
  tables: TABLES,
  usedCodes: USED_CODES,
  columns: READ_COLUMNS,
  lists: ['cause_categories'],
  rejectedTable: 'set_aside_deaths',
  periodsOf: monthsOfYear,
  periodsWithoutCoverage: monthZero,
  checkBatch: checkYear,
  // Fetal deaths come from files of the country, and the others from those of states.
  coverageOf(table, file) {
    if (file.kind === 'DOFET') return table === 'fetal_deaths' ? 'country' : 'nothing'
    return table === 'fetal_deaths' ? 'nothing' : coverageByState(file)
  },
}

/** Files whose rows are in no other one: deaths of a state, of residents abroad, and fetal ones. */
const IMPORTED_KINDS = ['state', 'DOREXT', 'DOFET'] as const
type ImportedKind = (typeof IMPORTED_KINDS)[number]
const isImported = (kind: DeathKind): kind is ImportedKind =>
  (IMPORTED_KINDS as readonly string[]).includes(kind)

const REFUSALS: Readonly<Record<Exclude<DeathKind, ImportedKind>, string>> = {
  country: 'repeats the deaths of the 27 state files',
  DOEXT: 'holds deaths of external causes, which the state files hold already',
  DOINF: 'holds deaths under one year, which the state files hold already',
  DOMAT: 'holds maternal deaths, which the state files hold already',
  DORIG: 'holds deaths without a known residence',
}

/** @throws ImportError for a file whose deaths other files repeat or that belong to no state; @param shown path for messages */
export function refuseOtherKinds({ kind, period }: DeathFileName, shown: string): void {
  if (isImported(kind)) return
  const year = Math.floor(period / 100)
  throw new ImportError(
    shown,
    REFUSALS[kind],
    `Leave it out, and import the files of ${year} by state of residence (DO, state, year)`,
  )
}

export const SIM: AreaImporter = {
  area: 'sim',
  recognises: (name) => recogniseDeathFile(name) !== null,
  alsoReads: (name) => isCodeTable(name) || isMunicipalityTable(name),
  async open(files) {
    const deaths: MonthlyFile<'deaths'>[] = []
    for (const found of files) {
      const nameParts = recogniseDeathFile(found.name)
      if (nameParts === null) continue
      refuseOtherKinds(nameParts, found.shown)
      const duplicate = deaths.find(({ uf, period }) => uf === nameParts.uf && period === nameParts.period)
      if (duplicate !== undefined)
        throw new ImportError(
          found.shown,
          `is the same year and state as ${duplicate.found.shown}`,
          'Import one file of each state and year: the newest that DATASUS published',
        )
      deaths.push({ ...nameParts, found })
    }
    if (deaths.length === 0) return null
    const monthly = deaths.sort((left, right) => (left.uf < right.uf ? -1 : 1))
    const tables = files.filter(({ name }) => isCodeTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAggregatedArea(DEATHS, { monthly, tables, municipalities }, context),
    }
  },
}
