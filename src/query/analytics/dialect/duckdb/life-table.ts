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

/**
 * @param ages from the youngest on @param months number of months that the deaths are of
 * @returns a struct: e, the years that a newborn lives, and v, their variance, DOUBLE; is_defined where there are residents of each age,
 * enough of them, and deaths in the last group. It is false or null elsewhere, and the numbers mean nothing there.
 */
export function lifeTableSql(ages: readonly CountedAge[], months: Sql): Sql {
  const fromOldest = ages.toReversed()
  const counts = fromOldest.map(
    ({ deaths, residents }) => sql`struct_pack(d := CAST(${deaths} AS DOUBLE), p := ${residents})`,
  )
  const listOfAges = (numberOf: (age: CountedAge) => number): Sql =>
    sql`[${join(
      fromOldest.map((age) => double(numberOf(age))),
      ', ',
    )}]`
  // d deaths, p residents (integers, because they are added up), m deaths per resident and year, n years of the group, w years that those lose who die in it.
  const rates = sql`list_transform([${join(counts, ', ')}], lambda x, i: struct_pack(d := x.d, p := x.p, m := 1.2e1 * x.d / (CAST(${months} AS DOUBLE) * CAST(x.p AS DOUBLE)), n := ${listOfAges(({ years }) => years ?? 0)}[i], w := ${listOfAges(({ years, livedByDying }) => (years ?? 0) - livedByDying)}[i]))`
  // q is the probability of dying in the group. e, v and is_defined are those of a table that has the oldest group only.
  const groups = sql`list_transform(${rates}, lambda x: struct_pack(d := x.d, p := x.p, n := x.n, w := x.w, q := least(1e0, x.n * x.m / (1e0 + x.w * x.m)), e := CASE WHEN x.m > 0e0 THEN 1e0 / x.m ELSE 0e0 END, v := CASE WHEN x.m > 0e0 THEN 1e0 / (x.m * x.m * x.d) ELSE 0e0 END, is_defined := x.p > 0 AND x.d > 0e0))`
  const years = TEXT('x.n - x.q * x.w + (1e0 - x.q) * r.e')
  const variance = TEXT(
    '(1e0 - x.q) * (1e0 - x.q) * r.v + (x.w + r.e) * (x.w + r.e) * (x.q * x.q * (1e0 - x.q) / greatest(x.d, 1e0))',
  )
  const table = sql`list_reduce(${groups}, lambda r, x: struct_pack(d := x.d, p := r.p + x.p, n := x.n, w := x.w, q := x.q, e := ${years}, v := ${variance}, is_defined := r.is_defined AND x.p > 0))`
  return sql`list_transform([${table}], lambda r: struct_pack(e := r.e, v := r.v, is_defined := r.is_defined AND r.p >= ${TEXT(String(LIFE_TABLE_PEOPLE_MIN))}))[1]`
}

const SCALE = 10 ** LIFE_TABLE_DECIMALS

/**
 * @param table column of `lifeTableSql`
 * @returns the years as a fraction of integers, and the variance; a table that is not defined has numerator 0 and no denominator
 */
export const lifeTableFraction = (table: Sql): Record<'numerator' | 'denominator' | 'variance', Sql> => ({
  numerator: sql`CASE WHEN ${table}.is_defined THEN CAST(floor(${table}.e * ${double(SCALE)} + 5e-1) AS HUGEINT) ELSE CAST(0 AS HUGEINT) END`,
  denominator: sql`CASE WHEN ${table}.is_defined THEN CAST(${TEXT(String(SCALE))} AS HUGEINT) END`,
  variance: sql`CASE WHEN ${table}.is_defined THEN ${table}.v END`,
})
