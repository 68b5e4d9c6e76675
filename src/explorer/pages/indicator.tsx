/** The page of an indicator: what it says, the states from the largest value on, its course, and the answer to take along. */

import { Fragment } from 'preact'
import type { CatalogMetric } from '../../answers/catalog.ts'
import { type Answer, type Catalog, orNull, type QueryAnswer } from '../api.ts'
import { formulaText, unitOutsideLabel } from '../catalog-texts.ts'
import { Bars, Lines } from '../drawings/charts.tsx'
import { CHART_TEXTS } from '../drawings/texts.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { VerifyPanel } from '../parts/panels.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf, ResultTable } from '../parts/table.tsx'
import { change, EMPTY_QUESTION, pageBodyOf, type Question } from '../question.ts'
import { loadCatalog } from './explore-load.ts'

interface IndicatorData {
  readonly catalog: Catalog
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

async function load(
  { api }: LoadContext,
  { code = '' }: Readonly<Record<string, string>>,
): Promise<IndicatorData> {
  const [catalog, { data: metric, meta }] = await Promise.all([
    loadCatalog(api),
    api.get<Answer<CatalogMetric>>(`/v1/analytics/metrics/${code}`),
  ])
  const ask = async (question: Question): Promise<IndicatorData['ranking']> => {
    const answer = await orNull(api.post<QueryAnswer>('/v1/analytics/query', pageBodyOf(question)))
    return answer === null ? null : { question, answer }
  }
  const state = Object.keys(FINER).find((dimension) => metric.dimensions.includes(dimension))
  const question = change(EMPTY_QUESTION, { metrics: [code] })
  const [ranking, course] = await Promise.all([
    state === undefined ? null : ask(change(question, { groupBy: [state], order: `-${code}` })),
    metric.dimensions.includes('reference_period')
      ? ask(change(question, { groupBy: ['reference_period'], view: 'lines' }))
      : null,
  ])
  return {
    catalog,
    metric,
    ranking,
    course: course !== null && hasLine(course.answer.data, code) ? course : null,
    synthetic: meta.synthetic === true,
  }
}

/** A line needs two values: where files of some states are missing, all values of the country are null. */
const hasLine = (rows: QueryAnswer['data'], code: string): boolean =>
  rows.filter(({ metrics }) => metrics[code] !== null).length > 1

function View({ data }: { readonly data: IndicatorData }) {
  const { t, language } = useSite()
  const { catalog, metric, ranking, course } = data
  const found = metricOf(catalog, metric.code)
  return (
    <>
      <h1>
        {labelOf(found, language)} <small>{unitOutsideLabel(found, language)}</small>
      </h1>
      <p class="lead">{metric.sheet.meaning}</p>
      <div class="blocks">
        <Sheet data={data} />
        {course === null ? null : (
          <section class="block">
            <h2>{t.trends}</h2>
            <Lines question={course.question} catalog={catalog} rows={course.answer.data} />
          </section>
        )}
        {ranking === null ? null : (
          <section class="block">
            <h2>{t.indicatorPage.ranking}</h2>
            <Bars question={ranking.question} catalog={catalog} rows={ranking.answer.data} />
          </section>
        )}
        {ranking === null ? null : (
          <section class="block">
            <h2>{CHART_TEXTS[language].views.table}</h2>
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
