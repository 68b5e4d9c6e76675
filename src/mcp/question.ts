/** Arguments of the tools that ask analytics queries, and the request body that they become. Pure. */
import { type Arguments, integer, type Property, releaseId, strings, text } from './tool.ts'

export const QUESTION: Readonly<Record<string, Property>> = {
  metrics: {
    type: 'array',
    items: { type: ['string', 'object'] },
    description:
      '1 to 20 codes of metrics, as catalog lists them, e.g. ["bed_capacity_existing"]; also {"metric", "as": "name", "filters": […]}, a metric under filters that hold for it alone, and {"as": "name", "ratio": ["numerator", "denominator"], "scale": 100, "decimals": 2} over metrics of the query that are no ratios.',
  },
  group_by: strings(
    'Up to 6 codes of dimensions, or names of groupings, e.g. ["state"] or ["reference_year"]; none gives one total.',
  ),
  groupings: {
    type: 'object',
    description:
      'Groups of members by name, for group_by: {"name": {"dimension": "municipality", "groups": [{"code": "A", "name": "Group A", "members": [2900108]}], "others": "leave_out" | "group"}}. Everything is computed again for each group.',
  },
  filters: {
    type: 'array',
    description:
      'All must hold. value: a code or a list of codes (states by letters, municipalities by IBGE code, months YYYY-MM); members finds codes.',
    items: {
      type: 'object',
      properties: {
        dimension: { type: 'string' },
        operator: {
          type: 'string',
          enum: ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'],
          description: 'EQ of a code and IN of a list where it is left out.',
        },
        value: { description: 'A code, or a list of codes.' },
      },
      required: ['dimension', 'value'],
      additionalProperties: false,
    },
  },
  over_period: {
    ...text('A stock over several months, or over a year, quarter or quadrimester: last, first, avg or max.'),
    enum: ['last', 'first', 'avg', 'max'],
  },
  population_basis: {
    ...text('What rates are divided by; the census by default.'),
    enum: ['census', 'estimate', 'estimate_of_period'],
  },
  window: {
    type: 'object',
    description:
      '{"months": 12} or {"since": "year_start"}, with reference_period grouped: each row covers the months up to it.',
  },
  incomplete: {
    ...text('A period of which a month was not collected is null; allow: the value of its collected months.'),
    enum: ['allow'],
  },
  prices: {
    type: ['string', 'integer'],
    description:
      '"YYYY-MM" or a year: values in reais as reais of that month, or of the mean of that year (IPCA).',
  },
  expected_release_id: releaseId('Answer from this analytics release, not from the one in service.'),
}
export const PAGED: Readonly<Record<string, Property>> = {
  order_by: strings(
    'Metrics or grouped dimensions; - before one is descending, e.g. ["-bed_capacity_existing"].',
  ),
  limit: integer(1, 200, 'Rows shown; 20 by default.'),
  offset: integer(0, 1_000_000, 'Rows passed over.'),
}
export const OPTIONS: Readonly<Record<string, Property>> = {
  totals: {
    description:
      'true, or lists of grouped dimensions: totals computed again at these levels ([[]] is the grand total).',
  },
  change: {
    type: 'object',
    properties: { to: { type: 'string' } },
    description: '{"to": "previous" | "-12" | "-1y" | "YYYY-MM"}: adds base, change and change in percent.',
  },
  share_of: strings('A level of totals whose values are 100 percent; [] is the grand total.'),
  limits: {
    type: 'number',
    enum: [0.95, 0.998],
    description: 'Adds confidence limits, <metric>__lower and <metric>__upper, at this level.',
  },
  percentile: {
    type: 'boolean',
    description: 'Adds <metric>__percentile, the place of each row among all rows, 0 to 100.',
  },
  compare_to: {
    type: 'object',
    description:
      '{"with": "country" | "region" | "state" | "health_macroregion" | "health_region" | "peers", "level": 0.95}, with places grouped: adds the value of the larger place, or of the municipalities of like size in the same major region (peers), the ratio to it, and whether the row is lower, similar or higher.',
  },
  status: {
    type: 'boolean',
    description:
      'Adds <metric>__status: whether it is final, preliminary, small_number, partial, no_denominator, incomplete or not_collected.',
  },
  having: {
    type: 'array',
    items: { type: 'object' },
    description: 'Conditions on values: {"metric", "operator": GT|GTE|LT|LTE|EQ|BETWEEN, "value"}.',
  },
}

/** @returns the arguments that belong in the request body; null counts as missing */
export const bodyOf = (args: Arguments, names: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(args).filter(
      ([name, value]) => Object.hasOwn(names, name) && value !== undefined && value !== null,
    ),
  )

export function questionOf(
  args: Arguments,
  names: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const body = bodyOf(args, names)
  const { metrics } = body
  return {
    ...body,
    ...('filters' in body ? { filters: withOperators(body.filters) } : {}),
    ...(Array.isArray(metrics)
      ? {
          metrics: metrics.map((metric: unknown) =>
            typeof metric === 'object' && metric !== null && 'filters' in metric
              ? { ...metric, filters: withOperators(metric.filters) }
              : metric,
          ),
        }
      : {}),
  }
}

const withOperators = (filters: unknown): unknown =>
  Array.isArray(filters)
    ? filters.map((filter: unknown) =>
        typeof filter === 'object' && filter !== null && 'value' in filter && !('operator' in filter)
          ? { ...filter, operator: Array.isArray(filter.value) ? 'IN' : 'EQ' }
          : filter,
      )
    : filters
