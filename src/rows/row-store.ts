/**
 * Keeps the row files of open releases. Input: releases as they open and close. Output: the table of a dataset and period, or null
 * when it has no usable row file; the caller then queries the engine.
 *
 * Import and promotion create row files; this module opens them read-only, so any number of processes can share them. Files of the
 * newest period open with the release, so that the first request finds them; older ones open on first use.
 *
 * Every byte is checked whenever it is read. A damaged file is closed and reported, and the engine answers instead. Every two
 * seconds the store also checks for new or changed files and reads those in full. This reports damage that no request has met, and
 * reopens files that were rebuilt.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { PeriodChoice } from '../query/lists/list.ts'
import { fileState } from '../release/file-state.ts'
import type { Manifest } from '../release/manifest.ts'
import {
  componentId,
  componentManifests,
  latestPeriod,
  type ReleaseView,
  storedPeriods,
} from '../release/view.ts'
import {
  checkRowFiles,
  damageText,
  datasetPart,
  indexPath,
  type ListedRowFile,
  type RowProblem,
  type RowSource,
  rowFolder,
} from './derived.ts'
import { openRowFile, type RowFile } from './row-file.ts'
import { bytesOf, type RowSet } from './row-sets.ts'
import { joinPeriods, openTable, type PeriodTable, type RowTable } from './row-table.ts'
import { checkSections, RowFileDamaged } from './sections.ts'
import { bytesOfSort, type SortIndex } from './sort-index.ts'

export type { KeyValue } from './keys.ts'
export { type ByteString, toByteString } from './phrases.ts'
export { parseRow } from './row-file.ts'
export type { PageQuery, RowItem, RowPage, RowTable } from './row-table.ts'

export interface RowStore {
  /**
   * Opens the row files of a verified release before the release is used. Never throws for missing or damaged files; `problems`
   * reports them.
   */
  open(view: ReleaseView): Promise<void>
  /** Closes the files of a release that is no longer in use. @param id of the analytics release */
  release(id: string): Promise<void>
  /** The rows of a dataset in one period or in all periods; null where row files are missing. */
  find(view: ReleaseView, dataset: DatasetName, period: PeriodChoice): RowTable | null
  /** Datasets and periods of an open release without a usable row file, with the reason. Empty when all are usable. */
  problems(view: ReleaseView): readonly RowProblem[]
  /** Checks the files now, as the timer does every two seconds. New or changed files are read in full. */
  look(): Promise<void>
  stats(): { readonly memory: number; readonly disk: number }
  close(): Promise<void>
}

/** Smallest cache of row sets in bytes. Every page of a list needs its set again, so these stay cached whatever the limit. */
const SET_BYTES_MIN = 16 << 20

/** Interval between checks of the files. */
const LOOK_MS = 2000

/** Cache of sort orders in bytes: five orders of the largest month. */
const SORT_BYTES = 48 << 20

interface OpenTable {
  readonly source: RowSource
  readonly file: RowFile
  readonly table: PeriodTable
  /** Returned to callers: its functions never throw RowFileDamaged. */
  readonly guarded: RowTable
}

interface Component {
  readonly manifest: Manifest
  readonly folder: string
  /** State of the index file when it was read. */
  readonly indexState: string
  readonly listed: readonly ListedRowFile[]
  readonly tables: Map<string, OpenTable>
  readonly joined: Map<DatasetName, RowTable>
  readonly problems: Map<string, RowProblem>
  /** State of each file when all of its bytes were last checked. */
  readonly checked: Map<string, string>
}

const tableName = (dataset: DatasetName, period: number | null): string => `${dataset}/${period ?? ''}`

export interface RowStoreOptions {
  readonly releasesDir: string
  /** Cache for sets of rows that meet a filter, in bytes; at least 16 MiB. */
  readonly setBytes: number
  /** Called once for each row file that is found missing or damaged, until it is usable again. */
  readonly onProblem?: (releaseId: string, problem: RowProblem) => void
  readonly onMended?: (releaseId: string, dataset: string) => void
}

