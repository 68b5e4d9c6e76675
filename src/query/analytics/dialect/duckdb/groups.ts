/**
 * Prints the groups of an answer (the spine, with or without facts) and joins each metric's numerator and denominator to them.
 * The sums are in facts.ts.
 */

import { LIFE_TABLE, type LifeTableAge } from '../../../../model/demography/life-table.ts'
import {
  DERIVED_DIMENSIONS,
  type DimensionCode,
  dimensionOf,
  hasUnknowns,
  isAddedUp,
  isByResidence,
  isPopulation,
  PLACE_DIMENSIONS,
  RESIDENCE_DIMENSIONS,
} from '../../../../model/dimensions.ts'
import { finestTime, isTime } from '../../../../model/periods.ts'
import { preAggregateOf } from '../../../../model/pre-aggregates.ts'
import { EMPTY, either, gathered, ident, join, type Sql, sql, TEXT, whole } from '../../../../sql.ts'
import { WHOLE_STATES } from '../../coverage.ts'
import type { MeasurePosition, MetricPlan, RatioSides } from '../../datasets/metric-plan.ts'
import type { QueryFilter } from '../../filters.ts'
import { DROPPED } from '../../options/prices.ts'
import type { AggregatePlan, DatasetPlan } from '../../plan.ts'
import type { BasePlan } from '../../query-plan.ts'
import {
  factsOf,
  factsOfMonths,
  type MonthlyFacts,
  membersOf,
  municipalitiesWithFacilities,
  preAggregateRows,
} from '../../resident-relations.ts'
import { overMonths } from '../differences.ts'
import { filterCondition, GROUP_STATE, hasRows, key, keyList } from './facts.ts'
import { knownGroupSql } from './known.ts'
import { lifeTableFraction, lifeTableSql } from './life-table.ts'
import { monthsDividedBy, monthsSql, monthsSummed, pairRelation, periodRelation } from './periods.ts'
import { derivedDimensions, withPlaces } from './places.ts'
import { statusColumns } from './status.ts'

const carriesFlows = ({ dataset }: DatasetPlan): boolean =>
  isAddedUp(dataset) && dimensionOf('municipality').datasets.includes(dataset)

/** Columns that the spine takes from its members, to avoid joining them again. `from` is the column in the members' relation. */
export function carriedOf(
  plan: AggregatePlan,
): readonly { readonly column: string; readonly from: string }[] {
  const carrier = carrierOf(plan)
  if (carrier === null) return []
  return [
    { column: `name_of_${carrier}`, from: 'name' },
    { column: `rank_of_${carrier}`, from: 'name_rank' },
  ]
}

export function carrierOf({ spine, query: { group_by } }: AggregatePlan): 'municipality' | 'state' | null {
  if (spine !== 'members') return null
  if (group_by.includes('municipality')) return 'municipality'
  // Together with a derived place, the groups are pairs that municipalities have.
  if (group_by.some((code) => DERIVED_DIMENSIONS.has(code))) return null
  return group_by.includes('state') ? 'state' : null
}

/** @returns the only sub-query with groups; it then replaces the spine */
export function onlyFacts(plan: AggregatePlan): string | null {
  // With a comparison month, a group may have facts only in that month.
  if (plan.spine !== 'facts' || plan.base !== null || isByResidence(plan.query.group_by)) return null
  const [first = null, ...others] = factsWithRows(plan)
  return first === null || others.length > 0 ? null : first.name
}

/** Populations that only divide others add no groups. */
const factsWithRows = ({ datasets, metrics }: AggregatePlan): DatasetPlan[] =>
  datasets.filter(
    (dataset, index) =>
      hasRows(dataset) &&
      dataset.dataset !== 'population' &&
      (!isPopulation(dataset.dataset) || metrics.some(({ numerator }) => numerator.plan === index)),
  )

export const relation = ({ name }: AggregatePlan, relationName: string): Sql =>
  ident(`${name}${relationName}`)
export const relationAs = (plan: AggregatePlan, relationName: string): Sql =>
  plan.name === '' ? ident(relationName) : sql`${relation(plan, relationName)} AS ${ident(relationName)}`

const relationOfMeasures = (plan: AggregatePlan, { name }: DatasetPlan): Sql =>
  ident(name === onlyFacts(plan) ? 'spine' : name)

