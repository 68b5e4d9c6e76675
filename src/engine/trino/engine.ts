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
  print(
    relation: GatheredPart,
    printTable: (dataset: string, periods: readonly number[] | null) => string,
  ): string
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
  const registered = new Set<string>()
  const counts = { answered: 0, rows: 0, failed: {} as Record<string, number> }

  const rowsOf = (relation: GatheredPart, release: ReleaseView): number =>
    dialect
      .readsOf(relation.definition)
      .reduce((sum, { dataset, periods }) => sum + rowsRead(release, dataset, periods), 0)
  const chooseRelations = (statement: Sql, release: ReleaseView, isAll: boolean): GatheredPart[] =>
    relationsOf(statement).filter((relation) => isAll || rowsOf(relation, release) >= minRows)
  const gather = async (
    relations: readonly GatheredPart[],
    release: ReleaseView,
    { signal, owner = '' }: RunOptions,
  ): Promise<Gathered> => {
    const turn = await turns.take(owner, 'light', { signal })
    // Cancels the other relations when one fails or the time is over.
    const abortController = new AbortController()
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      abortController.abort()
    }, options.timeoutMs)
    const onAbort = (): void => abortController.abort()
    signal?.addEventListener('abort', onAbort, { once: true })
    const printTable = trinoRelation(catalog, release)
    let count = 0
    const fetchRows = async (relation: GatheredPart): Promise<[string, GatheredRows]> => {
      const rows = createGatheredRows(relation.columns)
      const statement = dialect.print(relation, printTable)
      const pages = client.query(statement, {
        signal: abortController.signal,
        timeoutMs: options.timeoutMs,
        session: dialect.session,
      })
      for await (const page of pages) {
        count += page.length
        if (count > rowsMax) throw tooManyRows(rowsMax)
        rows.add(page)
      }
      return [relation.name, rows]
    }
    try {
      if (signal?.aborted === true) throw clientLeft()
      if (
        !registered.has(release.id) &&
        !(await isRegistered(release, client, catalog, abortController.signal))
      )
        throw notRegistered()
      registered.add(release.id)
      const fetched = await Promise.all(
        relations.map((relation) =>
          fetchRows(relation).catch((error: unknown) => {
            abortController.abort()
            throw error
          }),
        ),
      )
      counts.answered += 1
      counts.rows += count
      return new Map(fetched)
    } catch (error) {
      const failure = isTimedOut ? new AppError('query_timeout', { cause: error }) : toAppError(error)
      // The missing object may be a dropped release, so check its registration again.
      if (failure.code === 'engine_unavailable') registered.delete(release.id)
      if (signal?.aborted !== true) counts.failed[failure.code] = (counts.failed[failure.code] ?? 0) + 1
      throw failure
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      turn.end()
    }
  }
  const gatheredFor = async (
    statement: Sql,
    release: ReleaseView,
    runOptions: RunOptions,
    isAll: boolean,
  ): Promise<GatheredOptions> => {
    const relations = runOptions.other === undefined ? chooseRelations(statement, release, isAll) : []
    if (relations.length === 0) return runOptions
    return { ...runOptions, gathered: await gather(relations, release, runOptions) }
  }
  const reportEngine = ({ onEngine, gathered }: GatheredOptions, statement: Sql): void => {
    if (gathered !== undefined) onEngine?.('trino')
    else if (gatheredOf(statement).length > 0) onEngine?.('duckdb')
  }
  /** In `auto` mode, Trino takes statements that did not fit into the process. */
  const mayFitTrino = (error: unknown, gatheredOptions: GatheredOptions, statement: Sql): boolean =>
    mode === 'auto' &&
    gatheredOptions.gathered === undefined &&
    gatheredOptions.other === undefined &&
    error instanceof AppError &&
    error.code === 'query_too_large' &&
    gatheredOf(statement).length > 0

  /**
   * Runs the rest of a statement over the rows that Trino aggregated. When the statement does not fit into the process, it is
   * retried once with all facts aggregated by Trino, provided that no rows were returned yet.
   */
  async function* runRest(
    statement: Sql,
    release: ReleaseView,
    runOptions: RunOptions,
    read: (gatheredOptions: GatheredOptions) => AsyncIterable<Row[]>,
  ): AsyncGenerator<Row[], void, void> {
    let gatheredOptions = await gatheredFor(statement, release, runOptions, mode === 'trino')
    for (;;) {
      let hasRows = false
      try {
        for await (const rows of read(gatheredOptions)) {
          if (!hasRows) reportEngine(gatheredOptions, statement)
          hasRows = true
          yield rows
        }
        return
      } catch (error) {
        if (hasRows || !mayFitTrino(error, gatheredOptions, statement)) throw error
        gatheredOptions = await gatheredFor(statement, release, runOptions, true)
      }
    }
  }

  return {
    ...local,
    async run(statement, release, runOptions = {}): Promise<Row[]> {
      const read = async function* (gatheredOptions: GatheredOptions): AsyncGenerator<Row[], void, void> {
        yield await local.run(statement, release, gatheredOptions)
      }
      for await (const rows of runRest(statement, release, runOptions, read)) return rows
      return []
    },
    runInBatches: (statement, release, runOptions = {}) =>
      runRest(statement, release, runOptions, (gatheredOptions) =>
        local.runInBatches(statement, release, gatheredOptions),
      ),
    distributed: {
      mode,
      choose(statement, release) {
        const rows = Math.max(0, ...relationsOf(statement).map((relation) => rowsOf(relation, release)))
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
const relationsOf = (statement: Sql): GatheredPart[] => [
  ...new Map(gatheredOf(statement).map((relation) => [relation.name, relation])).values(),
]

const tooManyRows = (rowsMax: number): AppError =>
  new AppError('query_too_large', {
    detail: both(
      `A consulta tem mais de ${rowsMax} grupos antes da paginação: restrinja os filtros ou agrupe por menos dimensões.`,
      `The query has more than ${rowsMax} groups before it is paged: narrow the filters or group by fewer dimensions.`,
    ),
  })
