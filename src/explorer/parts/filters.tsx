/** Filters of a question: a search over all members, and a list for each dimension. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Api, type Dimension, type Member, searchMembers } from '../api.ts'
import { dimensionConflict } from '../conflicts.ts'
import { GROUP } from '../own-group.ts'
import { change, lookUp, type Question } from '../question.ts'
import { matches, type Option, Options } from './options.tsx'
import { type Mark, Picker } from './picker.tsx'
import type { FormData } from './question-form.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { dimensionOf, labelOf } from './table.tsx'

const WITH_SEPARATE_FIELDS = new Set(['reference_period', GROUP])
const SEARCH_MIN = 2
const FOUND_MAX = 8
/** Delay after typing, in milliseconds, because each dimension without a local list costs a request. */
const PAUSE_MS = 200

export function toggleFilter(
  filters: Question['filters'],
  dimension: string,
  code: string,
): Question['filters'] {
  const codes = lookUp(filters, dimension) ?? []
  const rest = codes.includes(code) ? codes.filter((other) => other !== code) : [...codes, code]
  const { [dimension]: _removed, ...others } = filters
  return rest.length === 0 ? others : { ...others, [dimension]: rest }
}

/** @returns the name of a member, with its state where the name lacks it, e.g. Bom Jesus (PI) */
export const memberText = ({ code, name, parent }: Member): string => {
  const uf = parent?.dimension.endsWith('state') && parent.code !== null ? String(parent.code) : ''
  const label = name ?? String(code)
  return uf === '' || label.endsWith(uf) ? label : `${label} (${uf})`
}

export function Filters({ question, data }: { readonly question: Question; readonly data: FormData }) {
  const { t, language, isLive } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, members } = data
  const [text, setText] = useState('')
  const filterable = catalog.dimensions.filter(({ code }) => !WITH_SEPARATE_FIELDS.has(code))
  const reasonOf = (dimension: Dimension): string | null =>
    dimensionConflict(dimension, question, catalog, language)
  const usable = filterable.filter((dimension) => reasonOf(dimension) === null)
  const marks = Object.entries(question.filters).flatMap(([dimension, codes]) =>
    codes.map((code): Mark => {
      const member = lookUp(members, dimension)?.list.find((other) => String(other.code) === code)
      return {
        key: `${dimension}:${code}`,
        label: `${labelOf(dimensionOf(catalog, dimension), language) || dimension}: ${member === undefined ? code : memberText(member)}`,
        without: questionHref(change(question, { filters: toggleFilter(question.filters, dimension, code) })),
      }
    }),
  )
  return (
    <Picker title={t.filters} emptyText={t.noFilter} marks={marks}>
      {isLive
        ? Object.entries(question.filters).map(([dimension, codes]) => (
            <input key={dimension} type="hidden" name={`in.${dimension}`} value={codes.join(',')} />
          ))
        : null}
      {isLive ? (
        <div data-walk>
          <input
            type="search"
            aria-label={t.filterSearch}
            placeholder={t.filterHint}
            autocomplete="off"
            data-ignored
            onInput={(event) => setText(event.currentTarget.value)}
          />
          {text.trim().length < SEARCH_MIN ? null : (
            <Found question={question} data={data} usable={usable} text={text.trim()} />
          )}
        </div>
      ) : null}
      <div class="dimensions" hidden={isLive && text.trim().length >= SEARCH_MIN}>
        {usable.map((dimension) => (
          <details class="filter" key={dimension.code}>
            <summary>{labelOf(dimension, language)}</summary>
            <Members question={question} dimension={dimension} data={data} />
          </details>
        ))}
        <Reasons dimensions={filterable} reasonOf={reasonOf} />
      </div>
    </Picker>
  )
}

function Reasons(props: {
  readonly dimensions: readonly Dimension[]
  readonly reasonOf: (dimension: Dimension) => string | null
}) {
  const { language, t } = useSite()
  const list = props.dimensions.flatMap((dimension): Option[] => {
    const reason = props.reasonOf(dimension)
    const label = labelOf(dimension, language)
    return reason === null ? [] : [{ code: dimension.code, label, isChosen: false, reason }]
  })
  return list.length === 0 ? null : <Options label={t.filters} list={list} />
}

