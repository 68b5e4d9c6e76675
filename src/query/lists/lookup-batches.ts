/**
 * Lookups that wait at the same time are answered by one statement: for releases without a row store, where a statement over
 * Parquet costs the same tens of milliseconds for one key as for many. The engine is told what they read, so that it holds the
 * records of a month in memory once some statements have.
 *
 * A lookup starts its statement at the end of the turn it came in; those that come while it runs gather, and go together in
 * the next. What each gets is what its own statement would have given it: rows, their order, and errors of its own.
 */
import type { Engine, Row } from '../../engine/types.ts'
import { AppError, clientLeft } from '../../errors.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { PeriodChoice } from './list.ts'
import { isSeparable, keyText, planLookup, type RecordKey, recordsWanted, rowsByKey } from './lookup.ts'

export interface Lookups {
  /**
   * Every field of the records with a key (or with what keys begin with), in the order of keys.
   * @param signal aborted when the client leaves; the statement is interrupted when nobody waits for it any more
   * @throws AppError as Engine.run: 'query_timeout', 'overloaded', …
   */
  find(
    view: ReleaseView,
    dataset: DatasetName,
    key: RecordKey,
    period: PeriodChoice,
    signal?: AbortSignal,
  ): Promise<readonly Row[]>
}

export interface LookupOptions {
  /** Callers that may wait at once, those of running statements included; one more is 'overloaded'. */
  readonly waitingMax: number
  /** Keys of one statement at most. */
  readonly keysMax?: number
}

interface Waiter {
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}
/** One key and everyone who waits for it. */
interface Wanted {
  readonly key: RecordKey
  readonly waiters: Set<Waiter>
  /** Nobody waits any more. */
  onEmpty(): void
}
/** Keys of the same columns, of one dataset of one release. */
interface Group {
  readonly waiting: Map<string, Wanted>
  isRunning: boolean
}

const KEYS_MAX = 64
/** May go well for one key where it failed for many. */
const maySucceedAlone = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'query_too_large' || error.code === 'internal')

/** @returns lookups over an engine, nothing waiting */
export function createLookups(
  engine: Pick<Engine, 'run'>,
  { waitingMax, keysMax = KEYS_MAX }: LookupOptions,
): Lookups {
  const groups = new Map<string, Group>()
  let waiting = 0

  async function runBatch(
    view: ReleaseView,
    dataset: DatasetName,
    period: PeriodChoice,
    wanted: readonly Wanted[],
  ): Promise<void> {
    const batch = wanted.filter(({ waiters }) => waiters.size > 0)
    if (batch.length === 0) return
    const stop = new AbortController()
    const leave = (): void => {
      if (batch.every(({ waiters }) => waiters.size === 0)) stop.abort()
    }
    for (const each of batch) each.onEmpty = leave
    try {
      const keys = batch.map(({ key }) => key)
      const declared = datasetOf(dataset)
      const statement = planLookup(declared, keys, period)
      const wanted = recordsWanted(view, declared, Object.keys(keys[0] ?? {}), period)
      const rows = await engine.run(statement, view, {
        signal: stop.signal,
        ...(wanted === null ? {} : { wanted }),
      })
      const found = rowsByKey(keys, rows)
      batch.forEach(({ waiters }, index) => {
        for (const waiter of [...waiters]) waiter.resolve(found[index] ?? [])
      })
    } catch (error) {
      if (batch.length > 1 && maySucceedAlone(error))
        for (const each of batch) await runBatch(view, dataset, period, [each])
      else for (const { waiters } of batch) for (const waiter of [...waiters]) waiter.reject(error)
    }
  }

  return {
    find(view, dataset, key, period, signal) {
      if (signal?.aborted === true) return Promise.reject(clientLeft())
      const declared = datasetOf(dataset)
      if (!isSeparable(declared, key))
        return engine.run(planLookup(declared, [key], period), view, signal === undefined ? {} : { signal })
      if (waiting >= waitingMax)
        return Promise.reject(new AppError('overloaded', { headers: { 'Retry-After': '1' } }))

      const groupName = JSON.stringify([view.id, dataset, period, Object.keys(key).sort()])
      const group = groups.get(groupName) ?? { waiting: new Map<string, Wanted>(), isRunning: false }
      groups.set(groupName, group)
      const text = keyText(key)
      const wanted = group.waiting.get(text) ?? { key, waiters: new Set(), onEmpty: () => {} }
      if (!group.waiting.has(text)) {
        wanted.onEmpty = () => group.waiting.delete(text)
        group.waiting.set(text, wanted)
      }
      const runAll = async (): Promise<void> => {
        while (group.waiting.size > 0) {
          const batch = [...group.waiting.values()].slice(0, keysMax)
          for (const each of batch) group.waiting.delete(keyText(each.key))
          await runBatch(view, dataset, period, batch)
          // Callers who ask again as soon as they are answered go together.
          await new Promise((resolve) => setImmediate(resolve))
        }
        groups.delete(groupName)
      }
      return new Promise((resolve, reject) => {
        const end = (): void => {
          waiting -= 1
          wanted.waiters.delete(waiter)
          signal?.removeEventListener('abort', onAbort)
        }
        const waiter: Waiter = {
          resolve(rows) {
            end()
            resolve(rows)
          },
          reject(error) {
            end()
            reject(error)
          },
        }
        const onAbort = (): void => {
          waiter.reject(clientLeft())
          if (wanted.waiters.size === 0) wanted.onEmpty()
        }
        waiting += 1
        wanted.waiters.add(waiter)
        signal?.addEventListener('abort', onAbort, { once: true })
        if (group.isRunning) return
        group.isRunning = true
        setImmediate(() => void runAll())
      })
    },
  }
}
