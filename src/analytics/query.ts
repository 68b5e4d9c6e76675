/**
 * Answers an analytics query: parses it, plans it, prints a statement, runs it and shapes the rows.
 *
 * In: the request's body, a release and the key's capabilities. Out: data, pagination and meta as in contract 7. The
 * statement computes the digest of all rows, because the fingerprint covers more than the page.
 */
import type { AnalyticsRow, AnswerLimits } from '../answers/analytics.ts'
import type { AnalyticsMeta, Citation, RowPagination } from '../answers/meta.ts'
import type { Engine, JsonValue, Row, RunOptions } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { AREA_NAMES, areaOf } from '../model/areas.ts'
import type { Capability } from '../model/capabilities.ts'
import { type DimensionCode, isPopulation } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import type { NullReason } from '../model/note-lists/null-reasons.ts'
import { writeNotes } from '../model/note-sentences.ts'
import type { Note } from '../model/notes.ts'
import { isTime, showPeriod } from '../model/periods.ts'
import { citationOf } from '../query/analytics/citation.ts'
import type { MetricPlan } from '../query/analytics/datasets/metric-plan.ts'
import { printAggregate, summaryColumns } from '../query/analytics/dialect/duckdb/statement.ts'
import { estimateAnswer, weightOf } from '../query/analytics/estimate.ts'
import { normaliseFilters, type QueryFilter, takesList } from '../query/analytics/filters.ts'
import { fingerprintOf, type NormalisedQuery } from '../query/analytics/fingerprint.ts'
import { normaliseMetrics } from '../query/analytics/options/defined-metrics.ts'
import { filtersOfGroupings, nameOfGroup } from '../query/analytics/options/groupings.ts'
import { normaliseOptions } from '../query/analytics/options/options.ts'
import { allPeriods } from '../query/analytics/periods.ts'
import type { AggregatePlan } from '../query/analytics/plan.ts'
import { choosePreAggregates } from '../query/analytics/pre-aggregates.ts'
import { namesOfGroups, planQuery, TOTALS_ROWS_MAX } from '../query/analytics/query-plan.ts'
import { type AnalyticsQuery, parseQuery } from '../query/analytics/request.ts'
import { componentId, coverageOf, formatPeriod, type ReleaseView } from '../release/view.ts'
import { nextSlice } from '../slices.ts'
import { type Sql, sql, table } from '../sql.ts'
import { describeRow } from './described-rows.ts'
import { statesOfFilters } from './facility-states.ts'
import { resolveCodes } from './member-codes.ts'
import { readCensusPopulation } from './peers.ts'
import { describePrices, readPriceIndex } from './prices.ts'
import { noteUnlistedCodes } from './unlisted-codes.ts'

export { readPin } from '../query/analytics/request.ts'

export interface AnswerParts {
  readonly engine: Engine
  readonly view: ReleaseView
  readonly capabilities: readonly Capability[]
  readonly language: 'pt' | 'en'
  readonly signal?: AbortSignal
}

export interface PagedAnswer<Item extends JsonValue, Meta> {
  readonly data: readonly Item[]
  readonly totals?: readonly { readonly group_by: readonly string[]; readonly data: readonly Item[] }[]
  readonly pagination: RowPagination
  readonly meta: Meta
}

export const describePage = (
  { limit, offset }: { readonly limit: number; readonly offset: number },
  shown: number,
  total: number,
): RowPagination => ({ limit, offset, total_rows: total, has_more: offset + shown < total })

export interface PreparedQuery {
  readonly query: AnalyticsQuery
  readonly plan: AggregatePlan
  readonly normalised: NormalisedQuery
}

/** @throws AppError as planAggregate does */
export async function prepareQuery(parsed: AnalyticsQuery, parts: AnswerParts): Promise<PreparedQuery> {
  const { engine, view, signal } = parts
  const options = signal === undefined ? {} : { signal }
  const query = await resolveCodes(parsed, parts)
  // Members of no group that are left out count in no level, as if a filter named the members.
  const groupingFilters = filtersOfGroupings(query.groupings)
  const filters =
    groupingFilters.length === 0 ? query.filters : normaliseFilters([...query.filters, ...groupingFilters])
  const estimateYears = query.population_basis === 'estimate_of_period' ? await readEstimateYears(parts) : []
  const facilityStates = await statesOfFilters(filters, engine, view, options)
  const priceIndex = await readPriceIndex(query, parts)
  const censusPopulation = await readCensusPopulation(query, parts)
  const plan = planQuery({ ...query, filters }, view, parts.capabilities, {
    estimateYears,
    facilityStates,
    priceIndex,
    censusPopulation,
  })
  const notes = [...plan.notes, ...(await noteUnlistedCodes(query, parts))]
  return { query, plan: { ...plan, notes }, normalised: normaliseQuery(query) }
}

