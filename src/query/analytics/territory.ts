/** Checks whether a release has a dimension's codes, mainly health regions, and notes their edition. Pure. */
import { AppError, both } from '../../errors.ts'
import { areaOf } from '../../model/areas.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { baseDimension, DERIVED_DIMENSIONS, type DimensionCode, dimensionOf } from '../../model/dimensions.ts'
import { type Measure, type MetricCode, measuresOf } from '../../model/metrics.ts'
import type { Note } from '../../model/notes.ts'
import { codedDimensionsOf } from '../../model/required-tables.ts'
import { FACT_TABLES, isStored } from '../../release/coverage.ts'
import { componentManifests, type ReleaseView } from '../../release/view.ts'
import { allFilters } from './options/defined-metrics.ts'
import type { AnalyticsQuery } from './request.ts'

const NOT_LOADED = both('não está carregada nesta versão de dados', 'is not loaded in this release')
const editionOf = (view: ReleaseView): string | null => view.components.demography?.territory_edition ?? null

/**
 * @param position where the request names the dimension; null when its path does
 * @throws AppError 'dimension_not_loaded' when the release was made without the files of the dimension
 */
export function requireDimension(
  code: DimensionCode,
  view: ReleaseView,
  position: { readonly pointer: string } | { readonly parameter: string } | null,
): void {
  const { member, derivedFrom } = dimensionOf(code)
  if (member === null) {
    requireColumn(code, view, position)
    return
  }
  if (!areaOf(datasetOf(member.dataset).area).isRequired) {
    requireCodes(code, member.dataset, view, position)
    return
  }
  if (derivedFrom !== 'municipality' && derivedFrom !== 'residence_municipality') return
  if (view.components.demography?.datasets[member.dataset] !== undefined) return
  const edition = editionOf(view)
  const reason =
    edition === null
      ? both('foi feita sem uma base territorial', 'it was made without a territorial base')
      : both(`a edição ${edition} não a traz`, `its edition ${edition} does not have it`)
  throw new AppError('dimension_not_loaded', {
    detail: both(
      `A versão de dados não tem a dimensão ${code}: ${reason.pt}. Importe base_territorial_*.zip do DATASUS junto com os arquivos do IBGE.`,
      `The release has no dimension ${code}: ${reason.en}. Import base_territorial_*.zip of DATASUS together with the files of IBGE.`,
    ),
    errors:
      position === null
        ? []
        : [
            {
              ...position,
              message: NOT_LOADED,
            },
          ],
    extra: { dimension: code },
  })
}

/** @throws AppError 'dimension_not_loaded' when the tables of the release were made before they had the dimension's column */
function requireColumn(
  code: DimensionCode,
  view: ReleaseView,
  position: { readonly pointer: string } | { readonly parameter: string } | null,
): void {
  // Periods and territories follow from other columns.
  const tables = FACT_TABLES.filter((table) => codedDimensionsOf(table).includes(code)).filter(
    (table) => view.components[datasetOf(table).area]?.datasets[table] !== undefined,
  )
  if (tables.length === 0 || tables.some((table) => isStored(view, table, code))) return
  throw notLoaded(code, view, position)
}

/** @throws AppError 'dimension_not_loaded' when no component of the release has codes of the dimension */
function requireCodes(
  code: DimensionCode,
  dataset: DatasetName,
  view: ReleaseView,
  position: { readonly pointer: string } | { readonly parameter: string } | null,
): void {
  if (componentManifests(view).some(({ datasets }) => datasets[dataset] !== undefined)) return
  throw notLoaded(code, view, position)
}

function notLoaded(
  code: DimensionCode,
  view: ReleaseView,
  position: { readonly pointer: string } | { readonly parameter: string } | null,
): AppError {
  const areas = [...new Set(dimensionOf(code).datasets.map((facts) => datasetOf(facts).area))]
  const [missingComponents, files] = [
    areas.map((area) => areaOf(area).records),
    areas.map((area) => areaOf(area).files),
  ]
  // Earlier versions of the importer did not write every code list.
  const isEarlier = areas.some((area) => view.components[area] !== null)
  return new AppError('dimension_not_loaded', {
    detail: isEarlier
      ? both(
          `A versão de dados não tem a dimensão ${code}: foi importada antes de haver essa dimensão. Importe outra vez os arquivos ${files.map(({ pt }) => pt).join(' ou ')}.`,
          `The release has no dimension ${code}: it was imported before there was one. Import the ${files.map(({ en }) => en).join(' or ')} again.`,
        )
      : both(
          `A versão de dados não tem a dimensão ${code}: não reúne ${missingComponents.map(({ pt }) => pt).join(' nem ')}. Importe arquivos ${files.map(({ pt }) => pt).join(' ou ')}.`,
          `The release has no dimension ${code}: it joins no ${missingComponents.map(({ en }) => en).join(' and no ')}. Import ${files.map(({ en }) => en).join(' or ')}.`,
        ),
    errors: position === null ? [] : [{ ...position, message: NOT_LOADED }],
    extra: { dimension: code },
  })
}

/** @throws AppError 'dimension_not_loaded' for a group or filter that the release lacks */
export function checkTerritory(query: AnalyticsQuery, view: ReleaseView): void {
  for (const [index, code] of query.group_by.entries())
    requireDimension(baseDimension(code), view, { pointer: `/group_by/${index}` })
  for (const { dimension } of query.filters) requireDimension(dimension, view, { pointer: '/filters' })
  for (const [index, { metric, filters }] of query.metrics.entries()) {
    const position = { pointer: `/metrics/${index}` }
    if (comparesHealthRegions(metric)) requireDimension('health_region', view, position)
    for (const { dimension } of filters) requireDimension(dimension, view, position)
  }
}

const comparesHealthRegions = (code: MetricCode): boolean =>
  Object.values(measuresOf(code)).some((measure) =>
    (measure as Measure | null)?.where?.some(
      (condition) => 'ends' in condition && condition.ends === 'health_region',
    ),
  )

export function territoryNotes(query: AnalyticsQuery, view: ReleaseView): Note[] {
  const used = [...query.group_by.map(baseDimension), ...allFilters(query).map(({ dimension }) => dimension)]
  const dimensions = [...DERIVED_DIMENSIONS].filter(
    (code) => (dimensionOf(code).derivedFrom ?? 'state') !== 'state' && used.includes(code),
  )
  return dimensions.length === 0
    ? []
    : [{ code: 'territory_edition', dimensions, edition: editionOf(view) ?? '' }]
}
