/**
 * The pre-aggregates of an analytics release, from the facts of the releases it joins, cnes, sih and sia. In: a release's folder and
 * manifest. Out: one Parquet file a month and pre-aggregate, and what the manifest says of it.
 *
 * The planner relies on a municipality lying in one state: an import in which one does not fails. Sums are of integers, so that
 * the order in which facts are read changes nothing: equal facts give equal bytes.
 */
import { join } from 'node:path'
import { type AddedUpTable, type Dimension, dimensionOf } from '../model/dimensions.ts'
import type { Condition } from '../model/metrics.ts'
import {
  type CnesFacts,
  factColumns,
  hasFacilityOnce,
  keyColumns,
  measuredFields,
  nameCondition,
  PRE_AGGREGATE_NAMES,
  type PreAggregateName,
  preAggregateOf,
  type StoredMeasure,
  storedMeasures,
} from '../model/pre-aggregates.ts'
import { selectList } from '../model/stored-columns.ts'
import type { Manifest } from '../release/manifest.ts'
import { groupBy } from './aggregated/group-by.ts'
import { quoteName, quoteText, type Session } from './session.ts'
import { type DatasetOutput, type NamedCheck, writeParquet } from './write-parquet.ts'

const FACTS: readonly CnesFacts[] = [
  'facilities',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
]

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
  const built = new Map<CnesFacts, DatasetOutput[]>()
  /** @returns municipalities that are in more than one state */
  const build = async (own: Session, datasets: readonly CnesFacts[]): Promise<number> => {
    const violations: number[] = []
    for (const dataset of datasets) {
      const outputs: DatasetOutput[] = []
      for (const period of cnes.datasets[dataset]?.periods ?? []) {
        const file = join(folder, dataset, `reference_period=${period}`, '*.parquet')
        await stageFacts(own, dataset, file, cnes.datasets[dataset]?.fields.map(({ name }) => name) ?? [])
        violations.push(
          await own.number(
            `SELECT count(*) FROM (
               SELECT municipality_ibge_code FROM facts_to_add GROUP BY 1 HAVING count(DISTINCT uf) > 1)`,
          ),
        )
        for (const names of groupNames(dataset))
          outputs.push(...(await writeGroup(own, staging, names, period)))
      }
      built.set(dataset, outputs)
    }
    await own.run('DROP TABLE IF EXISTS facts_to_add; DROP TABLE IF EXISTS added_facilities')
    return violations.reduce((sum, count) => sum + count, 0)
  }
  // Services are about as much work as all the others.
  const violations = await session.all<number>([
    (own) => build(own, ['specialized_services']),
    (own) => build(own, ['facilities', 'bed_capacity', 'equipment_inventory']),
  ])
  const outputs = FACTS.flatMap((dataset) => built.get(dataset) ?? [])
  return {
    outputs,
    checks: [
      { name: 'municipality_in_one_state', violations: violations.reduce((sum, count) => sum + count, 0) },
    ],
  }
}

/** Active facilities' facts of a month, without what is not added up; each condition of a metric as a flag. */
async function stageFacts(
  session: Session,
  dataset: CnesFacts,
  file: string,
  present: readonly string[],
): Promise<void> {
  const { quantities } = measuredFields(dataset)
  const mine = PRE_AGGREGATE_NAMES.map(preAggregateOf).filter((other) => other.dataset === dataset)
  const keys = new Set(mine.flatMap(keyColumns))
  const conditions = new Map(
    mine
      .flatMap(storedMeasures)
      .flatMap(({ where }) => where)
      .map((condition) => [flagOf(condition), conditionSql(condition)]),
  )
  const columns = [
    'CAST(cnes_code AS INTEGER) AS cnes',
    ...[...keys, ...quantities].map(quoteName),
    ...[...conditions].map(([flag, condition]) => `coalesce(${condition}, false) AS ${quoteName(flag)}`),
  ]
  await session.run(
    `CREATE OR REPLACE TEMP TABLE facts_to_add AS
     SELECT ${columns.join(', ')}
     FROM (SELECT ${selectList(dataset, present)} FROM read_parquet(${quoteText(file)}, hive_partitioning = false))
     WHERE is_active`,
  )
}

/** Pre-aggregates of a dataset, those together that have the same keys beside what a facility has one of. */
function groupNames(dataset: CnesFacts): PreAggregateName[][] {
  const mine = PRE_AGGREGATE_NAMES.filter((name) => preAggregateOf(name).dataset === dataset)
  return [...groupBy(mine, (name) => factColumns(preAggregateOf(name)).join()).values()]
}

/**
 * First one row a facility and key, so that facilities are counted by adding; then one row a key. Where no facility has two facts
 * of a key, its facts are counted straight away.
 */
