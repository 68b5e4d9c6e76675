/** Search page: finds places and facilities by words of their names, ignoring accents and order, or by the beginning of a code. */

import { SEARCH_MAX } from '../../text-limits.ts'
import { type Api, ApiFailure, type Member } from '../api.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { PlaceLink, useSite } from '../parts/site.tsx'

interface SearchData {
  readonly text: string
  readonly places: readonly { readonly level: string; readonly member: Member }[]
  readonly facilities: readonly {
    readonly cnes_code: string
    readonly trade_name: string | null
    readonly legal_name: string | null
    readonly municipality_name: string | null
    readonly uf: string | null
    readonly facility_type_name: string | null
  }[]
  /** The release has more of them than are listed. */
  readonly hasMore: { readonly places: boolean; readonly facilities: boolean }
  readonly synthetic: boolean
}

const LEVELS = ['state', 'municipality', 'health_region', 'health_macroregion']
const TEXT_MIN = 2

/** Replaces results that the key may not read, or the release lacks. */
const orFallback = <Value,>(promise: Promise<Value>, fallback: Value): Promise<Value> =>
  promise.catch((error: unknown) => {
    if (error instanceof ApiFailure && [400, 403, 404].includes(error.problem.status)) return fallback
    throw error
  })

interface Listed<Row> {
  readonly data: readonly Row[]
  readonly pagination: { readonly has_more: boolean }
  readonly meta: { readonly synthetic?: boolean }
}
const NONE = { data: [], pagination: { has_more: false }, meta: {} }

async function searchPlaces(api: Api, level: string, text: string): Promise<Listed<Member>> {
  const query = new URLSearchParams({ search: text, limit: '10' })
  return await orFallback(api.get<Listed<Member>>(`/v1/analytics/dimensions/${level}/values?${query}`), NONE)
}

const placesOf = (level: string, { data }: Listed<Member>): SearchData['places'] =>
  data.filter(({ code }) => code !== null).map((member) => ({ level, member }))

/** @returns places of a level by words of their names or the beginning of their code */
export const findPlaces = async (api: Api, level: string, text: string): Promise<SearchData['places']> =>
  placesOf(level, await searchPlaces(api, level, text))

async function load({ visit, api }: LoadContext): Promise<SearchData> {
  const text = (new URLSearchParams(visit.search).get('text') ?? '').trim().slice(0, SEARCH_MAX)
  if (text.length < TEXT_MIN)
    return {
      text,
      places: [],
      facilities: [],
      hasMore: { places: false, facilities: false },
      synthetic: false,
    }
  const query = new URLSearchParams({ search: text, limit: '25' })
  const [places, facilities] = await Promise.all([
    Promise.all(LEVELS.map((level) => searchPlaces(api, level, text))),
    orFallback(api.get<Listed<SearchData['facilities'][number]>>(`/v1/facilities?${query}`), NONE),
  ])
  return {
    text,
    places: places.flatMap((listed, index) => placesOf(LEVELS[index] ?? '', listed)),
    facilities: facilities.data,
    hasMore: {
      places: places.some(({ pagination }) => pagination.has_more),
      facilities: facilities.pagination.has_more,
    },
    synthetic: facilities.meta.synthetic === true,
  }
}

function View({ data }: { readonly data: SearchData }) {
  const { t, href } = useSite()
  const isEmpty = data.places.length === 0 && data.facilities.length === 0
  return (
    <>
      <h1>
        {t.search}: {data.text}
      </h1>
      <p class="hint">{t.searchHint}</p>
      {isEmpty && data.text !== '' ? (
        <p role="status">{data.text.length < TEXT_MIN ? t.searchTooShort : t.nothingFound}</p>
      ) : null}
      {isEmpty ? null : (
        <p role="status">
          {t.found.places}: {t.foundCount(data.places.length, data.hasMore.places)} · {t.found.facilities}:{' '}
          {t.foundCount(data.facilities.length, data.hasMore.facilities)}
        </p>
      )}
      {data.places.length === 0 ? null : (
        <section>
          <h2>{t.found.places}</h2>
          <ul class="results-list">
            {data.places.map(({ level, member }) => (
              <li key={`${level}${member.code}`}>
                <PlaceLink level={level} code={String(member.code)}>
                  {member.name ?? member.code}
                </PlaceLink>{' '}
                <span class="hint">
                  {t.levels[level]} {member.code}
                  {member.parent?.code == null || level === 'state' ? '' : `, ${member.parent.code}`}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {data.facilities.length === 0 ? null : (
        <section>
          <h2>{t.found.facilities}</h2>
          <ul class="results-list">
            {data.facilities.map((facility) => (
              <li key={facility.cnes_code}>
                <a href={href(`/explorer/facilities/${facility.cnes_code}`)}>
                  {facility.trade_name ?? facility.legal_name ?? facility.cnes_code}
                </a>{' '}
                <span class="hint">
                  CNES {facility.cnes_code}, {facility.facility_type_name}, {facility.municipality_name}{' '}
                  {facility.uf}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

export const SEARCH: PageModule<SearchData> = {
  match: (path) => (/^\/explorer\/search\/?$/.test(path) ? {} : null),
  load,
  title: ({ text }, texts) => `${texts.search}: ${text}`,
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
