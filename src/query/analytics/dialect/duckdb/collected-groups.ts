/**
 * Prints the condition under which a group has a value: the files of its states and months were collected, and they carry its
 * codes. query/analytics/coverage.ts decides which those are.
 */
import {
  type DimensionCode,
  dimensionOf,
  groupedDimension,
  isPlace,
  REGION_DIMENSIONS,
  RESIDENCE_DIMENSIONS,
} from '../../../../model/dimensions.ts'
import { finestTime } from '../../../../model/periods.ts'
import { codelessOf } from '../../../../model/required-tables.ts'
import { NO_FACILITY } from '../../../../model/sih/code-lists.ts'
import { REGIONS, STATES, type State } from '../../../../model/territory/states.ts'
import { ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import { coveredGroups, type GroupSet, WHOLE_STATES } from '../../coverage.ts'
import type { MetricPlan } from '../../datasets/metric-plan.ts'
import type { Grouping } from '../../options/groupings.ts'
import type { AggregatePlan } from '../../plan.ts'
import { codeText } from './conditions.ts'
import { GROUP_STATE, key } from './facts.ts'

/** @returns a condition on the group; null when every group has a value */
export function isCollectedSql(
  { collectedGroups, collectedGroupsByCode }: MetricPlan,
  plan: AggregatePlan,
): Sql | null {
  const conditions = [
    isInGroupSetSql(collectedGroups, plan),
    ...collectedGroupsByCode.map(({ dimension, collectedGroups: codeGroups }) => {
      const collected = isInGroupSetSql(codeGroups, plan)
      return collected === null ? null : sql`(${isWithoutCodeSql(dimension)} OR ${collected})`
    }),
  ].filter((condition) => condition !== null)
  return conditions.length === 0 ? null : join(conditions, ' AND ')
}

/** True for groups without a code of the dimension, or with a code of an older table. */
function isWithoutCodeSql(dimension: DimensionCode): Sql {
  const column = sql`spine.${key(dimension)}`
  const { unknown, digits } = codelessOf(dimension)
  if (digits !== undefined) return sql`coalesce(length(${column}) <> ${integerLiteral(digits)}, true)`
  return unknown === undefined
    ? sql`${column} IS NULL`
    : sql`coalesce(${column} = ${codeText(unknown)}, true)`
}

/** @returns a condition on the group, whose row is `spine`; null when it holds for every group */
export function isInGroupSetSql(groups: GroupSet, plan: AggregatePlan): Sql | null {
  if (groups === 'all') return null
  if (groups === 'none') return TEXT('false')
  if ('periods' in groups)
    return sql`${periodOfGroup(plan)} IN (${join(groups.periods.map(integerLiteral), ', ')})`
  const coveredPlace = findCoveredPlace(plan)
  const codesOf = (states: readonly string[]): string[] =>
    coveredPlace.collected(STATES.filter(({ uf }) => states.includes(uf)))
  if ('states' in groups) {
    const codes = codesOf(groups.states)
    return codes.length === 0
      ? TEXT('false')
      : sql`${coveredPlace.code} IN (${join(codes.map(groupText), ', ')})`
  }
  const pairs = groups.cells.flatMap(({ period, states }) =>
    codesOf(states).map((code) => `${period} ${code}`),
  )
  return sql`CAST(${periodOfGroup(plan)} AS VARCHAR) || ' ' || ${coveredPlace.code} IN (SELECT unnest(${pairs}))`
}

/** Codes of groups may have dots and hyphens, which the model's codes never have. */
const groupText = (code: string): Sql => (/^\w{1,20}$/.test(code) ? codeText(code) : sql`${code}`)

const periodOfGroup = ({ query: { group_by } }: AggregatePlan): Sql =>
  sql`spine.${key(finestTime(group_by) ?? 'reference_period')}`

const HEALTH_REGIONS: ReadonlySet<string> = new Set(['municipality', 'residence_municipality'])
/** Replaces the state of groups outside any health region. No state has this code. */
const NO_STATE = '00'

interface CoveredPlace {
  readonly code: Sql
  collected(states: readonly State[]): string[]
}

/** Replaces the code of the group of all others, which is null. Codes of groups begin with a letter or digit. */
const OTHERS = '_'

/**
 * @param lies whether a state is part of an area
 * @returns states whose files the area needs: of those that the place filters leave, the states of the filtered facilities, or all
 * where no filtered facility can lie in the area
 */
function statesNeeded(
  { scope, places }: Pick<AggregatePlan, 'scope' | 'places'>,
  lies: (state: State) => boolean,
): string[] {
  const states = STATES.filter((state) => places.has(state.uf) && lies(state)).map(({ uf }) => uf)
  const ofFacilities = states.filter((uf) => scope.has(uf))
  return ofFacilities.length === 0 ? states : ofFacilities
}

/** A group counts as collected when all states that it needs are; the others lie in any state. */
function placeByGroup({ code, dimension, groups, others }: Grouping, plan: AggregatePlan): CoveredPlace {
  const statesOf = groups.map(({ code: group, members }) => ({
    group,
    states: statesNeeded(plan, ({ uf, ibge_code, region_code }) =>
      members.some((member) =>
        REGION_DIMENSIONS.has(dimension)
          ? member === region_code
          : WHOLE_STATES.has(dimension)
            ? member === uf
            : String(member).startsWith(String(ibge_code)),
      ),
    ),
  }))
  // Residents of an unknown place may live in any state, too.
  const isFull = WHOLE_STATES.has(dimension) && !RESIDENCE_DIMENSIONS.has(dimension)
  const full = new Set(isFull ? statesOf.flatMap(({ states }) => states) : [])
  const outside = { group: OTHERS, states: statesNeeded(plan, ({ uf }) => !full.has(uf)) }
  return {
    code: sql`coalesce(spine.${key(code)}, ${TEXT(`'${OTHERS}'`)})`,
    collected: (states) =>
      [...statesOf, ...(others === 'group' ? [outside] : [])]
        .filter((place) => place.states.every((uf) => states.some((state) => state.uf === uf)))
        .map(({ group }) => group),
  }
}

function findCoveredPlace(plan: AggregatePlan): CoveredPlace {
  const { query, scope, states: statesInScope } = plan
  const group_by = coveredGroups(query)
  const placeByAbbreviation = (code: Sql): CoveredPlace => ({
    code: sql`CAST(spine.${code} AS VARCHAR)`,
    collected: (states) => states.map(({ uf }) => uf),
  })
  const grouping = query.groupings.find(({ code }) => group_by.includes(code) && isPlace(code))
  if (grouping !== undefined && !group_by.some((code) => isPlace(code) && groupedDimension(code) === null))
    return placeByGroup(grouping, plan)
  if (group_by.includes('state')) return placeByAbbreviation(ident('uf'))
  const codeOfUnplaced = (states: readonly State[]): string[] =>
    [...scope].every((uf) => states.some((state) => state.uf === uf)) ? [NO_STATE] : []
  const placeByIbgeCode = (code: Sql): CoveredPlace => ({
    code,
    collected: (states) => states.map(({ ibge_code }) => String(ibge_code)),
  })
  if (group_by.includes('municipality'))
    return placeByIbgeCode(sql`CAST(spine."municipality_ibge_code" // 100000 AS VARCHAR)`)
  // Residents of an unknown place may live in any state in scope.
  if (group_by.includes('residence_state'))
    return {
      code: sql`coalesce(CAST(spine."residence_uf" AS VARCHAR), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ uf }) => uf), ...codeOfUnplaced(states)],
    }
  if (group_by.includes('residence_municipality'))
    return {
      code: sql`coalesce(CAST(spine."residence_municipality_code" // 100000 AS VARCHAR), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ ibge_code }) => String(ibge_code)), ...codeOfUnplaced(states)],
    }
  // A region counts as collected when all states that it needs are.
  const collectedRegions = (states: readonly State[]): string[] =>
    Object.keys(REGIONS).filter((region) =>
      statesNeeded(plan, ({ region_code }) => String(region_code) === region).every((uf) =>
        states.some((state) => state.uf === uf),
      ),
    )
  // Codes of health regions begin with the state's code. Groups without one belong to the states of their region, or to any state in scope.
  const healthDimension = group_by.find(
    (code) => groupedDimension(code) === null && HEALTH_REGIONS.has(dimensionOf(code).derivedFrom ?? ''),
  )
  const regionDimension = group_by.find((code) => REGION_DIMENSIONS.has(code))
  if (healthDimension !== undefined) {
    const codes = [sql`left(spine.${key(healthDimension)}, 2)`]
    if (regionDimension !== undefined) codes.push(sql`CAST(spine.${key(regionDimension)} AS VARCHAR)`)
    return {
      code: sql`coalesce(${join([...codes, codeText(NO_STATE)], ', ')})`,
      collected: (states) => [
        ...states.map(({ ibge_code }) => String(ibge_code)),
        ...(regionDimension === undefined ? [] : collectedRegions(states)),
        ...codeOfUnplaced(states),
      ],
    }
  }
  if (group_by.includes('residence_region'))
    return {
      code: sql`coalesce(CAST(spine."residence_region_code" AS VARCHAR), ${codeText(NO_STATE)})`,
      collected: (states) => [...collectedRegions(states), ...codeOfUnplaced(states)],
    }
  const regionPlace: CoveredPlace = {
    code: TEXT('CAST(spine."region_code" AS VARCHAR)'),
    collected: collectedRegions,
  }
  if (!group_by.includes('facility')) return regionPlace
  // Groups without a facility belong to all states in scope, or to those of their region.
  const withoutFacility: CoveredPlace = group_by.includes('region')
    ? regionPlace
    : {
        code: codeText(NO_STATE),
        collected: (states) =>
          [...statesInScope].every((uf) => states.some((state) => state.uf === uf)) ? [NO_STATE] : [],
      }
  const facilityPlace = placeByAbbreviation(GROUP_STATE)
  return {
    code: sql`CASE WHEN spine.${key('facility')} = ${codeText(NO_FACILITY)} THEN ${withoutFacility.code} ELSE ${facilityPlace.code} END`,
    collected: (states) => [...facilityPlace.collected(states), ...withoutFacility.collected(states)],
  }
}
