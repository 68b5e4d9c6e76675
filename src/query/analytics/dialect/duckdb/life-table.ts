/**
 * Prints life expectancy at birth from deaths and residents by age: an abridged life table with Chiang's variance, whose open last group
 * has that of Silcocks. Only +, −, × and ÷ of DOUBLE are used, one operation at a time and from the oldest group on, so that the digits
 * are the same everywhere. Formulas: docs/statistics.md.
 */
import { LIFE_TABLE_DECIMALS, LIFE_TABLE_PEOPLE_MIN } from '../../../../model/demography/life-table.ts'
import { join, type Sql, sql, TEXT } from '../../../../sql.ts'

/** An age group. `years` is null for the open last group. */
export interface CountedAge {
  readonly years: number | null
  readonly livedByDying: number
  readonly deaths: Sql
  readonly residents: Sql
}

const double = (value: number): Sql => TEXT(value.toExponential())

export interface LifeTableSql {
  /** Years, DOUBLE. Meaningless unless `isDefined`. */
  readonly years: Sql
  /** Variance of the years, DOUBLE. */
  readonly variance: Sql
  /** Enough residents, residents of each age, and deaths in the last group. */
  readonly isDefined: Sql
}

/** @param ages from the youngest on @param months number of months that the deaths are of */
export function lifeTableSql(ages: readonly CountedAge[], months: Sql): LifeTableSql {
  const oldest = ages.at(-1)
  if (oldest === undefined) throw new TypeError('a life table has ages')
  const rows = ages.toReversed().map(({ years, livedByDying, deaths, residents }) => {
    const events = sql`CAST(${deaths} AS DOUBLE)`
    const rate = sql`1.2e1 * ${events} / (CAST(${months} AS DOUBLE) * CAST(${residents} AS DOUBLE))`
    return sql`struct_pack(d := ${events}, m := ${rate}, n := ${double(years ?? 0)}, w := ${double((years ?? 0) - livedByDying)})`
  })
  // d deaths, n years of the group, w years that those lose who die in it, q probability of dying in it, e and v of the oldest group.
  const quotients = sql`list_transform([${join(rows, ', ')}], lambda x: struct_pack(d := x.d, n := x.n, w := x.w, q := least(1e0, x.n * x.m / (1e0 + x.w * x.m)), e := CASE WHEN x.m > 0e0 THEN 1e0 / x.m ELSE 0e0 END, v := CASE WHEN x.m > 0e0 THEN 1e0 / (x.m * x.m * x.d) ELSE 0e0 END))`
  const years = TEXT('x.n - x.q * x.w + (1e0 - x.q) * r.e')
  const variance = TEXT(
    '(1e0 - x.q) * (1e0 - x.q) * r.v + (x.w + r.e) * (x.w + r.e) * (x.q * x.q * (1e0 - x.q) / greatest(x.d, 1e0))',
  )
  const table = sql`list_reduce(${quotients}, lambda r, x: struct_pack(d := x.d, n := x.n, w := x.w, q := x.q, e := ${years}, v := ${variance}))`
  const residents = join(
    ages.map((age) => age.residents),
    ' + ',
  )
  const isDefined = join(
    [
      ...ages.map((age) => sql`${age.residents} > 0`),
      sql`${oldest.deaths} > 0`,
      sql`${residents} >= ${TEXT(String(LIFE_TABLE_PEOPLE_MIN))}`,
    ],
    ' AND ',
  )
  return { years: sql`(${table}).e`, variance: sql`(${table}).v`, isDefined }
}

const SCALE = 10 ** LIFE_TABLE_DECIMALS

/** @returns the years as a fraction of integers, and the variance; a table that is not defined has numerator 0 and no denominator */
export function lifeTableFraction(table: LifeTableSql): {
  readonly numerator: Sql
  readonly denominator: Sql
  readonly variance: Sql
} {
  const { years, variance, isDefined } = table
  return {
    numerator: sql`CASE WHEN ${isDefined} THEN CAST(floor(${years} * ${double(SCALE)} + 5e-1) AS HUGEINT) ELSE CAST(0 AS HUGEINT) END`,
    denominator: sql`CASE WHEN ${isDefined} THEN CAST(${TEXT(String(SCALE))} AS HUGEINT) END`,
    variance: sql`CASE WHEN ${isDefined} THEN ${variance} END`,
  }
}
