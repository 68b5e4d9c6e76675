/** Population: estimates and censuses (capability demography.read). */
import { z } from 'zod'
import type { Row } from '../../engine/types.ts'
import { AppError } from '../../errors.ts'
import { DATASETS } from '../../model/datasets.ts'
import { POPULATION_TYPES } from '../../model/demography/code-lists.ts'
import { YEAR } from '../../query/text-schemas.ts'
import { findRecords } from '../records/find-records.ts'
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
    handle: async ({ parameters, query, view, engine, signal }, { rows: store }) => {
      const text = parameters.municipalityCode ?? ''
      if (!MUNICIPALITY.safeParse(text).success || view === null) throw new AppError('not_found')
      const recordsOf = async (code: string) =>
        store?.find(view, 'population', null)?.recordsOf(code) ??
        (await findRecords({ engine, view, signal }, 'population', { municipality_code: code }, null))
      let rows: readonly Row[] = []
      for (const code of text.length === 7 ? [text] : expandMunicipalityCode(text)) {
        if (rows.length === 0) rows = await recordsOf(code)
      }
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
