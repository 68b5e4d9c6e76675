/**
 * A funnel plot: values by their denominators, with limits around the value of all places together. Drawn by the server and the browser; the
 * table has the same numbers.
 */
import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { LEVEL_CONSTANTS, type LimitLevel } from '../../model/limits/levels.ts'
import { limitsOf } from '../analysis.ts'
import {
  type Api,
  type Catalog,
  codeOf,
  type Metric,
  orNull,
  type QueryAnswer,
  type QueryRow,
} from '../api.ts'
import { formatNumber } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import { ALL_ROWS, bodyOf, memberValue, type QueryBody, type Question, TIMES, timeOf } from '../question.ts'
import { Chart, type ChartProps, NARROW, nameOfRow, type Size, useChart, WIDE } from './chart-parts.tsx'
import { type FunnelKind, funnelLimits } from './funnel-limits.ts'
import { MAP_LEVELS } from './map.tsx'
import { axisOf, isLogarithmic, Plane, rangesOf } from './plane.tsx'
import { CHART_TEXTS } from './texts.ts'

/** Level of the limits that decide; a table of many rows has few outside of it by chance. */
const LEVEL = 0.998
const POPULATION = 'population_census'
const PLACES: ReadonlySet<string> = new Set(MAP_LEVELS)
/** @returns the place of inhabitants that a place of residence is */
const placeOf = (dimension: string): string => dimension.replace(/^residence_/, '')

/** A funnel plot's numbers besides those of its answer. */
export interface FunnelNumbers {
  /** Value of all rows with data together; null where it cannot be computed. */
  readonly centre: number | null
  /** Denominator and limits of 99.8 % of each row of the answer, in its order; null where one is missing. */
  readonly rows: readonly (readonly [denominator: number, lower: number, upper: number] | null)[]
}

/** @returns code and method of a question's first metric when it has a funnel plot: events over the denominator that another metric counts; else null */
export function funnelOf(
  { metrics: [code = ''], groupBy, filters, basis, analysis: { window } }: Question,
  metric: Metric | undefined,
): (FunnelKind & { readonly code: string; readonly denominator: string }) | null {
  const { limits, scale = 1, denominator, denominator_part, standardized_by } = metric ?? {}
  if (limits?.method !== 'wilson' && limits?.method !== 'poisson') return null
  if (denominator === undefined || denominator_part !== undefined || standardized_by !== undefined)
    return null
  if (groupBy.length === 0 || timeOf(groupBy) !== undefined || basis !== '' || window !== '') return null
  // Inhabitants are counted by place alone. A filter of time limits only the events.
  const dimensions = [...groupBy, ...Object.keys(filters).filter((dimension) => !TIMES.includes(dimension))]
  if (denominator === POPULATION && !dimensions.every((dimension) => PLACES.has(placeOf(dimension))))
    return null
  return { method: limits.method, scale, code, denominator }
}

/**
 * Asks for what a funnel plot needs besides the answer of its question.
 * @throws ApiFailure
 */
