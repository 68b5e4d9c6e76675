/** Parts of the question form: a section with chosen items as removable marks, and a list with one choice. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { lookUp } from '../question.ts'
import { useSite } from './site.tsx'

export interface Mark {
  readonly key: string
  readonly label: string
  /** Address of the question without the item. */
  readonly without: string
  /** Address of the question with the item moved one place forward, when the order matters. */
  readonly before?: string | undefined
}

export function Picker(props: {
  readonly title: string
  readonly emptyText: string
  readonly marks: readonly Mark[]
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}) {
  const { title, emptyText, marks, isOpen = false, children } = props
  const { t } = useSite()
  // Keep the initial state, because choosing must not close the list under the pointer.
  const [wasOpen] = useState(isOpen)
  return (
    <div class="picker">
      <h2>{title}</h2>
      {marks.length === 0 ? (
        <p class="nothing">{emptyText}</p>
      ) : (
        <ul class="marks" aria-label={title}>
          {marks.map(({ key, label, without, before }) => (
            <li key={key} class="mark">
              {before === undefined ? null : (
                <a href={before} title={t.moveBefore}>
                  <span aria-hidden="true">‹</span>
                  <span class="hidden">{`${t.moveBefore}: ${label}`}</span>
                </a>
              )}
              <span>{label}</span>
              <a href={without} title={t.remove}>
                <span aria-hidden="true">×</span>
                <span class="hidden">{`${t.remove}: ${label}`}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      <details open={wasOpen}>
        <summary>
          {t.choose} <span class="hidden">{title}</span>
        </summary>
        {children}
      </details>
    </div>
  )
}

/** A list with one choice. Choices that do not go with the question are disabled, with the reason. */
export function Choice(props: {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
  readonly reason?: string | null
  readonly without?: Readonly<Record<string, string>>
}) {
  const { name, label, value, options, reason = null, without = {} } = props
  // A value that is no longer offered, such as a removed release, stays visible until it is replaced.
  const allOptions = Object.hasOwn(options, value) ? options : { ...options, [value]: value }
  const hintId = `why-${name}`
  return (
    <label class="choice">
      <span>{label}</span>
      <select name={name} disabled={reason !== null} aria-describedby={reason === null ? undefined : hintId}>
        {Object.entries(allOptions).map(([code, text]) => {
          const disabledReason = code === value ? undefined : lookUp(without, code)
          return (
            <option key={code} value={code} selected={code === value} disabled={disabledReason !== undefined}>
              {disabledReason === undefined ? text : `${text} (${disabledReason})`}
            </option>
          )
        })}
      </select>
      {reason === null ? null : (
        <span class="reason" id={hintId}>
          {reason}
        </span>
      )}
    </label>
  )
}
