/** Search page: finds places and facilities by words of their names, ignoring accents and order, or by the beginning of a code. */

import { SEARCH_MAX } from '../../text-limits.ts'
import { type Api, ApiFailure, type Member, queryString } from '../api.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { PlaceLink, useSite } from '../parts/site.tsx'

interface FoundFacility {
  readonly cnes_code: string
  readonly trade_name: string | null
  readonly legal_name: string | null
  readonly municipality_name: string | null
  readonly uf: string | null
  readonly facility_type_name: string | null
}

interface SearchData {
  readonly text: string
  /** Null where the key may not read them. */
  readonly places: readonly { readonly level: string; readonly member: Member }[] | null
  /** Null where the key may not read them. */
  readonly facilities: readonly FoundFacility[] | null
  /** The release has more of them than are listed. */
  readonly hasMore: { readonly places: boolean; readonly facilities: boolean }
  readonly synthetic: boolean
}

const LEVELS = ['state', 'municipality', 'health_region', 'health_macroregion']
const TEXT_MIN = 2

interface Listed<Row> {
  readonly data: readonly Row[]
  readonly pagination: { readonly has_more: boolean }
  readonly meta: { readonly synthetic?: boolean }
}
const NONE = { data: [], pagination: { has_more: false }, meta: {} }

/** @returns null where the key may not read the list, an empty list where the release lacks it */
export const listRows = <Row,>(
  api: Api,
  path: string,
  params: Readonly<Record<string, string>>,
): Promise<Listed<Row> | null> =>
  api.get<Listed<Row>>(path + queryString(params)).catch((error: unknown) => {
    const status = error instanceof ApiFailure ? error.problem.status : 0
    if (status === 403) return null
    if (status === 400 || status === 404) return NONE
    throw error
  })

const isSynthetic = (listed: Listed<unknown> | null): boolean => listed?.meta.synthetic === true

/** @returns places of some levels; null where the key may not read them */
export async function findPlaces(
  api: Api,
  levels: readonly string[],
  params: Readonly<Record<string, string>>,
): Promise<Pick<SearchData, 'places' | 'synthetic'> & { readonly hasMore: boolean }> {
  const lists = await Promise.all(
    levels.map((level) => listRows<Member>(api, `/v1/analytics/dimensions/${level}/values`, params)),
  )
  const places = lists.flatMap((listed, index) =>
    (listed?.data ?? []).map((member) => ({ level: levels[index] ?? '', member })),
  )
  return {
    places: lists.includes(null) ? null : places.filter(({ member }) => member.code !== null),
    hasMore: lists.some((listed) => listed?.pagination.has_more === true),
    synthetic: lists.some(isSynthetic),
  }
}

async function load({ visit, api }: LoadContext): Promise<SearchData> {
  const text = (new URLSearchParams(visit.search).get('text') ?? '').trim().slice(0, SEARCH_MAX)
  const isShort = text.length < TEXT_MIN
  // A short text finds nothing. One row of each list still says whether the data are synthetic.
  const paramsOf = (limit: string): Record<string, string> =>
    isShort ? { limit: '1' } : { search: text, limit }
  const [found, facilities] = await Promise.all([
    findPlaces(api, isShort ? LEVELS.slice(0, 1) : LEVELS, paramsOf('10')),
    listRows<FoundFacility>(api, '/v1/facilities', paramsOf('25')),
  ])
  return {
    text,
    places: isShort ? [] : found.places,
    facilities: isShort ? [] : (facilities?.data ?? null),
    hasMore: { places: found.hasMore, facilities: facilities?.pagination.has_more === true },
    synthetic: found.synthetic || isSynthetic(facilities),
  }
}

function View({ data }: { readonly data: SearchData }) {
  const { t, href } = useSite()
  const { places, facilities, hasMore } = data
  const isEmpty = places?.length === 0 && facilities?.length === 0
  const countOf = (found: readonly unknown[] | null, isMore: boolean): string =>
    found === null ? t.outOfReach : t.foundCount(found.length, isMore)
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
          {t.found.places}: {countOf(places, hasMore.places)} · {t.found.facilities}:{' '}
          {countOf(facilities, hasMore.facilities)}
        </p>
      )}
      {places === null || places.length === 0 ? null : (
        <section>
          <h2>{t.found.places}</h2>
          <ul class="results-list">
            {places.map(({ level, member }) => (
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
      {facilities === null || facilities.length === 0 ? null : (
        <section>
          <h2>{t.found.facilities}</h2>
          <ul class="results-list">
            {facilities.map((facility) => (
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
