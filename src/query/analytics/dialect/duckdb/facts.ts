/**
 * Prints the facts of one dataset: what is read, filtered, grouped and summed. Out: one CTE with a row per group of the
 * dataset. groups.ts decides the answer's groups; page.ts decides what is shown.
 */
import {
  baseDimension,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  hasUnknowns,
  isPlace,
  isPopulation,
  RESIDENCE_DIMENSIONS,
} from '../../../../model/dimensions.ts'
import type { Measure } from '../../../../model/metrics.ts'
import {
  hasFacilityOnce,
  type PreAggregateName,
  preAggregateOf,
  sourceOf,
} from '../../../../model/pre-aggregates.ts'
import {
  EMPTY,
  type GatheredPart,
  gathered,
  ident,
  integerLiteral,
  join,
  type Sql,
  sql,
  TEXT,
} from '../../../../sql.ts'
import { excludesStateFunds } from '../../datasets/funds.ts'
import { dimensionsOfOneValue, dimensionsUsed } from '../../dimensions-used.ts'
import type { QueryFilter } from '../../filters.ts'
import type { DatasetPlan } from '../../plan.ts'
import {
  estimateColumn,
  estimatesOf,
  factsAsStored,
  factsOf,
  factsOfMonths,
  MISSING_POPULATION,
  type MonthlyFacts,
  NO_YEARS,
  POPULATION_COLUMNS,
  populationByAgeOf,
  populationOf,
  preAggregateRows,
} from '../../resident-relations.ts'
import { overMonths, unionOf } from '../differences.ts'
import { conditionSql, filterCondition } from './conditions.ts'
import { timesMonth } from './month-factors.ts'
import { factKey, integerKey, isOneMonthEach, monthColumn, withWindows } from './periods.ts'
import { derivedDimensions, derivedDimensionsOf, withPlaces } from './places.ts'
import { isStandardized, standardCte, standardizedCte } from './standardized.ts'

export const key = (code: DimensionCode): Sql => ident(dimensionOf(code).column)
export const keyList = (codes: readonly DimensionCode[]): Sql => join(codes.map(key), ', ')

/** State of a group that is keyed by facility, not by place. */
export const GROUP_STATE = ident('group_state')

export function hasRows(plan: DatasetPlan): boolean {
  const { dataset, periods, years } = plan
  if (dataset === 'population') return true
  const isByAge = dataset === 'population_by_age' || isStandardized(plan)
  if (isByAge && years?.POPULATION_BY_AGE == null) return false
  return isPopulation(dataset) || periods.length > 0
}

