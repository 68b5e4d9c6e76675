/**
 * Resolves territory filters: major region, health region and health macro-region become the states or municipalities they contain in this
 * release.
 * Rows contain only the municipality, so rows of every period use the release's single edition of health regions.
 */
import type { Engine } from '../engine/types.ts'
import type { Dataset, DatasetName } from '../model/datasets.ts'
import type { DimensionCode } from '../model/dimensions.ts'
import type { FieldName } from '../model/fields.ts'
import { STATES } from '../model/territory/states.ts'
import { requireDimension } from '../query/analytics/territory.ts'
import { codesIn, placesText } from '../query/lists/filters.ts'
import { hasDataset, type ReleaseView } from '../release/view.ts'
import { ident, sql, table } from '../sql.ts'
import type { RecordRelease } from './release.ts'

type Filters = Readonly<Record<string, string>>

interface Territory {
  readonly dataset: DatasetName
  readonly dimension: DimensionCode
}

/** Parameters that need the territorial source, on every dataset. Each is also a column of the municipalities. */
const TERRITORIES: Readonly<Record<string, Territory>> = {
  health_region_code: { dataset: 'health_regions', dimension: 'health_region' },
  health_macroregion_code: { dataset: 'health_macroregions', dimension: 'health_macroregion' },
}

/** Parameter, then code of the territory → codes of its municipalities. */
export type Territories = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

export async function loadTerritories(view: ReleaseView, engine: Engine): Promise<Territories> {
  const territories = new Map<string, ReadonlyMap<string, readonly number[]>>()
  for (const [parameter, { dataset }] of Object.entries(TERRITORIES)) {
    if (!hasDataset(view, dataset)) continue
    const rows = await engine.run(
      sql`SELECT ibge_code, ${ident(parameter as FieldName)} AS code FROM ${table('municipalities')} ORDER BY ibge_code`,
      view,
    )
    const municipalities = new Map<string, number[]>()
    for (const { ibge_code, code } of rows) {
      const codes = municipalities.get(String(code))
      if (codes === undefined) municipalities.set(String(code), [Number(ibge_code)])
      else codes.push(Number(ibge_code))
    }
    territories.set(parameter, municipalities)
  }
  return territories
}

/** @returns filters with territories as states or municipalities. @throws AppError 'dimension_not_loaded' */
export function resolveTerritories(
  dataset: Dataset,
  filters: Filters,
  { view, territories }: RecordRelease,
): Filters {
  for (const territory of Object.values(TERRITORIES))
    if (territory.dataset === dataset.name) requireDimension(territory.dimension, view, null)
  const resolved: Record<string, string> = { ...filters }
  for (const [name, text] of Object.entries(filters)) {
    const territory = TERRITORIES[name]
    if (territory !== undefined) requireDimension(territory.dimension, view, { parameter: name })
    const filter = dataset.filters?.[name]
    if (filter?.kind !== 'within') continue
    const codes = codesIn(text)
    resolved[name] = placesText(
      filter.place === 'region'
        ? STATES.filter(({ region_code }) => codes.includes(String(region_code))).map(({ uf }) => uf)
        : codes.flatMap((code) => territories.get(name)?.get(code) ?? []).sort((left, right) => left - right),
    )
  }
  return resolved
}
