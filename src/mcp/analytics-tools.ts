/** Tools for the analytics routes: query, explain, lineage, compare. In: arguments. Out: tables with labels, units and notes. */
import type {
  Api,
  Catalog,
  LineageAnswer,
  Member,
  Meta,
  Note,
  QueryAnswer,
  QueryRow,
} from '../explorer/api.ts'
import { describeCodes } from './codes.ts'
import { COMPARE_OUTPUT, EXPLAIN_OUTPUT, LINEAGE_OUTPUT, QUERY_OUTPUT } from './output-schemas.ts'
import {
  type Arguments,
  integer,
  originOfAnswer,
  type Property,
  releaseId,
  strings,
  type Tool,
  text,
} from './tool.ts'
import type { Context } from './tools.ts'

const PATH = '/v1/analytics'
/** Longest link, in characters. Longer queries have none, because a request address holds 16 KiB. */
const LINK_MAX = 12_000

const QUESTION: Readonly<Record<string, Property>> = {
  metrics: strings('1 to 20 codes of metrics, as catalog lists them, e.g. ["bed_capacity_existing"].'),
  group_by: strings(
    'Up to 6 codes of dimensions, e.g. ["state"] or ["reference_year"]; none gives one total.',
  ),
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
const PAGED: Readonly<Record<string, Property>> = {
  order_by: strings(
    'Metrics or grouped dimensions; - before one is descending, e.g. ["-bed_capacity_existing"].',
  ),
  limit: integer(1, 200, 'Rows shown; 20 by default.'),
  offset: integer(0, 1_000_000, 'Rows passed over.'),
}
const OPTIONS: Readonly<Record<string, Property>> = {
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
      '{"with": "country" | "region" | "state" | "health_macroregion" | "health_region", "level": 0.95}, with places grouped: adds the value of the larger place, the ratio to it, and whether the row is lower, similar or higher.',
  },
  having: {
    type: 'array',
    items: { type: 'object' },
    description: 'Conditions on values: {"metric", "operator": GT|GTE|LT|LTE|EQ|BETWEEN, "value"}.',
  },
}

/** @returns the arguments that belong in the request body; null counts as missing */
const bodyOf = (args: Arguments, names: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(args).filter(
      ([name, value]) => Object.hasOwn(names, name) && value !== undefined && value !== null,
    ),
  )

function questionOf(args: Arguments, names: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body = bodyOf(args, names)
  if (!Array.isArray(body.filters)) return body
  const filters = body.filters.map((filter: unknown) =>
    typeof filter === 'object' && filter !== null && 'value' in filter && !('operator' in filter)
      ? { ...filter, operator: Array.isArray(filter.value) ? 'IN' : 'EQ' }
      : filter,
  )
  return { ...body, filters }
}

/** @returns address of the query, pinned to its release, that works with any key; null when it is too long */
function linkOf({ meta }: QueryAnswer, origin: string, page: object): string | null {
  const q = JSON.stringify({ ...(meta.query as object), ...page, expected_release_id: meta.release_id })
  const link = `${origin}${PATH}/query?${new URLSearchParams({ q })}`
  return link.length > LINK_MAX ? null : link
}

/** Keeps code and sentence of notes. The sentence has the parameters, whose lists of months and states would be too long here. */
const notesOf = ({ notes = [] }: { readonly notes?: readonly Note[] }) =>
  notes.map(({ code, message }) => ({ code, message }))

const identity = (answer: QueryAnswer, origin: string, page: object = {}) => ({
  ...originOfAnswer(answer.meta),
  fingerprint: answer.meta.fingerprint,
  citation: answer.meta.citation.abnt,
  link: linkOf(answer, origin, page),
})

/** Runs the query with one row to get its fingerprint and citation. The link is for all rows. */
const identify = async (args: Arguments, { api, origin }: Context) =>
  identity(
    await api.post<QueryAnswer>(`${PATH}/query`, { ...questionOf(args, QUESTION), limit: 1 }),
    origin,
    {
      limit: undefined,
      offset: undefined,
    },
  )

const isMember = (value: unknown): value is Member => typeof value === 'object' && value !== null

