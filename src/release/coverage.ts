/**
 * Answers whether a table of a state and month was collected, from the coverage in the manifests. Pure. In: a view. Out: the
 * states of a table and month, and the collected months, for releases of any version. Files of some months have no code of a
 * dimension, and only files by state say which facility is linked to SUS. These are separate needs. query/coverage.ts decides
 * what a response does with missing coverage.
 */
import { areaOf } from '../model/areas.ts'
import { AREA_NAMES, type Area, datasetOf } from '../model/datasets.ts'
import { type DimensionCode, dimensionOf, FACT_DATASETS, isPopulation } from '../model/dimensions.ts'
import {
  codedDimensionsOf,
  dimensionOfNeed,
  isFiller,
  isPriceNeed,
  type Need,
  type Table,
  tableOfNeed,
} from '../model/required-tables.ts'
import { REAIS_FROM } from '../model/sih/layout.ts'
import { STATES } from '../model/territory/states.ts'
import { coverageOf, type ReleaseView } from './view.ts'

export const ALL_STATES: ReadonlySet<string> = new Set(STATES.map(({ uf }) => uf))
const NO_STATES: ReadonlySet<string> = new Set()

/** Tables that are collected by state and period, in the order of the areas. */
export const FACT_TABLES = FACT_DATASETS.filter((dataset): dataset is Table => !isPopulation(dataset))
const TABLES_BY_AREA: ReadonlyMap<string, readonly Table[]> = new Map(
  AREA_NAMES.map((area) => [area, FACT_TABLES.filter((table) => datasetOf(table).area === area)]),
)
/** @returns the tables that are collected in the same release as a table */
export const tablesBeside = (table: Table): readonly Table[] => tablesOfArea(datasetOf(table).area)
export const tablesOfArea = (area: Area): readonly Table[] => TABLES_BY_AREA.get(area) ?? []
/** Tables of the registry. */
export const TABLES = tablesOfArea('cnes')

/** @returns all tables of the releases that the needs belong to; those of the registry when there are no needs */
export function tablesOfNeeds(needs: readonly Need[]): readonly Table[] {
  const areas = new Set(needs.map((need) => tablesBeside(tableOfNeed(need))))
  const [only = TABLES] = areas
  return areas.size > 1 ? [...areas].flat() : only
}

interface CoverageCache {
  readonly states: Map<string, ReadonlySet<string>>
  readonly months: Map<ReadonlySet<string>, readonly number[]>
}
/** Caches results per view: every query needs them, and a view never changes. */
const CACHES = new WeakMap<ReleaseView, CoverageCache>()
function cacheOf(view: ReleaseView): CoverageCache {
  const cache = CACHES.get(view) ?? { states: new Map(), months: new Map() }
  CACHES.set(view, cache)
  return cache
}

/** @returns states whose files of the month satisfy the need; `ALL_STATES` itself when all do */
export function statesCollected(view: ReleaseView, need: Need, period: number): ReadonlySet<string> {
  const { states } = cacheOf(view)
  const key = `${need} ${period}`
  const found = states.get(key) ?? findStates(view, need, period)
  states.set(key, found)
  return found
}

function findStates(view: ReleaseView, need: Need, period: number): ReadonlySet<string> {
  if (isPriceNeed(need)) {
    const isIndexed = monthsOfIndex(tableOfNeed(need), period).every((month) => hasPriceIndex(view, month))
    return isIndexed ? ALL_STATES : NO_STATES
  }
  const dimension = dimensionOfNeed(need)
  if (dimension !== null) return statesCarrying(view, tableOfNeed(need), dimension, period)
  if (need === 'sus_link') {
    const isStored = view.components.cnes?.datasets.facilities?.fields.some(
      ({ name }) => name === 'is_linked_sus',
    )
    const isByState = coverageOf(view, 'facilities', period)?.family === 'state'
    return isStored === true && isByState ? statesCollected(view, 'facilities', period) : NO_STATES
  }
  const covered = coverageOf(view, tableOfNeed(need), period)
  // Facilities that only rows of other tables mention are not the registry.
  if (covered === null || covered.family === 'derived') return NO_STATES
  if (covered.states === 'all') return ALL_STATES
  return covered.states.length === ALL_STATES.size ? ALL_STATES : new Set(covered.states)
}

/** @returns all states except those whose files lack the dimension in the month; uncollected states are included */
function statesCarrying(
  view: ReleaseView,
  table: Table,
  dimension: DimensionCode,
  period: number,
): ReadonlySet<string> {
  const covered = coverageOf(view, table, period)
  if (covered === null) return ALL_STATES
  // A release made before the dimension was declared has no column of it.
  if (!isStored(view, table, dimension)) return NO_STATES
  const isSilent = covered.family === 'state' && isFiller(dimension, period)
  const silent = isSilent ? covered.states : (covered.not_carried?.[dimension] ?? [])
  if (silent === 'all') return NO_STATES
  return silent.length === 0 ? ALL_STATES : new Set([...ALL_STATES].filter((uf) => !silent.includes(uf)))
}

/** @returns whether the release of a table has the column of a dimension */
export function isStored(view: ReleaseView, table: Table, dimension: DimensionCode): boolean {
  const entry = view.components[datasetOf(table).area]?.datasets[table]
  return entry === undefined || entry.fields.some(({ name }) => name === dimensionOf(dimension).column)
}

