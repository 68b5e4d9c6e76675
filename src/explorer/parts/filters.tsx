/** The filters of a question: members chosen, and lists or a search of those that can be. */
import { useState } from 'preact/hooks'
import type { Catalog, Dimension, Member } from '../api.ts'
import { change, type Question } from '../question.ts'
import type { FormData } from './question-form.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { labelOf, metricOf } from './table.tsx'

/** Why a dimension cannot be added to the metrics that are chosen; null where it can. */
export function dimensionConflict(
  dimension: Dimension,
  question: Question,
  catalog: Catalog,
  language: 'pt' | 'en',
): string | null {
  const lacking = question.metrics
    .map((code) => metricOf(catalog, code))
    .filter((metric) => metric !== undefined && !metric.dimensions.includes(dimension.code))
  if (lacking.length === 0) return null
  const names = lacking.map((metric) => labelOf(metric, language)).join(', ')
  return language === 'pt' ? `não vale para ${names}` : `does not go with ${names}`
}

/** Dimensions that are filtered by months' own fields. */
const HAS_OWN_FIELDS = new Set(['reference_period'])

export function Filters({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, members } = data
  const filterable = catalog.dimensions.filter(({ code }) => !HAS_OWN_FIELDS.has(code))
  const count = Object.values(question.filters).flat().length
  const [isOpen] = useState(count > 0)
  return (
    <details class="picker" open={isOpen}>
      <summary>
        {t.filters} <span class="chosen">{count === 0 ? '–' : count}</span>
      </summary>
      {Object.entries(question.filters).map(([dimension, codes]) => (
        <div class="chips" key={dimension}>
          <span class="hint">
            {labelOf(
              catalog.dimensions.find(({ code }) => code === dimension),
              language,
            ) || dimension}
            :
          </span>
          {codes.map((code) => {
            const member = members[dimension]?.list.find((other) => String(other.code) === code)
            const rest = codes.filter((other) => other !== code)
            const { [dimension]: _gone, ...others } = question.filters
            const filters = rest.length === 0 ? others : { ...question.filters, [dimension]: rest }
            return (
              <a
                class="chip"
                key={code}
                href={questionHref(change(question, { filters }))}
                title={t.remove}
                aria-label={`${t.remove}: ${member?.name ?? code}`}
              >
                {member?.name ?? code} <span aria-hidden="true">×</span>
              </a>
            )
          })}
        </div>
      ))}
      {filterable.map((dimension) => {
        const reason = dimensionConflict(dimension, question, catalog, language)
        return (
          <details class="filter" key={dimension.code}>
            <summary>
              {labelOf(dimension, language)}
              {reason === null ? null : <span class="reason"> {reason}</span>}
            </summary>
            {reason === null ? <Members question={question} dimension={dimension} data={data} /> : null}
          </details>
        )
      })}
    </details>
  )
}

function Members(props: {
  readonly question: Question
  readonly dimension: Dimension
  readonly data: FormData
}) {
  const { question, dimension, data } = props
  const { t, isLive, api, go, language } = useSite()
  const questionHref = useQuestionHref()
  const [found, setFound] = useState<readonly Member[]>([])
  const chosen = question.filters[dimension.code] ?? []
  const { isWhole, list } = data.members[dimension.code] ?? { isWhole: false, list: [] }
  const name = `in.${dimension.code}`
  const label = labelOf(dimension, language)
  if (isWhole)
    return (
      <div class="options short">
        {list.map((member) => (
          <label class="check" key={String(member.code)}>
            <input
              type="checkbox"
              name={name}
              value={String(member.code)}
              checked={chosen.includes(String(member.code))}
            />{' '}
            {member.name ?? member.code}
          </label>
        ))}
      </div>
    )
  if (!isLive)
    return (
      <label class="choice">
        <span>{t.codes}</span>
        <input type="text" name={name} defaultValue={chosen.join(',')} />
      </label>
    )
  const search = async (text: string): Promise<void> => {
    if (text.trim().length < 2) return setFound([])
    const query = new URLSearchParams({ search: text.trim(), limit: '12' })
    try {
      const page = await api?.get<{ readonly data: readonly Member[] }>(
        `/v1/analytics/dimensions/${dimension.code}/values?${query}`,
      )
      setFound(page?.data ?? [])
    } catch {
      setFound([])
    }
  }
  return (
    <div>
      {chosen.length === 0 ? null : <input type="hidden" name={name} value={chosen.join(',')} />}
      <input
        type="search"
        aria-label={`${t.search}: ${label}`}
        placeholder={t.search}
        data-ignored
        onInput={(event) => void search(event.currentTarget.value)}
      />
      <ul class="found">
        {found.map((member) => (
          <li key={String(member.code)}>
            <button
              type="button"
              onClick={() => {
                const codes = [...new Set([...chosen, String(member.code)])]
                const filters = { ...question.filters, [dimension.code]: codes }
                go?.(questionHref(change(question, { filters })))
              }}
            >
              {member.name ?? member.code}
              {member.parent === undefined ? '' : ` (${member.parent.code})`}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
