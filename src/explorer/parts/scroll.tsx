/** A frame that scrolls sideways, for tables and code that are wider than the page; the keyboard reaches it. */
import type { ComponentChildren } from 'preact'

export function Scroll(props: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who scrolls by keyboard has to reach what scrolls.
    <section class="scroll" aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  )
}
