/** Parts that the charts of an answer share: figure with title and unit, names of rows, series over time, sizes and legends. */
import { scaleLinear } from 'd3-scale'
import type { ComponentChildren } from 'preact'
import { limitsOf } from '../analysis.ts'
import type { Labels, MetricLabel, QueryAnswer, QueryRow } from '../api.ts'
import { codeOf, nameOf, stateOf } from '../api.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatLimit, formatMonth, formatNumber, type Language } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import { type Question, timeOf } from '../question.ts'
import { partialPeriodsOf, periodsOf, positionOf, zeroPeriodsOf } from './periods.ts'

export interface ChartProps {
  readonly question: Question
  readonly catalog: Labels
  readonly rows: readonly QueryRow[]
}

export interface SeriesProps extends ChartProps {
  /** The answer that has the rows. */
  readonly answer: QueryAnswer
}

/** @returns names of a row's members; places of several states may share a name, so theirs has the state */
export const nameOfRow = (row: QueryRow, groupBy: readonly string[], language: Language): string =>
  groupBy
    .map((dimension) =>
      dimension === 'reference_period'
        ? formatMonth(codeOf(row.dimensions[dimension]), language)
        : nameWithState(row.dimensions[dimension], groupBy),
    )
    .join(' · ')

function nameWithState(
  member: QueryRow['dimensions'][string] | undefined,
  groupBy: readonly string[],
): string {
  const uf = stateOf(member, groupBy)
  return uf === '' ? nameOf(member) : `${nameOf(member)} (${uf})`
}

const CODE_LETTERS_MAX = 2
/** @returns the code of the only member of a row where it is short, such as that of a state; else '' */
export function shortCodeOf(row: QueryRow, groupBy: readonly string[]): string {
  const code = groupBy.length === 1 ? codeOf(row.dimensions[groupBy[0] ?? '']) : ''
  return code.length <= CODE_LETTERS_MAX ? code : ''
}

