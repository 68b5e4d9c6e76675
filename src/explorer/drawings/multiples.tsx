/** Small multiples: one course for each row on the same scale, drawn by the server and the browser. The table has the same numbers. */
import { scaleLinear } from 'd3-scale'
import { area, line } from 'd3-shape'
import { formatMonth, formatShort } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import {
  Chart,
  leftMarginOf,
  NARROW,
  newestOf,
  type Points,
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
import { CHART_TEXTS } from './texts.ts'

const PANELS_MAX = 24
/** Letters that fit above a panel. */
const LETTERS = 20
const PANEL = { height: 132, top: 34, bottom: 18, gap: 14 }
/** Letters of a value up to which it stands in full at the ends of its course. */
const VALUE_MAX = 9
const LEFT = 44

export function SmallMultiples(props: SeriesProps) {
  const { language } = useSite()
  const { code, label, unit, show } = useChart(props)
  const { axis, series } = seriesOf(props, { code, alone: label, language })
  const shown = series.slice(0, PANELS_MAX)
  const isCompared = shown.some(([, points]) =>
    [...points.values()].some(({ comparator }) => comparator !== null),
  )
  const drawing = { label, axis, series: shown, show }
  return (
    <Chart label={label} unit={unit} limit={series.length > PANELS_MAX ? PANELS_MAX : null}>
      <Panels {...drawing} size={WIDE} />
      <Panels {...drawing} size={NARROW} />
      {isCompared ? <p class="hint">{CHART_TEXTS[language].comparator}</p> : null}
    </Chart>
  )
}

/** @returns a number of columns that leaves no panel alone in the last row, where there is one */
const columnsOf = (panels: number): number =>
  panels % 4 !== 0 && (panels % 3 === 0 || panels % 4 === 1) ? 3 : 4

/** @returns the first and the last period with a value, or the only one */
function endsOf(points: Points, periods: readonly string[]): readonly string[] {
  const measured = periods.filter((period) => (points.get(period)?.value ?? null) !== null)
  return [...new Set([...measured.slice(0, 1), ...measured.slice(-1)])]
}

function Panels(props: {
  readonly label: string
  readonly axis: TimeAxis
  readonly series: readonly Series[]
  readonly show: (value: number) => string
  readonly size: Size
}) {
  const { label, axis, series, show, size } = props
  const { periods, course } = axis
  const { t, language } = useSite()
  const columns = size.name === 'narrow' ? 2 : columnsOf(series.length)
  const compared = series.flatMap(([, points]) =>
    [...points.values()].flatMap(({ comparator }) => comparator ?? []),
  )
  const values = [...valuesOf(series), ...compared]
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || 1])
    .nice(3)
    .range([PANEL.height - PANEL.bottom, PANEL.top + 6])
  const left = leftMarginOf(
    y.ticks(3).map((tick) => formatShort(tick, language)),
    LEFT,
  )
  const width = (size.width - left) / columns
  const inner = width - PANEL.gap
  const x = axis.scale(4, inner - 4)
  const [first = '', last = ''] = [periods[0], periods.at(-1)]
  const nameOf = (period: string): string => formatMonth(period, language)
  /** @returns the first and the last value of a course with their periods */
  const textOf = (points: Points): string => {
    const [from, to = from] = endsOf(points, periods)
    if (from === undefined || to === undefined) return t.noData
    const shown = (period: string): string => show(points.get(period)?.value ?? 0)
    return t.profile.courseText(shown(from), nameOf(from), shown(to), nameOf(to))
  }
  return (
    <svg
      viewBox={`0 0 ${size.width} ${Math.ceil(series.length / columns) * PANEL.height}`}
      role="img"
      aria-label={label}
      class={`lines multiples ${size.name}`}
    >
      {series.map(([name, points], index) => {
        const [column, row] = [index % columns, Math.floor(index / columns)]
        const isLowest = index + columns >= series.length
        return (
          <g key={index} transform={`translate(${left + column * width} ${row * PANEL.height})`}>
            <title>{`${name}: ${textOf(points)}`}</title>
            <text x="0" y="14" class="panel-name">
              {shorten(name, LETTERS)}
            </text>
            {y.ticks(3).map((tick) => (
              <g key={tick}>
                <line x1="0" x2={inner} y1={y(tick)} y2={y(tick)} class="grid" />
                {column > 0 ? null : (
                  <text x="-6" y={y(tick) + 4} text-anchor="end">
                    {formatShort(tick, language)}
                  </text>
                )}
              </g>
            ))}
            <PanelCourse points={points} periods={course} x={x} y={y} />
            {endsOf(points, periods).map((period, end) => {
              const value = points.get(period)?.value ?? 0
              const text = show(value)
              return (
                <text
                  key={period}
                  x={x(period)}
                  y={y(value) - 7}
                  text-anchor={end === 0 ? 'start' : 'end'}
                  class="panel-value"
                >
                  {text.length > VALUE_MAX ? formatShort(value, language) : text}
                </text>
              )
            })}
            {isLowest ? (
              <>
                <text x="0" y={PANEL.height - 3}>
                  {nameOf(first)}
                </text>
                <text x={inner} y={PANEL.height - 3} text-anchor="end">
                  {periods.length > 1 ? nameOf(last) : ''}
                </text>
              </>
            ) : null}
          </g>
        )
      })}
    </svg>
  )
}

/** Band of the limits, dashed comparator, and the course with a dot at its newest value. */
function PanelCourse(props: {
  readonly points: Points
  /** With '' where the course is interrupted. */
  readonly periods: readonly string[]
  readonly x: (period: string) => number
  readonly y: (value: number) => number
}) {
  const { points, periods, x, y } = props
  const measuredAt = (period: string): number | null => points.get(period)?.value ?? null
  const limitsOf = (period: string) => points.get(period)?.limits ?? null
  const comparatorOf = (period: string): number | null => points.get(period)?.comparator ?? null
  const band = area<string>()
    .defined((period) => limitsOf(period) !== null)
    .x(x)
    .y0((period) => y(limitsOf(period)?.[0] ?? 0))
    .y1((period) => y(limitsOf(period)?.[1] ?? 0))(periods)
  const course = line<string>()
    .defined((period) => measuredAt(period) !== null)
    .x(x)
    .y((period) => y(measuredAt(period) ?? 0))(periods)
  const compared = line<string>()
    .defined((period) => comparatorOf(period) !== null)
    .x(x)
    .y((period) => y(comparatorOf(period) ?? 0))(periods)
  const newest = newestOf(points, periods)
  return (
    <g class="series series-0">
      {band === null ? null : <path d={band} class="band" />}
      {compared === null ? null : <path d={compared} class="comparator" />}
      <path d={course ?? ''} />
      {newest === undefined ? null : <circle cx={x(newest)} cy={y(measuredAt(newest) ?? 0)} r="3" />}
    </g>
  )
}
