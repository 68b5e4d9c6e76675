/**
 * Prints directly standardized rates. In: events or residents by group and age. Out: one row per group with the weighted sum
 * of its age-specific rates, or its divisor. facts.ts reads and filters the rows.
 *
 * Σ w·N/P has no common denominator within 128 bits. Each quotient is therefore rounded half up to STANDARDIZED_DECIMALS, both
 * sides stay integers, and the final division comes last.
 */

import {
  STANDARDIZED_DECIMALS,
  type StandardName,
  standardOf,
  VARIANCE_DECIMALS,
} from '../../../../model/demography/standard-populations.ts'
import { type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { EMPTY, either, ident, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { DatasetPlan } from '../../plan.ts'
import { HUGE, sameKey, wholeQuotient } from '../differences.ts'

/** All measures of a plan use the same standard population, or none. */
export const isStandardized = ({ measures }: Pick<DatasetPlan, 'measures'>): boolean =>
  measures[0]?.standardizedBy !== undefined

const SCALE = 10n ** BigInt(STANDARDIZED_DECIMALS)
const huge = (value: bigint): Sql => sql`CAST(${TEXT(String(value))} AS ${HUGE})`
const keyList = (codes: readonly DimensionCode[], table = ''): Sql[] =>
  codes.map((code) => (table === '' ? column(code) : sql`${ident(table)}.${column(code)}`))
const column = (code: DimensionCode): Sql => ident(dimensionOf(code).column)
const grouping = (keys: readonly Sql[]): Sql =>
  keys.length === 0 ? EMPTY : sql`\n  GROUP BY ${join(keys, ', ')}`

const weight = (standard: StandardName, power: 1 | 2 = 1): Sql =>
  sql`CASE events.age_group ${join(
    standardOf(standard).map(([ageGroup, people]) => TEXT(`WHEN '${ageGroup}' THEN ${people ** power}`)),
    ' ',
  )} END`

/** Events of an age and their part of the variance, w²·N/P², rounded half up in integers. */
function statisticSql(statistic: 'events' | 'variance', counted: Sql, standard: StandardName): Sql {
  if (statistic === 'events') return counted
  const squared = sql`CAST(residents.counted_0 AS ${HUGE}) * residents.counted_0`
  const weighted = sql`CAST(${counted} AS ${HUGE}) * ${weight(standard, 2)} * ${huge(10n ** BigInt(VARIANCE_DECIMALS))}`
  return wholeQuotient(sql`2 * ${weighted} + ${squared}`, sql`2 * ${squared}`)
}

/** Twice this number, and the sum of two such numbers, stay below 2^63. */
const LARGE = 2n ** 61n
/** Largest number of events of an age group whose doubled weighted count fits 64 bits. 64-bit division takes a tenth of the time. */
const mostEvents = (standard: StandardName): bigint =>
  LARGE / (2n * SCALE * BigInt(Math.max(...standardOf(standard).map(([, people]) => people))))
const narrow = (value: Sql): Sql => sql`TRY_CAST(${value} AS BIGINT)`

/**
 * @param events relation: the plan's keys, age_group, counted_0 …
 * @param residents relation: `shared` keys, age_group, counted_0
 * @param shared keys of the plan that residents have
 */
export function standardizedCte(
  { keys, measures }: DatasetPlan,
  events: Sql,
  residents: Sql,
  shared: readonly DimensionCode[],
): Sql {
  const people = sql`CAST(residents.counted_0 AS ${HUGE})`
  const sums = measures.map(({ standardizedBy = 'brazil_2010', statistic }, index) => {
    const counted = sql`events.${ident(`counted_${index}`)}`
    if (statistic !== undefined)
      return sql`sum(CASE WHEN residents.counted_0 > 0 THEN ${statisticSql(statistic, counted, standardizedBy)} END) AS ${ident(`measure_${index}`)}`
    const weighted = sql`CAST(${counted} AS ${HUGE}) * ${weight(standardizedBy)} * ${huge(SCALE)}`
    // Rounds half up in integers. Age groups without residents add nothing, because their denominator is null.
    const wideQuotient = wholeQuotient(sql`2 * ${weighted} + ${people}`, sql`2 * ${people}`)
    const [eventsNarrow, residentsNarrow] = [narrow(counted), narrow(sql`residents.counted_0`)]
    const narrowQuotient = sql`(2 * ${eventsNarrow} * ${weight(standardizedBy)} * ${TEXT(String(SCALE))} + ${residentsNarrow}) // (2 * ${residentsNarrow})`
    const fits = sql`${counted} BETWEEN 0 AND ${TEXT(String(mostEvents(standardizedBy)))} AND residents.counted_0 <= ${TEXT(String(LARGE))}`
    const quotient = either(
      sql`CASE WHEN ${fits} THEN CAST(${narrowQuotient} AS ${HUGE}) ELSE ${wideQuotient} END`,
      wideQuotient,
    )
    return sql`sum(CASE WHEN residents.counted_0 > 0 THEN ${quotient} END) AS ${ident(`measure_${index}`)}`
  })
  const conditions = [...keyList(shared), ident('age_group')].map((name) =>
    sameKey(sql`residents.${name}`, sql`events.${name}`),
  )
  const groupColumns = keyList(keys, 'events')
  return sql`  SELECT ${join([...groupColumns, ...sums], ', ')}
  FROM ${events} AS events LEFT JOIN ${residents} AS residents ON ${join(conditions, ' AND ')}${grouping(groupColumns)}`
}

/** Divisor of standardized rates; null when an age group has no residents. @param residents as above, by the plan's keys */
export function standardCte({ keys, measures }: DatasetPlan, residents: Sql): Sql {
  const values = measures.map(({ standardizedBy = 'brazil_2010' }, index) => {
    const standard = standardOf(standardizedBy)
    const people = standard.reduce((total, [, count]) => total + BigInt(count), 0n)
    return sql`CASE WHEN count(*) FILTER (WHERE residents.${ident(`counted_${index}`)} > 0) = ${TEXT(String(standard.length))} THEN ${huge(people * SCALE)} END AS ${ident(`measure_${index}`)}`
  })
  const groupColumns = keyList(keys, 'residents')
  return sql`  SELECT ${join([...groupColumns, ...values], ', ')}
  FROM ${residents} AS residents${grouping(groupColumns)}`
}
