/**
 * A question of the explorer and its address. In: the query string. Out: a `Question`, its query body, and its address again. The address
 * has the complete question, so a link shows what its sender saw. Pure; runs on the server and in the browser. The API checks whether codes
 * exist.
 */

import { type Analysis, bodyOfAnalysis, NO_ANALYSIS, paramsOfAnalysis, readAnalysis } from './analysis.ts'
import { monthBefore } from './numbers.ts'
import { bodyOfGroup, GROUP, type OwnGroup, paramsOfGroup, readGroup } from './own-group.ts'

export const VIEWS = ['table', 'bars', 'lines', 'multiples', 'heat', 'scatter', 'funnel', 'map'] as const
export type View = (typeof VIEWS)[number]

export interface CellAddress {
  readonly metric: string
  /** Dimension → code of the row. A cell of a total has fewer dimensions. */
  readonly key: Readonly<Record<string, string>>
}

export interface Question {
  readonly metrics: readonly string[]
  readonly groupBy: readonly string[]
  /** Dimension → codes, of which a row needs one. Months are in `from` and `to`. */
  readonly filters: Readonly<Record<string, readonly string[]>>
  /** First and last month, YYYY-MM; '' is the newest of the release. */
  readonly from: string
  readonly to: string
  /** How several months become one value: last, first, avg or max; '' when months are grouped or there is one. */
  readonly overPeriod: string
  readonly totals: boolean
  /** '', previous, -12 or a month. */
  readonly change: string
  readonly basis: string
  readonly analysis: Analysis
  /** The visitor's own group of municipalities; null without one. */
  readonly group: OwnGroup | null
  readonly ignored: boolean
  /** A metric or dimension, with `-` in front when descending; '' is the default order. */
  readonly order: string
  readonly page: number
  readonly view: View
  /** Pinned release; '' is the one in service. */
  readonly release: string
  readonly since: string
  readonly cell: CellAddress | null
  /** Largest number of the cell's records to show; 0 is the default number. */
  readonly records: number
}

/** Looks up a name from an address without reaching the prototype, whatever the name is (`constructor`, for example). */
export const lookUp = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** Dimensions of time, from months to years. */
export const TIMES: readonly string[] = [
  'reference_period',
  'reference_quarter',
  'reference_quadrimester',
  'reference_year',
]

/** @returns the time among grouped dimensions; undefined when rows are of no period */
export const timeOf = (groupBy: readonly string[]): string | undefined =>
  groupBy.find((code) => TIMES.includes(code))

/**
 * @param period reference period of an answer
 * @returns the month that a question compares with; null where each row has its own, or several are read together
 */
export function baseMonthOf({ change: to, groupBy }: Question, period: string): string | null {
  const isMonth = (text: string): boolean => /^\d{4}-\d{2}$/.test(text)
  if (isMonth(to)) return to
  if (timeOf(groupBy) !== undefined || !isMonth(period)) return null
  const months = to === 'previous' ? 1 : Number(/^-(\d+)$/.exec(to)?.[1] ?? 0)
  return months === 0 ? null : monthBefore(period, months)
}

export const PAGE_ROWS = 100
/** The API skips at most a million rows. */
const PAGES_MAX = 10_000
export const RECORDS_SHOWN = 20
export const RECORDS_MAX = 1000
/** Page size for maps and charts, enough for all municipalities. */
export const ALL_ROWS = 10_000
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
  analysis: NO_ANALYSIS,
  group: null,
  ignored: true,
  order: '',
  page: 1,
  view: 'table',
  release: '',
  since: '',
  cell: null,
  records: 0,
}

const itemsOf = (values: readonly string[]): string[] => [
  ...new Set(
    values
      .flatMap((value) => value.split(','))
      .map((code) => code.trim())
      .filter((code) => code !== ''),
  ),
]

const codesOf = (values: readonly string[]): string[] => itemsOf(values).filter((code) => CODE.test(code))

