/**
 * A question of the explorer, and its address. In: the query string of an address. Out: a `Question`; the body of the query it
 * stands for; and back to an address. The address holds the whole question, so that a link shows what its sender saw.
 *
 * Pure, and the same on the server and in the browser. Not here: whether the catalog knows a code; the API says so.
 */

export const VIEWS = ['table', 'bars', 'lines', 'map'] as const
export type View = (typeof VIEWS)[number]

/** A number of the answer, by its metric and its group. */
export interface CellAddress {
  readonly metric: string
  /** Dimension → code, of the grouped dimensions (fewer of them for a cell of a total). */
  readonly key: Readonly<Record<string, string>>
}

export interface Question {
  readonly metrics: readonly string[]
  readonly groupBy: readonly string[]
  /** Dimension → codes, any of which is in. Months are in `from` and `to`. */
  readonly filters: Readonly<Record<string, readonly string[]>>
  /** First and last month, YYYY-MM; '' leaves the release's newest. */
  readonly from: string
  readonly to: string
  /** How several months become one value: last, first, avg, max; '' where months are grouped or one. */
  readonly overPeriod: string
  readonly totals: boolean
  /** '', previous, -12 or a month. */
  readonly change: string
  readonly basis: string
  readonly ignored: boolean
  /** A metric or dimension, `-` in front for descending; '' is the dimensions' own order. */
  readonly order: string
  /** From 1. */
  readonly page: number
  readonly view: View
  /** Release it is pinned to; '' is the one in service. */
  readonly release: string
  /** Another release to compare with; '' where none. */
  readonly since: string
  readonly cell: CellAddress | null
  /** How many of the cell's records are shown at the most; 0 is as many as usual. */
  readonly records: number
}

/**
 * Looks up a name that comes from an address: `constructor` is a name like any other, and no table has it.
 * @returns the member that the table itself has
 */
export const lookUp = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

export const PAGE_ROWS = 100
/** Records of a cell that are shown at first, and at the most: what the API gives at once. */
export const RECORDS_SHOWN = 20
export const RECORDS_MAX = 1000
/** A map and a chart show every row there is, of municipalities too. */
const ALL_ROWS = 10_000
const CODE = /^[\w.:-]{1,40}$/

export const EMPTY_QUESTION: Question = {
  metrics: [],
  groupBy: [],
  filters: {},
  from: '',
  to: '',
  overPeriod: '',
  totals: false,
  change: '',
  basis: '',
  ignored: true,
  order: '',
  page: 1,
  view: 'table',
  release: '',
  since: '',
  cell: null,
  records: 0,
}

/** Codes of a parameter that may be repeated, hold commas, or both; each once, in their order. */
const codesOf = (values: readonly string[]): string[] => [
  ...new Set(
    values
      .flatMap((value) => value.split(','))
      .map((code) => code.trim())
      .filter((code) => CODE.test(code)),
  ),
]

/** @param search of an address, with or without `?`. What it does not know is left out. */
export function readQuestion(search: string): Question {
  const params = new URLSearchParams(search)
  const text = (name: string): string => (params.get(name) ?? '').trim()
  const filters: Record<string, string[]> = Object.create(null)
  for (const name of new Set(params.keys())) {
    if (!name.startsWith('in.')) continue
    const codes = codesOf(params.getAll(name))
    if (codes.length > 0) filters[name.slice(3)] = codes
  }
  const view = VIEWS.find((name) => name === text('view')) ?? 'table'
  return {
    metrics: codesOf(params.getAll('m')),
    groupBy: codesOf(params.getAll('by')),
    filters,
    from: text('from') || text('period'),
    to: text('to') || text('period'),
    overPeriod: text('over'),
    totals: text('totals') !== '' && text('totals') !== 'no',
    change: text('change'),
    basis: text('basis'),
    ignored: text('ignored') !== 'no',
    order: text('order'),
    page: Math.max(1, Math.trunc(Number(text('page'))) || 1),
    view,
    release: text('release'),
    since: text('since'),
    cell: readCell(text('cell')),
    records: Math.min(RECORDS_MAX, Math.max(0, Math.trunc(Number(text('records'))) || 0)),
  }
}

/** `metric;dimension:code;dimension:code` */
function readCell(text: string): CellAddress | null {
  const [metric = '', ...parts] = text.split(';')
  if (!CODE.test(metric)) return null
  const key: Record<string, string> = Object.create(null)
  for (const part of parts) {
    const at = part.indexOf(':')
    if (at > 0) key[part.slice(0, at)] = part.slice(at + 1)
  }
  return { metric, key }
}

