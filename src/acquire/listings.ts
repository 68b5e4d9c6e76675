/**
 * Judges listings. A listing with fewer files than before counts as an error of the server, until the same listing comes again after a
 * day. A short listing deletes nothing. `.listings.json` keeps the number of files of each folder between runs.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { replaceFile } from '../files.ts'
import { readJsonFile } from './snapshots.ts'
import { FetchError, type RemoteFile } from './types.ts'

const FILE = '.listings.json'
/** Time after which a repeated short listing counts as correct. Erroneous listings of the server were complete again a day later. */
const BELIEVED_AFTER_MS = 24 * 3_600_000

interface Seen {
  readonly entries: number
  /** A listing that was shorter, and when it first came. */
  readonly short?: { readonly digest: string; readonly at: string }
}

export interface Listings {
  /** @returns why the listing is not to be trusted, or null @throws FetchError if the folder seems empty and may not be */
  judge(folder: string, files: readonly RemoteFile[], mayBeEmpty: boolean): string | null
  /** Compares later listings with this one, because the files that it lacks are explained. */
  believe(folder: string, files: readonly RemoteFile[]): void
  save(): void
}

export function openListings(root: string): Listings {
  const path = join(root, FILE)
  const seen = { ...((readJsonFile(path) ?? {}) as Record<string, Seen>) }
  return {
    judge(folder, files, mayBeEmpty) {
      if (files.length === 0 && !mayBeEmpty) throw new FetchError('the server lists no file')
      const before = seen[folder]
      if (before === undefined || files.length >= before.entries) {
        seen[folder] = { entries: files.length }
        return null
      }
      const digest = createHash('sha256')
      for (const name of files.map((file) => file.name).sort()) digest.update(`${name}\n`)
      const short = { digest: digest.digest('hex'), at: new Date().toISOString() }
      const isBelieved =
        before.short?.digest === short.digest && Date.now() - Date.parse(before.short.at) > BELIEVED_AFTER_MS
      if (isBelieved) {
        seen[folder] = { entries: files.length }
        return null
      }
      seen[folder] = {
        entries: before.entries,
        short: before.short?.digest === short.digest ? before.short : short,
      }
      return `the server lists ${files.length} files where it listed ${before.entries}; nothing is taken as deleted`
    },
    believe(folder, files) {
      seen[folder] = { entries: files.length }
    },
    save: () => replaceFile(path, `${JSON.stringify(seen, null, 1)}\n`),
  }
}
