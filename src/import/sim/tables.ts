/**
 * The tables of deaths by residence and by occurrence, and of fetal deaths, as aggregated/tables.ts stages them, and the checks of a year.
 */
import type { FileTotals } from '../aggregated/build.ts'
import { countsWithoutMonth } from '../aggregated/months-of-year.ts'
import { compareSums, PUBLICATION_STATUS, rowsTable, type StagedTable } from '../aggregated/tables.ts'
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
  fileAttribute: PUBLICATION_STATUS,
  codes: ['reference_period', 'published6', 'occurrence6', ...KEY],
  measures: MEASURES,
  columns: `reference_period, place_uf AS residence_uf, place_code AS residence_municipality_code,
    any_value(place_name) AS residence_municipality_name, ${PUBLICATION_STATUS.select}, ${KEY.join(', ')}`,
  // Files are by residence, so a death without a municipality code is one of the state's.
  stateWithoutCode: 'file',
}
/** Deaths by municipality of occurrence. A death without a valid one has no state, because the file states only that of residence. */
const BY_OCCURRENCE: StagedTable = {
  ...DEATHS,
  dataset: 'deaths_by_occurrence',
  stagedAs: 'deaths',
  measures: ['deaths'],
  mapFirst: (staged) => `(SELECT * EXCLUDE (published6) RENAME (occurrence6 AS published6) FROM ${staged})`,
  columns: `reference_period, place_uf AS uf, place_code AS occurrence_municipality_code, place_code AS municipality_ibge_code,
    any_value(place_name) AS municipality_name, ${PUBLICATION_STATUS.select}, ${KEY.join(', ')}`,
  stateWithoutCode: 'none',
}
const FETAL: StagedTable = {
  dataset: 'fetal_deaths',
  groups: 'fetal',
  fileAttribute: PUBLICATION_STATUS,
  codes: [
    'reference_period',
    'published6',
    'sex',
    'race_code',
    'cause_category_code',
    'cause_chapter_code',
    'cause_group_code',
    'gestation_class_code',
    'place_of_death_code',
  ],
  measures: ['fetal_deaths'],
  columns: `reference_period, place_uf AS residence_uf, place_code AS residence_municipality_code,
    any_value(place_name) AS residence_municipality_name, sex, race_code, cause_category_code, cause_chapter_code, cause_group_code,
    gestation_class_code, place_of_death_code, ${PUBLICATION_STATUS.select}`,
  // The file is of the country, so a death without a municipality code is of no state.
  stateWithoutCode: 'none',
}
export const TABLES: readonly StagedTable[] = [DEATHS, BY_OCCURRENCE, FETAL]
const ROWS = rowsTable('sim', 'deaths')
const OCCURRENCE_ROWS = rowsTable('sim', 'deaths_by_occurrence')

/** SQL of the codes that the rows of a year use, by list. */
export const USED_CODES = `SELECT DISTINCT 'cause_categories', cause_category_code
  FROM (SELECT cause_category_code FROM ${ROWS} UNION SELECT cause_category_code FROM ${rowsTable('sim', 'fetal_deaths')})
  WHERE cause_category_code IS NOT NULL`

/** Compares the rows of a year with its files and counts unusual rows. */
export async function checkYear(
  session: Session,
  period: number,
  files: readonly FileTotals<'deaths'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const year = Math.floor(period / 100)
  const sumFiles = (figureOf: (file: FileTotals<'deaths'>) => number): number =>
    files.reduce((sum, file) => sum + figureOf(file), 0)
  const fetalFiles = files.filter(({ kind }) => kind === 'DOFET')
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
        name: `deaths_by_occurrence_sums_equal_snapshot_${year}`,
        violations: await compareSums(
          session,
          'sim',
          BY_OCCURRENCE,
          files.map(({ totals }) => totals),
        ),
      },
      {
        name: `fetal_deaths_sums_equal_snapshot_${year}`,
        violations: await compareSums(
          session,
          'sim',
          FETAL,
          files.map(({ fetalTotal }) => [fetalTotal]),
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
      ...countsWithoutMonth(
        'deaths',
        year,
        files.filter(({ kind }) => kind !== 'DOFET'),
      ),
      ...(fetalFiles.length === 0
        ? {}
        : { [`fetal_deaths_${year}`]: sumFiles(({ fetalTotal }) => fetalTotal) }),
      ...countsWithoutMonth('fetal_deaths', year, fetalFiles),
      [`deaths_at_unknown_places_${year}`]: await session.number(
        `SELECT coalesce(sum(deaths), 0) FROM ${OCCURRENCE_ROWS} WHERE occurrence_municipality_code IS NULL`,
      ),
      [`deaths_of_residents_elsewhere_${year}`]: await countDeaths('residence_uf <> processing_uf'),
    },
  }
}
