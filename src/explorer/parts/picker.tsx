/** A section of the question form: title, chosen items as removable marks, and a list to choose from. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
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