async function readEstimateYears(parts: AnswerParts): Promise<number[]> {
  if (parts.view.components.demography === null) return []
  const rows = await run(
    sql`SELECT DISTINCT reference_year FROM ${table('population')} WHERE population_type = 'ESTIMATED_POPULATION' ORDER BY reference_year`,
    parts,
  )
  return rows.map(({ reference_year }) => Number(reference_year))
}

/** @returns the query's statement, which reads each dataset from the smallest sufficient relation */
export const printQuery = ({ plan }: Pick<PreparedQuery, 'plan'>, view: ReleaseView): Sql =>
  printAggregate(choosePreAggregates(plan, view))

/** @param answerRows rows of the answer over all pages; relevant when they may outnumber the rows read */
export const optionsOf = (
  { signal, view }: Pick<AnswerParts, 'signal' | 'view'>,
  statement: Sql,
  answerRows = 0,
): RunOptions => ({
  weight: weightOf(statement, view, answerRows),
  ...(signal === undefined ? {} : { signal }),
})

export const run = (statement: Sql, parts: AnswerParts): Promise<Row[]> =>
  parts.engine.run(statement, parts.view, optionsOf(parts, statement))

/** Facts about the complete answer, which do not depend on the page. */
export interface AnswerSummary {
  readonly total: number
  /** Rows of the answer as a table, including totals. */
  readonly tableRows: number
  readonly rowsSha256: string
  readonly fingerprint: string
  readonly citation: Citation
  readonly notes: readonly Note[]
}

/** @param row any row of the result: each repeats the totals */
export function summarise(row: Row | undefined, prepared: PreparedQuery, view: ReleaseView): AnswerSummary {
  const { plan, normalised } = prepared
  const total = Number(row?.total_rows ?? 0)
  const rowsSha256 = String(row?.rows_sha256 ?? '')
  const reasonOf = ({ sides, numerator, denominator, lifeTable }: MetricPlan): NullReason => {
    if (lifeTable !== null) return 'no_life_table'
    const dataset = plan.datasets[numerator.plan]?.dataset
    if (sides === null && dataset !== undefined && isPopulation(dataset)) return 'no_population'
    return denominator === null ? 'not_published' : 'no_denominator'
  }
  const missing = plan.metrics.flatMap((planned, index): Note[] => {
    const rows = Number(row?.[`missing_${index}`] ?? 0)
    const [metric, reason] = [planned.code, reasonOf(planned)]
    return rows > 0 ? [{ code: 'null_rows', metric, rows, total_rows: total, reason }] : []
  })
  const fingerprint = fingerprintOf(view.id, normalised, rowsSha256)
  return {
    total,
    tableRows: Number(row?.table_rows ?? 0),
    rowsSha256,
    fingerprint,
    citation: citationOf(plan, view, fingerprint),
    notes: [...plan.notes, ...missing, ...noteSusSources(plan, view), ...noteNegativeBeds(plan, view)],
  }
}

export interface PageAnswer<Slice> {
  readonly prepared: PreparedQuery
  readonly summary: AnswerSummary
  readonly rows: readonly Slice[]
  /** Rows of each level of totals, in the plan's order, in slices. */
  readonly totals: readonly (readonly Slice[])[]
  /** Number of rows of the page; `all` includes the totals. */
  readonly shown: number
  readonly all: number
}

/** Rows handled before other work gets a turn; a slice takes a few milliseconds. */
const SLICE_ROWS = 500

/**
 * Reads rows while the statement holds its turn, so the number of running statements limits concurrent long answers.
 * @param read turns a slice of rows into output; should take a few milliseconds
 * @param decimals form of values with decimals in the rows
 * @throws AppError as parseQuery and planAggregate do; 'query_timeout', 'too_many_rows'
 */
