/**
 * Why a question has no answer, in the words of its form, with a link to the question without what is wrong. Other problems, such as a
 * server that does not answer, are those of every page (parts/layout.tsx).
 */
import { ANALYSIS_TEXTS, NO_ANALYSIS } from '../analysis.ts'
import type { Catalog, Problem } from '../api.ts'
import { formatMonth } from '../numbers.ts'
import { ProblemNotice } from '../parts/layout.tsx'
import { changeName, shortId } from '../parts/question-form.tsx'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf } from '../parts/table.tsx'
import { change, lookUp, type Question, withGroup } from '../question.ts'

/** A part of the query body as the form shows it. */
interface Part {
  readonly label: string
  /** The value in the address; '' where a choice is missing. */
  readonly value: string
  /** Code → text of choices of the form. */
  readonly options?: Readonly<Record<string, string>>
  /** @returns changes that take the part out of a question */
  readonly without: (question: Question) => Partial<Question>
}

export function QuestionProblem(props: {
  readonly problem: Problem
  readonly question: Question
  readonly catalog: Catalog
}) {
  const { problem, question, catalog } = props
  const { t, language, href } = useSite()
  const questionHref = useQuestionHref()
  const errors = problem.errors ?? []
  // A pinned release that is missing leaves no page; here the answer is there, and its comparison is not.
  if (problem.code === 'release_mismatch' && question.since !== '')
    return (
      <section class="problem" role="alert">
        <h2>
          {t.since} {shortId(question.since)}
        </h2>
        <p>{ANALYSIS_TEXTS[language].sinceMissing(question.since)}</p>
        <p class="downloads">
          <a class="button" href={questionHref({ ...question, since: '' })}>
            {t.withoutWrong}
          </a>
        </p>
      </section>
    )
  if (problem.status !== 400 || errors.length === 0) return <ProblemNotice problem={problem} />
  const labelOfCode = (code: string): string =>
    labelOf(metricOf(catalog, code) ?? dimensionOf(catalog, code), language) || code
  /** Names of parts of the query body that messages mention. */
  const names: Readonly<Record<string, string>> = {
    over_period: `“${t.overPeriod}”`,
    group_by: `“${t.groupBy}”`,
    population_basis: `“${t.basis}”`,
    // Portuguese sentences have these words for the query body alone.
    ...(language === 'pt' ? { totals: `“${t.totals}”`, change: `“${t.change}”` } : {}),
  }
  // Codes of one word, such as deaths, are words of English sentences.
  const tokens = language === 'pt' ? /[\p{L}\p{N}_]+/gu : /\w*_\w+/g
  const inWords = (text: string): string =>
    text
      .replaceAll(
        /over_period (\w+) (ou|or) (\w+)/g,
        (_, one, or, other) =>
          `over_period (${lookUp(t.over, one) ?? one} ${or} ${lookUp(t.over, other) ?? other})`,
      )
      .replaceAll(tokens, (code) => lookUp(names, code) ?? labelOfCode(code))
  const found = errors.map((error) => ({ ...error, part: partOf(error.pointer ?? '', question) }))
  let rest = question
  for (const { part } of found) if (part !== null) rest = change(rest, part.without(rest))
  // A sentence that begins with a pointer speaks of the query body, which a reader of the page never sees.
  const sentence = problem.detail?.startsWith('/') === false ? inWords(problem.detail) : ''
  return (
    <section class="problem" role="alert">
      <h2>{t.problem}</h2>
      {sentence === '' ? null : <p>{sentence}</p>}
      {found.slice(sentence === '' ? 0 : 1).map(({ part, pointer, parameter, message, allowed = [] }) => (
        <p key={`${pointer}${message}`}>
          {part === null ? (
            `${labelOfCode((pointer ?? parameter ?? '').split('/').at(-1) ?? '')} ${inWords(message)}`
          ) : (
            <>
              <strong>{part.label}</strong>:{' '}
              {part.options !== undefined && allowed.length > 0 && !allowed.map(String).includes(part.value)
                ? t.notAnOption(part.value)
                : `${part.value === '' ? '' : `“${lookUp(part.options ?? {}, part.value) ?? labelOfCode(part.value)}” `}${inWords(message)}`}
            </>
          )}
          {allowed.length === 0 || allowed.length > 20 ? null : (
            <span class="hint">
              {' '}
              {t.possible}:{' '}
              {allowed
                .map((code) => lookUp(part?.options ?? {}, String(code)) ?? labelOfCode(String(code)))
                .join(', ')}
            </span>
          )}
        </p>
      ))}
      <p class="downloads">
        {rest.metrics.length === 0 || found.every(({ part }) => part === null || part.value === '') ? null : (
          <a class="button" href={questionHref(rest)}>
            {t.withoutWrong}
          </a>
        )}
        <a class="button" href={href('/explorer')}>
          {t.startAnew}
        </a>
      </p>
    </section>
  )

  function partOf(pointer: string, { analysis, ...fields }: Question): Part | null {
    const texts = ANALYSIS_TEXTS[language]
    const [, name = '', position = ''] = pointer.split('/')
    const at = Number(position)
    const ofAnalysis = (
      key: 'limits' | 'compare' | 'window' | 'prices',
      options?: Readonly<Record<string, string>>,
    ): Part => ({
      label: texts[key],
      value: analysis[key],
      ...(options === undefined ? {} : { options }),
      without: (kept) => ({ analysis: { ...kept.analysis, [key]: NO_ANALYSIS[key] } }),
    })
    const ofQuestion = (
      key: 'basis' | 'change' | 'overPeriod' | 'order',
      options: Readonly<Record<string, string>>,
    ): Part => ({
      label: t[key],
      value: fields[key].replace(/^-(?=[a-z])/, ''),
      options,
      without: () => ({ [key]: '' }),
    })
    if (name === 'limits') return ofAnalysis('limits', texts.levels)
    if (name === 'compare_to') return ofAnalysis('compare', texts.comparators)
    if (name === 'window') return ofAnalysis('window')
    if (name === 'prices') return ofAnalysis('prices', {})
    if (name === 'population_basis') return ofQuestion('basis', { ...t.bases, census: t.bases[''] ?? '' })
    if (name === 'change')
      return ofQuestion('change', {
        [fields.change]: changeName(fields.change, language),
        ...t.changes,
      })
    if (name === 'over_period') return ofQuestion('overPeriod', t.over)
    if (name === 'totals') return { label: t.totals, value: t.yes, without: () => ({ totals: false }) }
    if (name === 'order_by') return ofQuestion('order', {})
    if (name === 'metrics' || name === 'group_by') {
      const key = name === 'metrics' ? 'metrics' : 'groupBy'
      const code = fields[key][at]
      if (code === undefined) return null
      return {
        label: t[key],
        value: code,
        without: (kept) => ({ [key]: kept[key].filter((other) => other !== code) }),
      }
    }
    if (fields.cell !== null && (name === 'key' || name === 'metric' || name === 'side'))
      return {
        label: name === 'key' ? labelOfCode(position) : t.lineage,
        value: name === 'key' ? (lookUp(fields.cell.key, position) ?? '') : fields.cell.metric,
        without: () => ({ cell: null, records: 0 }),
      }
    if (name === 'groupings')
      return {
        label: t.group.title,
        value: fields.group?.codes[Number(pointer.split('/').at(-1))] ?? '',
        without: ({ groupBy }) => ({ group: null, groupBy: withGroup(groupBy, null) }),
      }
    if (name !== 'filters') return null
    const dimension = Object.keys(fields.filters)[at]
    if (dimension === undefined)
      return {
        label: t.periods,
        value: [fields.from, fields.to]
          .filter((month) => month !== '')
          .map((month) => formatMonth(month, language))
          .join(' – '),
        without: () => ({ from: '', to: '', overPeriod: '' }),
      }
    return {
      label: labelOfCode(dimension),
      value: (lookUp(fields.filters, dimension) ?? []).join(', '),
      without: ({ filters }) => ({
        filters: Object.fromEntries(Object.entries(filters).filter(([other]) => other !== dimension)),
      }),
    }
  }
}
