/**
 * The interface of the engine: what routes, reports and the row store may ask of a database. Types only, so that plans can be
 * tested without one. The implementation is duckdb/.
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
  /** Aborted when the client leaves: the running statement is interrupted. */
  readonly signal?: AbortSignal
  /** Id of the key that the statement is run for: keys take turns. Empty without it. */
  readonly owner?: string
  /** Weight of an aggregation, whose tables go into memory when some have run; absent for other statements, which are light. */
  readonly weight?: Weight
  /** Columns that have one value in all rows: only the first row of the result has them. */
  readonly once?: ReadonlySet<string>
  /** The other release of a statement over two. */
  readonly other?: ReleaseView
  /** A keyed relation that the statement reads: it goes into memory, in the background, when some statements have wanted it. */
  readonly wanted?: ResidentRelation
  /** Is called with the engine that added up a statement's facts, where there are two: once it has run. */
  readonly onEngine?: (engine: EngineName) => void
}

export const ENGINES = ['duckdb', 'trino'] as const
export type EngineName = (typeof ENGINES)[number]

/** How Trino is reached and used, as processes tell each other: no secrets, but where they are. */
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

/** Which engine adds up the facts of a statement, and why. */
export interface EngineChoice {
  readonly name: EngineName
  /**
   * only_engine: there is no other; no_facts: nothing is added up; all_facts: SUS_ENGINE=trino; many_rows, few_rows: auto, by
   * SUS_TRINO_MIN_ROWS. What few_rows leaves to DuckDB goes to Trino all the same where it does not fit into the process.
   */
  readonly because: (typeof ENGINE_REASONS)[number]
  /** Rows that the largest of its relations reads, pre-aggregates where they serve; null where there is no other engine. */
  readonly rows: number | null
  /** From so many on Trino adds them up; null where that does not decide. */
  readonly min_rows: number | null
}

export const ENGINE_REASONS = ['only_engine', 'no_facts', 'all_facts', 'many_rows', 'few_rows'] as const

/** An engine of other machines, beside that in the process. */
export interface Distributed {
  /** auto: only what reads many rows goes there. */
  readonly mode: 'trino' | 'auto'
  /** Nothing is asked or run: manifests say how many rows there are. */
  choose(statement: Sql, release: ReleaseView): EngineChoice
  /** Asked anew after some seconds. @param release null: none is in service */
  status(release: ReleaseView | null): Promise<{ readonly up: boolean; readonly registered: boolean }>
  stats(): {
    readonly running: number
    readonly waiting: number
    /** Statements it answered, and those it did not, by code of the error. */
    readonly answered: number
    readonly failed: Readonly<Record<string, number>>
    /** Rows that came back. */
    readonly rows: number
  }
}

/** A relation of a release that may be held in memory as a table. */
export interface ResidentRelation {
  readonly name: string
  /** Rows it has at most. */
  readonly rows: number
  readonly definition: Sql
  /** Columns of codes, of which there are few. */
  readonly codes: readonly string[]
  /** Column of seven digits that may be held as a number, where there is one. */
  readonly number: string | null
  /** Where it is of several months: each of them, the newest first. They go into memory one after another, as far as there is room. */
  readonly months?: readonly ResidentMonth[]
  /** Column by which rows are looked up in the table, which gets an index; the definition has file_row_number, too. */
  readonly key?: string
}

/** A month of a resident relation, whose rows say in reference_period that they are of it. */
export interface ResidentMonth {
  /** YYYYMM */
  readonly period: number
  readonly rows: number
  readonly definition: Sql
}

export interface Engine {
  /**
   * Runs one statement on one release.
   * Integers come back as numbers (an integer beyond 2^53−1 is an `internal` error, never a rounded number), DECIMAL as
   * exact decimal text, DATE as YYYY-MM-DD, a column named reference_period as YYYY-MM, structs and lists as JSON.
   * @throws AppError 'query_timeout', 'overloaded'
   */
  run(statement: Sql, release: ReleaseView, options?: RunOptions): Promise<Row[]>
  /**
   * As run, in batches of about 2,000 rows: the result is held by DuckDB, and rows become JSON values as they are taken.
   * The connection is free again when the last batch is taken or the loop is left.
   */
  runInBatches(statement: Sql, release: ReleaseView, options?: RunOptions): AsyncIterable<Row[]>
  /** Opens a verified release; running it twice is free. */
  open(release: ReleaseView): Promise<void>
  /**
   * Loads the resident relations of a release into memory, as many as the bound allows; ends when they are loaded. Statements
   * that run meanwhile read the files of those that are not loaded yet. Running it twice is free. Where there is not room for all,
   * what is held of other releases goes.
   * @param beside a release of which it stays
   */
  warm(release: ReleaseView, beside?: ReleaseView | null): Promise<void>
  /** Frees what an open release holds once its running statements have ended. */
  release(id: string): Promise<void>
  /** What it is doing now. */
  stats(): { readonly running: number; readonly waiting: number; readonly open: number }
  /** Absent where the process has all to itself. */
  readonly distributed?: Distributed
  /** Memory DuckDB holds, in bytes. */
  memoryBytes(): Promise<number>
  close(): Promise<void>
}

/** Where verified releases come from. Implemented by release/store.ts. */
export interface ReleaseSource {
  /** The promoted release, or null when there is none that verifies. */
  current(): ReleaseView | null
  /** A release that is open already, by its own id or that of a component; null: `pin` has to look for it. */
  findOpen(id: string): ReleaseView | null
  /** An analytics release by its own id, or by the id of a component it joins (the current one preferred). */
  pin(id: string): Promise<ReleaseView | null>
  /** Every verified release in the folder. */
  list(): Promise<readonly { readonly manifest: Manifest; readonly promoted: boolean }[]>
  /** Folder of a verified release of any area, with its manifest; null where there is none. */
  locate(id: string): Promise<{ readonly folder: string; readonly manifest: Manifest } | null>
  /** What is wrong with current.json, in public words; null where it is in order, or not there. */
  pointerProblem(): string | null
  /** Says whether files of releases are as they were verified; who reads them asks it before and after. */
  readonly guard: FileGuard
  /** Releases that were refused, and why, in public words. */
  problems(): readonly { readonly release_id: string; readonly reason: string }[]
}
