/** The explorer itself: a question, its answer as table, bars, lines or map, and what stands behind each number. */
import { type Catalog, codeOf, nameOf, type QueryAnswer } from '../api.ts'
import { formatMonth, formatNumber } from '../numbers.ts'
import type { PageModule } from '../page.ts'
import { Bars, Lines } from '../parts/charts.tsx'
import { ProblemNotice } from '../parts/layout.tsx'
import { MAP_LEVELS, PlaceMap } from '../parts/map.tsx'
import { ChangesPanel, LineagePanel, VerifyPanel } from '../parts/panels.tsx'
import { QuestionForm } from '../parts/question-form.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { labelOf, metricOf, ResultTable } from '../parts/table.tsx'
import { change, EMPTY_QUESTION, PAGE_ROWS, type Question, VIEWS } from '../question.ts'
import { type ExploreData, loadQuestion } from './explore-load.ts'

/** Questions to begin with, as far as the catalog has what they need. */
function examplesOf(catalog: Catalog, language: 'pt' | 'en', newest: string): [string, Question][] {
  const has = (code: string): boolean =>
    catalog.metrics.some((metric) => metric.code === code) ||
    catalog.dimensions.some((dimension) => dimension.code === code)
  const isPt = language === 'pt'
  const list: [string, Question, readonly string[]][] = [
    [
      isPt ? 'Leitos por 100 mil habitantes, por estado' : 'Beds per 100,000 inhabitants, by state',
      {
        ...EMPTY_QUESTION,
        metrics: ['beds_existing_per_100k', 'beds_sus_share'],
        groupBy: ['state'],
        order: '-beds_existing_per_100k',
      },
      ['beds_existing_per_100k'],
    ],
    [
      isPt
        ? 'Leitos de UTI por 100 mil nas regiões de saúde da Bahia, no mapa'
        : 'ICU beds per 100,000 in the health regions of Bahia, on a map',
      {
        ...EMPTY_QUESTION,
        metrics: ['icu_beds_existing_per_100k'],
        groupBy: ['health_region'],
        filters: { state: ['BA'] },
        totals: true,
        view: 'map',
      },
      ['icu_beds_existing_per_100k', 'health_region'],
    ],
    [
      isPt
        ? 'Equipamentos em uso por município do Acre, com totais'
        : 'Equipment in use by municipality of Acre, with totals',
      {
        ...EMPTY_QUESTION,
        metrics: ['equipment_in_use', 'equipment_in_use_share'],
        groupBy: ['municipality'],
        filters: { state: ['AC'] },
        totals: true,
      },
      ['equipment_in_use'],
    ],
    [
      isPt ? 'Leitos do SUS: variação em um ano' : 'SUS beds: change in a year',
      {
        ...EMPTY_QUESTION,
        metrics: ['bed_capacity_sus'],
        groupBy: ['state'],
        from: newest,
        to: newest,
        change: '-12',
      },
      ['bed_capacity_sus'],
    ],
  ]
  return list.filter(([, , needed]) => needed.every(has)).map(([label, question]) => [label, question])
}

/** The month or months an answer is of, in words. */
function Shown({ data }: { readonly data: ExploreData }) {
  const { t, language } = useSite()
  const { question, answer, catalog } = data
  const metrics = question.metrics.map((code) => labelOf(metricOf(catalog, code), language) || code)
  const period = answer?.meta.reference_period ?? ''
  const months = period
    .split(', ')
    .filter((month) => month !== '')
    .map((month) => formatMonth(month, language))
  return (
    <h1>
      {metrics.length === 0 ? t.title : metrics.join('; ')}
      {months.length === 0 ? null : (
        <small> {months.length > 3 ? `${months[0]} – ${months.at(-1)}` : months.join(', ')}</small>
      )}
    </h1>
  )
}

function View({ data }: { readonly data: ExploreData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { question, answer, catalog } = data
  return (
    <div class="explorer">
      <aside aria-label={t.explore}>
        <QuestionForm question={question} data={data} />
      </aside>
      <div class="answer">
        <Shown data={data} />
        {question.metrics.length === 0 ? (
          <section class="start">
            <p class="lead">{t.tagline}</p>
            <p>
              {t.start} {t.startHint}
            </p>
            <ul>
              {examplesOf(catalog, language, data.periods[0] ?? '').map(([label, example]) => (
                <li key={label}>
                  <a href={questionHref(example)}>{label}</a>
                </li>
              ))}
            </ul>
          </section>
        ) : null}
        {data.problem === null ? null : <ProblemNotice problem={data.problem} />}
        {answer === null ? null : <Answer data={data} answer={answer} />}
      </div>
    </div>
  )
}

/** Names of the group whose cell is shown: those of its row, or of a row that shares the member. */
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
  const { t, language, isLive } = useSite()
  const questionHref = useQuestionHref()
  const { question, catalog } = data
  const count = answer.pagination.total_rows
  const from = (question.page - 1) * PAGE_ROWS
  const isWhole = answer.data.length > PAGE_ROWS
  const rows = isWhole ? answer.data.slice(from, from + PAGE_ROWS) : answer.data
  const pages = Math.ceil(count / PAGE_ROWS)
  const [level = ''] = question.groupBy
  const canMap = question.groupBy.length === 1 && MAP_LEVELS.includes(level)
  const show = (value: number): string => formatNumber(value, 0, language)
  return (
    <>
      <nav class="views" aria-label={t.view}>
        {VIEWS.map((view) => (
          <a
            key={view}
            href={questionHref({ ...question, view, page: 1 })}
            aria-current={question.view === view ? 'page' : undefined}
          >
            {t.views[view]}
          </a>
        ))}
      </nav>
      {question.view === 'bars' ? <Bars question={question} catalog={catalog} rows={answer.data} /> : null}
      {question.view === 'lines' ? <Lines question={question} catalog={catalog} rows={answer.data} /> : null}
      {question.view === 'map' && !canMap ? <p class="notice">{t.mapNeedsPlaces}</p> : null}
      {question.view === 'map' && canMap && !isLive ? <p class="notice">{t.mapNeedsScript}</p> : null}
      {question.view === 'map' && canMap && isLive ? (
        <PlaceMap question={question} catalog={catalog} answer={answer} />
      ) : null}
      {data.records === null ? null : (
        <LineagePanel
          question={question}
          catalog={catalog}
          records={data.records}
          names={namesOf(question, answer)}
        />
      )}
      <ResultTable question={question} catalog={catalog} answer={answer} rows={rows} />
      <p class="pages">
        <span role="status">
          {rows.length === count
            ? t.rowCount(show(count))
            : t.rows(`${show(from + 1)}–${show(from + rows.length)}`, show(count))}
        </span>
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
      {answer.meta.notes.length === 0 ? null : (
        <section class="notes" aria-label={t.notes}>
          <h2>{t.notes}</h2>
          <ul>
            {answer.meta.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </section>
      )}
      {data.comparison === null ? null : (
        <ChangesPanel question={question} catalog={catalog} comparison={data.comparison} />
      )}
      <VerifyPanel question={question} catalog={catalog} answer={answer} />
    </>
  )
}

export const EXPLORE: PageModule<ExploreData> = {
  match: (path) => (path === '/' || /^\/explorer\/?$/.test(path) ? {} : null),
  load: loadQuestion,
  title: ({ question, catalog }, texts, language) =>
    question.metrics.length === 0
      ? texts.title
      : question.metrics.map((code) => labelOf(metricOf(catalog, code), language) || code).join('; '),
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}

/** A question changed: used by other pages for their links. */
export const ask = (changes: Partial<Question>): Question => change(EMPTY_QUESTION, changes)