const cellsOf = (row: QueryRow, groups: readonly string[], values: readonly string[]): unknown[] => [
  ...groups.flatMap((code) => {
    const member = row.dimensions[code]
    return isMember(member) ? [member.code, member.name] : [null, null]
  }),
  ...values.map((code) => row.metrics[code] ?? null),
]

/** @returns name, label and unit of each column. A suffix of a metric's code marks derived values, such as its share. */
async function columnsOf(api: Api, groups: readonly string[], values: readonly string[]) {
  const { data } = await api.get<{ readonly data: Catalog }>(`${PATH}/catalog`)
  const labels = new Map(data.dimensions.map(({ code, label }) => [code, label]))
  return [
    ...groups.flatMap((code) => [{ name: `${code}_code` }, { name: code, label: labels.get(code) ?? code }]),
    ...values.map((name) => {
      const [code = '', suffix] = name.split('__')
      const metric = data.metrics.find((candidate) => candidate.code === code)
      const isPercent = suffix === 'share' || suffix === 'change_percent' || suffix === 'percentile'
      return {
        name,
        label: `${metric?.label ?? code}${suffix === undefined ? '' : ` (${suffix})`}`,
        unit: isPercent ? '%' : metric?.unit,
      }
    }),
  ]
}

async function query(args: Arguments, context: Context): Promise<object> {
  const { api, origin } = context
  const body: Record<string, unknown> = {
    limit: 20,
    ...questionOf(args, { ...QUESTION, ...PAGED, ...OPTIONS }),
  }
  const answer = await api.post<QueryAnswer>(`${PATH}/query`, body)
  const {
    metrics,
    group_by: groups,
    filters = [],
  } = answer.meta.query as { metrics: string[]; group_by: string[]; filters?: unknown[] }
  const [first] = [...answer.data, ...(answer.totals ?? []).flatMap(({ data }) => data)]
  const values = first === undefined ? metrics : Object.keys(first.metrics)
  const { total_rows, offset, has_more } = answer.pagination
  // A filter with an unknown code is not an error, but its zeros look like numbers. If all values are 0, check the codes.
  const hasOnlyZeros = answer.data.every(({ metrics: metricValues }) =>
    values.every((code) => (metricValues[code] ?? 0) === 0),
  )
  const checkedFilters = hasOnlyZeros ? filters.slice(0, 5) : []
  const { release_id } = answer.meta
  const unknown = (
    await Promise.all(checkedFilters.map((filter) => describeCodes(filter, api, release_id)))
  ).flat()
  return {
    columns: await columnsOf(api, groups, values),
    rows: answer.data.map((row) => cellsOf(row, groups, values)),
    total_rows,
    ...(has_more ? { next_offset: offset + answer.data.length } : {}),
    ...(answer.totals === undefined
      ? {}
      : {
          totals: answer.totals.map(({ group_by, data }) => ({
            group_by,
            rows: data.slice(0, 20).map((row) => cellsOf(row, group_by, values)),
          })),
        }),
    notes: [...unknown.map((message) => ({ code: 'unknown_code', message })), ...notesOf(answer.meta)],
    ...identity(answer, origin),
  }
}

interface ExplainAnswer {
  readonly data: {
    readonly query: unknown
    readonly sql: string
    readonly rows_read: number
    readonly estimated_rows: number
    readonly reads: readonly {
      readonly dataset: string
      readonly periods: readonly string[]
      readonly rows: number
    }[]
  }
  readonly meta: Meta & { readonly notes?: readonly Note[] }
}

async function explain(args: Arguments, { api }: Context): Promise<object> {
  const body = questionOf(args, { ...QUESTION, ...PAGED, ...OPTIONS })
  const { data, meta } = await api.post<ExplainAnswer>(`${PATH}/explain`, body)
  return {
    query: data.query,
    estimated_rows: data.estimated_rows,
    rows_read: data.rows_read,
    reads: data.reads.map(({ dataset, periods, rows }) => ({ dataset, periods, rows })),
    ...(args.with_sql === true ? { sql: data.sql } : {}),
    notes: notesOf(meta),
    ...originOfAnswer(meta),
  }
}

