/**
 * Compares one query on two releases.
 *
 * In: a query's body with two release ids. Out: the rows that differ (or all rows), each with old value, new value,
 * difference and causes: records added, removed, revised or reclassified, and what each cause adds to the
 * difference. A ratio has the causes of both sides. For sums and counts the causes of a row add up to its difference
 * exactly.
 */
import { z } from 'zod'
import type { ComparedRow, ComparedValue } from '../answers/analytics.ts'
import type { CompareMeta } from '../answers/meta.ts'
import type { Row } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { capabilityOf, type DimensionCode, dimensionOf, hasUnknowns } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { uniqueNotes, writeNotes } from '../model/note-sentences.ts'
import type { Note } from '../model/notes.ts'
import { finestTime, readPeriod } from '../model/periods.ts'
import { mayReadRecords } from '../query/analytics/checks.ts'
import { type MeasurePosition, type MetricPlan, unitOfSide } from '../query/analytics/datasets/metric-plan.ts'
import { hasRows } from '../query/analytics/dialect/duckdb/facts.ts'
import { decimalsOf } from '../query/analytics/dialect/duckdb/groups.ts'
import {
  CAUSES,
  type Cause,
  type MeasureOfPlan,
  printCauses,
} from '../query/analytics/dialect/duckdb/records.ts'
import { estimateAnswer } from '../query/analytics/estimate.ts'
import type { AggregatePlan } from '../query/analytics/plan.ts'
import { namesOfGroups } from '../query/analytics/query-plan.ts'
import { bodySchema, parseBody, resolveQuery } from '../query/analytics/request.ts'
import { componentAs } from '../query/text-schemas.ts'
import type { ReleaseView } from '../release/view.ts'
import { answerAbsentGroups } from './absent-groups.ts'
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

/** Comparisons ignore these options: rows are differences, in the order of their keys. */
const NOT_COMPARED = {
  order_by: [],
  having: [],
  rank: false,
  percentile: false,
  compare_to: null,
  status: false,
}
/** Largest number of groups that a comparison reads from one release. Paging applies to the differences. */
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
      limits: true,
      percentile: true,
      compare_to: true,
      status: true,
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
  /** The older release; `view` is the newer one. */
  readonly before: ReleaseView
}

/** @throws AppError as the query does; 'too_many_rows' */
export async function compareReleases(
  body: unknown,
  parts: CompareParts,
): Promise<PagedAnswer<ComparedRow, CompareMeta>> {
  const { old_release_id: _old, new_release_id: _new, only_changed, ...rest } = parseBody(compareSchema, body)
  const query = { ...resolveQuery({ ...rest, ...NOT_COMPARED }), limit: GROUPS_MAX, offset: 0 }
  const after = await runSide(query, parts)
  const before = await runSide(query, { ...parts, view: parts.before })
  const [rows = [], ...totals] = await compareLevels(before, after, parts)
  const selectRows = (all: readonly MergedRow[]): readonly MergedRow[] =>
    only_changed ? all.filter(({ changed }) => changed) : all
  const shown = selectRows(rows)
  const page = shown.slice(rest.offset, rest.offset + rest.limit).map(({ value }) => value)
  return {
    data: page,
    ...(totals.length === 0
      ? {}
      : {
          totals: totals.map((all, index) => ({
            group_by: namesOfLevel(after.levels[index + 1]),
            data: selectRows(all).map(({ value }) => value),
          })),
        }),
    pagination: describePage(rest, page.length, shown.length),
    meta: {
      catalog_version: CATALOG_VERSION,
      old: describeSide(parts.before, before.prepared),
      new: describeSide(parts.view, after.prepared),
      same_content: hasSameContent(parts.before, parts.view),
      query: after.prepared.normalised,
      changed_rows: rows.filter(({ changed }) => changed).length,
      notes: writeNotes(
        uniqueNotes([
          ...before.prepared.plan.notes,
          ...after.prepared.plan.notes,
          ...noteLeftOut(after.prepared.plan, parts),
        ]),
        parts.language,
      ),
    },
  }
}

const describeSide = (view: ReleaseView, { plan }: PreparedQuery): CompareMeta['old'] => ({
  release_id: view.id,
  content_id: view.contentId ?? null,
  components: componentsOf(view),
  reference_period: plan.referencePeriod,
})

/** @returns null when a release has no content id */
function hasSameContent(
  { contentId: before }: ReleaseView,
  { contentId: after }: ReleaseView,
): boolean | null {
  if (before === null || before === undefined || after === null || after === undefined) return null
  return before === after
}

const namesOfLevel = (level: LevelRows | undefined): string[] =>
  level === undefined ? [] : namesOfGroups(level.plan)

interface LevelRows {
  readonly plan: AggregatePlan
  readonly rows: readonly Row[]
}
interface FilledRows extends LevelRows {
  /** Rows about groups that only the other release has. */
  readonly absent: readonly Row[]
}
interface SideAnswer {
  readonly prepared: PreparedQuery
  readonly levels: readonly LevelRows[]
}

