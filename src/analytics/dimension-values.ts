/**
 * Lists the members of a dimension for filters and selectors: code, name and parent, one page at a time.
 *
 * It plans statements for members that a dataset names, and lists the members of closed lists. It also counts the
 * records of members.
 */
import type { RunOptions } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { areaOf } from '../model/areas.ts'
import { datasetOf } from '../model/datasets.ts'
import {
  capabilityOf,
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  isPlace,
} from '../model/dimensions.ts'
import type { Note } from '../model/notes.ts'
import { isTime, monthsOfPeriod, periodOf, readPeriod, showPeriod } from '../model/periods.ts'
import {
  isWithoutCode,
  type Need,
  needsOfDimensions,
  needsOfFilters,
  type Table,
  tablesAmong,
} from '../model/required-tables.ts'
import { describeMissing, findMissing, scopeOf, statesInPlaces } from '../query/analytics/coverage.ts'
import { printMemberCounts } from '../query/analytics/dialect/duckdb/facts.ts'
import type { QueryFilter } from '../query/analytics/filters.ts'
import { allPeriods, periodsMeeting, selectedPeriods } from '../query/analytics/periods.ts'
import { otherStatesNotes } from '../query/analytics/plan-notes.ts'
import { foldText, searchWords } from '../query/lists/filters.ts'
import {
  FACT_TABLES,
  includesAll,
  monthsOf,
  monthsOfRelease,
  newestFor,
  statesCollectedOf,
  tablesBeside,
} from '../release/coverage.ts'
import { isOfYears } from '../release/published-months.ts'
import { collectedPeriods, latestPeriod, type ReleaseView } from '../release/view.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT, table } from '../sql.ts'
import { statesOfFilters } from './facility-states.ts'
import type { AnswerParts } from './query.ts'

const isInRelease = (view: ReleaseView, dataset: Table): boolean =>
  areaOf(datasetOf(dataset).area).isRequired || view.components[datasetOf(dataset).area] !== null

export interface DimensionValue {
  readonly code: string | number
  readonly name: string | null
  readonly parent?: { readonly dimension: DimensionCode; readonly code: string | number | null }
}

const PARENTS: Partial<
  Record<DimensionCode, { readonly dimension: DimensionCode; readonly column: string }>
> = {
  municipality: { dimension: 'state', column: 'uf' },
  health_region: { dimension: 'state', column: 'uf' },
  health_macroregion: { dimension: 'state', column: 'uf' },
  facility: { dimension: 'municipality', column: 'municipality_ibge_code' },
  procedure_subgroup: { dimension: 'procedure_group', column: 'procedure_group_code' },
  procedure_form: { dimension: 'procedure_subgroup', column: 'procedure_subgroup_code' },
  procedure: { dimension: 'procedure_subgroup', column: 'procedure_subgroup_code' },
  diagnosis_category: { dimension: 'diagnosis_chapter', column: 'diagnosis_chapter_code' },
  residence_municipality: { dimension: 'residence_state', column: 'uf' },
  residence_health_region: { dimension: 'residence_state', column: 'uf' },
  bed_type: { dimension: 'bed_category', column: 'bed_category_code' },
  equipment_type: { dimension: 'equipment_category', column: 'category_code' },
  specialized_service_classification: { dimension: 'specialized_service', column: 'service_code' },
}
export const parentOf = (code: DimensionCode): DimensionCode | null => PARENTS[code]?.dimension ?? null

/** @returns members of a closed list, or the months of the release; null when a dataset names the members */
export function listFixedValues(
  code: DimensionCode,
  view: ReleaseView,
  language: 'pt' | 'en',
  search: string | null,
): DimensionValue[] | null {
  const words = searchWords(search ?? '')
  const matches = ({ code: value, name }: DimensionValue): boolean =>
    words.every((word) => foldText(name ?? '').includes(word)) ||
    String(value)
      .toLowerCase()
      .startsWith((search ?? '').trim().toLowerCase())
  if (isTime(code)) {
    const months = allPeriods(FACT_TABLES.map((dataset) => collectedPeriods(view, dataset)))
    return allPeriods([months.map((month) => periodOf(code, month))])
      .map((period) => showPeriod(code, period))
      .map((period) => ({ code: period, name: String(period) }))
      .filter(matches)
  }
  const { labels, integer } = dimensionOf(code)
  if (labels === undefined) return null
  return Object.entries(labels)
    .map(([value, label]) => ({ code: integer === true ? Number(value) : value, name: label[language] }))
    .sort((left, right) => (left.code < right.code ? -1 : 1))
    .filter(matches)
}

