/**
 * What a query can ask beside metrics, groups and filters: totals, a change, a share, a rank, conditions on values, and which
 * population rates are divided by. In: the fields of a body. Out: the same in one form, so that equal questions are equal
 * values. Pure. Not here: what the options mean for a plan (query-plan.ts).
 */
import { z } from 'zod'
import { both } from '../../errors.ts'
import type { DimensionCode } from '../../model/dimensions.ts'
import { isPerCapita, METRIC_CODES, type MetricCode, metricOf } from '../../model/metrics.ts'
import { takes } from '../field-texts.ts'
import { refuse } from '../refusals.ts'
import { componentRef, documentedAs } from '../text-schemas.ts'

const POPULATION_BASES = ['census', 'estimate', 'estimate_of_period'] as const
export type PopulationBasis = (typeof POPULATION_BASES)[number]

/** What stands beside the value of a metric, by the suffix of its name; the value itself has none. */
const PARTS = ['value', 'base', 'change', 'change_percent', 'share'] as const
export type Part = (typeof PARTS)[number]
/** @returns name of a metric's value or of what stands beside it */
export const valueCode = (metric: MetricCode, part: Part): string =>
  part === 'value' ? metric : `${metric}__${part}`

/** A number as a decimal text: exact, and the same however it was written. */
export interface HavingFilter {
  /** A metric of the query, or what stands beside it. */
  readonly metric: string
  readonly operator: 'GT' | 'GTE' | 'LT' | 'LTE' | 'EQ' | 'BETWEEN'
  /** One number, or the two ends of BETWEEN. */
  readonly values: readonly number[]
}

export interface QueryOptions {
  /** Levels at which every value is computed again: subsets of group_by, the finest first. */
  readonly totals: readonly (readonly DimensionCode[])[]
  /** What a value is compared with: `previous`, months before (`-12`) or a month (`2025-05`). */
  readonly change: { readonly to: string } | null
  readonly having: readonly HavingFilter[]
  /** The level whose values are 100 percent. */
  readonly share_of: readonly DimensionCode[] | null
  readonly rank: boolean
  readonly include_ignored: boolean
  readonly population_basis: PopulationBasis
}

const TEXT_MAX = 100
const HAVING_OPERATORS = ['GT', 'GTE', 'LT', 'LTE', 'EQ', 'BETWEEN'] as const
const LEVELS_MAX = 16
/** A DECIMAL of 38 digits holds every number of these, and every value of a metric. */
const HAVING_MAX = 1e15
const HAVING_DECIMALS = 6
const MONTHS_BACK_MAX = 600

const level = takes(
  z.array(documentedAs(z.string().max(TEXT_MAX), componentRef('DimensionCode'))).max(6),
  'uma lista de dimensões agrupadas da consulta',
  'a list of grouped dimensions of the query',
)
const number = takes(
  z
    .number()
    .min(-HAVING_MAX)
    .max(HAVING_MAX)
    .refine((value) => Number(value.toFixed(HAVING_DECIMALS)) === value),
  `um número de até ${HAVING_DECIMALS} casas decimais`,
  `a number of at most ${HAVING_DECIMALS} decimals`,
)

/** Fields of a body. */
export const optionFields = {
  totals: takes(
    z.union([z.boolean(), z.array(level).max(LEVELS_MAX)]),
    `true, ou uma lista de até ${LEVELS_MAX} listas de dimensões agrupadas`,
    `true, or a list of at most ${LEVELS_MAX} lists of grouped dimensions`,
  )
    .default(false)
    .describe(
      'Levels at which every value is computed again: subsets of group_by ([] is the grand total); true: all prefixes of it.',
    ),
  change: z
    .strictObject({
      to: takes(
        z.union([z.string().max(TEXT_MAX), z.number().int()]),
        'previous, -N (meses antes) ou AAAA-MM',
        'previous, -N (months before) or YYYY-MM',
      ).describe('previous (the month before), -N (N months before) or YYYY-MM.'),
    })
    .nullish()
    .describe('Adds <metric>__base, <metric>__change and <metric>__change_percent.'),
  having: z
    .array(
      z.strictObject({
        metric: takes(z.string().max(TEXT_MAX), 'uma métrica da consulta', 'a metric of the query'),
        operator: z.enum(HAVING_OPERATORS),
        value: takes(
          z.union([number, z.array(number).length(2)]),
          `um número de até ${HAVING_DECIMALS} casas decimais, ou dois para BETWEEN`,
          `a number of at most ${HAVING_DECIMALS} decimals, or two for BETWEEN`,
        ),
      }),
    )
    .max(20)
    .default([])
    .describe('Conditions on the values of a row as they are shown, joined by AND.'),
  share_of: level.nullish().describe('A level of totals: adds <metric>__share, in percent of it.'),
  rank: z.boolean().default(false).describe('Adds the rank of each row by the first field of order_by.'),
  include_ignored: z
    .boolean()
    .default(true)
    .describe('false: no rows of the ignored municipalities; totals count them.'),
  population_basis: z
    .enum(POPULATION_BASES)
    .default('census')
    .describe('Denominator of rates by inhabitants.'),
}

