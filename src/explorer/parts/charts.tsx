/** Bars and lines of an answer, as SVG that the server draws as well as the browser. Their numbers stand in the table. */
import { scaleLinear, scalePoint } from 'd3-scale'
import { line } from 'd3-shape'
import type { Catalog, QueryRow } from '../api.ts'
import { codeOf, nameOf } from '../api.ts'
import { formatMonth, formatNumber, formatShort, unitText } from '../numbers.ts'
import type { Question } from '../question.ts'
import { useSite } from './site.tsx'
import { labelOf, metricOf } from './table.tsx'

const BARS_MAX = 30
const SERIES_MAX = 8
const WIDTH = 720
const BAR_HEIGHT = 24
const NAME_WIDTH = 220
const VALUE_WIDTH = 80

/** Name of a row without the dimensions named. */
const nameOfRow = (row: QueryRow, groupBy: readonly string[], without = ''): string =>
  groupBy
    .filter((dimension) => dimension !== without)
    .map((dimension) => nameOf(row.dimensions[dimension]))
    .join(' · ')

const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`

export function Bars(props: {
  readonly question: Question
  readonly catalog: Catalog
  readonly rows: readonly QueryRow[]
}) {
  const { question, catalog, rows } = props
  const { t, language } = useSite()
  const [code = ''] = question.metrics
  const metric = metricOf(catalog, code)
  const label = labelOf(metric, language)
  const shown = rows.slice(0, BARS_MAX)
  const values = shown.map((row) => row.metrics[code] ?? 0)
  const scale = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values) || 1])
    .range([NAME_WIDTH, WIDTH - VALUE_WIDTH])
  const zero = scale(0)
  const height = shown.length * BAR_HEIGHT + 4
  return (
    <figure class="chart">
      <figcaption>
        {label} ({unitText(metric?.unit, language)})
        {rows.length > BARS_MAX ? ` – ${t.onlyFirst(BARS_MAX)}` : ''}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label} class="bars">
        {shown.map((row, index) => {
          const value = row.metrics[code] ?? null
          const name = nameOfRow(row, question.groupBy) || t.total
          const y = index * BAR_HEIGHT
          const at = scale(value ?? 0)
          const text = value === null ? t.noData : formatNumber(value, metric?.decimals ?? 0, language)
          return (
            <g key={JSON.stringify(row.dimensions)}>
              <title>{`${name}: ${text}`}</title>
              <text x={NAME_WIDTH - 8} y={y + 16} text-anchor="end" class="name">
                {shorten(name, 32)}
              </text>
              {value === null ? null : (
                <rect
                  x={Math.min(zero, at)}
                  y={y + 4}
                  width={Math.abs(at - zero)}
                  height={BAR_HEIGHT - 8}
                  class="bar"
                />
              )}
              <text x={Math.max(zero, at) + 6} y={y + 16} class={value === null ? 'missing' : 'value'}>
                {text}
              </text>
            </g>
          )
        })}
        <line x1={zero} x2={zero} y1="0" y2={height} class="axis" />
      </svg>
    </figure>
  )
}

const HEIGHT = 340
const MARGIN = { top: 16, right: 190, bottom: 30, left: 64 }

export function Lines(props: {
  readonly question: Question
  readonly catalog: Catalog
  readonly rows: readonly QueryRow[]
}) {
  const { question, catalog, rows } = props
  const { t, language } = useSite()
  const [code = ''] = question.metrics
  const metric = metricOf(catalog, code)
  const label = labelOf(metric, language)
  if (!question.groupBy.includes('reference_period')) return <p class="notice">{t.chartNeedsPeriods}</p>
  const periods = [...new Set(rows.map((row) => codeOf(row.dimensions.reference_period)))].sort()
  const series = new Map<string, Map<string, number | null>>()
  for (const row of rows) {
    const name = nameOfRow(row, question.groupBy, 'reference_period') || label
    const points = series.get(name) ?? new Map<string, number | null>()
    points.set(codeOf(row.dimensions.reference_period), row.metrics[code] ?? null)
    series.set(name, points)
  }
  const newest = periods.at(-1) ?? ''
  const shown = [...series]
    .sort(([, left], [, right]) => (right.get(newest) ?? -1) - (left.get(newest) ?? -1))
    .slice(0, SERIES_MAX)
  const values = shown.flatMap(([, points]) => [...points.values()].filter((value) => value !== null))
  const x = scalePoint<string>()
    .domain(periods)
    .range([MARGIN.left, WIDTH - MARGIN.right])
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(1, ...values)])
    .nice()
    .range([HEIGHT - MARGIN.bottom, MARGIN.top])
  const draw = line<string>()
  const step = Math.max(1, Math.ceil(periods.length / 8))
  const ends = placeLabels(shown.map(([, points]) => y(lastOf(points, periods) ?? 0)))
  return (
    <figure class="chart">
      <figcaption>
        {label} ({unitText(metric?.unit, language)})
        {series.size > SERIES_MAX ? ` – ${t.onlyFirst(SERIES_MAX)}` : ''}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} class="lines">
        {y.ticks(5).map((tick) => (
          <g key={tick}>
            <line x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(tick)} y2={y(tick)} class="grid" />
            <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
              {formatShort(tick, language)}
            </text>
          </g>
        ))}
        {periods.map((period, index) =>
          index % step === 0 ? (
            <text key={period} x={x(period)} y={HEIGHT - 8} text-anchor="middle">
              {formatMonth(period, language)}
            </text>
          ) : null,
        )}
        {shown.map(([name, points], index) => {
          const there = periods.filter((period) => points.get(period) !== null && points.has(period))
          const path = draw
            .defined((period) => points.get(period) !== null && points.has(period))
            .x((period) => x(period) ?? 0)
            .y((period) => y(points.get(period) ?? 0))(periods)
          return (
            <g key={name} class={`series series-${index}`}>
              <path d={path ?? ''} />
              {there.map((period) => (
                <circle key={period} cx={x(period)} cy={y(points.get(period) ?? 0)} r="3">
                  <title>{`${name}, ${formatMonth(period, language)}: ${formatNumber(points.get(period) ?? 0, metric?.decimals ?? 0, language)}`}</title>
                </circle>
              ))}
              <text x={WIDTH - MARGIN.right + 10} y={(ends[index] ?? 0) + 4}>
                {shorten(name, 26)}
              </text>
            </g>
          )
        })}
      </svg>
    </figure>
  )
}

function lastOf(points: ReadonlyMap<string, number | null>, periods: readonly string[]): number | null {
  for (let index = periods.length - 1; index >= 0; index -= 1) {
    const value = points.get(periods[index] ?? '')
    if (value !== undefined && value !== null) return value
  }
  return null
}

const LABEL_HEIGHT = 15
/** Moves labels apart so that none covers another. @returns their heights, in the order given */
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
