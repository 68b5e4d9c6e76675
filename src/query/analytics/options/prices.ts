/**
 * Constant prices: values of different months in reais of one month or year, by the index of consumer prices. Pure.
 *
 * In: the requested month or year, and the index of the release. Out: a factor for each month. A factor is the index of the target
 * divided by that of the month, as an integer of 20 decimals, rounded up. The dialect multiplies each month's cents by it, adds up, and drops what
 * lies below 10^-8 cents. A value of one month is then the same as with an exact fraction, because the error of the factor
 * is smaller than the distance of any such fraction from the next half of a cent.
 */
import { both } from '../../../errors.ts'
import { type MetricCode, unitOf } from '../../../model/metrics.ts'
import type { Note } from '../../../model/notes.ts'
import { monthsOfPeriod, readPeriod, showPeriod } from '../../../model/periods.ts'
import { type Need, priceNeedsOf, type Table } from '../../../model/required-tables.ts'
import type { Measure } from '../../../model/types.ts'
import { monthsOfIndex, priceIndexRange } from '../../../release/coverage.ts'
import { formatPeriod, type ReleaseView } from '../../../release/view.ts'
import { refuse } from '../../refusals.ts'
import { catalogMetrics, type QueryMetrics } from './defined-metrics.ts'

/** Decimals of a factor. */
const FACTOR_DECIMALS = 20n
/** Decimals of a cent that a value in constant prices keeps before it is divided and rounded. */
export const KEPT_DECIMALS = 8
/** A sum of cents times factors is divided by this to have the decimals that are kept. */
export const DROPPED = 10n ** (FACTOR_DECIMALS - BigInt(KEPT_DECIMALS))
/** @returns the number that contributions of records are divided by: cents, times factors in constant prices */
export const recordUnitOf = ({
  unit,
  priceUnit,
}: {
  readonly unit: number
  readonly priceUnit: number
}): number => (priceUnit === 1 ? unit : unit * 10 ** Number(FACTOR_DECIMALS))

/** Month or year of the prices: `2026-05` or 2025. */
export type Prices = string | number

/** Index numbers by month (YYYYMM), as integers of equal scale. */
export type PriceIndex = ReadonlyMap<number, bigint>

/** @returns whether a metric is an amount of reais, or one per person or event */
export const isMoney = (code: MetricCode): boolean => unitOf(code) !== 1

/** @returns the option; null when no metric is an amount of reais @throws AppError 'invalid_request' */
export function resolvePrices(
  value: string | number | null | undefined,
  fields: QueryMetrics,
): Prices | null {
  if (value === null || value === undefined) return null
  const text = String(value).trim()
  const year = readPeriod('reference_year', text)
  const month = readPeriod('reference_period', text)
  if (year === null && month === null)
    throw refuse('invalid_request', '/prices', both('deve ser AAAA-MM ou AAAA', 'must be YYYY-MM or YYYY'))
  if (!catalogMetrics(fields).some(isMoney)) return null
  checkRatios(fields)
  return month === null ? Number(year) : showPeriod('reference_period', month)
}

/** Larger scales of amounts with 8 decimals of a cent could overflow the 128 bits in which quotients are compared. */
const RATIO_SCALE_MAX = 100

/** @throws AppError 'invalid_request' for a ratio that divides by an amount, or of an amount with a large scale */
function checkRatios({ metrics, ratios }: QueryMetrics): void {
  const isAmount = (name: string): boolean =>
    metrics.some(({ code, metric }) => code === name && isMoney(metric))
  for (const { code, sides, scale } of ratios)
    if (isAmount(sides[1]) || (isAmount(sides[0]) && scale > RATIO_SCALE_MAX))
      throw refuse(
        'invalid_request',
        '/prices',
        both(
          `não combina com a razão ${code}: a preços constantes, reais só podem ser o numerador, com scale até ${RATIO_SCALE_MAX}`,
          `does not go with the ratio ${code}: in constant prices reais can only be the numerator, with a scale up to ${RATIO_SCALE_MAX}`,
        ),
      )
}

