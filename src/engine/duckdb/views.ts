/**
 * Defines the datasets of a release as views over their Parquet files. Input: a verified release and the releases folder. Output:
 * CREATE statements for one schema. Besides the view of all periods, every partition has its own, so that a statement on one period
 * never opens the other files.
 */
import { join } from 'node:path'
import { AREAS_BY_NEED } from '../../model/areas.ts'
import { selectList } from '../../model/stored-columns.ts'
import type { Manifest } from '../../release/manifest.ts'
import { componentManifests, type ReleaseView } from '../../release/view.ts'
import { quoteName, quoteText } from '../../sql.ts'

export { quoteName, quoteText }

export const viewName = (schema: string, dataset: string, period: number | null): string =>
  `${quoteName(schema)}.${quoteName(period === null ? dataset : `${dataset}__${period}`)}`

export interface ViewStatement {
  readonly sql: string
  /** release/dataset that the statement reads, for error messages. */
  readonly reads: string
}

export function createViewStatements(
  schema: string,
  release: ReleaseView,
  releasesDir: string,
): ViewStatement[] {
  const statements: ViewStatement[] = [{ sql: `CREATE SCHEMA ${quoteName(schema)}`, reads: release.id }]
  const manifests = [...componentManifests(release), release.analytics]
  const shared = sharedLists(manifests)
  for (const [dataset, holders] of shared)
    statements.push({
      sql: `CREATE VIEW ${viewName(schema, dataset, null)} AS ${unionOfLists(dataset, holders, (manifest) => filesOf(manifest, dataset, releasesDir))}`,
      reads: holders.map(({ release_id }) => `${release_id}/${dataset}`).join(' and '),
    })
  for (const manifest of manifests) {
    for (const [dataset, entry] of Object.entries(manifest.datasets)) {
      if (shared.has(dataset)) continue
      const reads = `${manifest.release_id}/${dataset}`
      const files = filesOf(manifest, dataset, releasesDir)
      const columns = selectList(
        dataset,
        entry.fields.map(({ name }) => name),
      )
      if (entry.periods.length === 0) {
        statements.push({ sql: createView(schema, dataset, null, files, columns, false), reads })
        continue
      }
      statements.push({ sql: createView(schema, dataset, null, files, columns, true), reads })
      for (const period of entry.periods) {
        const periodFiles = files.filter((file) => file.includes(`reference_period=${period}`))
        statements.push({ sql: createView(schema, dataset, period, periodFiles, columns, true), reads })
      }
    }
  }
  return statements
}

/** @returns code lists that several releases hold, as admissions and production both hold procedures */
export function sharedLists(manifests: readonly Manifest[]): Map<string, Manifest[]> {
  const holders = new Map<string, Manifest[]>()
  for (const manifest of manifests)
    for (const dataset of Object.keys(manifest.datasets))
      holders.set(dataset, [...(holders.get(dataset) ?? []), manifest])
  return new Map([...holders].filter(([, holders]) => holders.length > 1))
}

/**
 * @param manifests of the releases that hold the list @param filesOf returns the list's files in one of them
 * @returns SELECT of each code once, preferring a row with a name, then the area that comes first
 */
export function unionOfLists(
  dataset: string,
  manifests: readonly Manifest[],
  filesOf: (manifest: Manifest) => readonly string[],
): string {
  const ordered = AREAS_BY_NEED.flatMap((area) => manifests.filter((manifest) => manifest.area === area))
  const lists = ordered.map((manifest, index) => {
    const columns = selectList(dataset, manifest.datasets[dataset]?.fields.map(({ name }) => name) ?? [])
    return `SELECT ${columns}, ${index} AS place FROM read_parquet([${filesOf(manifest).map(quoteText).join(', ')}], ${fileOptions(false)})`
  })
  const { key = [], fields = [] } = ordered[0]?.datasets[dataset] ?? {}
  const names = fields.filter(({ name }) => name.endsWith('_name')).map(({ name }) => quoteName(name))
  const order = [...names.map((name) => `${name} IS NULL`), 'place'].join(', ')
  return `SELECT * EXCLUDE (place) FROM (${lists.join(' UNION ALL BY NAME ')})
    QUALIFY row_number() OVER (PARTITION BY ${key.map(quoteName).join(', ')} ORDER BY ${order}) = 1`
}

function filesOf(manifest: Manifest, dataset: string, releasesDir: string): string[] {
  return manifest.files
    .filter((file) => file.path.startsWith(`${dataset}/`))
    .map((file) => join(releasesDir, manifest.release_id, file.path))
}

const FILES_READ = new WeakMap<ReleaseView, Map<string, readonly string[]>>()

/** Adds the files that a view of `createViewStatements` reads to a set. @param releasesDir absolute path */
export function addFilesRead(
  reads: Set<string>,
  release: ReleaseView,
  releasesDir: string,
  dataset: string,
  period: number | null,
): void {
  const filesByView = FILES_READ.get(release) ?? new Map<string, readonly string[]>()
  FILES_READ.set(release, filesByView)
  const name = `${dataset} ${period}`
  let files = filesByView.get(name)
  if (files === undefined) {
    files = [...componentManifests(release), release.analytics]
      .flatMap((manifest) => filesOf(manifest, dataset, releasesDir))
      .filter((file) => period === null || file.includes(`reference_period=${period}`))
    filesByView.set(name, files)
  }
  for (const file of files) reads.add(file)
}

function createView(
  schema: string,
  dataset: string,
  period: number | null,
  files: string[],
  columns: string,
  periodic: boolean,
): string {
  // file_row_number is the position of a row in its partition, which is sorted by key.
  const options = `file_row_number = true, ${fileOptions(periodic)}`
  return `CREATE VIEW ${viewName(schema, dataset, period)} AS SELECT ${columns} FROM read_parquet([${files.map(quoteText).join(', ')}], ${options})`
}

/** Options of read_parquet for a dataset's files. @param periodic the dataset has a folder per month */
export const fileOptions = (periodic: boolean): string =>
  // Provenance tables keep the published columns, which differ between file families, so union by name.
  periodic
    ? "hive_partitioning = true, hive_types = {'reference_period': INTEGER}, union_by_name = true"
    : 'hive_partitioning = false'
