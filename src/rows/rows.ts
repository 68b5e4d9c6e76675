/**
 * The rows of the release in service, written out as JSON once, so that lists and records are bytes to be found, not
 * questions to be asked. In: releases as they come into service. Out: the shelf of a dataset and period, when it is ready;
 * until then, and for anything it cannot answer exactly, the engine answers.
 *
 * DuckDB stays what computes: it writes the lines, and says which rows meet a filter, once for each filter and value.
 * Disk is bounded by `maxBytes`, the sets of rows by `setBytes`. Files have no name while they are used: they go with the
 * process, however it ends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Engine, Row } from '../engine/types.ts'
import { type Dataset, type DatasetName, datasetOf, type Filter } from '../model/datasets.ts'
import { filterConditions, foldText, whereClause } from '../query/filters.ts'
import type { PeriodChoice } from '../query/list.ts'
import { latestPeriod, type ReleaseView } from '../release/view.ts'
import { sql, table } from '../sql.ts'
import { workerEntry } from '../workers/entry.ts'
import { readIndex } from './index-file.ts'
import {
  bytesOf,
  countOf,
  everyRow,
  fromBitText,
  intersect,
  nextPositions,
  type Positions,
} from './positions.ts'
import { type Bytes, openShelf, type Shelf } from './shelf.ts'

/** What the program is started with. */
export interface BuildJob {
  readonly dataset: DatasetName
  /** Parquet file of the release. */
  readonly file: string
  readonly rows: number
  readonly folder: string
  /** Files it makes: the lines, and their index. */
  readonly out: string
  readonly index: string
  /** The server's process: when it has ended meanwhile, however it did, the folder goes. */
  readonly owner: number
}

export interface RowsOptions {
  readonly releasesDir: string
  /** Where files of lines stand while the server runs; 'auto': the system's temporary folder, where that is a disk. */
  readonly folder: string | 'auto' | null
  /** Bytes of files of lines, all together. */
  readonly maxBytes: number
  /** Bytes of sets of rows that meet a filter, all together; 16 MiB at least. */
  readonly setBytes: number
  readonly engine: Engine
  readonly onShelf?: (dataset: string, rows: number, bytes: number, ms: number) => void
  readonly onProblem?: (dataset: string, reason: string) => void
}

export interface ShelfPage {
  /** JSON array. */
  readonly json: Bytes
  readonly count: number
  /** Key of the last row where more follow. */
  readonly next: readonly (string | number)[] | null
  readonly total: number | null
}

export interface PageQuestion {
  readonly filters: Readonly<Record<string, string>>
  readonly after: readonly (string | number)[] | null
  readonly limit: number
  readonly counts: boolean
}

export interface RowStore {
  /** Begins with a release that has come into service; what is kept of others goes. */
  open(view: ReleaseView): void
  /** The shelf of a dataset, or null where there is none (yet). */
  find(view: ReleaseView, dataset: DatasetName, period: PeriodChoice): Shelf | null
  /** A page for which nothing has to be computed; null: there is something. */
  pageNow(view: ReleaseView, dataset: DatasetName, shelf: Shelf, question: PageQuestion): ShelfPage | null
  /** @returns null when the shelf has gone meanwhile: the engine answers */
  page(
    view: ReleaseView,
    dataset: DatasetName,
    shelf: Shelf,
    question: PageQuestion,
  ): Promise<ShelfPage | null>
  /** Resolves when nothing is being written. */
  settled(): Promise<void>
  /** Bytes of memory (indexes, sets of rows) and of disk, and datasets that are still to be written. */
  stats(): { readonly memory: number; readonly disk: number; readonly pending: number }
  close(): Promise<void>
}

/** Datasets that are written out, in order of what is asked for most. */
export const KEPT: readonly DatasetName[] = [
  'facilities',
  'municipalities',
  'population',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
]
/** The rows that are open now are asked for with every page: they stay, whatever else may be kept. */
const SET_BYTES_MIN = 16 << 20
const OUTPUT_MAX = 2000
const TMPFS_MAGIC = 0x01021994
/** No dataset's rows are longer, on average: what is not yet written is reckoned with this. */
const ROW_BYTES_MAX = 1500

