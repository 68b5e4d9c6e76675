/**
 * Adds derived places to a relation: major region, health region and macro-region, then the groups of the query's groupings.
 *
 * In: a relation with a state and a municipality, and the dimensions used. Out: the relation with their columns. They come
 * from the view's list of municipalities, never from the facts, so all periods of an answer use one edition of the territory.
 */
import {
  baseDimension,
  DERIVED_DIMENSIONS,
  type DimensionCode,
  dimensionOf,
  groupedDimension,
} from '../../../../model/dimensions.ts'
import { STATES } from '../../../../model/territory/states.ts'
import { EMPTY, either, ident, integerLiteral, join, type Sql, sql, TEXT } from '../../../../sql.ts'
import type { QueryFilter } from '../../filters.ts'
import type { Grouping } from '../../options/groupings.ts'
import type { DatasetPlan } from '../../plan.ts'
import { healthRegionsOfMunicipalities } from '../../resident-relations.ts'

/** @returns the derived dimensions and groupings in groups and filters, in a fixed order: groupings follow from the others */
export function derivedDimensions(
  groups: readonly DimensionCode[],
  filters: readonly QueryFilter[],
): DimensionCode[] {
  const used = new Set([
    ...groups,
    ...groups.map(baseDimension),
    ...filters.map(({ dimension }) => dimension),
  ])
  return [...DERIVED_DIMENSIONS].filter((code) => used.has(code))
}

/** @returns the derived dimensions that a sub-query reads, those that its measures compare included */
export function derivedDimensionsOf({
  keys,
  filters,
  measures,
}: Pick<DatasetPlan, 'keys' | 'filters' | 'measures'>): DimensionCode[] {
  const comparesRegions = measures.some(({ where = [] }) =>
    where.some((condition) => 'ends' in condition && condition.ends === 'health_region'),
  )
  return derivedDimensions(
    comparesRegions ? [...keys, 'health_region', 'residence_health_region'] : keys,
    filters,
  )
}

/** @param state column with the state's abbreviation */
function regionSql(state: Sql): Sql {
  const regions = [...new Set(STATES.map(({ region_code }) => region_code))]
  const cases = regions.map((region) => {
    const states = STATES.filter(({ region_code }) => region_code === region).map(({ uf }) => `'${uf}'`)
    return sql`WHEN ${state} IN (${TEXT(states.join(', '))}) THEN ${integerLiteral(region)}`
  })
  return sql`CASE ${join(cases, ' ')} END`
}

/**
 * @param relation has column uf when the region is needed, and a municipality for other places
 * @param municipality numeric column with the IBGE code of 7 digits; the relation's alias is own
 */
export function withPlaces(
  relation: Sql,
  derived: readonly DimensionCode[],
  groupings: readonly Grouping[],
  municipality: Sql = TEXT('own.municipality_ibge_code'),
): Sql {
  return groupings
    .filter(({ code }) => derived.includes(code))
    .reduce(
      (placed, grouping) => withGroups(placed, grouping, municipality),
      withDerivedPlaces(
        relation,
        derived.filter((code) => groupedDimension(code) === null),
        municipality,
      ),
    )
}

/** The unit separator of ASCII, which no code holds. */
const SEPARATOR = '\u001f'

/**
 * Adds the code of each row's group; null for members of no group. The members of a group are one parameter, because thousands of
 * them take longer to bind than the statement takes to run.
 */
function withGroups(relation: Sql, { code, dimension, groups }: Grouping, municipality: Sql): Sql {
  const isInteger = dimensionOf(dimension).integer === true
  const column =
    dimension === 'municipality' ? municipality : sql`own.${ident(dimensionOf(dimension).column)}`
  const codes = groups.map((group) => group.code)
  const members = groups.map((group) => group.members.join(SEPARATOR))
  const member = TEXT(isInteger ? 'CAST(listed_member AS INTEGER)' : 'listed_member')
  // DuckDB plans a join for each UNNEST that stands beside what it reads from, and none for one in the selected columns.
  const rows = either(
    sql`(SELECT ${member} AS member, group_code FROM (SELECT group_code, unnest(split(group_members, chr(31))) AS listed_member FROM (SELECT unnest(${codes}) AS group_code, unnest(${members}) AS group_members)))`,
    sql`(SELECT ${member} AS member, group_code FROM (VALUES ${join(
      codes.map((group, index) => sql`(${group}, ${members[index] ?? ''})`),
      ', ',
    )}) AS listed(group_code, group_members) CROSS JOIN UNNEST(split(group_members, chr(31))) AS of_group(listed_member))`,
  )
  const value = isInteger ? column : sql`CAST(${column} AS VARCHAR)`
  const alias = ident(`members_of_${dimensionOf(code).column}`)
  return sql`(SELECT own.*, ${alias}.group_code AS ${ident(dimensionOf(code).column)} FROM ${relation} AS own LEFT JOIN ${rows} AS ${alias}(member, group_code) ON ${alias}.member = ${value})`
}

function withDerivedPlaces(relation: Sql, derived: readonly DimensionCode[], municipality: Sql): Sql {
  if (derived.length === 0) return relation
  const municipalityDimensions = derived.filter((code) => dimensionOf(code).derivedFrom === 'municipality')
  const needsResidence = derived.includes('residence_health_region')
  const columns = derived.map((code) => {
    const column = ident(dimensionOf(code).column)
    if (code === 'residence_health_region') return sql`residences.health_region_code AS ${column}`
    if (code === 'residence_region') return sql`${regionSql(TEXT('own.residence_uf'))} AS ${column}`
    return code === 'region' ? sql`${regionSql(TEXT('own.uf'))} AS ${column}` : sql`places.${column}`
  })
  const joined =
    municipalityDimensions.length === 0
      ? EMPTY
      : sql` LEFT JOIN ${healthRegionsOfMunicipalities()} AS places ON places.code = ${municipality}`
  const residences = needsResidence
    ? sql` LEFT JOIN ${healthRegionsOfMunicipalities()} AS residences ON residences.code = own.residence_municipality_code`
    : EMPTY
  return sql`(SELECT own.*, ${join(columns, ', ')} FROM ${relation} AS own${joined}${residences})`
}
