/**
 * Prints statements over the records behind a measure, for lineage and comparisons.
 *
 * Each record is one row with its contribution: its value to a sum, 1 to a count. In a distinct count the first record of each
 * value contributes 1 and the others 0. Contributions thus add up to the cell. Lineage leaves out records that add 0 to a sum.
 */
import { datasetOf } from '../../../../model/datasets.ts'
import {
  type DimensionCode,
  dimensionOf,
  hasUnknowns,
  isAddedUp,
  isPopulation,
  RESIDENCE_DIMENSIONS,
} from '../../../../model/dimensions.ts'
import type { Condition, Measure } from '../../../../model/metrics.ts'
import { isTime } from '../../../../model/periods.ts'
import { EMPTY, ident, integerLiteral, join, ofOther, type Sql, sql, TEXT, table } from '../../../../sql.ts'
import { countField } from '../../../provenance/published-rows.ts'
import { excludesStateFunds } from '../../datasets/funds.ts'
import type { DatasetPlan } from '../../plan.ts'
import { IS_OUTSOURCED, isCnes } from '../../resident-relations.ts'
import { unionOf } from '../differences.ts'
import { codeText, conditionSql, filterCondition } from './conditions.ts'
import { filterColumn, nullIfFiller } from './facts.ts'
import { timesMonth } from './month-factors.ts'
import type { GroupKey } from './page.ts'
import { periodSql, withWindows } from './periods.ts'
import { derivedDimensionsOf, withPlaces } from './places.ts'

export const recordKeyOf = ({ dataset }: DatasetPlan): readonly string[] => datasetOf(dataset).key

const isPeriodic = ({ dataset }: DatasetPlan): boolean => !isPopulation(dataset)
const columnList = (names: readonly string[]): Sql => join(names.map(ident), ', ')

/** The rows that a plan reads. The population has a null month. */
const rowsSql = (plan: DatasetPlan): Sql => {
  const derived = derivedDimensionsOf(plan)
  return isPeriodic(plan)
    ? withWindows(
        withPlaces(
          unionOf(plan.periods.map((period) => table(plan.dataset, period))),
          derived,
          plan.groupings,
        ),
        plan,
      )
    : withPlaces(
        sql`(SELECT *${residenceColumns(plan)}, CAST(NULL AS INTEGER) AS reference_period FROM ${table(plan.dataset)}${yearClause(plan)})`,
        derived,
        plan.groupings,
        TEXT('CAST(own.municipality_code AS INTEGER)'),
      )
}

const residenceColumns = ({ keys, filters }: DatasetPlan): Sql =>
  [...keys, ...filters.map(({ dimension }) => dimension)].some((code) => RESIDENCE_DIMENSIONS.has(code))
    ? TEXT(', uf AS residence_uf, CAST(municipality_code AS INTEGER) AS residence_municipality_code')
    : EMPTY

/** Limits population by age to the metric's year. Other populations have the year in their measures. */
const yearClause = ({ dataset, years }: DatasetPlan): Sql =>
  dataset === 'population_by_age'
    ? sql` WHERE reference_year = ${integerLiteral(years?.POPULATION_BY_AGE ?? 0)}`
    : EMPTY

const joinAnd = (conditions: readonly Sql[]): Sql => join(conditions, ' AND ')

const scopeSql = (plan: DatasetPlan, extraConditions: readonly Sql[] = []): Sql => {
  const filterConditions = plan.filters.map((filter) =>
    filterCondition(filterColumn(filter.dimension, plan.dataset), filter),
  )
  // Only the registry contains closed facilities.
  const baseCondition = isCnes(plan.dataset)
    ? 'is_active'
    : excludesStateFunds(plan)
      ? 'municipality_ibge_code IS NOT NULL'
      : 'true'
  return joinAnd([TEXT(baseCondition), ...filterConditions, ...extraConditions])
}

const groupColumn = (code: DimensionCode, plan: DatasetPlan): Sql =>
  isTime(code)
    ? periodSql(code, TEXT(plan.time?.isWindow === true ? 'window_period' : 'reference_period'))
    : nullIfFiller(code, filterColumn(code, plan.dataset), plan, TEXT('reference_period'))

function measureCondition(plan: DatasetPlan, { where = [], standardizedBy }: Measure): Sql {
  const conditions = where.map((condition) => recordCondition(condition, plan))
  // Standardized rates leave out records without an age group.
  if (standardizedBy !== undefined) conditions.push(TEXT('age_group IS NOT NULL'))
  return conditions.length === 0 ? TEXT('true') : joinAnd(conditions)
}

function recordCondition(condition: Condition, { years }: DatasetPlan): Sql {
  if ('outsourced' in condition) return IS_OUTSOURCED
  if ('populationType' in condition)
    return sql`population_type = ${codeText(condition.populationType)} AND reference_year = ${integerLiteral(condition.year ?? years?.[condition.populationType] ?? 0)}`
  return conditionSql(condition)
}

