/**
 * One query on two releases: old, new, difference, and the causes of the difference.
 *
 * In: a query's body with two release ids. Out: rows that differ (or all), with the causes of each difference: records
 * added, removed, revised, reclassified, and what each cause adds to the sum. A ratio has the causes of both its
 * sides. For sums and counts the causes of a row add up to its difference, exactly.
 */
import { z } from 'zod'
import type { JsonValue, Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { formatPeriod, type ReleaseView } from '../release/view.ts'
import type { AggregatePlan, MeasurePlace, MetricPlan } from './aggregate.ts'
import { hasRows } from './dialect/duckdb/facts.ts'
import { decimalsOf } from './dialect/duckdb/groups.ts'
import { CAUSES, type Cause, printCauses } from './dialect/duckdb/records.ts'
import { bodySchema, parseBody, resolveQuery } from './request.ts'
import {
  type AnswerParts,
  componentsOf,
  describePage,
  describeRow,
  optionsOf,
  type PagedAnswer,
  type PreparedQuery,
  prepareQuery,
  printQuery,
} from './result.ts'

/** What a comparison has no use for: its rows are differences, in the order of their keys. */
const NOT_COMPARED = { order_by: [], having: [], rank: false }
/** Groups of one query that are compared; the differences themselves are paged. */
const GROUPS_MAX = 200_000

export const compareSchema = bodySchema
  .omit({ order_by: true, expected_release_id: true, change: true, having: true, share_of: true, rank: true })
  .extend({
    old_release_id: z.string().min(1).max(200).describe('The analytics release before.'),
    new_release_id: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('The analytics release after; the one in service by default.'),
    only_changed: z.boolean().default(true).describe('false: rows without a difference too.'),
    over_period: z.enum(['last', 'first']).nullish(),
  })

export interface CompareParts extends AnswerParts {
  /** The release before; `view` is the one after. */
  readonly before: ReleaseView
}

/** @throws AppError as the query; 'too_many_rows' */
export async function compareReleases(body: unknown, parts: CompareParts): Promise<PagedAnswer> {
  const { old_release_id: _old, new_release_id: _new, only_changed, ...rest } = parseBody(compareSchema, body)
  const query = { ...resolveQuery({ ...rest, ...NOT_COMPARED }), limit: GROUPS_MAX, offset: 0 }
  const after = await askSide(query, parts)
  const before = await askSide(query, { ...parts, view: parts.before })
  const [rows = [], ...totals] = await compareLevels(before, after, parts)
  const keep = (all: readonly ComparedRow[]): readonly ComparedRow[] =>
    only_changed ? all.filter(({ changed }) => changed) : all
  const shown = keep(rows)
  const page = shown.slice(rest.offset, rest.offset + rest.limit).map(({ value }) => value)
  return {
    data: page,
    ...(totals.length === 0
      ? {}
      : {
          totals: totals.map((all, index) => ({
            group_by: after.levels[index + 1]?.plan.query.group_by ?? [],
            data: keep(all).map(({ value }) => value),
          })),
        }),
    pagination: describePage(rest, page.length, shown.length),
    meta: {
      catalog_version: CATALOG_VERSION,
      old: describeSide(parts.before, before.prepared),
      new: describeSide(parts.view, after.prepared),
      query: after.prepared.normalised,
      changed_rows: rows.filter(({ changed }) => changed).length,
      notes: [...new Set([...before.prepared.plan.notes, ...after.prepared.plan.notes])],
    },
  }
}

const describeSide = (view: ReleaseView, { plan }: PreparedQuery): JsonValue => ({
  release_id: view.id,
  components: componentsOf(view),
  reference_period: plan.referencePeriod,
})

/** The rows of a query, or of a level of its totals. */
interface Answered {
  readonly plan: AggregatePlan
  readonly rows: readonly Row[]
}
interface AnsweredSide {
  readonly prepared: PreparedQuery
  /** The rows of the query, then those of each level of totals. */
  readonly levels: readonly Answered[]
}

/** Rows of every level with their differences. */
async function compareLevels(
  before: AnsweredSide,
  after: AnsweredSide,
  parts: CompareParts,
): Promise<ComparedRow[][]> {
  const compared: ComparedRow[][] = []
  for (const [index, fresh] of after.levels.entries()) {
    const old = before.levels[index] ?? { plan: fresh.plan, rows: [] }
    const causes = await findCauses(old.plan, fresh.plan, parts)
    compared.push(mergeRows(old, fresh, causes, parts.language))
  }
  return compared
}

async function askSide(query: Parameters<typeof prepareQuery>[0], parts: AnswerParts): Promise<AnsweredSide> {
  const prepared = await prepareQuery(query, parts)
  const rows = await parts.engine.run(printQuery(prepared, parts.view), parts.view, optionsOf(parts))
  const total = Number(rows[0]?.table_rows ?? 0)
  if (total > GROUPS_MAX)
    throw new AppError('too_many_rows', {
      detail: both(
        `A consulta tem ${total} grupos; até ${GROUPS_MAX} podem ser comparados.`,
        `The query has ${total} groups; ${GROUPS_MAX} can be compared.`,
      ),
      extra: { rows: total, allowed: GROUPS_MAX },
    })
  const { plan } = prepared
  return {
    prepared,
    levels: [plan, ...plan.totals].map((own, level) => ({
      plan: own,
      rows: rows.filter((row) => row.in_page !== null && (row.level ?? 0) === level),
    })),
  }
}

type CauseEntry = Readonly<{ cause: Cause; records: number; delta: number }>
/** Causes of one measure by the key of its groups (those of the dataset: a population has places only). */
type CausesByGroup = ReadonlyMap<string, readonly CauseEntry[]>

async function findCauses(
  before: AggregatePlan,
  after: AggregatePlan,
  parts: CompareParts,
): Promise<Map<string, CausesByGroup>> {
  const found = new Map<string, CausesByGroup>()
  for (const own of after.datasets) {
    const other = before.datasets.find(({ dataset }) => dataset === own.dataset)
    if (other === undefined || !hasRows(own) || !hasRows(other)) continue
    for (const [index, measure] of own.measures.entries()) {
      const rows = await parts.engine.run(printCauses(other, own, measure), parts.view, {
        ...optionsOf(parts),
        other: parts.before,
      })
      const groups = new Map<string, CauseEntry[]>()
      for (const row of rows) {
        const key = groupText(own.keys, row)
        const entry = { cause: row.cause as Cause, records: Number(row.records), delta: Number(row.delta) }
        groups.set(key, [...(groups.get(key) ?? []), entry])
      }
      found.set(`${own.dataset} ${index}`, groups)
    }
  }
  return found
}

const groupText = (keys: readonly DimensionCode[], row: Row): string =>
  JSON.stringify(keys.map((code) => row[dimensionOf(code).column] ?? null))

interface ComparedRow {
  readonly changed: boolean
  readonly value: JsonValue
}

/** Rows of the newer answer in its order, then those only the older one has. */
function mergeRows(
  before: Answered,
  after: Answered,
  causes: ReadonlyMap<string, CausesByGroup>,
  language: 'pt' | 'en',
): ComparedRow[] {
  const { plan } = after
  const keyOf = (row: Row): string => groupText(plan.query.group_by, row)
  const old = new Map(before.rows.map((row) => [keyOf(row), row]))
  const fresh = new Map(after.rows.map((row) => [keyOf(row), row]))
  const keys = [...new Set([...fresh.keys(), ...old.keys()])]
  return keys.map((key) => {
    const [oldRow, newRow] = [old.get(key), fresh.get(key)]
    const described = describeRow(newRow ?? oldRow ?? {}, newRow === undefined ? before.plan : plan, language)
    const metrics: Record<string, JsonValue> = {}
    let changed = false
    plan.metrics.forEach((metric, index) => {
      const [was, is] = [valueOfRow(oldRow, index), valueOfRow(newRow, index)]
      const why = causesOf(metric, plan, newRow ?? oldRow ?? {}, causes)
      if (was !== is || why.length > 0) changed = true
      metrics[metric.code] = {
        old: was === null ? null : Number(was),
        new: is === null ? null : Number(is),
        delta: was === null || is === null ? null : subtract(is, was, decimalsOf(metric, plan)),
        causes: why,
      }
    })
    return { changed, value: { ...(described as Record<string, JsonValue>), metrics } }
  })
}

const valueOfRow = (row: Row | undefined, index: number): string | null => {
  const value = row?.[`value_${index}`] ?? null
  return value === null ? null : String(value)
}

/** Exact difference of two decimals of the same number of digits. */
function subtract(left: string, right: string, decimals: number): number {
  const whole = (text: string): bigint => {
    const [units = '0', fraction = ''] = text.split('.')
    return BigInt(`${units}${fraction.padEnd(decimals, '0')}`)
  }
  return Number(whole(left) - whole(right)) / 10 ** decimals
}

/** Where a side is measured: a denominator may be that of the row's own year. */
function placeOf(
  metric: MetricPlan,
  side: 'numerator' | 'less' | 'denominator',
  row: Row,
): MeasurePlace | null {
  if (side !== 'denominator' || metric.denominators === null) return metric[side]
  return (
    metric.denominators.find(({ period }) => formatPeriod(period) === row.reference_period)?.place ?? null
  )
}

function causesOf(
  metric: MetricPlan,
  plan: AggregatePlan,
  row: Row,
  causes: ReadonlyMap<string, CausesByGroup>,
): (CauseEntry & { side: string })[] {
  return (['numerator', 'less', 'denominator'] as const).flatMap((side) => {
    const place = placeOf(metric, side, row)
    if (place === null) return []
    const keys = plan.datasets.find(({ dataset }) => dataset === place.dataset)?.keys ?? []
    const entries = causes.get(`${place.dataset} ${place.measure}`)?.get(groupText(keys, row)) ?? []
    return [...entries]
      .sort((left, right) => CAUSES.indexOf(left.cause) - CAUSES.indexOf(right.cause))
      .map((entry) => ({ side, ...entry }))
  })
}