/** @returns states whose published file of a table and month exists but has no row */
export function statesEmpty(view: ReleaseView, table: Table, period: number): ReadonlySet<string> {
  const { empty = [] } = coverageOf(view, table, period) ?? {}
  return empty === 'all' ? ALL_STATES : new Set(empty)
}

/** @returns states whose file of a table and month lay in a folder that the publisher calls final, or preliminary */
export function statesOfStatus(
  view: ReleaseView,
  table: Table,
  period: number,
  status: 'final' | 'preliminary',
): ReadonlySet<string> {
  const declared = Object.entries(coverageOf(view, table, period)?.status ?? {})
  return new Set(declared.filter(([, ofState]) => ofState === status).map(([uf]) => uf))
}

export function statesCollectedOf(
  view: ReleaseView,
  needs: readonly Need[],
  period: number,
): ReadonlySet<string> {
  let common = ALL_STATES
  for (const need of needs) {
    const collected = statesCollected(view, need, period)
    if (collected === ALL_STATES || collected === common) continue
    common = common === ALL_STATES ? collected : new Set([...common].filter((uf) => collected.has(uf)))
  }
  return common
}

/** @returns months (YYYYMM, ascending) in which any of the tables was collected for any of the states */
export function monthsOf(
  view: ReleaseView,
  states: ReadonlySet<string>,
  tables: readonly Table[] = TABLES,
): readonly number[] {
  const { months } = cacheOf(view)
  // Other sets of states are new objects for each query, so they cannot be cache keys.
  const isUsual = states === ALL_STATES && tables === TABLES
  const found =
    (isUsual ? months.get(states) : undefined) ??
    monthsOfRelease(view, tables).filter((period) =>
      tables.some((table) => includesAny(statesCollected(view, table, period), states)),
    )
  if (isUsual) months.set(states, found)
  return found
}

/** @returns months (YYYYMM, ascending) for which a release holds any of the tables */
export function monthsOfRelease(view: ReleaseView, tables: readonly Table[] = TABLES): number[] {
  const months = tables.flatMap((table) =>
    Object.keys(view.components[datasetOf(table).area]?.coverage[table] ?? {}).map(Number),
  )
  return [...new Set(months)].sort((left, right) => left - right)
}

/** @returns whether, in any month of the release, a table lacks a state, or its files lack a dimension or all rows */
export const hasGaps = (view: ReleaseView, tables: readonly Table[] = TABLES): boolean =>
  monthsOfRelease(view, tables).some((period) =>
    tables.some((table) => {
      const covered = coverageOf(view, table, period)
      return (
        statesCollected(view, table, period) !== ALL_STATES ||
        covered?.not_carried !== undefined ||
        covered?.empty !== undefined ||
        (covered?.family === 'state' && codedDimensionsOf(table).some((code) => isFiller(code, period)))
      )
    }),
  )

/** @returns the only state that all components of the tables cover; null for the whole country or several states */
export function onlyState(view: ReleaseView, tables: readonly Table[] = TABLES): string | null {
  const areas = [...new Set(tables.map((table) => datasetOf(table).area))]
  const scopes = new Set(areas.flatMap((area) => view.components[area]?.scope.toUpperCase() ?? []))
  const [scope = 'BR'] = scopes
  return scopes.size === 1 && ALL_STATES.has(scope) ? scope : null
}

/**
 * Finds the newest month in which all of the states were collected, else the newest in which any was. A newer month of
 * another state does not count.
 * @param months ascending; pass them in reverse to find the oldest
 * @param collected sets of states of a month, one per table when any table suffices
 */
export function newestFor(
  months: readonly number[],
  states: ReadonlySet<string>,
  collected: (period: number) => readonly ReadonlySet<string>[],
): number | null {
  return (
    months.findLast((period) =>
      collected(period).some((collectedStates) => includesAll(collectedStates, states)),
    ) ??
    months.findLast((period) =>
      collected(period).some((collectedStates) => includesAny(collectedStates, states)),
    ) ??
    null
  )
}

/** An empty `required` set, from a filter that matches no territory, is included in any collected set. */
export const includesAll = (collected: ReadonlySet<string>, required: ReadonlySet<string>): boolean =>
  collected === ALL_STATES || (collected.size > 0 && [...required].every((uf) => collected.has(uf)))
export const includesAny = (collected: ReadonlySet<string>, required: ReadonlySet<string>): boolean =>
  collected === ALL_STATES ||
  (required.size === 0 ? collected.size > 0 : [...required].some((uf) => collected.has(uf)))

/** Months whose prices a row of a table has: its month, or the months of its year up to it where a row is of a year. */
export const monthsOfIndex = (table: Table, period: number): number[] =>
  areaOf(datasetOf(table).area).periods === 'years'
    ? Array.from({ length: period % 100 }, (_, month) => Math.floor(period / 100) * 100 + month + 1)
    : [period]

/** @returns first and last month with a price index in reais, YYYYMM; null when the release holds none */
export function priceIndexRange({ components }: ReleaseView): { first: number; last: number } | null {
  const { price_index_first, price_index_last } = components.demography?.counts ?? {}
  return price_index_first === undefined || price_index_last === undefined || price_index_last < REAIS_FROM
    ? null
    : { first: Math.max(price_index_first, REAIS_FROM), last: price_index_last }
}

function hasPriceIndex(view: ReleaseView, month: number): boolean {
  const range = priceIndexRange(view)
  return range !== null && range.first <= month && month <= range.last
}
