/**
 * Fetches documents: answers of APIs and files with fixed addresses. They have no listing, so a local one is fetched again only after
 * a month. If documents are alternatives, the first one that the publisher has is fetched.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../settings.ts'
import type { FileStatus } from './fetch.ts'
import { fetchPages, pagePath, presentPages } from './pages.ts'
import { PUBLISHER, publicAddress } from './publishers.ts'
import type { Snapshots } from './snapshots.ts'
import { type TransferOptions, transferFile } from './transfer.ts'
import { type Document, type DocumentSource, NotThere, type Remote } from './types.ts'

/** Age at which a document is fetched again. */
const REFRESH_MS = 30 * 24 * 3_600_000

export interface DocumentContext {
  readonly source: DocumentSource
  readonly remote: Remote
  readonly snapshots: Snapshots
  readonly into: string
  readonly settings: Settings
  /** True if a folder takes the server's place: files have the paths of the snapshots there. */
  readonly isFolder: boolean
  readonly transfer: TransferOptions
  readonly report: (path: string, status: FileStatus, bytes: number | null) => void
}

/** @throws NotThere if the publisher has none of the alternatives */
export async function fetchDocument(documents: readonly Document[], context: DocumentContext): Promise<void> {
  let missing: NotThere | null = null
  for (const document of documents)
    try {
      await fetchOne(document, context)
      return
    } catch (error) {
      if (!(error instanceof NotThere)) throw error
      missing = error
    }
  throw documents.length > 1
    ? new NotThere(documents[0]?.anyOf ?? '')
    : (missing ?? new NotThere(documents[0]?.path ?? ''))
}

async function fetchOne(document: Document, context: DocumentContext): Promise<void> {
  const { source, remote, snapshots, into, settings, transfer, report } = context
  const { publisher } = source
  const local = join(into, publisher, document.path)
  const base = {
    url: `${publicAddress(PUBLISHER[publisher].addressOf(settings))}${document.address}`,
    publisher: PUBLISHER[publisher].name,
    listed: { bytes: null, time: null },
    listAgain: null,
  }
  const isPaged = document.isPaged === true && !context.isFolder
  const paths = isPaged ? presentPages(local) : document.isPaged === true ? [pagePath(local, 1)] : [local]
  const isFresh = paths.length > 0 && paths.every((path) => isRecent(path, snapshots))
  if (isFresh) {
    for (const path of paths)
      report(path.slice(into.length + 1), 'present', snapshots.recordOf(path)?.bytes ?? null)
    return
  }
  if (isPaged) {
    const { paths: pages, stored } = await fetchPages(
      remote,
      snapshots,
      { ...base, address: document.address, local },
      transfer,
    )
    for (const path of pages)
      report(path.slice(into.length + 1), stored, snapshots.recordOf(path)?.bytes ?? null)
    return
  }
  const [path = local] = paths
  const address = context.isFolder ? `/${path.slice(join(into, publisher).length + 1)}` : document.address
  const stored = await transferFile(remote, snapshots, { ...base, address, local: path }, transfer)
  report(path.slice(into.length + 1), stored, snapshots.recordOf(path)?.bytes ?? null)
}

function isRecent(path: string, snapshots: Snapshots): boolean {
  const { retrieved_at: at } = snapshots.recordOf(path) ?? { retrieved_at: null }
  if (at === null || !existsSync(path)) return false
  const age = Date.now() - Date.parse(at)
  // A time in the future comes from a wrong clock.
  return age >= 0 && age < REFRESH_MS
}
