/** Prints exact quotients: integers in, integers out, in 64 bits where they fit. Pure. */
import { integerLiteral, type Sql, sql, TEXT } from '../../../../sql.ts'

/** Scale of unrounded order: fractions with denominators up to 2×10^8 differ by more than 10^-18. */
const RANK_SCALE = 10n ** 18n
interface Bounds {
  readonly numerator: bigint
  readonly denominator: bigint
}
/** Bounds that keep 2 × numerator × 10^decimals + denominator, and 2 × denominator, below 2^63. */
const boundsOfQuotient = (decimals: number): Bounds => ({
  numerator: 10n ** BigInt(18 - decimals),
  denominator: 4n * 10n ** 18n,
})
/** Bounds that keep remainder × 10^9 below 2^63. */
const BOUNDS_OF_RANK: Bounds = { numerator: 10n ** 18n, denominator: 4n * 10n ** 9n }

/** A value as text. Values that fit 64 bits, practically all, print many times faster that way. */
export function valueText(value: Sql, decimals: number): Sql {
  const narrow = decimals === 0 ? TEXT('BIGINT') : TEXT(`DECIMAL(18, ${decimals})`)
  return sql`coalesce(CAST(TRY_CAST(${value} AS ${narrow}) AS VARCHAR), CAST(${value} AS VARCHAR), '')`
}

/** True when products fit 64 bits. HUGEINT division is many times slower. */
const isNarrow = (numerator: Sql, denominator: Sql, bounds: Bounds): Sql =>
  sql`${numerator} BETWEEN ${TEXT(`-${bounds.numerator}`)} AND ${TEXT(`${bounds.numerator}`)} AND ${denominator} <= ${TEXT(`${bounds.denominator}`)}`
const narrow = (value: Sql): Sql => sql`TRY_CAST(${value} AS BIGINT)`

/** numerator × 10^decimals ÷ denominator, rounded half away from zero. */
export function quotientSql(numerator: Sql, denominator: Sql, decimals: number): Sql {
  const rounded = (n: Sql, d: Sql): Sql =>
    sql`(CASE WHEN ${n} < 0 THEN -1 ELSE 1 END) * ((2 * abs(${n}) * ${integerLiteral(10 ** decimals)} + ${d}) // (2 * ${d}))`
  return sql`CASE WHEN ${isNarrow(numerator, denominator, boundsOfQuotient(decimals))} THEN CAST(${rounded(narrow(numerator), narrow(denominator))} AS HUGEINT) ELSE ${rounded(numerator, denominator)} END`
}

/** numerator × 10^18 ÷ denominator. Narrow numbers use long division, nine digits at a time. */
export function rankSql(numerator: Sql, denominator: Sql): Sql {
  const [n, d, digits] = [narrow(numerator), narrow(denominator), integerLiteral(10 ** 9)]
  const first = sql`(${n} % ${d}) * ${digits}`
  const second = sql`((${first}) % ${d}) * ${digits}`
  const byDigits = sql`(CAST(${n} // ${d} AS HUGEINT) * ${digits} + (${first}) // ${d}) * ${digits} + (${second}) // ${d}`
  return sql`CASE WHEN ${isNarrow(numerator, denominator, BOUNDS_OF_RANK)} THEN ${byDigits} ELSE ${numerator} * CAST(${TEXT(String(RANK_SCALE))} AS HUGEINT) // ${denominator} END`
}

/**
 * Like rankSql, for numbers as large as products. A few digits at a time keep products within 128 bits.
 * @param step number of digits at a time, a divisor of 18
 */
export function longRankSql(numerator: Sql, denominator: Sql, step: 6 | 9 = 9): Sql {
  const digits = sql`CAST(${integerLiteral(10 ** step)} AS HUGEINT)`
  let rank = sql`(${numerator} // ${denominator})`
  let rest = numerator
  for (let place = 0; place < 18; place += step) {
    rest = sql`((${rest}) % ${denominator}) * ${digits}`
    rank = sql`(${rank} * ${digits} + (${rest}) // ${denominator})`
  }
  return rank
}
