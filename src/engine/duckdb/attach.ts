/**
 * Writes a DuckDB script that attaches a release: views over its files by HTTP. Any DuckDB can then query the same bytes that the
 * API uses. Input: manifests and file addresses. Output: SQL, without the API key.
 */
import { selectList } from '../../model/stored-columns.ts'
import type { Manifest } from '../../release/manifest.ts'
import { fileOptions, quoteName, quoteText, sharedLists, unionOfLists } from './views.ts'

/**
 * @param manifests of a release, or of an analytics release and its components
 * @param address returns the URL of a file from its release id and path
 */
export function attachScript(
  manifests: readonly Manifest[],
  address: (releaseId: string, path: string) => string,
): string {
  const [{ release_id: schema = '' } = {}] = manifests
  const filesOf = (manifest: Manifest, name: string): string[] =>
    manifest.files
      .filter(({ path }) => path.startsWith(`${name}/`))
      .map(({ path }) => address(manifest.release_id, path))
  const shared = sharedLists(manifests)
  const unions = [...shared].map(
    ([name, holders]) =>
      `CREATE OR REPLACE VIEW ${quoteName(schema)}.${quoteName(name)} AS ${unionOfLists(name, holders, (manifest) => filesOf(manifest, name))};`,
  )
  const views = manifests.flatMap((manifest) =>
    Object.entries(manifest.datasets).flatMap(([name, { fields, periods }]) => {
      if (shared.has(name)) return []
      const files = filesOf(manifest, name).map((file) => `  ${quoteText(file)}`)
      const columns = selectList(
        name,
        fields.map((field) => field.name),
      )
      return `CREATE OR REPLACE VIEW ${quoteName(schema)}.${quoteName(name)} AS SELECT ${columns} FROM read_parquet([
${files.join(',\n')}
], ${fileOptions(periods.length > 0)});`
    }),
  )
  return `-- sus-data, release ${schema}
-- DuckDB reads only the parts of the files that a query needs. First, with a key of the server:
--   CREATE SECRET sus_data (TYPE http, BEARER_TOKEN 'sus_…');
INSTALL httpfs;
LOAD httpfs;
CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)};
${[...unions, ...views].join('\n')}
USE ${quoteName(schema)};
`
}
