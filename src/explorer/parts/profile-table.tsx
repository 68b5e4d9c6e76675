/** Tables of a profile: the indicators of a block, each a row that opens its question, and the population by sex and age. */
import type { Profile, ProfileIndicator, ProfilePlace } from '../api-profiles.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { Course, Strip } from '../drawings/sparks.tsx'
import { formatLimit, formatMonths, formatNumber, type Language } from '../numbers.ts'
import { change, EMPTY_QUESTION, type Question } from '../question.ts'
import { TEXTS, type Texts } from '../texts.ts'
import { Scroll } from './scroll.tsx'
import { useQuestionHref, useSite } from './site.tsx'

const isTime = (dimension: string): boolean => dimension.startsWith('reference_')

/** @returns the question of an indicator's value, over its months */
export function questionOfIndicator({ metric, period, query }: ProfileIndicator): Question {
  const filters = query.filters as readonly { readonly dimension: string; readonly value: string | number }[]
  const place = filters.find(({ dimension }) => !isTime(dimension))
  return change(EMPTY_QUESTION, {
    metrics: [metric],
    filters: place === undefined ? {} : { [place.dimension]: [String(place.value)] },
    from: period?.from ?? '',
    to: period?.to ?? '',
  })
}

/** @param isFromSmallest order of the places, which is that of the rank */
function questionOfPeers(indicator: ProfileIndicator, isFromSmallest: boolean): Question {
  const question = questionOfIndicator(indicator)
  return change(question, {
    groupBy: Object.keys(question.filters),
    filters: {},
    order: `${isFromSmallest ? '' : '-'}${indicator.metric}`,
    ignored: false,
  })
}

const questionOfCourse = (indicator: ProfileIndicator): Question =>
  change(questionOfIndicator(indicator), {
    groupBy: ['reference_period'],
    from: indicator.course?.points[0]?.period ?? '',
    view: 'lines',
  })

/** @returns e.g. mai 2026, 2025, or fev–mai 2026, 4 meses: values summed over more or fewer months are not comparable */
export function periodText({ period }: ProfileIndicator, language: Language): string {
  if (period === null) return ''
  if (period.unit === 'year') return period.to.slice(0, 4)
  const months = formatMonths(period.from, period.to, language)
  return period.months === 1 ? months : `${months}, ${TEXTS[language].monthsOld(String(period.months))}`
}

/** @returns name as a heading beside a place that may have the same one, e.g. São Paulo (estado) */
export const nameOfComparator = ({ level, name }: ProfilePlace, t: Texts): string =>
  level === 'country' ? t.country : `${name} (${t.levels[level] ?? level})`

/** The API compares ratios only, and gives no value of a comparator that was not collected in full. */
const isCompared = ({ kind }: ProfileIndicator): boolean => kind === 'ratio'
const isIncomplete = (indicator: ProfileIndicator): boolean =>
  isCompared(indicator) && indicator.value !== null && indicator.comparator === null
const hasPeers = ({ value, peers }: ProfileIndicator): boolean =>
  value !== null && peers !== null && peers.places > 1
/** Counts have no strip: a few large places would stretch it so far that all others fall onto one point. */
const hasStrip = (indicator: ProfileIndicator): boolean => isCompared(indicator) && hasPeers(indicator)
const hasCourse = ({ course }: ProfileIndicator): boolean =>
  (course?.points.filter(({ value }) => value !== null).length ?? 0) > 1

