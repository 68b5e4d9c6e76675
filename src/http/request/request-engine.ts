/**
 * The engine of one request: its statements are run for the request's key, and what added up facts for the answer is noted in the
 * request's state, where there are two engines.
 */
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
            // Of several statements, one that went elsewhere says more.
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
