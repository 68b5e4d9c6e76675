/**
 * The pre-aggregates of an analytics release, from the facts of the cnes release it joins. In: that release's folder and
 * manifest. Out: one Parquet file a month and pre-aggregate, and what the manifest says of it.
 *
 * Sums of integers, so the order in which facts are read changes nothing: equal facts give equal bytes.
 */
import { join } from 'node:path'
import { dimensionOf } from '../model/dimensions.ts'
import type { Condition } from '../model/metrics.ts'
import {
  keyColumns,
  PRE_AGGREGATE_NAMES,
  type PreAggregate,
  type PreAggregateName,
  preAggregateOf,
  type StoredMeasure,
  storedMeasures,
} from '../model/pre-aggregates.ts'
import type { Manifest } from '../release/manifest.ts'
import { type DatasetOutput, type NamedCheck, writeParquet } from './output.ts'
import { quoteName, quoteText, type Session } from './session.ts'

export interface BuiltPreAggregates {
  readonly outputs: readonly DatasetOutput[]
  readonly checks: readonly NamedCheck[]
}

/** @param folder of the cnes release, or of what will become it */
export async function buildPreAggregates(
  session: Session,
  staging: string,
  folder: string,
  cnes: Manifest,
): Promise<BuiltPreAggregates> {
  const outputs: DatasetOutput[] = []
  let violations = 0
  for (const name of PRE_AGGREGATE_NAMES) {
    const preAggregate = preAggregateOf(name)
    for (const period of cnes.datasets[preAggregate.dataset]?.periods ?? []) {
      const facts = join(folder, preAggregate.dataset, `reference_period=${period}`, '*.parquet')
      outputs.push(await writePreAggregate(session, staging, name, period, facts))
      violations += await countDividedPlaces(session, preAggregate, facts)
    }
  }
  return { outputs, checks: [{ name: 'municipality_in_one_state', violations }] }
}

function writePreAggregate(
  session: Session,
  staging: string,
  name: PreAggregateName,
  period: number,
  facts: string,
): Promise<DatasetOutput> {
  const preAggregate = preAggregateOf(name)
  const stored = storedMeasures(preAggregate)
  const keys = keyColumns(preAggregate)
  const select = [
    ...keys.map(quoteName),
    ...stored.map((measure) => `${measureSql(measure)} AS ${quoteName(measure.column)}`),
  ]
  return writeParquet(
    session,
    staging,
    {
      name,
      key: keys,
      columns: [
        ...preAggregate.keys.map((code) => ({
          name: dimensionOf(code).column,
          type: dimensionOf(code).integer === true ? 'INTEGER' : 'VARCHAR',
        })),
        ...stored.map(({ column }) => ({ name: column, type: 'BIGINT' })),
      ],
      order: keys,
    },
    period,
    `SELECT ${select.join(', ')}
     FROM read_parquet(${quoteText(facts)}, hive_partitioning = false)
     WHERE is_active
     GROUP BY ${keys.map(quoteName).join(', ')}`,
  )
}

function measureSql({ kind, field, where }: StoredMeasure): string {
  const filter = where.length === 0 ? '' : ` FILTER (WHERE ${where.map(conditionSql).join(' AND ')})`
  if (kind === 'count') return `count(*)${filter}`
  const column = quoteName(field ?? '')
  return kind === 'distinct' ? `count(DISTINCT ${column})${filter}` : `coalesce(sum(${column})${filter}, 0)`
}

function conditionSql(condition: Condition): string {
  if ('above' in condition) return `${quoteName(condition.field)} > ${condition.above}`
  if ('equals' in condition) return `${quoteName(condition.field)} = ${quoteText(condition.equals)}`
  if ('flag' in condition) return quoteName(condition.flag)
  if ('anyFlag' in condition) return `(${condition.anyFlag.map(quoteName).join(' OR ')})`
  if ('outsourced' in condition)
    return "len(list_filter(declarations, lambda d: d.characteristic_code IN ('2', '3'))) > 0"
  throw new TypeError('people are in no pre-aggregate')
}

/** Municipalities with facts in two states: the planner takes a municipality to lie in one. */
async function countDividedPlaces(session: Session, { keys }: PreAggregate, facts: string): Promise<number> {
  if (!keys.includes('municipality')) return 0
  return session.number(
    `SELECT count(*) FROM (
       SELECT municipality_ibge_code FROM read_parquet(${quoteText(facts)}, hive_partitioning = false)
       WHERE is_active GROUP BY 1 HAVING count(DISTINCT uf) > 1)`,
  )
}