export const writeCell = ({ metric, key }: CellAddress): string =>
  [metric, ...Object.entries(key).map(([dimension, code]) => `${dimension}:${code}`)].join(';')

/** @returns the query string of a question, `?` in front; equal questions have equal ones */
export function writeQuestion(question: Question): string {
  const params = new URLSearchParams()
  const add = (name: string, value: string, isShown = value !== ''): void => {
    if (isShown) params.append(name, value)
  }
  add('m', question.metrics.join(','))
  add('by', question.groupBy.join(','))
  for (const name of Object.keys(question.filters).sort())
    add(`in.${name}`, (lookUp(question.filters, name) ?? []).join(','))
  if (question.from !== '' && question.from === question.to) add('period', question.from)
  else {
    add('from', question.from)
    add('to', question.to)
  }
  add('over', question.overPeriod)
  add('totals', 'yes', question.totals)
  add('change', question.change)
  add('basis', question.basis)
  add('ignored', 'no', !question.ignored)
  add('order', question.order)
  add('page', String(question.page), question.page > 1)
  add('view', question.view, question.view !== 'table')
  add('release', question.release)
  add('since', question.since)
  if (question.cell !== null) {
    add('cell', writeCell(question.cell))
    add('records', String(question.records), question.records > 0)
  }
  // Commas and colons need no escape in a query string, and people read addresses.
  const text = params.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%3B', ';')
  return text === '' ? '' : `?${text}`
}

export interface QueryBody {
  readonly metrics: readonly string[]
  readonly group_by: readonly string[]
  readonly filters: readonly { dimension: string; operator: string; value: unknown }[]
  readonly order_by?: readonly { field: string; direction: 'asc' | 'desc' }[]
  readonly limit?: number
  readonly offset?: number
  readonly over_period?: string
  readonly totals?: boolean
  readonly change?: { readonly to: string }
  readonly population_basis?: string
  readonly include_ignored?: boolean
  readonly expected_release_id?: string
}

/** Dimensions whose codes are numbers in queries. */
const NUMERIC = new Set(['municipality'])
const memberValue = (dimension: string, code: string): string | number =>
  NUMERIC.has(dimension) && /^\d+$/.test(code) ? Number(code) : code

/** The code of a cell's group, as the API takes it. '' is the group without a code. */
export const keyOf = (key: CellAddress['key']): Record<string, string | number | null> =>
  Object.fromEntries(
    Object.entries(key).map(([dimension, code]) => [
      dimension,
      code === '' ? null : memberValue(dimension, code),
    ]),
  )

/** @returns the query a question stands for, without its page: what exports and lineage take */
export function bodyOf(question: Question): QueryBody {
  const { from, to, order } = question
  const period =
    from === '' && to === ''
      ? []
      : from === to
        ? [{ dimension: 'reference_period', operator: 'EQ', value: from }]
        : to === ''
          ? [{ dimension: 'reference_period', operator: 'GTE', value: from }]
          : from === ''
            ? [{ dimension: 'reference_period', operator: 'LTE', value: to }]
            : [{ dimension: 'reference_period', operator: 'BETWEEN', value: [from, to] }]
  return {
    metrics: question.metrics,
    group_by: question.groupBy,
    filters: [
      ...Object.entries(question.filters).map(([dimension, codes]) => ({
        dimension,
        operator: 'IN',
        value: codes.map((code) => memberValue(dimension, code)),
      })),
      ...period,
    ],
    ...(order === ''
      ? {}
      : {
          order_by: [
            {
              field: order.replace(/^-/, ''),
              direction: order.startsWith('-') ? ('desc' as const) : ('asc' as const),
            },
          ],
        }),
    ...(question.overPeriod === '' ? {} : { over_period: question.overPeriod }),
    ...(question.totals ? { totals: true } : {}),
    ...(question.change === '' ? {} : { change: { to: question.change } }),
    ...(question.basis === '' ? {} : { population_basis: question.basis }),
    ...(question.ignored ? {} : { include_ignored: false }),
    ...(question.release === '' ? {} : { expected_release_id: question.release }),
  }
}

/** @returns the query with the page that the view shows */
export function pageBodyOf(question: Question): QueryBody {
  const isWhole = question.view !== 'table'
  return {
    ...bodyOf(question),
    limit: isWhole ? ALL_ROWS : PAGE_ROWS,
    offset: isWhole ? 0 : (question.page - 1) * PAGE_ROWS,
  }
}

/** A change of a question begins at its first page, and shows no cell of the one before. */
export const change = (question: Question, changes: Partial<Question>): Question => ({
  ...question,
  page: 1,
  cell: null,
  records: 0,
  ...changes,
})
