/**
 * The form that a question is asked with. It is an ordinary form whose fields are the parameters of the address, so that it
 * works without a script; in the browser a change of a field asks at once. What cannot go together is disabled and says why.
 */
import { useState } from 'preact/hooks'
import type { Catalog, Dimension, Member, Metric, ReleaseInfo } from '../api.ts'
import { formatMonth } from '../numbers.ts'
import type { Question } from '../question.ts'
import { dimensionConflict, Filters } from './filters.tsx'
import { useSite } from './site.tsx'
import { labelOf, metricOf } from './table.tsx'

export interface FormData {
  readonly catalog: Catalog
  /** YYYY-MM, newest first. */
  readonly periods: readonly string[]
  readonly releases: readonly ReleaseInfo[]
  /** Members of dimensions: all where they are few, else those that the filters name. */
  readonly members: Readonly<Record<string, { readonly isWhole: boolean; readonly list: readonly Member[] }>>
}

const METRICS_MAX = 6

export function QuestionForm({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language, isLive } = useSite()
  const { catalog, periods, releases } = data
  const others = releases.filter(({ area }) => area === 'analytics')
  return (
    <form class="question" action="/explorer" data-go data-auto>
      {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
      {question.view === 'table' ? null : <input type="hidden" name="view" value={question.view} />}
      {question.order === '' ? null : <input type="hidden" name="order" value={question.order} />}
      <Metrics question={question} catalog={catalog} />
      <Dimensions question={question} catalog={catalog} />
      <Filters question={question} data={data} />
      <details class="picker">
        <summary>
          {t.periods} <span class="chosen">{periodText(question, t.newest, language)}</span>
        </summary>
        <Months name="from" label={t.from} value={question.from} periods={periods} />
        <Months name="to" label={t.to} value={question.to} periods={periods} />
        <Choice name="over" label={t.overPeriod} value={question.overPeriod} options={t.over} />
        <Choice
          name="change"
          label={t.change}
          value={question.change}
          options={{
            ...t.changes,
            ...Object.fromEntries(periods.map((period) => [period, formatMonth(period, language)])),
          }}
        />
      </details>
      <details class="picker">
        <summary>
          {t.options} <span class="chosen">{question.totals ? t.totals : '–'}</span>
        </summary>
        <label class="check">
          <input type="checkbox" name="totals" value="yes" checked={question.totals} /> {t.totals}
        </label>
        <Choice name="basis" label={t.basis} value={question.basis} options={t.bases} />
        <Choice
          name="ignored"
          label={t.ignored}
          value={question.ignored ? '' : 'no'}
          options={{ '': t.yes, no: t.no }}
        />
        <Choice
          name="release"
          label={t.release}
          value={question.release}
          options={{
            '': t.inService,
            ...Object.fromEntries(others.map(({ release_id }) => [release_id, shortId(release_id)])),
          }}
        />
        <Choice
          name="since"
          label={t.since}
          value={question.since}
          options={{
            '': t.noOther,
            ...Object.fromEntries(others.map(({ release_id }) => [release_id, shortId(release_id)])),
          }}
        />
      </details>
      {isLive ? null : (
        <button type="submit" class="primary">
          {t.update}
        </button>
      )}
    </form>
  )
}

function periodText({ from, to }: Question, newest: string, language: 'pt' | 'en'): string {
  if (from === '' && to === '') return newest
  const months = [...new Set([from, to])].filter((month) => month !== '')
  return months.map((month) => formatMonth(month, language)).join(' – ')
}

/** A release's id without most of its digest. */
export const shortId = (id: string): string => id.replace(/-([0-9a-f]{8})[0-9a-f]{56}$/, ' $1…')

function Choice(props: {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
}) {
  const { name, label, value, options } = props
  // A value that is no longer offered (a release that is gone) stays visible until another is chosen.
  const all = value in options ? options : { ...options, [value]: value }
  return (
    <label class="choice">
      <span>{label}</span>
      <select name={name}>
        {Object.entries(all).map(([code, text]) => (
          <option key={code} value={code} selected={code === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

function Months(props: {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly periods: readonly string[]
}) {
  const { t, language } = useSite()
  const options = Object.fromEntries(props.periods.map((period) => [period, formatMonth(period, language)]))
  return (
    <Choice
      name={props.name}
      label={props.label}
      value={props.value}
      options={{ '': t.newest, ...options }}
    />
  )
}

/** Why a metric cannot be added to what is chosen; null where it can. */
function metricConflict(
  metric: Metric,
  question: Question,
  catalog: Catalog,
  language: 'pt' | 'en',
): string | null {
  const needed = [...question.groupBy, ...Object.keys(question.filters)]
  const lacking = needed.filter((dimension) => !metric.dimensions.includes(dimension))
  if (lacking.length === 0) return null
  const names = lacking.map((code) =>
    labelOf(
      catalog.dimensions.find((dimension) => dimension.code === code),
      language,
    ),
  )
  return language === 'pt' ? `não tem ${names.join(', ')}` : `has no ${names.join(', ')}`
}

function Metrics({ question, catalog }: { readonly question: Question; readonly catalog: Catalog }) {
  const { t, language, isLive } = useSite()
  const [text, setText] = useState('')
  // Only at first: choosing a metric must not close the list under the pointer.
  const [isOpen] = useState(question.metrics.length === 0)
  const isFull = question.metrics.length >= METRICS_MAX
  const wanted = fold(text)
  const groups = new Map<string, Metric[]>()
  for (const metric of catalog.metrics) {
    const name = metric.datasets[0] ?? ''
    groups.set(name, [...(groups.get(name) ?? []), metric])
  }
  return (
    <details open={isOpen} class="picker">
      <summary>
        {t.metrics}{' '}
        <span class="chosen">
          {question.metrics.map((code) => labelOf(metricOf(catalog, code), language) || code).join('; ') ||
            t.start}
        </span>
      </summary>
      <p class="hint">{t.metricsHint}</p>
      {isLive ? (
        <input
          type="search"
          aria-label={`${t.filterList}: ${t.metrics}`}
          placeholder={t.filterList}
          data-ignored
          onInput={(event) => setText(event.currentTarget.value)}
        />
      ) : null}
      <div class="options">
        {[...groups].map(([dataset, metrics]) => (
          <fieldset key={dataset}>
            <legend>{datasetName(dataset, language)}</legend>
            {metrics.map((metric) => {
              const isChosen = question.metrics.includes(metric.code)
              const reason = metricConflict(metric, question, catalog, language)
              const label = labelOf(metric, language)
              const isShown = isChosen || fold(`${label} ${metric.code}`).includes(wanted)
              return (
                <label class="check" key={metric.code} hidden={!isShown} title={metric.description}>
                  <input
                    type="checkbox"
                    name="m"
                    value={metric.code}
                    checked={isChosen}
                    disabled={!isChosen && (reason !== null || isFull)}
                  />{' '}
                  {label}
                  {reason === null ? null : <span class="reason"> {reason}</span>}
                </label>
              )
            })}
          </fieldset>
        ))}
      </div>
    </details>
  )
}

function Dimensions({ question, catalog }: { readonly question: Question; readonly catalog: Catalog }) {
  const { t, language } = useSite()
  const names = question.groupBy.map(
    (code) =>
      labelOf(
        catalog.dimensions.find((dimension) => dimension.code === code),
        language,
      ) || code,
  )
  return (
    <details class="picker">
      <summary>
        {t.groupBy} <span class="chosen">{names.join('; ') || t.total}</span>
      </summary>
      <div class="options">
        {inOrder(catalog.dimensions, question.groupBy).map((dimension) => {
          const isChosen = question.groupBy.includes(dimension.code)
          const reason = dimensionConflict(dimension, question, catalog, language)
          return (
            <label class="check" key={dimension.code}>
              <input
                type="checkbox"
                name="by"
                value={dimension.code}
                checked={isChosen}
                disabled={!isChosen && (reason !== null || question.groupBy.length >= 6)}
              />{' '}
              {labelOf(dimension, language)}
              {reason === null ? null : <span class="reason"> {reason}</span>}
            </label>
          )
        })}
      </div>
    </details>
  )
}

/** Those chosen first, in the order of the question: the boxes of a form keep it. */
const inOrder = (dimensions: readonly Dimension[], chosen: readonly string[]): Dimension[] => [
  ...chosen.flatMap((code) => dimensions.filter((dimension) => dimension.code === code)),
  ...dimensions.filter((dimension) => !chosen.includes(dimension.code)),
]

/** Lower case without accents. */
export const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()

const DATASETS: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  facilities: ['Estabelecimentos', 'Facilities'],
  bed_capacity: ['Leitos', 'Beds'],
  equipment_inventory: ['Equipamentos', 'Equipment'],
  specialized_services: ['Serviços especializados', 'Specialised services'],
  population: ['População', 'Population'],
  population_by_age: ['População por idade e sexo', 'Population by age and sex'],
}
export const datasetName = (dataset: string, language: 'pt' | 'en'): string =>
  DATASETS[dataset]?.[language === 'pt' ? 0 : 1] ?? dataset
