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
import { bodyOf, OPTIONS, PAGED, QUESTION, questionOf } from './question.ts'
import { type Arguments, integer, notesOf, originOfAnswer, releaseId, type Tool, text } from './tool.ts'
import type { Context } from './tools.ts'

const PATH = '/v1/analytics'
/** Longest link, in characters. Longer queries have none, because a request address holds 16 KiB. */
const LINK_MAX = 12_000

/** @returns address of the query, pinned to its release, that works with any key; null when it is too long */
function linkOf({ meta }: QueryAnswer, origin: string, page: object): string | null {
  const q = JSON.stringify({ ...(meta.query as object), ...page, expected_release_id: meta.release_id })
  const link = `${origin}${PATH}/query?${new URLSearchParams({ q })}`
  return link.length > LINK_MAX ? null : link
}

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

const STATUS = '__status'

/** @param values names of values; one that ends in __status is the status of a metric */
const cellsOf = (row: QueryRow, groups: readonly string[], values: readonly string[]): unknown[] => [
  ...groups.flatMap((code) => {
    const member = row.dimensions[code]
    return isMember(member) ? [member.code, member.name] : [null, null]
  }),
  ...values.map((name) =>
    name.endsWith(STATUS)
      ? (row.status?.[name.slice(0, -STATUS.length)] ?? null)
      : (row.metrics[name] ?? null),
  ),
]

const WITHOUT_UNIT: readonly (string | undefined)[] = ['ratio', 'significance', 'status']
/** Rows shown of each level of totals. */
const TOTALS_SHOWN = 20

/** A metric of a query: a code of the catalog, a metric with filters, or a ratio, which has no unit. */
type QueryMetric = string | { readonly as: string; readonly metric?: string; readonly label?: string }

/** @returns name, label and unit of each column. A suffix of a metric's code marks derived values, such as its share. */
async function columnsOf(
  api: Api,
  groups: readonly string[],
  values: readonly string[],
  metrics: readonly QueryMetric[],
  notes: readonly Note[] = [],
) {
  const { data } = await api.get<{ readonly data: Catalog }>(`${PATH}/catalog`)
  const labels = new Map(data.dimensions.map(({ code, label }) => [code, label]))
  const definitions = new Map(
    metrics.flatMap((metric) => (typeof metric === 'string' ? [] : [[metric.as, metric]])),
  )
  const prices = notes.find((note) => note.code === 'constant_prices')
  return [
    ...groups.flatMap((code) => [{ name: `${code}_code` }, { name: code, label: labels.get(code) ?? code }]),
    ...values.map((name) => {
      const [code = '', suffix] = name.split('__')
      const definition = definitions.get(code)
      const catalogCode = definition === undefined ? code : definition.metric
      const metric = data.metrics.find((candidate) => candidate.code === catalogCode)
      const isPriced = prices?.metrics.includes(code) === true
      const unit = isPriced ? metric?.unit.replace(/^BRL/, `BRL of ${prices.prices_of}`) : metric?.unit
      const label = `${definition?.label ?? metric?.label ?? code}${isPriced ? ` (BRL of ${prices.prices_of})` : ''}`
      const isPercent = suffix === 'share' || suffix === 'change_percent' || suffix === 'percentile'
      return {
        name,
        label: `${label}${suffix === undefined ? '' : ` (${suffix})`}`,
        unit: WITHOUT_UNIT.includes(suffix) ? undefined : isPercent ? '%' : unit,
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
  } = answer.meta.query as {
    metrics: QueryMetric[]
    group_by: string[]
    filters?: unknown[]
  }
  const [first] = [...answer.data, ...(answer.totals ?? []).flatMap(({ data }) => data)]
  const names = metrics.map((metric) => (typeof metric === 'string' ? metric : metric.as))
  const values = [
    ...Object.keys(first?.metrics ?? Object.fromEntries(names.map((name) => [name, null]))),
    ...Object.keys(first?.status ?? {}).map((name) => `${name}${STATUS}`),
  ]
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
    columns: await columnsOf(api, groups, values, metrics, answer.meta.notes),
    rows: answer.data.map((row) => cellsOf(row, groups, values)),
    total_rows,
    ...(has_more ? { next_offset: offset + answer.data.length } : {}),
    ...(answer.totals === undefined
      ? {}
      : {
          totals: answer.totals.map(({ group_by, data }) => ({
            group_by,
            rows: data.slice(0, TOTALS_SHOWN).map((row) => cellsOf(row, group_by, values)),
            total_rows: data.length,
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
