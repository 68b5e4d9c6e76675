/**
 * Resolves territory filters: major region, health region and health macro-region become the states or municipalities they contain in this
 * release.
 * Rows contain only the municipality, so rows of every period use the release's single edition of health regions.
 */
import type { Engine, Row } from '../../engine/types.ts'
import { DATASETS, type Dataset } from '../../model/datasets.ts'
import type { DimensionCode } from '../../model/dimensions.ts'
import { STATES } from '../../model/territory/states.ts'
import { requireDimension } from '../../query/analytics/territory.ts'
import { codesIn, placesText } from '../../query/lists/filters.ts'
import { planList } from '../../query/lists/list.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { RowStore } from '../../rows/row-store.ts'

type Filters = Readonly<Record<string, string>>

const MUNICIPALITIES_MAX = 6000
const CACHED_LISTS_MAX = 1000
/** Parameters that need the territorial source, on every dataset. */
const TERRITORIAL_FILTERS: Readonly<Record<string, DimensionCode>> = {
  health_region_code: 'health_region',
  health_macroregion_code: 'health_macroregion',
}

const DATASET_DIMENSIONS: Readonly<Record<string, DimensionCode>> = {
  health_regions: 'health_region',
  health_macroregions: 'health_macroregion',
}

/** Municipality codes by release and filter. Each page of a walk has the same filter. */
const CACHED_MUNICIPALITIES = new WeakMap<ReleaseView, Map<string, string>>()

/** @returns filters with territories resolved; null when only the engine can. @throws AppError 'dimension_not_loaded' */
export function resolveTerritories(
  dataset: Dataset,
  filters: Filters,
  view: ReleaseView,
  rows: RowStore | null,
): Filters | null {
  const datasetDimension = DATASET_DIMENSIONS[dataset.name]
  if (datasetDimension !== undefined) requireDimension(datasetDimension, view, null)
  let resolved = filters
  for (const [name, text] of Object.entries(filters)) {
    const dimension = TERRITORIAL_FILTERS[name]
    if (dimension !== undefined) requireDimension(dimension, view, { parameter: name })
    const filter = dataset.filters?.[name]
    if (filter?.kind !== 'within') continue
    const territories =
      filter.place === 'region'
        ? placesText(
            STATES.filter(({ region_code }) => codesIn(text).includes(String(region_code))).map(
              ({ uf }) => uf,
            ),
          )
        : (CACHED_MUNICIPALITIES.get(view)?.get(`${name} ${text}`) ??
          municipalitiesFromRows(name, text, view, rows))
    if (territories === null) return null
    resolved = { ...resolved, [name]: territories }
  }
  return resolved
}

/** Like resolveTerritories, with a statement for each territory that is not cached. */
export async function loadTerritories(
  dataset: Dataset,
  filters: Filters,
  view: ReleaseView,
  rows: RowStore | null,
  engine: Engine,
  signal: AbortSignal,
): Promise<Filters> {
  const resolved = resolveTerritories(dataset, filters, view, rows)
  if (resolved !== null) return resolved
  const loaded: Record<string, string> = { ...filters }
  for (const [name, text] of Object.entries(filters)) {
    const filter = dataset.filters?.[name]
    if (filter?.kind !== 'within') continue
    loaded[name] =
      resolveTerritories(dataset, { [name]: text }, view, rows)?.[name] ??
      cacheMunicipalities(
        name,
        text,
        view,
        await engine.run(
          planList(
            { dataset: DATASETS.municipalities, filters: { [name]: text }, period: null },
            MUNICIPALITIES_MAX,
            null,
          ),
          view,
          { signal },
        ),
      )
  }
  return loaded
}

function municipalitiesFromRows(
  name: string,
  text: string,
  view: ReleaseView,
  rows: RowStore | null,
): string | null {
  const page = rows
    ?.find(view, 'municipalities', null)
    ?.page({ filters: { [name]: text }, after: null, limit: MUNICIPALITIES_MAX, counts: false })
  if (page === null || page === undefined) return null
  return cacheMunicipalities(
    name,
    text,
    view,
    JSON.parse(Buffer.from(page.json, 'latin1').toString()) as Row[],
  )
}

function cacheMunicipalities(
  name: string,
  text: string,
  view: ReleaseView,
  municipalities: readonly Row[],
): string {
  const codes = placesText(municipalities.map(({ ibge_code }) => Number(ibge_code)))
  const cached = CACHED_MUNICIPALITIES.get(view) ?? new Map<string, string>()
  if (cached.size >= CACHED_LISTS_MAX) cached.clear()
  CACHED_MUNICIPALITIES.set(view, cached.set(`${name} ${text}`, codes))
  return codes
}
