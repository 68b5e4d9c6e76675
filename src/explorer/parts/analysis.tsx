/** The options of an analyst as a section of the question form. */
import { ANALYSIS_TEXTS, type Analysis, NO_ANALYSIS, windowText } from '../analysis.ts'
import type { Catalog } from '../api.ts'
import { formatMonth } from '../numbers.ts'
import { change, lookUp, type Question } from '../question.ts'
import { Choice, type Mark, Picker } from './picker.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { metricOf } from './table.tsx'

const PLACES = /^(residence_)?(municipality|health_region|health_macroregion|state|region)$/

export function AnalysisOptions(props: {
  readonly question: Question
  readonly catalog: Catalog
  /** YYYY-MM, newest first. */
  readonly periods: readonly string[]
}) {
  const { question, catalog, periods } = props
  const { language } = useSite()
  const questionHref = useQuestionHref()
  const texts = ANALYSIS_TEXTS[language]
  const { analysis } = question
  const mark = (key: keyof Analysis, label: string): Mark | null =>
    analysis[key] === NO_ANALYSIS[key]
      ? null
      : {
          key,
          label,
          without: questionHref(change(question, { analysis: { ...analysis, [key]: NO_ANALYSIS[key] } })),
        }
  const nameOf = (options: Readonly<Record<string, string>>, value: string): string =>
    lookUp(options, value) ?? value
  const months = Object.fromEntries(periods.map((period) => [period, formatMonth(period, language)]))
  const marks = [
    mark('window', `${texts.window}: ${windowText(analysis.window, language)}`),
    mark('partial', texts.partial),
    mark('limits', `${texts.limits}: ${nameOf(texts.levels, analysis.limits)}`),
    mark('compare', `${texts.compare} ${nameOf(texts.comparators, analysis.compare)}`),
    mark('status', texts.status),
    mark('prices', `${texts.prices} ${nameOf(months, analysis.prices)}`),
  ].filter((entry) => entry !== null)
  const hasMoney = question.metrics.some((code) => metricOf(catalog, code)?.unit.startsWith('BRL') === true)
  const hasPlaces = question.groupBy.some((code) => PLACES.test(code))
  const years = Object.fromEntries(
    [...new Set(periods.map((period) => period.slice(0, 4)))].map((year) => [year, year]),
  )
  return (
    <Picker title={texts.title} emptyText={texts.none} marks={marks}>
      <Choice name="limits" label={texts.limits} value={analysis.limits} options={texts.levels} />
      <Choice
        name="compare"
        label={texts.compare}
        value={analysis.compare}
        options={texts.comparators}
        reason={analysis.compare === '' && !hasPlaces ? texts.needsPlaces : null}
      />
      <label class="check">
        <input type="checkbox" name="status" value="yes" checked={analysis.status} />
        <span>{texts.status}</span>
      </label>
      <Choice
        name="window"
        label={texts.window}
        value={analysis.window}
        options={{ [analysis.window]: windowText(analysis.window, language), ...texts.windows }}
        reason={
          analysis.window === '' && !question.groupBy.includes('reference_period') ? texts.needsMonths : null
        }
      />
      <label class="check">
        <input type="checkbox" name="partial" value="yes" checked={analysis.partial} />
        <span>{texts.partial}</span>
      </label>
      <Choice
        name="prices"
        label={texts.prices}
        value={analysis.prices}
        options={{ '': texts.ownPrices, ...years, ...months }}
        reason={analysis.prices === '' && !hasMoney ? texts.needsMoney : null}
      />
    </Picker>
  )
}
