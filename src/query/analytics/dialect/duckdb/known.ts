/**
 * Prints the condition under which a group has a value: the files of its states and months were collected, and they carry its
 * codes. query/analytics/coverage.ts decides which those are.
 */
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { finestTime } from '../../../../model/periods.ts'
import { codelessOf } from '../../../../model/required-tables.ts'
import { NO_FACILITY } from '../../../../model/sih/code-lists.ts'
import { REGIONS, STATES, type State } from '../../../../model/territory/states.ts'
import { ident, join, type Sql, sql, TEXT, whole } from '../../../../sql.ts'
import { coveredGroups, type KnownGroups } from '../../coverage.ts'
import type { AggregatePlan, MetricPlan } from '../../plan.ts'
import { codeText } from './conditions.ts'
import { GROUP_STATE, key } from './facts.ts'

/** @returns a condition on the group; null when every group has a value */
export function knownGroupSql(
  { knownGroups, knownGroupsByCode }: MetricPlan,
  plan: AggregatePlan,
): Sql | null {
  const conditions = [
    collectedSql(knownGroups, plan),
    ...knownGroupsByCode.map(({ dimension, knownGroups: codeGroups }) => {
      const collected = collectedSql(codeGroups, plan)
      return collected === null ? null : sql`(${isWithoutCodeSql(dimension)} OR ${collected})`
    }),
  ].filter((condition) => condition !== null)
  return conditions.length === 0 ? null : join(conditions, ' AND ')
}

/** True for groups without a code of the dimension, or with a code of an older table. */
function isWithoutCodeSql(dimension: DimensionCode): Sql {
  const column = sql`spine.${key(dimension)}`
  const { unknown, digits } = codelessOf(dimension)
  if (digits !== undefined) return sql`coalesce(length(${column}) <> ${whole(digits)}, true)`
  return unknown === undefined
    ? sql`${column} IS NULL`
    : sql`coalesce(${column} = ${codeText(unknown)}, true)`
}

function collectedSql(knownGroups: KnownGroups, plan: AggregatePlan): Sql | null {
  if (knownGroups === 'all') return null
  if (knownGroups === 'none') return TEXT('false')
  if ('periods' in knownGroups)
    return sql`${periodOfGroup(plan)} IN (${join(knownGroups.periods.map(whole), ', ')})`
  const coveredPlace = findCoveredPlace(plan)
  const codesOf = (states: readonly string[]): string[] =>
    coveredPlace.collected(STATES.filter(({ uf }) => states.includes(uf)))
  if ('states' in knownGroups) {
    const codes = codesOf(knownGroups.states)
    return codes.length === 0
      ? TEXT('false')
      : sql`${coveredPlace.code} IN (${join(codes.map(codeText), ', ')})`
  }
  const pairs = knownGroups.cells.flatMap(({ period, states }) =>
    codesOf(states).map((code) => `${period} ${code}`),
  )
  return sql`CAST(${periodOfGroup(plan)} AS VARCHAR) || ' ' || ${coveredPlace.code} IN (SELECT unnest(${pairs}))`
}

const periodOfGroup = ({ query: { group_by } }: AggregatePlan): Sql =>
  sql`spine.${key(finestTime(group_by) ?? 'reference_period')}`

const HEALTH_REGIONS: ReadonlySet<string> = new Set(['municipality', 'residence_municipality'])
/** Replaces the state of groups outside any health region. No state has this code. */
const NO_STATE = '00'

interface CoveredPlace {
  readonly code: Sql
  collected(states: readonly State[]): string[]
}

function findCoveredPlace({ query, scope, states: statesInScope }: AggregatePlan): CoveredPlace {
  const group_by = coveredGroups(query)
  const placeByAbbreviation = (code: Sql): CoveredPlace => ({
    code: sql`CAST(spine.${code} AS VARCHAR)`,
    collected: (states) => states.map(({ uf }) => uf),
  })
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
  // Codes of health regions begin with the state's code. Groups without one may belong to any state in scope.
  const healthDimension = group_by.find((code) => HEALTH_REGIONS.has(dimensionOf(code).derivedFrom ?? ''))
  if (healthDimension !== undefined)
    return {
      code: sql`coalesce(left(spine.${key(healthDimension)}, 2), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ ibge_code }) => String(ibge_code)), ...codeOfUnplaced(states)],
    }
  const regionPlace: CoveredPlace = {
    code: TEXT('CAST(spine."region_code" AS VARCHAR)'),
    // A region counts as collected when all of its states in scope are.
    collected: (states) =>
      Object.keys(REGIONS).filter((region) =>
        STATES.every(
          ({ uf, region_code }) =>
            String(region_code) !== region || !scope.has(uf) || states.some((state) => state.uf === uf),
        ),
      ),
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