/** @param search query string, with or without `?`; unknown parameters are ignored */
export function readQuestion(search: string): Question {
  const params = new URLSearchParams(search)
  const readText = (name: string): string => (params.get(name) ?? '').trim()
  // A row, filter or member that is left out would answer another question, so the API refuses codes that do not exist.
  const filters: Record<string, string[]> = Object.create(null)
  for (const name of new Set(params.keys())) {
    if (!name.startsWith('in.')) continue
    const codes = itemsOf(params.getAll(name))
    if (codes.length > 0) filters[name.slice(3)] = codes
  }
  const group = readGroup(readText, itemsOf(params.getAll('group.in')))
  const view = VIEWS.find((name) => name === readText('view')) ?? 'table'
  return {
    metrics: codesOf(params.getAll('m')),
    groupBy: withGroup(itemsOf(params.getAll('by')), group),
    filters,
    from: readText('from') || readText('period'),
    to: readText('to') || readText('period'),
    overPeriod: readText('over'),
    totals: readText('totals') !== '' && readText('totals') !== 'no',
    change: readText('change'),
    basis: readText('basis'),
    analysis: readAnalysis(readText),
    group,
    ignored: readText('ignored') !== 'no',
    order: readText('order'),
    page: Math.min(PAGES_MAX, Math.max(1, Math.trunc(Number(readText('page'))) || 1)),
    view,
    release: readText('release'),
    since: readText('since'),
    cell: readCell(readText('cell')),
    records: Math.min(RECORDS_MAX, Math.max(0, Math.trunc(Number(readText('records'))) || 0)),
  }
}

/** @returns grouped dimensions, the group first when it has members */
export const withGroup = (groupBy: readonly string[], group: OwnGroup | null): readonly string[] =>
  group === null || group.codes.length === 0
    ? groupBy.filter((code) => code !== GROUP)
    : groupBy.includes(GROUP)
      ? groupBy
      : [GROUP, ...groupBy]

/** Parses `metric;dimension:code;dimension:code`. */
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

/** @returns the query string of a question, with `?`; equal questions have equal query strings */
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
  for (const [name, value] of Object.entries({
    ...paramsOfAnalysis(question.analysis),
    ...paramsOfGroup(question.group),
  }))
    add(name, value)
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
  // Keep commas, colons and semicolons readable; a query string does not need to escape them.
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
  readonly groupings?: Readonly<Record<string, unknown>>
  readonly over_period?: string
  readonly totals?: boolean
  readonly change?: { readonly to: string }
  readonly population_basis?: string
  readonly include_ignored?: boolean
  readonly window?: { readonly months: number } | { readonly since: string }
  readonly incomplete?: string
  readonly limits?: number | string
  readonly compare_to?: { readonly with: string }
  readonly status?: boolean
  readonly prices?: string
  readonly expected_release_id?: string
}

const NUMERIC = new Set(['municipality'])
/** @returns a code as the API's filters take it */
export const memberValue = (dimension: string, code: string): string | number =>
  NUMERIC.has(dimension) && /^\d+$/.test(code) ? Number(code) : code

/** @returns the key of a cell as the API takes it; '' becomes null, the member without a code */
export const keyOf = (key: CellAddress['key']): Record<string, string | number | null> =>
  Object.fromEntries(
    Object.entries(key).map(([dimension, code]) => [
      dimension,
      code === '' ? null : memberValue(dimension, code),
    ]),
  )

/** @returns the query of a question without paging, as exports and lineage take it */
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
    ...bodyOfAnalysis(question.analysis),
    ...bodyOfGroup(question.group, memberValue),
    ...(question.ignored ? {} : { include_ignored: false }),
    ...(question.release === '' ? {} : { expected_release_id: question.release }),
  }
}

/** @returns the order of a question; '' where it orders by what the question no longer has */
export function keptOrder({ order, metrics, groupBy, change: to }: Question): string {
  const field = order.replace(/^-/, '')
  const code = field.replace(/__(base|change|change_percent)$/, '')
  return [...metrics, ...groupBy].includes(code) && (code === field || to !== '') ? order : ''
}

/** @returns whether the API compares two releases on a question: it does not join months by their mean or largest value */
export const isComparable = ({ overPeriod }: Question): boolean =>
  overPeriod !== 'avg' && overPeriod !== 'max'

/** @returns the query of a question as the API compares it on two releases, without options that comparisons lack */
export const comparedBodyOf = (question: Question): QueryBody =>
  bodyOf({
    ...question,
    order: '',
    release: '',
    change: '',
    totals: false,
    analysis: { ...question.analysis, limits: '', compare: '', status: false },
  })

export function pageBodyOf(question: Question): QueryBody {
  const needsAllRows = question.view !== 'table'
  return {
    ...bodyOf(question),
    limit: needsAllRows ? ALL_ROWS : PAGE_ROWS,
    offset: needsAllRows ? 0 : (question.page - 1) * PAGE_ROWS,
  }
}

export const change = (question: Question, changes: Partial<Question>): Question => ({
  ...question,
  page: 1,
  cell: null,
  records: 0,
  ...changes,
})
