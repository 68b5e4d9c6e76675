/**
 * Everything `sus-data verify` says of a release: the digests (release/verify.ts), then, with DuckDB, that every file has
 * the rows and columns its manifest states, in key order, without a key twice. In: folder and id. Out: nothing, or a
 * ReleaseRefused that names the first file and reason.
 */
import { join } from 'node:path'
import type { Manifest } from '../release/manifest.ts'
import { ReleaseRefused, verifyRelease } from '../release/verify.ts'
import { openSession, quoteName, quoteText } from './session.ts'

/** @throws ReleaseRefused */
export async function checkRelease(releasesDir: string, id: string, scratch: string): Promise<Manifest> {
  const manifest = await verifyRelease(releasesDir, id)
  for (const part of Object.values(manifest.components)) await verifyRelease(releasesDir, part)
  const failed = manifest.checks.find(({ violations }) => violations !== 0)
  if (failed !== undefined)
    throw new ReleaseRefused(id, 'manifest.json', `records the failed check ${failed.name}`)
  const session = await openSession({ scratch })
  try {
    for (const file of manifest.files) {
      const dataset = file.path.split('/')[0] ?? ''
      const declared = manifest.datasets[dataset]
      if (declared === undefined)
        throw new ReleaseRefused(id, file.path, 'belongs to no dataset of the manifest')
      const source = `read_parquet(${quoteText(join(releasesDir, id, file.path))}, hive_partitioning = false)`
      const columns = (await session.rows(`DESCRIBE SELECT * FROM ${source}`)).map((row) =>
        String(row.column_name),
      )
      const unknown = columns.find((column) => !declared.fields.some(({ name }) => name === column))
      if (unknown !== undefined)
        throw new ReleaseRefused(
          id,
          file.path,
          `has the column ${unknown}, which the manifest does not declare`,
        )
      const rows = await session.number(`SELECT count(*) FROM ${source}`)
      if (rows !== file.rows)
        throw new ReleaseRefused(id, file.path, `has ${rows} rows where the manifest says ${file.rows}`)
      // Provenance lists every row of a key; all other tables have a key once.
      if (dataset.endsWith('_provenance') || dataset === 'set_aside') continue
      const key = declared.key.map(quoteName).join(', ')
      if (
        (await session.number(
          `SELECT count(*) FROM (SELECT 1 FROM ${source} GROUP BY ${key} HAVING count(*) > 1)`,
        )) > 0
      )
        throw new ReleaseRefused(id, file.path, 'holds a key twice')
    }
    return manifest
  } finally {
    session.close()
  }
}
