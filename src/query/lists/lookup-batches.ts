/**
 * Answers look-ups that wait at the same time with one statement. This serves releases without a row store, where a statement over Parquet
 * takes the same tens of milliseconds for one key as for many. A look-up starts its statement at the end of the current event-loop turn.
 * Look-ups that arrive while it runs share the next one. Each gets the rows, order and errors that a separate statement would give. Each
 * statement also names the records that it reads, so that the engine can load a month into memory after some statements.
 */
import type { Engine, Row } from '../../engine/types.ts'
import { AppError, clientLeft } from '../../errors.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { PeriodChoice } from './list.ts'
import { isSeparable, keyText, planLookup, type RecordKey, recordsWanted, rowsByKey } from './lookup.ts'

export interface Lookups {
  /**
   * Finds the records with a key, or with the beginning of a key, with every field and in key order.
   * @param signal aborted when the client leaves; the statement is interrupted once all of its callers have left
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
  /** Largest number of waiting callers, including those of running statements. Another caller gets 'overloaded'. */
  readonly waitingMax: number
  readonly keysMax?: number
}

interface Waiter {
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}
interface PendingKey {
  readonly key: RecordKey
  readonly waiters: Set<Waiter>
  onEmpty(): void
}
/** Pending look-ups of one release, dataset and period by the same columns. */
interface Group {
  readonly waiting: Map<string, PendingKey>
  isRunning: boolean
}

const KEYS_MAX = 64
/** @returns whether each key may succeed in a separate statement after this error of a batch */
const maySucceedAlone = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'query_too_large' || error.code === 'internal')

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
    pendingKeys: readonly PendingKey[],
  ): Promise<void> {
    const batch = pendingKeys.filter(({ waiters }) => waiters.size > 0)
    if (batch.length === 0) return
    const stop = new AbortController()
    const leave = (): void => {
      if (batch.every(({ waiters }) => waiters.size === 0)) stop.abort()
    }
    for (const each of batch) each.onEmpty = leave
    try {
      const keys = batch.map(({ key }) => key)
      const definition = datasetOf(dataset)
      const statement = planLookup(definition, keys, period)
      const residentRecords = recordsWanted(view, definition, Object.keys(keys[0] ?? {}), period)
      const rows = await engine.run(statement, view, {
        signal: stop.signal,
        ...(residentRecords === null ? {} : { wanted: residentRecords }),
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
      const definition = datasetOf(dataset)
      if (!isSeparable(definition, key))
        return engine.run(planLookup(definition, [key], period), view, signal === undefined ? {} : { signal })
      if (waiting >= waitingMax)
        return Promise.reject(new AppError('overloaded', { headers: { 'Retry-After': '1' } }))

      const groupName = JSON.stringify([view.id, dataset, period, Object.keys(key).sort()])
      const group = groups.get(groupName) ?? { waiting: new Map<string, PendingKey>(), isRunning: false }
      groups.set(groupName, group)
      const text = keyText(key)
      const pending = group.waiting.get(text) ?? { key, waiters: new Set(), onEmpty: () => {} }
      if (!group.waiting.has(text)) {
        pending.onEmpty = () => group.waiting.delete(text)
        group.waiting.set(text, pending)
      }
      const runGroup = async (): Promise<void> => {
        while (group.waiting.size > 0) {
          const batch = [...group.waiting.values()].slice(0, keysMax)
          for (const each of batch) group.waiting.delete(keyText(each.key))
          await runBatch(view, dataset, period, batch)
          // Wait one turn, so that callers who look up again immediately share a statement.
          await new Promise((resolve) => setImmediate(resolve))
        }
        groups.delete(groupName)
      }
      return new Promise((resolve, reject) => {
        const end = (): void => {
          waiting -= 1
          pending.waiters.delete(waiter)
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
          if (pending.waiters.size === 0) pending.onEmpty()
        }
        waiting += 1
        pending.waiters.add(waiter)
        signal?.addEventListener('abort', onAbort, { once: true })
        if (group.isRunning) return
        group.isRunning = true
        setImmediate(() => void runGroup())
      })
    },
  }
}
