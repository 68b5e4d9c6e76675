/** Types that the parts of fetching share: sources, files at a publisher, and access to a publisher. */
import type { Writable } from 'node:stream'

export const FETCH_AREAS = [
  'cnes',
  'cnes-base',
  'demography',
  'sih',
  'sia',
  'sim',
  'sinasc',
  'financing',
] as const
export type FetchArea = (typeof FETCH_AREAS)[number]

export const PUBLISHERS = ['datasus', 'sigtap', 'cnes', 'ibge', 'sidra', 'siconfi'] as const
export type PublisherCode = (typeof PUBLISHERS)[number]

/** Facts that every source states. */
interface SourceFacts {
  readonly code: string
  readonly areas: readonly FetchArea[]
  readonly what: string
  /** First and last period that the publisher has, YYYYMM or YYYY. Null: it has none, or goes on. */
  readonly first: number | null
  readonly last: number | null
  /** When a period appears, and how long its files change afterwards. */
  readonly changes: string
}

export interface SourceFolder {
  readonly path: string
  readonly from: number
  readonly to: number | null
  /** True if its files leave once they are final, so that it may be empty or missing. It stands behind the final folder. */
  readonly isPreliminary?: boolean
}

/** Files of a folder, recognised by name. The groups of `pattern` are uf, year, month and part. */
export interface ListedSource extends SourceFacts {
  readonly kind: 'listed'
  readonly publisher: PublisherCode
  /**
   * Folders by period. `{year}` stands for each year from the first on. If two of them have a file of the same state and period,
   * the first one counts.
   */
  readonly folders: readonly SourceFolder[]
  readonly pattern: RegExp
  /** True if a period is a year, YYYY. */
  readonly isYearly?: boolean
  /**
   * by state: a period is whole with a file of each state; beside states: a file of no state, fetched for the periods of the sources by
   * state of the same area, and missed nowhere; newest: only the newest file is used.
   */
  readonly completeness: 'by state' | 'beside states' | 'newest'
  /** Usual size of a file in bytes. A size outside is reported, not refused. */
  readonly bytes: readonly [number, number]
}

/** One answer of an API, or a file with a fixed address. */
export interface DocumentSource extends SourceFacts {
  readonly kind: 'document'
  readonly publisher: PublisherCode
  readonly documents: (scope: DocumentScope) => readonly Document[]
}

export interface DocumentScope {
  readonly states: readonly { readonly uf: string; readonly ibge_code: number }[]
  /** YYYYMM; null for the newest. */
  readonly from: number | null
  readonly to: number | null
  /** Current month, YYYYMM. */
  readonly now: number
}

export interface Document {
  /** Path and query at the publisher. */
  readonly address: string
  /** Path in the folder of snapshots, below the publisher's. A folder in place of the server has it under this path, too. */
  readonly path: string
  /** True if the answer comes in pages with `hasMore`. */
  readonly isPaged?: boolean
  /** Documents that share a name are alternatives, best first: the first one that the publisher has is fetched. */
  readonly anyOf?: string
}

/** Something that no documented address gives. */
export interface ManualSource extends SourceFacts {
  readonly kind: 'by hand'
  readonly publisher: string
  readonly how: string
}

export type Source = ListedSource | DocumentSource | ManualSource

/** A file as a publisher's listing shows it. */
export interface RemoteFile {
  readonly name: string
  readonly bytes: number | null
  /** Time as the server writes it, normalised to YYYY-MM-DDTHH:MM where the form is known. */
  readonly time: string | null
}

/** State of a file right before its transfer. */
export interface RemoteState {
  readonly bytes: number | null
  readonly time: string | null
}

/** A connection to a publisher. Methods reject with FetchError, or with errors of the network, which are tried again. */
export interface Remote {
  /** @param folder path at the publisher */
  list(folder: string): Promise<readonly RemoteFile[]>
  /** @returns null if the server does not say */
  stateOf(path: string): Promise<RemoteState | null>
  /**
   * Transfers a file.
   * @param offset bytes that are here already
   * @param validator state of the file that these bytes are of
   * @param open called once with the offset that the server really sends from
   * @returns what the server said about the file
   */
  transfer(
    path: string,
    offset: number,
    validator: string | null,
    open: (offset: number) => Writable,
  ): Promise<RemoteState>
  /** @returns the bytes of a part of a file, fewer at its end; null if the server sends no parts */
  readRange(path: string, start: number, length: number): Promise<Buffer | null>
  close(): void
}

/** A failure with a sentence for the operator. `isFinal` errors are not tried again. */
export class FetchError extends Error {
  readonly isFinal: boolean

  constructor(message: string, isFinal = false) {
    super(message)
    this.name = 'FetchError'
    this.isFinal = isFinal
  }
}

/** The publisher does not have the file. */
export class NotThere extends FetchError {
  constructor(path: string) {
    super(`the publisher has no ${path}`, true)
  }
}

/** No connection was made or answered. Another one may be alive, so this says nothing about a file. */
export class NotConnected extends FetchError {}

/** Waiting times and counts of attempts. */
export interface Patience {
  readonly idleMs: number
  readonly attempts: number
  readonly pauseMs: number
}