export async function answerPage<Slice>(
  body: unknown,
  parts: AnswerParts,
  read: (rows: readonly Row[], plan: AggregatePlan) => Slice,
  decimals: RunOptions['decimals'] = 'texts',
): Promise<PageAnswer<Slice>> {
  const prepared = await prepareQuery(parseQuery(body), parts)
  const { plan } = prepared
  const statement = printQuery(prepared, parts.view)
  const batches = parts.engine.runInBatches(statement, parts.view, {
    ...optionsOf(parts, statement, estimateAnswer(plan, parts.view)),
    once: summaryColumns(plan),
    decimals,
  })
  const levels = [plan, ...plan.totals].map((level) => ({ plan: level, parts: [] as Slice[], count: 0 }))
  let summary: AnswerSummary | null = null
  for await (const batch of batches) {
    summary ??= checkTotals(summarise(batch[0], prepared, parts.view))
    for (let from = 0; from < batch.length; from += SLICE_ROWS) {
      if (from > 0) await nextSlice()
      const rows = batch.slice(from, from + SLICE_ROWS).filter((row) => row.in_page !== null)
      levels.forEach((level, index) => {
        const levelRows = levels.length === 1 ? rows : rows.filter((row) => row.level === index)
        if (levelRows.length === 0) return
        level.parts.push(read(levelRows, level.plan))
        level.count += levelRows.length
      })
    }
  }
  const [page, ...totals] = levels
  return {
    prepared,
    summary: summary ?? summarise(undefined, prepared, parts.view),
    rows: page?.parts ?? [],
    totals: totals.map((level) => level.parts),
    shown: page?.count ?? 0,
    all: levels.reduce((sum, { count }) => sum + count, 0),
  }
}

function checkTotals(summary: AnswerSummary): AnswerSummary {
  const totalRows = summary.tableRows - summary.total
  if (totalRows > TOTALS_ROWS_MAX)
    throw new AppError('too_many_rows', {
      detail: both(
        `Os totais têm ${totalRows} linhas; ao lado de uma página cabem ${TOTALS_ROWS_MAX}. Uma exportação comporta mais.`,
        `The totals have ${totalRows} rows; ${TOTALS_ROWS_MAX} are allowed beside a page. An export holds more.`,
      ),
      extra: { rows: totalRows, allowed: TOTALS_ROWS_MAX },
    })
  return summary
}

/** Members of an answer beside its rows. */
type PageFacts = Pick<PagedAnswer<AnalyticsRow, AnalyticsMeta>, 'pagination' | 'meta'>

const describeAnswer = (
  { prepared, summary, shown }: Omit<PageAnswer<unknown>, 'rows' | 'totals'>,
  { view, language }: AnswerParts,
): PageFacts => ({
  pagination: describePage(prepared.query, shown, summary.total),
  meta: {
    reference_period: prepared.plan.referencePeriod,
    catalog_version: CATALOG_VERSION,
    components: componentsOf(view),
    query: prepared.normalised,
    ...describeLimits(prepared.plan),
    ...describePrices(prepared.plan),
    rows_sha256: summary.rowsSha256,
    fingerprint: summary.fingerprint,
    citation: { ...summary.citation },
    notes: writeNotes(summary.notes, language),
  },
})

/** Says which method gave each metric's limits; metrics without one say why. */
const describeLimits = ({ query, metrics }: AggregatePlan): { readonly limits?: AnswerLimits } =>
  query.limits === null
    ? {}
    : {
        limits: {
          level: query.limits,
          methods: Object.fromEntries(metrics.map(({ code, limits }) => [code, limits.method])),
        },
      }

/** @throws AppError as answerPage does */
export async function answerQuery(
  body: unknown,
  parts: AnswerParts,
): Promise<PagedAnswer<AnalyticsRow, AnalyticsMeta>> {
  const answer = await answerPage(body, parts, (rows, plan) =>
    rows.map((row) => describeRow(row, plan, parts.language)),
  )
  const { totals } = answer.prepared.plan
  return {
    data: answer.rows.flat(),
    ...(totals.length === 0
      ? {}
      : {
          totals: totals.map((total, index) => ({
            group_by: namesOfGroups(total),
            data: (answer.totals[index] ?? []).flat(),
          })),
        }),
    ...describeAnswer(answer, parts),
  }
}

