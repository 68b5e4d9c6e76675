/** The engine of one request, which notes in the request's state what added up facts for its answer. */
import type { Engine, RunOptions } from '../engine/types.ts'
import type { RequestState } from './state.ts'

/** @returns the engine itself where there is only one */
export function notingEngine(engine: Engine, state: RequestState): Engine {
  if (engine.distributed === undefined) return engine
  const noting = (options: RunOptions = {}): RunOptions => ({
    ...options,
    onEngine: (name) => {
      // Of several statements, one that went elsewhere says more.
      if (state.engine !== 'trino') state.engine = name
    },
  })
  return {
    ...engine,
    run: (statement, release, options) => engine.run(statement, release, noting(options)),
    runInBatches: (statement, release, options) => engine.runInBatches(statement, release, noting(options)),
  }
}
