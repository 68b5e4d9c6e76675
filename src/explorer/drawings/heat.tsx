/** A heat table of rows by periods in quantile classes, drawn by the server and the browser. The table has the same numbers. */
import { formatMonth } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import {
  Chart,
  type ChartProps,
  ClassLegend,
  Hatch,
  NARROW,
  type Series,
  type Size,
  seriesOf,
  shorten,
  useChart,
  WIDE,
} from './chart-parts.tsx'
import { classBounds, classOf } from './map-shapes.ts'
import { CHART_TEXTS } from './texts.ts'

const ROWS_MAX = 40
const CELL_HEIGHT = 20
const HEAD = 22
/** Space of the names, and letters that fit into it. */
const NAMES = { 'wide-screen': [190, 27], narrow: [118, 16] } as const

export function HeatTable(props: ChartProps) {
  const { language } = useSite()
  const { code, metric, label, show } = useChart(props)
  const { periods, series } = seriesOf(props, { code, alone: label, language })
  const shown = series.slice(0, ROWS_MAX)
  const values = shown.flatMap(([, points]) => [...points.values()].flatMap(({ value }) => value ?? []))
  const bounds = classBounds(values)
  const hasMissing = shown.some(([, points]) =>
    periods.some((period) => (points.get(period)?.value ?? null) === null),
  )
  const drawing = { label, periods, series: shown, bounds, show }
  return (
    <Chart label={label} metric={metric} limit={series.length > ROWS_MAX ? ROWS_MAX : null}>
      <HeatDrawing {...drawing} size={WIDE} />
      <HeatDrawing {...drawing} size={NARROW} />
      <ClassLegend
        metric={metric}
        bounds={bounds}
        lowest={Math.min(...values)}
        show={show}
        hasMissing={hasMissing}
      />
    </Chart>
  )
}

const hatchOf = ({ name }: Size): string => `heat-${name}`

function HeatDrawing(props: {
  readonly label: string
  readonly periods: readonly string[]
  readonly series: readonly Series[]
  readonly bounds: readonly number[]
  readonly show: (value: number) => string
  readonly size: Size
}) {
  const { label, periods, series, bounds, show, size } = props
  const { t, language } = useSite()
  const [left, letters] = NAMES[size.name]
  const cell = (size.width - left) / periods.length
  const step = Math.max(1, Math.ceil(periods.length / size.months))
  const height = HEAD + series.length * CELL_HEIGHT
  return (
    <svg
      viewBox={`0 0 ${size.width} ${height}`}
      role="img"
      aria-label={`${label}: ${CHART_TEXTS[language].heat(series.length, periods.length)}`}
      class={`lines heat ${size.name}`}
    >
      <Hatch id={hatchOf(size)} />
      {periods.map((period, index) =>
        index % step === 0 ? (
          <text key={period} x={left + index * cell} y={HEAD - 8}>
            {formatMonth(period, language)}
          </text>
        ) : null,
      )}
      {series.map(([name, points], row) => (
        <g key={row}>
          <text x={left - 8} y={HEAD + row * CELL_HEIGHT + 14} text-anchor="end">
            <title>{name}</title>
            {shorten(name, letters)}
          </text>
          {periods.map((period, index) => {
            const value = points.get(period)?.value ?? null
            const style =
              value === null
                ? { fill: `url(#${hatchOf(size)})` }
                : { class: `class-${classOf(value, bounds)} of-${bounds.length}` }
            return (
              <rect
                key={period}
                x={left + index * cell}
                y={HEAD + row * CELL_HEIGHT}
                width={cell - 1}
                height={CELL_HEIGHT - 1}
                {...style}
              >
                <title>{`${name}, ${formatMonth(period, language)}: ${value === null ? t.noData : show(value)}`}</title>
              </rect>
            )
          })}
        </g>
      ))}
    </svg>
  )
}
