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
import { type DimensionCode, dimensionOf, hasUnknowns } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { uniqueNotes, writeNotes } from '../model/note-sentences.ts'
import { hasRows } from '../query/analytics/dialect/duckdb/facts.ts'
import { decimalsOf } from '../query/analytics/dialect/duckdb/groups.ts'
import { CAUSES, type Cause, printCauses } from '../query/analytics/dialect/duckdb/records.ts'
import { estimateAnswer } from '../query/analytics/estimate.ts'
import type { AggregatePlan, DatasetPlan, MeasurePlace, MetricPlan } from '../query/analytics/plan.ts'
import { bodySchema, parseBody, resolveQuery } from '../query/analytics/request.ts'
import { componentAs } from '../query/text-schemas.ts'
import { formatPeriod, type ReleaseView } from '../release/view.ts'
import { describeRow } from './described-rows.ts'
import {
  type AnswerParts,
  componentsOf,
  describePage,
  optionsOf,
  type PagedAnswer,
  type PreparedQuery,
  prepareQuery,
  printQuery,
} from './query.ts'

/** What a comparison has no use for: its rows are differences, in the order of their keys. */
const NOT_COMPARED = { order_by: [], having: [], rank: false }
/** Groups of one query that are compared; the differences themselves are paged. */
const GROUPS_MAX = 200_000

export const compareSchema = componentAs(
  bodySchema
    .omit({
      order_by: true,
      expected_release_id: true,
      change: true,
      having: true,
      share_of: true,
      rank: true,
    })
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
    }),
  'AnalyticsCompareRequest',
)

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
      notes: writeNotes(
        uniqueNotes([...before.prepared.plan.notes, ...after.prepared.plan.notes]),
        parts.language,
      ),
    },
  }
}

const describeSide = (view: ReleaseView, { plan }: PreparedQuery): JsonValue => ({
  release_id: view.id,
  content_id: view.contentId ?? null,
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
  const statement = printQuery(prepared, parts.view)
  const options = optionsOf(parts, statement, estimateAnswer(prepared.plan, parts.view))
  const rows = await parts.engine.run(statement, parts.view, options)
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
interface MeasureCauses {
  readonly keys: readonly DimensionCode[]
  readonly byGroup: ReadonlyMap<string, readonly CauseEntry[]>
}
const SIDES = ['numerator', 'less', 'denominator'] as const
type Side = (typeof SIDES)[number]
/** By number of the metric, side and, of a denominator of the month's year, month. */
type Causes = ReadonlyMap<string, MeasureCauses>

/** The two releases may hold other months: each side of a metric is where its own release's plan has it. */
async function findCauses(before: AggregatePlan, after: AggregatePlan, parts: CompareParts): Promise<Causes> {
  const found = new Map<string, MeasureCauses>()
  const run = new Map<string, MeasureCauses>()
  for (const [number, metric] of after.metrics.entries())
    for (const side of SIDES) {
      const former = before.metrics[number]
      const others = former === undefined ? [] : placesOf(former, side)
      for (const [month, own] of placesOf(metric, side)) {
        const other = others.find(([of]) => of === month)?.[1] ?? null
        if (own === null || other === null) continue
        const places = JSON.stringify([own, other])
        const causes =
          run.get(places) ??
          (await findMeasureCauses(before.datasets[other.plan], after.datasets[own.plan], own.measure, parts))
        if (causes === null) continue
        run.set(places, causes)
        found.set(`${number} ${side} ${month}`, causes)
      }
    }
  return found
}

async function findMeasureCauses(
  other: DatasetPlan | undefined,
  own: DatasetPlan | undefined,
  index: number,
  parts: CompareParts,
): Promise<MeasureCauses | null> {
  const measure = own?.measures[index]
  if (own === undefined || other === undefined || measure === undefined) return null
  if (!hasRows(own) || !hasRows(other)) return null
  const statement = printCauses(other, own, measure)
  const rows = await parts.engine.run(statement, parts.view, {
    ...optionsOf(parts, statement),
    other: parts.before,
  })
  const byGroup = new Map<string, CauseEntry[]>()
  for (const row of rows) {
    const key = groupText(own.keys, row)
    const entry = { cause: row.cause as Cause, records: Number(row.records), delta: Number(row.delta) }
    byGroup.set(key, [...(byGroup.get(key) ?? []), entry])
  }
  return { keys: own.keys, byGroup }
}

const groupText = (keys: readonly DimensionCode[], row: Row): string =>
  JSON.stringify(keys.map((code) => row[dimensionOf(code).column] ?? null))

interface ComparedRow {
  readonly changed: boolean
  readonly value: JsonValue
}

/** Rows of the newer answer in its order, then those only the older one has. */
function mergeRows(before: Answered, after: Answered, causes: Causes, language: 'pt' | 'en'): ComparedRow[] {
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
      // Nothing is said to have come or gone where one of the releases did not look.
      const source = plan.datasets[metric.numerator.plan]?.dataset
      const isUnknown =
        [oldRow, newRow].some((row) => row?.[`unknown_${index}`] === true) ||
        (source !== undefined && hasUnknowns(source) && (was === null || is === null))
      const why = isUnknown ? [] : causesOf(index, metric, newRow ?? oldRow ?? {}, causes)
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

/** Where a side is measured: a denominator may be that of the row's own year, which its month names. */
const placesOf = (
  metric: MetricPlan,
  side: Side,
): readonly (readonly [month: string, place: MeasurePlace | null])[] =>
  side === 'denominator' && metric.denominators !== null
    ? metric.denominators.map(({ period, place }) => [formatPeriod(period), place] as const)
    : [['', metric[side]]]

function causesOf(
  number: number,
  metric: MetricPlan,
  row: Row,
  causes: Causes,
): (CauseEntry & { side: Side })[] {
  return SIDES.flatMap((side) => {
    const isByMonth = side === 'denominator' && metric.denominators !== null
    const own = causes.get(`${number} ${side} ${isByMonth ? String(row.reference_period) : ''}`)
    const entries = own?.byGroup.get(groupText(own.keys, row)) ?? []
    return (
      [...entries]
        .sort((left, right) => CAUSES.indexOf(left.cause) - CAUSES.indexOf(right.cause))
        // Cents are shown in reais, as the values are.
        .map((entry) => ({ side, ...entry, delta: entry.delta / (side === 'denominator' ? 1 : metric.unit) }))
    )
  })
}
