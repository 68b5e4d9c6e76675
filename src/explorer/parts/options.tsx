/**
 * A list to choose from: searched by typing, walked by the arrow keys, closed by Escape. What cannot be chosen stands last,
 * disabled, under its reason. Its boxes are fields of the form around it, so that it works without a script.
 */
import { useState } from 'preact/hooks'
import { useSite } from './site.tsx'

export interface Option {
  readonly code: string
  readonly label: string
  /** What else it is found by, and shown as a tip. */
  readonly hint?: string | undefined
  /** Heading that it stands under. */
  readonly group?: string
  readonly isChosen: boolean
  /** Why it cannot be chosen; null where it can. */
  readonly reason: string | null
}

const SEARCH_FROM = 9
/** So many that cannot be chosen are shown at once. */
const SHOWN_MAX = 12

export function Options(props: {
  /** Field of the form; without it a change is told to `onToggle` alone. */
  readonly name?: string
  readonly label: string
  readonly list: readonly Option[]
  readonly onToggle?: (code: string) => void
}) {
  const { name, label, list, onToggle } = props
  const { t, isLive } = useSite()
  const [text, setText] = useState('')
  const isFound = (option: Option): boolean =>
    option.isChosen || matches(`${option.label} ${option.code} ${option.hint ?? ''}`, text)
  const open = list.filter(({ reason, isChosen }) => reason === null || isChosen)
  const closed = list.filter(({ reason, isChosen }) => reason !== null && !isChosen)
  const foundClosed = closed.filter(isFound)
  const groups = groupsOf(open, ({ group = '' }) => group)
  return (
    <div class="options" data-walk>
      {isLive && open.length > 0 && list.length >= SEARCH_FROM ? (
        <input
          type="search"
          aria-label={`${t.filterList}: ${label}`}
          placeholder={t.filterList}
          autocomplete="off"
          data-ignored
          onInput={(event) => setText(event.currentTarget.value)}
        />
      ) : null}
      <div class="boxes">
        {[...groups].map(([group, options]) => (
          <fieldset key={group} hidden={!options.some(isFound)}>
            <legend class={group === '' ? 'hidden' : undefined}>{group === '' ? label : group}</legend>
            {options.map((option) => (
              <label class="check" key={option.code} hidden={!isFound(option)} title={option.hint}>
                <input
                  type="checkbox"
                  {...(name === undefined ? { 'data-ignored': true } : { name })}
                  value={option.code}
                  checked={option.isChosen}
                  onChange={onToggle === undefined ? undefined : () => onToggle(option.code)}
                />
                <span>{option.label}</span>
              </label>
            ))}
          </fieldset>
        ))}
        {open.some(isFound) || foundClosed.length > 0 ? null : <p role="status">{t.nothingFound}</p>}
        {foundClosed.length === 0 ? null : (
          <details class="unavailable" open={text !== '' || closed.length <= SHOWN_MAX}>
            <summary>{t.unavailable(foundClosed.length)}</summary>
            <Unavailable list={foundClosed} />
          </details>
        )}
      </div>
    </div>
  )
}

/** Disabled boxes, each under the reason why. */
function Unavailable({ list }: { readonly list: readonly Option[] }) {
  return (
    <>
      {[...groupsOf(list, ({ reason }) => reason ?? '')].map(([reason, options]) => (
        <fieldset key={reason} disabled>
          <legend class="reason">{reason}</legend>
          {options.map(({ code, label }) => (
            <label class="check" key={code}>
              <input type="checkbox" value={code} disabled data-ignored />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
      ))}
    </>
  )
}

function groupsOf<Item>(list: readonly Item[], nameOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of list) {
    const name = nameOf(item)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}

/** Lower case without accents. */
export const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()

/** Every word of `text` begins a word of `name` or stands in it, accents or not, in any order. */
export function matches(name: string, text: string): boolean {
  // Lists of hundreds are drawn with every answer, and seldom searched.
  if (text === '') return true
  const folded = fold(name)
  return fold(text)
    .split(/\s+/)
    .every((word) => folded.includes(word))
}

/** Arrows go from box to box and back to the search; Enter in the search takes the first found; Escape closes the picker. */
export function walk(event: KeyboardEvent): void {
  const { key, target } = event
  if (!(target instanceof HTMLInputElement)) return
  const list = target.closest('[data-walk]')
  if (list === null) return
  const boxes = [...list.querySelectorAll<HTMLInputElement>('input[type=checkbox]:enabled')].filter(
    (box) => box.offsetParent !== null,
  )
  const at = boxes.indexOf(target)
  if (key === 'ArrowDown') boxes[at + 1]?.focus()
  else if (key === 'ArrowUp')
    (at > 0 ? boxes[at - 1] : list.querySelector<HTMLInputElement>('input[type=search]'))?.focus()
  else if (key === 'Enter' && at < 0) {
    if (target.value.trim() !== '') boxes.find(({ checked }) => !checked)?.click()
  } else if (key === 'Enter') target.click()
  else if (key === 'Escape') {
    const picker = target.closest<HTMLDetailsElement>('.picker > details')
    if (picker === null) return
    picker.open = false
    picker.querySelector('summary')?.focus()
  } else return
  event.preventDefault()
}
