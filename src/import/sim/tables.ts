/** The table of deaths, as aggregated/tables.ts stages it, the months that a year covers, and the checks of a year. */
import type { FileTotals } from '../aggregated/build.ts'
import { compareSums, rowsTable, type StagedTable } from '../aggregated/tables.ts'
import { countsWithoutMonth } from '../aggregated/without-month.ts'
import type { Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { MEASURES } from './death-files.ts'

const KEY = [
  'sex',
  'age_group',
  'infant_age_code',
  'race_code',
  'cause_category_code',
  'cause_chapter_code',
  'cause_group_code',
  'place_of_death_code',
] as const

const DEATHS: StagedTable = {
  dataset: 'deaths',
  groups: 'groups',
  codes: ['reference_period', 'published6', ...KEY],
  measures: MEASURES,
  columns: `reference_period, place_uf AS residence_uf, place_code AS residence_municipality_code,
    any_value(place_name) AS residence_municipality_name, ${KEY.join(', ')}`,
  // Files are by residence, so a death without a municipality code is one of the state's.
  stateWithoutCode: 'file',
}
export const TABLES: readonly StagedTable[] = [DEATHS]
const ROWS = rowsTable('sim', 'deaths')

/** SQL of the codes that the rows of a year use, by list. */
export const USED_CODES = `SELECT DISTINCT 'cause_categories', cause_category_code FROM ${ROWS} WHERE cause_category_code IS NOT NULL`

/** @returns the months up to the last one with deaths; files of a year under way end there */
export function monthsOfYear(period: number, files: readonly FileTotals<'deaths'>[]): number[] {
  const last = Math.max(...files.map(({ lastMonth }) => lastMonth))
  return Array.from({ length: last }, (_, index) => Math.floor(period / 100) * 100 + index + 1)
}

/** Compares the rows of a year with its files and counts unusual rows. */
export async function checkYear(
  session: Session,
  period: number,
  files: readonly FileTotals<'deaths'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const year = Math.floor(period / 100)
  const sumFiles = (figureOf: (file: FileTotals<'deaths'>) => number): number =>
    files.reduce((sum, file) => sum + figureOf(file), 0)
  const countDeaths = (condition: string): Promise<number> =>
    session.number(`SELECT coalesce(sum(deaths), 0) FROM ${ROWS} WHERE ${condition}`)
  return {
    checks: [
      {
        name: `deaths_sums_equal_snapshot_${year}`,
        violations: await compareSums(
          session,
          'sim',
          DEATHS,
          files.map(({ totals }) => totals),
        ),
      },
      {
        name: `deaths_have_municipalities_${year}`,
        violations: await countDeaths("residence_municipality_code IS NULL AND processing_uf <> 'EX'"),
      },
    ],
    counts: {
      [`deaths_${year}`]: sumFiles(({ totals }) => totals[0] ?? 0),
      [`deaths_of_unknown_municipalities_${year}`]: await countDeaths(
        'residence_municipality_code % 100000 < 10 AND residence_municipality_code // 100000 <> 53',
      ),
      [`deaths_of_residents_abroad_${year}`]: await countDeaths('residence_municipality_code IS NULL'),
      [`deaths_of_unknown_age_${year}`]: await countDeaths('age_group IS NULL'),
      [`deaths_without_cause_${year}`]: await countDeaths('cause_category_code IS NULL'),
      ...countsWithoutMonth('deaths', year, files),
      [`deaths_of_residents_elsewhere_${year}`]: await countDeaths('residence_uf <> processing_uf'),
    },
  }
}
