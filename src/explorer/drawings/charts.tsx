/** Bar and line charts of an answer, drawn by the server and the browser. The table has the same numbers. */
import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { ANALYSIS_TEXTS, limitsOf } from '../analysis.ts'
import type { QueryRow } from '../api.ts'
import { formatMonth, formatShort } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import {
  Chart,
  type ChartProps,
  Legend,
  lastOf,
  leftMarginOf,
  NARROW,
  nameOfRow,
  type Series,
  type SeriesProps,
  type Size,
  seriesOf,
  shorten,
  type TimeAxis,
  useChart,
  valuesOf,
  WIDE,
} from './chart-parts.tsx'
import { labelledOf } from './periods.ts'

const BARS_MAX = 30
const SERIES_MAX = 8

/** Bars as a list, so that screen readers read the names and long names wrap. Only the bars are SVG, in percent of the width. */
export function Bars(props: ChartProps) {
  const { question, rows } = props
  const { t, language } = useSite()
  const { code, label, unit, show, showLimit } = useChart(props)
  const shown = rows.slice(0, BARS_MAX)
  const values = shown.flatMap((row) => [row.metrics[code] ?? 0, ...(limitsOf(row, code) ?? [])])
  const scale = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || 1])
    .range([0, 100])
  const zero = scale(0)
  return (
    <Chart label={label} unit={unit} limit={rows.length > BARS_MAX ? BARS_MAX : null}>
      <ol class="bars">
        {shown.map((row) => {
          const value = row.metrics[code] ?? null
          const at = scale(value ?? 0)
          return (
            <li key={JSON.stringify(row.dimensions)}>
              <span class="name">{nameOfRow(row, question.groupBy, language) || t.total}</span>
              <svg aria-hidden="true">
                {value === null ? null : (
                  <rect
                    x={`${Math.min(zero, at)}%`}
                    y="0"
                    width={`${Math.abs(at - zero)}%`}
                    height="100%"
                    class="bar"
                  />
                )}
                <Whisker row={row} metric={code} scale={scale} showLimit={showLimit} />
                <line x1={`${zero}%`} x2={`${zero}%`} y1="0" y2="100%" class="axis" />
              </svg>
              <span class={value === null ? 'value missing' : 'value'}>
                {value === null ? <abbr title={t.noDataLong}>{t.noData}</abbr> : show(value)}
              </span>
            </li>
          )
        })}
      </ol>
    </Chart>
  )
}

/** Confidence limits of a bar: a line from the lower to the upper limit, with ends. */
function Whisker(props: {
  readonly row: QueryRow
  readonly metric: string
  readonly scale: (value: number) => number
  readonly showLimit: (limit: number) => string
}) {
  const { row, metric, scale, showLimit } = props
  const { language } = useSite()
  const limits = limitsOf(row, metric)
  if (limits === null) return null
  const [from, to] = limits.map((limit) => `${scale(limit)}%`)
  return (
    <g class="whisker">
      <title>{ANALYSIS_TEXTS[language].limitsOf(showLimit(limits[0]), showLimit(limits[1]))}</title>
      <line x1={from} x2={to} y1="50%" y2="50%" />
      <line x1={from} x2={from} y1="25%" y2="75%" />
      <line x1={to} x2={to} y1="25%" y2="75%" />
    </g>
  )
}

export function Lines(props: SeriesProps) {
  const { question } = props
  const { t, language } = useSite()
  const { code, label, unit, show, showLimit } = useChart(props)
  const { axis, series } = seriesOf(props, { code, alone: label, language })
  const newestValue = ([, points]: Series): number => lastOf(points, axis.periods) ?? Number.NEGATIVE_INFINITY
  const shown = [...series]
    .sort((left, right) =>
      newestValue(left) === newestValue(right) ? 0 : newestValue(right) - newestValue(left),
    )
    .slice(0, SERIES_MAX)
  const isNamed = question.groupBy.length > 1
  const drawing = { label, axis, series: shown, show, showLimit, isNamed }
  return (
    <Chart label={label} unit={unit} limit={series.length > SERIES_MAX ? SERIES_MAX : null} areLargest>
      {valuesOf(shown).length === 0 ? (
        <p class="hint">{t.noDataLong}</p>
      ) : (
        <>
          <LinesDrawing {...drawing} size={WIDE} />
          <LinesDrawing {...drawing} size={NARROW} />
          {isNamed ? <Legend names={shown.map(([name]) => name)} /> : null}
        </>
      )}
    </Chart>
  )
}

