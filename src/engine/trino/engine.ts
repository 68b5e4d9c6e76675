/**
 * Combines DuckDB with Trino. Trino may aggregate the facts of a statement; the rest runs in this process over the returned rows,
 * so responses are identical to the last byte. Input: an engine, a client, and the criteria for sending relations. Output: an
 * engine. Lists, records, lineage and explanations of differences always stay in the process.
 */
import { AppError, both, clientLeft } from '../../errors.ts'
import { type ReleaseView, rowsRead } from '../../release/view.ts'
import { type GatheredPart, gatheredOf, type Sql } from '../../sql.ts'
import { createTurns } from '../../turns.ts'
import type { DuckDbEngine, GatheredOptions } from '../duckdb/engine.ts'
import { createGatheredRows, type Gathered, type GatheredRows } from '../duckdb/gathered-rows.ts'
import type { Engine, Row, RunOptions } from '../types.ts'
import type { TrinoClient } from './client.ts'
import { notRegistered, toAppError } from './errors.ts'
import { isRegistered } from './register.ts'
import { createStatus } from './status.ts'
import { trinoRelation } from './tables.ts'

/** Prints a plan's relations for Trino; `query/analytics/dialect/trino.ts` implements it. */
export interface TrinoDialect {
  print(part: GatheredPart, relation: (dataset: string, periods: readonly number[] | null) => string): string
  readsOf(statement: Sql): readonly { readonly dataset: string; readonly periods: readonly number[] | null }[]
  readonly session: Readonly<Record<string, string>>
}

export interface TrinoOptions {
  readonly client: TrinoClient
  readonly dialect: TrinoDialect
  readonly catalog: string
  /** trino: every aggregation of facts; auto: those that read at least minRows, and those that do not fit into the process. */
  readonly mode: 'trino' | 'auto'
  readonly minRows: number
  /** Largest number of rows that one statement may return; more fail with 'query_too_large'. */
  readonly rowsMax: number
  readonly timeoutMs: number
  /** Largest number of concurrent statements. Up to `queue` more wait; beyond that, requests fail with 'overloaded'. */
  readonly concurrency: number
  readonly queue: number
}

