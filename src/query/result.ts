/**
 * An analytics query, end to end: parse → plan → statement → rows → result with its fingerprint.
 *
 * In: the request's body, a release, what the key may read. Out: data, pagination, meta as contract 7. The fingerprint
 * covers every row of the query, so it is computed where the rows are, not over the page.
 */
import type { Engine, JsonValue, Row, RunOptions } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import { type DimensionCode, dimensionOf, isMunicipality } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { writeNotes } from '../model/note-sentences.ts'
import type { Note } from '../model/notes.ts'
import { STATES } from '../model/territory/states.ts'
import { componentId, coverageOf, formatPeriod, type ReleaseView } from '../release/view.ts'
import { type Sql, sql, table } from '../sql.ts'
import type { AggregatePlan } from './aggregate.ts'
import { type Citation, citationOf } from './citation.ts'
import { shownValues } from './dialect/duckdb/measured.ts'
import { printAggregate, summaryColumns } from './dialect/duckdb/statement.ts'
import { estimateAnswer, weightOf } from './estimate.ts'
import { statesOfFilters } from './facility-states.ts'
import { fingerprintOf, type NormalisedQuery } from './fingerprint.ts'
import { allPeriods } from './periods.ts'
import { choosePreAggregates } from './pre-aggregates.ts'
import { normaliseOptions } from './query-options.ts'
import { planQuery, TOTALS_ROWS_MAX } from './query-plan.ts'
import { type AnalyticsQuery, normaliseFilters, parseQuery, type QueryFilter, takesList } from './request.ts'

export { readPin } from './request.ts'

export interface AnswerParts {
  readonly engine: Engine
  readonly view: ReleaseView
  readonly capabilities: readonly Capability[]
  readonly language: 'pt' | 'en'
  readonly signal?: AbortSignal
}

/** A page of an answer of any kind. */
export interface PagedAnswer {
  readonly data: readonly JsonValue[]
  /** Of a query that asks for them. */
  readonly totals?: readonly JsonValue[]
  readonly pagination: JsonValue
  readonly meta: Readonly<Record<string, JsonValue>>
}

export const describePage = (
  { limit, offset }: { readonly limit: number; readonly offset: number },
  shown: number,
  total: number,
): JsonValue => ({ limit, offset, total_rows: total, has_more: offset + shown < total })

export const TOTAL_LABEL = 'Total do escopo selecionado'

/** A query that was parsed: its plan, and its canonical form. */
export interface PreparedQuery {
  readonly query: AnalyticsQuery
  readonly plan: AggregatePlan
  readonly normalised: NormalisedQuery
}

/** @throws AppError as planAggregate */
export async function prepareQuery(parsed: AnalyticsQuery, parts: AnswerParts): Promise<PreparedQuery> {
  const { engine, view, signal } = parts
  const options = signal === undefined ? {} : { signal }
  const filters = await widenMunicipalities(parsed.filters, engine, view, options)
  const query = { ...parsed, filters }
  const estimateYears = query.population_basis === 'estimate_of_period' ? await readEstimateYears(parts) : []
  const ofFacilities = await statesOfFilters(filters, engine, view, options)
  const plan = planQuery(query, view, parts.capabilities, { estimateYears, ofFacilities })
  return { query, plan, normalised: normaliseQuery(query) }
}

/** @returns years of the release's estimates, ascending */
async function readEstimateYears(parts: AnswerParts): Promise<number[]> {
  if (parts.view.components.demography === null) return []
  const rows = await run(
    sql`SELECT DISTINCT reference_year FROM ${table('population')} WHERE population_type = 'ESTIMATED_POPULATION' ORDER BY reference_year`,
    parts,
  )
  return rows.map(({ reference_year }) => Number(reference_year))
}

/** @returns the statement of a query: each dataset is read from the smallest relation that has all it needs */
export const printQuery = ({ plan }: PreparedQuery, view: ReleaseView): Sql =>
  printAggregate(choosePreAggregates(plan, view))

/** @param answerRows rows of the answer over all pages, where more may be answered than is read */
export const optionsOf = (
  { signal, view }: Pick<AnswerParts, 'signal' | 'view'>,
  statement: Sql,
  answerRows = 0,
): RunOptions => ({
  weight: weightOf(statement, view, answerRows),
  ...(signal === undefined ? {} : { signal }),
})

/** Runs one statement of a query. */
export const run = (statement: Sql, parts: AnswerParts): Promise<Row[]> =>
  parts.engine.run(statement, parts.view, optionsOf(parts, statement))

/** What is true of all rows of an answer, whatever the page. */
export interface AnswerSummary {
  readonly total: number
  /** Rows of a table of the answer: those of the totals, too. */
  readonly tableRows: number
  readonly rowsSha256: string
  readonly fingerprint: string
  readonly citation: Citation
  readonly notes: readonly Note[]
}

