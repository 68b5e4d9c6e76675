/**
 * Places that follow from a state or a municipality: the major region, the health region, the health macro-region. In: a
 * relation with a state and a municipality, and the dimensions that are grouped or filtered. Out: the relation with their
 * columns beside its own.
 *
 * Facts carry none of these columns, whatever release they are of: the list of municipalities of the same view gives them, so
 * that all periods of an answer are told apart by one edition of the territory.
 */
import { DERIVED_DIMENSIONS, type DimensionCode, dimensionOf } from '../../../../model/dimensions.ts'
import { STATES } from '../../../../model/territory/states.ts'
import { EMPTY, ident, join, type Sql, sql, TEXT, whole } from '../../../../sql.ts'
import type { QueryFilter } from '../../request.ts'
import { healthRegionsOfMunicipalities } from '../../resident-relations.ts'

/** @returns the dimensions of groups and filters that no fact carries, each once, in a fixed order */
export function derivedDimensions(
  groups: readonly DimensionCode[],
  filters: readonly QueryFilter[],
): DimensionCode[] {
  const used = new Set([...groups, ...filters.map(({ dimension }) => dimension)])
  return [...DERIVED_DIMENSIONS].filter((code) => used.has(code))
}

/** @param state column of its abbreviation; members of the first digit of its IBGE code */
function regionSql(state: Sql): Sql {
  const regions = [...new Set(STATES.map(({ region_code }) => region_code))]
  const cases = regions.map((region) => {
    const states = STATES.filter(({ region_code }) => region_code === region).map(({ uf }) => `'${uf}'`)
    return sql`WHEN ${state} IN (${TEXT(states.join(', '))}) THEN ${whole(region)}`
  })
  return sql`CASE ${join(cases, ' ')} END`
}

/**
 * @param relation has a column uf where the region is wanted, and a municipality where another place is
 * @param municipality its column with the IBGE code of 7 digits as a number; the relation is called own
 */
export function withPlaces(
  relation: Sql,
  derived: readonly DimensionCode[],
  municipality: Sql = TEXT('own.municipality_ibge_code'),
): Sql {
  if (derived.length === 0) return relation
  const ofMunicipality = derived.filter((code) => dimensionOf(code).derivedFrom === 'municipality')
  const ofResidence = derived.includes('residence_health_region')
  const columns = derived.map((code) => {
    const column = ident(dimensionOf(code).column)
    if (code === 'residence_health_region') return sql`residences.health_region_code AS ${column}`
    return code === 'region' ? sql`${regionSql(TEXT('own.uf'))} AS ${column}` : sql`places.${column}`
  })
  const joined =
    ofMunicipality.length === 0
      ? EMPTY
      : sql` LEFT JOIN ${healthRegionsOfMunicipalities()} AS places ON places.code = ${municipality}`
  const residences = ofResidence
    ? sql` LEFT JOIN ${healthRegionsOfMunicipalities()} AS residences ON residences.code = own.residence_municipality_code`
    : EMPTY
  return sql`(SELECT own.*, ${join(columns, ', ')} FROM ${relation} AS own${joined}${residences})`
}