async function compareLevels(
  before: SideAnswer,
  after: SideAnswer,
  parts: CompareParts,
): Promise<MergedRow[][]> {
  const compared: MergedRow[][] = []
  for (const [index, newer] of after.levels.entries()) {
    const older = before.levels[index] ?? { plan: newer.plan, rows: [] }
    const causes = await findCauses(older.plan, newer.plan, parts)
    const filledOlder = await fillRows(older, newer, { ...parts, view: parts.before }, parts.view)
    const filledNewer = await fillRows(newer, older, parts, parts.before)
    compared.push(mergeRows(filledOlder, filledNewer, causes, parts.language))
  }
  return compared
}

async function fillRows(
  level: LevelRows,
  { rows }: LevelRows,
  parts: AnswerParts,
  other: ReleaseView,
): Promise<FilledRows> {
  const keyOf = keyOfRows(level.plan)
  const keys = new Set(level.rows.map(keyOf))
  const absent = rows.filter((row) => !keys.has(keyOf(row)))
  return { ...level, absent: await answerAbsentGroups(level.plan, absent, parts, other) }
}

async function runSide(query: Parameters<typeof prepareQuery>[0], parts: AnswerParts): Promise<SideAnswer> {
  const prepared = await prepareQuery(query, parts)
  const statement = printQuery(prepared, parts.view)
  const options = optionsOf(parts, statement, estimateAnswer(prepared.plan, parts.view))
  const rows = await parts.engine.run(statement, parts.view, options)
  const total = Number(rows[0]?.table_rows ?? 0)
  if (total > GROUPS_MAX)
    throw new AppError('too_many_rows', {
      detail: both(
        `A consulta tem ${total} grupos; no máximo ${GROUPS_MAX} podem ser comparados.`,
        `The query has ${total} groups; at most ${GROUPS_MAX} can be compared.`,
      ),
      extra: { rows: total, allowed: GROUPS_MAX },
    })
  const { plan } = prepared
  return {
    prepared,
    levels: [plan, ...plan.totals].map((levelPlan, level) => ({
      plan: levelPlan,
      rows: rows.filter((row) => row.in_page !== null && (row.level ?? 0) === level),
    })),
  }
}

type CauseEntry = Readonly<{ cause: Cause; records: number; delta: number }>
/** Causes of one measure, by the key of its group. `keys` are the dataset's dimensions: a population has only places. */
interface MeasureCauses {
  readonly keys: readonly DimensionCode[]
  readonly byGroup: ReadonlyMap<string, readonly CauseEntry[]>
}
const SIDES = ['numerator', 'less', 'denominator'] as const
type Side = (typeof SIDES)[number]
/** The key joins the metric's index, the side and, for a denominator by year, the month. */
type Causes = ReadonlyMap<string, MeasureCauses>

/** The releases may hold different months, so each side of a metric is looked up in the plan of its own release. */
async function findCauses(before: AggregatePlan, after: AggregatePlan, parts: CompareParts): Promise<Causes> {
  const found = new Map<string, MeasureCauses>()
  const causesByPositions = new Map<string, MeasureCauses>()
  for (const [number, metric] of after.metrics.entries())
    for (const side of SIDES) {
      const olderMetric = before.metrics[number]
      const olderPositions = olderMetric === undefined ? [] : findPositions(olderMetric, side)
      for (const [month, position] of findPositions(metric, side)) {
        const olderPosition = olderPositions.find(([otherMonth]) => otherMonth === month)?.[1] ?? null
        if (position === null || olderPosition === null) continue
        const positionsKey = JSON.stringify([position, olderPosition])
        const causes =
          causesByPositions.get(positionsKey) ??
          (await findMeasureCauses(
            findMeasure(before, olderPosition, parts),
            findMeasure(after, position, parts),
            parts,
          ))
        if (causes === null) continue
        causesByPositions.set(positionsKey, causes)
        found.set(`${number} ${side} ${month}`, causes)
      }
    }
  return found
}

/** @returns a measure and its sub-query; null when the sub-query reads no rows, or records that the key may not read */
function findMeasure(
  plan: AggregatePlan,
  position: MeasurePosition,
  { capabilities }: CompareParts,
): MeasureOfPlan | null {
  const dataset = plan.datasets[position.plan]
  const measure = dataset?.measures[position.measure]
  if (dataset === undefined || measure === undefined) return null
  return hasRows(dataset) && mayReadRecords(dataset.dataset, capabilities) ? { dataset, measure } : null
}

const noteLeftOut = ({ datasets }: AggregatePlan, { capabilities }: CompareParts): Note[] =>
  datasets
    .filter(({ dataset }) => !mayReadRecords(dataset, capabilities))
    .map(({ dataset }) => ({ code: 'causes_left_out', dataset, capability: capabilityOf(dataset) }))