/** @param row any row of the statement's result: each carries the totals */
export function summarise(row: Row | undefined, prepared: PreparedQuery, view: ReleaseView): AnswerSummary {
  const { plan, normalised } = prepared
  const total = Number(row?.total_rows ?? 0)
  const rowsSha256 = String(row?.rows_sha256 ?? '')
  const missing = plan.metrics.flatMap(({ code: metric, denominator }, index): Note[] => {
    const rows = Number(row?.[`missing_${index}`] ?? 0)
    const reason = denominator === null ? 'no_population' : 'no_denominator'
    return rows > 0 ? [{ code: 'null_rows', metric, rows, total_rows: total, reason }] : []
  })
  const fingerprint = fingerprintOf(view.id, normalised, rowsSha256)
  return {
    total,
    tableRows: Number(row?.table_rows ?? 0),
    rowsSha256,
    fingerprint,
    citation: citationOf(plan, view, fingerprint),
    notes: [...plan.notes, ...missing, ...basisNotes(plan, view), ...negativeBedNotes(plan, view)],
  }
}

/** An answer whose rows are still those of the statement: what a table of any format is made of. */
export interface PageAnswer {
  readonly prepared: PreparedQuery
  readonly summary: AnswerSummary
  readonly rows: readonly Row[]
  /** Rows of each level of totals, in the order of the plan. */
  readonly totals: readonly (readonly Row[])[]
}

/** @throws AppError as parseQuery and planAggregate; 'query_timeout', 'too_many_rows' */
export async function answerPage(body: unknown, parts: AnswerParts): Promise<PageAnswer> {
  const prepared = await prepareQuery(parseQuery(body), parts)
  const statement = printQuery(prepared, parts.view)
  const rows = await parts.engine.run(statement, parts.view, {
    ...optionsOf(parts, statement, estimateAnswer(prepared.plan, parts.view)),
    once: summaryColumns(prepared.plan),
  })
  const summary = summarise(rows[0], prepared, parts.view)
  const totalRows = summary.tableRows - summary.total
  if (totalRows > TOTALS_ROWS_MAX)
    throw new AppError('too_many_rows', {
      detail: both(
        `Os totais têm ${totalRows} linhas; ao lado de uma página cabem ${TOTALS_ROWS_MAX}. Uma exportação comporta mais.`,
        `The totals have ${totalRows} rows; ${TOTALS_ROWS_MAX} are allowed beside a page. An export holds more.`,
      ),
      extra: { rows: totalRows, allowed: TOTALS_ROWS_MAX },
    })
  const shown = rows.filter((row) => row.in_page !== null)
  const { totals } = prepared.plan
  return {
    prepared,
    summary,
    rows: totals.length === 0 ? shown : shown.filter(({ level }) => level === 0),
    totals: totals.map((_, index) => shown.filter(({ level }) => level === index + 1)),
  }
}

/** @throws AppError as answerPage */
export async function answerQuery(body: unknown, parts: AnswerParts): Promise<PagedAnswer> {
  const { prepared, summary, rows, totals } = await answerPage(body, parts)
  const { query, plan, normalised } = prepared
  return {
    data: rows.map((row) => describeRow(row, plan, parts.language)),
    ...(totals.length === 0 ? {} : { totals: describeTotals(totals, plan, parts.language) }),
    pagination: describePage(query, rows.length, summary.total),
    meta: {
      reference_period: plan.referencePeriod,
      catalog_version: CATALOG_VERSION,
      components: componentsOf(parts.view),
      query: normalised,
      rows_sha256: summary.rowsSha256,
      fingerprint: summary.fingerprint,
      citation: { ...summary.citation },
      notes: writeNotes(summary.notes, parts.language),
    },
  }
}

/** Ids of the releases an analytics release joins. */
export const componentsOf = (view: ReleaseView): Record<string, string | null> => ({
  cnes: componentId(view, 'cnes'),
  demography: componentId(view, 'demography'),
  // Of releases that join no admissions or production nothing is said of them.
  ...(view.components.sih === null ? {} : { sih: componentId(view, 'sih') }),
  ...(view.components.sia === null ? {} : { sia: componentId(view, 'sia') }),
  ...(view.components.financing === null ? {} : { financing: componentId(view, 'financing') }),
})

function normaliseQuery(query: AnalyticsQuery): NormalisedQuery {
  const { metrics, group_by, order_by, over_period, limit, offset } = query
  const filters = query.filters.map(({ dimension, operator, values }) => ({
    dimension,
    operator,
    value: takesList(operator)
      ? values.map((value) => showValue(dimension, value))
      : showValue(dimension, values[0] ?? ''),
  }))
  const orders = order_by.map(({ field, direction }) => ({ field, direction }))
  return {
    metrics,
    group_by,
    filters,
    order_by: orders,
    over_period,
    limit,
    offset,
    ...normaliseOptions(query),
  }
}

/** @returns the levels of totals as JSON answers have them */
const describeTotals = (
  totals: readonly (readonly Row[])[],
  plan: AggregatePlan,
  language: 'pt' | 'en',
): JsonValue[] =>
  plan.totals.map((total, index) => ({
    group_by: total.query.group_by,
    data: (totals[index] ?? []).map((row) => describeRow(row, total, language)),
  }))

const showValue = (dimension: DimensionCode, value: string | number): string | number =>
  dimension === 'reference_period' ? `${String(value).slice(0, 4)}-${String(value).slice(4)}` : value

