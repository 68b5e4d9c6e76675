/**
 * Resolves codes of a query with the release's lists: six-digit municipality codes become codes of seven digits, and members of
 * groupings are checked.
 */
import type { Engine, RunOptions } from '../engine/types.ts'
import { both } from '../errors.ts'
import { type DimensionCode, dimensionOf, isMunicipality } from '../model/dimensions.ts'
import { weightOf } from '../query/analytics/estimate.ts'
import { type FilterValue, normaliseFilters, type QueryFilter } from '../query/analytics/filters.ts'
import { type Grouping, sortValues } from '../query/analytics/options/groupings.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'
import { checkTerritory } from '../query/analytics/territory.ts'
import { refuse } from '../query/refusals.ts'
import { componentManifests, type ReleaseView } from '../release/view.ts'
import { ident, sql, table } from '../sql.ts'

interface Parts {
  readonly engine: Engine
  readonly view: ReleaseView
  readonly signal?: AbortSignal
}

/** @returns the query with municipality codes of seven digits @throws AppError 'invalid_request' for an unknown member of a grouping */
export async function resolveCodes(query: AnalyticsQuery, parts: Parts): Promise<AnalyticsQuery> {
  const { engine, view, signal } = parts
  const options = signal === undefined ? {} : { signal }
  const lists = [...query.filters, ...query.metrics.flatMap(({ filters }) => filters)]
  const members = query.groupings.map(({ dimension, groups }) => ({
    dimension,
    values: groups.flatMap((group) => group.members),
  }))
  const widen = await readFullCodes([...lists, ...members], engine, view, options)
  const groupings = query.groupings.map((grouping) => ({
    ...grouping,
    groups: grouping.groups.map((group) => ({
      ...group,
      members: sortValues([...new Set(widen(grouping.dimension, group.members))]),
    })),
  }))
  if (groupings.length > 0) checkTerritory(query, view)
  for (const grouping of groupings) await checkMembers(grouping, engine, view, options)
  const widenFilters = (filters: readonly QueryFilter[]): readonly QueryFilter[] =>
    filters.some(({ dimension }) => isMunicipality(dimension))
      ? normaliseFilters(
          filters.map((filter) => ({ ...filter, values: widen(filter.dimension, filter.values) })),
        )
      : filters
  return {
    ...query,
    filters: widenFilters(query.filters),
    metrics: query.metrics.map((metric) => ({ ...metric, filters: widenFilters(metric.filters) })),
    groupings,
  }
}

type Widen = (dimension: DimensionCode, values: readonly FilterValue[]) => readonly FilterValue[]

/** Finds the codes of seven digits in the release's list. The check digit is never computed. */
async function readFullCodes(
  lists: readonly { readonly dimension: DimensionCode; readonly values: readonly FilterValue[] }[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<Widen> {
  const sixDigitCodes = lists.flatMap(({ dimension, values }) =>
    isMunicipality(dimension) ? values.map(Number).filter((value) => value < 1_000_000) : [],
  )
  if (sixDigitCodes.length === 0) return (_, values) => values
  const rows = await engine.run(
    sql`SELECT ibge_code FROM ${table('municipalities')} WHERE ibge_code // 10 IN (SELECT unnest(${sixDigitCodes}))`,
    view,
    options,
  )
  const codes = rows.map(({ ibge_code }) => Number(ibge_code))
  const sevenDigitCodes = new Map(codes.map((code) => [Math.floor(code / 10), code]))
  return (dimension, values) =>
    isMunicipality(dimension)
      ? values.map((value) => sevenDigitCodes.get(Number(value)) ?? Number(value))
      : values
}

/** @returns filters with municipality codes of seven digits */
export async function widenMunicipalities(
  filters: readonly QueryFilter[],
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<readonly QueryFilter[]> {
  const widen = await readFullCodes(filters, engine, view, options)
  return normaliseFilters(
    filters.map((filter) => ({ ...filter, values: widen(filter.dimension, filter.values) })),
  )
}

/** @throws AppError 'invalid_request' naming the first member that the release's list lacks */
async function checkMembers(
  { name, dimension, groups }: Grouping,
  engine: Engine,
  view: ReleaseView,
  options: RunOptions,
): Promise<void> {
  const { member } = dimensionOf(dimension)
  // A release of admissions alone has no list of facilities.
  if (
    member === null ||
    !componentManifests(view).some(({ datasets }) => datasets[member.dataset] !== undefined)
  )
    return
  const members = groups.flatMap((group) => group.members)
  const statement = sql`SELECT member FROM (SELECT unnest(${members as string[] | number[]}) AS member) AS members WHERE member NOT IN (SELECT ${ident(member.key)} FROM ${table(member.dataset)})`
  const rows = await engine.run(statement, view, { ...options, weight: weightOf(statement, view) })
  const unknown = new Set(rows.map((row) => String(row.member)))
  if (unknown.size === 0) return
  const group = groups.findIndex((candidate) => candidate.members.some((code) => unknown.has(String(code))))
  const first = groups[group]?.members.find((code) => unknown.has(String(code))) ?? ''
  const more = unknown.size - 1
  throw refuse(
    'invalid_request',
    `/groupings/${name}/groups/${group}/members`,
    both(
      `${first} não é membro de ${dimension}${more === 0 ? '' : ` (e mais ${more})`}: retire-o ou corrija o código; GET /v1/analytics/dimensions/${dimension}/values lista os membros`,
      `${first} is no member of ${dimension}${more === 0 ? '' : ` (and ${more} more)`}: remove it or correct the code; GET /v1/analytics/dimensions/${dimension}/values lists the members`,
    ),
  )
}
