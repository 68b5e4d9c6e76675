/**
 * Parses and normalises the options of a query: totals, change, share, rank, conditions on values and the population basis.
 * Equal options become equal values. Pure. How options affect the plan is decided in query-plan.ts.
 */
import { z } from 'zod'
import { both } from '../../../errors.ts'
import { type DimensionCode, isPlace } from '../../../model/dimensions.ts'
import { LIMIT_LEVELS, type LimitLevel } from '../../../model/limits/levels.ts'
import { isPerCapita, METRIC_CODES } from '../../../model/metrics.ts'
import { PERIOD_FORMS, readPeriod, showPeriod } from '../../../model/periods.ts'
import { takes } from '../../field-texts.ts'
import { refuse } from '../../refusals.ts'
import { documentedAs } from '../../text-schemas.ts'
import { groupText, type QueryFilter } from '../filters.ts'
import { resolveWindow, unitOfChange, usesPeriods } from '../period-cells.ts'
import { type ComparatorOption, compareToField, resolveComparator } from './comparators.ts'
import { catalogMetrics, isAdditive, type QueryMetrics } from './defined-metrics.ts'
import { type Grouping, groupingsField, nameOfGroup, normaliseGroupings } from './groupings.ts'
import { type Prices, resolvePrices } from './prices.ts'
import { valueCodes } from './value-kinds.ts'

const POPULATION_BASES = ['census', 'estimate', 'estimate_of_period'] as const
export type PopulationBasis = (typeof POPULATION_BASES)[number]

export interface HavingFilter {
  readonly metric: string
  readonly operator: 'GT' | 'GTE' | 'LT' | 'LTE' | 'EQ' | 'BETWEEN'
  readonly values: readonly number[]
}

export interface QueryOptions {
  /** Groupings that are grouped by, sorted by name. */
  readonly groupings: readonly Grouping[]
  /** Levels at which every value is computed again: subsets of group_by, finest first. */
  readonly totals: readonly (readonly DimensionCode[])[]
  /** Comparison period: `previous`, a number of periods back (`-12`), `-1y` or a period (`2025-05`, `2025-Q1`, `2025`). */
  readonly change: { readonly to: string } | null
  readonly having: readonly HavingFilter[]
  readonly share_of: readonly DimensionCode[] | null
  readonly rank: boolean
  /** Level of the confidence limits beside each metric. */
  readonly limits: LimitLevel | null
  /** Adds the place of each row among all rows of the answer, for each metric. */
  readonly percentile: boolean
  /** Compares each row with the larger place that contains its place. */
  readonly compare_to: ComparatorOption | null
  /** Adds to each value whether it is final, and why it is null or uncertain. */
  readonly status: boolean
  readonly include_ignored: boolean
  readonly population_basis: PopulationBasis
  /** A period of which a month was not collected is null, or has the value of its collected months. */
  readonly incomplete: 'allow' | null
  /** The months up to each month that is a row; null for the month alone. */
  readonly window: { readonly months: number } | { readonly since: 'year_start' } | null
  /** Month or year whose prices values in reais have; null for those of their time. */
  readonly prices: Prices | null
}

const TEXT_MAX = 100
const HAVING_OPERATORS = ['GT', 'GTE', 'LT', 'LTE', 'EQ', 'BETWEEN'] as const
const LEVELS_MAX = 16
/** Largest bound of a condition. DECIMAL(38, 6) holds it, and every value of a metric. */
const HAVING_MAX = 1e15
const HAVING_DECIMALS = 6
const MONTHS_BACK_MAX = 600
const WINDOW_MIN = 2
const WINDOW_MAX = 60

