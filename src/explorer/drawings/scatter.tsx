/** A scatter plot of two metrics, the size of the points by a third. Drawn by the server and the browser; the table has the same numbers. */
import { scaleSqrt } from 'd3-scale'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatNumber, formatShort } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import {
  Chart,
  type ChartProps,
  NARROW,
  nameOfRow,
  type Size,
  shortCodeOf,
  shorten,
  WIDE,
} from './chart-parts.tsx'
import { axisOf, isLogarithmic, Plane, rangesOf } from './plane.tsx'
import { CHART_TEXTS } from './texts.ts'

const RADIUS = 4
/** Radius of points that are so many that they would cover each other. */
const MANY = { points: 500, radius: 2.5 }
const RADIUS_MAX = 18
/** Points up to which a short code, such as that of a state, stands at each. */
const NAMED_MAX = 30
/** Space of a code. */
const CODE = { width: 18, height: 12 }
/** Distances of a code from the edge of its point; a line leads to it where it is not near. */
const GAPS = [2, 12, 24] as const
/** Directions of a code from its point, the usual one first. */
const DIRECTIONS = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [0.7, -0.7],
  [-0.7, -0.7],
  [0.7, 0.7],
  [-0.7, 0.7],
] as const
/** Parts of the largest size that the key shows, rounded. */
const KEY_PARTS = [0.04, 0.25, 1] as const
const KEY_HEIGHT = 64
const KEY_LEFT = 8
const KEY_LETTERS = { 'wide-screen': 100, narrow: 50 } as const

interface Dot {
  readonly x: number
  readonly y: number
  readonly size: number | null
  readonly text: string
  /** Short code of the row; '' where it has none. */
  readonly code: string
}

export function Scatter(props: ChartProps) {
  const { question, catalog, rows } = props
  const { t, language } = useSite()
  const texts = CHART_TEXTS[language]
  const [first, second, third] = question.metrics.map((code) => {
    const metric = metricOf(catalog, code)
    const unit = unitOutsideLabel(metric, language, question.analysis.prices)
    return {
      code,
      title: `${labelOf(metric, language)}${unit === '' ? '' : ` (${unit})`}`,
      show: (value: number): string => formatNumber(value, metric?.decimals ?? 0, language),
    }
  })
  if (first === undefined || second === undefined) return null
  const dots = rows.flatMap((row): Dot[] => {
    const [x = null, y = null] = [row.metrics[first.code], row.metrics[second.code]]
    if (x === null || y === null) return []
    const size = third === undefined ? null : (row.metrics[third.code] ?? null)
    const parts = [
      `${first.title}: ${first.show(x)}`,
      `${second.title}: ${second.show(y)}`,
      ...(third === undefined ? [] : [`${third.title}: ${size === null ? t.noData : third.show(size)}`]),
    ]
    const name = nameOfRow(row, question.groupBy, language) || t.total
    return [{ x, y, size, text: `${name}. ${parts.join('; ')}`, code: shortCodeOf(row, question.groupBy) }]
  })
  const label = texts.scatter(first.title, second.title)
  const count = (value: number): string => formatNumber(value, 0, language)
  const titleOf = (title: string, values: readonly number[]): string =>
    isLogarithmic(values) ? `${title}, ${texts.logarithmic}` : title
  const drawing = {
    label,
    dots,
    sizeTitle: third === undefined ? '' : texts.size(third.title),
    xTitle: titleOf(
      first.title,
      dots.map((dot) => dot.x),
    ),
    yTitle: titleOf(
      second.title,
      dots.map((dot) => dot.y),
    ),
  }
  return (
    <Chart label={label} unit="" limit={null}>
      <ScatterDrawing {...drawing} size={WIDE} />
      <ScatterDrawing {...drawing} size={NARROW} />
      <p class="hint">
        {texts.points(count(dots.length))}.{' '}
        {dots.length === rows.length ? '' : `${texts.missing(count(rows.length - dots.length))} `}
        {third === undefined ? null : <span class="hidden">{texts.size(third.title)}.</span>}
      </p>
    </Chart>
  )
}

