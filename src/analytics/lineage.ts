/**
 * The records behind one cell of an answer, with what each contributes and where it was published.
 *
 * In: a query, the key of one of its groups, a metric and, of a ratio, a side. Out: a page of records; their contributions
 * over all pages add up to the side of the cell, exactly. No new arithmetic: the plan is the query's own.
 */
import { z } from 'zod'
import type { JsonValue, Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { FACT_LINEAGE, type FactName } from '../model/cnes/lineage.ts'
import {
  DIMENSION_CODES,
  type DimensionCode,
  hasUnknowns,
  isAddedUp,
  isPopulation,
} from '../model/dimensions.ts'
import { CATALOG_VERSION, type Measure } from '../model/metrics.ts'
import { writeNotes } from '../model/note-sentences.ts'
import { COLUMN_OF_MEASURE as OUTPATIENT_COLUMNS } from '../model/sia/layout.ts'
import { COLUMN_OF_MEASURE as ADMISSION_COLUMNS } from '../model/sih/layout.ts'
import { hasRows } from '../query/analytics/dialect/duckdb/facts.ts'
import { decimalsOf } from '../query/analytics/dialect/duckdb/groups.ts'
import { shownValues } from '../query/analytics/dialect/duckdb/measured.ts'
import type { GroupKey } from '../query/analytics/dialect/duckdb/page.ts'
import { printContributions, printSources, recordKeyOf } from '../query/analytics/dialect/duckdb/records.ts'
import { printAggregate } from '../query/analytics/dialect/duckdb/statement.ts'
import {
  type AggregatePlan,
  type DatasetPlan,
  isKnownEverywhere,
  type MeasurePlace,
  type MetricPlan,
} from '../query/analytics/plan.ts'
import { aloneOf, type BasePlan } from '../query/analytics/query-plan.ts'
import { bodySchema, parseBody, resolveQuery, resolveValue } from '../query/analytics/request.ts'
import { type ProvenanceSource, sourceOf } from '../query/provenance/provenance.ts'
import { publishedRowsOf } from '../query/provenance/published-rows.ts'
import { refuse } from '../query/refusals.ts'
import { componentAs } from '../query/text-schemas.ts'
import { coverageOf, type ReleaseView } from '../release/view.ts'
import { type AnswerParts, componentsOf, describePage, type PagedAnswer, prepareQuery, run } from './query.ts'

/** Published column of what is transferred. */
const PUBLISHED_AMOUNTS: Readonly<Record<string, string>> = { transferred_cents: 'VL_BRUTO' }

const SIDES = ['numerator', 'less', 'denominator'] as const
export type Side = (typeof SIDES)[number]

/** Body of a lineage request: a query, the group's key, and which side of which metric. */
export const lineageSchema = componentAs(
  bodySchema.omit({ order_by: true, rank: true }).extend({
    key: z
      .record(z.string().max(100), z.union([z.string().max(100), z.number().int(), z.null()]))
      .default({})
      .describe(
        'Code of the member of each grouped dimension, as the answer shows it; of a total, of those of its level.',
      ),
    metric: z
      .string()
      .max(100)
      .optional()
      .describe('Which metric of the query, or its base (<metric>__base); its only one by default.'),
    side: componentAs(z.enum(SIDES), 'MetricSide').default('numerator').describe('Which side of a ratio.'),
    rows: z
      .boolean()
      .default(false)
      .describe(
        'Of records that were added up from many published rows: how many rows each is of, and how to find them in the file.',
      ),
    limit: z.number().int().min(1).max(1000).default(100),
  }),
  'AnalyticsLineageRequest',
)

/** @throws AppError as the query; 'invalid_request' for a key that is not one of its groups; 'not_found' */
export async function answerLineage(body: unknown, parts: AnswerParts): Promise<PagedAnswer> {
  const { key, metric, side, rows: withRows, ...rest } = parseBody(lineageSchema, body)
  const query = resolveQuery({ ...rest, order_by: [], rank: false })
  const prepared = await prepareQuery({ ...query, limit: 1, offset: 0 }, parts)
  const level = chooseLevel(prepared.plan, key)
  const { base } = level
  const [code, part] = readCode(metric)
  const isBase = part === 'base' && base !== null
  // The base of a value is the value of the same group in the month it is compared with.
  const plan = aloneOf(isBase ? base.plan : level)
  const chosen = chooseMetric(plan, part === null || isBase ? code : metric)
  const shown = resolveKey(plan, key)
  const group = isBase ? baseKey(base, shown) : shown
  const cell = await readCell(level, isBase ? `${chosen.code}__base` : chosen.code, shown, parts)
  const place = sideOf(chosen, side, group)
  if (place === null)
    throw refuse(
      'invalid_request',
      '/side',
      both(`não é um lado de ${chosen.code}`, `is no side of ${chosen.code}`),
      SIDES.filter((name) => chosen[name] !== null),
    )
  const dataset = plan.datasets[place.plan]
  const measure = dataset?.measures[place.measure]
  if (dataset === undefined || measure === undefined)
    throw new TypeError('the plan lacks a measure of its own')
  const own = narrowPeriods(dataset, group)
  // No records are behind a cell that is null because something was not collected.
  const isKnown = !cell.isUnknown || isPopulation(dataset.dataset)
  const rows = hasRows(own) && isKnown ? await run(printContributions(own, measure, group, rest), parts) : []
  // A sum is not known where one of its records has no amount: then none is behind it.
  const isSum = rows[0]?.total !== null
  const records = isSum ? rows.filter((row) => row.position !== null && row.position !== undefined) : []
  const sources = isAddedUp(own.dataset)
    ? records.map(({ source_file = null }) => [{ source_file }])
    : await readSources(own, records, parts)
  const total = isSum ? Number(rows[0]?.total_rows ?? 0) : 0
  // Cents are shown in reais, as in the cell.
  const unit = side === 'denominator' ? 1 : chosen.unit
  return {
    data: records.map((row, index) =>
      describeRecord(
        own,
        measure,
        { ...row, contribution: Number(row.contribution ?? 0) / unit },
        sources[index] ?? [],
        parts.view,
        withRows,
      ),
    ),
    pagination: describePage(rest, records.length, total),
    meta: {
      reference_period: plan.referencePeriod,
      catalog_version: CATALOG_VERSION,
      components: componentsOf(parts.view),
      metric: isBase ? `${chosen.code}__base` : chosen.code,
      side,
      key: group as Readonly<Record<string, JsonValue>>,
      value: cell.value,
      total: isKnown && isSum ? Number(rows[0]?.total ?? 0) / unit : null,
      scale: chosen.scale,
      decimals: decimalsOf(chosen, plan),
      months: own.over === 'avg' ? own.periods.length : 1,
      notes: writeNotes(plan.notes, parts.language),
    },
  }
}

/** The level whose cell it is: that of the rows, or the level of totals that the key's dimensions are. */
function chooseLevel(plan: AggregatePlan, key: Readonly<Record<string, unknown>>): AggregatePlan {
  const isOf = ({ query: { group_by } }: AggregatePlan): boolean =>
    group_by.length === Object.keys(key).length && group_by.every((code) => Object.hasOwn(key, code))
  return isOf(plan) ? plan : (plan.totals.find(isOf) ?? plan)
}

/** beds__base → beds and base */
function readCode(name: string | undefined): readonly [string | undefined, string | null] {
  const [code, part = null] = name?.split('__') ?? []
  return [code, part]
}

/** The key of the same group in the month that is compared with. */
function baseKey({ months }: BasePlan, key: GroupKey): GroupKey {
  const month = months.find(({ period }) => period === key.reference_period)
  return month === undefined ? key : { ...key, reference_period: month.base }
}

/** Where a side of a cell is measured: a denominator may be that of the month's own year. */
function sideOf(metric: MetricPlan, side: Side, key: GroupKey): MeasurePlace | null {
  if (side !== 'denominator' || metric.denominators === null) return metric[side]
  return metric.denominators.find(({ period }) => period === key.reference_period)?.place ?? null
}

function chooseMetric(plan: AggregatePlan, code: string | undefined): MetricPlan {
  const [only, ...others] = plan.metrics
  const found =
    code === undefined && others.length === 0 ? only : plan.metrics.find((metric) => metric.code === code)
  if (found !== undefined) return found
  throw refuse(
    'invalid_request',
    '/metric',
    code === undefined
      ? both('deve dizer qual métrica da consulta', 'must say which metric of the query')
      : both('não é uma métrica da consulta', 'is not a metric of the query'),
    plan.metrics.map((metric) => metric.code),
  )
}

/** Codes as the answer shows them → codes as the datasets hold them; all grouped dimensions and no others. */
function resolveKey(plan: AggregatePlan, key: Readonly<Record<string, string | number | null>>): GroupKey {
  const groups = plan.query.group_by
  const strange = Object.keys(key).find((name) => !groups.some((code) => code === name))
  const lacking = groups.find((code) => !Object.hasOwn(key, code))
  if (strange !== undefined || lacking !== undefined)
    throw refuse(
      'invalid_request',
      `/key/${strange ?? lacking ?? ''}`,
      strange === undefined
        ? both('deve dizer um membro', 'must name a member')
        : both('não é uma dimensão agrupada da consulta', 'is not a grouped dimension of the query'),
      DIMENSION_CODES.filter((code) => groups.includes(code)),
    )
  return Object.fromEntries(
    groups.map((code): [DimensionCode, string | number | null] => {
      const value = key[code] ?? null
      return [code, value === null ? null : resolveValue(code, value, `/key/${code}`)]
    }),
  )
}

/** The month of a group is the partition that is read. */
function narrowPeriods(plan: DatasetPlan, key: GroupKey): DatasetPlan {
  const month = key.reference_period
  if (month === undefined || isPopulation(plan.dataset)) return plan
  return {
    ...plan,
    keys: plan.keys.filter((code) => code !== 'reference_period'),
    periods: plan.periods.filter((period) => period === month),
    over: null,
  }
}

interface Cell {
  /** As the answer to the query shows it. */
  readonly value: JsonValue
  /** Something the metric needs was not collected for the group. */
  readonly isUnknown: boolean
}

/** @throws AppError 'not_found' where the query has no such group */
async function readCell(
  level: AggregatePlan,
  code: string,
  key: GroupKey,
  parts: AnswerParts,
): Promise<Cell> {
  // Conditions on values may be on shares, so the level that is 100 percent stays beside the cell's.
  const all = level.whole === null ? null : { ...aloneOf(level.whole), name: 'whole_' }
  const plan = { ...aloneOf(level), base: level.base, whole: all }
  const rows = await run(printAggregate(plan, key), parts)
  const row = rows.find(({ in_page }) => in_page !== null)
  if (row === undefined)
    throw new AppError('not_found', {
      detail: both('A consulta não tem grupo com esta chave.', 'The query has no group with this key.'),
    })
  const column = shownValues(plan).find((shown) => shown.code === code)?.column ?? ''
  const value = row[column] ?? null
  const [metric, part] = readCode(code)
  const index = plan.metrics.findIndex((own) => own.code === metric)
  const ofBase = plan.base?.plan.metrics[index]
  const isUnknown =
    part === null
      ? row[`unknown_${index}`] === true
      : value === null && (ofBase === undefined || !isKnownEverywhere(ofBase))
  return { value: value === null ? null : Number(value), isUnknown }
}

async function readSources(plan: DatasetPlan, records: readonly Row[], parts: AnswerParts): Promise<Row[][]> {
  const columns = recordKeyOf(plan)
  const keyOf = (row: Row): string => columns.map((column) => String(row[column])).join('\t')
  const found = new Map<string, Row[]>()
  const months = new Set(records.map((row) => row.reference_period ?? null))
  for (const month of months) {
    const own = records.filter((row) => (row.reference_period ?? null) === month)
    const keys = own.map((row) =>
      Object.fromEntries(columns.map((column) => [column, row[column] as string | number])),
    )
    const period = month === null ? null : Number(String(month).replace('-', ''))
    const statement = printSources(plan.dataset, period, keys)
    for (const row of await run(statement, parts)) {
      const name = `${month ?? ''}\t${keyOf(row)}`
      found.set(name, [...(found.get(name) ?? []), row])
    }
  }
  return records.map((row) => found.get(`${row.reference_period ?? ''}\t${keyOf(row)}`) ?? [])
}

function describeRecord(
  plan: DatasetPlan,
  measure: Measure,
  row: Row,
  sources: readonly Row[],
  view: ReleaseView,
  withRows: boolean,
): JsonValue {
  const { dataset } = plan
  return {
    dataset: plan.dataset,
    ...(isPopulation(plan.dataset) ? {} : { reference_period: row.reference_period ?? null }),
    key: Object.fromEntries(recordKeyOf(plan).map((column) => [column, row[column] ?? null])),
    contribution: row.contribution ?? 0,
    ...(withRows && isAddedUp(dataset) ? { published_rows: { ...publishedRowsOf(dataset, row) } } : {}),
    sources: sources.map((source) => {
      const column = publishedColumn(plan, measure, source, row, view)
      const place: ProvenanceSource | null = sourceOf(view, source, column ?? '')
      const raw =
        isPopulation(plan.dataset) || hasUnknowns(plan.dataset)
          ? source.raw_value
          : column === null
            ? null
            : source[column]
      return {
        publisher: place?.publisher ?? null,
        file: place?.file ?? null,
        archive: place?.archive ?? null,
        sha256: place?.sha256 ?? null,
        // Of records that were added up, the file is all that is known.
        row: isAddedUp(plan.dataset) ? null : (place?.row ?? null),
        column,
        raw_value: raw === null || raw === undefined ? null : String(raw),
      }
    }),
  }
}

/** The published column of what is summed; null where a record counts as such. */
function publishedColumn(
  { dataset }: DatasetPlan,
  { kind, field }: Measure,
  source: Row,
  row: Row,
  view: ReleaseView,
): string | null {
  if (isPopulation(dataset)) return source.source_column === null ? null : String(source.source_column)
  if (dataset === 'federal_health_transfers') return PUBLISHED_AMOUNTS[field ?? ''] ?? null
  if (isAddedUp(dataset)) return { ...ADMISSION_COLUMNS, ...OUTPATIENT_COLUMNS }[field ?? ''] ?? null
  if (kind !== 'sum' || dataset === 'facilities') return null
  const period = Number(String(row.reference_period).replace('-', ''))
  const family = coverageOf(view, dataset, period)?.family === 'base' ? 'base' : 'state'
  const lines = FACT_LINEAGE[dataset as FactName][family]
  const names = field === 'quantity_sus' ? ['quantity_sus_published', 'tp_sus_code'] : [field]
  return (
    names
      .map((name) => lines.find(({ attribute }) => attribute === name)?.column)
      .find((column) => column !== undefined && source[column] !== null && source[column] !== undefined) ??
    null
  )
}
