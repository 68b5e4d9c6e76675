/**
 * Lists the records behind one cell of an answer, with what each contributes and where it was published.
 *
 * In: a query, the key of one group, a metric and, for a ratio, a side. Out: a page of records. Over all pages their
 * contributions add up to that side of the cell exactly. The query's own plan is used, so no arithmetic is repeated
 * here.
 */
import { z } from 'zod'
import type { LineageRecord } from '../answers/analytics.ts'
import type { LineageMeta } from '../answers/meta.ts'
import type { JsonValue, Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { FACT_LINEAGE } from '../model/cnes/lineage.ts'
import { datasetOf } from '../model/datasets.ts'
import {
  type DimensionCode,
  groupedDimension,
  hasUnknowns,
  isAddedUp,
  isPopulation,
} from '../model/dimensions.ts'
import { CATALOG_VERSION, type Measure } from '../model/metrics.ts'
import { writeNotes } from '../model/note-sentences.ts'
import { finestTime, isTime, showPeriod } from '../model/periods.ts'
import { COLUMN_OF_MEASURE as OUTPATIENT_COLUMNS } from '../model/sia/layout.ts'
import { COLUMN_OF_MEASURE as ADMISSION_COLUMNS } from '../model/sih/layout.ts'
import { COLUMN_OF_MEASURE as DEATH_COLUMNS } from '../model/sim/layout.ts'
import { checkRecords } from '../query/analytics/checks.ts'
import {
  isCollectedEverywhere,
  type MeasurePosition,
  type MetricPlan,
  unitOfSide,
} from '../query/analytics/datasets/metric-plan.ts'
import { hasRows } from '../query/analytics/dialect/duckdb/facts.ts'
import { decimalsOf } from '../query/analytics/dialect/duckdb/groups.ts'
import { shownValues } from '../query/analytics/dialect/duckdb/measured.ts'
import type { GroupKey } from '../query/analytics/dialect/duckdb/page.ts'
import { coarser } from '../query/analytics/dialect/duckdb/periods.ts'
import { printContributions, printSources, recordKeyOf } from '../query/analytics/dialect/duckdb/records.ts'
import { printAggregate } from '../query/analytics/dialect/duckdb/statement.ts'
import { resolveValue } from '../query/analytics/filters.ts'
import { type Grouping, nameOfGroup } from '../query/analytics/options/groupings.ts'
import type { AggregatePlan, DatasetPlan } from '../query/analytics/plan.ts'
import { type BasePlan, isolatePlan, namesOfGroups } from '../query/analytics/query-plan.ts'
import { bodySchema, parseBody, resolveQuery } from '../query/analytics/request.ts'
import { isCnes } from '../query/analytics/resident-relations.ts'
import { type ProvenanceSource, sourceOf } from '../query/provenance/provenance.ts'
import { publishedRowsOf } from '../query/provenance/published-rows.ts'
import { refuse } from '../query/refusals.ts'
import { componentAs } from '../query/text-schemas.ts'
import { coverageOf, type ReleaseView } from '../release/view.ts'
import { describePrices } from './prices.ts'
import { type AnswerParts, componentsOf, describePage, type PagedAnswer, prepareQuery, run } from './query.ts'

const PUBLISHED_AMOUNTS: Readonly<Record<string, string>> = { transferred_cents: 'VL_BRUTO' }

const SIDES = ['numerator', 'less', 'denominator'] as const
export type Side = (typeof SIDES)[number]

export const lineageSchema = componentAs(
  bodySchema.omit({ order_by: true, rank: true, percentile: true }).extend({
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
        'true: for records that were added up from many published rows, the number of rows of each and how to find them in the file.',
      ),
    limit: z.number().int().min(1).max(1000).default(100),
  }),
  'AnalyticsLineageRequest',
)

