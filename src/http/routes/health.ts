/** Liveness and readiness, without a key. */
import type { Readiness } from '../../answers/service.ts'
import type { Engine } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { Route } from '../route.ts'

/** @returns null without Trino. An instance stays ready when Trino is down: lists, records and cached answers still work. */
async function describeTrino({ distributed }: Engine, view: ReleaseView): Promise<Readiness['trino']> {
  if (distributed === undefined) return null
  const { up, registered } = await distributed.status(view)
  return { used: distributed.mode === 'auto' ? 'for large queries' : 'for all queries', up, registered }
}

export const HEALTH: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/health',
    operation: 'getHealth',
    summary: 'The process is alive.',
    capability: null,
    release: null,
    response: 'HealthResponse',
    handle: async () => ({ data: { status: 'ok' } }),
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/ready',
    operation: 'getReadiness',
    summary: 'A verified release is in service; else 503 and why not.',
    capability: null,
    release: null,
    response: 'ReadyResponse',
    handle: async (_call, { releases, rows, engine, fileProblems }) => {
      const current = releases.current()
      const refused = releases.problems().map(({ release_id, reason }) => ({ release_id, reason }))
      const pointer = releases.pointerProblem()
      const keys = fileProblems?.keys() ?? null
      const log = (fileProblems?.log() ?? []).map(({ file, reason }) => ({ file, reason }))
      const state = fileProblems?.source?.()
      const source = state === undefined ? null : { ...state }
      if (current === null)
        throw new AppError('not_ready', {
          detail:
            pointer !== null
              ? both('O arquivo current.json está danificado.', `The file current.json ${pointer}.`)
              : source !== null && refused.length === 0
                ? both(
                    'A versão de dados ainda não foi copiada da origem.',
                    'The release has not been copied from its source yet.',
                  )
                : refused.length === 0
                  ? both('Nenhuma versão de dados foi promovida.', 'No release is promoted.')
                  : both('A versão de dados promovida foi recusada.', 'The promoted release was refused.'),
          headers: { 'Retry-After': '5' },
          extra: { refused, pointer, keys, log, source },
        })
      const damaged = releases.guard.damaged()
      // Without row files the engine answers lists and records, at a fraction of the speed.
      const missing = rows?.problems(current).map(({ dataset, reason }) => ({ dataset, reason })) ?? []
      const data: Readiness = {
        status: 'ready',
        release_id: current.id,
        refused,
        pointer,
        keys,
        log,
        source,
        missing_files: damaged.flatMap(({ file, isMissing }) => (isMissing ? [file] : [])),
        damaged_files: damaged.map(({ file, reason }) => ({ file, reason })),
        row_store: { complete: missing.length === 0, missing },
        trino: await describeTrino(engine, current),
      }
      return { data }
    },
  },
]