export function createRowStore(options: RowStoreOptions): RowStore {
  const { releasesDir } = options
  const components = new Map<string, Component>()
  /** Ids of the component releases of each open analytics release. */
  const views = new Map<string, readonly string[]>()
  const sets = new LRUCache<string, RowSet>({
    maxSize: Math.max(SET_BYTES_MIN, options.setBytes),
    sizeCalculation: (set, name) => bytesOf(set) + 2 * name.length + 300,
  })
  const sorts = new LRUCache<string, SortIndex>({ maxSize: SORT_BYTES, sizeCalculation: bytesOfSort })
  const closeTable = (component: Component, name: string): void => {
    const open = component.tables.get(name)
    if (open === undefined) return
    component.tables.delete(name)
    component.joined.delete(open.source.dataset)
    open.file.close()
  }
  /** Closes a file, so that the engine answers from now on. */
  const reject = (component: Component, source: RowSource, reason: string): void => {
    const dataset = datasetPart(source)
    const wasReported = component.problems.has(dataset)
    const problem = { dataset, reason: damageText(source, reason) }
    component.problems.set(dataset, problem)
    closeTable(component, tableName(source.dataset, source.period))
    if (!wasReported) options.onProblem?.(component.manifest.release_id, problem)
  }
  /** Reads from row files. @returns `otherwise` when one of them is damaged, which is then closed and reported */
  const attempt = <Value>(component: Component, read: () => Value, otherwise: Value): Value => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RowFileDamaged)) throw error
      const damaged = [...component.tables.values()].find(({ file }) => file.file.path === error.path)
      if (damaged !== undefined) {
        reject(component, damaged.source, error.reason)
        // Force a complete read at the next check: if only this read failed, the file is usable again.
        component.checked.delete(damaged.source.path)
      }
      return otherwise
    }
  }
  const guard = (component: Component, table: RowTable): RowTable => ({
    rows: table.rows,
    find: (key) => attempt(component, () => table.find(key), undefined),
    record: (position) => attempt(component, () => table.record(position), null),
    recordsOf: (first) => attempt(component, () => table.recordsOf(first), null),
    page: (query) => attempt(component, () => table.page(query), null),
  })

  const openPeriod = (
    component: Component,
    dataset: DatasetName,
    period: number | null,
  ): OpenTable | null => {
    const name = tableName(dataset, period)
    const open = component.tables.get(name)
    if (open !== undefined) return open
    const listed = component.listed.find(
      ({ source }) => source.dataset === dataset && source.period === period,
    )
    if (listed === undefined || component.problems.has(datasetPart(listed.source))) return null
    const { source, entry } = listed
    try {
      const file = openRowFile(datasetOf(dataset), join(component.folder, source.path), entry)
      const table = openTable(
        datasetOf(dataset),
        file,
        `${component.manifest.release_id}/${name}`,
        sets,
        sorts,
      )
      const opened = { source, file, table, guarded: guard(component, table) }
      component.tables.set(name, opened)
      return opened
    } catch (error) {
      reject(
        component,
        source,
        error instanceof RowFileDamaged ? error.reason : `cannot be read: ${(error as Error).message}`,
      )
      return null
    }
  }
  /** @param previous the component as read earlier; its problems were already reported */
  const readComponent = async (manifest: Manifest, previous: Component | undefined): Promise<Component> => {
    const folder = rowFolder(releasesDir, manifest.release_id)
    // Read the state before the index, so that a change during the read counts as another change.
    const indexState = await fileState(indexPath(folder))
    const { listed, problems } = await checkRowFiles(releasesDir, manifest)
    const isNew = ({ dataset }: RowProblem): boolean => previous?.problems.has(dataset) !== true
    for (const problem of problems) if (isNew(problem)) options.onProblem?.(manifest.release_id, problem)
    for (const dataset of previous?.problems.keys() ?? [])
      if (!problems.some((problem) => problem.dataset === dataset))
        options.onMended?.(manifest.release_id, dataset)
    return {
      manifest,
      folder,
      indexState,
      listed,
      tables: new Map(),
      joined: new Map(),
      problems: new Map(problems.map((problem) => [problem.dataset, problem])),
      checked: new Map(),
    }
  }
  const replaceComponent = (component: Component): void => {
    const id = component.manifest.release_id
    const previous = components.get(id)
    for (const name of [...(previous?.tables.keys() ?? [])])
      if (previous !== undefined) closeTable(previous, name)
    components.set(id, component)
  }
  const openComponent = async (view: ReleaseView, manifest: Manifest): Promise<void> => {
    const previous = components.get(manifest.release_id)
    // Read components with problems again, because their row files may exist by now.
    if (previous?.problems.size === 0) return
    const component = await readComponent(manifest, previous)
    replaceComponent(component)
    for (const { source } of component.listed) {
      const { dataset, period } = source
      if (datasetOf(dataset).periodic && period !== latestPeriod(view, dataset)) continue
      if (components.get(manifest.release_id) === component) openPeriod(component, dataset, period)
      // A large file takes some milliseconds, so let requests run in between.
      await nextTurn()
    }
  }
  /** Checks the files of a component and reads in full those that changed since their last full read. */
  const checkComponent = async (previous: Component): Promise<void> => {
    const id = previous.manifest.release_id
    let component = previous
    if ((await fileState(indexPath(previous.folder))) !== previous.indexState) {
      component = await readComponent(previous.manifest, previous)
      if (components.get(id) !== previous) return
      const open = [...previous.tables.values()].map(({ source }) => source)
      replaceComponent(component)
      for (const { dataset, period } of open) openPeriod(component, dataset, period)
    }
    for (const { source, entry } of component.listed) {
      const path = join(component.folder, source.path)
      const state = await fileState(path)
      if (component.checked.get(source.path) === state) continue
      const isFirst = !component.checked.has(source.path)
      const damage = await checkSections(path, entry).catch((error: RowFileDamaged) => error)
      if (components.get(id) !== component) return
      component.checked.set(source.path, state)
      if (damage instanceof Error) reject(component, source, damage.reason)
      else {
        if (component.problems.delete(datasetPart(source))) options.onMended?.(id, datasetPart(source))
        // The file may have been replaced. Close it; the next request opens the current one.
        if (!isFirst) closeTable(component, tableName(source.dataset, source.period))
      }
    }
  }
  let runningLook: Promise<void> | null = null
  const checkComponents = async (): Promise<void> => {
    for (const component of [...components.values()])
      if (components.get(component.manifest.release_id) === component) await checkComponent(component)
  }
  /** Checks run one after another, because a running check may already have passed a change. */
  const look = (): Promise<void> => {
    const previousLook = runningLook?.catch(() => undefined) ?? Promise.resolve()
    const currentLook = previousLook.then(checkComponents).finally(() => {
      if (runningLook === currentLook) runningLook = null
    })
    runningLook = currentLook
    return currentLook
  }
  const timer = setInterval(() => {
    // An error here recurs at the next check and in requests. It must not end the process.
    if (runningLook === null) look().catch(() => undefined)
  }, LOOK_MS)
  timer.unref()
  const closeUnused = (): void => {
    const used = new Set([...views.values()].flat())
    for (const [id, component] of components)
      if (!used.has(id)) {
        components.delete(id)
        for (const cache of [sets, sorts])
          for (const key of cache.keys()) if (key.startsWith(`${id}/`)) cache.delete(key)
        for (const name of [...component.tables.keys()]) closeTable(component, name)
      }
  }
  const manifestsOf = componentManifests

  return {
    async open(view) {
      const manifests = manifestsOf(view)
      const ids = manifests.map(({ release_id }) => release_id)
      views.set(view.id, ids)
      for (const manifest of manifests) await openComponent(view, manifest)
    },
    async release(id) {
      views.delete(id)
      closeUnused()
    },
    find(view, dataset, period) {
      const id = componentId(view, datasetOf(dataset).area) ?? ''
      const component = components.get(id)
      if (component === undefined || (period === null && datasetOf(dataset).periodic)) return null
      if (period !== 'all') return openPeriod(component, dataset, period)?.guarded ?? null
      const cachedTable = component.joined.get(dataset)
      if (cachedTable !== undefined) return cachedTable
      const tables: { period: number; table: PeriodTable }[] = []
      for (const storedPeriod of storedPeriods(view, dataset)) {
        const open = openPeriod(component, dataset, storedPeriod)
        if (open === null) return null
        tables.push({ period: storedPeriod, table: open.table })
      }
      const joined = guard(component, joinPeriods(datasetOf(dataset), tables))
      component.joined.set(dataset, joined)
      return joined
    },
    problems: (view) =>
      manifestsOf(view).flatMap(({ release_id }) => [
        ...(components.get(release_id)?.problems.values() ?? []),
      ]),
    look,
    stats() {
      let [memory, disk] = [sets.calculatedSize + sorts.calculatedSize, 0]
      for (const { tables } of components.values())
        for (const { file } of tables.values()) {
          memory += file.memory
          disk += file.disk
        }
      return { memory, disk }
    },
    async close() {
      clearInterval(timer)
      views.clear()
      closeUnused()
      await runningLook?.catch(() => undefined)
      sets.clear()
      sorts.clear()
    },
  }
}