const addedUpCte = ({ keys, measures, addedUpFrom }: DatasetPlan): Sql =>
  sql`  SELECT ${join(
    [
      ...keys.map(key),
      ...measures.map((_, index) => sql`sum(${ident(`measure_${index}`)}) AS ${ident(`measure_${index}`)}`),
    ],
    ', ',
  )}
  FROM ${ident(addedUpFrom ?? '')}${keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${keyList(keys)}`}`

/**
 * Sums measures of one dataset by the dimensions it carries. Either engine may run it.
 * @param name name of the relation in the statement
 */
export const datasetCte = (plan: DatasetPlan, name: string): Sql =>
  plan.addedUpFrom !== null ? addedUpCte(plan) : gathered(name, columnsOf(plan), measuresCte(plan))

const columnsOf = ({ keys, measures, hasStateColumn }: DatasetPlan): GatheredPart['columns'] => {
  const sums = measures.map((_, index) => ({ name: `measure_${index}`, type: 'HUGEINT' as const }))
  const state = hasStateColumn ? [{ name: 'group_state', type: 'VARCHAR' as const }] : []
  return [
    ...keys.map((code) => {
      const { column, integer } = dimensionOf(code)
      return { name: column, type: integer === true ? ('INTEGER' as const) : ('VARCHAR' as const) }
    }),
    ...sums,
    ...state,
  ]
}

function measuresCte(plan: DatasetPlan): Sql {
  if (isStandardized(plan)) return standardizedSql(plan)
  const whereSql = whereClause(plan)
  const isUnique = hasUniqueKeys(plan)
  const measures = plan.measures.map(
    (measure, index) => sql`${measureSql(measure, plan, isUnique)} AS ${ident(`measure_${index}`)}`,
  )
  const keys = plan.keys.map((code) =>
    dimensionOf(code).integer === true ? integerKey(code, plan) : sql`${codeSql(code, plan)} AS ${key(code)}`,
  )
  if (plan.hasStateColumn) measures.push(sql`CAST(min(facts.uf) AS VARCHAR) AS ${GROUP_STATE}`)
  const grouping = (codes: readonly DimensionCode[], ...more: readonly Sql[]): Sql => {
    const groups = [...codes.map((code) => groupKey(code, plan)), ...more]
    return groups.length === 0 || isUnique ? EMPTY : sql`\n  GROUP BY ${join(groups, ', ')}`
  }
  const ageAmount = plan.over === null && !isUnique ? amountByAge(plan) : null
  if (ageAmount !== null)
    return sumsByAge(plan, ageAmount, keys, grouping(plan.keys, TEXT('facts.age_group')))
  if (plan.over === null)
    return sql`  SELECT ${join([...keys, ...measures], ', ')}
  FROM ${factsSource(plan)} AS facts${whereSql}${grouping(plan.keys)}`
  const aggregate = plan.over === 'max' ? TEXT('max') : TEXT('sum')
  const outer = plan.measures.map(
    (_, index) =>
      sql`${nullIfAnyUnknown(plan.dataset, ident(`measure_${index}`), sql`${aggregate}(${ident(`measure_${index}`)})`)} AS ${ident(`measure_${index}`)}`,
  )
  if (plan.hasStateColumn) outer.push(sql`min(${GROUP_STATE}) AS ${GROUP_STATE}`)
  return sql`  SELECT ${join([...plan.keys.map(key), ...outer], ', ')}
  FROM (
    SELECT ${join([...keys, monthColumn(plan), ...measures], ', ')}
    FROM ${factsSource(plan)} AS facts${whereSql}${grouping(plan.keys, TEXT('facts.reference_period'))}
  )${plan.keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${keyList(plan.keys)}`}`
}

/** From this many measures by age on, rows are summed by age before they are summed by measure. */
const AGE_MEASURES_MIN = 4

/** @returns the only column that the measures sum, where there are many that differ by age alone; else null */
function amountByAge({ keys, measures, source, hasStateColumn }: DatasetPlan): string | null {
  if (measures.length < AGE_MEASURES_MIN || hasStateColumn || keys.includes('age_group')) return null
  const columns = measures.map((measure) => {
    const stored = source === null ? null : sourceOf(measure, preAggregateOf(source))
    const isSum =
      measure.kind === 'sum' &&
      measure.timesDays !== true &&
      measure.factors === undefined &&
      measure.minus === undefined
    const ofAge = (measure.where ?? []).every(
      (condition) => 'field' in condition && condition.field === 'age_group',
    )
    return isSum && ofAge && (source === null || stored !== null)
      ? (stored?.stored.column ?? measure.field ?? null)
      : null
  })
  const [first = null] = columns
  return columns.every((column) => column === first) ? first : null
}

/**
 * A filter for each age on every row takes 1.4 to 3.5 times as long as sums by age and conditions on these. With FILTER instead of CASE,
 * a statement of life expectancy takes a tenth longer.
 */
