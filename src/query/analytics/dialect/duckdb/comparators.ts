/**
 * Prints the comparison of each row with the larger place that contains its place: which larger place that is, by the
 * release's list of municipalities, and whether the larger place's value lies outside the row's confidence limits.
 */
import {
  DERIVED_DIMENSIONS,
  type DimensionCode,
  dimensionOf,
  isMunicipality,
} from '../../../../model/dimensions.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { type ComparatorPlan, hasPeers } from '../../options/comparators.ts'
import type { Grouping } from '../../options/groupings.ts'
import { isPeers } from '../../options/peers.ts'
import type { AggregatePlan } from '../../plan.ts'
import { membersOf } from '../../resident-relations.ts'
import { key } from './facts.ts'
import type { Side } from './limits.ts'
import { withPlaces } from './places.ts'
import { relation } from './spine.ts'

/** @returns joins of the row (`joined`) with its comparator, on full keys, so that no row repeats */
export function comparatorJoins({ plan, place, larger, isGrouped }: ComparatorPlan): Sql {
  const conditions = plan.query.group_by
    .filter((code) => code !== larger)
    .map((code) => sql`comparator.${key(code)} IS NOT DISTINCT FROM joined.${key(code)}`)
  const containing =
    larger === null || isGrouped
      ? EMPTY
      : sql`\n  LEFT JOIN ${containingPlaces(place, larger, plan.query.groupings)} AS containing ON containing.place = joined.${key(place)}`
  if (larger === null || isGrouped) conditions.push(sql`joined.${key(place)} IS NOT NULL`)
  if (larger !== null)
    conditions.push(
      sql`comparator.${key(larger)} = ${isGrouped ? sql`joined.${key(larger)}` : TEXT('containing.larger')}`,
    )
  return sql`${containing}\n  LEFT JOIN ${relation(plan, 'joined')} AS comparator ON ${join(conditions, ' AND ')}`
}

/**
 * One row for each place: its code, that of the larger place or group of peers, and the number of peers. A place that lies in several
 * larger places has none.
 */
function containingPlaces(place: DimensionCode, larger: DimensionCode, groupings: readonly Grouping[]): Sql {
  const isResidence = place.startsWith('residence_')
  const derived = [...DERIVED_DIMENSIONS].filter((code) => code === place || code === larger)
  const municipalities = isResidence
    ? sql`(SELECT code AS residence_municipality_code, CAST(uf AS VARCHAR) AS residence_uf FROM ${membersOf('municipality')} AS members)`
    : sql`(SELECT code AS municipality_ibge_code, CAST(uf AS VARCHAR) AS uf FROM ${membersOf('municipality')} AS members)`
  const places = withPlaces(municipalities, derived, groupings)
  const [code, largerCode] = [ident(dimensionOf(place).column), ident(dimensionOf(larger).column)]
  // The list names each municipality once.
  if (isMunicipality(place)) {
    const peers = isPeers(larger)
      ? sql`, CASE WHEN ${largerCode} IS NOT NULL THEN count(*) OVER (PARTITION BY ${largerCode}) END AS peers`
      : EMPTY
    return sql`(SELECT ${code} AS place, ${largerCode} AS larger${peers} FROM ${places} AS places)`
  }
  return sql`(SELECT ${code} AS place, CASE WHEN min(${largerCode}) = max(${largerCode}) THEN min(${largerCode}) END AS larger FROM ${places} AS places WHERE ${code} IS NOT NULL GROUP BY ${code})`
}

/** @returns columns of the comparator's integers, by the index of each metric, and the number of peers */
export const comparatorColumns = ({ metrics, query }: AggregatePlan): Sql[] => [
  ...metrics.flatMap((_, index) =>
    ['numerator', 'denominator'].map(
      (side) => sql`comparator.${ident(`${side}_${index}`)} AS ${ident(`comparator_${side}_${index}`)}`,
    ),
  ),
  ...(hasPeers(query) ? [TEXT('containing.peers')] : []),
]

/** @returns the larger place's value, not rounded, or null where it has none @param index index of the metric */
export const comparedValueSql = (index: number): Sql => {
  const divisor = ident(`comparator_denominator_${index}`)
  return sql`CASE WHEN ${divisor} > 0 THEN CAST(${ident(`comparator_numerator_${index}`)} AS DOUBLE) / CAST(${divisor} AS DOUBLE) END`
}

/**
 * Never better or worse: lower, similar, higher, or not_compared where a limit or the comparator is missing.
 * @param index index of the metric, whose comparator stands in compared_value_…
 * @param limits columns of the limits that decide
 */
export function significanceSql(index: number, { lower, upper }: Readonly<Record<Side, Sql>>): Sql {
  const comparator = ident(`compared_value_${index}`)
  return sql`CASE WHEN ${lower} IS NULL OR ${upper} IS NULL OR ${comparator} IS NULL THEN 'not_compared' WHEN ${lower} > ${comparator} THEN 'higher' WHEN ${upper} < ${comparator} THEN 'lower' ELSE 'similar' END`
}
