/**
 * Prints the groups of an answer, the spine: members of places and periods with or without facts, the groups that facts have, or
 * groups of a list. The sums are in facts.ts, and groups.ts joins them to the groups.
 */
import {
  DERIVED_DIMENSIONS,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  isAddedUp,
  isByOccurrence,
  isByResidence,
  isPopulation,
  PLACE_DIMENSIONS,
  RESIDENCE_DIMENSIONS,
} from '../../../../model/dimensions.ts'
import { finestTime, isTime } from '../../../../model/periods.ts'
import { preAggregateOf } from '../../../../model/pre-aggregates.ts'
import { EMPTY, either, gathered, ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { WHOLE_STATES } from '../../coverage.ts'
import type { QueryFilter } from '../../filters.ts'
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
import { filterCondition } from './conditions.ts'
import { GROUP_STATE, hasRows, key, keyList } from './facts.ts'
import { pairRelation, periodRelation } from './periods.ts'
import { derivedDimensions, withPlaces } from './places.ts'

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

/** Members of places have a group with or without facts; facts whose place is not known add theirs. */
export const spineCte = (plan: AggregatePlan): Sql =>
  join([memberKeys(plan), ...(plan.spine === 'members' ? placelessKeys(plan) : [])], '\n  UNION\n')

function memberKeys(plan: AggregatePlan): Sql {
  const groups = plan.query.group_by
  if (plan.spine === 'one') return TEXT('  SELECT 1 AS whole_scope')
  if (plan.spine === 'listed') return listedKeys(plan)
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

/** Empty texts stand for members without a code, because lists of parameters have no nulls. */
function listedKeys({ query: { group_by }, datasets, listed }: AggregatePlan): Sql {
  const column = (values: readonly (string | null)[], name: Sql, type: 'INTEGER' | 'VARCHAR'): Sql =>
    sql`CAST(nullif(unnest(${values.map((value) => value ?? '')}), '') AS ${TEXT(type)}) AS ${name}`
  const codes = group_by.map((code, index) =>
    column(
      listed.map((group) => group.codes[index] ?? null),
      key(code),
      dimensionOf(code).integer === true ? 'INTEGER' : 'VARCHAR',
    ),
  )
  const states = datasets.some(({ hasStateColumn }) => hasStateColumn)
    ? [
        column(
          listed.map(({ state }) => state),
          GROUP_STATE,
          'VARCHAR',
        ),
      ]
    : []
  return sql`  SELECT ${join([...codes, ...states], ', ')}`
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

/** Only deaths by occurrence have facts without a place. */
function placelessKeys(plan: AggregatePlan): Sql[] {
  const places = plan.query.group_by.filter((code) => PLACE_DIMENSIONS.has(code))
  if (places.length === 0) return []
  const isPlaceless = join(
    places.map((code) => sql`${key(code)} IS NULL`),
    ' AND ',
  )
  const carried = carriedOf(plan).map(() => TEXT(', NULL'))
  const keysOf = (facts: Sql): Sql =>
    sql`  SELECT ${keyList(plan.query.group_by)}${join(carried, '')} FROM ${facts} WHERE ${isPlaceless}`
  const placeless = factsWithRows(plan).filter(({ dataset }) => isByOccurrence(dataset))
  return [
    ...placeless.map(({ name }) => keysOf(relation(plan, name))),
    ...baseKeys(plan, isByOccurrence).map((keys) => keysOf(sql`(${keys}) AS base`)),
  ]
}

/** @param isRead which datasets give groups of the periods compared with */
function baseKeys(
  { base, query: { group_by } }: AggregatePlan,
  isRead: (dataset: FactDataset) => boolean = () => true,
): Sql[] {
  if (base === null) return []
  const keyColumns = group_by.map((code) =>
    isTime(code) ? sql`months.${key(code)}` : sql`facts.${key(code)}`,
  )
  const finest = finestTime(group_by)
  const months =
    finest === null
      ? EMPTY
      : sql` JOIN ${pairRelation(group_by, base.months)} AS months ON months.${baseKey(finest)} = facts.${key(finest)}`
  const read = factsWithRows(base.plan).filter(({ dataset }) => isRead(dataset))
  return read.map(({ name, hasStateColumn }) => {
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
