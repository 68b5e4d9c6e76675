/**
 * The interface of places that hold releases: a folder, another sus-data server, S3-compatible storage. In: the address of a
 * place. Out: functions that read its files by the path that they have in a folder of releases, and, where the place takes
 * releases, functions that write them. No function here verifies what it reads.
 */
import type { Readable } from 'node:stream'

/** Reports what cannot be read or written at a place. The message is one sentence for the operator. */
export class PlaceError extends Error {
  /** True when trying again later may succeed: no connection, a time-out, or an overloaded server. */
  readonly isAway: boolean

  constructor(message: string, isAway = false) {
    super(message)
    this.name = 'PlaceError'
    this.isAway = isAway
  }
}

export interface Place {
  /** Address for messages, without secrets. */
  readonly name: string
  /** @returns the analytics release in service there, or null */
  current(): Promise<string | null>
  /** @returns the ids of all releases there */
  list(): Promise<string[]>
  /** @param path for example `<release id>/manifest.json` or `log/checkpoint` @returns null when the file is missing */
  read(path: string): Promise<Buffer | null>
  /** @returns the bytes of a file from a position on, or null when the file is missing @throws when the signal is aborted */
  open(path: string, start: number, signal?: AbortSignal): Promise<Readable | null>
  /** @returns the names of the attestations of a release */
  attestations(releaseId: string): Promise<string[]>
}

/** Content to write: bytes in memory, or a file. */
export interface Content {
  readonly bytes: number
  /** 64 hex digits. */
  readonly sha256: string
  open(): Readable
}

/** Storage of objects, which needs no folder on this machine. A write replaces an object completely or not at all. */
export interface ObjectStore extends Place {
  /** @returns size by path of everything below a folder, such as a release */
  sizes(folder: string): Promise<Map<string, number>>
  write(path: string, content: Content, signal?: AbortSignal): Promise<void>
  /** Copies an object within the store. */
  copy(from: string, to: string, signal?: AbortSignal): Promise<void>
}