/** Filters and their values. */
type Conditions = Readonly<Record<string, string>>

/** What conditions are met in. */
interface Scope {
  readonly view: ReleaseView
  readonly dataset: Dataset
  readonly shelf: Shelf
}

interface Kept {
  readonly viewId: string
  readonly shelf: Shelf
  readonly fileBytes: number
}

export function createRowStore(options: RowsOptions): RowStore {
  const place = makeFolder(options)
  const folder = place?.folder ?? null
  const kept = new Map<string, Kept>()
  const sets = new LRUCache<string, Positions>({
    maxSize: Math.max(SET_BYTES_MIN, options.setBytes),
    sizeCalculation: (set, name) => bytesOf(set) + 2 * name.length + 300,
  })
  const computing = new Map<string, Promise<Positions>>()
  let wanted: ReleaseView | null = null
  let pending = 0
  let building: Promise<void> = Promise.resolve()
  let child: ChildProcess | null = null
  let isClosed = false

  const keyOf = (view: ReleaseView, dataset: DatasetName): string =>
    `${view.components[datasetOf(dataset).area]?.release_id ?? ''}/${dataset}`
  const diskBytes = (): number => [...kept.values()].reduce((sum, { fileBytes }) => sum + fileBytes, 0)

  const drop = (view: ReleaseView): void => {
    const current = new Set(KEPT.map((dataset) => keyOf(view, dataset)))
    for (const [key, { shelf }] of kept)
      if (!current.has(key)) {
        kept.delete(key)
        shelf.close()
      }
    sets.clear()
  }
  const build = (job: BuildJob): Promise<void> =>
    new Promise((resolvePromise, reject) => {
      // No environment: settings and secrets of the server are not the child's.
      const { file, execArgv } = workerEntry('rows')
      const started = spawn(process.execPath, [...execArgv, file, JSON.stringify(job)], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {},
      })
      child = started
      let said = ''
      started.stderr.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-OUTPUT_MAX)
      })
      started.once('error', reject)
      started.once('close', (code, signal) => {
        if (code === 0) resolvePromise()
        else reject(new Error(`writing rows out ended with ${signal ?? `code ${code}`}: ${said}`))
      })
    })
  const buildOne = async (view: ReleaseView, dataset: DatasetName): Promise<void> => {
    const source = sourceOf(view, dataset, options.releasesDir)
    const key = keyOf(view, dataset)
    if (folder === null || source === null || kept.has(key)) return
    const room = (place?.maxBytes ?? 0) - diskBytes()
    if (source.rows * ROW_BYTES_MAX > room) {
      options.onProblem?.(dataset, `no room for its ${source.rows} rows`)
      return
    }
    const startedAt = performance.now()
    const out = join(folder, `${dataset}.lines`)
    const indexFile = join(folder, `${dataset}.index`)
    try {
      await build({ dataset, ...source, folder, out, index: indexFile, owner: process.pid })
      const index = await readIndex(indexFile)
      const isWanted = wanted?.id === view.id && !isClosed
      if (!isWanted) return
      if (index.bytes > room) throw new RangeError(`no room for its ${index.bytes} bytes`)
      kept.set(key, {
        viewId: view.id,
        shelf: openShelf(datasetOf(dataset), index, openSync(out, 'r')),
        fileBytes: index.bytes,
      })
      options.onShelf?.(dataset, index.rows, index.bytes, performance.now() - startedAt)
    } catch (error) {
      if (!isClosed) options.onProblem?.(dataset, error instanceof Error ? error.message : String(error))
    } finally {
      child = null
      rmSync(out, { force: true })
      rmSync(indexFile, { force: true })
    }
  }
  const buildAll = async (view: ReleaseView): Promise<void> => {
    drop(view)
    for (const [index, dataset] of KEPT.entries()) {
      if (wanted?.id !== view.id || isClosed) return
      await buildOne(view, dataset)
      pending = KEPT.length - index - 1
    }
  }

  const nameOf = ({ view, dataset }: Scope, groups: readonly Conditions[]): string =>
    `${view.id}/${dataset.name}/${JSON.stringify(groups)}`
  /** Sets may hold on to the shelf they were found on: none stays that is found when it has gone. */
  const keepSet = (scope: Scope, groups: readonly Conditions[], set: Positions): Positions => {
    if (!scope.shelf.isClosed()) sets.set(nameOf(scope, groups), set)
    return set
  }
  /** How the rows of one condition are found without the engine; null: they are not. */
  const wayTo = (scope: Scope, group: Conditions): (() => Positions) | null => {
    const known = sets.get(nameOf(scope, [group]))
    if (known !== undefined) return () => known
    const { dataset, shelf } = scope
    const [[name = '', text = ''] = [], ...others] = Object.entries(group)
    const { search } = shelf
    return search !== null && others.length === 0 && dataset.filters?.[name]?.kind === 'search'
      ? () => search(foldText(text), text)
      : null
  }
  /** Rows that meet all conditions; null where the engine has to be asked for some: then nothing has been looked for. */
  const findSet = (scope: Scope, groups: readonly Conditions[]): Positions | null => {
    const { rows } = scope.shelf
    if (groups.length === 0 || rows === 0) return everyRow(rows)
    const known = sets.get(nameOf(scope, groups))
    if (known !== undefined) return known
    const ways: (() => Positions)[] = []
    for (const group of groups) {
      const way = wayTo(scope, group)
      if (way === null) return null
      ways.push(way)
    }
    const parts = ways.map((way) => way())
    return keepSet(scope, groups, intersect(rows, parts))
  }
  /** The same, whatever has to be asked. What is found is used at once: it may not stay in `sets` until the rest is. */
  const computeSet = async (scope: Scope, groups: readonly Conditions[]): Promise<Positions> => {
    const parts = await Promise.all(groups.map((group) => wayTo(scope, group)?.() ?? askOnce(scope, group)))
    return keepSet(scope, groups, intersect(scope.shelf.rows, parts))
  }
  const askOnce = async (scope: Scope, group: Conditions): Promise<Positions> => {
    const name = nameOf(scope, [group])
    const running = computing.get(name)
    if (running !== undefined) return running
    const own = ask(scope, group)
    computing.set(name, own)
    try {
      return keepSet(scope, [group], await own)
    } finally {
      computing.delete(name)
    }
  }
  const ask = async ({ view, dataset, shelf }: Scope, group: Conditions): Promise<Positions> => {
    const period = dataset.periodic ? latestPeriod(view, dataset.name as DatasetName) : null
    const [row] = await options.engine.run(
      sql`SELECT CAST(bitstring_agg(file_row_number, 0, ${shelf.rows - 1}) AS VARCHAR) AS bits FROM ${table(dataset.name, period)}${whereClause(filterConditions(dataset.filters ?? {}, group))}`,
      view,
    )
    return fromBitText(shelf.rows, (row as Row | undefined)?.bits as string | null)
  }

  return {
    open(view) {
      if (folder === null) return
      wanted = view
      pending = KEPT.length
      building = building
        .then(() => buildAll(view))
        // A folder that cannot be written to any more: the engine answers, and the next release is tried again.
        .catch((error: unknown) =>
          options.onProblem?.('all', error instanceof Error ? error.message : String(error)),
        )
    },
    find(view, dataset, period) {
      const isLatest = datasetOf(dataset).periodic ? period === latestPeriod(view, dataset) : period === null
      return isLatest ? (kept.get(keyOf(view, dataset))?.shelf ?? null) : null
    },
    pageNow(view, datasetName, shelf, question) {
      const dataset = datasetOf(datasetName)
      const groups = conditionGroups(dataset.filters ?? {}, question.filters)
      const set = shelf.isClosed() ? null : findSet({ view, dataset, shelf }, groups)
      return set === null ? null : cutPage(shelf, set, question)
    },
    async page(view, datasetName, shelf, question) {
      const dataset = datasetOf(datasetName)
      const groups = conditionGroups(dataset.filters ?? {}, question.filters)
      const scope = { view, dataset, shelf }
      const set = findSet(scope, groups) ?? (await computeSet(scope, groups))
      return shelf.isClosed() ? null : cutPage(shelf, set, question)
    },
    settled: () => building,
    stats: () => ({
      pending,
      memory: [...kept.values()].reduce((sum, { shelf }) => sum + shelf.bytes, 0) + sets.calculatedSize,
      disk: diskBytes(),
    }),
    async close() {
      isClosed = true
      wanted = null
      child?.kill('SIGKILL')
      await building
      for (const { shelf } of kept.values()) shelf.close()
      kept.clear()
      if (folder !== null) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Conditions that are met or not one by one; those on declarations are met together, by one declaration. */
function conditionGroups(filters: Readonly<Record<string, Filter>>, given: Conditions): Conditions[] {
  const together: Record<string, string> = {}
  const groups: Conditions[] = []
  for (const [name, text] of Object.entries(given)) {
    const filter = filters[name]
    if (filter === undefined || (filter.kind === 'status' && text === 'all')) continue
    if (filter.kind === 'declaration') together[name] = text
    else groups.push({ [name]: text })
  }
  if (Object.keys(together).length > 0) groups.push(together)
  return groups
}

/** @param set rows that meet the filters */
function cutPage(shelf: Shelf, set: Positions, { after, limit, counts }: PageQuestion): ShelfPage {
  const from = after === null ? 0 : shelf.after(after)
  const positions = nextPositions(set, from, limit + 1)
  const shown = positions.length > limit ? positions.slice(0, limit) : positions
  return {
    json: shelf.list(shown),
    count: shown.length,
    next: positions.length > limit ? shelf.keyAt(shown.at(-1) ?? 0) : null,
    total: counts ? countOf(set) : null,
  }
}

/** The one Parquet file of a dataset's newest partition; null where it has none or several. */
function sourceOf(
  view: ReleaseView,
  dataset: DatasetName,
  releasesDir: string,
): { readonly file: string; readonly rows: number } | null {
  const manifest = view.components[datasetOf(dataset).area]
  const period = datasetOf(dataset).periodic ? latestPeriod(view, dataset) : null
  const prefix = period === null ? `${dataset}/` : `${dataset}/reference_period=${period}/`
  const files = (manifest?.files ?? []).filter(({ path }) => path.startsWith(prefix))
  const [file] = files
  if (manifest === null || manifest === undefined || file === undefined || files.length > 1) return null
  return { file: join(resolve(releasesDir), manifest.release_id, file.path), rows: file.rows }
}

/** @returns a folder of this process and how much may stand in it, or null where there is no room */
function makeFolder(options: RowsOptions): { readonly folder: string; readonly maxBytes: number } | null {
  if (options.folder === null || options.maxBytes === 0) return null
  const isChosen = options.folder !== 'auto'
  try {
    const parent = isChosen ? options.folder : tmpdir()
    mkdirSync(parent, { recursive: true })
    const { type, bavail, bsize } = statfsSync(parent)
    if (type === TMPFS_MAGIC && !isChosen) {
      options.onProblem?.('all', 'the temporary folder is memory, not disk; SUS_ROWS_DIR names another')
      return null
    }
    // Half of what is free stays free.
    const maxBytes = Math.min(options.maxBytes, Math.floor((bavail * bsize) / 2))
    return { folder: mkdtempSync(join(parent, 'sus-data-rows-')), maxBytes }
  } catch (error) {
    options.onProblem?.('all', error instanceof Error ? error.message : String(error))
    return null
  }
}
