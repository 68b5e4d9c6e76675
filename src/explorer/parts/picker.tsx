/** One part of a question: its title, what is chosen as marks that can be taken away, and the place to choose. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useSite } from './site.tsx'

export interface Mark {
  readonly key: string
  readonly label: string
  /** The question without it. */
  readonly without: string
  /** The question with it one place further to the front, where order counts. */
  readonly before?: string | undefined
}

export function Picker(props: {
  readonly title: string
  /** Shown where nothing is chosen. */
  readonly nothing: string
  readonly marks: readonly Mark[]
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}) {
  const { title, nothing, marks, isOpen = false, children } = props
  const { t } = useSite()
  // Only at first: choosing must not close the list under the pointer.
  const [wasOpen] = useState(isOpen)
  return (
    <div class="picker">
      <h2>{title}</h2>
      {marks.length === 0 ? (
        <p class="nothing">{nothing}</p>
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