/** @returns the months whose index is that of the target */
const monthsOfTarget = (prices: Prices): number[] =>
  typeof prices === 'number'
    ? monthsOfPeriod('reference_year', prices)
    : monthsOfPeriod('reference_period', readPeriod('reference_period', prices) ?? 0)

/** @throws AppError 'invalid_request' when the release has no index of the target */
export function checkPrices({ prices }: { readonly prices: Prices | null }, view: ReleaseView): void {
  if (prices === null) return
  const range = priceIndexRange(view)
  if (range === null)
    throw refuse(
      'invalid_request',
      '/prices',
      both(
        'precisa do IPCA, que esta versão dos dados não tem; importe a tabela 1737 do SIDRA',
        'needs the index IPCA, which this release does not hold; import table 1737 of SIDRA',
      ),
    )
  const [first, last] = [formatPeriod(range.first), formatPeriod(range.last)]
  if (!monthsOfTarget(prices).every((month) => range.first <= month && month <= range.last))
    throw refuse(
      'invalid_request',
      '/prices',
      both(
        `deve ser um mês, ou um ano com todos os meses, de ${first} a ${last}`,
        `must be a month, or a year with all its months, from ${first} to ${last}`,
      ),
    )
}

/** @returns the needs of a metric, with those of constant prices */
export const withPriceNeeds = (
  code: MetricCode,
  needs: readonly Need[],
  { prices }: { readonly prices: Prices | null },
): readonly Need[] => (prices === null || !isMoney(code) ? needs : [...needs, ...priceNeedsOf(needs)])

/** @returns the measure of a metric's numerator, with the factor of each month that has an index */
export function atPrices(
  measure: Measure,
  code: MetricCode,
  periods: readonly number[],
  prices: Prices | null,
  index: PriceIndex = new Map(),
): Measure {
  if (prices === null || !isMoney(code)) return measure
  const target = meanOf(monthsOfTarget(prices), index)
  const factors = periods.flatMap((period): (readonly [number, string])[] => {
    const atMonth = meanOf(monthsOfIndex(measure.dataset as Table, period), index)
    if (atMonth === null || target === null) return []
    const [top, bottom] = [target.sum * atMonth.count * 10n ** FACTOR_DECIMALS, target.count * atMonth.sum]
    return [[period, String((top + bottom - 1n) / bottom)]]
  })
  return { ...measure, factors }
}

/** @returns the sum of the index numbers of some months and their count; null when one has none */
function meanOf(months: readonly number[], index: PriceIndex): { sum: bigint; count: bigint } | null {
  let sum = 0n
  for (const month of months) {
    const found = index.get(month)
    if (found === undefined) return null
    sum += found
  }
  return { sum, count: BigInt(months.length) }
}

/** A metric of a plan, with the divisor of values in constant prices. */
interface PricedMetric {
  readonly code: string
  readonly priceUnit: number
}
export const isAtPrices = ({ priceUnit }: Pick<PricedMetric, 'priceUnit'>): boolean => priceUnit > 1

/** @returns the note that says which metrics are in constant prices, and which are as without */
export const notePrices = ({
  query: { prices },
  metrics,
}: {
  readonly query: { readonly prices: Prices | null }
  readonly metrics: readonly PricedMetric[]
}): Note[] =>
  prices === null
    ? []
    : [
        {
          code: 'constant_prices',
          metrics: metrics.filter(isAtPrices).map(({ code }) => code),
          prices_of: String(prices),
          unchanged: metrics.filter((metric) => !isAtPrices(metric)).map(({ code }) => code),
        },
      ]

/** @returns what is added to the label of a metric in constant prices: ` (reais de 2026-05)` */
export const labelPrices = (metric: PricedMetric, prices: Prices | null, language: 'pt' | 'en'): string =>
  prices === null || !isAtPrices(metric)
    ? ''
    : language === 'en'
      ? ` (reais of ${prices})`
      : ` (reais de ${prices})`

/** @returns the unit of a metric: `BRL of 2026-05 per inhabitant` */
export const unitAtPrices = (metric: PricedMetric, unit: string, prices: Prices | null): string =>
  prices === null || !isAtPrices(metric) ? unit : unit.replace(/^BRL/, `BRL of ${prices}`)
