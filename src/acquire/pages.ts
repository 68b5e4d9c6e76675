/**
 * Fetches an answer that comes in pages (`items`, `offset`, `hasMore`), each into its own file. An API may change its data between
 * two pages, so the first page is requested again at the end; if it differs, all pages are fetched anew. The files get their names
 * only when every page is here.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { checkContainer } from './containers.ts'
import { withRetries } from './retry.ts'
import { discardOtherParts, namesIn, type Snapshots, type Stored } from './snapshots.ts'
import type { TransferOptions, TransferTask } from './transfer.ts'
import { openPart } from './transfer.ts'
import { FetchError, type Remote } from './types.ts'

/** Most pages of one answer. The largest of SICONFI have a few. */
const PAGES_MAX = 200

export const pagePath = (local: string, page: number): string => `${local}-p${page}.json`

interface Page {
  readonly part: string
  readonly items: number
  readonly hasMore: boolean
  readonly bytes: number
  readonly sha256: string
}

/**
 * @param task its local path is that of the pages without `-p1.json`
 * @returns paths of all pages, and what happened to them
 */
export function fetchPages(
  remote: Remote,
  snapshots: Snapshots,
  task: TransferTask,
  options: TransferOptions,
): Promise<{ readonly paths: string[]; readonly stored: Stored }> {
  const { patience, signal, onBytes } = options
  mkdirSync(dirname(task.local), { recursive: true })
  const request = async (offset: number, part: string): Promise<Page> => {
    const address = `${task.address}&offset=${offset}`
    await remote.transfer(address, 0, null, (start) => openPart(part, start, 0, onBytes))
    const { bytes, sha256 } = await checkContainer(part, 'page.json')
    const {
      items,
      hasMore,
      offset: sentOffset,
    } = JSON.parse(readFileSync(part, 'utf8')) as Record<string, unknown>
    if (!Array.isArray(items)) throw new FetchError('the answer has no items')
    if (typeof sentOffset === 'number' && sentOffset !== offset)
      throw new FetchError(`the answer is the page from item ${sentOffset}, not from ${offset}`)
    if (hasMore === true && items.length === 0)
      throw new FetchError('a page is empty and says that more follow')
    return { part, items: items.length, hasMore: hasMore === true, bytes, sha256 }
  }
  return withRetries(patience, signal, async () => {
    const pages: Page[] = []
    const partOf = (page: number | 'again'): string =>
      join(dirname(task.local), `.${basename(task.local)}.${page}.part`)
    // A killed run leaves its parts.
    discardOtherParts(task.local, null)
    try {
      let offset = 0
      do {
        if (pages.length >= PAGES_MAX)
          throw new FetchError(`the answer has more than ${PAGES_MAX} pages`, true)
        const page = await request(offset, partOf(pages.length + 1))
        pages.push(page)
        offset += page.items
      } while (pages.at(-1)?.hasMore === true)
      if (pages.length > 1) {
        const again = await request(0, partOf('again'))
        if (again.sha256 !== pages[0]?.sha256) throw new FetchError('the data changed between two pages')
      }
      const results: Stored[] = []
      const paths: string[] = []
      for (const [index, { part, bytes, sha256 }] of pages.entries()) {
        const path = pagePath(task.local, index + 1)
        results.push(
          await snapshots.store(part, path, {
            publisher: task.publisher,
            url: task.url,
            retrieved_at: new Date().toISOString(),
            bytes,
            server_time: null,
            sha256,
          }),
        )
        paths.push(path)
      }
      for (const path of presentPages(task.local)) if (!paths.includes(path)) await snapshots.retire(path)
      const stored = results.find((result) => result !== 'unchanged') ?? 'unchanged'
      return { paths, stored }
    } finally {
      discardOtherParts(task.local, null)
    }
  })
}

/** @returns pages of an answer that are here, in order */
export function presentPages(local: string): string[] {
  const prefix = `${local}-p`
  return namesIn(dirname(local))
    .map((name) => `${dirname(local)}/${name}`)
    .filter((path) => path.startsWith(prefix) && /^\d+\.json$/.test(path.slice(prefix.length)))
    .sort(
      (left, right) =>
        Number.parseInt(left.slice(prefix.length), 10) - Number.parseInt(right.slice(prefix.length), 10),
    )
}
