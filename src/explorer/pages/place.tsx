/**
 * The page of a place: its profile as tables, each number a link to its question, with drawings of where it stands and how it went;
 * admissions of its residents; its facilities. It prints as a bulletin of two pages.
 */

import { SEARCH_MAX } from '../../text-limits.ts'
import type { Labels } from '../api.ts'
import type { Profile, ProfileAnswer, ProfilePlace } from '../api-profiles.ts'
import { noteText } from '../catalog-texts.ts'
import { PointsMap } from '../drawings/points-map.tsx'
import type { LoadContext, PageModule } from '../page.ts'
import { Ages, nameOfComparator, ProfileBlock, Reading } from '../parts/profile-table.tsx'
import { loadResidents, ResidentAdmissions, type ResidentsData } from '../parts/resident-admissions.tsx'
import { PlaceLink, useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf } from '../parts/table.tsx'
import { WhenNear } from '../parts/when-near.tsx'
import { change, EMPTY_QUESTION } from '../question.ts'
import { CompareLink } from './compare.tsx'
import { loadLabels } from './explore-load.ts'
import { listRows } from './search.tsx'

interface Facility {
  readonly cnes_code: string
  readonly trade_name: string | null
  readonly legal_name: string | null
  readonly facility_type_name: string | null
}

interface PlaceData {
  readonly catalog: Labels
  readonly profile: Profile
  readonly meta: ProfileAnswer['meta']
  readonly residents: ResidentsData | null
  /** Null where the key may not read them, and for levels without a list. */
  readonly facilities: readonly Facility[] | null
  readonly hasMoreFacilities: boolean
  readonly facilitiesQuery: string
  /** Words that the facilities are searched for. */
  readonly text: string
}

export const LEVELS = ['municipality', 'health_region', 'health_macroregion', 'state', 'region', 'country']
const FACILITIES_SHOWN = 50
/** Filter of the list of facilities by level; levels without one show no list. */
const FACILITY_FILTERS: Readonly<Record<string, string>> = {
  municipality: 'municipality_ibge_code',
  health_region: 'health_region_code',
  state: 'uf',
}
/** A map of a state has no room for all facilities, so it shows those with beds. */
const POINT_FILTERS: Readonly<Record<string, string>> = { state: '&has_beds=true' }
const INNER_LEVELS: Readonly<Record<string, string>> = {
  municipality: 'facility',
  health_region: 'municipality',
  health_macroregion: 'health_region',
  state: 'municipality',
  region: 'state',
  country: 'state',
}

async function load(
  { api, visit }: LoadContext,
  { level = '', code = '' }: Readonly<Record<string, string>>,
): Promise<PlaceData> {
  const text = (new URLSearchParams(visit.search).get('facility') ?? '').trim().slice(0, SEARCH_MAX)
  const filter = FACILITY_FILTERS[level]
  const facilitiesQuery = filter === undefined ? '' : `${filter}=${code}`
  const [catalog, { data: profile, meta }, facilities] = await Promise.all([
    loadLabels(api),
    api.get<ProfileAnswer>(`/v1/profiles/${level}/${code}`),
    filter === undefined
      ? null
      : listRows<Facility>(api, '/v1/facilities', {
          [filter]: code,
          search: text,
          limit: String(FACILITIES_SHOWN),
        }),
  ])
  const { place } = profile
  const columns = [place, ...place.parents].map((column) => ({
    level: column.level,
    code: String(column.code),
    name: column.name,
  }))
  // A release of one state has no figures for the country.
  const isNational = /-br-\d{6}-/.test(meta.release_id)
  return {
    catalog,
    profile,
    meta,
    residents: await loadResidents(
      api,
      columns.filter((column) => isNational || column.level !== 'country'),
    ),
    facilities: facilities === null ? null : listed(facilities.data, text),
    hasMoreFacilities: facilities?.pagination.has_more === true,
    facilitiesQuery,
    text,
  }
}