function sumsByAge(plan: DatasetPlan, amount: string, keys: readonly Sql[], grouping: Sql): Sql {
  const column = ident(amount)
  const total = nullIfAnyUnknown(plan.dataset, sql`facts.${column}`, sql`sum(facts.${column})`)
  const measures = plan.measures.map(({ where = [] }, index) => {
    const value =
      where.length === 0
        ? column
        : sql`CASE WHEN ${join(where.map(conditionSql), ' AND ')} THEN ${column} END`
    return sql`${nullIfAnyUnknown(plan.dataset, column, sql`sum(${value})`)} AS ${ident(`measure_${index}`)}`
  })
  return sql`  SELECT ${join([...plan.keys.map(key), ...measures], ', ')}
  FROM (
    SELECT ${join([...keys, sql`CAST(facts.age_group AS VARCHAR) AS age_group`, sql`${total} AS ${column}`], ', ')}
    FROM ${factsSource(plan)} AS facts${whereClause(plan)}${grouping}
  )${plan.keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${keyList(plan.keys)}`}`
}

/** The total of a group is unknown when one of its rows has no amount. */
const nullIfAnyUnknown = (dataset: FactDataset, amount: Sql, total: Sql): Sql =>
  hasUnknowns(dataset) || dataset === 'population_by_age'
    ? sql`CASE WHEN count(*) = count(${amount}) THEN ${total} END`
    : total

function whereClause({ filters }: DatasetPlan): Sql {
  const where = filters.map((filter) => filterCondition(key(filter.dimension), filter))
  return where.length === 0 ? EMPTY : sql`\n  WHERE ${join(where, '\n    AND ')}`
}

function standardizedSql(plan: DatasetPlan): Sql {
  if (isPopulation(plan.dataset)) return standardCte(plan, countedByAge(plan))
  const hasResidents = (code: DimensionCode): boolean =>
    isPlace(code) || dimensionOf(code).datasets.includes('population_by_age')
  const shared = plan.keys.filter(hasResidents)
  const residents: DatasetPlan = {
    ...plan,
    dataset: 'population_by_age',
    measures: [{ dataset: 'population_by_age', kind: 'sum', field: 'population' }],
    source: null,
    time: null,
    keys: shared,
    groupings: plan.groupings.filter(({ code }) => shared.includes(code)),
    filters: plan.filters.filter(({ dimension }) => hasResidents(dimension)),
  }
  return standardizedCte(plan, countedByAge(plan), countedByAge(residents), shared)
}

/** One row per group and age: keys, age_group, counted_0 … */
function countedByAge(plan: DatasetPlan): Sql {
  const ageGroup = TEXT('CAST(facts.age_group AS VARCHAR)')
  const keys = plan.keys.map((code) => sql`${codeSql(code, plan)} AS ${key(code)}`)
  const { source } = plan
  const counted = plan.measures.map((measure, index) => {
    const storedSource = source === null ? null : sourceOf(measure, preAggregateOf(source))
    return sql`sum(facts.${ident(storedSource?.stored.column ?? measure.field ?? '')}) AS ${ident(`counted_${index}`)}`
  })
  return sql`(SELECT ${join([...keys, sql`${ageGroup} AS age_group`, ...counted], ', ')}
    FROM ${factsSource(plan)} AS facts${whereClause(plan)}
    GROUP BY ${join([...plan.keys.map((code) => groupKey(code, plan)), TEXT('facts.age_group')], ', ')})`
}

/** The code to group by; null in months with a placeholder code. */
const groupKey = (code: DimensionCode, plan: KeyPlan): Sql =>
  nullIfFiller(code, factKey(code, plan), plan, TEXT('facts.reference_period'))
/** Casts a code to text, because tables in memory may hold an ENUM. */
type KeyPlan = Pick<DatasetPlan, 'fillers' | 'time'>
const codeSql = (code: DimensionCode, plan: KeyPlan = { fillers: [], time: null }): Sql =>
  dimensionOf(code).integer === true ? factKey(code, plan) : sql`CAST(${groupKey(code, plan)} AS VARCHAR)`

export function nullIfFiller(
  code: DimensionCode,
  column: Sql,
  { fillers }: Pick<DatasetPlan, 'fillers'>,
  month: Sql,
): Sql {
  const filler = fillers.find(({ dimension }) => dimension === code)
  return filler === undefined
    ? column
    : sql`CASE WHEN ${month} NOT IN (${join(filler.periods.map(integerLiteral), ', ')}) THEN ${column} END`
}

const factsSource = (plan: DatasetPlan): Sql =>
  withWindows(withPlaces(readFacts(plan), derivedDimensionsOf(plan), plan.groupings), plan)

function readFacts(plan: DatasetPlan): Sql {
  const { dataset, source, years } = plan
  if (dataset === 'population') return withResidenceColumns(plan, populationSource(plan))
  if (dataset === 'population_by_age')
    return withResidenceColumns(plan, populationByAgeOf(years?.POPULATION_BY_AGE ?? 0))
  if (source !== null) return preAggregateRows(source, plan.periods)
  const used = dimensionsUsed({ group_by: plan.keys, filters: plan.filters })
  const isByFacility = used.map(baseDimension).includes('facility')
  const facts = overMonths(
    plan.periods,
    (period) => (isByFacility ? factsAsStored : factsOf)(dataset, period),
    (periods) => factsOfMonths(dataset, periods),
  )
  return excludesStateFunds(plan)
    ? sql`(SELECT * FROM ${facts} AS funds WHERE municipality_ibge_code IS NOT NULL)`
    : facts
}

const withResidenceColumns = ({ keys, filters }: DatasetPlan, population: Sql): Sql =>
  [...keys, ...filters.map(({ dimension }) => dimension)].some((code) => RESIDENCE_DIMENSIONS.has(code))
    ? sql`(SELECT *, uf AS residence_uf, municipality_ibge_code AS residence_municipality_code FROM ${population} AS residents)`
    : population

function populationSource({ years, measures }: DatasetPlan): Sql {
  const population = populationOf(years ?? NO_YEARS)
  const estimateYears = measures.flatMap(({ where = [] }) =>
    where.flatMap((condition) =>
      'populationType' in condition && condition.year !== undefined ? [condition.year] : [],
    ),
  )
  if (estimateYears.length === 0) return population
  return sql`(SELECT * FROM ${population} AS years FULL JOIN ${estimatesOf(estimateYears)} AS estimates USING (municipality_ibge_code, uf))`
}

/** True when each group is one row, so nothing needs summing. */
function hasUniqueKeys(plan: DatasetPlan): boolean {
  const { dataset, source, keys, fillers } = plan
  if (dataset === 'population')
    return keys.includes('municipality') || keys.includes('residence_municipality')
  if (source === null || !isOneMonthEach(plan)) return false
  if (fillers.length > 0) return false
  // A municipality lies in one state.
  return preAggregateOf(source).keys.every(
    (code) => keys.includes(code) || (code === 'state' && keys.includes('municipality')),
  )
}

export const filterColumn = (dimension: DimensionCode, dataset: FactDataset): Sql =>
  dimension === 'municipality' && isPopulation(dataset)
    ? TEXT('CAST(municipality_code AS INTEGER)')
    : key(dimension)

/** Counts facts by member: of active facilities, in some months, under filters. Rows: code, facts. */
export function printMemberCounts(
  dimension: DimensionCode,
  codes: readonly (string | number)[],
  dataset: MonthlyFacts,
  periods: readonly number[],
  filters: readonly QueryFilter[],
): Sql {
  const isByFacility = [dimension, ...filters.map((filter) => filter.dimension)].includes('facility')
  const facts = unionOf(periods.map((period) => (isByFacility ? factsAsStored : factsOf)(dataset, period)))
  const where = [
    // Funds that are missing from the published file are rows without an amount.
    ...(hasUnknowns(dataset) ? [TEXT('facts.transferred_cents IS NOT NULL')] : []),
    filterCondition(key(dimension), { dimension, operator: 'IN', values: codes }),
    ...filters.map((filter) => filterCondition(key(filter.dimension), filter)),
  ]
  return sql`SELECT ${codeSql(dimension)} AS code, count(*) AS facts