function ScatterDrawing(props: {
  readonly label: string
  readonly dots: readonly Dot[]
  readonly xTitle: string
  readonly yTitle: string
  /** Title of the sizes; '' where all points are alike. */
  readonly sizeTitle: string
  readonly size: Size
}) {
  const { label, dots, xTitle, yTitle, sizeTitle, size } = props
  const ranges = rangesOf(size)
  const [xValues, yValues] = [dots.map((dot) => dot.x), dots.map((dot) => dot.y)]
  const x = axisOf(xValues, ranges.x)
  const y = axisOf(yValues, ranges.y)
  const largest = Math.max(0, ...dots.map((dot) => dot.size ?? 0))
  const radius = scaleSqrt()
    .domain([0, largest || 1])
    .range([1, RADIUS_MAX])
  const plain = dots.length > MANY.points ? MANY.radius : RADIUS
  // Large points first, so that none hides a smaller one and the large ones get their codes.
  const drawn = [...dots]
    .sort((left, right) => (right.size ?? 0) - (left.size ?? 0))
    .map(
      (dot): Circle => ({
        ...dot,
        left: x(dot.x),
        top: y(dot.y),
        radius: dot.size === null ? plain : radius(Math.max(0, dot.size)),
      }),
    )
  const hasKey = sizeTitle !== '' && largest > 0
  return (
    <Plane
      label={label}
      x={x}
      y={y}
      xTitle={xTitle}
      yTitle={yTitle}
      size={size}
      foot={hasKey ? KEY_HEIGHT : 0}
    >
      {drawn.map((dot, index) => (
        <circle
          key={index}
          cx={dot.left.toFixed(1)}
          cy={dot.top.toFixed(1)}
          r={dot.radius.toFixed(1)}
          class="dot"
        >
          <title>{dot.text}</title>
        </circle>
      ))}
      {placeCodes(drawn, ranges).map(({ code, left, top, from }) => (
        <g key={code}>
          {from === null ? null : <line x1={from.left} y1={from.top} x2={left} y2={top} class="leader" />}
          <text x={left} y={top + 4} text-anchor="middle" class="code">
            {code}
          </text>
        </g>
      ))}
      {hasKey ? <SizeKey title={sizeTitle} largest={largest} radius={radius} size={size} /> : null}
    </Plane>
  )
}

/** Circles of three round sizes with their values. */
function SizeKey(props: {
  readonly title: string
  readonly largest: number
  readonly radius: (value: number) => number
  readonly size: Size
}) {
  const { title, largest, radius, size } = props
  const { language } = useSite()
  const values = [...new Set(KEY_PARTS.map((part) => roundBelow(part * largest)))]
  const step = (size.width - KEY_LEFT * 2) / 4
  return (
    <g>
      <text x={KEY_LEFT} y={size.height + 14}>
        {shorten(title, KEY_LETTERS[size.name])}
      </text>
      {values.map((value, index) => (
        <g
          key={value}
          transform={`translate(${KEY_LEFT + RADIUS_MAX + index * Math.min(step, 110)} ${size.height + 42})`}
        >
          <circle r={radius(value).toFixed(1)} class="dot" />
          <text x={radius(value) + 5} y="4">
            {formatShort(value, language)}
          </text>
        </g>
      ))}
    </g>
  )
}

/** @returns the largest of 1, 2 and 5 times a power of ten that is not above a value */
function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([5, 2].find((first) => first * power <= value) ?? 1) * power
}

interface Circle extends Dot {
  readonly left: number
  readonly top: number
  readonly radius: number
}

interface PlacedCode {
  readonly code: string
  /** Middle of the code. */
  readonly left: number
  readonly top: number
  /** The point, where a line begins; null where the code is near. */
  readonly from: { readonly left: number; readonly top: number } | null
}

/** @param circles in the order in which they get their codes @returns where codes cover neither each other nor a point; a code without such a place is left out */
function placeCodes(
  circles: readonly Circle[],
  ranges: { readonly x: readonly [number, number]; readonly y: readonly [number, number] },
): readonly PlacedCode[] {
  if (circles.length > NAMED_MAX) return []
  const [halfWidth, halfHeight] = [CODE.width / 2, CODE.height / 2]
  const placed: PlacedCode[] = []
  const isFree = (left: number, top: number): boolean =>
    left - halfWidth > ranges.x[0] &&
    left + halfWidth < ranges.x[1] &&
    top - halfHeight > ranges.y[1] - CODE.height &&
    top + halfHeight < ranges.y[0] &&
    placed.every(
      (other) => Math.abs(other.left - left) > CODE.width || Math.abs(other.top - top) > CODE.height,
    ) &&
    circles.every((other) => {
      const across = Math.max(0, Math.abs(other.left - left) - halfWidth)
      const down = Math.max(0, Math.abs(other.top - top) - halfHeight)
      return Math.hypot(across, down) >= other.radius
    })
  for (const { code, left, top, radius } of circles) {
    if (code === '') continue
    const places = GAPS.flatMap((gap) =>
      DIRECTIONS.map(
        ([right, below]): PlacedCode => ({
          code,
          left: left + right * (radius + gap + halfWidth),
          top: top + below * (radius + gap + halfHeight),
          from: gap === GAPS[0] ? null : { left, top },
        }),
      ),
    )
    const found = places.find((place) => isFree(place.left, place.top))
    if (found !== undefined) placed.push(found)
  }
  return placed
}