/** Distance between whiskers of one period, in units of the drawing. */
const WHISKER_STEP = 5

function LinesDrawing(props: {
  readonly label: string
  readonly axis: TimeAxis
  readonly series: readonly Series[]
  readonly show: (value: number) => string
  readonly showLimit: (limit: number) => string
  readonly isNamed: boolean
  readonly size: Size
}) {
  const { label, axis, series, show, showLimit, isNamed, size } = props
  const { periods, course } = axis
  const { width, height, months, name: sizeName } = size
  const hasNames = isNamed && size.hasNames
  const { language } = useSite()
  const values = valuesOf(series)
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || 1])
    .nice(5)
    .range([height - size.margin.bottom, size.margin.top])
  const ticks = y.ticks(5).map((tick) => ({ tick, text: formatShort(tick, language) }))
  const margin = {
    ...size.margin,
    left: leftMarginOf(
      ticks.map(({ text }) => text),
      size.margin.left,
    ),
    right: hasNames ? size.margin.right : NARROW.margin.right,
  }
  const x = axis.scale(margin.left, width - margin.right)
  const draw = line<string>()
  const labelDistance = (width - margin.right - margin.left) / (months - 1)
  const ends = placeLabels(
    series.map(([, points]) => y(lastOf(points, periods) ?? 0)),
    height - margin.bottom,
  )
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} class={`lines ${sizeName}`}>
      {ticks.map(({ tick, text }) => (
        <g key={tick}>
          <line x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} class="grid" />
          <text x={margin.left - 8} y={y(tick) + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
      {labelledOf(periods, x, labelDistance).map((period) => (
        <text key={period} x={x(period)} y={height - 8} text-anchor="middle">
          {formatMonth(period, language)}
        </text>
      ))}
      {series.map(([name, points], index) => {
        const hasValue = (period: string): boolean => (points.get(period)?.value ?? null) !== null
        const heightOf = (period: string): number => y(points.get(period)?.value ?? 0)
        const path = draw.defined(hasValue).x(x).y(heightOf)(course)
        return (
          <g key={index} class={`series series-${index}`}>
            <path d={path ?? ''} />
            {periods.filter(hasValue).map((period) => {
              const { value = null, limits = null } = points.get(period) ?? {}
              const [lower, upper] = limits ?? [0, 0]
              // Whiskers of several lines stand side by side, so that each can be read.
              const at = x(period) + (index - (series.length - 1) / 2) * WHISKER_STEP
              const title = `${name}, ${formatMonth(period, language)}: ${show(value ?? 0)}`
              return (
                <g key={period}>
                  {limits === null ? null : (
                    <line class="whisker" x1={at} x2={at} y1={y(lower)} y2={y(upper)} />
                  )}
                  <circle cx={x(period)} cy={heightOf(period)} r="3">
                    <title>
                      {limits === null
                        ? title
                        : `${title}, ${ANALYSIS_TEXTS[language].limitsOf(showLimit(lower), showLimit(upper))}`}
                    </title>
                  </circle>
                </g>
              )
            })}
            {hasNames ? (
              <text x={width - margin.right + 10} y={(ends[index] ?? 0) + 4}>
                <title>{name}</title>
                {shorten(name, 26)}
              </text>
            ) : null}
          </g>
        )
      })}
    </svg>
  )
}

const LABEL_HEIGHT = 15
/** Moves labels apart so that none covers another. @returns their heights, in the order of the input */
function placeLabels(heights: readonly number[], bottom: number): number[] {
  const order = heights.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height)
  const placed: number[] = []
  let last = Number.NEGATIVE_INFINITY
  for (const { height, index } of order) {
    last = Math.max(height, last + LABEL_HEIGHT)
    placed[index] = last
  }
  // Labels that were pushed below the axis move up again, the lowest first.
  let next = bottom + LABEL_HEIGHT
  for (const { index } of order.toReversed()) {
    next = Math.min(placed[index] ?? 0, next - LABEL_HEIGHT)
    placed[index] = next
  }
  return placed
}