const level = takes(
  z.array(groupText).max(6),
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

export const optionFields = {
  groupings: groupingsField,
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
        'previous, -N (períodos antes), -1y ou um período',
        'previous, -N (periods before), -1y or a period',
      ).describe(
        'previous (the period before), -N (N periods before), -1y (the same period a year before) or a period (YYYY-MM, YYYY-Q1, YYYY-C1, YYYY). Periods are the finest that are grouped, else the one that a filter names, else months.',
      ),
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
  limits: takes(
    // Code generators know no enumerations of fractions, so the document gives the bounds, and the description the levels.
    documentedAs(z.literal([...LIMIT_LEVELS]), {
      type: 'number',
      minimum: LIMIT_LEVELS[0],
      maximum: LIMIT_LEVELS[1],
    }).nullish(),
    LIMIT_LEVELS.join(' ou '),
    LIMIT_LEVELS.join(' or '),
  ).describe(
    'Adds <metric>__lower and <metric>__upper, confidence limits at this level (0.95 or 0.998); null for metrics without a method (see the catalog).',
  ),
  percentile: z
    .boolean()
    .default(false)
    .describe(
      'Adds <metric>__percentile: the percent of the other rows of the answer whose value is below the row; equal values share it.',
    ),
  compare_to: compareToField,
  status: z
    .boolean()
    .default(false)
    .describe(
      'Adds a status to each metric of a row: final, preliminary, small_number, partial, no_denominator, incomplete or not_collected.',
    ),
  include_ignored: z
    .boolean()
    .default(true)
    .describe(
      'false: no rows of the ignored municipalities, and none of a larger place that is not known; totals count them.',
    ),
  population_basis: z
    .enum(POPULATION_BASES)
    .default('census')
    .describe('Denominator of rates by inhabitants.'),
  incomplete: z
    .enum(['allow'])
    .nullish()
    .describe(
      'A year, quarter, quadrimester or window of which a month was not collected is null; allow: the value of its collected months.',
    ),
  window: z
    .union([
      z.strictObject({ months: z.number().int().min(WINDOW_MIN).max(WINDOW_MAX) }),
      z.strictObject({ since: z.enum(['year_start']) }),
    ])
    .nullish()
    .describe(
      'With reference_period grouped: each row covers the months up to it (months: how many; since year_start: the year to date).',
    ),
  prices: takes(
    z.union([z.string().max(TEXT_MAX), z.number().int()]).nullish(),
    'AAAA-MM ou AAAA',
    'YYYY-MM or YYYY',
  ).describe(
    'Values in reais become constant prices: reais of this month (YYYY-MM), or of the mean of a year (YYYY), by the index IPCA.',
  ),
}

export interface OptionData {
  readonly totals?: boolean | string[][] | undefined
  readonly change?: { to: string | number } | null | undefined
  readonly having?:
    | { metric: string; operator: HavingFilter['operator']; value: number | number[] }[]
    | undefined
  readonly share_of?: string[] | null | undefined
  readonly rank?: boolean | undefined
  readonly limits?: LimitLevel | null | undefined
  readonly percentile?: boolean | undefined
  readonly compare_to?: z.infer<typeof compareToField>
  readonly status?: boolean | undefined
  readonly include_ignored?: boolean | undefined
  readonly population_basis?: PopulationBasis | undefined
  readonly incomplete?: 'allow' | null | undefined
  readonly window?: QueryOptions['window'] | undefined
  readonly prices?: string | number | null | undefined
}

interface QueryFields extends QueryMetrics {
  readonly groupings: readonly Grouping[]
  readonly group_by: readonly DimensionCode[]
  readonly over_period: 'last' | 'first' | 'avg' | 'max' | null
  readonly filters: readonly QueryFilter[]
}

/** @throws AppError 'invalid_request' */
export function resolveOptions(data: OptionData, fields: QueryFields): QueryOptions {
  const { metrics, ratios, group_by, groupings } = fields
  const change =
    data.change === null || data.change === undefined ? null : { to: resolveMonth(data.change.to, fields) }
  const share_of = resolveShare(data.share_of ?? null, fields)
  const limits = data.limits ?? null
  const compare_to = resolveComparator(data.compare_to, group_by, metrics)
  const codes = valueCodes({ metrics, ratios, change, share_of, limits, compare_to })
  const window = resolveWindow(data, fields)
  const incomplete = data.incomplete === 'allow' && usesPeriods({ ...fields, window }) ? 'allow' : null
  return {
    groupings,
    totals: resolveTotals(data.totals ?? false, fields),
    change,
    having: resolveHaving(data.having ?? [], codes),
    share_of,
    rank: data.rank ?? false,
    limits,
    percentile: data.percentile ?? false,
    compare_to,
    status: data.status ?? false,
    // Options without effect are reset, so that equal queries stay equal.
    include_ignored: (data.include_ignored ?? true) || !group_by.some(isPlace),
    population_basis: catalogMetrics(fields).some(isPerCapita)
      ? (data.population_basis ?? 'census')
      : 'census',
    incomplete,
    window,
    prices: resolvePrices(data.prices, fields),
  }
}