function valueSql(measure: Measure, periods: readonly number[]): Sql {
  if (measure.kind !== 'sum') return TEXT('CAST(1 AS HUGEINT)')
  const field = sql`CAST(${ident(measure.field ?? '')} AS HUGEINT)`
  return measure.minus === undefined
    ? timesMonth(field, measure, periods, TEXT('reference_period'))
    : sql`${field} - CAST(${ident(measure.minus)} AS HUGEINT)`
}

/**
 * Reads a page of the records behind a cell, ordered by key. Rows: key, reference_period, contribution, and total_rows and
 * total over all pages. A page beyond the end is one row without a position. For the maximum of several months, the records
 * are those of the largest month, the earliest among equals.
 */
export function printContributions(
  plan: DatasetPlan,
  measure: Measure,
  key: GroupKey,
  page: { readonly limit: number; readonly offset: number },
): Sql {
  const columns = columnList(recordKeyOf(plan))
  // Records of flows are aggregated from published rows, so each names its file and number of rows.
  const publishedColumns = isAddedUp(plan.dataset)
    ? sql`, source_file, ${ident(countField(plan.dataset))}`
    : EMPTY
  const cellConditions = plan.keys.map((dimension) => {
    const column = groupColumn(dimension, plan)
    return sql`${column} IS NOT DISTINCT FROM ${key[dimension] ?? null}`
  })
  const contribution =
    measure.kind === 'distinct'
      ? sql`CASE WHEN row_number() OVER (PARTITION BY reference_period, ${ident(measure.field ?? '')} ORDER BY ${columns}) = 1 THEN 1 ELSE 0 END`
      : valueSql(measure, plan.periods)
  const total = TEXT(
    hasUnknowns(plan.dataset)
      ? 'CASE WHEN count(*) = count(contribution) THEN coalesce(sum(contribution), 0) END'
      : 'coalesce(sum(contribution), 0)',
  )
  const isOfLargestMonth =
    plan.over === 'max'
      ? TEXT(
          'reference_period = (SELECT reference_period FROM contributing GROUP BY reference_period ORDER BY sum(contribution) DESC, reference_period LIMIT 1)',
        )
      : TEXT('true')
  // A record without an amount stays: it makes the sum unknown.
  const isListed = TEXT(measure.kind === 'sum' ? 'contribution IS DISTINCT FROM 0' : 'true')
  return sql`WITH contributing AS (
  SELECT ${columns}${publishedColumns}, reference_period, CAST(${contribution} AS HUGEINT) AS contribution
  FROM ${rowsSql(plan)}
  WHERE ${scopeSql(plan, [...cellConditions, measureCondition(plan, measure)])}
),
records AS (
  SELECT *
  FROM contributing
  WHERE ${joinAnd([isOfLargestMonth, isListed])}
),
page AS (
  SELECT *, row_number() OVER (ORDER BY ${columns}, reference_period) AS position
  FROM records
  QUALIFY position > ${page.offset} AND position <= ${page.offset + page.limit}
)
SELECT summary.*, page.*${measure.factors === undefined ? EMPTY : TEXT(' REPLACE (CAST(contribution AS VARCHAR) AS contribution)')}
FROM (SELECT count(*) AS total_rows, ${asText(total, measure)} AS total FROM records) AS summary
LEFT JOIN page ON true
ORDER BY position`
}

/** Sums times factors of prices have more digits than a number of JSON, so they leave the engine as text. */
const asText = (sum: Sql, { factors }: Measure): Sql =>
  factors === undefined ? sum : sql`CAST(${sum} AS VARCHAR)`

/** Published rows of some records of one month: key, source_file, source_row and the published cells. */
export function printSources(
  dataset: DatasetPlan['dataset'],
  period: number | null,
  keys: readonly Readonly<Record<string, string | number>>[],
): Sql {
  const columns = datasetOf(dataset).key
  const wantedColumns = columns.map((column) => {
    const values = keys.map((key) => key[column]) as number[] | string[]
    return sql`unnest(${values}) AS ${ident(column)}`
  })
  const source =
    dataset === 'population'
      ? table('population')
      : dataset === 'population_by_age'
        ? sql`(SELECT ${columnList(columns)}, source_file, cell.source_row AS source_row, 'POP' AS source_column, cell.raw_value AS raw_value FROM (SELECT *, unnest(source_cells) AS cell FROM ${table(dataset)}))`
        : dataset === 'federal_health_transfers'
          ? sql`(SELECT ${columnList(columns)}, source_file, cell.source_row AS source_row, cell.raw_value AS raw_value FROM (SELECT *, unnest(source_cells) AS cell FROM ${table(dataset, period)}))`
          : isCnes(dataset)
            ? table(`${dataset}_provenance`, period)
            : sql`(SELECT ${columnList(columns)}, source_file, source_row FROM ${table(dataset, period)})`
  return sql`SELECT source.*
FROM ${source} AS source
SEMI JOIN (SELECT ${join(wantedColumns, ', ')}) AS wanted USING (${columnList(columns)})
ORDER BY ${columnList(columns)}, source_file, source_row`
}

