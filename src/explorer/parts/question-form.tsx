/**
 * The question form. Its fields are the parameters of the address, so it works without a script. In the browser, each change submits it.
 * Combinations that do not work are disabled, with the reason.
 */
import { useMemo } from 'preact/hooks'
import type { Catalog, Member, ReleaseInfo } from '../api.ts'
import { datasetName, formulaText } from '../catalog-texts.ts'
import {
  basisConflict,
  DIMENSIONS_MAX,
  dimensionConflict,
  METRICS_MAX,
  metricConflict,
  overConflict,
} from '../conflicts.ts'
import { formatMonth, type Language, monthBefore } from '../numbers.ts'
import { GROUP, type UnresolvedLine } from '../own-group.ts'
import { change, keptOrder, lookUp, type Question, TIMES, timeOf } from '../question.ts'
import { TEXTS } from '../texts.ts'
import { AnalysisOptions } from './analysis.tsx'
import { Filters } from './filters.tsx'
import { GroupFields } from './group-fields.tsx'
import { Options } from './options.tsx'
import { Choice, type Mark, Picker } from './picker.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { dimensionOf, labelOf, metricOf } from './table.tsx'

export interface FormData {
  readonly catalog: Catalog
  /** YYYY-MM, newest first. */
  readonly periods: readonly string[]
  readonly releases: readonly ReleaseInfo[]
  /** Dimension → members: all of them for small dimensions, else those in filters. */
  readonly members: Readonly<Record<string, { readonly isWhole: boolean; readonly list: readonly Member[] }>>
  /** Pasted lines that name no municipality or several. */
  readonly unresolved: readonly UnresolvedLine[]
}

