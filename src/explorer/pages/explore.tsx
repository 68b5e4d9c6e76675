/** The main page: a question, its answer as table, bars, lines or map, and the sources of each number. */
import { ANALYSIS_TEXTS, windowText } from '../analysis.ts'
import { codeOf, type Labels, nameOf, type QueryAnswer } from '../api.ts'
import { noteText } from '../catalog-texts.ts'
import { Bars, Lines } from '../drawings/charts.tsx'
import { Funnel, funnelOf } from '../drawings/funnel.tsx'
import { HeatTable } from '../drawings/heat.tsx'
import { hasMap, MAP_LEVELS, PlaceMap } from '../drawings/map.tsx'
import { SmallMultiples } from '../drawings/multiples.tsx'
import { Scatter } from '../drawings/scatter.tsx'
import { CHART_TEXTS } from '../drawings/texts.ts'
import { formatMonth, formatNumber, type Language } from '../numbers.ts'
import type { PageModule } from '../page.ts'
import { periodRanges } from '../parts/changes.ts'
import { memberText } from '../parts/filters.tsx'
import { LineagePanel, VerifyPanel } from '../parts/panels.tsx'
import { changeName, QuestionForm } from '../parts/question-form.tsx'
import { PlaceLink, useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf, ResultTable } from '../parts/table.tsx'
import {
  baseMonthOf,
  change,
  isComparable,
  lookUp,
  PAGE_ROWS,
  type Question,
  timeOf,
  VIEWS,
  type View,
} from '../question.ts'
import { TEXTS } from '../texts.ts'
import { ChangesPanel } from './changed-figures.tsx'
import { examplesOf } from './examples.ts'
import { type ExploreData, loadQuestion } from './explore-load.ts'
import { QuestionProblem } from './wrong-options.tsx'

const NAMED_MAX = 3

/** @returns options of a question that decide what its numbers mean, in words */
function meaningWords({ analysis, basis, overPeriod, ignored }: Question, language: Language): string[] {
  const t = TEXTS[language]
  const texts = ANALYSIS_TEXTS[language]
  const { window, partial, prices, limits, compare } = analysis
  const named = (options: Readonly<Record<string, string>>, value: string): string =>
    lookUp(options, value) ?? value
  return [
    overPeriod === '' ? '' : named(t.over, overPeriod),
    window === '' ? '' : `${texts.window.toLowerCase()} ${windowText(window, language)}`,
    partial ? texts.partial.toLowerCase() : '',
    prices === '' ? '' : texts.pricesOf(formatMonth(prices, language)),
    basis === '' ? '' : `${t.basis.toLowerCase()}: ${named(t.bases, basis)}`,
    ignored ? '' : t.withoutIgnored.toLowerCase(),
    limits === '' ? '' : `${texts.limits.toLowerCase()}: ${named(texts.levels, limits)}`,
    compare === '' ? '' : `${texts.comparator}: ${named(texts.comparators, compare)}`,
  ]
}

export function AnswerTitle({ data }: { readonly data: ExploreData }) {
  const { t, language } = useSite()
  const { question, answer, catalog } = data
  const metrics = question.metrics.map((code) => labelOf(metricOf(catalog, code), language) || code)
  const period = answer?.meta.reference_period ?? ''
  const periods = periodRanges(
    period.split(', ').filter((month) => month !== ''),
    language,
  )
  const base = baseMonthOf(question, period)
  const rows = question.groupBy.map((code) => labelOf(dimensionOf(catalog, code), language) || code)
  const filterNames = Object.entries(question.filters).flatMap(([dimension, codes]) => {
    const names = codes.map((code) => {
      const found = lookUp(data.members, dimension)?.list.find((member) => String(member.code) === code)
      return found === undefined ? code : memberText(found)
    })
    return names.length > NAMED_MAX ? [`${names.slice(0, NAMED_MAX).join(', ')} …`] : [names.join(', ')]
  })
  const segments = [
    rows.length === 0 ? '' : `${t.by} ${rows.join(', ')}`,
    ...filterNames,
    question.change === '' || answer === null
      ? periods
      : t.comparedWith(
          periods,
          base === null ? changeName(question.change, language) : formatMonth(base, language),
        ),
    ...(answer === null ? [] : meaningWords(question, language)),
  ].filter((segment) => segment !== '')
  return (
    <h1>
      {metrics.join('; ')}
      {segments.length === 0 ? null : <small> {segments.join(' · ')}</small>}
    </h1>
  )
}

