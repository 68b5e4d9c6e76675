/** Small drawings beside numbers: the course of a value, and its place among others. Drawn on the server as well as in the browser. */
import type { ProfileIndicator } from '../api-profiles.ts'
import { formatMonth, formatMonths, formatNumber } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'

const WIDTH = 132
const COURSE_HEIGHT = 30
const STRIP_HEIGHT = 18
const EDGE = 4

/** @returns a position between both edges of a drawing; the middle where all values are equal */
function scaleTo(value: number, low: number, high: number, length: number): number {
  if (high <= low) return length / 2
  const position = EDGE + ((value - low) / (high - low)) * (length - 2 * EDGE)
  return Math.round(position * 10) / 10
}

/**
 * The course of a value as a line above its first and last month; months without a value interrupt it. On a scale that other
 * places share, the line stands alone, and a flat one says how high the value is.
 */
export function Course(props: {
  readonly points: readonly { readonly period: string; readonly value: number | null }[]
  readonly decimals: number
  readonly isYearly: boolean
  /** Values at the lower and upper edge; those of the course itself without it. */
  readonly range?: readonly [number, number]
}) {
  const { t, language } = useSite()
  const { points, decimals, isYearly, range } = props
  const measured = points.flatMap(({ period, value }, index) =>
    value === null ? [] : [{ period, value, index }],
  )
  const [first] = measured
  const last = measured.at(-1)
  if (first === undefined || last === undefined || measured.length < 2) return null
  const values = measured.map(({ value }) => value)
  const span = isYearly
    ? `${first.period.slice(0, 4)}–${last.period.slice(0, 4)}`
    : formatMonths(first.period, last.period, language)
  if (range === undefined && values.every((value) => value === first.value))
    return (
      <>
        <span class="unit course-months">{t.profile.noChange},</span>{' '}
        <span class="unit course-months">{span}</span>
      </>
    )
  const [low, high] = range ?? [Math.min(...values), Math.max(...values)]
  const at = ({ index, value }: { readonly index: number; readonly value: number }): string =>
    `${scaleTo(index, 0, points.length - 1, WIDTH)},${scaleTo(high + low - value, low, high, COURSE_HEIGHT)}`
  const runs: string[][] = []
  for (const [position, point] of measured.entries()) {
    if (position > 0 && measured[position - 1]?.index === point.index - 1) runs.at(-1)?.push(at(point))
    else runs.push([at(point)])
  }
  const nameOf = (period: string): string => (isYearly ? period.slice(0, 4) : formatMonth(period, language))
  const text = t.profile.courseText(
    formatNumber(first.value, decimals, language),
    nameOf(first.period),
    formatNumber(last.value, decimals, language),
    nameOf(last.period),
  )
  const [x, y] = at(last).split(',')
  return (
    <>
      <svg class="course" viewBox={`0 0 ${WIDTH} ${COURSE_HEIGHT}`} role="img" aria-label={text}>
        <title>{text}</title>
        {runs.map((run) => (
          <polyline key={run[0]} points={run.length === 1 ? `${run[0]} ${run[0]}` : run.join(' ')} />
        ))}
        <circle cx={x} cy={y} r="3" />
      </svg>
      {range === undefined ? <span class="unit course-months">{span}</span> : null}
    </>
  )
}

/** A value with its limits on a scale that it shares with other places. The numbers stand beside it. */
export function Limits(props: {
  readonly value: number
  readonly lower: number
  readonly upper: number
  readonly range: readonly [number, number]
}) {
  const { value, lower, upper, range } = props
  const x = (number: number): number => scaleTo(number, range[0], range[1], WIDTH)
  const middle = STRIP_HEIGHT / 2
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${STRIP_HEIGHT}`} aria-hidden="true">
      <line class="axis" x1={EDGE} x2={WIDTH - EDGE} y1={middle} y2={middle} />
      <rect class="band" x={x(lower)} y={middle - 4} width={Math.max(1, x(upper) - x(lower))} height="8" />
      <circle cx={x(value)} cy={middle} r="4" />
    </svg>
  )
}

/** The place of a value among those of all places: the line holds 90 percent of them, the band the middle half. */
export function Strip(props: {
  readonly value: number
  readonly peers: NonNullable<ProfileIndicator['peers']>
  readonly decimals: number
}) {
  const { t, language } = useSite()
  const { value, peers, decimals } = props
  const { p05, p25, p50, p75, p95 } = peers.distribution
  const low = Math.min(p05, value)
  const high = Math.max(p95, value)
  const x = (number: number): number => scaleTo(number, low, high, WIDTH)
  const show = (number: number): string => formatNumber(number, decimals, language)
  const text = t.profile.stripText(show(p50), show(p25), show(p75))
  const middle = STRIP_HEIGHT / 2
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${STRIP_HEIGHT}`} role="img" aria-label={text}>
      <title>{text}</title>
      <line class="axis" x1={x(p05)} x2={x(p95)} y1={middle} y2={middle} />
      <rect class="band" x={x(p25)} y={middle - 4} width={Math.max(1, x(p75) - x(p25))} height="8" />
      <line class="median" x1={x(p50)} x2={x(p50)} y1={middle - 6} y2={middle + 6} />
      <circle cx={x(value)} cy={middle} r="4" />
    </svg>
  )
}
