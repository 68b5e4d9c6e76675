/**
 * The page of a place: key figures next to those of the larger areas around it, facilities, and a trend. Each figure links to its question.
 */

import {
  type Api,
  ApiFailure,
  type Catalog,
  codeOf,
  findMember,
  type Page,
  type QueryAnswer,
  type QueryRow,
} from '../api.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatNumber } from '../numbers.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { Lines } from '../parts/charts.tsx'
import { PointsMap } from '../parts/points-map.tsx'
import { loadResidents, ResidentAdmissions, type ResidentsData } from '../parts/resident-admissions.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf } from '../parts/table.tsx'
import { bodyOf, change, EMPTY_QUESTION, type Question } from '../question.ts'
import { loadCatalog } from './explore-load.ts'

interface Place {
  readonly level: string
  readonly code: string
  readonly name: string
  readonly row: QueryRow | null
}

interface PlaceData {
  readonly catalog: Catalog
  /** The place, then the areas that contain it, ending with the country. */
  readonly places: readonly Place[]
  readonly metrics: readonly string[]
  readonly facilities: readonly {
    readonly cnes_code: string
    readonly trade_name: string | null
    readonly legal_name: string | null
    readonly facility_type_name: string | null
    readonly has_beds: boolean | null
  }[]
  readonly hasMoreFacilities: boolean
  readonly facilitiesQuery: string
  readonly trend: QueryAnswer | null
  readonly residents: ResidentsData | null
  readonly synthetic: boolean
}

/** Key figures. Those that the catalog lacks are left out. */
const KEY_METRICS = [
  'population_census',
  'population_estimated',
  'facilities_count',
  'facilities_per_100k',
  'bed_capacity_existing',
  'bed_capacity_sus',
  'beds_existing_per_100k',
  'beds_sus_share',
  'icu_beds_existing',
  'icu_beds_existing_per_100k',
  'equipment_in_use',
  'equipment_in_use_share',
  'service_offerings',
  'service_offerings_sus_share',
]
const TREND_METRIC = 'beds_existing_per_100k'
export const LEVELS = ['municipality', 'health_region', 'health_macroregion', 'state', 'region']
const FACILITIES_SHOWN = 50
/** A map of a state has no room for all facilities, so it shows those with beds. */
const POINT_FILTERS: Readonly<Record<string, string>> = { state: '&has_beds=true' }
const POINT_LEVELS = ['municipality', 'health_region', 'state']

const questionOf = (level: string, code: string, metrics: readonly string[]): Question =>
  change(EMPTY_QUESTION, { metrics, filters: level === 'country' ? {} : { [level]: [code] } })

async function rowOf(
  api: Api,
  level: string,
  code: string,
  metrics: readonly string[],
  isGrouped: boolean,
): Promise<QueryAnswer> {
  const question = questionOf(level, code, metrics)
  return api.post<QueryAnswer>('/v1/analytics/query', {
    ...bodyOf(isGrouped ? change(question, { groupBy: [level] }) : question),
    limit: 1,
  })
}

const orNull = <Value,>(promise: Promise<Value>): Promise<Value | null> =>
  promise.catch((error: unknown) => {
    if (error instanceof ApiFailure && [400, 403, 404].includes(error.problem.status)) return null
    throw error
  })

/** @returns the areas that contain a place, from a municipality's record or the member's parent */
async function parentsOf(
  api: Api,
  level: string,
  code: string,
): Promise<[level: string, code: string, name: string][]> {
  if (level === 'municipality') {
    const record = await orNull(
      api.get<{ readonly data: Readonly<Record<string, string | number | null>> }>(
        `/v1/municipalities/${code}`,
      ),
    )
    const data = record?.data ?? {}
    const parents: [string, string | number | null | undefined, string | number | null | undefined][] = [
      ['health_region', data.health_region_code, data.health_region_name],
      ['health_macroregion', data.health_macroregion_code, data.health_macroregion_name],
      ['state', data.uf, data.state_name],
    ]
    return parents.flatMap(([parent, parentCode, name]) =>
      parentCode === null || parentCode === undefined
        ? []
        : [[parent, String(parentCode), String(name ?? parentCode)]],
    )
  }
  if (level !== 'health_region' && level !== 'health_macroregion') return []
  const uf = (await findMember(api, level, code))?.parent?.code
  if (uf === null || uf === undefined) return []
  const state = await findMember(api, 'state', String(uf))
  return [['state', String(uf), state?.name ?? String(uf)]]
}

async function load({ api }: LoadContext, params: Readonly<Record<string, string>>): Promise<PlaceData> {
  const { level = '', code = '' } = params
  const catalog = await loadCatalog(api)
  const metrics = KEY_METRICS.filter((metric) => {
    const found = metricOf(catalog, metric)
    return found?.dimensions.includes(level)
  })
  const placeAnswer = await rowOf(api, level, code, metrics, true)
  const [row] = placeAnswer.data
  const member = row?.dimensions[level]
  const name = typeof member === 'object' && member !== null ? (member.name ?? code) : code
  const parents = await parentsOf(api, level, code)
  // A release of one state has no figures for the country.
  const country: [string, string, string][] = /-br-\d{6}-/.test(placeAnswer.meta.release_id)
    ? [['country', '', '']]
    : []
  const parentPlaces = await Promise.all(
    [...parents, ...country].map(
      async ([parent, parentCode, parentName]): Promise<Place> => ({
        level: parent,
        code: parentCode,
        name: parentName,
        row: (await orNull(rowOf(api, parent, parentCode, metrics, false)))?.data[0] ?? null,
      }),
    ),
  )
  const filter =
    level === 'municipality'
      ? `municipality_ibge_code=${code}`
      : level === 'state'
        ? `uf=${code}`
        : level === 'health_region'
          ? `health_region_code=${code}`
          : ''
  const facilities =
    filter === ''
      ? null
      : await orNull(
          api.get<Page<PlaceData['facilities'][number]>>(
            `/v1/facilities?${filter}&limit=${FACILITIES_SHOWN}`,
          ),
        )
  const trend = metricOf(catalog, TREND_METRIC)?.dimensions.includes(level)
    ? await orNull(
        api.post<QueryAnswer>('/v1/analytics/query', {
          ...bodyOf(change(questionOf(level, code, [TREND_METRIC]), { groupBy: ['reference_period'] })),
          limit: 1000,
        }),
      )
    : null
  const places = [{ level, code: codeOf(member) || code, name, row: row ?? null }, ...parentPlaces]
  return {
    catalog,
    places,
    metrics,
    facilities: facilities?.data ?? [],
    hasMoreFacilities: facilities?.pagination.has_more === true,
    facilitiesQuery: filter,
    trend: trend !== null && trend.data.length > 1 ? trend : null,
    residents: await loadResidents(api, places),
    synthetic: placeAnswer.meta.synthetic === true,
  }
}