/** The fields as they were parsed; a schema that leaves some out leaves them at their defaults. */
export interface OptionData {
  readonly totals?: boolean | string[][] | undefined
  readonly change?: { to: string | number } | null | undefined
  readonly having?:
    | { metric: string; operator: HavingFilter['operator']; value: number | number[] }[]
    | undefined
  readonly share_of?: string[] | null | undefined
  readonly rank?: boolean | undefined
  readonly include_ignored?: boolean | undefined
  readonly population_basis?: PopulationBasis | undefined
}

interface Asked {
  readonly metrics: readonly MetricCode[]
  readonly group_by: readonly DimensionCode[]
  readonly over_period: string | null
}

/** @throws AppError 'invalid_request' */
export function resolveOptions(data: OptionData, asked: Asked): QueryOptions {
  const { metrics, group_by } = asked
  const change =
    data.change === null || data.change === undefined ? null : { to: resolveMonth(data.change.to) }
  const share_of = resolveShare(data.share_of ?? null, asked)
  const codes = valueCodes({ metrics, change, share_of })
  return {
    totals: resolveTotals(data.totals ?? false, group_by),
    change,
    having: resolveHaving(data.having ?? [], codes),
    share_of,
    rank: data.rank ?? false,
    // What has no effect is not part of the question.
    include_ignored: (data.include_ignored ?? true) || !group_by.includes('municipality'),
    population_basis: metrics.some(isPerCapita) ? (data.population_basis ?? 'census') : 'census',
  }
}

/** @returns names of all values of a row: metrics, each with what stands beside it */
export const valueCodes = (query: {
  readonly metrics: readonly MetricCode[]
  readonly change: QueryOptions['change']
  readonly share_of: QueryOptions['share_of']
}): string[] => query.metrics.flatMap((code) => partsOf(code, query).map((part) => valueCode(code, part)))

/** @returns what a row shows of a metric, in order */
export const partsOf = (
  code: MetricCode,
  { change, share_of }: Pick<QueryOptions, 'change' | 'share_of'>,
): Part[] =>
  PARTS.filter((part) =>
    part === 'value' ? true : part === 'share' ? share_of !== null && isAdditive(code) : change !== null,
  )

/** Do the values of groups add up to that of all of them? */
export const isAdditive = (code: MetricCode): boolean => {
  const { kind } = metricOf(code)
  return kind === 'sum' || kind === 'count'
}

/** All levels once, in the order of group_by; the finest first, so that the grand total is last. */
function resolveTotals(
  totals: boolean | readonly (readonly string[])[],
  groups: readonly DimensionCode[],
): QueryOptions['totals'] {
  const levels =
    totals === true
      ? groups.map((_, length) => groups.slice(0, length))
      : totals === false
        ? []
        : totals.map((names, index) => resolveLevel(names, groups, `/totals/${index}`))
  const found = new Map(levels.map((own) => [own.join(), own]))
  const places = (own: readonly DimensionCode[]): string => own.map((code) => groups.indexOf(code)).join()
  return [...found.values()].sort(
    (left, right) => right.length - left.length || (places(left) < places(right) ? -1 : 1),
  )
}