/** Six-digit municipality codes become seven through the release's list, never by computing the digit. */
export async function widenMunicipalities(
  filters: readonly QueryFilter[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<readonly QueryFilter[]> {
  const short = filters.flatMap(({ dimension, values }) =>
    isMunicipality(dimension) ? values.map(Number).filter((value) => value < 1_000_000) : [],
  )
  if (short.length === 0) return filters
  const rows = await engine.run(
    sql`SELECT ibge_code FROM ${table('municipalities')} WHERE ibge_code // 10 IN (SELECT unnest(${short}))`,
    view,
    options,
  )
  const codes = rows.map(({ ibge_code }) => Number(ibge_code))
  const widened = new Map(codes.map((code) => [Math.floor(code / 10), code]))
  return normaliseFilters(
    filters.map((filter) =>
      isMunicipality(filter.dimension)
        ? { ...filter, values: filter.values.map((value) => widened.get(Number(value)) ?? Number(value)) }
        : filter,
    ),
  )
}

/** @returns a row as JSON answers have it */
export function describeRow(row: Row, plan: AggregatePlan, language: 'pt' | 'en'): JsonValue {
  const dimensions: Record<string, JsonValue> = {}
  const labels: string[] = []
  plan.query.group_by.forEach((code, index) => {
    const member = describeMember(code, row, index, language)
    dimensions[code] = member
    labels.push(String(member.name ?? member.code ?? 'Não informado'))
  })
  const metrics: Record<string, JsonValue> = {}
  for (const { code, column } of shownValues(plan)) {
    const value = row[column] ?? null
    metrics[code] = value === null ? null : Number(value)
  }
  const label = labels.length === 0 ? TOTAL_LABEL : labels.join(' · ')
  return { label, ...(plan.query.rank ? { rank: row.rank ?? null } : {}), dimensions, metrics }
}

/** @returns code and name of the member a row has of a grouped dimension */
export function describeMember(
  code: DimensionCode,
  row: Row,
  index: number,
  language: 'pt' | 'en',
): { readonly [name: string]: JsonValue } {
  const value = row[dimensionOf(code).column] ?? null
  const name = row[`name_${index}`] ?? null
  // Of a member that the release's list does not have, no more is said than its code.
  if (code === 'municipality') return { code: value, name, uf: name === null ? null : stateOfCode(value) }
  if (code === 'state')
    return { code: value, name, ibge_code: name === null ? null : (IBGE_CODES.get(String(value)) ?? null) }
  if (code === 'reference_period') return { code: value, name: value }
  const label = value === null ? undefined : dimensionOf(code).labels?.[String(value)]?.[language]
  const shown =
    label ?? name ?? (value === null ? (language === 'en' ? 'Not informed' : 'Não informado') : null)
  // Names of macro-regions repeat between states; codes begin with their state's.
  if (dimensionOf(code).derivedFrom === 'municipality')
    return { code: value, name: shown, uf: stateOfCode(value) }
  return { code: value, name: shown }
}

const IBGE_CODES = new Map(STATES.map(({ uf, ibge_code }) => [uf, ibge_code]))
const ABBREVIATIONS = new Map(STATES.map(({ uf, ibge_code }) => [String(ibge_code), uf]))
/** @returns abbreviation of the state that a code of a municipality or a health region begins with */
const stateOfCode = (code: JsonValue): string | null => ABBREVIATIONS.get(String(code).slice(0, 2)) ?? null

/** Quantities for SUS are published from a month on, and taken from a flag before: mixing both over time is said. */
function basisNotes(plan: AggregatePlan, view: ReleaseView): Note[] {
  const usesSus = plan.datasets.some(
    ({ dataset, measures }) =>
      dataset === 'equipment_inventory' && measures.some(({ field }) => field === 'quantity_sus'),
  )
  const periods = allPeriods(
    plan.datasets.filter(({ dataset }) => dataset === 'equipment_inventory').map((own) => own.periods),
  )
  const families = new Set(periods.map((period) => coverageOf(view, 'equipment_inventory', period)?.family))
  const isOfBoth = periods.some((period) => period < 202601) && periods.some((period) => period >= 202601)
  return usesSus && (isOfBoth || families.size > 1) ? [{ code: 'mixed_sus_quantities' }] : []
}

/** Says of how many records the beds outside SUS are negative, as the publisher registers them: of the release, whatever the filters. */
function negativeBedNotes({ datasets }: AggregatePlan, view: ReleaseView): Note[] {
  const beds = datasets.filter(
    ({ dataset, measures }) =>
      dataset === 'bed_capacity' && measures.some(({ field }) => field === 'beds_non_sus'),
  )
  const counts = view.components.cnes?.counts ?? {}
  return allPeriods(beds.map(({ periods }) => periods)).flatMap((period): Note[] => {
    // Releases made before the count of open facilities have that of all.
    const records =
      counts[`beds_non_sus_negative_${period}`] ?? counts[`beds_sus_above_existing_${period}`] ?? 0
    return records === 0 ? [] : [{ code: 'negative_beds', period: formatPeriod(period), records }]
  })
}
