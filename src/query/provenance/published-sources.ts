/** Finds the location of a published row: file, archive, digest, and the column under its published name. Pure. */
import type { Row } from '../../engine/types.ts'
import type { Snapshot } from '../../release/manifest.ts'
import { type AcquiredFiles, componentManifests, type ReleaseView } from '../../release/view.ts'

export interface ProvenanceSource {
  readonly publisher: string
  readonly file: string
  readonly archive: string | null
  readonly sha256: string
  /** Row of the file, where the header is row 1; the line number in a file without header. */
  readonly row: number
  readonly column: string
}

interface PublishedFiles {
  readonly snapshots: ReadonlyMap<string, Snapshot>
  /** File → its published columns, and the published names of columns that the importer renames. */
  readonly headers: ReadonlyMap<
    string,
    { readonly columns: ReadonlySet<string>; readonly renamed: Readonly<Record<string, string>> }
  >
}

/** Cache. A view never changes, and a release may have thousands of files. */
const FILES_BY_VIEW = new WeakMap<ReleaseView, PublishedFiles>()

function filesOf(view: ReleaseView): PublishedFiles {
  const cached = FILES_BY_VIEW.get(view)
  if (cached !== undefined) return cached
  const snapshots = new Map<string, Snapshot>()
  const headers = new Map<
    string,
    { columns: ReadonlySet<string>; renamed: Readonly<Record<string, string>> }
  >()
  for (const manifest of componentManifests(view)) {
    for (const snapshot of manifest.snapshots)
      if (!snapshots.has(snapshot.file)) snapshots.set(snapshot.file, snapshot)
    for (const { files, columns, renamed } of manifest.headers ?? [])
      for (const file of files) headers.set(file, { columns: new Set(columns), renamed })
  }
  const files = { snapshots, headers }
  FILES_BY_VIEW.set(view, files)
  return files
}

/** @returns whether the file has the column; true for releases made before headers were recorded */
export function hasColumn(view: ReleaseView, file: unknown, column: string): boolean {
  const header = filesOf(view).headers.get(String(file))
  return header === undefined || header.columns.has(header.renamed[column] ?? column)
}

/** @returns where and when the files of sources were fetched, each file once, as far as that was recorded */
export function acquisitionsOf(
  view: ReleaseView,
  sources: Iterable<ProvenanceSource | null>,
): AcquiredFiles['files'] {
  if (view.acquired === undefined) return []
  const digests = new Map<string, string | null>()
  for (const source of sources) {
    // Facts are of the file that was fetched. The digest of a source in an archive is that of the member.
    if (source?.archive != null) digests.set(source.archive.split('/')[0] ?? '', null)
    else if (source !== null) digests.set(source.file, source.sha256)
  }
  return view.acquired.files.filter(({ file, sha256 }) => {
    const digest = digests.get(file)
    return digest !== undefined && (digest === null || sha256 === null || sha256 === digest)
  })
}

/** @returns location of a published row; null when its file is not a snapshot of the release */
export function sourceOf(view: ReleaseView, row: Row, column: string): ProvenanceSource | null {
  const { snapshots, headers } = filesOf(view)
  const file = row.source_file
  const snapshot = file === null || file === undefined ? undefined : snapshots.get(String(file))
  if (snapshot === undefined) return null
  return {
    publisher: snapshot.publisher,
    file: snapshot.file,
    archive: snapshot.archive?.file ?? null,
    sha256: snapshot.sha256,
    row: Number(row.source_row),
    column: headers.get(snapshot.file)?.renamed[column] ?? column,
  }
}