function resolveLevel(
  names: readonly string[],
  groups: readonly DimensionCode[],
  pointer: string,
): readonly DimensionCode[] {
  names.forEach((name, index) => {
    if (!groups.some((code) => code === name))
      throw refuse(
        'invalid_request',
        `${pointer}/${index}`,
        both('não é dimensão agrupada da consulta', 'is not a grouped dimension of the query'),
        groups,
      )
  })
  return groups.filter((code) => names.includes(code))
}

function resolveShare(
  names: readonly string[] | null,
  { metrics, group_by, over_period }: Asked,
): QueryOptions['share_of'] {
  if (names === null) return null
  const level = resolveLevel(names, group_by, '/share_of')
  if (!metrics.some(isAdditive))
    throw refuse(
      'invalid_request',
      '/share_of',
      both(
        'precisa de uma métrica cujos grupos se somam; taxas e contagens distintas não têm participação',
        'needs a metric whose groups add up; rates and distinct counts have no share',
      ),
      METRIC_CODES.filter(isAdditive),
    )
  if (over_period === 'max')
    throw refuse(
      'invalid_request',
      '/share_of',
      both(
        'não combina com over_period max: os maiores valores não se somam',
        'does not go with over_period max: largest values do not add up',
      ),
    )
  return level
}

/** previous, -12 or 2025-05, in one form. */
function resolveMonth(to: string | number): string {
  const text = String(to).trim()
  if (text.toLowerCase() === 'previous' || text === '-1') return 'previous'
  const months = /^-([1-9]\d{0,2})$/.exec(text)
  if (months !== null && Number(months[1]) <= MONTHS_BACK_MAX) return text
  const month = /^(\d{4})-?(0[1-9]|1[0-2])$/.exec(text)
  if (month !== null) return `${month[1]}-${month[2]}`
  throw refuse(
    'invalid_request',
    '/change/to',
    both('deve ser previous, -N (meses antes) ou AAAA-MM', 'must be previous, -N (months before) or YYYY-MM'),
  )
}

function resolveHaving(
  having: NonNullable<OptionData['having']>,
  codes: readonly string[],
): readonly HavingFilter[] {
  const filters = having.map(({ metric, operator, value }, index): HavingFilter => {
    const pointer = `/having/${index}`
    if (!codes.includes(metric))
      throw refuse(
        'invalid_request',
        `${pointer}/metric`,
        both('não é métrica da consulta', 'is not a metric of the query'),
        codes,
      )
    const values = Array.isArray(value) ? value : [value]
    const [low = 0, high = low] = values
    if ((operator === 'BETWEEN') !== Array.isArray(value) || low > high)
      throw refuse(
        'invalid_request',
        `${pointer}/value`,
        operator === 'BETWEEN'
          ? both('deve ser dois números, o menor primeiro', 'must be two numbers, the lower first')
          : both('deve ser um só número', 'must be a single number'),
      )
    return { metric, operator, values: values.map((own) => own + 0) }
  })
  const found = new Map(filters.map((filter) => [JSON.stringify(filter), filter]))
  return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, filter]) => filter)
}

/** The month a value of a month is compared with. @param to as QueryOptions; months are YYYYMM */
export function baseMonth(to: string, month: number): number {
  if (/^\d/.test(to)) return Number(to.replace('-', ''))
  const back = to === 'previous' ? 1 : -Number(to)
  const months = Math.floor(month / 100) * 12 + (month % 100) - 1 - back
  return Math.floor(months / 12) * 100 + (months % 12) + 1
}

/** @returns the options that differ from their defaults: a query without any has the form it always had */
export const normaliseOptions = (options: QueryOptions) => ({
  ...(options.totals.length === 0 ? {} : { totals: options.totals }),
  ...(options.change === null ? {} : { change: { to: options.change.to } }),
  ...(options.having.length === 0
    ? {}
    : {
        having: options.having.map(({ metric, operator, values }) => ({
          metric,
          operator,
          value: operator === 'BETWEEN' ? values : (values[0] ?? 0),
        })),
      }),
  ...(options.share_of === null ? {} : { share_of: options.share_of }),
  ...(options.rank ? { rank: true } : {}),
  ...(options.include_ignored ? {} : { include_ignored: false }),
  ...(options.population_basis === 'census' ? {} : { population_basis: options.population_basis }),
})
