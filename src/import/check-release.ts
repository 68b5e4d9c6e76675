/**
 * Implements `sus-data verify`. It checks the digests (release/verify.ts), then uses DuckDB to check each file against its
 * manifest: rows, columns, key order and unique keys. A failed check throws ReleaseRefused with the first file and reason.
 */
import { join } from 'node:path'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ReleaseRefused, verifyRelease } from '../release/verify.ts'
import { openSession, quoteText, type Session } from './session.ts'
import { countDisorder } from './write-parquet.ts'

/** @throws ReleaseRefused */
export async function checkRelease(releasesDir: string, id: string, scratch: string): Promise<Manifest> {
  const manifest = await verifyRelease(releasesDir, id)
  for (const componentId of Object.values(manifest.components)) await verifyRelease(releasesDir, componentId)
  const failed = manifest.checks.find(({ violations }) => violations !== 0)
  if (failed !== undefined)
    throw new ReleaseRefused(id, 'manifest.json', `records the failed check ${failed.name}`)
  const session = await openSession({ scratch })
  try {
    // Check all files before reporting, so that the reported file does not depend on timing.
    const problems = await session.all(
      manifest.files.map(
        (file) => (laneSession: Session) => findProblem(laneSession, releasesDir, manifest, file),
      ),
    )
    for (const [index, problem] of problems.entries())
      if (problem !== null) throw new ReleaseRefused(id, manifest.files[index]?.path ?? '', problem)
    return manifest
  } finally {
    session.close()
  }
}

async function findProblem(
  session: Session,
  releasesDir: string,
  manifest: Manifest,
  file: ManifestFile,
): Promise<string | null> {
  const dataset = file.path.split('/')[0] ?? ''
  const declared = manifest.datasets[dataset]
  if (declared === undefined) return 'belongs to no dataset of the manifest'
  const source = `read_parquet(${quoteText(join(releasesDir, manifest.release_id, file.path))}, hive_partitioning = false)`
  const columns = (await session.rows(`DESCRIBE SELECT * FROM ${source}`)).map((row) =>
    String(row.column_name),
  )
  const undeclared = columns.find((column) => !declared.fields.some(({ name }) => name === column))
  if (undeclared !== undefined) return `has the column ${undeclared}, which the manifest does not declare`
  const rows = await session.number(`SELECT count(*) FROM ${source}`)
  if (rows !== file.rows) return `has ${rows} rows where the manifest says ${file.rows}`
  if (dataset.startsWith('set_aside')) return null
  // Provenance tables list every source row of a key. All other tables have unique keys.
  const order = dataset.endsWith('_provenance')
    ? [...declared.key, 'source_file', 'source_row']
    : declared.key
  const misplaced = await countDisorder(session, source, order)
  return misplaced > 0 ? `has ${misplaced} rows that are out of the order of their key, or repeat it` : null
}
