/** A heat table of rows by periods in quantile classes, drawn by the server and the browser. The table has the same numbers. */
import { unitWithPrices } from '../catalog-texts.ts'
import { formatMonth } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import {
  Chart,
  ClassLegend,
  Hatch,
  NARROW,
  type Series,
  type SeriesProps,
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
/** Widths of a cell from which its value, its month with the year, and its month stand in full. */
const ROOM = { value: 70, year: 56, month: 26 }
const CODE_SPACE = 34
const YEAR_LINE = 14
const MONTH = /^\d{4}-\d{2}$/
/** Space of the names, and letters that fit into it. */
const NAMES = { 'wide-screen': [190, 27], narrow: [150, 22] } as const

export function HeatTable(props: SeriesProps) {
  const { language } = useSite()
  const { code, metric, label, unit, show } = useChart(props)
  const { axis, series } = seriesOf(props, { code, alone: label, language })
  const { periods } = axis
  const shown = series.slice(0, ROWS_MAX)
  const values = shown.flatMap(([, points]) => [...points.values()].flatMap(({ value }) => value ?? []))
  const bounds = classBounds(values)
  const hasMissing = shown.some(([, points]) =>
    periods.some((period) => (points.get(period)?.value ?? null) === null),
  )
  const drawing = { label, periods, series: shown, bounds, show }
  return (
    <Chart label={label} unit={unit} limit={series.length > ROWS_MAX ? ROWS_MAX : null}>
      <HeatDrawing {...drawing} size={WIDE} />
      <HeatDrawing {...drawing} size={NARROW} />
      <ClassLegend
        unit={unitWithPrices(metric, language, props.question.analysis.prices)}
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
  const hasCodes = size.name === 'narrow' && series.every(([, , code]) => code !== '')
  const [names, letters] = NAMES[size.name]
  const left = hasCodes ? CODE_SPACE : names
  const cell = (size.width - left) / periods.length
  const isShort = cell < ROOM.year && cell >= ROOM.month && periods.every((period) => MONTH.test(period))
  const step = isShort ? 1 : Math.max(1, Math.ceil(ROOM.year / cell))
  const head = isShort ? HEAD + YEAR_LINE : HEAD
  const height = head + series.length * CELL_HEIGHT
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
          <g key={period}>
            {isShort && (index === 0 || period.endsWith('-01')) ? (
              <text x={left + index * cell} y={HEAD - 8}>
                {period.slice(0, 4)}
              </text>
            ) : null}
            <text x={left + index * cell} y={head - 8}>
              {isShort ? formatMonth(period, language).slice(0, 3) : formatMonth(period, language)}
            </text>
          </g>
        ) : null,
      )}
      {series.map(([name, points, code], row) => (
        <g key={row}>
          <text x={left - 8} y={head + row * CELL_HEIGHT + 14} text-anchor="end">
            <title>{name}</title>
            {hasCodes ? code : shorten(name, letters)}
          </text>
          {periods.map((period, index) => {
            const value = points.get(period)?.value ?? null
            const style =
              value === null
                ? { fill: `url(#${hatchOf(size)})` }
                : { class: `class-${classOf(value, bounds)} of-${bounds.length}` }
            return (
              <g key={period}>
                <rect
                  x={left + index * cell}
                  y={head + row * CELL_HEIGHT}
                  width={cell - 1}
                  height={CELL_HEIGHT - 1}
                  {...style}
                >
                  <title>{`${name}, ${formatMonth(period, language)}: ${value === null ? t.noData : show(value)}`}</title>
                </rect>
                {value === null || cell < ROOM.value ? null : (
                  <text
                    x={left + (index + 0.5) * cell}
                    y={head + row * CELL_HEIGHT + 14}
                    text-anchor="middle"
                    class={`on-class on-${classOf(value, bounds)} of-${bounds.length}`}
                  >
                    {show(value)}
                  </text>
                )}
              </g>
            )
          })}
        </g>
      ))}
    </svg>
  )
}
