/** The page of an indicator: what it says, the states from the largest value on, its course, and the answer to take along. */
import { Fragment } from 'preact'
import type { CatalogMetric } from '../../answers/catalog.ts'
import { type Answer, type Api, codeOf, type Labels, orNull, type QueryAnswer } from '../api.ts'
import { formulaText, unitOutsideLabel } from '../catalog-texts.ts'
import { Bars, Lines } from '../drawings/charts.tsx'
import { CHART_TEXTS } from '../drawings/texts.ts'
import { formatMonths, type Language } from '../numbers.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { VerifyPanel } from '../parts/panels.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf, ResultTable } from '../parts/table.tsx'
import { change, EMPTY_QUESTION, pageBodyOf, type Question } from '../question.ts'
import { loadLabels } from './explore-load.ts'

interface IndicatorData {
  readonly catalog: Labels
  readonly metric: CatalogMetric
  /** The states by the metric; null where it has no states, or the release no answer. */
  readonly ranking: { readonly question: Question; readonly answer: QueryAnswer } | null
  readonly course: { readonly question: Question; readonly answer: QueryAnswer } | null
  readonly synthetic: boolean
}

/** Other places that the page links to, by the dimension of a state. */
const FINER: Readonly<Record<string, readonly string[]>> = {
  state: ['region', 'health_macroregion', 'health_region', 'municipality'],
  residence_state: ['residence_region', 'residence_health_region', 'residence_municipality'],
}
/** Dimensions that the page links to, where the metric has them. */
const KINDS = ['sex', 'age_group', 'race', 'facility_type', 'bed_type', 'equipment_category', 'cause_chapter']

/** Months that flows are added up over, as in profiles. */
const FLOW_MONTHS = 12

/** @returns whether months are added up; a ratio's are where those of its numerator are */
async function isFlow(api: Api, { additivity, numerator }: CatalogMetric): Promise<boolean> {
  if (numerator === undefined) return additivity.reference_period === 'additive'
  const { data } = await api.get<Answer<CatalogMetric>>(`/v1/analytics/metrics/${numerator}`)
  return data.additivity.reference_period === 'additive'
}

/** @returns the newest months that follow one another, at most twelve; nothing without months */
function lastMonths(rows: QueryAnswer['data'], code: string): Pick<Question, 'from' | 'to'> {
  const periodsOf = (some: QueryAnswer['data']): string[] =>
    some.map(({ dimensions }) => codeOf(dimensions.reference_period)).sort()
  // The country has no value where files of some states are missing, but states have theirs.
  const measured = periodsOf(rows.filter(({ metrics }) => metrics[code] !== null))
  const months = (measured.length === 0 ? periodsOf(rows) : measured).slice(-FLOW_MONTHS)
  const numberOf = (month = ''): number => 12 * Number(month.slice(0, 4)) + Number(month.slice(5))
  const gap = months.findLastIndex((month, at) => at > 0 && numberOf(month) - numberOf(months[at - 1]) > 1)
  const followed = gap < 0 ? months : months.slice(gap)
  return { from: followed[0] ?? '', to: followed.at(-1) ?? '' }
}

async function load(
  { api }: LoadContext,
  { code = '' }: Readonly<Record<string, string>>,
): Promise<IndicatorData> {
  const [catalog, { data: metric, meta }] = await Promise.all([
    loadLabels(api),
    api.get<Answer<CatalogMetric>>(`/v1/analytics/metrics/${code}`),
  ])
  const ask = async (question: Question): Promise<IndicatorData['ranking']> => {
    const answer = await orNull(api.post<QueryAnswer>('/v1/analytics/query', pageBodyOf(question)))
    return answer === null ? null : { question, answer }
  }
  const state = Object.keys(FINER).find((dimension) => metric.dimensions.includes(dimension))
  const question = change(EMPTY_QUESTION, { metrics: [code] })
  const [course, addsUp] = metric.dimensions.includes('reference_period')
    ? await Promise.all([
        ask(change(question, { groupBy: ['reference_period'], view: 'lines' })),
        isFlow(api, metric),
      ])
    : [null, false]
  const months = addsUp && course !== null ? lastMonths(course.answer.data, code) : {}
  const ranking =
    state === undefined
      ? null
      : await ask(change(question, { ...months, groupBy: [state], order: `-${code}`, ignored: false }))
  return {
    catalog,
    metric,
    ranking,
    course: course !== null && hasLine(course.answer.data, code) ? course : null,
    synthetic: meta.synthetic === true,
  }
}