/** @throws AppError as the query does; 'forbidden' for records of the side; 'invalid_request' for a key without a group; 'not_found' */
export async function answerLineage(
  body: unknown,
  parts: AnswerParts,
): Promise<PagedAnswer<LineageRecord, LineageMeta>> {
  const { key, metric, side, rows: withRows, ...rest } = parseBody(lineageSchema, body)
  const query = resolveQuery({ ...rest, order_by: [], rank: false, percentile: false })
  const prepared = await prepareQuery({ ...query, limit: 1, offset: 0 }, parts)
  const { groupings } = prepared.query
  const level = chooseLevel(prepared.plan, key)
  const { base } = level
  const [code, kind] = readCode(metric)
  const isBase = kind === 'base' && base !== null
  // A base is the value of the same group in the comparison month.
  const plan = isolatePlan(isBase ? base.plan : level)
  const chosenMetric = chooseMetric(plan, kind === null || isBase ? code : metric)
  const shownKey = resolveKey(plan, key)
  const group = isBase ? moveToBase(base, shownKey) : shownKey
  const position = findSide(chosenMetric, side, group)
  const dataset = position === null ? undefined : plan.datasets[position.plan]
  if (dataset !== undefined) checkRecords(dataset.dataset, parts.capabilities)
  const cell = await readCell(
    level,
    isBase ? `${chosenMetric.code}__base` : chosenMetric.code,
    shownKey,
    parts,
  )
  if (position === null)
    throw refuse(
      'invalid_request',
      '/side',
      both(`não é um lado de ${chosenMetric.code}`, `is no side of ${chosenMetric.code}`),
      SIDES.filter((name) => chosenMetric[name] !== null),
    )
  const measure = dataset?.measures[position.measure]
  if (dataset === undefined || measure === undefined)
    throw new TypeError('the plan lacks a measure of its own')
  const narrowedPlan = narrowPeriods(dataset, group)
  // A cell that is null because of missing files has no records behind it.
  const isCollected = !cell.isUnknown || isPopulation(dataset.dataset)
  const rows =
    hasRows(narrowedPlan) && isCollected
      ? await run(printContributions(narrowedPlan, measure, group, rest), parts)
      : []
  // A sum is unknown when one of its records has no amount. No records are listed then.
  const isSum = rows[0]?.total !== null
  const records = isSum ? rows.filter((row) => row.position !== null && row.position !== undefined) : []
  const sources = isAddedUp(narrowedPlan.dataset)
    ? records.map(({ source_file = null }) => [{ source_file }])
    : await readSources(narrowedPlan, records, parts)
  const total = isSum ? Number(rows[0]?.total_rows ?? 0) : 0
  // Amounts are shown in reais, as in the cell; the records hold cents.
  const unit = unitOfSide(chosenMetric, side)
  return {
    data: records.map((row, index) =>
      describeRecord(
        narrowedPlan,
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
      metric: isBase ? `${chosenMetric.code}__base` : chosenMetric.code,
      side,
      key: showKey(group, groupings),
      value: cell.value,
      total: isCollected && isSum ? Number(rows[0]?.total ?? 0) / unit : null,
      scale: chosenMetric.scale,
      decimals: decimalsOf(chosenMetric, plan),
      months: narrowedPlan.over === 'avg' ? narrowedPlan.periods.length : 1,
      ...describePrices(prepared.plan),
      notes: writeNotes(plan.notes, parts.language),
    },
  }
}

function chooseLevel(plan: AggregatePlan, key: Readonly<Record<string, unknown>>): AggregatePlan {
  const matchesKey = (level: AggregatePlan): boolean => {
    const names = namesOfGroups(level)
    return names.length === Object.keys(key).length && names.every((name) => Object.hasOwn(key, name))
  }
  return matchesKey(plan) ? plan : (plan.totals.find(matchesKey) ?? plan)
}

/** Splits a value's code: `beds__base` becomes `beds` and `base`. */
function readCode(name: string | undefined): readonly [string | undefined, string | null] {
  const [code, kind = null] = name?.split('__') ?? []
  return [code, kind]
}

function moveToBase({ months }: BasePlan, key: GroupKey): GroupKey {
  const groups = Object.keys(key)
  const finest = finestTime(groups)
  const found = finest === null ? undefined : months.find(({ period }) => period === key[finest])
  if (finest === null || found === undefined) return key
  const moved = groups.filter(isTime).map((code) => [code, coarser(finest, code, found.base)] as const)
  return { ...key, ...Object.fromEntries(moved) }
}

/** Finds the measure of a side. A denominator by year depends on the group's month. */
function findSide(metric: MetricPlan, side: Side, key: GroupKey): MeasurePosition | null {
  if (side !== 'denominator' || metric.denominators === null) return metric[side]
  const finest = finestTime(Object.keys(key)) ?? 'reference_period'
  return metric.denominators.find(({ period }) => period === key[finest])?.position ?? null
}

function chooseMetric(plan: AggregatePlan, code: string | undefined): MetricPlan {
  const [first, ...others] = plan.metrics
  const found =
    code === undefined && others.length === 0 ? first : plan.metrics.find((metric) => metric.code === code)
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

/** Converts codes from the answer's form to the datasets' form. All grouped dimensions, and no others, must be present. */
function resolveKey(plan: AggregatePlan, key: Readonly<Record<string, string | number | null>>): GroupKey {
  const names = namesOfGroups(plan)
  const unknownName = Object.keys(key).find((name) => !names.includes(name))
  const missingCode = names.find((name) => !Object.hasOwn(key, name))
  if (unknownName !== undefined || missingCode !== undefined)
    throw refuse(
      'invalid_request',
      `/key/${unknownName ?? missingCode ?? ''}`,
      unknownName === undefined
        ? both('deve dizer um membro', 'must name a member')
        : both('não é uma dimensão agrupada da consulta', 'is not a grouped dimension of the query'),
      names,
    )
  return Object.fromEntries(
    plan.query.group_by.map((code): [DimensionCode, string | number | null] => {
      const name = nameOfGroup(code, plan.query)
      const value = key[name] ?? null
      const isCode = value === null || groupedDimension(code) !== null
      return [code, isCode ? value : resolveValue(code, value, `/key/${name}`)]
    }),
  )
}

function narrowPeriods(plan: DatasetPlan, key: GroupKey): DatasetPlan {
  const finest = finestTime(Object.keys(key))
  if (finest === null || isPopulation(plan.dataset)) return plan
  const cell = plan.time?.cells.find(({ code }) => code === key[finest])
  const months = plan.time === null ? [key[finest]] : (cell?.months ?? [])
  return {
    ...plan,
    keys: plan.keys.filter((code) => !isTime(code)),
    periods: plan.periods.filter((period) => months.includes(period)),
    time: null,
    over: plan.time === null ? null : plan.over,
  }
}

/** Quarters and quadrimesters are shown as text; a month is the number that files have. */
const showKey = (key: GroupKey, groupings: readonly Grouping[]): LineageMeta['key'] =>
  Object.fromEntries(
    Object.entries(key).map(([code, value]) => [
      nameOfGroup(code, { groupings }),
      isTime(code) && code !== 'reference_period' ? showPeriod(code, Number(value)) : value,
    ]),
  )

interface Cell {
  readonly value: number | null
  /** Something that the metric needs was not collected for the group. */
  readonly isUnknown: boolean
}

/** @throws AppError 'not_found' when the query has no such group */
async function readCell(
  level: AggregatePlan,
  code: string,
  key: GroupKey,
  parts: AnswerParts,
): Promise<Cell> {
  // Conditions may use shares, so the cell's statement keeps the level that is 100 percent.
  const shareBase = level.shareBase === null ? null : { ...isolatePlan(level.shareBase), name: 'whole_' }
  const plan = { ...isolatePlan(level), base: level.base, shareBase }
  const rows = await run(printAggregate(plan, key), parts)
  const row = rows.find(({ in_page }) => in_page !== null)
  if (row === undefined)
    throw new AppError('not_found', {
      detail: both('A consulta não tem grupo com esta chave.', 'The query has no group with this key.'),
    })
  const column = shownValues(plan).find((shown) => shown.code === code)?.column ?? ''
  const value = row[column] ?? null
  const [metric, kind] = readCode(code)
  const index = plan.metrics.findIndex((candidate) => candidate.code === metric)
  const baseMetric = plan.base?.plan.metrics[index]
  const isUnknown =
    kind === null
      ? row[`unknown_${index}`] === true
      : value === null && (baseMetric === undefined || !isCollectedEverywhere(baseMetric))
  return { value: value === null ? null : Number(value), isUnknown }
}

async function readSources(plan: DatasetPlan, records: readonly Row[], parts: AnswerParts): Promise<Row[][]> {
  const columns = recordKeyOf(plan)
  const keyOf = (row: Row): string => columns.map((column) => String(row[column])).join('\t')
  const found = new Map<string, Row[]>()
  const months = new Set(records.map((row) => row.reference_period ?? null))
  for (const month of months) {
    const recordsOfMonth = records.filter((row) => (row.reference_period ?? null) === month)
    const keys = recordsOfMonth.map((row) =>
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
): LineageRecord {
  const { dataset } = plan
  return {
    dataset: plan.dataset,
    ...(isPopulation(plan.dataset) ? {} : { reference_period: textOrNull(row.reference_period) }),
    key: Object.fromEntries(
      recordKeyOf(plan).map((column) => [column, row[column] ?? null]),
    ) as LineageRecord['key'],
    contribution: Number(row.contribution ?? 0),
    ...(withRows && isAddedUp(dataset) ? { published_rows: publishedRowsOf(dataset, row, view) } : {}),
    sources: sources.map((source) => {
      const column = findPublishedColumn(plan, measure, source, row, view)
      const published: ProvenanceSource | null = sourceOf(view, source, column ?? '')
      const rawValue =
        isPopulation(plan.dataset) || hasUnknowns(plan.dataset)
          ? source.raw_value
          : column === null
            ? null
            : source[column]
      return {
        publisher: published?.publisher ?? null,
        file: published?.file ?? null,
        archive: published?.archive ?? null,
        sha256: published?.sha256 ?? null,
        // The published row is unknown for aggregated records; only the file is known.
        row: isAddedUp(plan.dataset) ? null : (published?.row ?? null),
        column,
        raw_value: textOrNull(rawValue),
      }
    }),
  }
}

const textOrNull = (value: JsonValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

/** @returns the published column that is summed; null when the measure counts records */
function findPublishedColumn(
  { dataset }: DatasetPlan,
  { kind, field }: Measure,
  source: Row,
  row: Row,
  view: ReleaseView,
): string | null {
  if (isPopulation(dataset)) return source.source_column === null ? null : String(source.source_column)
  if (dataset === 'federal_health_transfers') return PUBLISHED_AMOUNTS[field ?? ''] ?? null
  if (datasetOf(dataset).area === 'sim') return DEATH_COLUMNS[field ?? ''] ?? null
  if (isAddedUp(dataset)) return { ...ADMISSION_COLUMNS, ...OUTPATIENT_COLUMNS }[field ?? ''] ?? null
  // Facts of other areas name their file and row, but keep no published cell.
  if (kind !== 'sum' || dataset === 'facilities' || !isCnes(dataset)) return null
  const period = Number(String(row.reference_period).replace('-', ''))
  const family = coverageOf(view, dataset, period)?.family === 'base' ? 'base' : 'state'
  const lines = FACT_LINEAGE[dataset][family]
  const names = field === 'quantity_sus' ? ['quantity_sus_published', 'tp_sus_code'] : [field]
  return (
    names
      .map((name) => lines.find(({ attribute }) => attribute === name)?.column)
      .find((column) => column !== undefined && source[column] !== null && source[column] !== undefined) ??
    null
  )
}
