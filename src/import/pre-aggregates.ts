/**
 * Builds the pre-aggregates of an analytics release from the facts of its cnes, sih and sia releases: one Parquet file per month
 * and pre-aggregate, with its manifest entry. The planner assumes that each municipality lies in one state, so an import that
 * violates this fails. All sums are over integers, so equal facts give equal bytes in any read order.
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

/** @param folder folder of the cnes release, which may still be the staging folder */
export async function buildPreAggregates(
  session: Session,
  staging: string,
  folder: string,
  cnes: Manifest,
): Promise<BuiltPreAggregates> {
  const built = new Map<CnesFacts, DatasetOutput[]>()
  /** @returns number of municipalities in more than one state */
  const build = async (laneSession: Session, datasets: readonly CnesFacts[]): Promise<number> => {
    const violations: number[] = []
    for (const dataset of datasets) {
      const outputs: DatasetOutput[] = []
      for (const period of cnes.datasets[dataset]?.periods ?? []) {
        const file = join(folder, dataset, `reference_period=${period}`, '*.parquet')
        await stageFacts(
          laneSession,
          dataset,
          file,
          cnes.datasets[dataset]?.fields.map(({ name }) => name) ?? [],
        )
        violations.push(
          await laneSession.number(
            `SELECT count(*) FROM (
               SELECT municipality_ibge_code FROM facts_to_add GROUP BY 1 HAVING count(DISTINCT uf) > 1)`,
          ),
        )
        for (const names of groupNames(dataset))
          outputs.push(...(await writeGroup(laneSession, staging, names, period)))
      }
      built.set(dataset, outputs)
    }
    await laneSession.run('DROP TABLE IF EXISTS facts_to_add; DROP TABLE IF EXISTS added_facilities')
    return violations.reduce((sum, count) => sum + count, 0)
  }
  // Use two lanes: services take about as long as the other three datasets together.
  const violations = await session.all<number>([
    (laneSession) => build(laneSession, ['specialized_services']),
    (laneSession) => build(laneSession, ['facilities', 'bed_capacity', 'equipment_inventory']),
  ])
  const outputs = FACTS.flatMap((dataset) => built.get(dataset) ?? [])
  return {
    outputs,
    checks: [
      { name: 'municipality_in_one_state', violations: violations.reduce((sum, count) => sum + count, 0) },
    ],
  }
}