export function spineCte(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  if (plan.spine === 'one') return TEXT('  SELECT 1 AS whole_scope')
  if (plan.spine === 'facts') {
    const withRows = factsWithRows(plan)
    const stateColumn = withRows.some(({ hasStateColumn }) => hasStateColumn) ? sql`, ${GROUP_STATE}` : EMPTY
    const keys = [
      ...withRows.map(
        ({ name }) => sql`  SELECT ${keyList(groups)}${stateColumn} FROM ${relation(plan, name)}`,
      ),
      ...baseKeys(plan),
      ...(isByResidence(groups) ? [residenceKeys(plan)] : []),
    ]
    if (keys.length > 0 && stateColumn !== EMPTY)
      return sql`  SELECT ${keyList(groups)}, min(${GROUP_STATE}) AS ${GROUP_STATE}
  FROM (
${join(keys, '\n  UNION ALL\n')}
  )
  GROUP BY ${keyList(groups)}`
    if (keys.length > 0) return join(keys, '\n  UNION\n')
    const nulls = groups.map(
      (code) =>
        sql`CAST(NULL AS ${TEXT(dimensionOf(code).integer === true ? 'INTEGER' : 'VARCHAR')}) AS ${key(code)}`,
    )
    const hasState = plan.datasets.some(({ hasStateColumn }) => hasStateColumn)
    if (hasState) nulls.push(sql`CAST(NULL AS VARCHAR) AS ${GROUP_STATE}`)
    return sql`  SELECT ${join(nulls, ', ')} WHERE false`
  }
  const periods = periodsOf(plan)
  if (!groups.some((code) => PLACE_DIMENSIONS.has(code)))
    return sql`  SELECT ${keyList(groups)} FROM ${periods ?? EMPTY}`
  const crossJoin = periods === null ? EMPTY : sql` CROSS JOIN ${periods} AS periods`
  const placeCondition = (filter: QueryFilter): Sql =>
    filterCondition(filter.dimension === 'municipality' ? ident('code') : key(filter.dimension), filter)
  // Filters by residence restrict the facts, not the places of hospitals.
  const placeFilters = plan.placeFilters.filter(({ dimension }) => PLACE_DIMENSIONS.has(dimension))
  const members = (codes: readonly DimensionCode[]): Sql =>
    withPlaces(
      membersOf('municipality'),
      derivedDimensions(codes, placeFilters),
      plan.query.groupings,
      TEXT('own.code'),
    )
  const scopeConditions = placeFilters.map(placeCondition)
  const carried = carriedOf(plan).map(({ column, from }) => sql`members.${ident(from)} AS ${ident(column)}`)
  if (groups.some((code) => code === 'municipality' || DERIVED_DIMENSIONS.has(code))) {
    const columns = groups.map((code) =>
      code === 'municipality' ? TEXT('code AS "municipality_ibge_code"') : key(code),
    )
    // Each municipality is a group. Larger places form one group per pair that municipalities have.
    const distinct = groups.includes('municipality') ? EMPTY : TEXT('DISTINCT ')
    return sql`  SELECT ${distinct}${join([...columns, ...carried], ', ')}
  FROM ${members(groups)} AS members${crossJoin}
  WHERE ${join([existsSql(plan), ...scopeConditions], '\n    AND ')}`
  }
  // Filters within a state may leave only its ignored municipality. Others leave all municipalities of a state, or none.
  const inside = placeFilters.every(({ dimension }) => WHOLE_STATES.has(dimension))
    ? TEXT("territorial_type = 'MUNICIPALITY'")
    : existsSql(plan)
  const scope =
    placeFilters.length === 0
      ? EMPTY
      : sql`\n  WHERE code IN (SELECT uf FROM ${members([])} AS inside WHERE ${inside} AND ${join(scopeConditions, ' AND ')})`
  const columns = groups.map((code) => (code === 'state' ? TEXT('code AS "uf"') : key(code)))
  return sql`  SELECT ${join([...columns, ...carried], ', ')}
  FROM ${membersOf('state')} AS members${crossJoin}${scope}`
}

/**
 * @returns a condition on municipalities: those that are places of an answer
 *
 * The ignored municipality of a state is one when it has an active facility, whatever the metrics. A metric thus has the
 * same rows alone and with others. It lies in no health region, so its facts go to the group without a code.
 */