export function QuestionForm({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language, isLive } = useSite()
  return (
    <form class="question" action="/explorer" data-go data-auto>
      {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
      {question.view === 'table' ? null : <input type="hidden" name="view" value={question.view} />}
      <Metrics question={question} catalog={data.catalog} />
      <Dimensions question={question} catalog={data.catalog} />
      <Filters question={question} data={data} />
      <GroupFields question={question} catalog={data.catalog} unresolved={data.unresolved} />
      <Periods question={question} data={data} />
      <AnalysisOptions question={question} catalog={data.catalog} periods={data.periods} />
      <More question={question} data={data} />
      {isLive ? null : (
        <button type="submit" class="primary">
          {t.update}
        </button>
      )}
    </form>
  )
}

/** @returns what values are compared with, in words: a month, or how long before */
export function changeName(code: string, language: Language): string {
  const t = TEXTS[language]
  const [, count] = /^-(\d+)$/.exec(code) ?? []
  return (
    lookUp(t.changes, code) ??
    (count === undefined ? formatMonth(code, language) : t.periodsBefore(Number(count)))
  )
}

export const shortId = (id: string): string => id.replace(/-([0-9a-f]{8})[0-9a-f]{56}$/, ' $1…')

function useMarks(
  question: Question,
  field: 'metrics' | 'groupBy',
  labelOfCode: (code: string) => string,
): Mark[] {
  const questionHref = useQuestionHref()
  const codes = question[field]
  const hrefWith = (list: readonly string[]): string => {
    const kept = { ...question, [field]: list }
    // A group of the visitor's own is a row as long as it exists.
    const group = field === 'groupBy' && !list.includes(GROUP) ? null : question.group
    return questionHref(change(kept, { order: keptOrder(kept), group }))
  }
  return codes.map((code, index) => {
    const swapped = [...codes]
    swapped.splice(index - 1, 2, code, codes[index - 1] ?? '')
    return {
      key: code,
      label: labelOfCode(code),
      without: hrefWith(codes.filter((other) => other !== code)),
      before: index === 0 ? undefined : hrefWith(swapped),
    }
  })
}

/** Puts chosen entries first, in the question's order, because a form without a script submits them in the order of its boxes. */
const chosenFirst = <Entry extends { readonly code: string }>(
  entries: readonly Entry[],
  chosen: readonly string[],
): Entry[] => [
  ...chosen.flatMap((code) => entries.filter((entry) => entry.code === code)),
  ...entries.filter((entry) => !chosen.includes(entry.code)),
]

function Metrics({ question, catalog }: { readonly question: Question; readonly catalog: Catalog }) {
  const { t, language, isLive } = useSite()
  const marks = useMarks(question, 'metrics', (code) => labelOf(metricOf(catalog, code), language) || code)
  // The catalog stays the same while the release does.
  const formulas = useMemo(
    () => new Map(catalog.metrics.map((metric) => [metric.code, formulaText(metric, catalog, language)])),
    [catalog.version, catalog.metrics.length, language],
  )
  const metrics = isLive ? catalog.metrics : chosenFirst(catalog.metrics, question.metrics)
  return (
    <Picker title={t.metrics} emptyText={t.start} marks={marks} isOpen={question.metrics.length === 0}>
      <p class="hint">{t.metricsHint(METRICS_MAX)}</p>
      <Options
        name="m"
        label={t.metrics}
        list={metrics.map((metric) => ({
          code: metric.code,
          label: labelOf(metric, language),
          hint: formulas.get(metric.code),
          group: datasetName(metric.datasets[0] ?? '', language),
          isChosen: question.metrics.includes(metric.code),
          reason: metricConflict(metric, question, catalog, language),
        }))}
      />
    </Picker>
  )
}

function Dimensions({ question, catalog }: { readonly question: Question; readonly catalog: Catalog }) {
  const { t, language, isLive } = useSite()
  const marks = useMarks(question, 'groupBy', (code) => labelOf(dimensionOf(catalog, code), language) || code)
  const dimensions = isLive ? catalog.dimensions : chosenFirst(catalog.dimensions, question.groupBy)
  const isFull = question.groupBy.length >= DIMENSIONS_MAX
  return (
    <Picker title={t.groupBy} emptyText={t.oneRow} marks={marks}>
      <Options
        name="by"
        label={t.groupBy}
        list={dimensions.map((dimension) => ({
          code: dimension.code,
          label: labelOf(dimension, language),
          isChosen: question.groupBy.includes(dimension.code),
          reason:
            dimensionConflict(dimension, question, catalog, language) ??
            (isFull ? t.dimensionsFull(DIMENSIONS_MAX) : null),
        }))}
      />
    </Picker>
  )
}

function Periods({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { periods } = data
  const months = Object.fromEntries(periods.map((period) => [period, formatMonth(period, language)]))
  const { from, to, groupBy } = question
  const shown = [...new Set([from, to])].filter((month) => month !== '')
  const marks: Mark[] =
    shown.length === 0
      ? []
      : [
          {
            key: 'period',
            label:
              from === ''
                ? t.toMonth(formatMonth(to, language))
                : to === ''
                  ? t.fromMonth(formatMonth(from, language))
                  : shown.map((month) => formatMonth(month, language)).join(' – '),
            without: questionHref(change(question, { from: '', to: '', overPeriod: '' })),
          },
        ]
  const last = periods.includes(to) ? to : (periods[0] ?? '')
  const byMonth = timeOf(groupBy) === undefined ? [...groupBy, 'reference_period'] : groupBy
  const spans = [12, periods.length].filter(
    (count, index) => count > 1 && periods.length >= count && (index === 0 || count !== 12),
  )
  const time = timeOf(groupBy)
  const times = data.catalog.dimensions.filter(({ code }) => TIMES.includes(code))
  const over = overConflict(question, language)
  return (
    <Picker title={t.periods} emptyText={t.newest} marks={marks}>
      {times.length < 2 ? null : (
        <p class="shortcuts">
          {t.rowsPerPeriod}{' '}
          {times.map((dimension) => (
            <a
              class="button"
              key={dimension.code}
              href={questionHref(
                change(question, {
                  groupBy: [...groupBy.filter((code) => !TIMES.includes(code)), dimension.code],
                  overPeriod: '',
                }),
              )}
              aria-current={dimension.code === time ? 'true' : undefined}
            >
              {labelOf(dimension, language)}
            </a>
          ))}
        </p>
      )}
      {spans.length === 0 ? null : (
        <p class="shortcuts">
          {spans.map((count) => (
            <a
              class="button"
              key={count}
              href={questionHref(
                change(question, {
                  from: periods[count - 1] ?? '',
                  to: periods[0] ?? '',
                  groupBy: byMonth,
                  overPeriod: '',
                }),
              )}
            >
              {count === periods.length ? t.allMonths(count) : t.lastMonths(count)}
            </a>
          ))}
        </p>
      )}
      <div class="pair">
        <Choice name="from" label={t.from} value={from} options={{ '': t.newestShort, ...months }} />
        <Choice name="to" label={t.to} value={to} options={{ '': t.newestShort, ...months }} />
      </div>
      <Choice
        name="over"
        label={t.overPeriod}
        value={question.overPeriod}
        options={t.over}
        reason={question.overPeriod === '' ? over : null}
      />
      <Choice
        name="change"
        label={t.change}
        value={question.change}
        options={{ [question.change]: changeName(question.change, language), ...t.changes, ...months }}
        without={{
          ...(periods.length < 2 ? { previous: t.onlyOneMonth } : {}),
          ...(periods.includes(monthBefore(last, 12))
            ? {}
            : { '-12': t.monthMissing(formatMonth(monthBefore(last, 12), language)) }),
        }}
      />
    </Picker>
  )
}

function More({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, releases } = data
  const analyticsReleases = releases.filter(({ area }) => area === 'analytics')
  const ids = Object.fromEntries(analyticsReleases.map(({ release_id }) => [release_id, shortId(release_id)]))
  const orders = [
    ...question.metrics.flatMap((code) => {
      const label = labelOf(metricOf(catalog, code), language)
      const ofChange = [
        [`${code}__base`, `${label}, ${t.base}`],
        [`${code}__change`, `${label}, ${t.changeColumn}`],
        [`${code}__change_percent`, `${label}, ${t.changePercent}`],
      ] as const
      return [[code, label] as const, ...(question.change === '' ? [] : ofChange)]
    }),
    ...question.groupBy.map((code) => [code, labelOf(dimensionOf(catalog, code), language)] as const),
  ].flatMap(([code, label]) => {
    const isMetric = !question.groupBy.includes(code)
    const down = [`-${code}`, `${label}: ${isMetric ? t.descending : 'Z–A'}`] as const
    const up = [code, `${label}: ${isMetric ? t.ascending : 'A–Z'}`] as const
    return isMetric ? [down, up] : [up, down]
  })
  const mark = (key: string, label: string, changes: Partial<Question>): Mark => ({
    key,
    label,
    without: questionHref(change(question, changes)),
  })
  const marks = [
    question.totals ? mark('totals', t.totals, { totals: false }) : null,
    question.change === ''
      ? null
      : mark('change', `${t.change}: ${changeName(question.change, language)}`, {
          change: '',
          order: keptOrder({ ...question, change: '' }),
        }),
    question.order === ''
      ? null
      : mark('order', `${t.order}: ${lookUp(Object.fromEntries(orders), question.order) ?? question.order}`, {
          order: '',
        }),
    question.basis === ''
      ? null
      : mark('basis', `${t.basis}: ${lookUp(t.bases, question.basis) ?? question.basis}`, { basis: '' }),
    question.ignored ? null : mark('ignored', t.withoutIgnored, { ignored: true }),
    question.release === ''
      ? null
      : mark('release', `${t.release}: ${shortId(question.release)}`, { release: '' }),
    question.since === '' ? null : mark('since', `${t.since} ${shortId(question.since)}`, { since: '' }),
  ].filter((entry) => entry !== null)
  return (
    <Picker title={t.options} emptyText={t.noOptions} marks={marks}>
      <label class="check">
        <input type="checkbox" name="totals" value="yes" checked={question.totals} />
        <span>{t.totals}</span>
      </label>
      <Choice
        name="order"
        label={t.order}
        value={question.order}
        options={{ '': t.ownOrder, ...Object.fromEntries(orders) }}
      />
      <Choice
        name="basis"
        label={t.basis}
        value={question.basis}
        options={t.bases}
        reason={question.basis === '' ? basisConflict(question, catalog, language) : null}
      />
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
        options={{ '': t.inService, ...ids }}
      />
      <Choice
        name="since"
        label={t.since}
        value={question.since}
        options={{ '': t.noOther, ...ids }}
        reason={question.since === '' && analyticsReleases.length < 2 ? t.onlyOneRelease : null}
      />
    </Picker>
  )
}