function ExploreView({ data }: { readonly data: ExploreData }) {
  const { t } = useSite()
  const { question, answer } = data
  const isStart = question.metrics.length === 0
  const form = (
    <aside key="form" aria-label={t.explore}>
      <QuestionForm question={question} data={data} />
    </aside>
  )
  const shown = (
    <div key="answer" class="answer">
      {isStart ? <States data={data} /> : <AnswerTitle data={data} />}
      {data.problem === null ? null : (
        <QuestionProblem problem={data.problem} question={question} catalog={data.catalog} />
      )}
      {answer === null ? null : <Answer data={data} answer={answer} />}
    </div>
  )
  // On phones, a question without an answer says why before its form.
  const isFirst = data.problem !== null && answer === null
  return (
    <>
      {isStart ? <Start data={data} /> : null}
      <div class={isFirst ? 'explorer answer-first' : 'explorer'}>
        {isFirst ? [shown, form] : [form, shown]}
      </div>
    </>
  )
}

function Start({ data }: { readonly data: ExploreData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  return (
    <section class="start">
      <h1>{t.title}</h1>
      <p class="lead">{t.tagline}</p>
      <p>{t.startHint}</p>
      <ul class="cards">
        {examplesOf(data.catalog, language, data.periods[0] ?? '').map(([label, example]) => (
          <li key={label}>
            <a href={questionHref(example)}>{label}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function States({ data }: { readonly data: ExploreData }) {
  const { t } = useSite()
  const states = data.members.state?.list ?? []
  if (states.length === 0) return null
  return (
    <section aria-labelledby="states">
      <h2 id="states">{t.seeState}</h2>
      <ul class="states">
        {states.map(({ code, name }) => (
          <li key={code}>
            <PlaceLink level="state" code={String(code)}>
              {name ?? code}
            </PlaceLink>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** @returns dimension → name of the selected cell's member, from any row that has it */
function namesOf({ cell }: Question, answer: QueryAnswer): ReadonlyMap<string, string> {
  const rows = [...answer.data, ...(answer.totals ?? []).flatMap(({ data }) => data)]
  return new Map(
    Object.entries(cell?.key ?? {}).flatMap(([dimension, code]) => {
      const row = rows.find(({ dimensions }) => codeOf(dimensions[dimension]) === code)
      return row === undefined ? [] : [[dimension, nameOf(row.dimensions[dimension])] as const]
    }),
  )
}

function Answer({ data, answer }: { readonly data: ExploreData; readonly answer: QueryAnswer }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { question, catalog } = data
  const count = answer.pagination.total_rows
  const pages = Math.ceil(count / PAGE_ROWS)
  const show = (value: number): string => formatNumber(value, 0, language)
  return (
    <>
      <nav class="views" aria-label={t.view}>
        {VIEWS.filter((view) => view === question.view || canShow(view, question, catalog)).map((view) => (
          <a
            key={view}
            href={questionHref({ ...question, view, page: 1 })}
            aria-current={question.view === view ? 'page' : undefined}
          >
            {CHART_TEXTS[language].views[view]}
          </a>
        ))}
      </nav>
      <div class={question.view === 'table' || data.records !== null ? 'columns' : 'columns drawn-beside'}>
        {data.records === null ? null : (
          <LineagePanel
            question={question}
            catalog={catalog}
            records={data.records}
            names={namesOf(question, answer)}
          />
        )}
        <div class="primary-column">
          <div class="drawn">
            <Drawing data={data} answer={answer} />
            {question.view === 'table' || answer.data.length >= count ? null : (
              <p class="hint">{t.rows(show(answer.data.length), show(count))}</p>
            )}
            <Pictures data={data} answer={answer} />
          </div>
          <div class="tabled">
            <ResultTable
              question={question}
              catalog={catalog}
              answer={answer}
              rows={rowsOfPage(question, answer)}
            />
            <p class="pages">
              <RowCount question={question} answer={answer} />
              {question.page > 1 ? (
                <a class="button" href={questionHref({ ...question, page: question.page - 1, cell: null })}>
                  {t.previousPage}
                </a>
              ) : null}
              {question.page < pages ? (
                <a class="button" href={questionHref({ ...question, page: question.page + 1, cell: null })}>
                  {t.nextPage}
                </a>
              ) : null}
            </p>
            <Notes catalog={catalog} answer={answer} />
            {data.comparison === null && (question.since === '' || isComparable(question)) ? null : (
              <ChangesPanel question={question} catalog={catalog} comparison={data.comparison} />
            )}
          </div>
        </div>
        <VerifyPanel question={question} catalog={catalog} answer={answer} />
      </div>
    </>
  )
}

/** @returns the rows of the answer that the table shows: a drawing loads all of them, a table those of its page */
export function rowsOfPage({ page }: Question, { data }: QueryAnswer): QueryAnswer['data'] {
  const from = (page - 1) * PAGE_ROWS
  return data.length > PAGE_ROWS ? data.slice(from, from + PAGE_ROWS) : data
}

/** How many rows there are, and which of them the table shows. */
export function RowCount({
  question,
  answer,
}: {
  readonly question: Question
  readonly answer: QueryAnswer
}) {
  const { t, language } = useSite()
  const count = answer.pagination.total_rows
  const from = (question.page - 1) * PAGE_ROWS
  const shown = rowsOfPage(question, answer).length
  const show = (value: number): string => formatNumber(value, 0, language)
  return (
    <span role="status">
      {shown === count
        ? t.rowCount(show(count))
        : t.rows(`${show(from + 1)}–${show(from + shown)}`, show(count))}
    </span>
  )
}

export function Notes({ catalog, answer }: { readonly catalog: Labels; readonly answer: QueryAnswer }) {
  const { t, language } = useSite()
  if (answer.meta.notes.length === 0) return null
  return (
    <section class="notes" aria-label={t.notes}>
      <h2>{t.notes}</h2>
      <ul>
        {answer.meta.notes.map((note) => (
          <li key={note.message}>{noteText(note, catalog, language)}</li>
        ))}
      </ul>
    </section>
  )
}

/** @returns whether a view has something to draw, or can say which rows it needs */
function canShow(view: View, question: Question, catalog: ExploreData['catalog']): boolean {
  const { metrics, groupBy } = question
  if (view === 'scatter') return metrics.length > 1
  if (view === 'funnel') return funnelOf(question, metricOf(catalog, metrics[0] ?? '')) !== null
  return (view !== 'multiples' && view !== 'heat') || hasSeries(groupBy)
}

const hasSeries = (groupBy: readonly string[]): boolean => groupBy.length > 1 && timeOf(groupBy) !== undefined

/** Buttons that save the drawing as an image, with release and fingerprint in it. They need a script. */
function Pictures({ data, answer }: { readonly data: ExploreData; readonly answer: QueryAnswer }) {
  const { t, isLive } = useSite()
  if (!isLive || data.question.view === 'table') return null
  const { release_id, fingerprint } = answer.meta
  const source = [
    ...(data.synthetic ? [t.synthetic] : []),
    `sus-data, ${t.release}: ${release_id}`,
    `${t.fingerprint}: ${fingerprint}`,
  ].join('\n')
  return (
    <p class="downloads">
      {['svg', 'png'].map((format) => (
        <button
          type="button"
          key={format}
          data-picture={format}
          data-source={source}
          data-name={`sus-data-${fingerprint.slice(0, 12)}`}
        >
          {t.image} {format.toUpperCase()}
        </button>
      ))}
    </p>
  )
}

export function Drawing({ data, answer }: { readonly data: ExploreData; readonly answer: QueryAnswer }) {
  const { t, language, isLive } = useSite()
  const questionHref = useQuestionHref()
  const { question, catalog, periods } = data
  const props = { question, catalog, answer, rows: answer.data }
  const texts = CHART_TEXTS[language]
  if (question.view === 'table') return null
  if (question.view === 'bars') return <Bars {...props} />
  if (question.view === 'multiples' || question.view === 'heat') {
    if (!hasSeries(question.groupBy)) return <p class="notice">{texts.needsSeries}</p>
    return question.view === 'heat' ? <HeatTable {...props} /> : <SmallMultiples {...props} />
  }
  if (question.view === 'scatter')
    return question.metrics.length > 1 ? <Scatter {...props} /> : <p class="notice">{texts.needsTwo}</p>
  if (question.view === 'funnel') return <Funnel {...props} funnel={data.funnel} />
  if (question.view === 'lines') {
    if (timeOf(question.groupBy) !== undefined) return <Lines {...props} />
    const groupBy = [...question.groupBy, 'reference_period']
    const span = { from: periods.at(-1) ?? '', to: periods[0] ?? '', overPeriod: '' }
    return (
      <p class="notice">
        {t.chartNeedsPeriods}{' '}
        <a href={questionHref(change(question, { groupBy, ...span }))}>{t.addPeriods}</a>
      </p>
    )
  }
  if (!hasMap(question))
    return (
      <p class="notice">
        {t.mapNeedsPlaces}{' '}
        {MAP_LEVELS.filter((code) =>
          question.metrics.every((metric) => metricOf(catalog, metric)?.dimensions.includes(code)),
        ).map((code, index) => (
          <>
            {index === 0 ? '' : ' · '}
            <a key={code} href={questionHref(change(question, { groupBy: [code], order: '' }))}>
              {labelOf(dimensionOf(catalog, code), language)}
            </a>
          </>
        ))}
      </p>
    )
  if (!isLive) return <p class="notice">{t.mapNeedsScript}</p>
  return <PlaceMap question={question} catalog={catalog} answer={answer} />
}

export const EXPLORE: PageModule<ExploreData> = {
  match: (path) => (/^\/explorer\/?$/.test(path) ? {} : null),
  load: loadQuestion,
  title: ({ question, catalog }, texts, language) =>
    question.metrics.length === 0
      ? texts.title
      : question.metrics.map((code) => labelOf(metricOf(catalog, code), language) || code).join('; '),
  isSynthetic: ({ synthetic }) => synthetic,
  View: ExploreView,
}