function existsSql(plan: AggregatePlan): Sql {
  const months = plan.spinePeriods.length > 0 ? plan.spinePeriods : [plan.facilityPeriod ?? []].flat()
  const registryMonths = months.filter((period) => plan.facilityMonths.includes(period))
  const facilityConditions = registryMonths.map(
    (period) =>
      sql`(territorial_type = 'IGNORED' AND code IN (SELECT municipality_ibge_code FROM ${municipalitiesWithFacilities(period)} AS active))`,
  )
  // Facilities in an unknown municipality may have admissions or production, which also need that row.
  const flowConditions = plan.datasets
    .filter((dataset) => carriesFlows(dataset) && hasRows(dataset))
    .map(({ name, dataset, periods, source }) => {
      const isPlaced = source !== null && preAggregateOf(source).keys.includes('municipality')
      const facts = dataset as MonthlyFacts
      const flowRows = isPlaced
        ? preAggregateRows(source, periods)
        : overMonths(
            periods,
            (period) => factsOf(facts, period),
            (all) => factsOfMonths(facts, all),
          )
      const places = gathered(
        `${plan.name}${name}_served`,
        [{ name: 'municipality_ibge_code', type: 'INTEGER' }],
        sql`SELECT ${either(EMPTY, TEXT('DISTINCT '))}municipality_ibge_code FROM ${flowRows} AS served`,
      )
      return sql`(territorial_type = 'IGNORED' AND code IN (${places}))`
    })
  return sql`(${join([TEXT("territorial_type = 'MUNICIPALITY'"), ...facilityConditions, ...flowConditions], ' OR ')})`
}

/** @returns the periods that are groups; null when no period is grouped */
function periodsOf({ query: { group_by }, codes }: AggregatePlan): Sql | null {
  return finestTime(group_by) === null ? null : periodRelation(group_by, codes)
}

/** Places of residence, with or without facts. Facts add the group of residents without a known place. */
function residenceKeys(plan: AggregatePlan): Sql {
  const { query } = plan
  // Filters by hospital restrict the facts, not the places of residence.
  const placeFilters = plan.placeFilters.filter(({ dimension }) => RESIDENCE_DIMENSIONS.has(dimension))
  const municipalities = sql`(SELECT code AS residence_municipality_code, CAST(uf AS VARCHAR) AS residence_uf FROM ${membersOf('municipality')} AS members WHERE territorial_type = 'MUNICIPALITY')`
  const places = withPlaces(municipalities, derivedDimensions(query.group_by, placeFilters), query.groupings)
  const periods = periodsOf(plan)
  const crossJoin = periods === null ? EMPTY : sql` CROSS JOIN ${periods} AS periods`
  const scopeConditions = placeFilters.map((filter) => filterCondition(key(filter.dimension), filter))
  const where = scopeConditions.length === 0 ? EMPTY : sql` WHERE ${join(scopeConditions, ' AND ')}`
  return sql`  SELECT DISTINCT ${keyList(query.group_by)} FROM ${places} AS places${crossJoin}${where}`
}

function baseKeys({ base, query: { group_by } }: AggregatePlan): Sql[] {
  if (base === null) return []
  const keyColumns = group_by.map((code) =>
    isTime(code) ? sql`months.${key(code)}` : sql`facts.${key(code)}`,
  )
  const finest = finestTime(group_by)
  const months =
    finest === null
      ? EMPTY
      : sql` JOIN ${pairRelation(group_by, base.months)} AS months ON months.${baseKey(finest)} = facts.${key(finest)}`
  return factsWithRows(base.plan).map(({ name, hasStateColumn }) => {
    const columns = hasStateColumn ? [...keyColumns, sql`facts.${GROUP_STATE}`] : keyColumns
    return sql`  SELECT ${join(columns, ', ')} FROM ${relation(base.plan, name)} AS facts${months}`
  })
}

const baseKey = (code: DimensionCode): Sql => ident(`base_${dimensionOf(code).column}`)

/** The same groups in the periods compared with. compared_period is the period of the row. */
export function baseSpineCte(plan: AggregatePlan, base: BasePlan): Sql {
  const groups = plan.query.group_by
  if (groups.length === 0) return TEXT('  SELECT 1 AS whole_scope')
  const finest = finestTime(groups)
  const columns = groups.map((code) =>
    isTime(code)
      ? sql`months.${baseKey(code)} AS ${key(code)}${code === finest ? sql`, months.${key(code)} AS compared_period` : EMPTY}`
      : sql`groups.${key(code)}`,
  )
  if (plan.spine === 'facts' && base.plan.datasets.some(({ hasStateColumn }) => hasStateColumn))
    columns.push(sql`groups.${GROUP_STATE}`)
  const months =
    finest === null
      ? EMPTY
      : sql` JOIN ${pairRelation(groups, base.months)} AS months ON months.${key(finest)} = groups.${key(finest)}`
  return sql`  SELECT ${join(columns, ', ')}
  FROM ${relation(plan, onlyFacts(plan) ?? 'spine')} AS groups${months}`
}

