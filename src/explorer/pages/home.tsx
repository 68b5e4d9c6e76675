/**
 * Home: a search for the visitor's place, national figures with their course, a map of the states with a choice of indicators,
 * what the release holds and how new it is, and what changed in it.
 */

import { SEARCH_MAX } from '../../text-limits.ts'
import type { Answer, Labels, PromotionChanges, QueryAnswer, ReleaseInfo } from '../api.ts'
import { codeOf, nameOf, orNull } from '../api.ts'
import type { ProfileAnswer, ProfileIndicator } from '../api-profiles.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { PlaceMap } from '../drawings/map.tsx'
import { Course } from '../drawings/sparks.tsx'
import { formatMonths, formatNumber, type Language } from '../numbers.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { changeLines, questionOfChanges } from '../parts/changes.ts'
import { periodText, questionOfIndicator } from '../parts/profile-table.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { PlaceLink, useQuestionHref, useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import { WhenNear } from '../parts/when-near.tsx'
import { bodyOf, change, EMPTY_QUESTION, type Question } from '../question.ts'
import type { Texts } from '../texts.ts'
import { ChangedFigures } from './changed-figures.tsx'
import { examplesOf } from './examples.ts'
import { loadLabels } from './explore-load.ts'

interface HomeData {
  readonly catalog: Labels
  readonly figures: readonly ProfileIndicator[]
  readonly releases: readonly ReleaseInfo[]
  /** The newest promotion; null before the first one. */
  readonly changes: PromotionChanges | null
  readonly question: Question
  readonly answer: QueryAnswer | null
  readonly release: string
  readonly synthetic: boolean
}

/** National figures in the order of preference; home shows the first six that the release has. */
const FIGURES = [
  'population_estimated',
  'infant_mortality_rate',
  'beds_sus_per_100k',
  'icu_beds_existing_per_100k',
  'admissions_per_10k',
  'hospital_mortality_share',
  'facilities_count',
  'federal_health_transfers_per_capita',
  'equipment_in_use_per_100k',
  'beds_sus_share',
]
const FIGURES_SHOWN = 6
/** Indicators that the map offers. */
const MAP_METRICS = [
  'beds_existing_per_100k',
  'icu_beds_existing_per_100k',
  'beds_sus_share',
  'facilities_per_100k',
  'equipment_in_use_per_100k',
  'average_stay_days',
]
const LEVEL = 'state'

const questionOfMap = (metric: string): Question =>
  change(EMPTY_QUESTION, { metrics: [metric], groupBy: [LEVEL], order: `-${metric}` })

async function load({ api, visit }: LoadContext): Promise<HomeData> {
  const requested = new URLSearchParams(visit.search).get('map')
  const [catalog, profile, releases, changes] = await Promise.all([
    loadLabels(api),
    api.get<ProfileAnswer>('/v1/profiles/country/BR'),
    api.get<Answer<readonly ReleaseInfo[]>>('/v1/releases'),
    api.get<Answer<readonly PromotionChanges[]>>('/v1/changes?limit=1'),
  ])
  const offered = MAP_METRICS.filter((code) => metricOf(catalog, code) !== undefined)
  const metric = offered.find((code) => code === requested) ?? offered[0]
  const question = metric === undefined ? EMPTY_QUESTION : questionOfMap(metric)
  const answer =
    metric === undefined ? null : await orNull(api.post<QueryAnswer>('/v1/analytics/query', bodyOf(question)))
  const indicators = profile.data.blocks.flatMap((block) => block.indicators)
  const figures = FIGURES.flatMap(
    (code) => indicators.find((indicator) => indicator.metric === code && indicator.value !== null) ?? [],
  )
  return {
    catalog,
    figures: figures.slice(0, FIGURES_SHOWN),
    releases: releases.data,
    changes: changes.data[0] ?? null,
    question,
    answer,
    release: profile.meta.release_id,
    synthetic: profile.meta.synthetic === true,
  }
}

function View({ data }: { readonly data: HomeData }) {
  const { t, language, href } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, figures, releases } = data
  const newest = releases
    .filter(({ area, promoted }) => area === 'cnes' && promoted)
    .flatMap(({ periods }) => periods)
    .sort()
    .at(-1)
  return (
    <div class="home">
      <section class="hero">
        <h1>{t.home.question}</h1>
        <PlaceSearch />
        <p class="hint">{t.home.hint}</p>
        <p class="lead">{t.tagline}</p>
      </section>
      {figures.length === 0 ? null : (
        <section aria-labelledby="country">
          <h2 id="country">{t.home.country}</h2>
          <ul class="figures">
            {figures.map((indicator) => (
              <Figure key={indicator.metric} indicator={indicator} />
            ))}
          </ul>
          <p>
            <a class="button" href={href('/explorer/places/country/BR')}>
              {t.home.wholeProfile}
            </a>
          </p>
        </section>
      )}
      <StatesOnMap data={data} />
      <div class="pairs">
        <section aria-labelledby="start">
          <h2 id="start">{t.home.start}</h2>
          <ul class="cards">
            {examplesOf(catalog, language, newest ?? '').map(([label, question]) => (
              <li key={label}>
                <a href={questionHref(question)}>{label}</a>
              </li>
            ))}
            <li>
              <a href={href('/explorer')}>{t.explore} →</a>
            </li>
          </ul>
        </section>
        <div>
          <Holdings releases={releases} />
          <Changes changes={data.changes} catalog={data.catalog} />
        </div>
      </div>
    </div>
  )
}

