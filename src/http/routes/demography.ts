/** Population: estimates and censuses (capability demography.read). */
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { DATASETS } from '../../model/datasets.ts'
import { POPULATION_TYPES } from '../../model/demography/code-lists.ts'
import { YEAR } from '../../query/text-schemas.ts'
import { loadRecordRelease } from '../../records/release.ts'
import { sourceOf } from '../../records/source.ts'
import { expandMunicipalityCode } from '../records/handlers.ts'
import type { Route } from '../route.ts'

const MUNICIPALITY = z.string().regex(/^\d{6,7}$/)

export const DEMOGRAPHY: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/demography/population',
    operation: 'listPopulation',
    summary: 'Population of municipalities, every year of a type.',
    capability: 'demography.read',
    dataset: DATASETS.population,
    filters: Object.keys(DATASETS.population.filters),
    defaults: { population_type: 'ESTIMATED_POPULATION' },
    limit: { default: 50, max: 250 },
    response: 'DemographyPopulationListResponse',
  },
  {
    kind: 'list',
    path: '/v1/demography/population-by-age',
    operation: 'listPopulationByAge',
    summary: 'Population of municipalities by sex and age group, every year of the release.',
    capability: 'demography.read',
    dataset: DATASETS.population_by_age,
    filters: Object.keys(DATASETS.population_by_age.filters),
    limit: { default: 50, max: 250 },
    response: 'DemographyPopulationByAgeListResponse',
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/demography/population/{municipalityCode}',
    operation: 'getMunicipalityPopulation',
    isCacheable: true,
    summary: 'Population of one municipality: the newest year of a type, or the year asked for.',
    capability: 'demography.read',
    release: 'demography',
    response: 'DemographyPopulationDetailResponse',
    pathSchemas: { municipalityCode: MUNICIPALITY },
    query: {
      reference_year: YEAR.optional(),
      population_type: z.enum(POPULATION_TYPES).optional(),
    },
    handle: async ({ parameters, query, view, engine, signal }, { rows: rowFiles }) => {
      const text = parameters.municipalityCode ?? ''
      if (!MUNICIPALITY.safeParse(text).success || view === null) throw new AppError('not_found')
      const release = await loadRecordRelease(view, engine)
      const codes = text.length === 7 ? [text] : expandMunicipalityCode(text)
      const source = sourceOf({ release, rows: rowFiles, engine, signal }, 'population', null)
      const rows = await source.recordsOf(codes)
      // A year alone matches either type. Without a year, the type defaults to the estimate.
      const type =
        query.population_type ?? (query.reference_year === undefined ? 'ESTIMATED_POPULATION' : undefined)
      const matching = rows.filter(
        (row) =>
          (type === undefined || row.population_type === type) &&
          (query.reference_year === undefined || row.reference_year === Number(query.reference_year)),
      )
      const record = matching.at(-1)
      if (record === undefined) throw new AppError('not_found')
      const available = rows.map(({ reference_year = null, population_type = null }) => ({
        reference_year,
        population_type,
      }))
      return { data: { ...record, available }, rows: 1 }
    },
  },
]