async function writeGroup(
  session: Session,
  staging: string,
  names: readonly PreAggregateName[],
  period: number,
): Promise<DatasetOutput[]> {
  const group = names.map(preAggregateOf)
  const once = group.every(hasFacilityOnce)
  if (!once) {
    const keys = ['cnes', ...new Set(group.flatMap(factColumns))].map(quoteName)
    const ofFacility = new Set(group.flatMap(keyColumns).filter((key) => !keys.includes(quoteName(key))))
    const measures = new Map(group.flatMap(storedMeasures).map((measure) => [measure.column, measure]))
    await session.run(
      `CREATE OR REPLACE TEMP TABLE added_facilities AS
       SELECT ${[
         ...keys,
         ...[...ofFacility].map((key) => `any_value(${quoteName(key)}) AS ${quoteName(key)}`),
         ...[...measures].map(([column, measure]) => `${measureSql(measure, false)} AS ${quoteName(column)}`),
       ].join(', ')}
       FROM facts_to_add GROUP BY ${keys.join(', ')}`,
    )
  }
  const outputs: DatasetOutput[] = []
  for (const name of names) outputs.push(await writePreAggregate(session, staging, name, period, once))
  return outputs
}

/** @param once from facts_to_add; else from added_facilities */
function writePreAggregate(
  session: Session,
  staging: string,
  name: PreAggregateName,
  period: number,
  once: boolean,
): Promise<DatasetOutput> {
  return writeAddedUp(session, staging, name, period, {
    from: once ? 'facts_to_add' : 'added_facilities',
    value: (measure) => (once ? measureSql(measure, true) : `sum(${quoteName(measure.column)})`),
  })
}

function writeAddedUp(
  session: Session,
  staging: string,
  name: PreAggregateName,
  period: number,
  { from, value }: { readonly from: string; readonly value: (measure: StoredMeasure) => string },
): Promise<DatasetOutput> {
  const preAggregate = preAggregateOf(name)
  const stored = storedMeasures(preAggregate)
  const keys = keyColumns(preAggregate)
  const keyList = keys.map(quoteName).join(', ')
  const measures = stored.map((measure) => `${value(measure)} AS ${quoteName(measure.column)}`)
  return writeParquet(
    session,
    staging,
    {
      name,
      key: keys,
      columns: [
        ...preAggregate.keys.map((code) => {
          const { column, integer }: Dimension = dimensionOf(code)
          return { name: column, type: integer === true ? 'INTEGER' : 'VARCHAR' }
        }),
        ...stored.map(({ column }) => ({ name: column, type: 'BIGINT' })),
      ],
      order: keys,
    },
    period,
    `SELECT ${[keyList, ...measures].join(', ')} FROM ${from} GROUP BY ${keyList}`,
  )
}

/**
 * Flows are sums alone, so no facility is counted. A release of an earlier version may lack a column: what is added up by it is not
 * made, and questions about it are answered from the facts, where the column reads as null.
 * @param tables those of the release @param folder of the release, or of what will become it
 */
export async function buildFlowPreAggregates(
  session: Session,
  staging: string,
  tables: readonly AddedUpTable[],
  folder: string,
  manifest: Manifest,
): Promise<DatasetOutput[]> {
  const built = await session.all(
    tables.map((dataset) => async (own: Session): Promise<DatasetOutput[]> => {
      const outputs: DatasetOutput[] = []
      const { periods = [], fields = [] } = manifest.datasets[dataset] ?? {}
      const stored = new Set(fields.map(({ name }) => name))
      const made = PRE_AGGREGATE_NAMES.filter((name) => {
        const preAggregate = preAggregateOf(name)
        const needed = [
          ...keyColumns(preAggregate),
          ...storedMeasures(preAggregate).map(({ field }) => field ?? ''),
        ]
        return preAggregate.dataset === dataset && needed.every((column) => stored.has(column))
      })
      for (const period of periods)
        for (const name of made)
          outputs.push(
            await writeAddedUp(own, staging, name, period, {
              from: `read_parquet(${quoteText(join(folder, dataset, `reference_period=${period}`, '*.parquet'))}, hive_partitioning = false)`,
              value: ({ field }) => `sum(${quoteName(field ?? '')})`,
            }),
          )
      return outputs
    }),
  )
  return built.flat()
}

/** Of one facility and key; of a key where a facility is in it once. @param once the latter */
function measureSql({ kind, field, where }: StoredMeasure, once: boolean): string {
  const filter = where.length === 0 ? '' : ` FILTER (WHERE ${where.map(flagOf).map(quoteName).join(' AND ')})`
  if (kind === 'count' || (kind === 'distinct' && once)) return `count(*)${filter}`
  if (kind === 'sum') return `coalesce(sum(${quoteName(field ?? '')})${filter}, 0)`
  return `CASE WHEN count(*)${filter} > 0 THEN 1 ELSE 0 END`
}

const flagOf = (condition: Condition): string => `meets${nameCondition(condition)}`

function conditionSql(condition: Condition): string {
  if ('above' in condition) return `${quoteName(condition.field)} > ${condition.above}`
  if ('equals' in condition) return `${quoteName(condition.field)} = ${quoteText(condition.equals)}`
  if ('oneOf' in condition)
    return `${quoteName(condition.field)} IN (${condition.oneOf.map(quoteText).join(', ')})`
  if ('flag' in condition) return quoteName(condition.flag)
  if ('anyFlag' in condition) return `(${condition.anyFlag.map(quoteName).join(' OR ')})`
  if ('outsourced' in condition)
    // The common characteristic of all declarations, 3 where they differ: 2 or 3 where one of them is.
    return "characteristic_code IN ('2', '3')"
  throw new TypeError('population is in no pre-aggregate')
}
