/** Wraps the engine for one request: statements run for its key, and its state records the engine that ran the aggregation. */
import type { Engine, RunOptions } from '../../engine/types.ts'
import type { RequestState } from './state.ts'

export function engineOfRequest(engine: Engine, state: RequestState): Engine {
  const owner = state.key?.id ?? ''
  const optionsOf = (options: RunOptions = {}): RunOptions =>
    engine.distributed === undefined
      ? { ...options, owner }
      : {
          ...options,
          owner,
          onEngine: (name) => {
            // If any statement ran on Trino, report Trino.
            if (state.engine !== 'trino') state.engine = name
          },
        }
  return {
    ...engine,
    run: (statement, release, options) => engine.run(statement, release, optionsOf(options)),
    runInBatches: (statement, release, options) =>
      engine.runInBatches(statement, release, optionsOf(options)),
  }
}