async function lineage(args: Arguments, context: Context): Promise<object> {
  const { key, metric, side, limit = 5 } = args
  const body = {
    ...questionOf(args, QUESTION),
    ...bodyOf({ key, metric, side }, { key, metric, side }),
    limit,
  }
  const answer = await context.api.post<LineageAnswer>(`${PATH}/lineage`, body)
  const { value, total } = answer.meta
  return {
    value,
    adds_up_to: total,
    records: answer.pagination.total_rows,
    shown: answer.data.map(({ dataset, reference_period, key: recordKey, contribution, sources }) => ({
      dataset,
      reference_period,
      key: recordKey,
      contribution,
      published: sources.slice(0, 3).map(({ publisher, file, row, column, raw_value, sha256 }) => ({
        publisher,
        file,
        row,
        column,
        raw_value,
        sha256,
      })),
    })),
    notes: notesOf(answer.meta),
    ...(await identify(args, context)),
  }
}

interface CompareAnswer {
  readonly data: readonly {
    readonly label: string
    readonly metrics: Readonly<
      Record<
        string,
        {
          readonly old: unknown
          readonly new: unknown
          readonly delta: unknown
          readonly causes: readonly unknown[]
        }
      >
    >
  }[]
  readonly pagination: { readonly total_rows: number }
  readonly meta: Meta & { readonly notes?: readonly Note[]; readonly same_content: boolean | null }
}

async function compare(args: Arguments, context: Context): Promise<object> {
  const { old_release_id, new_release_id, limit = 10 } = args
  const { expected_release_id: _pin, ...question } = questionOf(args, QUESTION)
  const releases = bodyOf({ old_release_id, new_release_id }, { old_release_id, new_release_id })
  const { data, pagination, meta } = await context.api.post<CompareAnswer>(`${PATH}/compare`, {
    ...question,
    ...releases,
    limit,
  })
  return {
    changed_rows: pagination.total_rows,
    same_content: meta.same_content,
    rows: data.map(({ label, metrics }) => ({ label, metrics })),
    notes: notesOf(meta),
    old_release_id,
    ...(await identify({ ...question, expected_release_id: meta.release_id }, context)),
  }
}

export const ANALYTICS_TOOLS: readonly Tool[] = [
  {
    name: 'query',
    title: 'Metrics by dimensions',
    description:
      'Exact values of metrics, grouped and filtered by dimensions, with labels, units and notes. Without a filter of months it is the newest month.',
    properties: { ...QUESTION, ...PAGED, ...OPTIONS },
    required: ['metrics'],
    outputs: QUERY_OUTPUT,
    call: query,
  },
  {
    name: 'explain',
    title: 'What a query would do',
    description:
      'The query in its one form, what it reads and how many rows it gives at most; nothing is run.',
    properties: {
      ...QUESTION,
      ...PAGED,
      ...OPTIONS,
      with_sql: { type: 'boolean', description: 'true: the SQL, too.' },
    },
    required: ['metrics'],
    outputs: EXPLAIN_OUTPUT,
    call: explain,
  },
  {
    name: 'lineage',
    title: 'Where a number comes from',
    description:
      'The records that add up to one value of a query, each with publisher, file, row and cell that it was published in.',
    properties: {
      ...QUESTION,
      key: {
        type: 'object',
        description: 'Code of each grouped dimension of the value, e.g. {"state": "RR"}.',
      },
      metric: text('Which metric of the query; its only one by default.'),
      side: {
        ...text('Which side of a rate; the numerator by default.'),
        enum: ['numerator', 'less', 'denominator'],
      },
      limit: integer(1, 50, 'Records shown; 5 by default.'),
    },
    required: ['metrics'],
    outputs: LINEAGE_OUTPUT,
    call: lineage,
  },
  {
    name: 'compare',
    title: 'What changed between two releases',
    description:
      'Old value, new value and difference of a query on two analytics releases, with causes; releases lists them.',
    properties: {
      ...QUESTION,
      old_release_id: releaseId('The analytics release before.'),
      new_release_id: releaseId('The analytics release after; the one in service by default.'),
      limit: integer(1, 50, 'Rows shown; 10 by default.'),
    },
    required: ['metrics', 'old_release_id'],
    outputs: COMPARE_OUTPUT,
    call: compare,
  },
]
