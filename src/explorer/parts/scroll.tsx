/** A frame that scrolls sideways, for tables and code wider than the page. The keyboard can focus it. */
import type { ComponentChildren } from 'preact'

export function Scroll(props: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to focus the frame to scroll it.
    <section class="scroll" aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  )
}