function View({ data }: { readonly data: PlaceData }) {
  const { t, language, href, isLive } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, places, metrics, facilities, trend } = data
  const [place] = places
  if (place === undefined) return null
  const uf = places.find(({ level }) => level === 'state')?.code ?? ''
  const nameOf = ({ level, name }: Place): string => (level === 'country' ? t.country : name)
  const innerLevel = {
    municipality: 'facility',
    health_region: 'municipality',
    health_macroregion: 'health_region',
    state: 'municipality',
    region: 'state',
  }[place.level]
  return (
    <>
      <h1>
        {place.name}{' '}
        <small>
          {t.levels[place.level]} {place.code}
        </small>
      </h1>
      <section>
        <h2 id="figures">{t.keyFigures}</h2>
        <Scroll label={t.keyFigures}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.metrics}</th>
                {places.map((column) => (
                  <th scope="col" class="number" key={column.level}>
                    {column === place || column.level === 'country' ? (
                      nameOf(column)
                    ) : (
                      <a href={href(`/explorer/places/${column.level}/${column.code}`)}>{nameOf(column)}</a>
                    )}
                    <span class="uf"> {t.levels[column.level]}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {metrics.map((code) => {
                const metric = metricOf(catalog, code)
                return (
                  <tr key={code}>
                    <th scope="row">
                      {labelOf(metric, language)} <span class="uf">{unitOutsideLabel(metric, language)}</span>
                    </th>
                    {places.map((column) => {
                      const value = column.row?.metrics[code] ?? null
                      return (
                        <td class={value === null ? 'number missing' : 'number'} key={column.level}>
                          {value === null ? (
                            <abbr title={t.noDataLong}>{t.noData}</abbr>
                          ) : (
                            <a href={questionHref(questionOf(column.level, column.code, [code]))}>
                              {formatNumber(value, metric?.decimals ?? 0, language)}
                            </a>
                          )}
                        </td>
                      )
                    })}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </Scroll>
        {innerLevel === undefined ? null : (
          <p>
            <a
              class="button"
              href={questionHref(
                change(questionOf(place.level, place.code, ['bed_capacity_existing', 'bed_capacity_sus']), {
                  groupBy: [innerLevel],
                  order: '-bed_capacity_existing',
                  totals: true,
                }),
              )}
            >
              {labelOf(metricOf(catalog, 'bed_capacity_existing'), language)} {t.by}{' '}
              {labelOf(dimensionOf(catalog, innerLevel), language)}
            </a>
          </p>
        )}
      </section>
      {trend === null ? null : (
        <section aria-labelledby="trend">
          <h2 id="trend">{t.trends}</h2>
          <Lines
            question={change(questionOf(place.level, place.code, [TREND_METRIC]), {
              groupBy: ['reference_period'],
            })}
            catalog={catalog}
            rows={trend.data}
          />
        </section>
      )}
      {data.residents === null ? null : <ResidentAdmissions catalog={catalog} data={data.residents} />}
      {facilities.length === 0 ? null : (
        <section aria-labelledby="facilities">
          <h2 id="facilities">{t.facilities}</h2>
          {isLive && POINT_LEVELS.includes(place.level) ? (
            <PointsMap
              level={place.level}
              code={place.code}
              uf={uf}
              filter={`${data.facilitiesQuery}${POINT_FILTERS[place.level] ?? ''}`}
            />
          ) : null}
          <ul class="results-list columns">
            {facilities.map((facility) => (
              <li key={facility.cnes_code}>
                <a href={href(`/explorer/facilities/${facility.cnes_code}`)}>
                  {facility.trade_name ?? facility.legal_name ?? facility.cnes_code}
                </a>{' '}
                <span class="hint">{facility.facility_type_name}</span>
              </li>
            ))}
          </ul>
          {data.hasMoreFacilities ? (
            <p class="hint">
              {t.facilitiesShown(FACILITIES_SHOWN)}{' '}
              <a
                href={questionHref(
                  change(questionOf(place.level, place.code, ['facilities_count']), {
                    groupBy: ['facility_type'],
                    order: '-facilities_count',
                  }),
                )}
              >
                {t.facilitiesByType}
              </a>
            </p>
          ) : null}
        </section>
      )}
    </>
  )
}

export const PLACE: PageModule<PlaceData> = {
  match: (path) => {
    const [, level = '', code = ''] = /^\/explorer\/places\/([a-z_]+)\/([\w]{1,10})\/?$/.exec(path) ?? []
    return LEVELS.includes(level) && code !== '' ? { level, code } : null
  },
  load,
  title: ({ places }) => places[0]?.name ?? '',
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
