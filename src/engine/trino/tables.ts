/**
 * Maps a release to Trino tables: one schema per component release, with external tables over the existing files. Input: manifests.
 * Output: names, statements that create and drop the tables, and relations that statements read. Only tables that plans aggregate
 * are included: facts, residents, the list of municipalities, pre-aggregates.
 */
import { FACT_DATASETS } from '../../model/dimensions.ts'
import { PRE_AGGREGATE_NAMES } from '../../model/pre-aggregates.ts'
import { columnsAsStored } from '../../model/stored-columns.ts'
import type { Manifest } from '../../release/manifest.ts'
import { manifestsOf, type ReleaseView } from '../../release/view.ts'
import { quoteText } from '../../sql.ts'

const TABLES: ReadonlySet<string> = new Set<string>([
  ...FACT_DATASETS,
  'municipalities',
  ...PRE_AGGREGATE_NAMES,
])

const quote = (name: string): string => `"${name}"`

/** The schema of a release: its id in characters that every metastore accepts. */
export const schemaOf = (releaseId: string): string => releaseId.replaceAll('-', '_')

export const tablesOf = ({ datasets }: Manifest): string[] =>
  Object.keys(datasets).filter((name) => TABLES.has(name))

/** @returns a function that gives a dataset, or some of its months, as quoted SQL @param catalog letters, digits and _ */
export function trinoRelation(catalog: string, release: ReleaseView) {
  return (dataset: string, periods: readonly number[] | null): string => {
    const holders = manifestsOf(release).filter(({ datasets }) => datasets[dataset] !== undefined)
    const [manifest] = holders
    if (manifest === undefined || holders.length > 1 || !TABLES.has(dataset))
      throw new TypeError(`${dataset} is no table of one release in Trino`)
    const months = periods === null ? '' : ` WHERE reference_period IN (${periods.join(', ')})`
    const stored = manifest.datasets[dataset]?.fields.map(({ name }) => name) ?? []
    const isPeriodic = (manifest.datasets[dataset]?.periods.length ?? 0) > 0
    const columns = columnsAsStored(dataset, isPeriodic ? [...stored, 'reference_period'] : stored).map(
      ({ name, from, type }) =>
        from === null
          ? `CAST(NULL AS ${trinoType(type)}) AS ${quote(name)}`
          : from === name
            ? quote(name)
            : `${quote(from)} AS ${quote(name)}`,
    )
    return `(SELECT ${columns.join(', ')} FROM ${quote(catalog)}.${quote(schemaOf(manifest.release_id))}.${quote(dataset)}${months})`
  }
}

const SCALARS: Readonly<Record<string, string>> = {
  VARCHAR: 'varchar',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  BOOLEAN: 'boolean',
  DOUBLE: 'double',
  DATE: 'date',
}

/** @param type in DuckDB's notation: a scalar, a DECIMAL, a STRUCT of scalars, or a list of either @throws TypeError for others */
export function trinoType(type: string): string {
  if (type.endsWith('[]')) return `array(${trinoType(type.slice(0, -2))})`
  const struct = /^STRUCT\((.*)\)$/.exec(type)?.[1]
  if (struct !== undefined)
    return `row(${struct
      .split(', ')
      .map((member) => {
        const [name = '', memberType = ''] = member.split(' ')
        return `${quote(name.replaceAll('"', ''))} ${trinoType(memberType)}`
      })
      .join(', ')})`
  if (/^DECIMAL\(\d+, ?\d+\)$/.test(type)) return type.toLowerCase()
  const scalar = SCALARS[type]
  if (scalar === undefined) throw new TypeError(`${type} has no type in Trino`)
  return scalar
}

export interface TableStatements {
  readonly table: string
  readonly create: string
  /** Registers the table's months; null for a table without months. */
  readonly synchronise: string | null
}

/** @param location releases folder as Trino reaches it, without a trailing / */
export function createStatements(
  manifest: Manifest,
  catalog: string,
  location: string,
): { readonly schema: string; readonly tables: readonly TableStatements[] } {
  const schema = schemaOf(manifest.release_id)
  const qualified = `${quote(catalog)}.${quote(schema)}`
  const folder = `${location}/${manifest.release_id}`
  return {
    schema: `CREATE SCHEMA IF NOT EXISTS ${qualified}`,
    tables: tablesOf(manifest).map((table) => {
      const { fields = [], periods = [] } = manifest.datasets[table] ?? {}
      const storedFields = fields.filter(({ name }) => name !== 'reference_period')
      const columns = storedFields.map(({ name, type }) => `${quote(name)} ${trinoType(type)}`)
      const isPeriodic = periods.length > 0
      if (isPeriodic) columns.push('"reference_period" integer')
      const options = [
        `external_location = ${quoteText(`${folder}/${table}`)}`,
        "format = 'PARQUET'",
        ...(isPeriodic ? ["partitioned_by = ARRAY['reference_period']"] : []),
      ]
      return {
        table,
        create: `CREATE TABLE IF NOT EXISTS ${qualified}.${quote(table)} (${columns.join(', ')}) WITH (${options.join(', ')})`,
        synchronise: isPeriodic
          ? `CALL ${quote(catalog)}.system.sync_partition_metadata(${quoteText(schema)}, ${quoteText(table)}, 'FULL')`
          : null,
      }
    }),
  }
}

/** Drops the schema only; the files remain, because the tables are external. */
export const dropStatement = (releaseId: string, catalog: string): string =>
  `DROP SCHEMA IF EXISTS ${quote(catalog)}.${quote(schemaOf(releaseId))} CASCADE`

/**
 * Name of a view that marks a schema as completely registered. Without it, a table whose months are not yet registered would read
 * as empty.
 */
const COMPLETE_MARK = 'registered'
export const completeStatement = (releaseId: string, catalog: string): string =>
  `CREATE OR REPLACE VIEW ${quote(catalog)}.${quote(schemaOf(releaseId))}.${quote(COMPLETE_MARK)} SECURITY INVOKER AS SELECT true AS is_whole`

/** @returns statement for schemas that have tables, and whether each is complete */
export const schemasStatement = (catalog: string): string =>
  `SELECT table_schema, bool_or(table_name = ${quoteText(COMPLETE_MARK)}) FROM ${quote(catalog)}.information_schema.tables WHERE table_schema <> 'information_schema' GROUP BY table_schema`

export const filesStatement = (releaseId: string, catalog: string, table: string): string =>
  `SELECT "$path", "$file_size", count(*) FROM ${quote(catalog)}.${quote(schemaOf(releaseId))}.${quote(table)} GROUP BY 1, 2`
