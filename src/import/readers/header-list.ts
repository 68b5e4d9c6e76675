/**
 * Collects the headers of published tables for the manifest: all columns, unread columns, and the published names of renamed
 * columns. Tables with the same header share an entry.
 */
import type { Manifest } from '../../release/manifest.ts'
import { normaliseHeader } from './stage-csv.ts'

type Headers = NonNullable<Manifest['headers']>

export class HeaderList {
  readonly #entries = new Map<string, { columns: readonly string[]; unread: string[]; files: string[] }>()

  /** @param columns published names, in order; @param read columns that are read, by published or normalised name */
  add(file: string, columns: readonly string[], read: readonly string[]): void {
    const readNames = new Set(read)
    const unread = columns.filter(
      (column) => !readNames.has(column) && !readNames.has(normaliseHeader(column)),
    )
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