/** The measures of the two releases may differ in the year of their population. */
async function findMeasureCauses(
  before: MeasureOfPlan | null,
  after: MeasureOfPlan | null,
  parts: CompareParts,
): Promise<MeasureCauses | null> {
  if (before === null || after === null) return null
  const statement = printCauses(before, after)
  const rows = await parts.engine.run(statement, parts.view, {
    ...optionsOf(parts, statement),
    other: parts.before,
  })
  const byGroup = new Map<string, CauseEntry[]>()
  for (const row of rows) {
    const key = printGroupKey(after.dataset.keys, row)
    const entry = { cause: row.cause as Cause, records: Number(row.records), delta: Number(row.delta) }
    byGroup.set(key, [...(byGroup.get(key) ?? []), entry])
  }
  return { keys: after.dataset.keys, byGroup }
}

const printGroupKey = (keys: readonly DimensionCode[], row: Row): string =>
  JSON.stringify(keys.map((code) => row[dimensionOf(code).column] ?? null))

const keyOfRows =
  ({ query }: AggregatePlan) =>
  (row: Row): string =>
    printGroupKey(query.group_by, row)

interface MergedRow {
  readonly changed: boolean
  readonly value: ComparedRow
}

/** The newer answer's rows come first, then rows that only the older one has. */
function mergeRows(
  before: FilledRows,
  after: FilledRows,
  causes: Causes,
  language: 'pt' | 'en',
): MergedRow[] {
  const { plan } = after
  const keyOf = keyOfRows(plan)
  const byKey = (rows: readonly Row[]): Map<string, Row> => new Map(rows.map((row) => [keyOf(row), row]))
  const [oldRows, newRows] = [byKey(before.rows), byKey(after.rows)]
  const [oldAbsent, newAbsent] = [byKey(before.absent), byKey(after.absent)]
  const keys = [...new Set([...newRows.keys(), ...oldRows.keys()])]
  return keys.map((key) => {
    const shown = newRows.get(key) ?? oldRows.get(key) ?? {}
    const described = describeRow(shown, newRows.has(key) ? plan : before.plan, language)
    const [oldRow, newRow] = [oldRows.get(key) ?? oldAbsent.get(key), newRows.get(key) ?? newAbsent.get(key)]
    const metrics: Record<string, ComparedValue> = {}
    let changed = false
    plan.metrics.forEach((metric, index) => {
      const [oldValue, newValue] = [valueOfRow(oldRow, index), valueOfRow(newRow, index)]
      // A side that a release did not collect has no causes: its records neither came nor went.
      const source = plan.datasets[metric.numerator.plan]?.dataset
      const isUnknown =
        [oldRow, newRow].some((row) => row === undefined || row[`unknown_${index}`] === true) ||
        (source !== undefined && hasUnknowns(source) && (oldValue === null || newValue === null))
      const rowCauses = isUnknown ? [] : selectCauses(index, metric, shown, causes, plan)
      if (oldValue !== newValue || rowCauses.length > 0) changed = true
      metrics[metric.code] = {
        old: oldValue === null ? null : Number(oldValue),
        new: newValue === null ? null : Number(newValue),
        delta:
          oldValue === null || newValue === null
            ? null
            : subtract(newValue, oldValue, decimalsOf(metric, plan)),
        causes: rowCauses,
      }
    })
    return { changed, value: { ...described, metrics } }
  })
}

const valueOfRow = (row: Row | undefined, index: number): string | null => {
  const value = row?.[`value_${index}`] ?? null
  return value === null ? null : String(value)
}

/** Subtracts two decimals with the same number of digits, exactly. */
function subtract(left: string, right: string, decimals: number): number {
  const toUnits = (text: string): bigint => {
    const [units = '0', fraction = ''] = text.split('.')
    return BigInt(`${units}${fraction.padEnd(decimals, '0')}`)
  }
  return Number(toUnits(left) - toUnits(right)) / 10 ** decimals
}

/** Finds the measures of a side. A denominator by year has one per month. */
const findPositions = (
  metric: MetricPlan,
  side: Side,
): readonly (readonly [month: string, place: MeasurePosition | null])[] =>
  side === 'denominator' && metric.denominators !== null
    ? metric.denominators.map(({ period, position }) => [String(period), position] as const)
    : [['', metric[side]]]

/** @returns the code of the finest grouped period of a row, as denominators name it */
function periodOfRow(row: Row, { query: { group_by } }: AggregatePlan): string {
  const finest = finestTime(group_by)
  return finest === null ? '' : String(readPeriod(finest, String(row[finest])))
}

function selectCauses(
  number: number,
  metric: MetricPlan,
  row: Row,
  causes: Causes,
  plan: AggregatePlan,
): (CauseEntry & { side: Side })[] {
  return SIDES.flatMap((side) => {
    const isByPeriod = side === 'denominator' && metric.denominators !== null
    const measureCauses = causes.get(`${number} ${side} ${isByPeriod ? periodOfRow(row, plan) : ''}`)
    const entries = measureCauses?.byGroup.get(printGroupKey(measureCauses.keys, row)) ?? []
    return (
      [...entries]
        .sort((left, right) => CAUSES.indexOf(left.cause) - CAUSES.indexOf(right.cause))
        // Causes are shown in reais, like the values; the records hold cents.
        .map((entry) => ({ side, ...entry, delta: entry.delta / unitOfSide(metric, side) }))
    )
  })
}
