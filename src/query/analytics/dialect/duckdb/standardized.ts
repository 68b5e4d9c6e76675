/**
 * Directly standardized rates. In: events, or residents, by group and age. Out: one row a group: the rates of its ages added up by
 * the shares of a standard population, or what these are divided by. Not here: what is read and filtered (facts.ts).
 *
 * Σ w·N/P has no common denominator that 128 bits hold, so each quotient is rounded, half up, to STANDARDIZED_DECIMALS; both sides are
 * whole numbers, and the one division stays the last.
 */

import {
  STANDARDIZED_DECIMALS,
  type StandardName,
  standardOf,
} from '../../../../model/demography/standard-populations.ts'
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { EMPTY, either, ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { DatasetPlan } from '../../plan.ts'
import { HUGE, sameKey, wholeQuotient } from '../differences.ts'

/** Are a plan's measures standardized? Then all of them are, to one standard. */
export const isStandardized = ({ measures }: Pick<DatasetPlan, 'measures'>): boolean =>
  measures[0]?.standardizedBy !== undefined

const SCALE = 10n ** BigInt(STANDARDIZED_DECIMALS)
const huge = (value: bigint): Sql => sql`CAST(${TEXT(String(value))} AS ${HUGE})`
const keyList = (codes: readonly DimensionCode[], table = ''): Sql[] =>
  codes.map((code) => (table === '' ? column(code) : sql`${ident(table)}.${column(code)}`))
const column = (code: DimensionCode): Sql => ident(dimensionOf(code).column)
const grouping = (keys: readonly Sql[]): Sql =>
  keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${join(keys, ', ')}`

/** People of an age group in the standard population. */
const weight = (standard: StandardName): Sql =>
  sql`CASE events.age_group ${join(
    standardOf(standard).map(([ageGroup, people]) => TEXT(`WHEN '${ageGroup}' THEN ${people}`)),
    ' ',
  )} END`

/** Twice as much, and the sum of two such numbers, is less than 2^63. */
const LARGE = 2n ** 61n
/** Of so many events of an age, twice the weighted number fits 64 bits, in which division takes a tenth of the time. */
const mostEvents = (standard: StandardName): bigint =>
  LARGE / (2n * SCALE * BigInt(Math.max(...standardOf(standard).map(([, people]) => people))))
const narrow = (value: Sql): Sql => sql`TRY_CAST(${value} AS BIGINT)`

/**
 * @param events relation: the plan's keys, age_group, counted_0 …
 * @param residents relation: `shared` keys, age_group, counted_0
 * @param shared those of the plan's keys that residents have, too
 */
export function standardizedCte(
  { keys, measures }: DatasetPlan,
  events: Sql,
  residents: Sql,
  shared: readonly DimensionCode[],
): Sql {
  const people = sql`CAST(residents.counted_0 AS ${HUGE})`
  const sums = measures.map(({ standardizedBy = 'brazil_2010' }, index) => {
    const counted = sql`events.${ident(`counted_${index}`)}`
    const weighted = sql`CAST(${counted} AS ${HUGE}) * ${weight(standardizedBy)} * ${huge(SCALE)}`
    // Half up, in whole numbers. Of an age that nobody is known to have, nothing is added: the other side is null there.
    const wide = wholeQuotient(sql`2 * ${weighted} + ${people}`, sql`2 * ${people}`)
    const [few, own] = [narrow(counted), narrow(sql`residents.counted_0`)]
    const short = sql`(2 * ${few} * ${weight(standardizedBy)} * ${TEXT(String(SCALE))} + ${own}) // (2 * ${own})`
    const fits = sql`${counted} BETWEEN 0 AND ${TEXT(String(mostEvents(standardizedBy)))} AND residents.counted_0 <= ${TEXT(String(LARGE))}`
    const quotient = either(sql`CASE WHEN ${fits} THEN CAST(${short} AS ${HUGE}) ELSE ${wide} END`, wide)
    return sql`sum(CASE WHEN residents.counted_0 > 0 THEN ${quotient} END) AS ${ident(`measure_${index}`)}`
  })
  const same = [...keyList(shared), ident('age_group')].map((name) =>
    sameKey(sql`residents.${name}`, sql`events.${name}`),
  )
  const own = keyList(keys, 'events')
  return sql`  SELECT ${join([...own, ...sums], ', ')}
  FROM ${events} AS events LEFT JOIN ${residents} AS residents ON ${join(same, ' AND ')}${grouping(own)}`
}

/** What standardized rates are divided by; null where an age group has no residents. @param residents as above, by the plan's keys */
export function standardCte({ keys, measures }: DatasetPlan, residents: Sql): Sql {
  const values = measures.map(({ standardizedBy = 'brazil_2010' }, index) => {
    const standard = standardOf(standardizedBy)
    const people = standard.reduce((total, [, own]) => total + BigInt(own), 0n)
    return sql`CASE WHEN count(*) FILTER (WHERE residents.${ident(`counted_${index}`)} > 0) = ${TEXT(String(standard.length))} THEN ${huge(people * SCALE)} END AS ${ident(`measure_${index}`)}`
  })
  const own = keyList(keys, 'residents')
  return sql`  SELECT ${join([...own, ...values], ', ')}
  FROM ${residents} AS residents${grouping(own)}`
}
