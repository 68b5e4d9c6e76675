/**
 * Which groups of an answer are known. In: a metric's plan. Out: a condition on a group: were the files of its states and months
 * collected, and do they carry its codes? Not here: where that was found out (query/coverage.ts).
 */
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { codelessOf } from '../../../../model/required-tables.ts'
import { NO_FACILITY } from '../../../../model/sih/code-lists.ts'
import { REGIONS, STATES, type State } from '../../../../model/territory/states.ts'
import { ident, join, type Sql, sql, TEXT, whole } from '../../../../sql.ts'
import type { Known } from '../../coverage.ts'
import type { AggregatePlan, MetricPlan } from '../../plan.ts'
import { codeText, GROUP_STATE, key } from './facts.ts'

/** Was all that a metric needs collected for this group, and does the group's files carry its codes? null: for every group. */
export function knownSql({ known, knownByCode }: MetricPlan, plan: AggregatePlan): Sql | null {
  const conditions = [
    collectedSql(known, plan),
    ...knownByCode.map(({ dimension, known: ofCodes }) => {
      const collected = collectedSql(ofCodes, plan)
      return collected === null ? null : sql`(${isWithoutCodeSql(dimension)} OR ${collected})`
    }),
  ].filter((condition) => condition !== null)
  return conditions.length === 0 ? null : join(conditions, ' AND ')
}

/** Is the group the one without a code of the dimension, or with one of an older table of codes? */
function isWithoutCodeSql(dimension: DimensionCode): Sql {
  const column = sql`spine.${key(dimension)}`
  const { unknown, digits } = codelessOf(dimension)
  if (digits !== undefined) return sql`coalesce(length(${column}) <> ${whole(digits)}, true)`
  return unknown === undefined
    ? sql`${column} IS NULL`
    : sql`coalesce(${column} = ${codeText(unknown)}, true)`
}

function collectedSql(known: Known, plan: AggregatePlan): Sql | null {
  if (known === 'all') return null
  if (known === 'none') return TEXT('false')
  if ('periods' in known) return sql`spine."reference_period" IN (${join(known.periods.map(whole), ', ')})`
  const place = placeOf(plan)
  const codesOf = (states: readonly string[]): string[] =>
    place.collected(STATES.filter(({ uf }) => states.includes(uf)))
  if ('states' in known) {
    const codes = codesOf(known.states)
    return codes.length === 0 ? TEXT('false') : sql`${place.code} IN (${join(codes.map(codeText), ', ')})`
  }
  const pairs = known.cells.flatMap(({ period, states }) =>
    codesOf(states).map((code) => `${period} ${code}`),
  )
  return sql`CAST(spine."reference_period" AS VARCHAR) || ' ' || ${place.code} IN (SELECT unnest(${pairs}))`
}

const HEALTH_REGIONS: ReadonlySet<string> = new Set(['municipality', 'residence_municipality'])
/** Stands for the state of what lies in no health region; no state's code. */
const NO_STATE = '00'

/** What of a group's place says whether it was collected: a code, and the codes that are where some states were. */
interface CoveredPlace {
  readonly code: Sql
  collected(states: readonly State[]): string[]
}

/** Of an answer that is grouped by a place or by facility. */
function placeOf({ query: { group_by }, scope, states: statesMeant }: AggregatePlan): CoveredPlace {
  const byState = (code: Sql): CoveredPlace => ({
    code: sql`CAST(spine.${code} AS VARCHAR)`,
    collected: (states) => states.map(({ uf }) => uf),
  })
  if (group_by.includes('state')) return byState(ident('uf'))
  const unplaced = (states: readonly State[]): string[] =>
    [...scope].every((uf) => states.some((state) => state.uf === uf)) ? [NO_STATE] : []
  const ofState = (code: Sql): CoveredPlace => ({
    code,
    collected: (states) => states.map(({ ibge_code }) => String(ibge_code)),
  })
  if (group_by.includes('municipality'))
    return ofState(sql`CAST(spine."municipality_ibge_code" // 100000 AS VARCHAR)`)
  // Who lives in no place that is known may live in any that is asked for.
  if (group_by.includes('residence_state'))
    return {
      code: sql`coalesce(CAST(spine."residence_uf" AS VARCHAR), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ uf }) => uf), ...unplaced(states)],
    }
  if (group_by.includes('residence_municipality'))
    return {
      code: sql`coalesce(CAST(spine."residence_municipality_code" // 100000 AS VARCHAR), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ ibge_code }) => String(ibge_code)), ...unplaced(states)],
    }
  // Codes of health regions begin with their state's. What lies in none may be of any state that is asked for.
  const health = group_by.find((code) => HEALTH_REGIONS.has(dimensionOf(code).derivedFrom ?? ''))
  if (health !== undefined)
    return {
      code: sql`coalesce(left(spine.${key(health)}, 2), ${codeText(NO_STATE)})`,
      collected: (states) => [...states.map(({ ibge_code }) => String(ibge_code)), ...unplaced(states)],
    }
  const ofRegion: CoveredPlace = {
    code: TEXT('CAST(spine."region_code" AS VARCHAR)'),
    // A region is collected where all of its states are that are asked for.
    collected: (states) =>
      Object.keys(REGIONS).filter((region) =>
        STATES.every(
          ({ uf, region_code }) =>
            String(region_code) !== region || !scope.has(uf) || states.some((state) => state.uf === uf),
        ),
      ),
  }
  if (!group_by.includes('facility')) return ofRegion
  // Where files name no facility, the group is of all states that are asked for, or of those of its region.
  const nowhere: CoveredPlace = group_by.includes('region')
    ? ofRegion
    : {
        code: codeText(NO_STATE),
        collected: (states) =>
          [...statesMeant].every((uf) => states.some((state) => state.uf === uf)) ? [NO_STATE] : [],
      }
  const ofFacility = byState(GROUP_STATE)
  return {
    code: sql`CASE WHEN spine.${key('facility')} = ${codeText(NO_FACILITY)} THEN ${nowhere.code} ELSE ${ofFacility.code} END`,
    collected: (states) => [...ofFacility.collected(states), ...nowhere.collected(states)],
  }
}