export const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`

export function useChart({ question, catalog }: ChartProps): {
  readonly code: string
  readonly metric: MetricLabel | undefined
  readonly label: string
  /** '' where the label has it already. */
  readonly unit: string
  readonly show: (value: number) => string
  readonly showLimit: (limit: number) => string
} {
  const { language } = useSite()
  const [code = ''] = question.metrics
  const metric = metricOf(catalog, code)
  const decimals = metric?.decimals ?? 0
  const show = (value: number): string => formatNumber(value, decimals, language)
  const showLimit = (limit: number): string => formatLimit(limit, decimals, language)
  const unit = unitOutsideLabel(metric, language, question.analysis.prices)
  return { code, metric, label: labelOf(metric, language), unit, show, showLimit }
}

export function Chart(props: {
  readonly label: string
  readonly unit: string
  /** Number of drawn rows or series when there are more; else null. */
  readonly limit: number | null
  /** True where those drawn have the largest values, not the first places. */
  readonly areLargest?: boolean
  readonly children: ComponentChildren
}) {
  const { label, unit, limit, areLargest, children } = props
  const { t } = useSite()
  return (
    <figure class="chart">
      <figcaption>
        {label}
        {unit === '' ? '' : ` (${unit})`}
        {limit === null ? null : <small> {areLargest ? t.largestOnly(limit) : t.onlyFirst(limit)}</small>}
      </figcaption>
      {children}
    </figure>
  )
}

export interface Point {
  readonly value: number | null
  readonly limits: readonly [number, number] | null
  readonly comparator: number | null
}
const ZERO: Point = { value: 0, limits: null, comparator: null }
export type Points = ReadonlyMap<string, Point>

/** A course of values by period, named by the members of a row that are not its period; with their code where it is short. */
export type Series = readonly [name: string, points: Points, code: string]

/** Periods of a drawing, oldest first, and their place on its axis. */
export interface TimeAxis {
  readonly periods: readonly string[]
  /** The periods, with '' where lines are interrupted. */
  readonly course: readonly string[]
  /** @returns scale from the first to the last period */
  readonly scale: (from: number, to: number) => (period: string) => number
}

function axisOf(answer: QueryAnswer, time: string, code: string): TimeAxis {
  const periods = periodsOf(answer, time, code)
  const partial = partialPeriodsOf(answer)
  const [first = 0, last = first] = [periods[0], periods.at(-1)].flatMap((period) =>
    period === undefined ? [] : [positionOf(period, time)],
  )
  return {
    periods,
    course: periods.flatMap((period) => (partial.has(period) ? ['', period, ''] : [period])),
    scale: (from, to) => {
      const place = scaleLinear().domain([first, last]).range([from, to])
      return (period) => (first === last ? (from + to) / 2 : place(positionOf(period, time)))
    },
  }
}

/** @param code metric @returns the axis, and series in the order of the rows; a series without other members has the name `alone` */
export function seriesOf(
  { question, catalog, rows, answer }: SeriesProps,
  { code, alone, language }: { readonly code: string; readonly alone: string; readonly language: Language },
): { readonly axis: TimeAxis; readonly series: readonly Series[] } {
  const time = timeOf(question.groupBy) ?? ''
  const axis = axisOf(answer, time, code)
  // A ratio of nothing has no value.
  const { kind = 'ratio' } = metricOf(catalog, code) ?? {}
  const zeros = kind === 'ratio' ? [] : [...zeroPeriodsOf(answer, time, code)]
  const members = question.groupBy.filter((dimension) => dimension !== time)
  // Places of different states may have the same name.
  const series = new Map<string, [name: string, points: Map<string, Point>, code: string]>()
  for (const row of rows) {
    const key = JSON.stringify(members.map((dimension) => codeOf(row.dimensions[dimension])))
    const [name, points, short] = series.get(key) ?? [
      nameOfRow(row, members, language) || alone,
      new Map(zeros.map((period) => [period, ZERO])),
      shortCodeOf(row, members),
    ]
    points.set(codeOf(row.dimensions[time]), {
      value: row.metrics[code] ?? null,
      limits: limitsOf(row, code),
      comparator: row.metrics[`${code}__comparator`] ?? null,
    })
    series.set(key, [name, points, short])
  }
  return { axis, series: [...series.values()] }
}

/** @returns the newest period in which a series has a value; undefined where it has none */
export const newestOf = (points: Points, periods: readonly string[]): string | undefined =>
  periods.findLast((period) => (points.get(period)?.value ?? null) !== null)

/** @returns the newest value that a series has; null where it has none */
export const lastOf = (points: Points, periods: readonly string[]): number | null =>
  points.get(newestOf(points, periods) ?? '')?.value ?? null

/** @returns every value and limit of series */
export const valuesOf = (series: readonly Series[]): number[] =>
  series.flatMap(([, points]) =>
    [...points.values()].flatMap(({ value, limits }) => (value === null ? [] : [value, ...(limits ?? [])])),
  )

export function Legend({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="legend narrow">
      {names.map((name, index) => (
        <li key={index} class={`series series-${index}`}>
          <svg viewBox="0 0 20 12" aria-hidden="true">
            <path d="M1 6H19" />
          </svg>{' '}
          {name}
        </li>
      ))}
    </ul>
  )
}

export interface Size {
  readonly name: 'wide-screen' | 'narrow'
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

/** Width of a digit, and distance between the labels of an axis and its lines. */
const LETTER_WIDTH = 7.5
const LABEL_GAP = 8
/** @returns the left margin that the labels of an axis need */
export const leftMarginOf = (labels: readonly string[], least: number): number =>
  Math.max(least, LABEL_GAP + LETTER_WIDTH * Math.max(0, ...labels.map(({ length }) => length)))

/** Each chart is drawn in both sizes, and the style sheet shows one. Text of a shrunken drawing would be unreadable on a phone. */
export const WIDE: Size = {
  name: 'wide-screen',
  width: 720,
  height: 340,
  margin: { top: 16, right: 190, bottom: 30, left: 64 },
  months: 7,
  hasNames: true,
}
export const NARROW: Size = {
  name: 'narrow',
  width: 358,
  height: 260,
  margin: { top: 16, right: 34, bottom: 30, left: 54 },
  months: 3,
  hasNames: false,
}

/** Stripes for places without data. An identifier is used once in a page, so each drawing has its own. */
export function Hatch({ id }: { readonly id: string }) {
  return (
    <defs>
      <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" class="hatch-ground" />
        <line x1="0" y1="0" x2="0" y2="6" class="hatch" />
      </pattern>
    </defs>
  )
}

/** Value ranges of quantile classes, and stripes where something has no data. */
export function ClassLegend(props: {
  readonly unit: string
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[]
  readonly lowest: number
  readonly show: (value: number) => string
  readonly hasMissing: boolean
}) {
  const { unit, bounds, lowest, show, hasMissing } = props
  const { t } = useSite()
  const rangeOf = (bound: number, index: number): string => {
    const from = index === 0 ? lowest : (bounds[index - 1] ?? lowest)
    return index === 0 && from === bound
      ? show(bound)
      : `${index === 0 ? '' : '> '}${show(from)} – ${show(bound)}`
  }
  return (
    <>
      {unit === '' ? null : <p class="hint unit-of-legend">{unit}</p>}
      <ul class="legend classes" aria-label={t.mapLegend}>
        {bounds.map((bound, index) => (
          <li key={bound}>
            <svg viewBox="0 0 20 12" preserveAspectRatio="none" aria-hidden="true">
              <rect width="20" height="12" class={`class-${index} of-${bounds.length}`} />
            </svg>{' '}
            {rangeOf(bound, index)}
          </li>
        ))}
        {hasMissing ? (
          <li>
            <svg viewBox="0 0 20 12" preserveAspectRatio="none" aria-hidden="true">
              {/* Stripes of another drawing vanish with it where the style sheet hides it. */}
              <Hatch id="legend-hatch" />
              <rect width="20" height="12" fill="url(#legend-hatch)" />
            </svg>{' '}
            {t.noData}
          </li>
        ) : null}
      </ul>
    </>
  )
}