/** Normalises levels: each once, dimensions in the order of group_by, finest level first and grand total last. */
function resolveTotals(
  totals: boolean | readonly (readonly string[])[],
  fields: LevelFields,
): QueryOptions['totals'] {
  const groups = fields.group_by
  const levels =
    totals === true
      ? groups.map((_, length) => groups.slice(0, length))
      : totals === false
        ? []
        : totals.map((names, index) => resolveLevel(names, fields, `/totals/${index}`))
  const found = new Map(levels.map((level) => [level.join(), level]))
  const positionsOf = (level: readonly DimensionCode[]): string =>
    level.map((code) => groups.indexOf(code)).join()
  return [...found.values()].sort(
    (left, right) => right.length - left.length || (positionsOf(left) < positionsOf(right) ? -1 : 1),
  )
}

type LevelFields = Pick<QueryFields, 'group_by' | 'groupings'>

function resolveLevel(
  names: readonly string[],
  fields: LevelFields,
  pointer: string,
): readonly DimensionCode[] {
  const groups = fields.group_by.map((code) => nameOfGroup(code, fields))
  names.forEach((name, index) => {
    if (!groups.includes(name))
      throw refuse(
        'invalid_request',
        `${pointer}/${index}`,
        both('não é dimensão agrupada da consulta', 'is not a grouped dimension of the query'),
        groups,
      )
  })
  return fields.group_by.filter((code) => names.includes(nameOfGroup(code, fields)))
}

function resolveShare(names: readonly string[] | null, fields: QueryFields): QueryOptions['share_of'] {
  if (names === null) return null
  const { over_period } = fields
  const level = resolveLevel(names, fields, '/share_of')
  if (!catalogMetrics(fields).some(isAdditive))
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

function resolveMonth(to: string | number, fields: QueryFields): string {
  const unit = unitOfChange(fields)
  const text = String(to).trim()
  if (text.toLowerCase() === 'previous' || text === '-1') return 'previous'
  if (text.toLowerCase() === '-1y')
    return unit === 'reference_year' ? 'previous' : usesPeriods({ ...fields, window: null }) ? '-1y' : '-12'
  const months = /^-([1-9]\d{0,2})$/.exec(text)
  if (months !== null && Number(months[1]) <= MONTHS_BACK_MAX) return text
  const period = readPeriod(unit, text)
  if (period !== null) return String(showPeriod(unit, period))
  throw refuse(
    'invalid_request',
    '/change/to',
    both(
      `deve ser previous, -N (períodos antes), -1y ou ${PERIOD_FORMS[unit].pt}`,
      `must be previous, -N (periods before), -1y or ${PERIOD_FORMS[unit].en}`,
    ),
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
    return { metric, operator, values: values.map((bound) => bound + 0) }
  })
  const found = new Map(filters.map((filter) => [JSON.stringify(filter), filter]))
  return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, filter]) => filter)
}

const namesOf = (level: readonly DimensionCode[], options: QueryOptions): string[] =>
  level.map((code) => nameOfGroup(code, options))

/** @returns the options that differ from their defaults, so that new options do not change the form of older queries */
export const normaliseOptions = (options: QueryOptions) => ({
  ...(options.groupings.length === 0 ? {} : { groupings: normaliseGroupings(options.groupings) }),
  ...(options.totals.length === 0 ? {} : { totals: options.totals.map((level) => namesOf(level, options)) }),
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
  ...(options.share_of === null ? {} : { share_of: namesOf(options.share_of, options) }),
  ...(options.rank ? { rank: true } : {}),
  ...(options.limits === null ? {} : { limits: options.limits }),
  ...(options.percentile ? { percentile: true } : {}),
  ...(options.compare_to === null ? {} : { compare_to: { ...options.compare_to } }),
  ...(options.status ? { status: true } : {}),
  ...(options.include_ignored ? {} : { include_ignored: false }),
  ...(options.population_basis === 'census' ? {} : { population_basis: options.population_basis }),
  ...(options.incomplete === null ? {} : { incomplete: options.incomplete }),
  ...(options.window === null ? {} : { window: options.window }),
  ...(options.prices === null ? {} : { prices: options.prices }),
})
