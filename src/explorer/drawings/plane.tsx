/** Points in a plane with two axes: what the scatter plot and the funnel plot share. */
import { type ScaleContinuousNumeric, scaleLinear, scaleLog } from 'd3-scale'
import type { ComponentChildren } from 'preact'
import { formatShort } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { type Size, shorten } from './chart-parts.tsx'

export type Axis = ScaleContinuousNumeric<number, number>

const MARGIN = { top: 26, right: 16, bottom: 44, left: 58 }
const TICKS = { 'wide-screen': 9, narrow: 5 } as const
const TITLE_LETTERS = { 'wide-screen': 90, narrow: 44 } as const

/** @returns range of the horizontal and of the vertical axis */
export const rangesOf = ({
  width,
  height,
}: Size): { readonly x: [number, number]; readonly y: [number, number] } => ({
  x: [MARGIN.left, width - MARGIN.right],
  y: [height - MARGIN.bottom, MARGIN.top],
})

/** Values above zero that differ by more than this factor stand on a logarithmic axis; the small ones would be one heap otherwise. */
const LINEAR_MAX = 100

export const isLogarithmic = (values: readonly number[]): boolean =>
  values.length > 0 && Math.min(...values) > 0 && Math.max(...values) > LINEAR_MAX * Math.min(...values)

/** @returns an axis from the smallest to the largest value, or around a single one; a linear one from 0 with `hasZero` */
export function axisOf(
  values: readonly number[],
  range: readonly [number, number],
  { hasZero = false } = {},
): Axis {
  const all = values.length === 0 ? [0, 1] : values
  const [low, high] = [Math.min(...all), Math.max(...all)]
  if (isLogarithmic(values)) return scaleLog([low / 1.1, high * 1.1], range)
  const from = hasZero ? Math.min(0, low) : low
  return scaleLinear(from < high ? [from, high] : [from - 1, high + 1], range).nice()
}

export function Plane(props: {
  readonly label: string
  readonly x: Axis
  readonly y: Axis
  readonly xTitle: string
  readonly yTitle: string
  readonly size: Size
  /** Height below the axis for a key. */
  readonly foot?: number
  readonly children: ComponentChildren
}) {
  const { label, x, y, xTitle, yTitle, size, foot = 0, children } = props
  const { language } = useSite()
  const { width, height, name } = size
  const letters = TITLE_LETTERS[name]
  const bottom = height - MARGIN.bottom
  return (
    <svg
      viewBox={`0 0 ${width} ${height + foot}`}
      role="img"
      aria-label={label}
      class={`lines plane ${name}`}
    >
      <text x="4" y="14" class="axis-title">
        {shorten(yTitle, letters)}
      </text>
      <text x={width - MARGIN.right} y={height - 6} text-anchor="end" class="axis-title">
        {shorten(xTitle, letters)}
      </text>
      {y.ticks(6).map((tick) => (
        <g key={tick}>
          <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} class="grid" />
          <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
            {formatShort(tick, language)}
          </text>
        </g>
      ))}
      {ticksOf(x, TICKS[name]).map((tick) => (
        <g key={tick}>
          <line x1={x(tick)} x2={x(tick)} y1={MARGIN.top} y2={bottom} class="grid" />
          <text
            x={x(tick)}
            y={bottom + 16}
            text-anchor={x(tick) > width - TICK_LABEL_WIDTH / 2 ? 'end' : 'middle'}
          >
            {formatShort(tick, language)}
          </text>
        </g>
      ))}
      {children}
    </svg>
  )
}

/** Width of a label such as 200 mil; nearer to the edge it ends at its tick. */
const TICK_LABEL_WIDTH = 50

/** First digits of the ticks of a logarithmic scale, fewer where there is less space. */
const FIRST_DIGITS = ['123456789', '125', '13', '1']

/** @returns ticks that have space; of the ten for each power that a logarithmic scale offers, those with round first digits */
function ticksOf(axis: Axis, count: number): number[] {
  const sets =
    'base' in axis
      ? FIRST_DIGITS.map((digits) =>
          axis.ticks(count).filter((tick) => digits.includes(tick.toExponential()[0] ?? '')),
        )
      : Array.from({ length: count }, (_, fewer) => axis.ticks(count - fewer))
  return sets.find((set) => set.length <= count + 1) ?? sets.at(-1) ?? []
}
