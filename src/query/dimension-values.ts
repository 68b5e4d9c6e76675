/**
 * Members of a dimension, for filters and selectors: code, name and parent, a page at a time. Pure plans and one list for
 * the dimensions whose members no dataset names.
 */
import type { JsonValue, RunOptions } from '../engine/types.ts'
import { AppError, both } from '../errors.ts'
import { capabilityOf, DIMENSION_CODES, type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import type { CnesFacts } from '../model/pre-aggregates.ts'
import { collectedPeriods, formatPeriod, latestPeriod, type ReleaseView } from '../release/view.ts'
import { EMPTY, ident, type Sql, sql, TEXT, table } from '../sql.ts'
import { printMemberCounts } from './dialect/duckdb/facts.ts'
import { foldText } from './filters.ts'
import { allPeriods, periodsMeeting } from './periods.ts'
import type { QueryFilter } from './request.ts'
import { CNES_FACTS } from './resident-relations.ts'
import type { AnswerParts } from './result.ts'

export interface DimensionValue {
  readonly code: string | number
  readonly name: string | null
  readonly parent?: { readonly dimension: DimensionCode; readonly code: string | number | null }
}

/** Column of a member's dataset that names its parent. */
const PARENTS: Partial<
  Record<DimensionCode, { readonly dimension: DimensionCode; readonly column: string }>
> = {
  municipality: { dimension: 'state', column: 'uf' },
  health_region: { dimension: 'state', column: 'uf' },
  health_macroregion: { dimension: 'state', column: 'uf' },
  facility: { dimension: 'municipality', column: 'municipality_ibge_code' },
  bed_type: { dimension: 'bed_category', column: 'bed_category_code' },
  equipment_type: { dimension: 'equipment_category', column: 'category_code' },
  specialized_service_classification: { dimension: 'specialized_service', column: 'service_code' },
}
export const parentOf = (code: DimensionCode): DimensionCode | null => PARENTS[code]?.dimension ?? null

/** @returns members of a closed list or the months of the release; null where a dataset names the members */
export function listFixedValues(
  code: DimensionCode,
  view: ReleaseView,
  language: 'pt' | 'en',
  search: string | null,
): DimensionValue[] | null {
  const fold = search === null ? '' : foldText(search)
  const matches = ({ code: value, name }: DimensionValue): boolean =>
    fold === '' || String(value).toLowerCase().startsWith(fold) || foldText(name ?? '').includes(fold)
  if (code === 'reference_period') {
    const periods = allPeriods(CNES_FACTS.map((dataset) => collectedPeriods(view, dataset)))
    return periods
      .map((period) => ({ code: formatPeriod(period), name: formatPeriod(period) }))
      .filter(matches)
  }
  const { labels, integer } = dimensionOf(code)
  if (labels === undefined) return null
  return Object.entries(labels)
    .map(([value, label]) => ({ code: integer === true ? Number(value) : value, name: label[language] }))
    .sort((left, right) => (left.code < right.code ? -1 : 1))
    .filter(matches)
}

/** Rows: code, name, parent, total (of all pages; a page beyond the end has one row without a code). */
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
  const matching =
    search === null
      ? EMPTY
      : sql` WHERE contains(lower(strip_accents(coalesce(name, ''))), ${foldText(search)}) OR starts_with(lower(CAST(code AS VARCHAR)), ${search.toLowerCase()})`
  const sorted = order === 'name' ? sql`name COLLATE pt NULLS LAST, code` : sql`code`
  return sql`WITH members AS (
  SELECT ${ident(member.key)} AS code, ${name} AS name, ${parent === undefined ? sql`NULL` : ident(parent.column)} AS parent
  FROM ${table(member.dataset, period)}${scope}
),
matching AS (SELECT * FROM members${matching}),
page AS (SELECT *, row_number() OVER (ORDER BY ${sorted}) AS position FROM matching QUALIFY position > ${offset} AND position <= ${offset + limit})
SELECT summary.total, page.* FROM (SELECT count(*) AS total FROM matching) AS summary LEFT JOIN page ON true ORDER BY position`
}

export interface CountParts extends Pick<AnswerParts, 'engine' | 'view' | 'capabilities'> {
  readonly options: RunOptions
}

/**
 * Records that count, by member, in each dataset that carries the dimension and every filter's and that the key may read:
 * those of active facilities, in the dataset's newest month unless the filters or the dimension choose months.
 * @returns code as text → dataset → records
 * @throws AppError 'incompatible_dimension' when no dataset carries them all
 */
export async function countFacts(
  code: DimensionCode,
  members: readonly (string | number)[],
  filters: readonly QueryFilter[],
  { engine, view, capabilities, options }: CountParts,
): Promise<Map<string, Record<string, JsonValue>>> {
  const dimensions = [code, ...filters.map(({ dimension }) => dimension)]
  const carrying = CNES_FACTS.filter((dataset) =>
    dimensions.every((dimension) => dimensionOf(dimension).datasets.includes(dataset)),
  )
  if (carrying.length === 0)
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
            CNES_FACTS.some((dataset) =>
              [other, code].every((dimension) => dimensionOf(dimension).datasets.includes(dataset)),
            ),
          ),
        },
      ],
    })
  const readable = carrying.filter((dataset) => capabilities.includes(capabilityOf(dataset)))
  const counts = new Map(
    members.map((member) => [
      String(member),
      Object.fromEntries(readable.map((dataset): [string, JsonValue] => [dataset, 0])),
    ]),
  )
  for (const dataset of readable) {
    const periods = periodsOf(code, dataset, filters, view)
    if (periods.length === 0 || members.length === 0) continue
    const codes = code === 'reference_period' ? periods : members
    const inRows = filters.filter(({ dimension }) => dimension !== 'reference_period')
    const rows = await engine.run(printMemberCounts(code, codes, dataset, periods, inRows), view, options)
    for (const { code: member, facts } of rows) {
      const counted = counts.get(code === 'reference_period' ? formatPeriod(Number(member)) : String(member))
      if (counted !== undefined) counted[dataset] = facts ?? 0
    }
  }
  return counts
}

function periodsOf(
  code: DimensionCode,
  dataset: CnesFacts,
  filters: readonly QueryFilter[],
  view: ReleaseView,
): number[] {
  const chosen = filters.filter(({ dimension }) => dimension === 'reference_period')
  const collected = collectedPeriods(view, dataset)
  if (chosen.length === 0 && code !== 'reference_period') return collected.slice(-1)
  return periodsMeeting(chosen, collected)
}
