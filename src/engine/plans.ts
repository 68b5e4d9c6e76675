/**
 * Planned statements of a connection, by their text: DuckDB parses and plans a statement once and runs it many times.
 *
 * Statements with parameters are left out: DuckDB plans them anew for each set of values. What was used longest ago goes
 * first. A plan holds the tables it reads, so plans over a schema go before it does.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'

const PLANS_MAX = 1
/** Longer texts are asked once (thousands of codes); keeping them would only take memory. */
const TEXT_MAX = 20_000

export interface Plans {
  /** @returns the statement planned on a connection, or null where it is not one to keep */
  prepare(
    connection: DuckDBConnection,
    text: string,
    parameters: number,
  ): Promise<DuckDBPreparedStatement> | null
  /** Forgets the plans whose text holds the names of tables that go; none of them may run. */
  forget(names: string): void
  clear(): void
}

export function createPlans(): Plans {
  const byConnection = new Map<DuckDBConnection, Map<string, DuckDBPreparedStatement>>()
  const ownOf = (connection: DuckDBConnection): Map<string, DuckDBPreparedStatement> => {
    let own = byConnection.get(connection)
    if (own === undefined) {
      own = new Map()
      byConnection.set(connection, own)
    }
    return own
  }
  const find = async (connection: DuckDBConnection, text: string): Promise<DuckDBPreparedStatement> => {
    const own = ownOf(connection)
    const known = own.get(text)
    own.delete(text)
    const statement = known ?? (await connection.prepare(text))
    own.set(text, statement)
    const [oldest] = own.keys()
    if (own.size > PLANS_MAX && oldest !== undefined) {
      own.get(oldest)?.destroySync()
      own.delete(oldest)
    }
    return statement
  }
  const forgetWhere = (isGone: (text: string) => boolean): void => {
    for (const own of byConnection.values())
      for (const [text, statement] of own)
        if (isGone(text)) {
          own.delete(text)
          statement.destroySync()
        }
  }
  return {
    prepare: (connection, text, parameters) =>
      parameters > 0 || text.length > TEXT_MAX ? null : find(connection, text),
    forget: (names) => forgetWhere((text) => text.includes(names)),
    clear: () => forgetWhere(() => true),
  }
}