/** True for a grand total. Each dataset has one row then, so no spine is needed. */
export const isOneRow = ({ name, query, base }: AggregatePlan): boolean =>
  name !== '' && query.group_by.length === 0 && base === null

/** A dataset that is read over several spans of months has several sub-queries. */
function oneRowSql(plan: AggregatePlan): Sql {
  const rows = plan.datasets.filter(hasRows).map(({ name }) => relationAs(plan, name))
  return rows.length === 0 ? TEXT('(SELECT 1 AS whole_scope)') : join(rows, ', ')
}

/**
 * Joins numerators and denominators, one row per group. Joins use full keys, so no row repeats.
 * @param more further columns of the spine to keep
 */
export function joinedCte(plan: AggregatePlan, more: readonly string[] = []): Sql {
  const values = plan.metrics.flatMap((metric, index) => [
    sql`${scaledNumerator(metric, plan)} AS ${ident(`numerator_${index}`)}`,
    sql`${scaledDenominator(metric, plan)} AS ${ident(`denominator_${index}`)}`,
    ...(metric.lifeTable === null
      ? []
      : [
          sql`${lifeTableOf(metric.lifeTable, plan).variance} AS ${ident(`standard_variance_${index}`)}`,
          sql`${measureValue(plan, metric.numerator)} AS ${ident(`standard_events_${index}`)}`,
        ]),
    ...Object.entries(metric.spread ?? {}).map(
      ([name, position]) => sql`${measureValue(plan, position)} AS ${ident(`standard_${name}_${index}`)}`,
    ),
  ])
  const columns = [...values, ...statusColumns(plan)]
  if (isOneRow(plan))
    return sql`  SELECT ${join(columns, ',\n    ')}
  FROM ${oneRowSql(plan)}`
  const onlyDataset = onlyFacts(plan)
  const joined = plan.datasets.filter((dataset) => hasRows(dataset) && dataset.name !== onlyDataset)
  const joins = joined.map(({ name, keys }) => {
    const conditions = keys.map(
      (code) => sql`${ident(name)}.${key(code)} IS NOT DISTINCT FROM spine.${key(code)}`,
    )
    return sql`\n  LEFT JOIN ${relationAs(plan, name)} ON ${conditions.length === 0 ? TEXT('true') : join(conditions, ' AND ')}`
  })
  const keys = plan.query.group_by.map((code) => sql`spine.${key(code)}`)
  const carried = [...carriedOf(plan).map(({ column }) => column), ...more].map(
    (column) => sql`spine.${ident(column)}`,
  )
  const from = onlyDataset === null ? relationAs(plan, 'spine') : sql`${relation(plan, onlyDataset)} AS spine`
  return sql`  SELECT ${join([...keys, ...carried, ...columns], ',\n    ')}
  FROM ${from}${join(joins, '')}`
}

const datasetAt = (plan: AggregatePlan, { plan: index }: MeasurePosition): DatasetPlan => {
  const found = plan.datasets[index]
  if (found === undefined) throw new TypeError('the plan lacks a dataset of its own')
  return found
}

function measureValue(plan: AggregatePlan, position: MeasurePosition): Sql {
  const dataset = datasetAt(plan, position)
  if (!hasRows(dataset)) return TEXT('CAST(NULL AS HUGEINT)')
  const column = sql`CAST(${relationOfMeasures(plan, dataset)}.${ident(`measure_${position.measure}`)} AS HUGEINT)`
  // A missing population or an unpublished place is null. A collected month without facts is 0.
  return isPopulation(dataset.dataset) || hasUnknowns(dataset.dataset) ? column : sql`coalesce(${column}, 0)`
}

