/**
 * Everything `sus-data verify` says of a release: the digests (release/verify.ts), then, with DuckDB, that every file has
 * the rows and columns its manifest states, in key order, without a key twice. In: folder and id. Out: nothing, or a
 * ReleaseRefused that names the first file and reason.
 */
import { join } from 'node:path'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ReleaseRefused, verifyRelease } from '../release/verify.ts'
import { openSession, quoteText, type Session } from './session.ts'
import { countDisorder } from './write-parquet.ts'

/** @throws ReleaseRefused */
export async function checkRelease(releasesDir: string, id: string, scratch: string): Promise<Manifest> {
  const manifest = await verifyRelease(releasesDir, id)
  for (const part of Object.values(manifest.components)) await verifyRelease(releasesDir, part)
  const failed = manifest.checks.find(({ violations }) => violations !== 0)
  if (failed !== undefined)
    throw new ReleaseRefused(id, 'manifest.json', `records the failed check ${failed.name}`)
  const session = await openSession({ scratch })
  try {
    // All are looked at, so that the first file that fails is named whichever is read first.
    const problems = await session.all(
      manifest.files.map((file) => (own: Session) => findProblem(own, releasesDir, manifest, file)),
    )
    for (const [index, problem] of problems.entries())
      if (problem !== null) throw new ReleaseRefused(id, manifest.files[index]?.path ?? '', problem)
    return manifest
  } finally {
    session.close()
  }
}

/** @returns what is wrong with a file; null where it is as its manifest says */
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
  const unknown = columns.find((column) => !declared.fields.some(({ name }) => name === column))
  if (unknown !== undefined) return `has the column ${unknown}, which the manifest does not declare`
  const rows = await session.number(`SELECT count(*) FROM ${source}`)
  if (rows !== file.rows) return `has ${rows} rows where the manifest says ${file.rows}`
  if (dataset.startsWith('set_aside')) return null
  // Provenance lists every row of a key; all other tables have a key once.
  const order = dataset.endsWith('_provenance')
    ? [...declared.key, 'source_file', 'source_row']
    : declared.key
  const wrong = await countDisorder(session, source, order)
  return wrong > 0 ? `has ${wrong} rows that are out of the order of their key, or repeat it` : null
}