FROM ${withPlaces(facts, derivedDimensions([dimension], filters), [])} AS facts
WHERE ${join(where, '\n  AND ')}
GROUP BY ${factKey(dimension)}
ORDER BY code`
}

/** @param isUnique each group is one row, so its value needs no sum */
function measureSql(measure: Measure, plan: DatasetPlan, isUnique: boolean): Sql {
  if (plan.source !== null) return storedSql(measure, plan.source, isUnique)
  if (plan.dataset === 'population') {
    const [condition] = measure.where ?? []
    if (condition === undefined || !('populationType' in condition))
      throw new TypeError('a population is of a census or an estimate')
    const { year, populationType } = condition
    const column = sql`facts.${ident(year === undefined ? POPULATION_COLUMNS[populationType] : estimateColumn(year))}`
    // A sum is unknown when the imported file lacks one of its municipalities.
    return sql`CASE WHEN ${isUnique ? column : sql`min(${column})`} <> ${integerLiteral(MISSING_POPULATION)} THEN ${isUnique ? column : sql`sum(${column})`} END`
  }
  const conditions = (measure.where ?? []).map((condition) =>
    'outsourced' in condition ? TEXT('is_outsourced') : conditionSql(condition),
  )
  const filter = conditions.length === 0 ? EMPTY : sql` FILTER (WHERE ${join(conditions, ' AND ')})`
  if (measure.kind === 'count') return sql`count(*)${filter}`
  const field = sql`facts.${ident(measure.field ?? '')}`
  if (measure.kind === 'distinct') return distinctSql(measure, field, filter, plan)
  // sum(INTEGER) is HUGEINT and cannot overflow.
  const total = sql`sum(${timesMonth(field, measure, plan.periods)})${filter}`
  if (measure.minus === undefined) return nullIfAnyUnknown(plan.dataset, field, total)
  return sql`(${total} - sum(facts.${ident(measure.minus)})${filter})`
}

/**
 * Counts distinct values of a field. DuckDB keeps all values in memory for that, so rows are counted instead when the key
 * shows that no value repeats. Equipment by municipality and type with six measures (benchmark `heavy`) then takes 86 ms
 * instead of 438.
 */
function distinctSql({ field: name }: Measure, field: Sql, filter: Sql, plan: DatasetPlan): Sql {
  const fixed = dimensionsOfOneValue(plan)
  if (fixed.some((code) => dimensionOf(code).column === name))
    return sql`CASE WHEN count(${field})${filter} > 0 THEN 1 ELSE 0 END`
  const isOneMonth = plan.over !== null || isOneMonthEach(plan)
  return name === 'cnes_code' && isOneMonth && hasFacilityOnce({ dataset: plan.dataset, keys: fixed })
    ? sql`count(${field})${filter}`
    : sql`count(DISTINCT ${field})${filter}`
}

function storedSql(measure: Measure, name: PreAggregateName, isUnique: boolean): Sql {
  const source = sourceOf(measure, preAggregateOf(name))
  if (source === null) throw new TypeError(`${name} lacks a measure`)
  const storedColumn = (column: string): Sql => sql`facts.${ident(column)}`
  const conditions = source.where.map(conditionSql)
  const storedValue = timesMonth(storedColumn(source.stored.column), measure, [])
  const value =
    source.minus === null ? storedValue : sql`${storedValue} - ${storedColumn(source.minus.column)}`
  if (source.distinctKey === null) {
    if (conditions.length === 0) return isUnique ? value : sql`sum(${value})`
    const condition = join(conditions, ' AND ')
    return isUnique
      ? sql`CASE WHEN ${condition} THEN ${value} END`
      : sql`sum(${value}) FILTER (WHERE ${condition})`
  }
  const condition = join([...conditions, sql`${storedValue} > 0`], ' AND ')
  return isUnique
    ? sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`
    : sql`count(DISTINCT ${storedColumn(source.distinctKey)}) FILTER (WHERE ${condition})`
}
