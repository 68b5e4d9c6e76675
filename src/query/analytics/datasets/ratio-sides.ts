/**
 * Finds the months of the two sides of a ratio of the query. Each metric alone has the months of its files; a ratio divides what is of the
 * same months, so its sides need the files of both, of the states of both. Pure.
 */
import { isFlowMetric } from '../../../model/metrics.ts'
import type { QueryMetricNeeds } from '../coverage.ts'
import type { QueryMetrics, QueryRatio } from '../options/defined-metrics.ts'

export type MetricWithoutMonths = Omit<QueryMetricNeeds, 'requested' | 'cells'>
export interface ScopedMetric {
  readonly found: MetricWithoutMonths
  /** States from which the newest month is chosen, where the query names none. */
  readonly inScope: ReadonlySet<string>
}

/** A metric as a side of a ratio. Its needs have a code of their own among those of the metrics. */
export interface RatioSide {
  readonly ratio: string
  readonly metric: string
  readonly needs: QueryMetricNeeds
}

const sideCode = (ratio: QueryRatio, metric: string): string => `${ratio.code}/${metric}`

/** @param withMonths resolves the months of a metric from its files and states */
export const pairSides = (
  ratios: readonly QueryRatio[],
  metrics: readonly ScopedMetric[],
  withMonths: (found: MetricWithoutMonths, inScope: ReadonlySet<string>) => QueryMetricNeeds,
): RatioSide[] =>
  ratios.flatMap((ratio) => {
    const pair = metrics.filter(({ found }) => ratio.sides.includes(found.code))
    const needs = [...new Set(pair.flatMap(({ found }) => found.needs))]
    const states = new Set(pair.flatMap(({ found }) => [...found.states]))
    const inScope = new Set(pair.flatMap((side) => [...side.inScope]))
    return pair.map(({ found }) => ({
      ratio: ratio.code,
      metric: found.code,
      needs: withMonths({ ...found, code: sideCode(ratio, found.code), needs, states }, inScope),
    }))
  })

/** @returns whether a metric alone is read from the same months as beside the other side of its ratio */
export function hasSameMonths(alone: QueryMetricNeeds | undefined, paired: QueryMetricNeeds): boolean {
  const monthsRead = (needs: QueryMetricNeeds | undefined): string =>
    JSON.stringify([needs?.requested, needs?.cells?.map(({ code, read }) => [code, read])])
  return monthsRead(alone) === monthsRead(paired)
}

/** @param requested months of the rows by metric @returns those of each flow, and of the sides of ratios of flows */
export function flowMonthsOf(
  requested: ReadonlyMap<string, readonly number[]>,
  { metrics, ratios }: QueryMetrics,
): Map<string, readonly number[]> {
  const flows = metrics.filter(({ metric }) => isFlowMetric(metric)).map(({ code }) => code)
  const sides = ratios
    .filter((ratio) => ratio.sides.every((side) => flows.includes(side)))
    .flatMap((ratio) => ratio.sides.map((side) => sideCode(ratio, side)))
  return new Map([...flows, ...sides].map((code) => [code, requested.get(code) ?? []]))
}
