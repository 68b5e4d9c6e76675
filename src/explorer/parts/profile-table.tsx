/** Tables of a profile: the indicators of a block, each a row that opens its question, and the population by sex and age. */
import type { Profile, ProfileIndicator, ProfilePlace } from '../api-profiles.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { Course, Strip } from '../drawings/sparks.tsx'
import { formatMonth, formatNumber, type Language } from '../numbers.ts'
import { change, EMPTY_QUESTION, type Question } from '../question.ts'
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

function questionOfPeers(indicator: ProfileIndicator): Question {
  const question = questionOfIndicator(indicator)
  return change(question, {
    groupBy: Object.keys(question.filters),
    filters: {},
    order: `-${indicator.metric}`,
    ignored: false,
  })
}

const questionOfCourse = (indicator: ProfileIndicator): Question =>
  change(questionOfIndicator(indicator), {
    groupBy: ['reference_period'],
    from: indicator.course?.points[0]?.period ?? '',
    view: 'lines',
  })

/** @returns e.g. mai 2026, 2025, or jun 2025 – mai 2026 */
export function periodText({ period }: ProfileIndicator, language: Language): string {
  if (period === null) return ''
  if (period.unit === 'year') return period.to.slice(0, 4)
  const to = formatMonth(period.to, language)
  return period.from === period.to ? to : `${formatMonth(period.from, language)} – ${to}`
}

export function ProfileBlock(props: {
  readonly block: Profile['blocks'][number]
  readonly comparator: ProfilePlace | null
}) {
  const { t } = useSite()
  const { block, comparator } = props
  const name = comparator?.level === 'country' ? t.country : comparator?.name
  const hasComparator = block.indicators.some((indicator) => indicator.comparator !== null)
  const hasCourse = block.indicators.some(({ course }) => course !== null)
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
              {hasComparator ? (
                <th scope="col" class="number">
                  {name}
                </th>
              ) : null}
              <th scope="col">{t.profile.among}</th>
              {hasCourse ? <th scope="col">{t.profile.course}</th> : null}
            </tr>
          </thead>
          <tbody>
            {block.indicators.map((indicator) => (
              <IndicatorRow
                key={indicator.metric}
                indicator={indicator}
                comparator={hasComparator ? (name ?? '') : null}
                hasCourse={hasCourse}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

function IndicatorRow(props: {
  readonly indicator: ProfileIndicator
  readonly comparator: string | null
  readonly hasCourse: boolean
}) {
  const { t, language, href } = useSite()
  const questionHref = useQuestionHref()
  const { indicator, comparator, hasCourse } = props
  const { metric, label, unit, decimals, value, lower, upper, peers, course, significance } = indicator
  const show = (number: number): string => formatNumber(number, decimals, language)
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
          <span class="unit" title={t.profile.limits}>
            {show(lower)} – {show(upper)}
          </span>
        )}
      </td>
      {comparator === null ? null : (
        <td class={indicator.comparator === null ? 'number none' : 'number'} data-label={comparator}>
          {indicator.comparator === null ? '–' : show(indicator.comparator)}
          {significance === null || significance === 'not_compared' ? null : (
            <span class="unit">{t.profile.significance[significance]}</span>
          )}
        </td>
      )}
      <td data-label={t.profile.among}>
        {value === null || peers === null || peers.places < 2 ? (
          '–'
        ) : (
          <>
            <Strip value={value} peers={peers} decimals={decimals} />
            <a class="rank" href={questionHref(questionOfPeers(indicator))}>
              {t.profile.rank(formatNumber(peers.rank, 0, language), formatNumber(peers.places, 0, language))}
            </a>
          </>
        )}
      </td>
      {hasCourse ? (
        <td data-label={t.profile.course}>
          {course === null || course.points.length < 2 ? (
            '–'
          ) : (
            <a href={questionHref(questionOfCourse(indicator))}>
              <Course
                points={course.points}
                decimals={decimals}
                isYearly={indicator.period?.unit === 'year'}
              />
            </a>
          )}
        </td>
      ) : null}
    </tr>
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
            <th scope="col" class="number">
              {t.profile.women}
            </th>
            <th scope="col">{t.profile.men}</th>
          </tr>
        </thead>
        <tbody>
          {ages.map((age) => (
            <tr key={age}>
              <th scope="row">{age.replace('-', '–')}</th>
              {SEXES.map((sex) => {
                const population = populationOf(age, sex)
                const width = Math.round((1000 * (population ?? 0)) / largest) / 10
                return (
                  <td key={sex} class={sex}>
                    <span>{population === null ? '–' : formatNumber(population, 0, language)}</span>
                    <svg aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">
                      <rect class="bar" x={sex === 'F' ? 100 - width : 0} width={width} height="10" />
                    </svg>
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