export async function loadFunnel(
  api: Api,
  question: Question,
  { data: rows, meta: { release_id } }: QueryAnswer,
  metric: Metric | undefined,
): Promise<FunnelNumbers | null> {
  const kind = funnelOf(question, metric)
  if (kind === null) return null
  const { group_by, filters, groupings, ...rest } = bodyOf(question)
  const kept = Object.fromEntries(
    (['over_period', 'incomplete', 'include_ignored'] as const).flatMap((name) =>
      name in rest ? [[name, rest[name]]] : [],
    ),
  )
  // A release that is promoted meanwhile would mix its numbers with those of the answer.
  const pinned = { ...kept, expected_release_id: release_id }
  const ask = (body: Partial<QueryBody>): Promise<QueryAnswer> =>
    api.post<QueryAnswer>('/v1/analytics/query', { ...pinned, ...body })
  const askTogether = async (more: QueryBody['filters']): Promise<number | null> => {
    const { data } = await ask({ metrics: [kind.code], group_by: [], filters: [...filters, ...more] })
    return data[0]?.metrics[kind.code] ?? null
  }
  const denominatorBody =
    kind.denominator !== POPULATION
      ? { group_by, filters }
      : {
          group_by: group_by.map(placeOf),
          filters: filters.flatMap((filter) => {
            const dimension = placeOf(filter.dimension)
            return PLACES.has(dimension) ? [{ ...filter, dimension }] : []
          }),
        }
  const grouped = { ...(groupings === undefined ? {} : { groupings }), limit: ALL_ROWS }
  const [denominators, limited, all] = await Promise.all([
    ask({ metrics: [kind.denominator], ...denominatorBody, ...grouped }),
    ask({ metrics: [kind.code], group_by, filters, limits: LEVEL, ...grouped }),
    askTogether([]),
  ])
  const grouping = question.groupBy
  const counted = new Map(
    denominators.data.map((row) => [
      keyOfRow(row, denominatorBody.group_by),
      row.metrics[kind.denominator] ?? null,
    ]),
  )
  const limits = new Map(limited.data.map((row) => [keyOfRow(row, grouping), limitsOf(row, kind.code)]))
  const numbers = rows.map((row) => {
    const denominator = counted.get(keyOfRow(row, grouping)) ?? null
    const found = limits.get(keyOfRow(row, grouping)) ?? null
    return denominator === null || denominator <= 0 || found === null
      ? null
      : ([denominator, ...found] as const)
  })
  const [dimension = '', ...others] = grouping
  if (all !== null || others.length > 0) return { centre: all, rows: numbers }
  // Some places were not collected, so only the others have a value together.
  const codes = rows.flatMap((row) => {
    const code = codeOf(row.dimensions[dimension])
    return code === '' || (row.metrics[kind.code] ?? null) === null ? [] : [memberValue(dimension, code)]
  })
  const ofThese =
    codes.length === 0 ? null : orNull(askTogether([{ dimension, operator: 'IN', value: codes }]))
  return { centre: await ofThese, rows: numbers }
}

const keyOfRow = (row: QueryRow, groupBy: readonly string[]): string =>
  JSON.stringify(groupBy.map((dimension) => codeOf(row.dimensions[dimension])))

interface Dot {
  readonly name: string
  readonly value: number
  readonly denominator: number
  readonly place: 'above' | 'below' | 'inside'
}

export function Funnel(
  props: ChartProps & { readonly catalog: Catalog; readonly funnel: FunnelNumbers | null },
) {
  const { question, catalog, rows, funnel } = props
  const { language } = useSite()
  const { code, label, unit, show } = useChart(props)
  const metric = metricOf(catalog, code)
  const texts = CHART_TEXTS[language]
  const kind = funnelOf(question, metric)
  const centre = funnel?.centre ?? null
  const dots = rows.flatMap((row, index): Dot[] => {
    const [value, numbers] = [row.metrics[code] ?? null, funnel?.rows[index] ?? null]
    if (value === null || numbers === null || centre === null) return []
    const [denominator, lower, upper] = numbers
    const place = lower > centre ? 'above' : upper < centre ? 'below' : 'inside'
    return [{ name: nameOfRow(row, question.groupBy, language), value, denominator, place }]
  })
  if (kind === null || centre === null || dots.length === 0) return <p class="notice">{texts.needsEvents}</p>
  const count = (value: number): string => formatNumber(value, 0, language)
  const countOf = (place: Dot['place']): string => count(dots.filter((dot) => dot.place === place).length)
  const xTitle = labelOf(metricOf(catalog, kind.denominator), language)
  const yTitle = `${label}${unit === '' ? '' : ` (${unit})`}`
  const title = texts.scatter(xTitle, label)
  const drawing = { label: title, xTitle, yTitle, dots, centre, kind, show }
  const [above, below] = [countOf('above'), countOf('below')]
  return (
    <Chart label={title} unit="" limit={null}>
      <FunnelDrawing {...drawing} size={WIDE} />
      <FunnelDrawing {...drawing} size={NARROW} />
      <ul class="legend">
        {[
          ['centre', texts.funnel.centre(`${show(centre)} ${unit}`.trim())],
          ['control-95', texts.funnel.level('95 %')],
          ['control-998', texts.funnel.level(language === 'pt' ? '99,8 %' : '99.8 %')],
        ].map(([name, text]) => (
          <li key={name}>
            <svg viewBox="0 0 20 12" aria-hidden="true">
              <path d="M1 6H19" class={name} />
            </svg>{' '}
            {text}
          </li>
        ))}
      </ul>
      <p class="hint">
        {dots.every(({ place }) => place === 'inside')
          ? texts.funnel.noneOutside(count(dots.length))
          : texts.funnel.outside(above, below, count(dots.length))}{' '}
        {dots.length === rows.length ? '' : texts.missing(count(rows.length - dots.length))}
      </p>
    </Chart>
  )
}

