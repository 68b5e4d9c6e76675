/**
 * A list of checkboxes with search, arrow keys and Escape. Options that cannot be chosen come last, disabled, under the reason. The
 * checkboxes are fields of the surrounding form, so they work without a script.
 */
import { useState } from 'preact/hooks'
import { useSite } from './site.tsx'

export interface Option {
  readonly code: string
  readonly label: string
  /** Tooltip, also searched. */
  readonly hint?: string | undefined
  readonly group?: string
  readonly isChosen: boolean
  /** Why the option cannot be chosen, or null. */
  readonly reason: string | null
}

const SEARCH_FROM = 9
/** Largest number of unavailable options that are expanded without a search. */
const SHOWN_MAX = 12

export function Options(props: {
  /** Form field. Without it, only `onToggle` learns of changes. */
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

export const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()

/** @returns whether `name` contains every word of `text`, in any order, ignoring case and accents */
export function matches(name: string, text: string): boolean {
  // Shortcut: lists of hundreds are drawn with every answer but rarely searched.
  if (text === '') return true
  const folded = fold(name)
  return fold(text)
    .split(/\s+/)
    .every((word) => folded.includes(word))
}

/** Handles keys: arrows move between boxes and the search, Enter in the search takes the first result, Escape closes the picker. */
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