/** @param names codes of dimensions, separated by commas; none when every list is local @returns members found, by dimension */
export async function searchDimensions(
  api: Api,
  names: string,
  text: string,
): Promise<Readonly<Record<string, readonly Member[]>>> {
  const dimensions = names.split(',').filter((dimension) => dimension !== '')
  const found = await Promise.all(
    dimensions.map(async (dimension) => {
      // Ignore dimensions that the key may not read or the release lacks.
      const members = await searchMembers(api, dimension, { text, limit: FOUND_MAX }).catch(() => [])
      return [dimension, members] as const
    }),
  )
  return Object.fromEntries(found)
}

/** Finds members of every dimension by words, in local lists or through the API. */
function Found(props: {
  readonly question: Question
  readonly data: FormData
  readonly usable: readonly Dimension[]
  readonly text: string
}) {
  const { question, data, usable, text } = props
  const { t, api, language } = useSite()
  const [remote, setRemote] = useState<Readonly<Record<string, readonly Member[]>> | null>(null)
  const searchedRemotely = usable.filter(({ code }) => data.members[code]?.isWhole !== true)
  const names = searchedRemotely.map(({ code }) => code).join()
  useEffect(() => {
    let isCurrent = true
    setRemote(null)
    const timer = setTimeout(() => {
      void (api === undefined ? Promise.resolve({}) : searchDimensions(api, names, text)).then((found) => {
        if (isCurrent) setRemote(found)
      })
    }, PAUSE_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, names, api])
  const groups = usable.flatMap((dimension) => {
    const { isWhole = false, list = [] } = data.members[dimension.code] ?? {}
    const found = isWhole
      ? list.filter(({ code, name }) => matches(`${name ?? ''} ${code}`, text)).slice(0, FOUND_MAX)
      : (remote?.[dimension.code] ?? [])
    return found.length === 0 ? [] : [{ dimension, found: found.filter(({ code }) => code !== null) }]
  })
  return (
    <div class="boxes found" aria-busy={remote === null}>
      {groups.map(({ dimension, found }) => (
        <fieldset key={dimension.code}>
          <legend>{labelOf(dimension, language)}</legend>
          <Boxes question={question} dimension={dimension.code} members={found} />
        </fieldset>
      ))}
      {groups.length > 0 ? null : <p role="status">{remote === null ? t.loading : t.nothingFound}</p>}
    </div>
  )
}

function Boxes(props: {
  readonly question: Question
  readonly dimension: string
  readonly members: readonly Member[]
}) {
  const { question, dimension, members } = props
  const toggle = useToggle(question, dimension)
  const chosen = lookUp(question.filters, dimension) ?? []
  return (
    <>
      {members.map((member) => (
        <label class="check" key={String(member.code)}>
          <input
            type="checkbox"
            data-ignored
            value={String(member.code)}
            checked={chosen.includes(String(member.code))}
            onChange={() => toggle(String(member.code))}
          />
          <span>{memberText(member)}</span>
        </label>
      ))}
    </>
  )
}

/** Toggles a member of the question. Several toggles before the page updates all count. */
function useToggle(question: Question, dimension: string): (code: string) => void {
  const { go } = useSite()
  const questionHref = useQuestionHref()
  const latest = useRef(question)
  useEffect(() => {
    latest.current = question
  }, [question])
  return (code) => {
    const filters = toggleFilter(latest.current.filters, dimension, code)
    latest.current = change(latest.current, { filters })
    go?.(questionHref(latest.current))
  }
}

function Members(props: {
  readonly question: Question
  readonly dimension: Dimension
  readonly data: FormData
}) {
  const { question, dimension, data } = props
  const { t, isLive, language } = useSite()
  const toggle = useToggle(question, dimension.code)
  const chosen = lookUp(question.filters, dimension.code) ?? []
  const { isWhole, list } = data.members[dimension.code] ?? { isWhole: false, list: [] }
  const name = `in.${dimension.code}`
  if (isWhole)
    return (
      <Options
        {...(isLive ? { onToggle: toggle } : { name })}
        label={labelOf(dimension, language)}
        list={list.map((member) => ({
          code: String(member.code),
          label: memberText(member),
          isChosen: chosen.includes(String(member.code)),
          reason: null,
        }))}
      />
    )
  if (isLive) return <p class="hint">{t.searchAbove}</p>
  return (
    <label class="choice">
      <span>{t.codes}</span>
      <input type="text" name={name} defaultValue={chosen.join(',')} />
    </label>
  )
}