function PlaceSearch() {
  const { t, language } = useSite()
  return (
    <form class="line" action="/explorer/search" data-go>
      {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
      <label class="hidden" for="place-text">
        {t.home.question}
      </label>
      <input id="place-text" type="search" name="text" autocomplete="off" maxLength={SEARCH_MAX} />
      <button type="submit" class="primary">
        {t.search}
      </button>
    </form>
  )
}

function Figure({ indicator }: { readonly indicator: ProfileIndicator }) {
  const { language } = useSite()
  const questionHref = useQuestionHref()
  const { label, unit, decimals, value, course, period } = indicator
  const about = [
    unitOutsideLabel({ label, label_en: label, unit }, language),
    periodText(indicator, language),
  ].filter((text) => text !== '')
  return (
    <li>
      <span class="name">{label}</span>
      <a class="figure" href={questionHref(questionOfIndicator(indicator))}>
        {formatNumber(value ?? 0, decimals, language)}
      </a>
      <span class="unit">{about.join(', ')}</span>
      {course === null ? null : (
        <Course points={course.points} decimals={decimals} isYearly={period?.unit === 'year'} />
      )}
    </li>
  )
}

function StatesOnMap({ data }: { readonly data: HomeData }) {
  const { t, language, href, isLive } = useSite()
  const { catalog, question, answer } = data
  const [code = ''] = question.metrics
  if (answer === null) return null
  const metric = metricOf(catalog, code)
  const offered = MAP_METRICS.filter((other) => metricOf(catalog, other) !== undefined)
  return (
    <section aria-labelledby="map">
      <h2 id="map">
        {t.home.onMap}{' '}
        <small>
          {labelOf(metric, language)} {unitOutsideLabel(metric, language)}
        </small>
      </h2>
      <nav class="shortcuts" aria-label={t.home.indicators}>
        {offered.map((other) => (
          <a
            class="button"
            key={other}
            href={href('/', `?map=${other}`)}
            aria-current={other === code ? 'page' : undefined}
          >
            {labelOf(metricOf(catalog, other), language)}
          </a>
        ))}
      </nav>
      <div class={isLive ? 'on-map' : undefined}>
        <ol class="states ranked">
          {answer.data.map((row) => {
            const state = row.dimensions[LEVEL]
            const value = row.metrics[code] ?? null
            return (
              <li key={codeOf(state)}>
                <PlaceLink level={LEVEL} code={codeOf(state)}>
                  {nameOf(state)}
                </PlaceLink>{' '}
                <span class={value === null ? 'hint' : undefined}>
                  {value === null ? t.noData : formatNumber(value, metric?.decimals ?? 0, language)}
                </span>
              </li>
            )
          })}
        </ol>
        {isLive ? (
          <WhenNear draw={() => <PlaceMap question={question} catalog={catalog} answer={answer} />} />
        ) : null}
      </div>
    </section>
  )
}

/** @returns e.g. fev–mai 2026, 4 meses: fewer than lie between both show that some are missing */
function spanOf(periods: readonly string[], t: Texts, language: Language): string {
  // The month 00 of a year holds what came without a month.
  const sorted = periods.filter((period) => !period.endsWith('-00')).sort()
  const [from] = sorted
  const to = sorted.at(-1)
  if (from === undefined || to === undefined) return '–'
  if (/-\d\d$/.test(to)) return `${formatMonths(from, to, language)}, ${t.monthsOld(String(sorted.length))}`
  return from === to ? to : `${from}–${to} (${sorted.length})`
}

function Holdings({ releases }: { readonly releases: readonly ReleaseInfo[] }) {
  const { t, language, href } = useSite()
  const promoted = releases.filter(({ area, promoted: isPromoted }) => isPromoted && area !== 'analytics')
  return (
    <section aria-labelledby="here">
      <h2 id="here">{t.home.here}</h2>
      <Scroll label={t.home.periods}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.area}</th>
              <th scope="col">{t.home.periods}</th>
              <th scope="col" class="number">
                {t.rowsHead}
              </th>
            </tr>
          </thead>
          <tbody>
            {promoted.map(({ release_id, area, periods, rows }) => (
              <tr key={release_id}>
                <th scope="row">
                  <a href={href(`/explorer/releases/${release_id}`)}>{t.areas[area] ?? area}</a>
                </th>
                <td>{spanOf(periods, t, language)}</td>
                <td class="number">{formatNumber(rows, 0, language)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

/** Shows what the newest promotion changed. */
function Changes(props: { readonly changes: PromotionChanges | null; readonly catalog: Labels }) {
  const { changes, catalog } = props
  const { t, language, href, isLive } = useSite()
  const questionHref = useQuestionHref()
  const before = changes?.previous_release_id ?? null
  return (
    <section aria-labelledby="changed">
      <h2 id="changed">{t.home.changed}</h2>
      {changes === null || before === null ? (
        <p>{t.home.onlyRelease}</p>
      ) : (
        <>
          <p>
            {t.home.since} <code class="wide">{before}</code>
          </p>
          <ul>
            {changeLines(changes.areas, language).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          {isLive &&
          changes.areas?.some(({ datasets }) => datasets.some(({ revised }) => revised.length > 0)) ? (
            <WhenNear draw={() => <ChangedFigures release={changes.release_id} catalog={catalog} />} />
          ) : null}
          {changes.areas === null ? null : (
            <p>
              <a class="button" href={questionHref(questionOfChanges(before))}>
                {t.home.seeChanges}
              </a>
            </p>
          )}
        </>
      )}
      <p>
        <a href={href('/feed.atom')}>{t.whatChanged.feed}</a>
      </p>
    </section>
  )
}

export const HOME: PageModule<HomeData> = {
  match: (path) => (path === '/' ? {} : null),
  load,
  title: (_, texts) => texts.home.question,
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