/** Stages the facts of active facilities in a month: only aggregated columns, and one flag per metric condition. */
async function stageFacts(
  session: Session,
  dataset: CnesFacts,
  file: string,
  present: readonly string[],
): Promise<void> {
  const { quantities } = measuredFields(dataset)
  const datasetPreAggregates = PRE_AGGREGATE_NAMES.map(preAggregateOf).filter(
    (other) => other.dataset === dataset,
  )
  const keys = new Set(datasetPreAggregates.flatMap(keyColumns))
  const conditions = new Map(
    datasetPreAggregates
      .flatMap(storedMeasures)
      .flatMap(({ where }) => where)
      .map((condition) => [flagName(condition), conditionSql(condition)]),
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

/** Groups the pre-aggregates of a dataset by their keys, ignoring keys with one value per facility. */
function groupNames(dataset: CnesFacts): PreAggregateName[][] {
  const datasetPreAggregates = PRE_AGGREGATE_NAMES.filter((name) => preAggregateOf(name).dataset === dataset)
  return [...groupBy(datasetPreAggregates, (name) => factColumns(preAggregateOf(name)).join()).values()]
}

/**
 * Aggregates first to one row per facility and key, then to one row per key, so that summing counts each facility once. The first
 * step is skipped if each facility has at most one fact per key.
 */
async function writeGroup(
  session: Session,
  staging: string,
  names: readonly PreAggregateName[],
  period: number,
): Promise<DatasetOutput[]> {
  const group = names.map(preAggregateOf)
  const isUnique = group.every(hasFacilityOnce)
  if (!isUnique) {
    const keys = ['cnes', ...new Set(group.flatMap(factColumns))].map(quoteName)
    const facilityKeys = new Set(group.flatMap(keyColumns).filter((key) => !keys.includes(quoteName(key))))
    const measures = new Map(group.flatMap(storedMeasures).map((measure) => [measure.column, measure]))
    await session.run(
      `CREATE OR REPLACE TEMP TABLE added_facilities AS
       SELECT ${[
         ...keys,
         ...[...facilityKeys].map((key) => `any_value(${quoteName(key)}) AS ${quoteName(key)}`),
         ...[...measures].map(([column, measure]) => `${measureSql(measure, false)} AS ${quoteName(column)}`),
       ].join(', ')}
       FROM facts_to_add GROUP BY ${keys.join(', ')}`,
    )
  }
  const outputs: DatasetOutput[] = []
  for (const name of names) outputs.push(await writePreAggregate(session, staging, name, period, isUnique))
  return outputs
}

/** @param isUnique true: each facility has at most one fact per key, so facts_to_add is read instead of added_facilities */
function writePreAggregate(
  session: Session,
  staging: string,
  name: PreAggregateName,
  period: number,
  isUnique: boolean,
): Promise<DatasetOutput> {
  return writeSums(session, staging, name, period, {
    from: isUnique ? 'facts_to_add' : 'added_facilities',
    value: (measure) => (isUnique ? measureSql(measure, true) : `sum(${quoteName(measure.column)})`),
  })
}

function writeSums(
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
 * Builds the pre-aggregates of flows, which are only sums and count no facilities. A release of an earlier version may lack a
 * column. Pre-aggregates that need it are skipped, and queries read the facts, where the column is null.
 * @param folder folder of the release, which may still be the staging folder
 */
export async function buildFlowPreAggregates(
  session: Session,
  staging: string,
  tables: readonly AddedUpTable[],
  folder: string,
  manifest: Manifest,
): Promise<DatasetOutput[]> {
  const built = await session.all(
    tables.map((dataset) => async (laneSession: Session): Promise<DatasetOutput[]> => {
      const outputs: DatasetOutput[] = []
      const { periods = [], fields = [] } = manifest.datasets[dataset] ?? {}
      const stored = new Set(fields.map(({ name }) => name))
      const supportedNames = PRE_AGGREGATE_NAMES.filter((name) => {
        const preAggregate = preAggregateOf(name)
        const needed = [
          ...keyColumns(preAggregate),
          ...storedMeasures(preAggregate).flatMap(({ field, where }) => [
            field ?? '',
            ...where.flatMap((condition) => ('field' in condition ? [condition.field] : [])),
          ]),
        ]
        return preAggregate.dataset === dataset && needed.every((column) => stored.has(column))
      })
      for (const period of periods)
        for (const name of supportedNames)
          outputs.push(
            await writeSums(laneSession, staging, name, period, {
              from: `read_parquet(${quoteText(join(folder, dataset, `reference_period=${period}`, '*.parquet'))}, hive_partitioning = false)`,
              value: sumFlow,
            }),
          )
      return outputs
    }),
  )
  return built.flat()
}

/** @returns SQL of a sum per key; rows that do not meet the conditions of the measure add nothing */
function sumFlow({ field, where }: StoredMeasure): string {
  const sum = `sum(${quoteName(field ?? '')})`
  return where.length === 0
    ? sum
    : `coalesce(${sum} FILTER (WHERE ${where.map(conditionSql).join(' AND ')}), 0)`
}

/** @returns SQL of a measure per facility and key; with `isUnique`, per key */
function measureSql({ kind, field, where }: StoredMeasure, isUnique: boolean): string {
  const filter =
    where.length === 0 ? '' : ` FILTER (WHERE ${where.map(flagName).map(quoteName).join(' AND ')})`
  if (kind === 'count' || (kind === 'distinct' && isUnique)) return `count(*)${filter}`
  if (kind === 'sum') return `coalesce(sum(${quoteName(field ?? '')})${filter}, 0)`
  return `CASE WHEN count(*)${filter} > 0 THEN 1 ELSE 0 END`
}

const flagName = (condition: Condition): string => `meets${nameCondition(condition)}`

function conditionSql(condition: Condition): string {
  if ('above' in condition) return `${quoteName(condition.field)} > ${condition.above}`
  if ('equals' in condition) return `${quoteName(condition.field)} = ${quoteText(condition.equals)}`
  if ('oneOf' in condition)
    return `${quoteName(condition.field)} IN (${condition.oneOf.map(quoteText).join(', ')})`
  if ('flag' in condition) return quoteName(condition.flag)
  if ('anyFlag' in condition) return `(${condition.anyFlag.map(quoteName).join(' OR ')})`
  if ('outsourced' in condition)
    // 2 means outsourced. 3 means that the declarations differ, so at least one of them is outsourced.
    return "characteristic_code IN ('2', '3')"
  throw new TypeError('population is in no pre-aggregate')
}