export function ProfileBlock(props: {
  readonly block: Profile['blocks'][number]
  readonly comparator: ProfilePlace | null
}) {
  const { t } = useSite()
  const { block } = props
  const comparator = block.indicators.some(isCompared) ? props.comparator : null
  const columns = {
    comparator,
    peers: block.indicators.some(hasPeers),
    course: block.indicators.some(hasCourse),
  }
  return (
    <section class="block">
      <h2 id={block.code}>{block.label}</h2>
      <Scroll label={block.label}>
        <table class="data profile">
          <thead>
            <tr>
              <th scope="col">{t.profile.indicator}</th>
              <th scope="col" class="number">
                {t.value}
              </th>
              {comparator === null ? null : (
                <th scope="col" class="number">
                  {nameOfComparator(comparator, t)}
                </th>
              )}
              {columns.peers ? <th scope="col">{t.profile.among}</th> : null}
              {columns.course ? <th scope="col">{t.profile.course}</th> : null}
            </tr>
          </thead>
          <tbody>
            {block.indicators.map((indicator) => (
              <IndicatorRow key={indicator.metric} indicator={indicator} columns={columns} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

function IndicatorRow(props: {
  readonly indicator: ProfileIndicator
  /** Columns that the block has. */
  readonly columns: {
    readonly comparator: ProfilePlace | null
    readonly peers: boolean
    readonly course: boolean
  }
}) {
  const { t, language, href } = useSite()
  const questionHref = useQuestionHref()
  const { indicator, columns } = props
  const { metric, label, unit, decimals, value, lower, upper, course } = indicator
  const show = (number: number): string => formatNumber(number, decimals, language)
  const showLimit = (limit: number): string => formatLimit(limit, decimals, language)
  const about = [
    unitOutsideLabel({ label, label_en: label, unit }, language),
    periodText(indicator, language),
  ].filter((text) => text !== '')
  return (
    <tr>
      <th scope="row">
        <a class="cell" href={href(`/explorer/indicators/${metric}`)}>
          {label}
        </a>{' '}
        <span class="unit">{about.join(', ')}</span>
      </th>
      <td class={value === null ? 'number missing' : 'number'} data-label={t.value}>
        {value === null ? (
          <abbr title={t.noDataLong}>{t.noData}</abbr>
        ) : (
          <a class="figure" href={questionHref(questionOfIndicator(indicator))}>
            {show(value)}
          </a>
        )}
        {lower === null || upper === null ? null : (
          <span class="unit">
            <abbr title={t.profile.limits}>{t.profile.interval}</abbr> {showLimit(lower)} – {showLimit(upper)}
          </span>
        )}
      </td>
      {columns.comparator === null ? null : (
        <ComparatorCell indicator={indicator} comparator={columns.comparator} />
      )}
      {columns.peers ? (
        <td data-label={t.profile.among} class={hasPeers(indicator) ? undefined : 'none'}>
          <Position indicator={indicator} />
        </td>
      ) : null}
      {columns.course ? (
        <td data-label={t.profile.course} class={hasCourse(indicator) ? undefined : 'none'}>
          {course !== null && hasCourse(indicator) ? (
            <a href={questionHref(questionOfCourse(indicator))}>
              <Course
                points={course.points}
                decimals={decimals}
                isYearly={indicator.period?.unit === 'year'}
              />
            </a>
          ) : (
            '–'
          )}
        </td>
      ) : null}
    </tr>
  )
}

function ComparatorCell(props: { readonly indicator: ProfileIndicator; readonly comparator: ProfilePlace }) {
  const { t, language } = useSite()
  const { indicator, comparator } = props
  const { comparator: value, decimals, significance } = indicator
  const name = nameOfComparator(comparator, t)
  if (isIncomplete(indicator))
    return (
      <td class="number missing" data-label={name}>
        <abbr title={t.profile.readIncomplete(name)}>{t.profile.incomplete}</abbr>
      </td>
    )
  return (
    <td class={value === null ? 'number none' : 'number'} data-label={name}>
      {value === null ? '–' : formatNumber(value, decimals, language)}
      {significance === null || significance === 'not_compared' ? null : (
        <span class="unit compared">{t.profile.significance[comparator.level]?.[significance]}</span>
      )}
    </td>
  )
}

/** Part of the other places from which on their number is shown: that a few have the same value changes nothing. */
const MANY_TIED = 0.05

/** Shows where the value stands among those of all places: as a drawing, and as a rank from the nearer end. */
function Position({ indicator }: { readonly indicator: ProfileIndicator }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { value, peers, decimals } = indicator
  if (value === null || peers === null || !hasPeers(indicator)) return <>–</>
  const { places, rank, percentile } = peers
  const others = places - 1
  // The percentile has two decimals, which give back the number of smaller places exactly up to 10,000 places.
  const smaller = percentile === null ? null : Math.round((percentile * others) / 100)
  const isFromSmallest = smaller !== null && smaller + 1 < rank
  const tied = smaller === null ? 0 : others - smaller - (rank - 1)
  const show = (count: number): string => formatNumber(count, 0, language)
  const text = isFromSmallest
    ? t.profile.rankFromSmallest(show(smaller + 1), show(places))
    : t.profile.rank(show(rank), show(places))
  return (
    <>
      {hasStrip(indicator) ? <Strip value={value} peers={peers} decimals={decimals} /> : null}
      <a class="rank" href={questionHref(questionOfPeers(indicator, isFromSmallest))}>
        {text}
        {tied > others * MANY_TIED ? `, ${t.profile.tied(show(tied))}` : ''}
      </a>
    </>
  )
}

/** Says how to read what is in the tables of a profile, and nothing of what is not there. */
export function Reading({ profile }: { readonly profile: Profile }) {
  const { t } = useSite()
  const indicators = profile.blocks.flatMap((block) => block.indicators)
  const { comparator } = profile
  const lines = [
    ...(indicators.some(hasStrip) ? [t.profile.readAmong] : []),
    ...(indicators.some(({ lower }) => lower !== null) ? [t.profile.readInterval] : []),
    ...(comparator !== null && indicators.some(isIncomplete)
      ? [t.profile.readIncomplete(nameOfComparator(comparator, t))]
      : []),
  ]
  if (lines.length === 0) return null
  return (
    <details class="reading-help">
      <summary>{t.profile.read}</summary>
      <ul class="hint">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  )
}

const SEXES = ['F', 'M'] as const

/** The population pyramid as a table: each number stands in its bar. */
export function Ages({ groups }: { readonly groups: NonNullable<Profile['population_by_age']>['groups'] }) {
  const { t, language } = useSite()
  const largest = Math.max(1, ...groups.map(({ population }) => population ?? 0))
  const ages = [...new Set(groups.map(({ age_group }) => age_group ?? ''))].reverse()
  const populationOf = (age: string, sex: string): number | null =>
    groups.find((group) => group.age_group === age && group.sex === sex)?.population ?? null
  return (
    <section class="block" aria-labelledby="ages">
      <h2 id="ages">{t.profile.ages}</h2>
      <table class="ages">
        <thead>
          <tr>
            <th scope="col">{t.profile.age}</th>
            <th scope="col" class="F">
              {t.profile.women}
            </th>
            <th scope="col" class="M">
              {t.profile.men}
            </th>
          </tr>
        </thead>
        <tbody>
          {ages.map((age) => (
            <tr key={age}>
              <th scope="row">{age.replace(/\b0(?=\d)/g, '').replace('-', '–')}</th>
              {SEXES.map((sex) => {
                const population = populationOf(age, sex)
                const width = Math.round((1000 * (population ?? 0)) / largest) / 10
                return (
                  <td key={sex} class={sex}>
                    <div>
                      <span>{population === null ? '–' : formatNumber(population, 0, language)}</span>
                      <svg aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">
                        <rect class="bar" x={sex === 'F' ? 100 - width : 0} width={width} height="10" />
                      </svg>
                    </div>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
