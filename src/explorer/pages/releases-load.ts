/** Loads what the pages of releases show: the list, and the manifest of one release with where its files were fetched. */

import type { Answer, ReleaseInfo } from '../api.ts'
import type { LoadContext } from '../page.ts'
import type { FetchedFile } from '../parts/acquisitions.tsx'

export interface Manifest {
  readonly release_id: string
  readonly area: string
  readonly month: number
  readonly synthetic: boolean
  readonly importer_version: string
  readonly duckdb_version: string
  readonly catalog_version: string
  readonly coverage?: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly family: string; readonly states: 'all' | readonly string[] }>>
    >
  >
  readonly counts?: Readonly<Record<string, number>>
  readonly set_aside?: readonly { readonly file: string; readonly reason: string; readonly rows: number }[]
  readonly checks?: readonly { readonly name: string; readonly violations: number }[]
  readonly snapshots?: readonly {
    readonly publisher: string
    readonly file: string
    readonly bytes: number
    readonly sha256: string
    readonly rows?: number
    readonly archive?: { readonly file: string; readonly sha256: string }
  }[]
  readonly components: Readonly<Record<string, string>>
  readonly files: readonly { readonly path: string; readonly rows: number }[]
}

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
  ...(rest.coverage === undefined ? {} : { coverage: rest.coverage }),
  ...(rest.set_aside === undefined ? {} : { set_aside: rest.set_aside }),
  ...(rest.checks === undefined ? {} : { checks: rest.checks }),
  ...(rest.snapshots === undefined ? {} : { snapshots: rest.snapshots }),
  files: rest.files.filter(({ path, rows }) => path.startsWith('set_aside/') && rows > 0),
})
