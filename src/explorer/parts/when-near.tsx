/** Draws what takes time, such as a map of thousands of points, only once it comes near the view. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Distance from the view at which drawing begins. */
const NEAR = '300px'

/** @param draw draws the content, in the browser only */
export function WhenNear({ draw }: { readonly draw: () => ComponentChildren }) {
  const placeholder = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = placeholder.current
    if (element === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true)
      },
      { rootMargin: NEAR },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  if (isNear) return <>{draw()}</>
  return <div class="later" ref={placeholder} />
}