/** Rows: code, name, parent, total over all pages. A page beyond the end has one row without a code. */
export function planDimensionValues(
  code: DimensionCode,
  view: ReleaseView,
  search: string | null,
  limit: number,
  offset: number,
): Sql {
  const { member, order } = dimensionOf(code)
  if (member === null) throw new TypeError(`${code} has a fixed list`)
  const period = member.dataset === 'facilities' ? latestPeriod(view, 'facilities') : null
  const name = TEXT(member.name)
  const parent = PARENTS[code]
  const scope =
    code === 'municipality'
      ? sql` WHERE territorial_type = 'MUNICIPALITY'`
      : code === 'facility'
        ? sql` WHERE is_active`
        : EMPTY
  const words = searchWords(search ?? '').map(
    (word) => sql`contains(lower(strip_accents(coalesce(name, ''))), ${word})`,
  )
  const matching =
    search === null || words.length === 0
      ? EMPTY
      : sql` WHERE (${join(words, ' AND ')}) OR starts_with(lower(CAST(code AS VARCHAR)), ${search.trim().toLowerCase()})`
  const sorted = order === 'name' ? sql`name COLLATE pt NULLS LAST, code` : sql`code`
  return sql`WITH members AS (
  SELECT ${ident(member.key)} AS code, ${name} AS name, ${parent === undefined ? sql`CAST(NULL AS VARCHAR)` : ident(parent.column)} AS parent
  FROM ${table(member.dataset, period)}${scope}
),
matching AS (SELECT * FROM members${matching}),
page AS (SELECT *, row_number() OVER (ORDER BY ${sorted}) AS position FROM matching QUALIFY position > ${offset} AND position <= ${offset + limit})
SELECT summary.total, page.* FROM (SELECT count(*) AS total FROM matching) AS summary LEFT JOIN page ON true ORDER BY position`
}

export interface CountedMember {
  readonly code: string | number
  /** Municipality of a facility; null when it is unknown or the member is no facility. */
  readonly municipality: string | number | null
}
export interface MemberCounts {
  /** Records by dataset, by code as text. */
  readonly facts: ReadonlyMap<string, Readonly<Record<string, number | null>>>
  readonly notes: readonly Note[]
}
export interface CountParts extends Pick<AnswerParts, 'engine' | 'view' | 'capabilities'> {
  readonly options: RunOptions
}

/**
 * Counts records by member in each dataset that carries the dimension and all filters, and that the key may read.
 *
 * Records of closed facilities do not count. Each dataset is read in its newest month, unless the filters or the dimension select
 * months. A count is null when the dataset was not collected for the states concerned. Datasets that the release does not join are left
 * out. When it joins none that carries the dimensions, all of them stay, and every count is null.
 * @throws AppError 'incompatible_dimension' when no dataset carries all dimensions
 */