/** Points of a curve. */
const STEPS = 60

function FunnelDrawing(props: {
  readonly label: string
  readonly xTitle: string
  readonly yTitle: string
  readonly dots: readonly Dot[]
  readonly centre: number
  readonly kind: FunnelKind
  readonly show: (value: number) => string
  readonly size: Size
}) {
  const { label, xTitle, yTitle, dots, centre, kind, show, size } = props
  const { language } = useSite()
  const texts = CHART_TEXTS[language]
  const ranges = rangesOf(size)
  const denominators = dots.map(({ denominator }) => denominator)
  const [smallest, largest] = [Math.min(...denominators), Math.max(...denominators)]
  const x = axisOf(denominators, ranges.x, { hasZero: true })
  const y = scaleLinear([0, Math.max(centre, ...dots.map(({ value }) => value)) * 1.05 || 1], ranges.y).nice()
  // The limits are drawn at places with equal distances on paper.
  const at = Array.from({ length: STEPS + 1 }, (_, step) =>
    x.invert(x(smallest) + (step / STEPS) * (x(largest) - x(smallest))),
  )
  const curveOf = (level: LimitLevel, side: 0 | 1): string => {
    const limitAt = (denominator: number): number =>
      funnelLimits(kind, centre, denominator, LEVEL_CONSTANTS[level].z)[side]
    const draw = line<number>()
      .x(x)
      .y((denominator) => y(limitAt(denominator)))
      .defined((denominator) => limitAt(denominator) <= (y.domain()[1] ?? 0))
    return draw(at) ?? ''
  }
  const axisTitle = isLogarithmic(denominators) ? `${xTitle}, ${texts.logarithmic}` : xTitle
  const textOf = ({ name, value, denominator, place }: Dot): string =>
    `${name}: ${show(value)}, ${texts.funnel[place]}; ${xTitle}: ${formatNumber(denominator, 0, language)}`
  return (
    <Plane label={label} x={x} y={y} xTitle={axisTitle} yTitle={yTitle} size={size}>
      <line x1={ranges.x[0]} x2={ranges.x[1]} y1={y(centre)} y2={y(centre)} class="centre" />
      {([0, 1] as const).map((side) => (
        <g key={side}>
          <path d={curveOf(0.95, side)} class="control-95" />
          <path d={curveOf(LEVEL, side)} class="control-998" />
        </g>
      ))}
      {dots.map((dot, index) => {
        const [left, top] = [x(dot.denominator).toFixed(1), y(dot.value).toFixed(1)]
        // Shapes tell the three apart without color: triangles outside, circles within.
        return dot.place === 'inside' ? (
          <circle key={index} cx={left} cy={top} r="3.5" class="dot">
            <title>{textOf(dot)}</title>
          </circle>
        ) : (
          <path
            key={index}
            d={dot.place === 'above' ? 'M-5 4L5 4L0 -5Z' : 'M-5 -4L5 -4L0 5Z'}
            transform={`translate(${left} ${top})`}
            class="dot outside"
          >
            <title>{textOf(dot)}</title>
          </path>
        )
      })}
    </Plane>
  )
}
