/**
 * Members of a dimension, for filters and selectors: code, name and parent, a page at a time. Pure plans and one list for
 * the dimensions whose members no dataset names.
 */
import { CODE_LABELS } from '../model/codelists.ts'
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { collectedPeriods, formatPeriod, latestPeriod, type ReleaseView } from '../release/view.ts'
import { EMPTY, ident, type Sql, sql, table } from '../sql.ts'
import { foldText } from './filters.ts'

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
    const periods = new Set(
      (['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services'] as const).flatMap(
        (dataset) => collectedPeriods(view, dataset),
      ),
    )
    return [...periods]
      .sort((left, right) => left - right)
      .map((period) => ({ code: formatPeriod(period), name: formatPeriod(period) }))
      .filter(matches)
  }
  const labels = CODE_LABELS[code]
  if (labels === undefined) return null
  return Object.entries(labels)
    .map(([value, label]) => ({ code: value, name: label[language] }))
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
  const name: Sql = { parts: [{ kind: 'text', text: member.name }] }
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
