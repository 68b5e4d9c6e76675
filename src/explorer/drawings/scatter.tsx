/** A scatter plot of two metrics, the size of the points by a third. Drawn by the server and the browser; the table has the same numbers. */
import { scaleSqrt } from 'd3-scale'
import { codeOf, type QueryRow } from '../api.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatNumber } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import { Chart, type ChartProps, NARROW, nameOfRow, type Size, WIDE } from './chart-parts.tsx'
import { axisOf, isLogarithmic, Plane, rangesOf } from './plane.tsx'
import { CHART_TEXTS } from './texts.ts'

const RADIUS = 4
/** Radius of points that are so many that they would cover each other. */
const MANY = { points: 500, radius: 2.5 }
const RADIUS_MAX = 18
/** Points up to which a short code, such as that of a state, stands at each. */
const NAMED_MAX = 30
const CODE_LETTERS_MAX = 2
const CODE_WIDTH = 20
const CODE_HEIGHT = 12

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
    const unit = unitOutsideLabel(metric, language)
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
    <Chart label={label} metric={undefined} limit={null}>
      <ScatterDrawing {...drawing} size={WIDE} />
      <ScatterDrawing {...drawing} size={NARROW} />
      <p class="hint">
        {texts.points(count(dots.length))}.{' '}
        {dots.length === rows.length ? '' : `${texts.missing(count(rows.length - dots.length))} `}
        {third === undefined ? '' : `${texts.size(third.title)}.`}
      </p>
    </Chart>
  )
}

function shortCodeOf(row: QueryRow, groupBy: readonly string[]): string {
  const code = groupBy.length === 1 ? codeOf(row.dimensions[groupBy[0] ?? '']) : ''
  return code.length <= CODE_LETTERS_MAX ? code : ''
}

function ScatterDrawing(props: {
  readonly label: string
  readonly dots: readonly Dot[]
  readonly xTitle: string
  readonly yTitle: string
  readonly size: Size
}) {
  const { label, dots, xTitle, yTitle, size } = props
  const ranges = rangesOf(size)
  const [xValues, yValues] = [dots.map((dot) => dot.x), dots.map((dot) => dot.y)]
  const x = axisOf(xValues, ranges.x)
  const y = axisOf(yValues, ranges.y)
  const radius = scaleSqrt()
    .domain([0, Math.max(...dots.map((dot) => dot.size ?? 0)) || 1])
    .range([1, RADIUS_MAX])
  const plain = dots.length > MANY.points ? MANY.radius : RADIUS
  // Large points first, so that none hides a smaller one.
  const drawn = dots.some((dot) => dot.size !== null)
    ? [...dots].sort((left, right) => (right.size ?? 0) - (left.size ?? 0))
    : dots
  return (
    <Plane label={label} x={x} y={y} xTitle={xTitle} yTitle={yTitle} size={size}>
      {drawn.map((dot, index) => (
        <circle
          key={index}
          cx={x(dot.x).toFixed(1)}
          cy={y(dot.y).toFixed(1)}
          r={dot.size === null ? plain : radius(Math.max(0, dot.size)).toFixed(1)}
          class="dot"
        >
          <title>{dot.text}</title>
        </circle>
      ))}
      {namedOf(dots, x, y).map(({ code, left, top }) => (
        <text key={code} x={left} y={top}>
          {code}
        </text>
      ))}
    </Plane>
  )
}

interface Named {
  readonly code: string
  readonly left: number
  readonly top: number
}

/** @returns where the codes of a few points stand; a code that would cover another is left out */
function namedOf(
  dots: readonly Dot[],
  x: (value: number) => number,
  y: (value: number) => number,
): readonly Named[] {
  if (dots.length > NAMED_MAX) return []
  const placed: Named[] = []
  for (const dot of dots) {
    const [left, top] = [x(dot.x) + RADIUS + 2, y(dot.y) - RADIUS]
    const isFree = placed.every(
      (other) => Math.abs(other.left - left) > CODE_WIDTH || Math.abs(other.top - top) > CODE_HEIGHT,
    )
    if (isFree && dot.code !== '') placed.push({ code: dot.code, left, top })
  }
  return placed
}