function View({ data }: { readonly data: PlaceData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, profile, meta } = data
  const { place, comparator, blocks, population_by_age: ages } = profile
  const [population, ...others] = blocks
  const innerLevel = INNER_LEVELS[place.level] ?? 'state'
  const filters: Readonly<Record<string, string[]>> =
    place.level === 'country' ? {} : { [place.level]: [String(place.code)] }
  return (
    <article class="bulletin">
      <Parents places={place.parents} />
      <h1>
        {nameOf(place, t.country)}{' '}
        <small>
          {t.levels[place.level]} {place.code}
        </small>
      </h1>
      <p class="hint">
        {t.profile.lead}{' '}
        {comparator === null ? null : t.profile.comparedWith(nameOfComparator(comparator, t))}
      </p>
      <Reading profile={profile} />
      <nav class="shortcuts" aria-label={t.profile.blocks}>
        {blocks.map(({ code, label }) => (
          <a class="button" key={code} href={`#${code}`}>
            {label}
          </a>
        ))}
        <CompareLink level={place.level} code={String(place.code)} />
      </nav>
      <div class="blocks">
        {population === undefined ? null : <ProfileBlock block={population} comparator={comparator} />}
        {ages === null || ages.groups.length === 0 ? null : <Ages groups={ages.groups} />}
        {others.map((block) => (
          <ProfileBlock key={block.code} block={block} comparator={comparator} />
        ))}
      </div>
      <p class="downloads">
        <a
          class="button"
          href={questionHref(
            change(EMPTY_QUESTION, {
              metrics: ['bed_capacity_existing', 'bed_capacity_sus'],
              filters,
              groupBy: [innerLevel],
              order: '-bed_capacity_existing',
              totals: true,
            }),
          )}
        >
          {labelOf(metricOf(catalog, 'bed_capacity_existing'), language)} {t.by}{' '}
          {labelOf(dimensionOf(catalog, innerLevel), language).toLowerCase()}
        </a>
        <a class="button" href={`/explorer/api/v1/profiles/${place.level}/${place.code}`} data-download>
          {t.profile.asJson}
        </a>
      </p>
      {data.residents === null ? null : <ResidentAdmissions catalog={catalog} data={data.residents} />}
      <Facilities data={data} />
      {meta.notes.length === 0 ? null : (
        <details class="profile-notes">
          <summary>
            {t.notes} ({meta.notes.length})
          </summary>
          <ul>
            {meta.notes.map((note) => (
              <li key={note.message}>{noteText(note, catalog, language)}</li>
            ))}
          </ul>
        </details>
      )}
      <p class="hint">
        {t.release}: <code class="wide">{meta.release_id}</code>
      </p>
    </article>
  )
}

const nameOf = ({ level, name }: ProfilePlace, country: string): string =>
  level === 'country' ? country : name

function Parents({ places }: { readonly places: readonly ProfilePlace[] }) {
  const { t } = useSite()
  if (places.length === 0) return null
  return (
    <nav class="parents" aria-label={t.profile.lies}>
      <ol>
        {[...places].reverse().map((parent) => (
          <li key={parent.level}>
            <PlaceLink level={parent.level} code={String(parent.code)}>
              {nameOf(parent, t.country)}
            </PlaceLink>
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** A search has its best matches first; without one, the API's order is that of the codes, which nobody looks for. */
const listed = (facilities: readonly Facility[], text: string): readonly Facility[] =>
  text === ''
    ? [...facilities].sort((left, right) => titleOf(left).localeCompare(titleOf(right), 'pt'))
    : facilities

const titleOf = ({ trade_name, legal_name, cnes_code }: Facility): string =>
  trade_name ?? legal_name ?? cnes_code

function Facilities({ data }: { readonly data: PlaceData }) {
  const { t, href, isLive, visit, language } = useSite()
  const questionHref = useQuestionHref()
  const { facilities, facilitiesQuery, text, profile } = data
  const { place } = profile
  if (facilitiesQuery === '' || (text === '' && (facilities ?? []).length === 0)) return null
  const onlyBeds = POINT_FILTERS[place.level] ?? ''
  const uf = place.level === 'state' ? place : place.parents.find(({ level }) => level === 'state')
  return (
    <section aria-labelledby="facilities" class="facilities">
      <h2 id="facilities">{t.facilities}</h2>
      <div class="map-and-list">
        {isLive ? (
          <WhenNear
            draw={() => (
              <PointsMap
                level={place.level}
                code={String(place.code)}
                uf={String(uf?.code ?? '')}
                filter={`${facilitiesQuery}${onlyBeds}`}
                isOnlyBeds={onlyBeds !== ''}
              />
            )}
          />
        ) : null}
        <div>
          <form class="line" action={visit.path} data-go>
            {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
            <label for="facility-text">{t.profile.findFacility}</label>
            <input
              id="facility-text"
              type="search"
              name="facility"
              defaultValue={text}
              autocomplete="off"
              maxLength={SEARCH_MAX}
            />
            <button type="submit">{t.search}</button>
          </form>
          {facilities?.length === 0 ? <p role="status">{t.nothingFound}</p> : null}
          {facilities === null ? <p role="status">{t.problems.forbidden}</p> : null}
          <ul class="results-list columns">
            {(facilities ?? []).map((facility) => (
              <li key={facility.cnes_code}>
                <a href={href(`/explorer/facilities/${facility.cnes_code}`)}>{titleOf(facility)}</a>{' '}
                <span class="hint">{facility.facility_type_name}</span>
              </li>
            ))}
          </ul>
          {data.hasMoreFacilities ? (
            <p class="hint">
              {t.facilitiesShown(FACILITIES_SHOWN)}{' '}
              <a
                href={questionHref(
                  change(EMPTY_QUESTION, {
                    metrics: ['facilities_count'],
                    filters: { [place.level]: [String(place.code)] },
                    groupBy: ['facility_type'],
                    order: '-facilities_count',
                  }),
                )}
              >
                {t.facilitiesByType}
              </a>
            </p>
          ) : null}
        </div>
      </div>
    </section>
  )
}

export const PLACE: PageModule<PlaceData> = {
  match: (path) => {
    const [, level = '', code = ''] = /^\/explorer\/places\/([a-z_]+)\/([\w]{1,10})\/?$/.exec(path) ?? []
    return LEVELS.includes(level) && code !== '' ? { level, code } : null
  },
  load,
  title: ({ profile }, { country }) => nameOf(profile.place, country),
  isSynthetic: ({ meta }) => meta.synthetic === true,
  View,
}
