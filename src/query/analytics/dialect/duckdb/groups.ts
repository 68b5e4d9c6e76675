/** Joins each metric's numerator and denominator to the groups of an answer. The groups are in spine.ts, the sums in facts.ts. */

import { LIFE_TABLE, type LifeTableAge } from '../../../../model/demography/life-table.ts'
import { hasUnknowns, isPopulation } from '../../../../model/dimensions.ts'
import { finestTime } from '../../../../model/periods.ts'
import { ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { MeasurePosition, MetricPlan, RatioSides } from '../../datasets/metric-plan.ts'
import { DROPPED } from '../../options/prices.ts'
import type { AggregatePlan, DatasetPlan } from '../../plan.ts'
import { isCollectedSql } from './collected-groups.ts'
import { hasRows, key } from './facts.ts'
import { lifeTableFraction, lifeTableSql } from './life-table.ts'
import { monthsDividedBy, monthsSql, monthsSummed } from './periods.ts'
import { carriedOf, onlyFacts, relation, relationAs } from './spine.ts'
import { statusColumns } from './status.ts'

const relationOfMeasures = (plan: AggregatePlan, { name }: DatasetPlan): Sql =>
  ident(name === onlyFacts(plan) ? 'spine' : name)

/** True for a grand total. Each dataset has one row then, so no spine is needed. */
export const isOneRow = ({ name, query, base }: AggregatePlan): boolean =>
  name !== '' && query.group_by.length === 0 && base === null

/** A dataset that is read over several spans of months has several sub-queries. */
function oneRowSql(plan: AggregatePlan): Sql {
  const names = plan.datasets.filter(hasRows).map(({ name }) => name)
  const rows = names.map((name) => relationAs(plan, name))
  return rows.length === 0 ? TEXT('(SELECT 1 AS whole_scope)') : withLifeTables(plan, names, join(rows, ', '))
}

const lifeTablesOf = ({ metrics }: AggregatePlan): NonNullable<MetricPlan['lifeTable']>[] =>
  metrics.flatMap(({ lifeTable }) => (lifeTable === null ? [] : [lifeTable]))
const lifeTableIdent = (index: number): Sql => ident(`life_table_${index}`)

/**
 * A life table is read several times and is long, so that it is computed in a sub-query. The relations that it reads become columns there,
 * each a struct of its row, and keep their names.
 */
function withLifeTables(plan: AggregatePlan, relations: readonly string[], from: Sql): Sql {
  const tables = lifeTablesOf(plan).map(
    (positions, index) => sql`${lifeTableOf(positions, plan)} AS ${lifeTableIdent(index)}`,
  )
  return tables.length === 0
    ? from
    : sql`(SELECT ${join([...relations.map(ident), ...tables], ', ')} FROM ${from})`
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
          sql`${lifeTableFractionOf(metric.lifeTable, plan).variance} AS ${ident(`standard_variance_${index}`)}`,
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
  const spine =
    onlyDataset === null ? relationAs(plan, 'spine') : sql`${relation(plan, onlyDataset)} AS spine`
  const relations = ['spine', ...joined.map(({ name }) => name)]
  return sql`  SELECT ${join([...keys, ...carried, ...columns], ',\n    ')}
  FROM ${withLifeTables(plan, relations, sql`${spine}${join(joins, '')}`)}`
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
  if (metric.collectedGroups === 'none') return TEXT('CAST(NULL AS HUGEINT)')
  const isCollected = isCollectedSql(metric, plan)
  const ifCollected = (value: Sql): Sql =>
    isCollected === null ? value : sql`CASE WHEN ${isCollected} THEN ${value} END`
  if (metric.lifeTable !== null) return ifCollected(lifeTableFractionOf(metric.lifeTable, plan).numerator)
  const sum = measureValue(plan, metric.numerator)
  // Rounding down at a decimal finer than any that is shown changes no value that is rounded afterwards.
  const value = metric.priceUnit === 1 ? sum : sql`(${sum} // ${TEXT(String(DROPPED))})`
  const difference = metric.less === null ? value : sql`(${value} - ${measureValue(plan, metric.less)})`
  const { denominator, scale } = metric
  const months = denominator === null ? null : monthsSql(datasetAt(plan, denominator))
  const scaledBy =
    denominator === null || scale === 1 ? difference : sql`${difference} * ${integerLiteral(scale)}`
  return ifCollected(months === null ? scaledBy : sql`${scaledBy} * ${months}`)
}

/** N/d ÷ (M/e) is N·e ÷ (M·d): integers on both sides. The numerator is null where either side is unknown. */
function ratioNumerator([top, bottom]: RatioSides, scale: number, plan: AggregatePlan): Sql {
  if (bottom.collectedGroups === 'none') return TEXT('CAST(NULL AS HUGEINT)')
  const divisor = divisorSql(bottom, plan)
  const factors = [
    scaledNumerator(top, plan),
    ...(divisor === null ? [] : [divisor]),
    ...(scale === 1 ? [] : [integerLiteral(scale)]),
  ]
  const isCollected = isCollectedSql(bottom, plan)
  const product = join(factors, ' * ')
  return isCollected === null ? product : sql`CASE WHEN ${isCollected} THEN ${product} END`
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
  if (metric.lifeTable !== null) return lifeTableFractionOf(metric.lifeTable, plan).denominator
  const months = monthsSql(datasetAt(plan, metric.numerator))
  const unit = months === null ? integerLiteral(metric.unit) : sql`${months} * ${integerLiteral(metric.unit)}`
  if (metric.denominator === null) return sql`CAST(${unit} AS HUGEINT)`
  const value =
    metric.denominators === null
      ? measureValue(plan, metric.denominator)
      : denominatorByMonth(metric.denominators, plan)
  return months === null && metric.unit === 1 ? value : sql`${value} * ${unit}`
}

const lifeTableFractionOf = (positions: NonNullable<MetricPlan['lifeTable']>, plan: AggregatePlan) =>
  lifeTableFraction(lifeTableIdent(lifeTablesOf(plan).indexOf(positions)))

function lifeTableOf(positions: NonNullable<MetricPlan['lifeTable']>, plan: AggregatePlan): Sql {
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
  return lifeTableSql(ages, months)
}

function denominatorByMonth(denominators: NonNullable<MetricPlan['denominators']>, plan: AggregatePlan): Sql {
  const finest = finestTime(plan.query.group_by) ?? 'reference_period'
  const cases = denominators.flatMap(({ period, position }) =>
    position === null
      ? []
      : [sql`WHEN spine.${key(finest)} = ${integerLiteral(period)} THEN ${measureValue(plan, position)}`],
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