/** Answers like answerQuery, but writes rows as JSON in slices and keeps no row values in memory. */
export async function writeQuery(
  body: unknown,
  parts: AnswerParts,
): Promise<PageFacts & { readonly json: Buffer[]; readonly rows: number }> {
  const answer = await answerPage(
    body,
    parts,
    (rows, plan) =>
      Buffer.from(JSON.stringify(rows.map((row) => describeRow(row, plan, parts.language))).slice(1, -1)),
    'numbers',
  )
  const json: Buffer[] = []
  const write = (text: string): void => void json.push(Buffer.from(text))
  const writeList = (rows: readonly Buffer[]): void => {
    write('[')
    rows.forEach((slice, index) => {
      if (index > 0) write(',')
      json.push(slice)
    })
    write(']')
  }
  writeList(answer.rows)
  const { totals } = answer.prepared.plan
  if (totals.length > 0) {
    totals.forEach((total, index) => {
      write(`${index === 0 ? ',"totals":[' : ','}{"group_by":${JSON.stringify(namesOfGroups(total))},"data":`)
      writeList(answer.totals[index] ?? [])
      write('}')
    })
    write(']')
  }
  return { json, rows: answer.all, ...describeAnswer(answer, parts) }
}

/** @returns release ids by area, without optional areas that the release does not join */
export const componentsOf = (view: ReleaseView): Record<string, string | null> =>
  Object.fromEntries(
    AREA_NAMES.filter((area) => areaOf(area).isRequired || view.components[area] !== null).map((area) => [
      area,
      componentId(view, area),
    ]),
  )

function normaliseQuery(query: AnalyticsQuery): NormalisedQuery {
  const { group_by, order_by, over_period, limit, offset } = query
  const showFilters = (filters: readonly QueryFilter[]) =>
    filters.map(({ dimension, operator, values }) => ({
      dimension,
      operator,
      value: takesList(operator)
        ? values.map((value) => showValue(dimension, value))
        : showValue(dimension, values[0] ?? ''),
    }))
  const orderTerms = order_by.map(({ field, direction }) => ({
    field: nameOfGroup(field, query),
    direction,
  }))
  return {
    metrics: normaliseMetrics(query, showFilters),
    group_by: group_by.map((code) => nameOfGroup(code, query)),
    filters: showFilters(query.filters),
    order_by: orderTerms,
    over_period,
    limit,
    offset,
    ...normaliseOptions(query),
  }
}

const showValue = (dimension: DimensionCode, value: string | number): string | number =>
  isTime(dimension) ? showPeriod(dimension, Number(value)) : value

/** Warns when months mix two sources of SUS quantities: published quantities since 2026-01, a flag before. */
function noteSusSources(plan: AggregatePlan, view: ReleaseView): Note[] {
  const usesSus = plan.datasets.some(
    ({ dataset, measures }) =>
      dataset === 'equipment_inventory' && measures.some(({ field }) => field === 'quantity_sus'),
  )
  const periods = allPeriods(
    plan.datasets
      .filter(({ dataset }) => dataset === 'equipment_inventory')
      .map((dataset) => dataset.periods),
  )
  const families = new Set(periods.map((period) => coverageOf(view, 'equipment_inventory', period)?.family))
  const spansBothSources =
    periods.some((period) => period < 202601) && periods.some((period) => period >= 202601)
  return usesSus && (spansBothSources || families.size > 1) ? [{ code: 'mixed_sus_quantities' }] : []
}

/** Warns about records with negative beds outside SUS, as published. Counts cover the release, whatever the filters. */
function noteNegativeBeds({ datasets }: AggregatePlan, view: ReleaseView): Note[] {
  const beds = datasets.filter(
    ({ dataset, measures }) =>
      dataset === 'bed_capacity' && measures.some(({ field }) => field === 'beds_non_sus'),
  )
  const counts = view.components.cnes?.counts ?? {}
  return allPeriods(beds.map(({ periods }) => periods)).flatMap((period): Note[] => {
    // Older releases only have the count of all facilities.
    const records =
      counts[`beds_non_sus_negative_${period}`] ?? counts[`beds_sus_above_existing_${period}`] ?? 0
    return records === 0 ? [] : [{ code: 'negative_beds', period: formatPeriod(period), records }]
  })
}
