/**
 * What the headers of published tables say, for the manifest: every column, those that nothing is read from, and where a
 * column has another name in the tables of the release, the published one. Tables with one header share an entry.
 */
import type { Manifest } from '../../release/manifest.ts'
import { normaliseHeader } from './stage-csv.ts'

type Headers = NonNullable<Manifest['headers']>

export class HeaderList {
  readonly #entries = new Map<string, { columns: readonly string[]; unread: string[]; files: string[] }>()

  /** @param columns as published, in order; @param read those that something is read from, by either name */
  add(file: string, columns: readonly string[], read: readonly string[]): void {
    const known = new Set(read)
    const unread = columns.filter((column) => !known.has(column) && !known.has(normaliseHeader(column)))
    const key = JSON.stringify([columns, unread])
    const entry = this.#entries.get(key) ?? { columns, unread, files: [] }
    entry.files.push(file)
    this.#entries.set(key, entry)
  }

  list(): Headers {
    return [...this.#entries.values()]
      .map(({ columns, unread, files }) => ({
        files: [...files].sort(),
        columns: [...columns],
        unread,
        renamed: Object.fromEntries(
          columns
            .map((column) => [normaliseHeader(column), column] as const)
            .filter(([name, column]) => name !== column),
        ),
      }))
      .sort((left, right) => ((left.files[0] ?? '') < (right.files[0] ?? '') ? -1 : 1))
  }
}
