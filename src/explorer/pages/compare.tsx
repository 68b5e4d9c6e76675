/** Two to six places side by side: their profiles' indicators as one table, with courses and limits on the same scales. */
import { SEARCH_MAX } from '../../text-limits.ts'
import type { Profile, ProfileIndicator } from '../api-profiles.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { Course, Limits } from '../drawings/sparks.tsx'
import { formatLimit, formatMonths, formatNumber, formatShort } from '../numbers.ts'
import type { PageModule } from '../page.ts'
import { periodText, questionOfIndicator } from '../parts/profile-table.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { addressOf, type CompareData, loadComparison, PLACES_MAX, stateOf, TEXT_MIN } from './compare-load.ts'

export const COMPARE_PATH = '/explorer/compare'
/** @param places `level:code` of each */
export const searchOfPlaces = (places: readonly string[]): string =>
  places.length === 0 ? '' : `?${places.map((place) => `place=${place}`).join('&')}`

function View({ data }: { readonly data: CompareData }) {
  const { t, href } = useSite()
  const { profiles, missing, release } = data
  const addresses = profiles.map(addressOf)
  const plainName = ({ place }: Profile): string => (place.level === 'country' ? t.country : place.name)
  /** Adds what tells a place from another one of its name: its level, or its state where the levels are equal, too. */
  const nameOf = (profile: Profile): string => {
    const same = profiles.filter((other) => plainName(other) === plainName(profile))
    const { level } = profile.place
    const isOneLevel = same.every(({ place }) => place.level === level)
    return same.length === 1
      ? plainName(profile)
      : `${plainName(profile)} (${isOneLevel ? stateOf(profile) : t.levels[level]})`
  }
  return (
    <article class="bulletin">
      <h1>
        {t.comparePage.title}{' '}
        {profiles.length === 0 ? null : <small>{profiles.map(nameOf).join(' · ')}</small>}
      </h1>
      <p class="hint">
        {t.comparePage.hint}
        {profiles.length < 2 ? null : <> {t.comparePage.legend}</>}
      </p>
      {profiles.length === 0 ? null : (
        <ul class="marks" aria-label={t.comparePage.places}>
          {profiles.map((profile) => (
            <li class="mark" key={addressOf(profile)}>
              <span>
                {plainName(profile)} ({t.levels[profile.place.level]}
                {profile.place.level === 'municipality' ? `, ${stateOf(profile)}` : ''})
              </span>
              <a
                href={href(
                  COMPARE_PATH,
                  searchOfPlaces(addresses.filter((other) => other !== addressOf(profile))),
                )}
                title={t.remove}
              >
                <span aria-hidden="true">×</span>
                <span class="hidden">{`${t.remove}: ${nameOf(profile)}`}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      {missing.length === 0 ? null : (
        <p class="notice" role="status">
          {t.nothingFound} {missing.join(', ')}
        </p>
      )}
      {profiles.length < PLACES_MAX ? <AddPlace data={data} addresses={addresses} /> : null}
      {profiles.length >= 2 && profiles.every(({ blocks }) => blocks.length === 0) ? (
        <p class="notice" role="status">
          {t.problems.forbidden}
        </p>
      ) : null}
      {profiles.length < 2
        ? null
        : blocksOf(profiles).map((block) => (
            <Block
              key={block.code}
              block={block}
              columns={profiles.map((profile) => ({ key: addressOf(profile), name: nameOf(profile) }))}
            />
          ))}
      {release === '' ? null : (
        <p class="hint">
          {t.release}: <code class="wide">{release}</code>
        </p>
      )}
    </article>
  )
}

function AddPlace({
  data,
  addresses,
}: {
  readonly data: CompareData
  readonly addresses: readonly string[]
}) {
  const { t, language, href } = useSite()
  const { text, found } = data
  const offered = (found ?? []).filter(({ level, member }) => !addresses.includes(`${level}:${member.code}`))
  return (
    <section class="add-place">
      <form class="line" action={COMPARE_PATH} data-go>
        {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
        {addresses.map((address) => (
          <input type="hidden" key={address} name="place" value={address} />
        ))}
        <label for="add-place">{t.comparePage.add}</label>
        <input id="add-place" type="search" name="text" value={text} maxLength={SEARCH_MAX} />
        <button type="submit">{t.search}</button>
      </form>
      {text.length >= TEXT_MIN && offered.length === 0 ? (
        <p role="status">{found === null ? t.problems.forbidden : t.nothingFound}</p>
      ) : null}
      <ul class="results-list">
        {offered.map(({ level, member }) => (
          <li key={`${level}${member.code}`}>
            <a href={href(COMPARE_PATH, searchOfPlaces([...addresses, `${level}:${member.code}`]))}>
              {member.name ?? member.code}
            </a>{' '}
            <span class="hint">
              {t.levels[level]} {member.code}
              {member.parent?.code == null || level === 'state' ? '' : `, ${member.parent.code}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ComparedBlock {
  readonly code: string
  readonly label: string
  /** Each indicator with its values in the order of the places; undefined where a place has none. */
  readonly rows: readonly (readonly (ProfileIndicator | undefined)[])[]
}

/** @returns the blocks of all places, each indicator once, in the order of their first appearance */
function blocksOf(profiles: readonly Profile[]): ComparedBlock[] {
  const labels = new Map<string, string>()
  const metrics = new Map<string, Set<string>>()
  for (const { blocks } of profiles)
    for (const { code, label, indicators } of blocks) {
      labels.set(code, label)
      const codes = metrics.get(code) ?? new Set<string>()
      for (const { metric } of indicators) codes.add(metric)
      metrics.set(code, codes)
    }
  return [...labels].map(([code, label]) => ({
    code,
    label,
    rows: [...(metrics.get(code) ?? [])].map((metric) =>
      profiles.map(({ blocks }) =>
        blocks
          .find((block) => block.code === code)
          ?.indicators.find((indicator) => indicator.metric === metric),
      ),
    ),
  }))
}

interface PlaceColumn {
  readonly key: string
  readonly name: string
}

function Block(props: { readonly block: ComparedBlock; readonly columns: readonly PlaceColumn[] }) {
  const { t } = useSite()
  const { block, columns } = props
  return (
    <section class="block">
      <h2 id={block.code}>{block.label}</h2>
      <Scroll label={block.label}>
        <table class="data profile compared">
          <thead>
            <tr>
              <th scope="col">{t.profile.indicator}</th>
              {columns.map(({ key, name }) => (
                <th scope="col" class="number" key={key}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {block.rows.map((row) => (
              <Row
                key={row.find((indicator) => indicator !== undefined)?.metric}
                row={row}
                columns={columns}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

function Row(props: {
  readonly row: readonly (ProfileIndicator | undefined)[]
  readonly columns: readonly PlaceColumn[]
}) {
  const { language, href } = useSite()
  const { row, columns } = props
  const indicators = row.filter((indicator) => indicator !== undefined)
  const [first] = indicators
  if (first === undefined) return null
  const { metric, label, unit, decimals } = first
  // Values of other months are not drawn on the scale of the rest.
  const periodOf = (indicator: ProfileIndicator): string =>
    indicator.period?.unit === 'month'
      ? formatMonths(indicator.period.from, indicator.period.to, language)
      : periodText(indicator, language)
  const common = mostFrequent(indicators.map(periodOf))
  const comparable = indicators.filter((indicator) => periodOf(indicator) === common)
  const limits =
    comparable.length < 2
      ? null
      : rangeOf(comparable.flatMap(({ value, lower, upper }) => [value, lower, upper]))
  const about = [unitOutsideLabel({ label, label_en: label, unit }, language), common]
  const course = rangeOf(
    indicators.flatMap((indicator) => indicator.course?.points.map(({ value }) => value) ?? []),
  )
  return (
    <tr>
      <th scope="row">
        <a class="cell" href={href(`/explorer/indicators/${metric}`)}>
          {label}
        </a>{' '}
        <span class="unit">{about.filter((text) => text !== '').join(', ')}</span>
      </th>
      {row.map((indicator, index) => (
        <td
          key={columns[index]?.key}
          class={(indicator?.value ?? null) === null ? 'number missing' : 'number'}
          data-label={columns[index]?.name}
        >
          {indicator === undefined ? (
            '–'
          ) : (
            <Value
              indicator={indicator}
              decimals={decimals}
              limits={comparable.includes(indicator) ? limits : null}
              course={course}
              otherPeriod={comparable.includes(indicator) ? '' : periodOf(indicator)}
            />
          )}
        </td>
      ))}
    </tr>
  )
}

/** @returns the text that most of them are, the first of several */
function mostFrequent(texts: readonly string[]): string {
  const countOf = (text: string): number => texts.filter((other) => other === text).length
  return texts.reduce((most, text) => (countOf(text) > countOf(most) ? text : most), texts[0] ?? '')
}

/** Numbers from here on are shortened at the ends of a ruler. */
const SHORT_FROM = 1e4
/** Part of the common scale that a course has to cross; below it, its line would say nothing. */
const FLAT_BELOW = 0.05

/** @returns smallest and largest value; null without values */
function rangeOf(values: readonly (number | null)[]): readonly [number, number] | null {
  const measured = values.filter((value) => value !== null)
  return measured.length === 0 ? null : [Math.min(...measured), Math.max(...measured)]
}

function Value(props: {
  readonly indicator: ProfileIndicator
  readonly decimals: number
  /** Ranges over all places, so that their drawings have one scale. */
  readonly limits: readonly [number, number] | null
  readonly course: readonly [number, number] | null
  /** Months of the value where they are not those of the row; '' where they are. */
  readonly otherPeriod: string
}) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { indicator, decimals, limits, course, otherPeriod } = props
  const { value, lower, upper } = indicator
  const show = (number: number): string => formatNumber(number, decimals, language)
  const showLimit = (limit: number): string => formatLimit(limit, decimals, language)
  const shorten = (number: number): string => {
    if (Math.abs(number) >= SHORT_FROM) return formatShort(number, language)
    return Number.isInteger(number) ? show(number) : showLimit(number)
  }
  const points = indicator.course?.points ?? []
  const crossed = rangeOf(points.map((point) => point.value))
  const isFlat =
    course === null || crossed === null || crossed[1] - crossed[0] <= FLAT_BELOW * (course[1] - course[0])
  return (
    <>
      <span class="numbers">
        {value === null ? (
          <abbr title={t.noDataLong}>{t.noData}</abbr>
        ) : (
          <a class="figure" href={questionHref(questionOfIndicator(indicator))}>
            {show(value)}
          </a>
        )}
        {otherPeriod === '' ? null : (
          <strong class="unit other">{t.comparePage.otherPeriod(otherPeriod)}</strong>
        )}
        {lower === null || upper === null ? null : (
          <span class="unit" title={t.profile.limits}>
            <span>{t.comparePage.interval}</span>{' '}
            <span>
              {showLimit(lower)} – {showLimit(upper)}
            </span>
          </span>
        )}
      </span>
      <span class="drawings">
        {value === null || limits === null || limits[0] === limits[1] ? null : (
          <>
            <Limits value={value} lower={lower ?? value} upper={upper ?? value} range={limits} />
            <span class="ends" aria-hidden="true">
              <span>{shorten(limits[0])}</span>
              <span>{shorten(limits[1])}</span>
            </span>
          </>
        )}
        {isFlat ? null : (
          <Course
            points={points}
            decimals={decimals}
            isYearly={indicator.period?.unit === 'year'}
            range={course}
          />
        )}
      </span>
    </>
  )
}

/** A link from a place to its comparison with others. */
export function CompareLink({ level, code }: { readonly level: string; readonly code: string }) {
  const { t, href } = useSite()
  return (
    <a class="button" href={href(COMPARE_PATH, searchOfPlaces([`${level}:${code}`]))}>
      {t.comparePage.link}
    </a>
  )
}

export const COMPARE: PageModule<CompareData> = {
  match: (path) => (/^\/explorer\/compare\/?$/.test(path) ? {} : null),
  load: loadComparison,
  title: ({ profiles }, texts) =>
    [texts.comparePage.title, ...profiles.map(({ place }) => place.name)].join(' · '),
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
