/**
 * An analytics query, end to end: parse → plan → statement → rows → answer with its fingerprint.
 *
 * In: the request's body, a release, what the key may read. Out: data, pagination, meta as contract 7. The fingerprint
 * covers every row of the query, so it is computed where the rows are, not over the page.
 */
import type { Engine, JsonValue, Row } from '../engine/types.ts'
import type { Capability } from '../model/capabilities.ts'
import { CODE_LABELS } from '../model/codelists.ts'
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { digestJson } from '../release/digest.ts'
import { componentId, type ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'
import { type AggregatePlan, planAggregate } from './aggregate.ts'
import { printAggregate } from './dialect/duckdb.ts'
import { type AnalyticsQuery, parseQuery } from './request.ts'

export { readPin } from './request.ts'

export interface AnswerParts {
  readonly engine: Engine
  readonly view: ReleaseView
  readonly capabilities: readonly Capability[]
  readonly language: 'pt' | 'en'
  readonly signal?: AbortSignal
}

export interface AnalyticsAnswer {
  readonly data: readonly JsonValue[]
  readonly pagination: JsonValue
  readonly meta: Readonly<Record<string, JsonValue>>
}

export const TOTAL_LABEL = 'Total do escopo selecionado'
/** What a fingerprint is made of; a change of it is a new format. */
const FINGERPRINT_FORMAT = 'sus-data-query-1'

/** @throws AppError as parseQuery and planAggregate; 'query_timeout' */
export async function answerQuery(body: unknown, parts: AnswerParts): Promise<AnalyticsAnswer> {
  const { engine, view, signal } = parts
  const options = signal === undefined ? {} : { signal }
  const query = await widenMunicipalities(parseQuery(body), engine, view, options)
  const plan = planAggregate(query, view, parts.capabilities)
  const rows = await engine.run(printAggregate(plan), view, options)
  const [summary] = rows
  const total = Number(summary?.total_rows ?? 0)
  const page = rows.filter((row) => row.position !== null)
  const normalised = normaliseQuery(query)
  const rowsSha256 = String(summary?.rows_sha256 ?? '')
  const missing = plan.metrics.flatMap(({ code }, index) => {
    const count = Number(summary?.[`missing_${index}`] ?? 0)
    return count > 0 ? [`${code}: null in ${count} of ${total} rows, which have no denominator.`] : []
  })
  return {
    data: page.map((row) => describeRow(row, plan, parts.language)),
    pagination: {
      limit: query.limit,
      offset: query.offset,
      total_rows: total,
      has_more: query.offset + page.length < total,
    },
    meta: {
      reference_period: plan.referencePeriod,
      catalog_version: CATALOG_VERSION,
      components: { cnes: componentId(view, 'cnes'), demography: componentId(view, 'demography') },
      query: normalised,
      rows_sha256: rowsSha256,
      fingerprint: digestJson({
        format: FINGERPRINT_FORMAT,
        release_id: view.id,
        catalog_version: CATALOG_VERSION,
        query: questionOf(normalised),
        rows_sha256: rowsSha256,
      }),
      notes: [...plan.notes, ...missing, ...basisNotes(plan, view)],
    },
  }
}

type NormalisedQuery = { readonly [name: string]: JsonValue }

function normaliseQuery(query: AnalyticsQuery): NormalisedQuery {
  return {
    metrics: query.metrics,
    group_by: query.group_by,
    filters: query.filters.map(({ dimension, operator, values }) => ({
      dimension,
      operator,
      value:
        operator === 'IN' || operator === 'NOT_IN' || operator === 'BETWEEN'
          ? values.map((value) => showValue(dimension, value))
          : showValue(dimension, values[0] ?? ''),
    })),
    order_by: query.order_by.map(({ field, direction }) => ({ field, direction })),
    over_period: query.over_period,
    limit: query.limit,
    offset: query.offset,
  }
}

const showValue = (dimension: DimensionCode, value: string | number): string | number =>
  dimension === 'reference_period' ? `${String(value).slice(0, 4)}-${String(value).slice(4)}` : value

/** Page and size are how an answer is read, not what is asked. */
function questionOf(query: NormalisedQuery): NormalisedQuery {
  const { limit: _limit, offset: _offset, ...question } = query
  return question
}

/** Six-digit municipality codes become seven through the release's list, never by computing the digit. */
async function widenMunicipalities(
  query: AnalyticsQuery,
  engine: Engine,
  view: ReleaseView,
  options: { signal?: AbortSignal },
): Promise<AnalyticsQuery> {
  const short = query.filters
    .filter(({ dimension }) => dimension === 'municipality')
    .flatMap(({ values }) => values.filter((value) => Number(value) < 1_000_000)) as number[]
  if (short.length === 0) return query
  const rows = await engine.run(
    sql`SELECT ibge_code FROM ${table('municipalities')} WHERE ibge_code // 10 IN (SELECT unnest(${short}))`,
    view,
    options,
  )
  const widened = new Map(
    rows.map(({ ibge_code }) => [Math.floor(Number(ibge_code) / 10), Number(ibge_code)]),
  )
  return {
    ...query,
    filters: query.filters.map((filter) =>
      filter.dimension === 'municipality'
        ? {
            ...filter,
            values: [
              ...new Set(filter.values.map((value) => widened.get(Number(value)) ?? Number(value))),
            ].sort((left, right) => left - right),
          }
        : filter,
    ),
  }
}

function describeRow(row: Row, plan: AggregatePlan, language: 'pt' | 'en'): JsonValue {
  const dimensions: Record<string, JsonValue> = {}
  const labels: string[] = []
  plan.query.group_by.forEach((code, index) => {
    const member = describeMember(code, row, index, language)
    dimensions[code] = member
    labels.push(String(member.name ?? member.code ?? 'Não informado'))
  })
  const metrics: Record<string, JsonValue> = {}
  plan.metrics.forEach(({ code }, index) => {
    const value = row[`value_${index}`] ?? null
    metrics[code] = value === null ? null : Number(value)
  })
  return { label: labels.length === 0 ? TOTAL_LABEL : labels.join(' · '), dimensions, metrics }
}

function describeMember(
  code: DimensionCode,
  row: Row,
  index: number,
  language: 'pt' | 'en',
): { readonly [name: string]: JsonValue } {
  const value = row[dimensionOf(code).column] ?? null
  const name = row[`name_${index}`] ?? null
  if (code === 'municipality') return { code: value, name, uf: row.municipality_uf ?? null }
  if (code === 'state') return { code: value, name, ibge_code: row.state_ibge_code ?? null }
  if (code === 'reference_period') return { code: value, name: value }
  const label = typeof value === 'string' ? CODE_LABELS[code]?.[value]?.[language] : undefined
  return {
    code: value,
    name: label ?? name ?? (value === null ? (language === 'en' ? 'Not informed' : 'Não informado') : null),
  }
}

/** Quantities for SUS are published from a month on, and taken from a flag before: mixing both over time is said. */
function basisNotes(plan: AggregatePlan, view: ReleaseView): string[] {
  const usesSus = plan.datasets.some(
    ({ dataset, measures }) =>
      dataset === 'equipment_inventory' && measures.some(({ field }) => field === 'quantity_sus'),
  )
  const families = new Set(
    plan.spinePeriods.map(
      (period) => view.components.cnes?.coverage.equipment_inventory?.[String(period)]?.family,
    ),
  )
  const isOld = plan.spinePeriods.some((period) => period < 202601)
  const isNew = plan.spinePeriods.some((period) => period >= 202601)
  return usesSus && ((isOld && isNew) || families.size > 1)
    ? [
        'equipment_sus: quantities published by the source and quantities taken from its flag are side by side (quantity_sus_basis).',
      ]
    : []
}
