/**
 * The row files of the releases that are open. In: releases as they are opened and closed. Out: the table of a dataset and period, or
 * null where there is no good row file: then the engine answers.
 *
 * Row files are made when a release is imported or promoted, never here: they are opened read-only, by any number of processes.
 * Those of the newest period are opened with the release, so that the first request finds them; older ones when they are asked for.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { PeriodChoice } from '../query/list.ts'
import type { Manifest } from '../release/manifest.ts'
import {
  componentId,
  componentManifests,
  latestPeriod,
  type ReleaseView,
  storedPeriods,
} from '../release/view.ts'
import { checkRowFiles, type RowProblem, type RowSource } from './derived.ts'
import { openRowFile, type RowFile } from './row-file.ts'
import { bytesOf, type RowSet } from './row-sets.ts'
import { joinPeriods, openTable, type PeriodTable, type RowTable } from './row-table.ts'
import { bytesOfSort, type SortIndex } from './sort-index.ts'

export type { ByteString } from './phrases.ts'
export { parseRow } from './row-file.ts'
export type { PageQuery, RowItem, RowPage, RowTable } from './row-table.ts'

export interface RowStore {
  /**
   * Opens the row files of a verified release before it is handed out; never throws for missing or damaged files, which
   * `problems` reports.
   */
  open(view: ReleaseView): Promise<void>
  /** Closes what a release no longer in use holds. @param id of the analytics release */
  release(id: string): Promise<void>
  /** The rows of a dataset in a period, or in all of them; null where row files are missing. */
  find(view: ReleaseView, dataset: DatasetName, period: PeriodChoice): RowTable | null
  /** Datasets and periods of an open release that have no good row file, and why. Empty: all there. */
  problems(view: ReleaseView): readonly RowProblem[]
  /** Bytes of memory and disk of what is open. */
  stats(): { readonly memory: number; readonly disk: number }
  close(): Promise<void>
}

/** The rows that are open now are asked for with every page: they stay, whatever else may be cached. */
const SET_BYTES_MIN = 16 << 20

/** Orders that lists were last asked for in: five of the largest month. */
const SORT_BYTES = 48 << 20

/** Row files of one component release. */
interface Component {
  readonly folder: string
  readonly sources: readonly RowSource[]
  readonly tables: Map<string, { readonly file: RowFile; readonly table: PeriodTable }>
  readonly joined: Map<DatasetName, RowTable>
  readonly problems: RowProblem[]
}

const nameOf = (dataset: DatasetName, period: number | null): string => `${dataset}/${period ?? ''}`

/** @param options setBytes: of sets of rows that meet a filter, all together; 16 MiB at least */
export function createRowStore(options: { releasesDir: string; setBytes: number }): RowStore {
  const { releasesDir } = options
  const components = new Map<string, Component>()
  /** Component releases of each open analytics release. */
  const views = new Map<string, readonly string[]>()
  const sets = new LRUCache<string, RowSet>({
    maxSize: Math.max(SET_BYTES_MIN, options.setBytes),
    sizeCalculation: (set, name) => bytesOf(set) + 2 * name.length + 300,
  })

  const sorts = new LRUCache<string, SortIndex>({ maxSize: SORT_BYTES, sizeCalculation: bytesOfSort })

  /** The table of one period; a file that cannot be read is a problem from now on. */
  const tableOf = (id: string, component: Component, dataset: DatasetName, period: number | null) => {
    const name = nameOf(dataset, period)
    const open = component.tables.get(name)
    if (open !== undefined) return open.table
    const source = component.sources.find((other) => other.dataset === dataset && other.period === period)
    if (source === undefined || component.problems.some((problem) => problem.dataset === source.path))
      return null
    try {
      const file = openRowFile(datasetOf(dataset), join(component.folder, source.path))
      const table = openTable(datasetOf(dataset), file, `${id}/${name}`, sets, sorts)
      component.tables.set(name, { file, table })
      return table
    } catch (error) {
      component.problems.push({ dataset: source.path, reason: `cannot be read: ${(error as Error).message}` })
      return null
    }
  }
  const openComponent = async (view: ReleaseView, manifest: Manifest): Promise<void> => {
    const id = manifest.release_id
    const known = components.get(id)
    // One that lacked row files may have got them since.
    if (known?.problems.length === 0) return
    const { folder, good, problems } = await checkRowFiles(releasesDir, manifest)
    const component: Component = {
      folder,
      sources: good.map(({ source }) => source),
      tables: known?.tables ?? new Map(),
      joined: new Map(),
      problems: [...problems],
    }
    for (const { dataset, period } of component.sources) {
      if (datasetOf(dataset).periodic && period !== latestPeriod(view, dataset)) continue
      tableOf(id, component, dataset, period)
      // A large file takes some milliseconds: requests are answered in between.
      await nextTurn()
    }
    components.set(id, component)
  }
  const closeUnused = (): void => {
    const used = new Set([...views.values()].flat())
    for (const [id, { tables }] of components)
      if (!used.has(id)) {
        components.delete(id)
        for (const cache of [sets, sorts])
          for (const key of cache.keys()) if (key.startsWith(id)) cache.delete(key)
        for (const { file } of tables.values()) file.close()
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
      if (period !== 'all') return tableOf(id, component, dataset, period)
      const known = component.joined.get(dataset)
      if (known !== undefined) return known
      const tables: { period: number; table: PeriodTable }[] = []
      for (const each of storedPeriods(view, dataset)) {
        const table = tableOf(id, component, dataset, each)
        if (table === null) return null
        tables.push({ period: each, table })
      }
      const joined = joinPeriods(datasetOf(dataset), tables)
      component.joined.set(dataset, joined)
      return joined
    },
    problems: (view) =>
      manifestsOf(view).flatMap(({ release_id }) => components.get(release_id)?.problems ?? []),
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
      views.clear()
      closeUnused()
      sets.clear()
      sorts.clear()
    },
  }
}