function scaledNumerator(metric: MetricPlan, plan: AggregatePlan): Sql {
  if (metric.sides !== null) return ratioNumerator(metric.sides, metric.scale, plan)
  if (metric.knownGroups === 'none') return TEXT('CAST(NULL AS HUGEINT)')
  const knownGroup = knownGroupSql(metric, plan)
  const ifKnown = (value: Sql): Sql =>
    knownGroup === null ? value : sql`CASE WHEN ${knownGroup} THEN ${value} END`
  if (metric.lifeTable !== null) return ifKnown(lifeTableOf(metric.lifeTable, plan).numerator)
  const sum = measureValue(plan, metric.numerator)
  // Rounding down at a decimal finer than any that is shown changes no value that is rounded afterwards.
  const value = metric.priceUnit === 1 ? sum : sql`(${sum} // ${TEXT(String(DROPPED))})`
  const difference = metric.less === null ? value : sql`(${value} - ${measureValue(plan, metric.less)})`
  const { denominator, scale } = metric
  const months = denominator === null ? null : monthsSql(datasetAt(plan, denominator))
  const scaledBy = denominator === null || scale === 1 ? difference : sql`${difference} * ${whole(scale)}`
  return ifKnown(months === null ? scaledBy : sql`${scaledBy} * ${months}`)
}

/** N/d ÷ (M/e) is N·e ÷ (M·d): integers on both sides. The numerator is null where either side is unknown. */
function ratioNumerator([top, bottom]: RatioSides, scale: number, plan: AggregatePlan): Sql {
  if (bottom.knownGroups === 'none') return TEXT('CAST(NULL AS HUGEINT)')
  const divisor = divisorSql(bottom, plan)
  const factors = [
    scaledNumerator(top, plan),
    ...(divisor === null ? [] : [divisor]),
    ...(scale === 1 ? [] : [whole(scale)]),
  ]
  const knownGroup = knownGroupSql(bottom, plan)
  const product = join(factors, ' * ')
  return knownGroup === null ? product : sql`CASE WHEN ${knownGroup} THEN ${product} END`
}

function ratioDenominator([top, bottom]: RatioSides, plan: AggregatePlan): Sql {
  const divisor = divisorSql(top, plan)
  return divisor === null ? scaledNumerator(bottom, plan) : sql`${scaledNumerator(bottom, plan)} * ${divisor}`
}

/** @returns the divisor of the stored number of a count, which has months and cents; null when it is 1 */
function divisorSql(metric: MetricPlan, plan: AggregatePlan): Sql | null {
  const months = monthsSql(datasetAt(plan, metric.numerator))
  return months === null && metric.unit === 1 ? null : scaledDenominator(metric, plan)
}

function scaledDenominator(metric: MetricPlan, plan: AggregatePlan): Sql {
  if (metric.sides !== null) return ratioDenominator(metric.sides, plan)
  if (metric.lifeTable !== null) return lifeTableOf(metric.lifeTable, plan).denominator
  const months = monthsSql(datasetAt(plan, metric.numerator))
  const unit = months === null ? whole(metric.unit) : sql`${months} * ${whole(metric.unit)}`
  if (metric.denominator === null) return sql`CAST(${unit} AS HUGEINT)`
  const value =
    metric.denominators === null
      ? measureValue(plan, metric.denominator)
      : denominatorByMonth(metric.denominators, plan)
  return months === null && metric.unit === 1 ? value : sql`${value} * ${unit}`
}

function lifeTableOf(positions: NonNullable<MetricPlan['lifeTable']>, plan: AggregatePlan) {
  const ages = positions.map(({ deaths, residents }, index) => ({
    ...(LIFE_TABLE[index] as LifeTableAge),
    deaths: measureValue(plan, deaths),
    residents: measureValue(plan, residents),
  }))
  const [first] = positions
  const months =
    first === undefined
      ? TEXT('1')
      : monthsSummed(datasetAt(plan, first.deaths), finestTime(plan.query.group_by))
  return lifeTableFraction(lifeTableSql(ages, months))
}

function denominatorByMonth(denominators: NonNullable<MetricPlan['denominators']>, plan: AggregatePlan): Sql {
  const finest = finestTime(plan.query.group_by) ?? 'reference_period'
  const cases = denominators.flatMap(({ period, position }) =>
    position === null
      ? []
      : [sql`WHEN spine.${key(finest)} = ${whole(period)} THEN ${measureValue(plan, position)}`],
  )
  return cases.length === 0 ? TEXT('CAST(NULL AS HUGEINT)') : sql`CASE ${join(cases, ' ')} END`
}

/** @returns decimals of a metric; averages of integers have two */
export const decimalsOf = (metric: MetricPlan, plan: AggregatePlan): number =>
  metric.sides !== null || metric.decimals > 0
    ? metric.decimals
    : monthsDividedBy(datasetAt(plan, metric.numerator)) > 1
      ? 2
      : 0