export const CAUSES = ['added', 'removed', 'revised', 'reclassified'] as const
export type Cause = (typeof CAUSES)[number]

/** A measure and the sub-query that reads it. */
export interface MeasureOfPlan {
  readonly dataset: DatasetPlan
  readonly measure: Measure
}

/**
 * Finds why a measure differs between two releases. Rows: the grouped keys, cause, records, delta.
 *
 * revised: in the same group in both releases, with another value. reclassified: in both releases, but in another group or
 * scope (moved, closed, opened again). added, removed: in one release only.
 */
export function printCauses(before: MeasureOfPlan, after: MeasureOfPlan): Sql {
  const record = recordColumns(after.dataset, after.measure)
  const groups = after.dataset.keys.map((dimension) => dimensionOf(dimension).column)
  const printSide = ({ dataset, measure }: MeasureOfPlan): Sql =>
    contributionsByRecord(dataset, measure, record)
  // Counted codes, such as types present, are no records: they are added or removed, never reclassified.
  const isRecord = after.measure.kind !== 'distinct' || after.measure.field === 'cnes_code'
  const printExisting = ({ dataset }: MeasureOfPlan): Sql =>
    isRecord
      ? sql`SELECT DISTINCT ${columnList(record)} FROM ${rowsSql(dataset)}`
      : sql`SELECT ${columnList(record)} FROM ${rowsSql(dataset)} WHERE false`
  const names = [...new Set([...record, ...groups])].map(ident)
  const conditions = names.map((name) => sql`before.${name} IS NOT DISTINCT FROM after.${name}`)
  const coalescedNames = names.map(
    (name) => sql`CASE WHEN after.is_there THEN after.${name} ELSE before.${name} END AS ${name}`,
  )
  // Only flows have nullable keys.
  const equal = TEXT(isAddedUp(after.dataset.dataset) ? 'IS NOT DISTINCT FROM' : '=')
  const isPresent = (where: string): Sql =>
    sql`EXISTS (SELECT 1 FROM ${ident(where)} WHERE ${joinAnd(record.map((name) => sql`${ident(where)}.${ident(name)} ${equal} changes.${ident(name)}`))})`
  const groupList = groups.length === 0 ? EMPTY : sql`${columnList(groups)}, `
  return sql`WITH before AS (
  ${ofOther(printSide(before))}
),
after AS (
  ${printSide(after)}
),
present_before AS (
  ${ofOther(printExisting(before))}
),
present_after AS (
  ${printExisting(after)}
),
changes AS (
  SELECT ${join(coalescedNames, ', ')}, before.is_there AS was_there, after.is_there AS is_there,
    coalesce(after.contribution, 0) - coalesce(before.contribution, 0) AS delta
  FROM before FULL JOIN after ON ${joinAnd(conditions)}
),
caused AS (
  SELECT *, CASE
      WHEN was_there AND is_there THEN 'revised'
      WHEN is_there THEN CASE WHEN ${isPresent('present_before')} THEN 'reclassified' ELSE 'added' END
      ELSE CASE WHEN ${isPresent('present_after')} THEN 'reclassified' ELSE 'removed' END
    END AS cause
  FROM changes
  WHERE delta <> 0
)
SELECT ${groupList}cause, count(*) AS records, ${asText(TEXT('sum(delta)'), after.measure)} AS delta
FROM caused
GROUP BY ${groupList}cause
ORDER BY ${groupList}cause`
}

/** Columns that identify what is compared: the record, or the value that is counted. */
const recordColumns = (plan: DatasetPlan, measure: Measure): readonly string[] => {
  if (measure.kind === 'distinct') return [measure.field ?? '']
  // The newest estimate replaces the earlier one, so the year is not part of the identity.
  if (plan.dataset === 'population') return ['municipality_code']
  return plan.dataset === 'population_by_age' ? ['municipality_code', 'sex', 'age_group'] : recordKeyOf(plan)
}

/** Contribution of each record to each group; 0 when it is in scope but does not count. */
function contributionsByRecord(plan: DatasetPlan, measure: Measure, record: readonly string[]): Sql {
  const groups = plan.keys.filter((dimension) => !record.includes(dimensionOf(dimension).column))
  const named = groups.map((code) => sql`${groupColumn(code, plan)} AS ${ident(dimensionOf(code).column)}`)
  const columns = [...record.map(ident), ...named]
  const value = sql`CASE WHEN ${measureCondition(plan, measure)} THEN ${valueSql(measure, plan.periods)} ELSE 0 END`
  const total = measure.kind === 'distinct' ? sql`max(${value})` : sql`sum(${value})`
  const positions = columns.map((_, index) => TEXT(String(index + 1)))
  return sql`SELECT ${join(columns, ', ')}, CAST(${total} AS HUGEINT) AS contribution, true AS is_there
  FROM ${rowsSql(plan)}
  WHERE ${scopeSql(plan)}
  GROUP BY ${join(positions, ', ')}`
}
