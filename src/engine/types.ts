/**
 * Interface of the database engine for routes, reports and the row store. It contains only types, so that plans can be tested
 * without a database. `duckdb/` and `trino/` implement it.
 */
import type { FileGuard } from '../release/guard.ts'
import type { Manifest } from '../release/manifest.ts'
import type { ReleaseView } from '../release/view.ts'
import type { Sql } from '../sql.ts'
import type { Weight } from '../turns.ts'

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }
export type Row = Readonly<Record<string, JsonValue>>

export interface RunOptions {
  /** Aborted when the client disconnects, which interrupts the running statement. */
  readonly signal?: AbortSignal
  /** Id of the API key on whose behalf the statement runs, so that keys take turns; empty without a key. */
  readonly owner?: string
  /**
   * Weight of an aggregation; after several of them, their tables are loaded into memory. Other statements omit it and count as
   * light.
   */
  readonly weight?: Weight
  /** Columns with the same value in all rows; only the first row of the result has them. */
  readonly once?: ReadonlySet<string>
  /** Form of DECIMAL values: exact texts, with all decimals, unless only the numbers of JSON are wanted. */
  readonly decimals?: 'texts' | 'numbers'
  /** The second release of a statement over two releases. */
  readonly other?: ReleaseView
  /** Receives the engine that aggregated the facts, after the statement ran; only called when there are two engines. */
  readonly onEngine?: (engine: EngineName) => void
}

export const ENGINES = ['duckdb', 'trino'] as const
export type EngineName = (typeof ENGINES)[number]

/** How to reach and use Trino, passed between processes. It names the files of secrets, never the secrets. */
export interface TrinoSettings {
  readonly url: string
  readonly user: string
  readonly passwordFile: string | null
  readonly tokenFile: string | null
  readonly catalog: string
  readonly mode: 'trino' | 'auto'
  readonly minRows: number
  readonly rowsMax: number
  readonly concurrency: number
  readonly queue: number
}

/** The engine that aggregates the facts of a statement, and the reason. */
export interface EngineChoice {
  readonly name: EngineName
  /**
   * only_engine: there is no other; no_facts: nothing to aggregate; all_facts: SUS_ENGINE=trino; many_rows, few_rows: auto, by
   * SUS_TRINO_MIN_ROWS. A few_rows statement still goes to Trino when it does not fit into this process.
   */
  readonly because: (typeof ENGINE_REASONS)[number]
  /** Rows that the largest relation reads, counting pre-aggregates where used; null without a second engine. */
  readonly rows: number | null
  /** Number of rows from which Trino aggregates; null when that is not the criterion. */
  readonly min_rows: number | null
}

export const ENGINE_REASONS = ['only_engine', 'no_facts', 'all_facts', 'many_rows', 'few_rows'] as const

/** An engine on other machines, used in addition to the one in the process. */
export interface Distributed {
  /** auto: only statements that read many rows go there. */
  readonly mode: 'trino' | 'auto'
  /** Chooses from the row counts in the manifests, without running anything. */
  choose(statement: Sql, release: ReleaseView): EngineChoice
  /** Checked again after some seconds. @param release null: no release is current */
  status(release: ReleaseView | null): Promise<{ readonly up: boolean; readonly registered: boolean }>
  stats(): {
    readonly running: number
    readonly waiting: number
    /** Number of answered statements, and of failed ones by error code. */
    readonly answered: number
    readonly failed: Readonly<Record<string, number>>
    readonly rows: number
  }
}

/** A relation of a release that can be held in memory as a table. */
export interface ResidentRelation {
  readonly name: string
  /** Upper bound of the number of rows. */
  readonly rows: number
  readonly definition: Sql
  /** Columns with few distinct codes. */
  readonly codes: readonly string[]
  /** Column of seven digits that can be stored as an integer, if any. */
  readonly number: string | null
  /** Months of the relation, newest first. They are loaded one after another while there is room. */
  readonly months?: readonly ResidentMonth[]
}

/** A month of a resident relation; its rows carry the month in reference_period. */
export interface ResidentMonth {
  /** YYYYMM */
  readonly period: number
  readonly rows: number
  readonly definition: Sql
}

export interface Engine {
  /**
   * Runs one statement on one release. Integers become numbers; beyond 2^53−1 they are an `internal` error, never rounded.
   * DECIMAL becomes exact decimal text, DATE YYYY-MM-DD, a column named reference_period YYYY-MM; structs and lists become JSON.
   * @throws AppError 'query_timeout', 'overloaded'
   */
  run(statement: Sql, release: ReleaseView, options?: RunOptions): Promise<Row[]>
  /**
   * Like `run`, but in batches of about 2,000 rows. DuckDB holds the result, and rows become JSON as the caller takes them. The
   * connection is released after the last batch or when the caller leaves the loop.
   */
  runInBatches(statement: Sql, release: ReleaseView, options?: RunOptions): AsyncIterable<Row[]>
  /** Opens a verified release; opening it again does nothing. */
  open(release: ReleaseView): Promise<void>
  /**
   * Loads the resident relations of a release into memory, as many as the limit allows, and waits for them. Meanwhile statements
   * read the files of relations that are not loaded yet. A second call does nothing. Other releases are unloaded when there is not
   * room for all.
   * @param keep release whose tables stay in memory
   */
  warm(release: ReleaseView, keep?: ReleaseView | null): Promise<void>
  /** Closes a release and frees its memory after its running statements end. */
  release(id: string): Promise<void>
  stats(): { readonly running: number; readonly waiting: number; readonly open: number }
  /** Absent when this process runs everything itself. */
  readonly distributed?: Distributed
  memoryBytes(): Promise<number>
  close(): Promise<void>
}

/** Source of verified releases; `release/store.ts` implements it. */
export interface ReleaseSource {
  /** The promoted release; null when none passes verification. */
  current(): ReleaseView | null
  /** A release that is already open, by its id or a component's id; null when only `pin` can find it. */
  findOpen(id: string): ReleaseView | null
  /** An analytics release by its id or by a component's id, preferring the current release. */
  pin(id: string): Promise<ReleaseView | null>
  list(): Promise<readonly { readonly manifest: Manifest; readonly promoted: boolean }[]>
  /** Folder and manifest of a verified release of any area; null when there is none. */
  locate(id: string): Promise<{ readonly folder: string; readonly manifest: Manifest } | null>
  /** Problem with current.json in words for the public; null when it is valid or missing. */
  pointerProblem(): string | null
  /** Detects files that changed since verification. Check it before and after reading files. */
  readonly guard: FileGuard
  /** Rejected releases, with reasons in words for the public. */
  problems(): readonly { readonly release_id: string; readonly reason: string }[]
}
