/** Bar and line charts of an answer, drawn by the server and the browser. The table has the same numbers. */
import { scaleLinear, scalePoint } from 'd3-scale'
import { line } from 'd3-shape'
import type { ComponentChildren } from 'preact'
import { ANALYSIS_TEXTS, limitsOf } from '../analysis.ts'
import type { Catalog, Metric, QueryRow } from '../api.ts'
import { codeOf, nameOf } from '../api.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatMonth, formatNumber, formatShort, type Language } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import { type Question, timeOf } from '../question.ts'

const BARS_MAX = 30
const SERIES_MAX = 8

interface ChartProps {
  readonly question: Question
  readonly catalog: Catalog
  readonly rows: readonly QueryRow[]
}

/** @returns names of a row's members, except that of dimension `without` */
const nameOfRow = (row: QueryRow, groupBy: readonly string[], language: Language, without = ''): string =>
  groupBy
    .filter((dimension) => dimension !== without)
    .map((dimension) =>
      dimension === 'reference_period'
        ? formatMonth(codeOf(row.dimensions[dimension]), language)
        : nameOf(row.dimensions[dimension]),
    )
    .join(' · ')

const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`

function useChart({ question, catalog }: ChartProps): {
  readonly code: string
  readonly metric: Metric | undefined
  readonly label: string
  readonly show: (value: number) => string
} {
  const { language } = useSite()
  const [code = ''] = question.metrics
  const metric = metricOf(catalog, code)
  const show = (value: number): string => formatNumber(value, metric?.decimals ?? 0, language)
  return { code, metric, label: labelOf(metric, language), show }
}

function Chart(props: {
  readonly label: string
  readonly metric: Metric | undefined
  /** Number of drawn rows or series when there are more; else null. */
  readonly limit: number | null
  readonly children: ComponentChildren
}) {
  const { label, metric, limit, children } = props
  const { t, language } = useSite()
  const unit = unitOutsideLabel(metric, language)
  return (
    <figure class="chart">
      <figcaption>
        {label}
        {unit === '' ? '' : ` (${unit})`}
        {limit === null ? null : <small> {t.onlyFirst(limit)}</small>}
      </figcaption>
      {children}
    </figure>
  )
}

/** Bars as a list, so that screen readers read the names and long names wrap. Only the bars are SVG, in percent of the width. */
export function Bars(props: ChartProps) {
  const { question, rows } = props
  const { t, language } = useSite()
  const { code, metric, label, show } = useChart(props)
  const shown = rows.slice(0, BARS_MAX)
  const values = shown.flatMap((row) => [row.metrics[code] ?? 0, ...(limitsOf(row, code) ?? [])])
  const scale = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || 1])
    .range([0, 100])
  const zero = scale(0)
  return (
    <Chart label={label} metric={metric} limit={rows.length > BARS_MAX ? BARS_MAX : null}>
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
                <Whisker row={row} metric={code} scale={scale} show={show} />
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
  readonly show: (value: number) => string
}) {
  const { row, metric, scale, show } = props
  const { language } = useSite()
  const limits = limitsOf(row, metric)
  if (limits === null) return null
  const [from, to] = limits.map((limit) => `${scale(limit)}%`)
  return (
    <g class="whisker">
      <title>{ANALYSIS_TEXTS[language].limitsOf(show(limits[0]), show(limits[1]))}</title>
      <line x1={from} x2={to} y1="50%" y2="50%" />
      <line x1={from} x2={from} y1="25%" y2="75%" />
      <line x1={to} x2={to} y1="25%" y2="75%" />
    </g>
  )
}

interface Point {
  readonly value: number | null
  readonly limits: readonly [number, number] | null
}
type Points = ReadonlyMap<string, Point>

export function Lines(props: ChartProps) {
  const { question, rows } = props
  const { language } = useSite()
  const { code, metric, label, show } = useChart(props)
  const time = timeOf(question.groupBy) ?? ''
  const periods = [...new Set(rows.map((row) => codeOf(row.dimensions[time])))].sort()
  const series = new Map<string, Map<string, Point>>()
  for (const row of rows) {
    const name = nameOfRow(row, question.groupBy, language, time) || label
    const points = series.get(name) ?? new Map<string, Point>()
    points.set(codeOf(row.dimensions[time]), {
      value: row.metrics[code] ?? null,
      limits: limitsOf(row, code),
    })
    series.set(name, points)
  }
  const newest = periods.at(-1) ?? ''
  const shown = [...series]
    .sort(([, left], [, right]) => (right.get(newest)?.value ?? -1) - (left.get(newest)?.value ?? -1))
    .slice(0, SERIES_MAX)
  const isNamed = question.groupBy.length > 1
  const drawing = { label, periods, series: shown, show, isNamed }
  return (
    <Chart label={label} metric={metric} limit={series.size > SERIES_MAX ? SERIES_MAX : null}>
      <LinesDrawing {...drawing} size={WIDE} />
      <LinesDrawing {...drawing} size={NARROW} />
      {isNamed ? <Legend names={shown.map(([name]) => name)} /> : null}
    </Chart>
  )
}

function Legend({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="legend narrow">
      {names.map((name, index) => (
        <li key={name} class={`series series-${index}`}>
          <svg viewBox="0 0 20 12" aria-hidden="true">
            <path d="M1 6H19" />
          </svg>{' '}
          {name}
        </li>
      ))}
    </ul>
  )
}

interface Size {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly margin: {
    readonly top: number
    readonly right: number
    readonly bottom: number
    readonly left: number
  }
  readonly months: number
  /** True puts names at the ends of the lines, false in a legend below. */
  readonly hasNames: boolean
}

/** Each chart is drawn in both sizes, and the style sheet shows one. Text of a shrunken drawing would be unreadable on a phone. */
const WIDE: Size = {
  name: 'wide-screen',
  width: 720,
  height: 340,
  margin: { top: 16, right: 190, bottom: 30, left: 64 },
  months: 7,
  hasNames: true,
}
const NARROW: Size = {
  name: 'narrow',
  width: 358,
  height: 260,
  margin: { top: 16, right: 34, bottom: 30, left: 54 },
  months: 3,
  hasNames: false,
}

/** Distance between whiskers of one period, in units of the drawing. */
const WHISKER_STEP = 5

function LinesDrawing(props: {
  readonly label: string
  readonly periods: readonly string[]
  readonly series: readonly (readonly [name: string, points: Points])[]
  readonly show: (value: number) => string
  readonly isNamed: boolean
  readonly size: Size
}) {
  const { label, periods, series, show, isNamed, size } = props
  const { width, height, months, name: sizeName } = size
  const hasNames = isNamed && size.hasNames
  const margin = { ...size.margin, right: hasNames ? size.margin.right : NARROW.margin.right }
  const { language } = useSite()
  const values = series.flatMap(([, points]) =>
    [...points.values()].flatMap(({ value, limits }) => (value === null ? [] : [value, ...(limits ?? [])])),
  )
  const x = scalePoint<string>()
    .domain(periods)
    .range([margin.left, width - margin.right])
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(1, ...values)])
    .nice()
    .range([height - margin.bottom, margin.top])
  const draw = line<string>()
  const step = Math.max(1, Math.ceil((periods.length - 1) / (months - 1)))
  const ends = placeLabels(series.map(([, points]) => y(lastOf(points, periods) ?? 0)))
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} class={`lines ${sizeName}`}>
      {y.ticks(5).map((tick) => (
        <g key={tick}>
          <line x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} class="grid" />
          <text x={margin.left - 8} y={y(tick) + 4} text-anchor="end">
            {formatShort(tick, language)}
          </text>
        </g>
      ))}
      {periods.map((period, index) =>
        index % step === 0 ? (
          <text key={period} x={x(period)} y={height - 8} text-anchor="middle">
            {formatMonth(period, language)}
          </text>
        ) : null,
      )}
      {series.map(([name, points], index) => {
        const hasValue = (period: string): boolean => (points.get(period)?.value ?? null) !== null
        const heightOf = (period: string): number => y(points.get(period)?.value ?? 0)
        const path = draw
          .defined(hasValue)
          .x((period) => x(period) ?? 0)
          .y(heightOf)(periods)
        return (
          <g key={name} class={`series series-${index}`}>
            <path d={path ?? ''} />
            {periods.filter(hasValue).map((period) => {
              const { value, limits } = points.get(period) ?? { value: null, limits: null }
              const [lower, upper] = limits ?? [0, 0]
              // Whiskers of several lines stand side by side, so that each can be read.
              const at = (x(period) ?? 0) + (index - (series.length - 1) / 2) * WHISKER_STEP
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
                        : `${title}, ${ANALYSIS_TEXTS[language].limitsOf(show(lower), show(upper))}`}
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

function lastOf(points: Points, periods: readonly string[]): number | null {
  for (let index = periods.length - 1; index >= 0; index -= 1) {
    const value = points.get(periods[index] ?? '')?.value ?? null
    if (value !== null) return value
  }
  return null
}

const LABEL_HEIGHT = 15
/** Moves labels apart so that none covers another. @returns their heights, in the order of the input */
function placeLabels(heights: readonly number[]): number[] {
  const order = heights.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height)
  const placed: number[] = []
  let last = Number.NEGATIVE_INFINITY
  for (const { height, index } of order) {
    last = Math.max(height, last + LABEL_HEIGHT)
    placed[index] = last
  }
  return placed
}
