/**
 * What was collected: the one place that answers whether a table of a state and month is in a release. In: a view. Out: the
 * states of a table and month, and the months there are. Pure; the manifest's coverage says it, in releases of any version.
 *
 * What an answer needs is more than tables: files of some months carry no code of a dimension, and only files by state say which
 * facility is linked to SUS. These are needs of their own. Not here: what an answer makes of it (query/coverage.ts).
 */
import { datasetOf } from '../model/datasets.ts'
import type { DimensionCode } from '../model/dimensions.ts'
import {
  codedDimensionsOf,
  dimensionOfNeed,
  isFiller,
  type Need,
  type Table,
  tableOfNeed,
} from '../model/required-tables.ts'
import { OUTPATIENT_TABLES } from '../model/sia/datasets.ts'
import { ADMISSION_TABLES } from '../model/sih/datasets.ts'
import { STATES } from '../model/territory/states.ts'
import { coverageOf, type ReleaseView } from './view.ts'

export const ALL_STATES: ReadonlySet<string> = new Set(STATES.map(({ uf }) => uf))
const NO_STATES: ReadonlySet<string> = new Set()
/** Tables of the registry. */
export const TABLES = [
  'facilities',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
] as const satisfies readonly Table[]

/** Transfers of the Union, whose periods are years, each named by its last month. */
export const FINANCING_TABLES = ['federal_health_transfers'] as const satisfies readonly Table[]
const TABLES_BY_RELEASE: readonly (readonly Table[])[] = [
  TABLES,
  ADMISSION_TABLES,
  OUTPATIENT_TABLES,
  FINANCING_TABLES,
]
/** @returns tables of the same release: their months are its months */
export const tablesBeside = (table: Table): readonly Table[] =>
  TABLES_BY_RELEASE.find((tables) => tables.includes(table)) ?? TABLES

/** @returns tables of every release that some needs are of: of the registry where there are none */
export function tablesOfNeeds(needs: readonly Need[]): readonly Table[] {
  const areas = new Set(needs.map((need) => tablesBeside(tableOfNeed(need))))
  const [only = TABLES] = areas
  return areas.size > 1 ? [...areas].flat() : only
}

interface Known {
  readonly states: Map<string, ReadonlySet<string>>
  readonly months: Map<ReadonlySet<string>, readonly number[]>
}
/** Asked with every query; a view never changes. */
const KNOWN = new WeakMap<ReleaseView, Known>()
function knownOf(view: ReleaseView): Known {
  const found = KNOWN.get(view) ?? { states: new Map(), months: new Map() }
  KNOWN.set(view, found)
  return found
}

/** @returns the states whose files of the month say what is needed; `ALL_STATES` itself where all do */
export function statesCollected(view: ReleaseView, need: Need, period: number): ReadonlySet<string> {
  const { states } = knownOf(view)
  const key = `${need} ${period}`
  const found = states.get(key) ?? findStates(view, need, period)
  states.set(key, found)
  return found
}

function findStates(view: ReleaseView, need: Need, period: number): ReadonlySet<string> {
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
  // Facilities that are known from rows of other tables alone are not the registry.
  if (covered === null || covered.family === 'derived') return NO_STATES
  if (covered.states === 'all') return ALL_STATES
  return covered.states.length === ALL_STATES.size ? ALL_STATES : new Set(covered.states)
}

/** All states but those whose files of the month say nothing of a dimension; of what was not collected, nothing is said here. */
function statesCarrying(
  view: ReleaseView,
  table: Table,
  dimension: DimensionCode,
  period: number,
): ReadonlySet<string> {
  const covered = coverageOf(view, table, period)
  if (covered === null) return ALL_STATES
  const isSilent = covered.family === 'state' && isFiller(dimension, period)
  const silent = isSilent ? covered.states : (covered.not_carried?.[dimension] ?? [])
  if (silent === 'all') return NO_STATES
  return silent.length === 0 ? ALL_STATES : new Set([...ALL_STATES].filter((uf) => !silent.includes(uf)))
}

/** @returns states whose published file of a table and month has no row: the file is there, and says none */
export function statesEmpty(view: ReleaseView, table: Table, period: number): ReadonlySet<string> {
  const { empty = [] } = coverageOf(view, table, period) ?? {}
  return empty === 'all' ? ALL_STATES : new Set(empty)
}

/** @returns the states for which all of the needs were collected in a month */
export function statesCollectedOf(
  view: ReleaseView,
  needs: readonly Need[],
  period: number,
): ReadonlySet<string> {
  let common = ALL_STATES
  for (const need of needs) {
    const own = statesCollected(view, need, period)
    if (own === ALL_STATES || own === common) continue
    common = common === ALL_STATES ? own : new Set([...common].filter((uf) => own.has(uf)))
  }
  return common
}

/** @returns months (YYYYMM, ascending) in which any of the tables was collected of any of the states */
export function monthsOf(
  view: ReleaseView,
  states: ReadonlySet<string>,
  tables: readonly Table[] = TABLES,
): readonly number[] {
  const { months } = knownOf(view)
  // Other sets than that of all states are made anew for each query.
  const isUsual = states === ALL_STATES && tables === TABLES
  const found =
    (isUsual ? months.get(states) : undefined) ??
    monthsOfRelease(view, tables).filter((period) =>
      tables.some((table) => includesAny(statesCollected(view, table, period), states)),
    )
  if (isUsual) months.set(states, found)
  return found
}

/** @returns months of which a release holds anything of some tables, of the registry as a rule, ascending */
export function monthsOfRelease(view: ReleaseView, tables: readonly Table[] = TABLES): number[] {
  const months = tables.flatMap((table) =>
    Object.keys(view.components[datasetOf(table).area]?.coverage[table] ?? {}).map(Number),
  )
  return [...new Set(months)].sort((left, right) => left - right)
}

/**
 * @returns was a table not collected for a state, in a month that the release has anything of, or do its files lack a dimension
 * or all rows there?
 */
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

/** @returns the one state that all components with some tables are of, or null: one is of the country, or of another */
export function onlyState(view: ReleaseView, tables: readonly Table[] = TABLES): string | null {
  const areas = [...new Set(tables.map((table) => datasetOf(table).area))]
  const scopes = new Set(areas.flatMap((area) => view.components[area]?.scope.toUpperCase() ?? []))
  const [scope = 'BR'] = scopes
  return scopes.size === 1 && ALL_STATES.has(scope) ? scope : null
}

/**
 * The month that "newest" means for some states: the newest in which all of them were collected, else the newest in which
 * any was. Another state's newer month is not theirs.
 * @param months ascending; turned round for the oldest
 * @param collected states of a month: several sets where any of several tables will do
 */
export function newestFor(
  months: readonly number[],
  states: ReadonlySet<string>,
  collected: (period: number) => readonly ReadonlySet<string>[],
): number | null {
  return (
    months.findLast((period) => collected(period).some((own) => includesAll(own, states))) ??
    months.findLast((period) => collected(period).some((own) => includesAny(own, states))) ??
    null
  )
}

/** No state at all is in whatever was collected: a filter that no place meets asks for nothing. */
export const includesAll = (whole: ReadonlySet<string>, part: ReadonlySet<string>): boolean =>
  whole === ALL_STATES || (whole.size > 0 && [...part].every((uf) => whole.has(uf)))
export const includesAny = (whole: ReadonlySet<string>, part: ReadonlySet<string>): boolean =>
  whole === ALL_STATES || (part.size === 0 ? whole.size > 0 : [...part].some((uf) => whole.has(uf)))
