/** Loads what the pages of releases show: the list, and the manifest of one release with where its files were fetched. */

import type { Manifest as CompleteManifest } from '../../answers/releases.ts'
import type { Answer, ReleaseInfo } from '../api.ts'
import type { LoadContext } from '../page.ts'
import type { FetchedFile } from '../parts/acquisitions.tsx'

/** The parts of a manifest that the page shows. */
export type Manifest = Pick<
  CompleteManifest,
  | 'release_id'
  | 'area'
  | 'month'
  | 'synthetic'
  | 'importer_version'
  | 'duckdb_version'
  | 'catalog_version'
  | 'components'
  | 'coverage'
  | 'set_aside'
  | 'checks'
  | 'snapshots'
  | 'files'
>

export interface ReleasesData {
  readonly releases: readonly ReleaseInfo[]
  readonly manifest: Manifest | null
  readonly acquisitions: readonly FetchedFile[]
}

export async function loadReleases(
  { api }: LoadContext,
  { id = '' }: Readonly<Record<string, string>>,
): Promise<ReleasesData> {
  const list = await api.get<Answer<readonly ReleaseInfo[]>>('/v1/releases')
  // By default, show the registry release in service, which everything else is counted from.
  const shown = id || list.data.find(({ area, promoted }) => area === 'cnes' && promoted)?.release_id
  const response =
    shown === undefined
      ? null
      : await api.get<
          Answer<Manifest> & { readonly meta: { readonly acquisitions: readonly FetchedFile[] } }
        >(`/v1/releases/${shown}`)
  return {
    releases: list.data,
    manifest: response === null ? null : keepShown(response.data),
    acquisitions: (response?.meta.acquisitions ?? []).map(
      ({ file, url, retrieved_at, server_time, bytes, sha256 }) => ({
        file,
        url,
        retrieved_at,
        server_time,
        bytes,
        sha256,
      }),
    ),
  }
}

/** Keeps the parts that the page shows. Names and types of all columns would make the page many times larger. */
const keepShown = ({ release_id, area, month, synthetic, ...rest }: Manifest): Manifest => ({
  release_id,
  area,
  month,
  synthetic,
  importer_version: rest.importer_version,
  duckdb_version: rest.duckdb_version,
  catalog_version: rest.catalog_version,
  components: rest.components,
  coverage: rest.coverage,
  set_aside: rest.set_aside,
  checks: rest.checks,
  snapshots: rest.snapshots,
  files: rest.files.filter(({ path, rows }) => path.startsWith('set_aside/') && rows > 0),
})