export function withTrino(local: DuckDbEngine, options: TrinoOptions): Engine {
  const { client, dialect, catalog, mode, minRows, rowsMax } = options
  // API keys take turns, as with DuckDB's connections.
  const turns = createTurns([...new Array(options.concurrency).keys()], {
    queue: options.queue,
    retryAfterSeconds: 1,
  })
  /** Releases that were found completely registered; an incomplete one would return too few rows. */
  const whole = new Set<string>()
  const counts = { answered: 0, rows: 0, failed: {} as Record<string, number> }

  const rowsOf = (part: GatheredPart, release: ReleaseView): number =>
    dialect
      .readsOf(part.definition)
      .reduce((sum, { dataset, periods }) => sum + rowsRead(release, dataset, periods), 0)
  const partsFor = (statement: Sql, release: ReleaseView, isAll: boolean): GatheredPart[] =>
    partsOf(statement).filter((part) => isAll || rowsOf(part, release) >= minRows)
  const gather = async (
    parts: readonly GatheredPart[],
    release: ReleaseView,
    { signal, owner = '' }: RunOptions,
  ): Promise<Gathered> => {
    const turn = await turns.take(owner, 'light', { signal })
    // Cancels the other relations when one fails or the time is over.
    const ending = new AbortController()
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      ending.abort()
    }, options.timeoutMs)
    const leave = (): void => ending.abort()
    signal?.addEventListener('abort', leave, { once: true })
    const relation = trinoRelation(catalog, release)
    let count = 0
    const fetchRows = async (part: GatheredPart): Promise<[string, GatheredRows]> => {
      const rows = createGatheredRows(part.columns)
      const statement = dialect.print(part, relation)
      const pages = client.query(statement, {
        signal: ending.signal,
        timeoutMs: options.timeoutMs,
        session: dialect.session,
      })
      for await (const page of pages) {
        count += page.length
        if (count > rowsMax) throw tooManyRows(rowsMax)
        rows.add(page)
      }
      return [part.name, rows]
    }
    try {
      if (signal?.aborted === true) throw clientLeft()
      if (!whole.has(release.id) && !(await isRegistered(release, client, catalog, ending.signal)))
        throw notRegistered()
      whole.add(release.id)
      const fetched = await Promise.all(
        parts.map((part) =>
          fetchRows(part).catch((error: unknown) => {
            ending.abort()
            throw error
          }),
        ),
      )
      counts.answered += 1
      counts.rows += count
      return new Map(fetched)
    } catch (error) {
      const own = isTimedOut ? new AppError('query_timeout', { cause: error }) : toAppError(error)
      // The missing object may be a dropped release, so check its registration again.
      if (own.code === 'engine_unavailable') whole.delete(release.id)
      if (signal?.aborted !== true) counts.failed[own.code] = (counts.failed[own.code] ?? 0) + 1
      throw own
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      turn.end()
    }
  }
  const gatheredFor = async (
    statement: Sql,
    release: ReleaseView,
    runOptions: RunOptions,
    isAll: boolean,
  ): Promise<GatheredOptions> => {
    const parts = runOptions.other === undefined ? partsFor(statement, release, isAll) : []
    if (parts.length === 0) return runOptions
    return { ...runOptions, gathered: await gather(parts, release, runOptions) }
  }
  const tell = ({ onEngine, gathered }: GatheredOptions, statement: Sql): void => {
    if (gathered !== undefined) onEngine?.('trino')
    else if (gatheredOf(statement).length > 0) onEngine?.('duckdb')
  }
  /** In `auto` mode, Trino takes statements that did not fit into the process. */
  const mayFitThere = (error: unknown, own: GatheredOptions, statement: Sql): boolean =>
    mode === 'auto' &&
    own.gathered === undefined &&
    own.other === undefined &&
    error instanceof AppError &&
    error.code === 'query_too_large' &&
    gatheredOf(statement).length > 0

  /**
   * Runs the rest of a statement over the rows that Trino aggregated. When the statement does not fit into the process, it is
   * retried once with all facts aggregated by Trino, provided that no rows were returned yet.
   */
  async function* rowsOver(
    statement: Sql,
    release: ReleaseView,
    runOptions: RunOptions,
    read: (own: GatheredOptions) => AsyncIterable<Row[]>,
  ): AsyncGenerator<Row[], void, void> {
    let own = await gatheredFor(statement, release, runOptions, mode === 'trino')
    for (;;) {
      let isBegun = false
      try {
        for await (const rows of read(own)) {
          if (!isBegun) tell(own, statement)
          isBegun = true
          yield rows
        }
        return
      } catch (error) {
        if (isBegun || !mayFitThere(error, own, statement)) throw error
        own = await gatheredFor(statement, release, runOptions, true)
      }
    }
  }

  return {
    ...local,
    async run(statement, release, runOptions = {}): Promise<Row[]> {
      const read = async function* (own: GatheredOptions): AsyncGenerator<Row[], void, void> {
        yield await local.run(statement, release, own)
      }
      for await (const rows of rowsOver(statement, release, runOptions, read)) return rows
      return []
    },
    runInBatches: (statement, release, runOptions = {}) =>
      rowsOver(statement, release, runOptions, (own) => local.runInBatches(statement, release, own)),
    distributed: {
      mode,
      choose(statement, release) {
        const rows = Math.max(0, ...partsOf(statement).map((part) => rowsOf(part, release)))
        if (gatheredOf(statement).length === 0)
          return { name: 'duckdb', because: 'no_facts', rows, min_rows: null }
        if (mode === 'trino') return { name: 'trino', because: 'all_facts', rows, min_rows: null }
        return rows >= minRows
          ? { name: 'trino', because: 'many_rows', rows, min_rows: minRows }
          : { name: 'duckdb', because: 'few_rows', rows, min_rows: minRows }
      },
      status: createStatus(client, catalog),
      stats: () => ({ running: turns.running(), waiting: turns.waiting(), ...counts }),
    },
  }
}

/** Relations of a statement that Trino can compute, without duplicates. */
const partsOf = (statement: Sql): GatheredPart[] => [
  ...new Map(gatheredOf(statement).map((part) => [part.name, part])).values(),
]

const tooManyRows = (rowsMax: number): AppError =>
  new AppError('query_too_large', {
    detail: both(
      `A consulta tem mais de ${rowsMax} grupos antes da paginação: restrinja os filtros ou agrupe por menos dimensões.`,
      `The query has more than ${rowsMax} groups before it is paged: narrow the filters or group by fewer dimensions.`,
    ),
  })
