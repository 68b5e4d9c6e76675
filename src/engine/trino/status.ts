/**
 * What is known of Trino, for /ready and /metrics: does it take statements, has it the tables of a release? It is asked again after
 * some seconds, while what was known is answered. Not here: whether a query may be sent, which is tried and seen.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { ReleaseView } from '../../release/view.ts'
import type { Distributed } from '../types.ts'
import type { TrinoClient } from './client.ts'
import { isRegistered } from './register.ts'

type Status = Awaited<ReturnType<Distributed['status']>>

/** It is asked anew after so long. */
const FRESH_MS = 5000
/** Whoever asks is answered after so long, with what is known by then. */
const PATIENCE_MS = 3000
/** A coordinator without workers has statements wait for minutes: it takes none. */
const ASK_MS = 20_000
const DOWN: Status = { up: false, registered: false }

/** @param patienceMs how long a question may wait for an answer that is not there yet */
export function createStatus(
  client: TrinoClient,
  catalog: string,
  patienceMs = PATIENCE_MS,
): Distributed['status'] {
  let latest: { readonly id: string | null; readonly status: Status } = { id: null, status: DOWN }
  let asking: { readonly id: string | null; readonly answer: Promise<Status> } | null = null
  let freshUntil = 0

  const ask = async (release: ReleaseView | null): Promise<Status> => {
    try {
      if (!(await client.isUp())) return DOWN
      if (release === null) return { up: true, registered: false }
      return {
        up: true,
        registered: await isRegistered(release, client, catalog, AbortSignal.timeout(ASK_MS)),
      }
    } catch {
      return DOWN
    }
  }
  return async (release) => {
    const id = release?.id ?? null
    if (latest.id === id && Date.now() < freshUntil) return latest.status
    if (asking?.id !== id) {
      const own = { id, answer: ask(release) }
      asking = own
      void own.answer.then((status) => {
        if (asking !== own) return
        latest = { id, status }
        freshUntil = Date.now() + FRESH_MS
        asking = null
      })
    }
    const known = latest.id === id ? latest.status : DOWN
    return Promise.race([asking.answer, wait(patienceMs, known, { ref: false })])
  }
}