/** @returns the months of an answer; '' where it has none */
function periodOf({ meta }: QueryAnswer, language: Language): string {
  const months = (meta.reference_period ?? '').split(', ')
  return formatMonths(months[0] ?? '', months.at(-1) ?? '', language)
}

/** @returns the only state of a release of one, whose totals are of it alone */
const countryOf = ({ meta }: QueryAnswer): string | undefined =>
  meta.notes.flatMap((note) => (note.code === 'single_state_release' ? String(note.state) : []))[0]

/** A line needs two values: where files of some states are missing, all values of the country are null. */
const hasLine = (rows: QueryAnswer['data'], code: string): boolean =>
  rows.filter(({ metrics }) => metrics[code] !== null).length > 1

function View({ data }: { readonly data: IndicatorData }) {
  const { t, language } = useSite()
  const { catalog, metric, ranking, course } = data
  const found = metricOf(catalog, metric.code)
  // The description of a ratio is its formula in codes; the sheet has it in words.
  const lead = metric.meaning ?? (metric.kind === 'ratio' ? '' : metric.description)
  const period = ranking === null ? '' : periodOf(ranking.answer, language)
  return (
    <>
      <h1>
        {labelOf(found, language)} <small>{unitOutsideLabel(found, language)}</small>
      </h1>
      {lead === '' ? null : <p class="lead prose">{lead}</p>}
      <div class="blocks close">
        <Sheet data={data} />
        {course === null ? null : (
          <section class="block">
            <h2>
              {t.trends} <small>{countryOf(course.answer) ?? t.country}</small>
            </h2>
            <Lines {...course} catalog={catalog} rows={course.answer.data} />
          </section>
        )}
        {ranking === null ? null : (
          <section class="block">
            <h2>
              {t.indicatorPage.ranking} <small>{period}</small>
            </h2>
            <Bars question={ranking.question} catalog={catalog} rows={ranking.answer.data} />
            {ranking.question.groupBy.includes('residence_state') ? (
              <p class="hint">{t.indicatorPage.unknownLeftOut}</p>
            ) : null}
          </section>
        )}
        {ranking === null ? null : (
          <section class="block">
            <h2>
              {CHART_TEXTS[language].views.table} <small>{period}</small>
            </h2>
            <ResultTable
              question={ranking.question}
              catalog={catalog}
              answer={ranking.answer}
              rows={ranking.answer.data}
            />
            <MoreQuestions data={data} question={ranking.question} />
          </section>
        )}
      </div>
      {ranking === null ? null : (
        <VerifyPanel question={ranking.question} catalog={catalog} answer={ranking.answer} />
      )}
    </>
  )
}

const sentenceOf = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

function Sheet({ data }: { readonly data: IndicatorData }) {
  const { t, language } = useSite()
  const { metric, catalog } = data
  const { method, limitations, sources } = metric.sheet
  return (
    <section class="block">
      <h2>{t.indicatorPage.sheet}</h2>
      <dl>
        <dt>{t.formula}</dt>
        <dd>{formulaText(metric, catalog, language)}</dd>
        <dt>{t.indicatorPage.method}</dt>
        <dd>{method}</dd>
        <dt>{t.profile.limits}</dt>
        <dd>{metric.limits.text}</dd>
        {limitations.length === 0 ? null : (
          <>
            <dt>{t.indicatorPage.limitations}</dt>
            {limitations.map((text) => (
              <dd key={text}>{text}</dd>
            ))}
          </>
        )}
        {sources.map(({ dataset, publisher, table, delay, revisions }) => (
          <Fragment key={dataset}>
            <dt>{t.source}</dt>
            <dd>
              {publisher}, {table}. {sentenceOf(delay)} {sentenceOf(revisions)}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

function MoreQuestions(props: { readonly data: IndicatorData; readonly question: Question }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { metric, catalog } = props.data
  const [state = ''] = props.question.groupBy
  const offered = [...(FINER[state] ?? []), ...KINDS].filter((code) => metric.dimensions.includes(code))
  return (
    <p class="downloads">
      {offered.map((code) => (
        <a class="button" key={code} href={questionHref(change(props.question, { groupBy: [code] }))}>
          {t.by} {labelOf(dimensionOf(catalog, code), language)}
        </a>
      ))}
    </p>
  )
}

export const INDICATOR: PageModule<IndicatorData> = {
  match: (path) => {
    const [, code] = /^\/explorer\/indicators\/([a-z][a-z0-9_]{0,79})\/?$/.exec(path) ?? []
    return code === undefined ? null : { code }
  },
  load,
  title: ({ catalog, metric }, _, language) => labelOf(metricOf(catalog, metric.code), language),
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
