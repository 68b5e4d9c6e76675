/**
 * Reports the state of Trino for /ready and /metrics: whether it accepts statements and has the tables of a release. The state is
 * refreshed after some seconds, while callers get the last one. Queries do not depend on it: they are sent and may fail.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { ReleaseView } from '../../release/view.ts'
import type { Distributed } from '../types.ts'
import type { TrinoClient } from './client.ts'
import { isRegistered } from './register.ts'

type Status = Awaited<ReturnType<Distributed['status']>>

/** How long a status counts as fresh. */
const FRESH_MS = 5000
/** Longest wait of a caller before it gets the last known status. */
const PATIENCE_MS = 3000
/** Time-out of the check. A coordinator without workers counts as unavailable, because statements would wait for minutes. */
const CHECK_MS = 20_000
const DOWN: Status = { up: false, registered: false }

/** @param patienceMs longest wait of a caller for a status that is being refreshed */
export function createStatus(
  client: TrinoClient,
  catalog: string,
  patienceMs = PATIENCE_MS,
): Distributed['status'] {
  let latest: { readonly id: string | null; readonly status: Status } = { id: null, status: DOWN }
  let runningCheck: { readonly id: string | null; readonly answer: Promise<Status> } | null = null
  let freshUntil = 0

  const checkStatus = async (release: ReleaseView | null): Promise<Status> => {
    try {
      if (!(await client.isUp())) return DOWN
      if (release === null) return { up: true, registered: false }
      return {
        up: true,
        registered: await isRegistered(release, client, catalog, AbortSignal.timeout(CHECK_MS)),
      }
    } catch {
      return DOWN
    }
  }
  return async (release) => {
    const id = release?.id ?? null
    if (latest.id === id && Date.now() < freshUntil) return latest.status
    if (runningCheck?.id !== id) {
      const check = { id, answer: checkStatus(release) }
      runningCheck = check
      void check.answer.then((status) => {
        if (runningCheck !== check) return
        latest = { id, status }
        freshUntil = Date.now() + FRESH_MS
        runningCheck = null
      })
    }
    const lastStatus = latest.id === id ? latest.status : DOWN
    return Promise.race([runningCheck.answer, wait(patienceMs, lastStatus, { ref: false })])
  }
}