export async function countFacts(
  code: DimensionCode,
  members: readonly CountedMember[],
  filters: readonly QueryFilter[],
  { engine, view, capabilities, options }: CountParts,
): Promise<MemberCounts> {
  const dimensions = [code, ...filters.map(({ dimension }) => dimension)]
  const datasets = FACT_TABLES.filter((dataset) =>
    dimensions.every((dimension) => dimensionOf(dimension).datasets.includes(dataset)),
  )
  if (datasets.length === 0)
    throw new AppError('incompatible_dimension', {
      detail: both(
        `Nenhum conjunto de dados tem juntas as dimensões ${[...new Set(dimensions)].join(', ')}.`,
        `No dataset carries ${[...new Set(dimensions)].join(', ')} together.`,
      ),
      errors: [
        {
          parameter: 'filters',
          message: both(`não combina com ${code}`, `does not go with ${code}`),
          allowed: DIMENSION_CODES.filter((other) =>
            FACT_TABLES.some((dataset) =>
              [other, code].every((dimension) => dimensionOf(dimension).datasets.includes(dataset)),
            ),
          ),
        },
      ],
    })
  const joined = datasets.filter((dataset) => isInRelease(view, dataset))
  const readable = (joined.length > 0 ? joined : datasets).filter((dataset) =>
    capabilities.includes(capabilityOf(dataset)),
  )
  const rowFilters = filters.filter(({ dimension }) => !isTime(dimension))
  const facilityStates = await statesOfFilters(filters, engine, view, options)
  const placeFilters = filters.filter(({ dimension }) => isPlace(dimension))
  const facts = new Map(
    members.map(({ code: member }) => [String(member), {} as Record<string, number | null>]),
  )
  const notes: Note[] = []
  for (const dataset of readable) {
    const tables = tablesBeside(dataset)
    const scope = scopeOf(placeFilters, facilityStates, view, tables)
    const needs: readonly Need[] = [dataset, ...needsOfFilters(dataset, filters)]
    const needsOfMembers: readonly Need[] = [...needs, ...needsOfDimensions(dataset, [code])]
    const periods = choosePeriods(code, needs, tables, filters, scope.states, view)
    // A place depends only on its own states, so gaps in other states do not affect it.
    const states = code === 'facility' ? scope.territory : isPlace(code) ? scope.places : scope.states
    for (const member of members) {
      const memberStates = statesOfMember(code, member, states)
      const months = monthsOfMember(code, member.code, dataset, view) ?? periods
      const memberNeeds = isWithoutCode(code, member.code) ? needs : needsOfMembers
      const isCollected =
        months.length > 0 &&
        months.every((period) => includesAll(statesCollectedOf(view, memberNeeds, period), memberStates))
      const counts = facts.get(String(member.code))
      if (counts !== undefined) counts[dataset] = isCollected ? 0 : null
    }
    const metric = { code: `facts.${dataset}`, needs: needsOfMembers, states, requested: periods }
    notes.push(
      ...describeMissing(findMissing([metric], view, monthsOfRelease(view, tables))),
      ...otherStatesNotes({ group_by: [code], filters }, [metric], view),
    )
    const storedPeriods = periods.filter((period) => collectedPeriods(view, dataset).includes(period))
    if (storedPeriods.length === 0 || members.length === 0) continue
    const codes = isTime(code) ? storedPeriods : members.map((member) => member.code)
    const rows = await engine.run(
      printMemberCounts(isTime(code) ? 'reference_period' : code, codes, dataset, storedPeriods, rowFilters),
      view,
      options,
    )
    for (const { code: member, facts: records } of rows) {
      const name = isTime(code) ? showPeriod(code, periodOf(code, Number(member))) : member
      const counted = facts.get(String(name))
      // Records of a year are those of its months.
      if (counted !== undefined && counted[dataset] !== null)
        counted[dataset] = Number(counted[dataset] ?? 0) + Number(records ?? 0)
    }
  }
  return { facts, notes }
}

/** @returns the months of a period; null for members that are no periods. A year of transfers is the month that stands for it. */
function monthsOfMember(
  code: DimensionCode,
  member: string | number,
  dataset: Table,
  view: ReleaseView,
): number[] | null {
  const period = isTime(code) ? readPeriod(code, String(member)) : null
  if (period === null || !isTime(code)) return null
  const months = monthsOfPeriod(code, period)
  if (!isOfYears([dataset]) || code === 'reference_period') return months
  const stored = months.filter((month) => collectedPeriods(view, dataset).includes(month))
  return stored.length > 0 ? stored : months.slice(-1)
}

/** Selects the states that a member's count depends on, within the states of the answer. */
function statesOfMember(
  code: DimensionCode,
  { code: member, municipality }: CountedMember,
  states: ReadonlySet<string>,
): ReadonlySet<string> {
  const dimension = code === 'facility' ? 'municipality' : code
  const value = code === 'facility' ? municipality : member
  if (!isPlace(dimension) || value === null) return states
  const memberStates = statesInPlaces([{ dimension, operator: 'EQ', values: [value] }])
  return new Set([...memberStates].filter((uf) => states.has(uf)))
}

/** @returns requested months, or else the newest month collected for the states */
function choosePeriods(
  code: DimensionCode,
  needs: readonly Need[],
  releaseTables: readonly Table[],
  filters: readonly QueryFilter[],
  states: ReadonlySet<string>,
  view: ReleaseView,
): readonly number[] {
  const monthFilters = filters.filter(({ dimension }) => isTime(dimension))
  const tables = tablesAmong(needs)
  const availableMonths = monthsOf(view, states, releaseTables)
  if (monthFilters.length > 0)
    return selectedPeriods(monthFilters, releaseTables, view) ?? periodsMeeting(monthFilters, availableMonths)
  if (isTime(code)) return availableMonths
  const newest = newestFor(availableMonths, states, (period) => [statesCollectedOf(view, tables, period)])
  return newest === null ? [] : [newest]
}
